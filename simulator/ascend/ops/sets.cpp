// Distinct values, membership, places in sorted sequences, histograms.
#include "simulator/ascend/ops/indexing.h"
#include "simulator/ascend/ops/move.h"
#include "simulator/ascend/ops/order.h"
#include "simulator/ascend/ops/rows.h"

using namespace sim;

namespace {

constexpr Types kReal = kF | kI | kF64 | kBool;

// The equal ones among items 0 .. n - 1, as `same` says.
struct Groups {
  std::vector<int64_t> first;   // an item of each
  std::vector<int64_t> counts;  // how many items each has
  std::vector<int64_t> places;  // the group of each item
};

template <class Same>
Groups group(const std::vector<int64_t>& order, Same same) {
  Groups result;
  result.places.resize(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || !same(order[i - 1], order[i])) {
      result.first.push_back(order[i]);
      result.counts.push_back(0);
    }
    ++result.counts.back();
    result.places[static_cast<size_t>(order[i])] = static_cast<int64_t>(result.first.size()) - 1;
  }
  return result;
}

// The tensors of every form; what the caller left out stays null.
struct Unique {
  const char* op;
  const aclTensor* self;
  const aclTensor* values;
  const aclTensor* inverse;
  const aclTensor* counts;
  bool counted;
};

// Distinct elements, or distinct slices along `dim` (no dim of self: elements). Only neighbours
// count as equal with `consecutive`, which keeps their order; else the result is sorted.
aclnnStatus unique(const Unique& a,
                   bool consecutive,
                   bool sliced,
                   int64_t dim,
                   Types types,
                   uint64_t* workspace_size,
                   aclOpExecutor** executor) {
  return plan(a.op, workspace_size, executor, [&](Planner& p) {
    const Operand in = p.input(a.self, "self", types);
    const Operand values = p.output(a.values, "valueOut", types);
    const Operand inverse = p.output(a.inverse, "inverseOut", kI64);
    const Operand counts = a.counted ? p.output(a.counts, "countsOut", kI64) : Operand{};
    const int64_t at = sliced ? p.dim(dim, in.rank(), "dim") : 0;
    check_same_dtype(p, values, in);
    p.check(values.numel() >= in.numel(), "valueOut must have room for all elements");
    const int64_t items = sliced ? size_at(in, at) : in.numel();
    p.check(inverse.numel() == 0 || inverse.numel() == items,
            "inverseOut must have a place for each element of self");
    p.check(!counts || counts.numel() == 0 || counts.numel() >= items,
            "countsOut must have room for all elements");
    p.run([=](Launch& launch) {
      const View whole = at_least_1d(get(launch, in));
      const View rows = sliced ? dim_first(whole, at) : whole.reshape({items});
      const size_t length = items == 0 ? 0 : static_cast<size_t>(in.numel() / items);
      with_compute(in.dtype(), [&](auto zero) {
        using C = decltype(zero);
        const auto all = load_all<C>(rows);
        const auto part = [&](int64_t item) {
          return all.data() + static_cast<size_t>(item) * length;
        };
        const auto same = [&](int64_t x, int64_t y) {
          return std::equal(part(x), part(x) + length, part(y));
        };
        std::vector<int64_t> order(static_cast<size_t>(items));
        std::iota(order.begin(), order.end(), 0);
        if constexpr (!std::is_same_v<C, Complex64> && !std::is_same_v<C, Complex128>) {
          const auto less = [&](int64_t x, int64_t y) {
            return std::lexicographical_compare(part(x), part(x) + length, part(y),
                                                part(y) + length,
                                                [](C m, C n) { return before(m, n, false); });
          };
          if (!consecutive) std::stable_sort(order.begin(), order.end(), less);
        }
        const Groups found = group(order, same);
        const auto n = static_cast<int64_t>(found.first.size());
        const Shape shape = sliced ? with_size(whole.shape, at, n) : Shape{n};
        View to = contiguous_view(get(launch, values).data, values.dtype(), shape);
        if (sliced) to = dim_first(to, at);
        for (int64_t i = 0; i < n; ++i) {
          copy_elements(to.select(0, i), rows.select(0, found.first[static_cast<size_t>(i)]));
        }
        launch.set_shape(static_cast<size_t>(values.slot), shape);
        if (inverse.numel() > 0) store_all(get(launch, inverse), found.places);
        if (counts && counts.numel() > 0) {
          store_all(contiguous_view(get(launch, counts).data, counts.dtype(), {n}), found.counts);
          launch.set_shape(static_cast<size_t>(counts.slot), {n});
        }
      });
    });
  });
}

// How many elements of a sorted line come before `value`; not-a-number belongs behind all.
template <class C, class At>
int64_t place_of(C value, int64_t length, bool right, At at) {
  int64_t first = 0;
  for (int64_t end = length; first < end;) {
    const int64_t middle = first + (end - first) / 2;
    if (right ? at(middle) > value : at(middle) >= value) {
      end = middle;
    } else {
      first = middle + 1;
    }
  }
  return first;
}

constexpr Types kSearched = kI | kF32 | kF16 | kF64;

// The elements of `out` say where the ones of self (a tensor, or one number) belong.
aclnnStatus search(const char* op,
                   const aclTensor* sorted,
                   const aclTensor* self,
                   const aclScalar* number,
                   bool by_tensor,
                   bool narrow,
                   bool right,
                   const aclTensor* sorter,
                   const aclTensor* out,
                   uint64_t* workspace_size,
                   aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    const Operand sequence = p.input(sorted, "sortedSequence", kSearched);
    const Operand in = by_tensor ? p.input(self, "self", kSearched) : Operand{};
    const aclScalar value = by_tensor ? aclScalar{} : p.scalar(number, "self");
    const Operand order = p.optional(sorter, "sorter", kI64);
    const Operand target = p.output(out, "out", narrow ? kI32 : kI64);
    p.check_rank(sequence, 1, by_tensor ? 8 : 1);
    if (in) p.check_shape(target, in.shape());
    p.check(in || target.numel() == 1, "out must have one element");
    if (order) p.check_shape(order, sequence.shape());
    const int64_t length = sequence.shape().back();
    const int64_t rows = length == 0 ? 1 : sequence.numel() / length;
    if (sequence.rank() > 1) {
      Shape lead = in.shape();
      p.check_rank(in, sequence.rank(), sequence.rank());
      lead.back() = length;
      p.check_shape(sequence, lead);
    }
    if (target.numel() == 0) return;
    const DType compute =
        in ? promote(sequence.dtype(), in.dtype()) : promote_scalar(sequence.dtype(), value.dtype);
    p.run([=](Launch& launch) {
      with_real(compute, [&](auto zero) {
        using C = decltype(zero);
        const auto all = load_all<C>(get(launch, sequence));
        const auto values = in ? load_all<C>(get(launch, in)) : std::vector<C>{scalar_as<C>(value)};
        const auto by = order ? load_indices(get(launch, order), length) : std::vector<int64_t>{};
        const size_t each = values.size() / static_cast<size_t>(rows);
        std::vector<int64_t> places(values.size());
        for (size_t i = 0; i < values.size(); ++i) {
          const size_t start = i / each * static_cast<size_t>(length);
          places[i] = place_of(values[i], length, right, [&](int64_t j) {
            const size_t at = start + static_cast<size_t>(j);
            return all[by.empty() ? at : start + static_cast<size_t>(by[at])];
          });
        }
        store_all(get(launch, target), places);
      });
    });
  });
}

// out[i] = whether any of the numbers equals element i; one side is a host scalar.
aclnnStatus is_in(const char* op,
                  const aclTensor* tensor,
                  const char* tensor_name,
                  const aclScalar* scalar,
                  const char* scalar_name,
                  bool whole,
                  bool invert,
                  const aclTensor* out,
                  uint64_t* workspace_size,
                  aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    const Types types = kF | kI | kF64;
    const Operand in = p.input(tensor, tensor_name, types);
    const aclScalar value = p.scalar(scalar, scalar_name);
    const Operand target = p.output(out, "out", kBool);
    if (!whole) p.check_shape(target, in.shape());
    p.check(!whole || target.numel() == 1, "out must have one element");
    if (target.numel() == 0) return;
    p.run([=](Launch& launch) {
      with_real(promote_scalar(in.dtype(), value.dtype), [&](auto zero) {
        using C = decltype(zero);
        const C number = scalar_as<C>(value);
        std::vector<int64_t> hits;
        for (const C each : load_all<C>(get(launch, in))) hits.push_back(each == number ? 1 : 0);
        if (whole) hits = {std::find(hits.begin(), hits.end(), 1) != hits.end() ? 1 : 0};
        for (int64_t& hit : hits) hit = invert ? 1 - hit : hit;
        store_all(get(launch, target), hits);
      });
    });
  });
}

}  // namespace

extern "C" {

SIM_SIGNATURE(
    Unique, const aclTensor* self, bool, bool, aclTensor* valueOut, aclTensor* inverseOut) {
  return unique({"aclnnUnique", self, valueOut, inverseOut, nullptr, false}, false, false, 0,
                kReal | kU, workspaceSize, executor);
}
SIM_SIGNATURE(Unique2,
              const aclTensor* self,
              bool,
              bool,
              bool,
              aclTensor* valueOut,
              aclTensor* inverseOut,
              aclTensor* countsOut) {
  return unique({"aclnnUnique2", self, valueOut, inverseOut, countsOut, true}, false, false, 0,
                kReal | kU, workspaceSize, executor);
}
SIM_SIGNATURE(UniqueDim,
              const aclTensor* self,
              bool,
              bool,
              int64_t dim,
              aclTensor* valueOut,
              aclTensor* inverseOut,
              aclTensor* countsOut) {
  return unique({"aclnnUniqueDim", self, valueOut, inverseOut, countsOut, true}, false, true, dim,
                kReal | kU, workspaceSize, executor);
}
// A dim that self cannot have stands for "no dim".
SIM_SIGNATURE(UniqueConsecutive,
              const aclTensor* self,
              bool,
              bool,
              int64_t dim,
              aclTensor* valueOut,
              aclTensor* inverseOut,
              aclTensor* countsOut) {
  constexpr int64_t kNone = 1000;
  return unique({"aclnnUniqueConsecutive", self, valueOut, inverseOut, countsOut, true}, true,
                dim != kNone, dim, kReal | kU | kC, workspaceSize, executor);
}

SIM_SIGNATURE(SearchSorted,
              const aclTensor* sortedSequence,
              const aclTensor* self,
              const bool outInt32,
              const bool right,
              const aclTensor* sorter,
              aclTensor* out) {
  return search("aclnnSearchSorted", sortedSequence, self, nullptr, true, outInt32, right, sorter,
                out, workspaceSize, executor);
}
SIM_SIGNATURE(SearchSorteds,
              const aclTensor* sortedSequence,
              const aclScalar* self,
              const bool outInt32,
              const bool right,
              const aclTensor* sorter,
              aclTensor* out) {
  return search("aclnnSearchSorteds", sortedSequence, nullptr, self, false, outInt32, right, sorter,
                out, workspaceSize, executor);
}

SIM_SIGNATURE(IsInScalarTensor,
              const aclScalar* element,
              const aclTensor* testElements,
              bool,
              bool invert,
              aclTensor* out) {
  return is_in("aclnnIsInScalarTensor", testElements, "testElements", element, "element", true,
               invert, out, workspaceSize, executor);
}
SIM_SIGNATURE(IsInTensorScalar,
              const aclTensor* element,
              const aclScalar* testElement,
              bool,
              bool invert,
              aclTensor* out) {
  return is_in("aclnnIsInTensorScalar", element, "element", testElement, "testElement", false,
               invert, out, workspaceSize, executor);
}

SIM_SIGNATURE(Histc,
              const aclTensor* self,
              int64_t bins,
              const aclScalar* min,
              const aclScalar* max,
              aclTensor* out) {
  return plan("aclnnHistc", workspaceSize, executor, [&](Planner& p) {
    const Types types = kF | kI | kF64;
    const Operand in = p.input(self, "self", types);
    const double low = p.scalar(min, "min").real();
    const double high = p.scalar(max, "max").real();
    const Operand target = p.output(out, "out", types);
    p.check(bins > 0, "bins must be positive");
    p.check(low <= high, "max must not be less than min");
    p.check_shape(target, {bins});
    p.run([=](Launch& launch) {
      const auto values = load_all<double>(get(launch, in));
      double first = low;
      double last = high;
      // Without a range it is the values' own, or one around their only value.
      if (first == last && !values.empty()) {
        first = *std::min_element(values.begin(), values.end());
        last = *std::max_element(values.begin(), values.end());
      }
      if (first == last) {
        first -= 1;
        last += 1;
      }
      std::vector<double> counts(static_cast<size_t>(bins));
      for (const double value : values) {
        if (!(value >= first && value <= last)) continue;
        const auto bin =
            static_cast<int64_t>((value - first) / (last - first) * static_cast<double>(bins));
        ++counts[static_cast<size_t>(std::min(bin, bins - 1))];
      }
      store_all(get(launch, target), counts);
    });
  });
}

SIM_SIGNATURE(
    Bincount, const aclTensor* self, const aclTensor* weights, int64_t minlength, aclTensor* out) {
  return plan("aclnnBincount", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(self, "self", kI);
    const Operand weight = p.optional(weights, "weights", kReal);
    const Operand target = p.output(out, "out", kI32 | kI64 | kF32 | kF64);
    p.check_rank(in, 1, 1);
    p.check_rank(target, 1, 1);
    if (weight) p.check_shape(weight, in.shape());
    p.check(minlength >= 0 && target.numel() >= minlength, "out is shorter than minlength");
    if (target.numel() == 0) return;
    p.run([=](Launch& launch) {
      const auto places = load_all<int64_t>(get(launch, in));
      std::vector<double> sums(static_cast<size_t>(target.numel()));
      const auto each = weight ? load_all<double>(get(launch, weight)) : std::vector<double>{};
      for (size_t i = 0; i < places.size(); ++i) {
        if (places[i] < 0 || places[i] >= target.numel()) {
          throw DeviceFault{507018, "self has the value " + std::to_string(places[i]) +
                                        ", out has no place for it"};
        }
        sums[static_cast<size_t>(places[i])] += weight ? each[i] : 1;
      }
      store_all(get(launch, target), sums);
    });
  });
}
}
