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

// Slices of `updates` to the places that the last dim of `indices` names; `out` starts as self.
void scatter_nd(Planner& p,
                const Operand& self,
                const aclTensor* indices,
                const aclTensor* updates,
                const Operand& out) {
  const Operand place = p.input(indices, "indices", kIndex);
  const Operand source = p.input(updates, "updates", kAll);
  check_same_dtype(p, source, self);
  check_same_dtype(p, out, self);
  p.check_shape(out, self.shape());
  p.check_rank(place, 1, 8);
  const int64_t depth = place.shape().back();
  p.check(depth <= self.rank(), "indices names more dims than " + p.name(self) + " has");
  Shape shape(place.shape().begin(), place.shape().end() - 1);
  shape.insert(shape.end(), self.shape().begin() + depth, self.shape().end());
  p.check_shape(source, shape);
  const bool in_place = out.slot == self.slot;
  if (in_place ? source.numel() == 0 : out.numel() == 0) return;
  p.run([=](Launch& launch) {
    const View& to = get(launch, out);
    if (!in_place) copy_elements(to, get(launch, self));
    if (source.numel() == 0) return;
    const auto all = load_all<int64_t>(get(launch, place));
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
}

}  // namespace

extern "C" {

SIM_SIGNATURE(ScatterNdUpdate,
              aclTensor* varRef,
              const aclTensor* indices,
              const aclTensor* updates) {
  return plan("aclnnScatterNdUpdate", workspaceSize, executor, [&](Planner& p) {
    const Operand self = p.inout(varRef, "varRef", kAll);
    scatter_nd(p, self, indices, updates, self);
  });
}

SIM_SIGNATURE(ScatterNd,
              const aclTensor* data,
              const aclTensor* indices,
              const aclTensor* updates,
              aclTensor* out) {
  return plan("aclnnScatterNd", workspaceSize, executor, [&](Planner& p) {
    const Operand self = p.input(data, "data", kAll);
    scatter_nd(p, self, indices, updates, p.output(out, "out", kAll));
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

SIM_SIGNATURE(OneHot,
              const aclTensor* self,
              int numClasses,
              const aclTensor* onValue,
              const aclTensor* offValue,
              int64_t axis,
              aclTensor* out) {
  return plan("aclnnOneHot", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(self, "self", kU8 | kI32 | kI64);
    const Types types = kF | kI;
    const Operand on = p.input(onValue, "onValue", types);
    const Operand off = p.input(offValue, "offValue", types);
    const Operand target = p.output(out, "out", types);
    p.check(numClasses >= 0, "numClasses is negative");
    p.check(axis >= -1 && axis <= in.rank(), "axis is out of range");
    p.check(on.dtype() == target.dtype() && off.dtype() == target.dtype(),
            "onValue and offValue must have the dtype of out");
    p.check(on.numel() == 1 && off.numel() == 1, "onValue and offValue must have one element");
    const int64_t at = axis < 0 ? in.rank() : axis;
    Shape shape = in.shape();
    shape.insert(shape.begin() + at, numClasses);
    p.check_shape(target, shape);
    if (target.numel() == 0) return;
    p.run([=](Launch& launch) {
      const View& view = get(launch, target);
      cast_elements(view, get(launch, off).reshape({}));
      const View rows = view.with_last(at);
      const auto classes = load_all<int64_t>(get(launch, in));
      for (size_t i = 0; i < classes.size(); ++i) {
        if (classes[i] < 0 || classes[i] >= numClasses) continue;
        const int64_t flat = static_cast<int64_t>(i) * numClasses + classes[i];
        std::memcpy(rows.data + rows.offset_of(flat), get(launch, on).data,
                    static_cast<size_t>(view.item()));
      }
    });
  });
}
}
