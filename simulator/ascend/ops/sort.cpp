// Order: sorting, the largest, the middle; and running sums.
#include "simulator/ascend/ops/indexing.h"
#include "simulator/ascend/ops/order.h"
#include "simulator/ascend/ops/rows.h"

using namespace sim;

namespace {

constexpr Types kSortable = kF | kI | kF64 | kBool;

// The first `k` (from `from` on) of each sorted line along `dim`.
void run_sorted(Planner& p,
                const Operand& in,
                int64_t dim,
                bool descending,
                int64_t from,
                int64_t k,
                const Operand& values,
                const Operand& indices) {
  if (in.numel() == 0) return;
  if (values.slot >= 0 && values.numel() == 0) return;
  const uint64_t at = p.workspace(std::max<int64_t>(k, 1) * 8);
  p.run([=](Launch& launch) {
    with_real(in.dtype(), [&](auto zero) {
      using C = decltype(zero);
      for_rows<C>(get(launch, in), dim, [&](int64_t row, const std::vector<C>& line) {
        const std::vector<int64_t> order = order_of(line, descending);
        auto* const places = reinterpret_cast<int64_t*>(launch.workspace(at));
        std::copy_n(order.begin() + from, k, places);
        if (values) {
          std::vector<C> found;
          for (int64_t i = 0; i < k; ++i) found.push_back(line[static_cast<size_t>(places[i])]);
          store(get(launch, values).with_last(dim), row * k, k, found.data());
        }
        if (indices) store(get(launch, indices).with_last(dim), row * k, k, places);
      });
    });
  });
}

// What not-a-number does to a median.
enum class Nan {
  kLast,   // counts as the largest value
  kWins,   // is the median
  kLeaves  // does not count
};

// One element of each sorted line: its value and where it was.
aclnnStatus pick(const char* op,
                 const aclTensor* self,
                 int64_t dim,
                 bool keep,
                 Nan nan,
                 const std::function<int64_t(Planner&, int64_t)>& place,
                 const aclTensor* values,
                 const aclTensor* indices,
                 Types types,
                 uint64_t* workspace_size,
                 aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    const Operand in = p.input(self, "self", types);
    const Operand value = p.output(values, "valuesOut", types);
    const Operand index = p.output(indices, "indicesOut", kIndex);
    const int64_t at = p.dim(dim, in.rank(), "dim");
    const Lines lines = lines_of(p, in.shape(), {dim}, "dim");
    check_reduced(p, lines, keep, value);
    check_reduced(p, lines, keep, index);
    p.check(lines.length > 0, "self has no elements along dim");
    const int64_t from = place(p, lines.length);
    if (in.numel() == 0) return;
    const uint64_t scratch = p.workspace(lines.rows * 8);
    p.run([=](Launch& launch) {
      with_real(in.dtype(), [&](auto zero) {
        using C = decltype(zero);
        auto* const places = reinterpret_cast<int64_t*>(launch.workspace(scratch));
        for_rows<C>(get(launch, in), at, [&](int64_t row, const std::vector<C>& line) {
          const auto order = order_of(line, false);
          const auto numbers = std::count_if(line.begin(), line.end(), [](C x) { return x == x; });
          int64_t rank = from;
          if (nan != Nan::kLast && numbers < lines.length) {
            rank = nan == Nan::kWins || numbers == 0 ? numbers : (numbers - 1) / 2;
          }
          const int64_t chosen = order[static_cast<size_t>(rank)];
          places[row] = chosen;
          store(get(launch, value), row, 1, &line[static_cast<size_t>(chosen)]);
        });
        store(get(launch, index), 0, lines.rows, places);
      });
    });
  });
}

int64_t middle(Planner&, int64_t length) { return (length - 1) / 2; }

aclnnStatus median_of_all(const char* op,
                          const aclTensor* self,
                          const aclTensor* out,
                          const char* out_name,
                          bool skip_nan,
                          uint64_t* workspace_size,
                          aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    const Operand in = p.input(self, "self", kF | kI);
    const Operand target = p.output(out, out_name, kF | kI);
    p.check(target.numel() == 1, p.name(target) + " must have one element");
    p.check(in.numel() > 0, "self is empty");
    p.run([=](Launch& launch) {
      with_real(in.dtype(), [&](auto zero) {
        using C = decltype(zero);
        const auto values = load_all<C>(get(launch, in));
        const auto order = order_of(values, false);
        int64_t length = static_cast<int64_t>(values.size());
        int64_t numbers = 0;
        for (const C value : values) numbers += value == value ? 1 : 0;
        size_t at = static_cast<size_t>((length - 1) / 2);
        if (numbers < length) {
          at = skip_nan && numbers > 0 ? static_cast<size_t>((numbers - 1) / 2)
                                       : static_cast<size_t>(length - 1);
        }
        store(get(launch, target), 0, 1, &values[static_cast<size_t>(order[at])]);
      });
    });
  });
}

// out[i] = f(out[i - 1], self[i]) along a dim.
template <class With, class F>
void run_scan(Planner& p,
              const Operand& in,
              int64_t dim,
              DType compute,
              const Operand& out,
              bool exclusive,
              bool reverse,
              int start,
              F f) {
  p.check_shape(out, in.shape());
  if (in.numel() == 0) return;
  p.run([=](Launch& launch) {
    With::with(compute, [&](auto zero) {
      using C = decltype(zero);
      for_rows<C>(get(launch, in), dim, [&](int64_t row, std::vector<C>& line) {
        if (reverse) std::reverse(line.begin(), line.end());
        C total = static_cast<C>(static_cast<float>(start));
        for (C& value : line) {
          const C next = f(total, value);
          value = exclusive ? total : next;
          total = next;
        }
        if (reverse) std::reverse(line.begin(), line.end());
        store_row(get(launch, out), dim, row, line);
      });
    });
  });
}

struct AddUp {
  template <class C>
  C operator()(C a, C b) const {
    return add(a, b);
  }
};
struct MultiplyUp {
  template <class C>
  C operator()(C a, C b) const {
    return mul(a, b);
  }
};

aclnnStatus running_extreme(const char* op,
                            const aclTensor* self,
                            int64_t dim,
                            const aclTensor* values,
                            const aclTensor* indices,
                            bool largest,
                            uint64_t* workspace_size,
                            aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    const Operand in = p.input(self, "self", kSortable);
    const Operand value = p.output(values, "valuesOut", kSortable);
    const Operand index = p.output(indices, "indicesOut", kIndex);
    const int64_t at = p.dim(dim, in.rank(), "dim");
    p.check_shape(value, in.shape());
    p.check_shape(index, in.shape());
    if (in.numel() == 0) return;
    p.run([=](Launch& launch) {
      with_real(in.dtype(), [&](auto zero) {
        using C = decltype(zero);
        for_rows<C>(get(launch, in), at, [&](int64_t row, std::vector<C>& line) {
          std::vector<int64_t> places(line.size());
          for (size_t i = 1; i < line.size(); ++i) {
            const C best = line[i - 1];
            const bool better = line[i] != line[i] ||
                                (best == best && (largest ? line[i] >= best : line[i] <= best));
            places[i] = better ? static_cast<int64_t>(i) : places[i - 1];
            if (!better) line[i] = best;
          }
          store_row(get(launch, value), at, row, line);
          store_row(get(launch, index), at, row, places);
        });
      });
    });
  });
}

}  // namespace

extern "C" {

SIM_SIGNATURE(Sort,
              const aclTensor* self,
              bool,
              int64_t dim,
              bool descending,
              aclTensor* valuesOut,
              aclTensor* indicesOut) {
  return plan("aclnnSort", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(self, "self", kF | kI | kU | kBool);
    const Operand values = p.output(valuesOut, "valuesOut", kF | kI | kU | kBool);
    const Operand indices = p.output(indicesOut, "indicesOut", kI64);
    const int64_t at = p.dim(dim, in.rank(), "dim");
    p.check_shape(values, in.shape());
    p.check_shape(indices, in.shape());
    p.check(values.dtype() == in.dtype(), "valuesOut must have the dtype of self");
    const int64_t length = in.rank() == 0 ? 1 : in.shape()[static_cast<size_t>(at)];
    run_sorted(p, in, at, descending, 0, length, values, indices);
  });
}
SIM_SIGNATURE(Argsort, const aclTensor* self, int64_t dim, bool descending, aclTensor* out) {
  return plan("aclnnArgsort", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(self, "self", kF | kI | kU);
    const Operand indices = p.output(out, "out", kI64);
    const int64_t at = p.dim(dim, in.rank(), "dim");
    p.check_shape(indices, in.shape());
    const int64_t length = in.rank() == 0 ? 1 : in.shape()[static_cast<size_t>(at)];
    run_sorted(p, in, at, descending, 0, length, {}, indices);
  });
}
SIM_SIGNATURE(Topk,
              const aclTensor* self,
              int64_t k,
              int64_t dim,
              bool largest,
              bool,
              aclTensor* valuesOut,
              aclTensor* indicesOut) {
  return plan("aclnnTopk", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(self, "self", (kSortable | kU) & ~kBool);
    const Operand values = p.output(valuesOut, "valuesOut", kSortable | kU);
    const Operand indices = p.output(indicesOut, "indicesOut", kI64);
    const int64_t at = p.dim(dim, in.rank(), "dim");
    const int64_t length = in.rank() == 0 ? 1 : in.shape()[static_cast<size_t>(at)];
    p.check(k >= 0 && k <= length, "k is " + std::to_string(k) + ", self has " +
                                       std::to_string(length) + " elements along dim");
    p.check_shape(values, with_size(in.shape(), at, k));
    p.check_shape(indices, with_size(in.shape(), at, k));
    p.check(values.dtype() == in.dtype(), "valuesOut must have the dtype of self");
    run_sorted(p, in, at, largest, 0, k, values, indices);
  });
}
SIM_SIGNATURE(Kthvalue,
              const aclTensor* self,
              int64_t k,
              int64_t dim,
              bool keepdim,
              aclTensor* valuesOut,
              aclTensor* indicesOut) {
  const auto place = [k](Planner& p, int64_t length) {
    p.check(k >= 1 && k <= length, "k is out of range");
    return k - 1;
  };
  return pick("aclnnKthvalue", self, dim, keepdim, Nan::kLast, place, valuesOut, indicesOut,
              kF | kI | kU, workspaceSize, executor);
}
SIM_SIGNATURE(MedianDim,
              const aclTensor* self,
              int64_t dim,
              bool keepDim,
              aclTensor* valuesOut,
              aclTensor* indicesOut) {
  return pick("aclnnMedianDim", self, dim, keepDim, Nan::kWins, middle, valuesOut, indicesOut,
              kF | kI, workspaceSize, executor);
}
SIM_SIGNATURE(NanMedianDim,
              const aclTensor* self,
              int64_t dim,
              bool keepDim,
              aclTensor* valuesOut,
              aclTensor* indicesOut) {
  return pick("aclnnNanMedianDim", self, dim, keepDim, Nan::kLeaves, middle, valuesOut, indicesOut,
              kF | kI, workspaceSize, executor);
}
SIM_SIGNATURE(Median, const aclTensor* self, aclTensor* valuesOut) {
  return median_of_all("aclnnMedian", self, valuesOut, "valuesOut", false, workspaceSize, executor);
}
SIM_SIGNATURE(NanMedian, const aclTensor* self, aclTensor* out) {
  return median_of_all("aclnnNanMedian", self, out, "out", true, workspaceSize, executor);
}

SIM_SIGNATURE(Cumsum, const aclTensor* self, int64_t dim, aclDataType dtype, aclTensor* out) {
  return plan("aclnnCumsum", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(self, "self", (kSortable | kC) & ~kBool);
    const Operand target = p.output(out, "out", (kSortable | kC) & ~kBool);
    p.check(dtype == target.dtype(), "dtype must be the dtype of out");
    const int64_t at = p.dim(dim, in.rank(), "dim");
    run_scan<Numbers>(p, in, at, dtype, target, false, false, 0, AddUp{});
  });
}
SIM_SIGNATURE(
    CumsumV2, const aclTensor* self, int64_t dim, bool exclusive, bool reverse, aclTensor* out) {
  return plan("aclnnCumsumV2", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(self, "self", kF | kI | kC | kF64);
    const Operand target = p.output(out, "out", kF | kI | kC | kF64);
    const int64_t at = p.dim(dim, in.rank(), "dim");
    run_scan<Numbers>(p, in, at, target.dtype(), target, exclusive, reverse, 0, AddUp{});
  });
}
SIM_SIGNATURE(Cumprod,
              const aclTensor* input,
              const aclScalar* dim,
              const aclDataType dtype,
              aclTensor* out) {
  return plan("aclnnCumprod", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(input, "input", (kSortable | kU | kC) & ~kBool);
    const int64_t at = p.dim(p.scalar(dim, "dim").integer(), in.rank(), "dim");
    const Operand target = p.output(out, "out", (kSortable | kU | kC) & ~kBool);
    p.check(dtype == target.dtype(), "dtype must be the dtype of out");
    run_scan<Numbers>(p, in, at, dtype, target, false, false, 1, MultiplyUp{});
  });
}
SIM_SIGNATURE(InplaceCumprod, aclTensor* input, const aclScalar* dim) {
  return plan("aclnnInplaceCumprod", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.inout(input, "input", (kSortable | kU | kC) & ~kBool);
    const int64_t at = p.dim(p.scalar(dim, "dim").integer(), in.rank(), "dim");
    run_scan<Numbers>(p, in, at, in.dtype(), in, false, false, 1, MultiplyUp{});
  });
}
SIM_SIGNATURE(
    Cummax, const aclTensor* self, int64_t dim, aclTensor* valuesOut, aclTensor* indicesOut) {
  return running_extreme("aclnnCummax", self, dim, valuesOut, indicesOut, true, workspaceSize,
                         executor);
}
SIM_SIGNATURE(
    Cummin, const aclTensor* self, int64_t dim, aclTensor* valuesOut, aclTensor* indicesOut) {
  return running_extreme("aclnnCummin", self, dim, valuesOut, indicesOut, false, workspaceSize,
                         executor);
}
}
