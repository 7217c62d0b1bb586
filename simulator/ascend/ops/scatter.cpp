// Elements put at places that index tensors name.
#include "simulator/ascend/ops/indexing.h"

using namespace sim;

namespace {

aclnnStatus scatter(const char* op,
                    const aclTensor* self,
                    bool in_place,
                    int64_t dim,
                    const aclTensor* index,
                    const aclTensor* src,
                    bool by_tensor,
                    const aclScalar* value,
                    int64_t reduce,
                    const aclTensor* out,
                    uint64_t* workspace_size,
                    aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    const Operand in = in_place ? p.inout(self, "selfRef", kAny) : p.input(self, "self", kAny);
    const Operand place = p.input(index, "index", kIndex);
    const Operand source = by_tensor ? p.input(src, "src", kAny) : Operand{};
    aclScalar fill;
    if (!by_tensor) fill = p.scalar(value, "value");
    const Operand target = in_place ? in : p.output(out, "out", kAny);
    const int64_t at = p.dim(dim, in.rank(), "dim");
    p.check(reduce >= 0 && reduce <= 2,
            "reduce is " + std::to_string(reduce) + ", expected is 0, 1 or 2");
    p.check_shape(target, in.shape());
    check_same_dtype(p, target, in);
    check_along(p, in, place, at);
    if (source) {
      check_same_dtype(p, source, in);
      for (int64_t d = 0; d < place.rank() && place.numel() > 0; ++d) {
        p.check(place.shape()[static_cast<size_t>(d)] <= size_at(source, d),
                "index is larger than src at dim " + std::to_string(d));
      }
    }
    if (in.numel() == 0) return;
    p.run([=](Launch& launch) {
      const View to = at_least_1d(get(launch, target));
      if (!in_place) copy_elements(to, at_least_1d(get(launch, in)));
      if (place.numel() == 0) return;
      const View where = at_least_1d(get(launch, place));
      const View scalar = contiguous_view(const_cast<char*>(fill.bytes.data()), fill.dtype, {});
      View from = source ? at_least_1d(get(launch, source)) : scalar;
      if (source) from.shape = where.shape;
      const auto offsets = along(to, where, at);
      for (size_t i = 0; i < offsets.size(); ++i) {
        const View one = source ? element(from, from.offset_of(static_cast<int64_t>(i))) : scalar;
        put(element(to, offsets[i]), one, static_cast<Reduce>(reduce));
      }
    });
  });
}

// Rows of `source` into the rows of self that `index` names.
aclnnStatus index_rows(const char* op,
                       const aclTensor* self,
                       bool in_place,
                       int64_t dim,
                       const aclTensor* index,
                       const aclTensor* source,
                       const aclScalar* alpha,
                       bool adds,
                       const aclTensor* out,
                       const char* out_name,
                       uint64_t* workspace_size,
                       aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    const Operand in = in_place ? p.inout(self, "selfRef", kAll) : p.input(self, "self", kAll);
    const Operand place = p.input(index, "index", kIndex);
    const Operand rows = p.input(source, "source", kAll);
    aclScalar factor;
    if (adds) factor = p.scalar(alpha, "alpha");
    const Operand target = in_place ? in : p.output(out, out_name, kAll);
    const int64_t at = p.dim(dim, in.rank(), "dim");
    p.check_rank(place, 0, 1);
    p.check_shape(target, in.shape());
    check_same_dtype(p, target, in);
    check_same_dtype(p, rows, in);
    p.check_shape(rows, with_size(in.shape(), at, place.numel()));
    if (in.numel() == 0) return;
    p.run([=](Launch& launch) {
      const View to = at_least_1d(get(launch, target));
      if (!in_place) copy_elements(to, at_least_1d(get(launch, in)));
      const View from = at_least_1d(get(launch, rows));
      const auto indices = load_indices(get(launch, place), to.size(at));
      for (size_t i = 0; i < indices.size(); ++i) {
        const View one = to.select(at, indices[i]);
        const View row = from.select(at, static_cast<int64_t>(i));
        if (!adds) {
          copy_elements(one, row);
          continue;
        }
        with_compute(to.dtype, [&](auto zero) {
          using C = decltype(zero);
          const C times = scalar_as<C>(factor);
          map_elements<C>(one, [&](C a, C b) { return add(a, mul(times, b)); }, one, row);
        });
      }
    });
  });
}

aclnnStatus index_fill(const char* op,
                       const aclTensor* self,
                       bool in_place,
                       int64_t dim,
                       const aclIntArray* index,
                       const aclScalar* value,
                       const aclTensor* out,
                       uint64_t* workspace_size,
                       aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    const Operand in = in_place ? p.inout(self, "selfRef", kAll) : p.input(self, "self", kAll);
    std::vector<int64_t> places = p.array(index, "index");
    const aclScalar fill = p.scalar(value, "value");
    const Operand target = in_place ? in : p.output(out, "out", kAll);
    const int64_t at = p.dim(dim, in.rank(), "dim");
    const int64_t size = size_at(in, at);
    for (int64_t& place : places) {
      p.check(place >= -size && place < size, "index has the value " + std::to_string(place) +
                                                  ", out of range for size " +
                                                  std::to_string(size));
      if (place < 0) place += size;
    }
    p.check_shape(target, in.shape());
    if (in.numel() == 0) return;
    p.run([=](Launch& launch) {
      const View to = at_least_1d(get(launch, target));
      if (!in_place) copy_elements(to, at_least_1d(get(launch, in)));
      const View one = contiguous_view(const_cast<char*>(fill.bytes.data()), fill.dtype, {});
      for (const int64_t place : places) cast_elements(to.select(at, place), one);
    });
  });
}

}  // namespace

extern "C" {

SIM_SIGNATURE(ScatterNdUpdate,
              aclTensor* varRef,
              const aclTensor* indices,
              const aclTensor* updates) {
  return plan("aclnnScatterNdUpdate", workspaceSize, executor, [&](Planner& p) {
    const Operand self = p.inout(varRef, "varRef", kAll);
    const Operand place = p.input(indices, "indices", kIndex);
    const Operand source = p.input(updates, "updates", kAll);
    check_same_dtype(p, source, self);
    p.check_rank(place, 1, 8);
    const int64_t depth = place.shape().back();
    p.check(depth <= self.rank(), "indices names more dims than varRef has");
    Shape shape(place.shape().begin(), place.shape().end() - 1);
    shape.insert(shape.end(), self.shape().begin() + depth, self.shape().end());
    p.check_shape(source, shape);
    if (source.numel() == 0) return;
    p.run([=](Launch& launch) {
      const auto all = load_all<int64_t>(get(launch, place));
      const View& to = get(launch, self);
      const int64_t n = depth == 0 ? 1 : place.numel() / depth;
      for (int64_t i = 0; i < n; ++i) {
        View one = to;
        for (int64_t d = 0; d < depth; ++d) {
          one = one.select(0, wrap(all[static_cast<size_t>(i * depth + d)], to.size(d)));
        }
        const View from = contiguous_view(get(launch, source).data + i * one.numel() * to.item(),
                                          to.dtype, one.shape);
        copy_elements(one, from);
      }
    });
  });
}

SIM_SIGNATURE(Scatter,
              const aclTensor* self,
              int64_t dim,
              const aclTensor* index,
              const aclTensor* src,
              int64_t reduce,
              aclTensor* out) {
  return scatter("aclnnScatter", self, false, dim, index, src, true, nullptr, reduce, out,
                 workspaceSize, executor);
}

SIM_SIGNATURE(ScatterValue,
              const aclTensor* self,
              int64_t dim,
              const aclTensor* index,
              const aclScalar* value,
              int64_t reduce,
              aclTensor* out) {
  return scatter("aclnnScatterValue", self, false, dim, index, nullptr, false, value, reduce, out,
                 workspaceSize, executor);
}

SIM_SIGNATURE(InplaceScatter,
              aclTensor* selfRef,
              int64_t dim,
              const aclTensor* index,
              const aclTensor* src,
              int64_t reduce) {
  return scatter("aclnnInplaceScatter", selfRef, true, dim, index, src, true, nullptr, reduce,
                 nullptr, workspaceSize, executor);
}

SIM_SIGNATURE(InplaceScatterValue,
              aclTensor* selfRef,
              int64_t dim,
              const aclTensor* index,
              const aclScalar* value,
              int64_t reduce) {
  return scatter("aclnnInplaceScatterValue", selfRef, true, dim, index, nullptr, false, value,
                 reduce, nullptr, workspaceSize, executor);
}

SIM_SIGNATURE(ScatterAdd,
              const aclTensor* self,
              int64_t dim,
              const aclTensor* index,
              const aclTensor* src,
              aclTensor* out) {
  return scatter("aclnnScatterAdd", self, false, dim, index, src, true, nullptr, 1, out,
                 workspaceSize, executor);
}

SIM_SIGNATURE(InplaceScatterUpdate,
              aclTensor* data,
              const aclTensor* indices,
              const aclTensor* updates,
              int64_t axis) {
  return plan("aclnnInplaceScatterUpdate", workspaceSize, executor, [&](Planner& p) {
    // updates[b, ...] goes to data[b, ...] at the place along `axis` that indices[b] names first.
    const Operand self = p.inout(data, "data", kAll);
    const Operand place = p.input(indices, "indices", kIndex);
    const Operand source = p.input(updates, "updates", kAll);
    check_same_dtype(p, source, self);
    p.check_rank(source, self.rank(), self.rank());
    p.check_rank(place, 1, 2);
    p.check_rank(self, 2, 8);
    const int64_t at = p.dim(axis, self.rank(), "axis");
    if (source.numel() == 0) return;
    p.run([=](Launch& launch) {
      const auto where = load_all<int64_t>(get(launch, place));
      const View& to = get(launch, self);
      const View& from = get(launch, source);
      const bool pairs = place.rank() == 2;
      const int64_t rows = std::min<int64_t>(from.size(0), place.shape()[0]);
      for (int64_t i = 0; i < rows; ++i) {
        const auto k = static_cast<size_t>(i);
        const int64_t batch = pairs ? wrap(where[2 * k], to.size(0)) : i;
        const int64_t start = pairs ? where[2 * k + 1] : where[k];
        const int64_t length = from.size(at);
        if (start < 0 || start + length > to.size(at)) {
          throw DeviceFault{507015, "indices has a value out of range"};
        }
        copy_elements(to.select(0, batch).slice(at - 1, start, length), from.select(0, i));
      }
    });
  });
}

SIM_SIGNATURE(IndexAdd,
              const aclTensor* self,
              const int64_t dim,
              const aclTensor* index,
              const aclTensor* source,
              const aclScalar* alpha,
              aclTensor* out) {
  return index_rows("aclnnIndexAdd", self, false, dim, index, source, alpha, true, out, "out",
                    workspaceSize, executor);
}

SIM_SIGNATURE(InplaceIndexCopy,
              aclTensor* selfRef,
              int64_t dim,
              const aclTensor* index,
              const aclTensor* source) {
  return index_rows("aclnnInplaceIndexCopy", selfRef, true, dim, index, source, nullptr, false,
                    nullptr, nullptr, workspaceSize, executor);
}

SIM_SIGNATURE(IndexCopy,
              aclTensor* selfRef,
              int64_t dim,
              const aclTensor* index,
              const aclTensor* source,
              aclTensor* outRef) {
  return index_rows("aclnnIndexCopy", selfRef, false, dim, index, source, nullptr, false, outRef,
                    "outRef", workspaceSize, executor);
}

SIM_SIGNATURE(IndexFillTensor,
              const aclTensor* self,
              int64_t dim,
              const aclIntArray* index,
              const aclScalar* value,
              aclTensor* out) {
  return index_fill("aclnnIndexFillTensor", self, false, dim, index, value, out, workspaceSize,
                    executor);
}

SIM_SIGNATURE(InplaceIndexFillTensor,
              aclTensor* selfRef,
              int64_t dim,
              const aclIntArray* index,
              const aclScalar* value) {
  return index_fill("aclnnInplaceIndexFillTensor", selfRef, true, dim, index, value, nullptr,
                    workspaceSize, executor);
}

SIM_SIGNATURE(EmbeddingDenseBackward,
              const aclTensor* grad,
              const aclTensor* indices,
              uint64_t numWeights,
              uint64_t paddingIdx,
              bool scaleGradByFreq,
              const aclTensor* out) {
  return plan("aclnnEmbeddingDenseBackward", workspaceSize, executor, [&](Planner& p) {
    const Operand g = p.input(grad, "grad", kF);
    const Operand place = p.input(indices, "indices", kI | kF);
    const Operand target = p.output(out, "out", kF);
    p.check_rank(g, 1, 8);
    const int64_t width = g.shape().back();
    p.check_shape(target, {static_cast<int64_t>(numWeights), width});
    p.check(g.numel() == place.numel() * width, "grad must have a row for each of indices");
    if (target.numel() == 0) return;
    const uint64_t at = p.workspace(target.numel() * 4);
    p.run([=](Launch& launch) {
      auto* const sums = reinterpret_cast<float*>(launch.workspace(at));
      std::fill(sums, sums + target.numel(), 0.0F);
      const auto where = load_indices(get(launch, place), target.shape()[0]);
      const auto rows = load_all<float>(get(launch, g));
      std::vector<float> times(static_cast<size_t>(numWeights));
      for (const int64_t row : where) ++times[static_cast<size_t>(row)];
      for (size_t i = 0; i < where.size(); ++i) {
        if (static_cast<uint64_t>(where[i]) == paddingIdx) continue;
        const float scale = scaleGradByFreq ? 1 / times[static_cast<size_t>(where[i])] : 1;
        for (int64_t k = 0; k < width; ++k) {
          sums[where[i] * width + k] +=
              scale * rows[i * static_cast<size_t>(width) + static_cast<size_t>(k)];
        }
      }
      store(get(launch, target), 0, target.numel(), sums);
    });
  });
}
}
