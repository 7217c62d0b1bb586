// Ops on chosen elements that releases after CANN 8.1 brought.
#include <algorithm>

#include "simulator/ascend/ops/indexing.h"
#include "simulator/ascend/ops/values.h"

using namespace sim;

namespace {

// The rows along `dim` that `index` names become `value`.
aclnnStatus fill_rows(const char* op,
                      const aclTensor* self,
                      bool in_place,
                      int64_t dim,
                      const aclTensor* index,
                      const aclScalar* value,
                      const aclTensor* out,
                      uint64_t* workspace_size,
                      aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    const Operand in = in_place ? p.inout(self, "selfRef", kAll) : p.input(self, "self", kAll);
    const Operand place = p.input(index, "index", kIndex);
    const aclScalar number = p.scalar(value, "value");
    const Operand target = in_place ? in : p.output(out, "out", kAll);
    const int64_t at = p.dim(dim, in.rank(), "dim");
    p.check_rank(place, 0, 1);
    p.check_shape(target, in.shape());
    check_same_dtype(p, target, in);
    if (target.numel() == 0) return;
    p.run([=](Launch& launch) {
      const View to = at_least_1d(get(launch, target));
      if (!in_place) copy_elements(to, at_least_1d(get(launch, in)));
      const View one = contiguous_view(const_cast<char*>(number.bytes.data()), number.dtype, {});
      for (const int64_t row : load_indices(get(launch, place), to.size(at))) {
        cast_elements(to.select(at, row), one);
      }
    });
  });
}

enum class Way { kNone = 0, kAdd, kMultiply, kMax, kMin, kMean };

template <class C>
C merged(Way way, C a, C b) {
  if (way == Way::kNone) return b;
  if (way == Way::kMultiply) return mul(a, b);
  if constexpr (!std::is_same_v<C, Complex64> && !std::is_same_v<C, Complex128>) {
    if (way == Way::kMax) return larger(a, b);
    if (way == Way::kMin) return smaller(a, b);
  }
  return add(a, b);
}

// A sum over its number; integers round down.
template <class C>
C mean_of(C sum, int64_t n) {
  if constexpr (std::is_integral_v<C>) {
    const C count = static_cast<C>(n);
    const C quotient = sum / count;
    return sum % count != 0 && sum < C(0) ? static_cast<C>(quotient - 1) : quotient;
  } else {
    using Part = decltype(std::abs(sum));
    return sum / C(static_cast<Part>(n));
  }
}

aclnnStatus scatter_reduce(const char* op,
                           const aclTensor* self,
                           bool in_place,
                           int64_t dim,
                           const aclTensor* index,
                           const aclTensor* src,
                           int64_t reduce,
                           bool include_self,
                           const aclTensor* out,
                           uint64_t* workspace_size,
                           aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    const Types types = kF | kF64 | kI | kBool | kC;
    const Operand in = in_place ? p.inout(self, "selfRef", types) : p.input(self, "self", types);
    const Operand place = p.input(index, "index", kIndex);
    const Operand source = p.input(src, "src", types);
    const Operand target = in_place ? in : p.output(out, "out", types);
    p.check(reduce >= 0 && reduce <= 5, "reduce is not one of 0 to 5");
    const auto way = static_cast<Way>(reduce);
    const int64_t at = p.dim(dim, in.rank(), "dim");
    check_along(p, in, place, at);
    check_same_dtype(p, source, in);
    check_same_dtype(p, target, in);
    p.check_shape(target, in.shape());
    for (int64_t d = 0; d < place.rank() && place.numel() > 0; ++d) {
      p.check(source.rank() == place.rank() && place.shape()[z(d)] <= source.shape()[z(d)],
              "index is larger than src at dim " + std::to_string(d));
    }
    if (target.numel() == 0) return;
    p.run([=](Launch& launch) {
      with_compute(in.dtype(), [&](auto zero) {
        using C = decltype(zero);
        const View& index_view = get(launch, place);
        auto result = load_all<C>(get(launch, in));
        const View order =
            contiguous_view(nullptr, ACL_INT8, in.rank() == 0 ? Shape{1} : in.shape());
        const View part = place.numel() == 0 ? View{} : get(launch, source);
        std::vector<int64_t> taken(result.size(), include_self ? 1 : 0);
        const auto places =
            place.numel() == 0 ? std::vector<int64_t>{} : along(order, at_least_1d(index_view), at);
        for (size_t i = 0; i < places.size(); ++i) {
          // The same place in src, which may be larger than index.
          View element = part;
          for (int64_t rest = static_cast<int64_t>(i), d = index_view.rank(); d-- > 0;) {
            element.data += rest % index_view.size(d) * part.stride(d) * part.item();
            rest /= index_view.size(d);
          }
          element.shape = element.strides = {};
          C value{};
          load(element, 0, 1, &value);
          C& to = result[z(places[i])];
          to = taken[z(places[i])] == 0 ? value : merged(way, to, value);
          ++taken[z(places[i])];
        }
        for (size_t i = 0; i < result.size() && way == Way::kMean; ++i) {
          if (taken[i] > 1) result[i] = mean_of(result[i], taken[i]);
        }
        store_all(get(launch, target), result);
      });
    });
  });
}

}  // namespace

extern "C" {

SIM_SIGNATURE(GatherV3,
              const aclTensor* self,
              int64_t dim,
              const aclTensor* index,
              int64_t batchDims,
              int64_t /*mode*/,
              aclTensor* out) {
  return plan("aclnnGatherV3", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(self, "self", kAll);
    const Operand place = p.input(index, "index", kIndex);
    const Operand target = p.output(out, "out", kAll);
    check_same_dtype(p, target, in);
    p.check_rank(in, 1, 8);
    const int64_t at = p.dim(dim, in.rank(), "dim");
    p.check(batchDims >= 0 && batchDims <= at && batchDims <= place.rank(),
            "batchDims must be at most dim and the rank of index");
    const auto cut = [](const Shape& shape, int64_t from, int64_t to) {
      return Shape(shape.begin() + from, shape.begin() + to);
    };
    p.check(cut(in.shape(), 0, batchDims) == cut(place.shape(), 0, batchDims),
            "self and index differ in the first batchDims dims");
    const Shape chosen = cut(place.shape(), batchDims, place.rank());
    Shape shape = cut(in.shape(), 0, at);
    shape.insert(shape.end(), chosen.begin(), chosen.end());
    shape.insert(shape.end(), in.shape().begin() + at + 1, in.shape().end());
    p.check_shape(target, shape);
    if (target.numel() == 0) return;
    const int64_t batches = count(cut(in.shape(), 0, batchDims));
    const int64_t outer = count(cut(in.shape(), batchDims, at));
    const int64_t size = in.shape()[z(at)];
    const int64_t inner = count(cut(in.shape(), at + 1, in.rank()));
    const int64_t picks = count(chosen);
    p.run([=](Launch& launch) {
      const View from = get(launch, in).reshape({batches, outer, size, inner});
      std::vector<char> bytes(z(target.numel() * from.item()));
      const View to = contiguous_view(bytes.data(), from.dtype, {batches, outer, picks, inner});
      const auto rows = load_indices(get(launch, place), size);
      for (int64_t b = 0; b < batches; ++b) {
        for (int64_t k = 0; k < picks; ++k) {
          const View line = from.select(0, b).select(1, rows[z(b * picks + k)]);
          copy_elements(to.select(0, b).select(1, k), line);
        }
      }
      copy_elements(get(launch, target), contiguous_view(bytes.data(), from.dtype, shape));
    });
  });
}

SIM_SIGNATURE(IndexFill,
              const aclTensor* self,
              int64_t dim,
              const aclTensor* index,
              const aclScalar* value,
              aclTensor* out) {
  return fill_rows("aclnnIndexFill", self, false, dim, index, value, out, workspaceSize, executor);
}
SIM_SIGNATURE(InplaceIndexFill,
              aclTensor* selfRef,
              int64_t dim,
              const aclTensor* index,
              const aclScalar* value) {
  return fill_rows("aclnnInplaceIndexFill", selfRef, true, dim, index, value, nullptr,
                   workspaceSize, executor);
}

SIM_SIGNATURE(IndexAddV2,
              const aclTensor* self,
              int64_t dim,
              const aclTensor* index,
              const aclTensor* source,
              const aclScalar* alpha,
              int64_t mode,
              aclTensor* out) {
  return plan("aclnnIndexAddV2", workspaceSize, executor, [&](Planner& p) {
    const Types types = kF | kI | kBool;
    const Operand in = p.input(self, "self", types);
    const Operand place = p.input(index, "index", kIndex);
    const Operand from = p.input(source, "source", types);
    const aclScalar factor = p.scalar(alpha, "alpha");
    const Operand target = p.output(out, "out", types);
    p.check(mode == 0 || mode == 1, "mode must be 0 or 1");
    const int64_t at = p.dim(dim, in.rank(), "dim");
    p.check_rank(place, 0, 1);
    check_same_dtype(p, from, in);
    check_same_dtype(p, target, in);
    p.check_shape(target, in.shape());
    p.check_shape(from, with_size(in.shape(), at, place.numel()));
    if (target.numel() == 0) return;
    p.run([=](Launch& launch) {
      with_compute(in.dtype(), [&](auto zero) {
        using C = decltype(zero);
        const C by = scalar_as<C>(factor);
        auto result = load_all<C>(get(launch, in));
        const auto added = load_all<C>(get(launch, from));
        const auto rows = load_indices(get(launch, place), size_at(in, at));
        const auto inner = static_cast<size_t>(
            in.rank() == 0 ? 1 : count(Shape(in.shape().begin() + at + 1, in.shape().end())));
        const size_t size = z(size_at(in, at));
        for (size_t i = 0; i < added.size(); ++i) {
          const size_t row = i / inner % rows.size();
          const size_t line = i / inner / rows.size() * size + z(rows[row]);
          C& to = result[line * inner + i % inner];
          to = add(to, mul(by, added[i]));
        }
        store_all(get(launch, target), result);
      });
    });
  });
}

SIM_SIGNATURE(ScatterReduce,
              const aclTensor* self,
              int64_t dim,
              const aclTensor* index,
              const aclTensor* src,
              int64_t reduce,
              bool includeSelf,
              aclTensor* out) {
  return scatter_reduce("aclnnScatterReduce", self, false, dim, index, src, reduce, includeSelf,
                        out, workspaceSize, executor);
}
SIM_SIGNATURE(InplaceScatterReduce,
              aclTensor* selfRef,
              int64_t dim,
              const aclTensor* index,
              const aclTensor* src,
              int64_t reduce,
              bool includeSelf) {
  return scatter_reduce("aclnnInplaceScatterReduce", selfRef, true, dim, index, src, reduce,
                        includeSelf, nullptr, workspaceSize, executor);
}

// The number of boundaries below each element, or not above it.
SIM_SIGNATURE(Bucketize,
              const aclTensor* self,
              const aclTensor* boundaries,
              bool outInt32,
              bool right,
              aclTensor* out) {
  return plan("aclnnBucketize", workspaceSize, executor, [&](Planner& p) {
    const Types types = kF | kI | kF64;
    const Operand in = p.input(self, "self", types);
    const Operand edges = p.input(boundaries, "boundaries", types);
    const Operand target = p.output(out, "out", kIndex);
    p.check_rank(edges, 1, 1);
    p.check(target.dtype() == (outInt32 ? ACL_INT32 : ACL_INT64),
            "out must be INT32 where outInt32 is true, INT64 elsewhere");
    p.check_shape(target, in.shape());
    if (target.numel() == 0) return;
    p.run([=](Launch& launch) {
      const auto limits = load_all<double>(get(launch, edges));
      std::vector<int64_t> result;
      for (const double value : load_all<double>(get(launch, in))) {
        // Not-a-number is above all.
        const auto found = std::find_if(limits.begin(), limits.end(), [&](double limit) {
          return right ? value < limit : value <= limit;
        });
        result.push_back(found - limits.begin());
      }
      store_all(get(launch, target), result);
    });
  });
}

// Sums of the elements that came from one; a single number of repeats holds for all.
SIM_SIGNATURE(RepeatInterleaveGrad,
              const aclTensor* yGrad,
              const aclTensor* repeats,
              int64_t axis,
              const aclTensor* out) {
  return plan("aclnnRepeatInterleaveGrad", workspaceSize, executor, [&](Planner& p) {
    const Operand grad = p.input(yGrad, "yGrad", kF);
    const Operand times = p.input(repeats, "repeats", kIndex);
    const Operand target = p.output(out, "out", kF);
    p.check_rank(grad, 1, 8);
    p.check_rank(times, 0, 1);
    check_same_dtype(p, target, grad);
    const int64_t at = p.dim(axis, grad.rank(), "axis");
    p.check_shape(target, with_size(grad.shape(), at, size_at(target, at)));
    check_count(p, times, times.numel() == 1 ? 1 : size_at(target, at));
    if (target.numel() == 0) return;
    p.run([=](Launch& launch) {
      const auto each = load_all<int64_t>(get(launch, times));
      std::vector<size_t> owner;  // of each row of yGrad
      for (int64_t row = 0; row < size_at(target, at); ++row) {
        const int64_t n = each[each.size() == 1 ? 0 : z(row)];
        owner.insert(owner.end(), z(std::max<int64_t>(n, 0)), z(row));
      }
      if (static_cast<int64_t>(owner.size()) != grad.shape()[z(at)]) {
        throw DeviceFault{507015, "repeats do not add up to the size of yGrad"};
      }
      const auto from = load_all<double>(get(launch, grad));
      const size_t inner = z(count(Shape(grad.shape().begin() + at + 1, grad.shape().end())));
      const size_t rows = z(size_at(target, at));
      std::vector<double> result(z(target.numel()));
      for (size_t i = 0; i < from.size(); ++i) {
        const size_t line = i / inner / owner.size() * rows + owner[i / inner % owner.size()];
        result[line * inner + i % inner] += from[i];
      }
      store_all(get(launch, target), result);
    });
  });
}
}
