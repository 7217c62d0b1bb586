// Copies of parts, and whole tensors from parts.
#include <limits>
#include <numeric>

#include "simulator/ascend/ops/move.h"

using namespace sim;

namespace {

// `bound` counted from the end when negative, then cut to [0, size].
int64_t clip(int64_t bound, int64_t size) {
  return std::clamp<int64_t>(bound < 0 ? bound + size : bound, 0, size);
}

// A slice along some dims.
struct Cuts {
  Shape shape;                               // of the result
  std::vector<std::array<int64_t, 4>> each;  // dim, first, length, step

  View apply(View view) const {
    for (const auto& [dim, first, length, step] : each) view = view.slice(dim, first, length, step);
    return view;
  }
};

Cuts cut(Planner& p,
         const Shape& shape,
         const std::vector<int64_t>& from,
         const std::vector<int64_t>& to,
         const std::vector<int64_t>& dims,
         const std::vector<int64_t>& by,
         const std::string& names) {
  p.check(from.size() == to.size() && to.size() == dims.size() && by.size() == dims.size(),
          names + " must have one length");
  p.check(dims.empty() || !shape.empty(), names + ": a tensor without dims cannot be cut");
  Cuts cuts{shape, {}};
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t at = p.dim(dims[i], static_cast<int64_t>(shape.size()), names.c_str());
    p.check(by[i] > 0, names + ": a step must be positive");
    const int64_t size = cuts.shape[static_cast<size_t>(at)];
    const int64_t first = clip(from[i], size);
    const int64_t length = (std::max(clip(to[i], size), first) - first + by[i] - 1) / by[i];
    cuts.shape[static_cast<size_t>(at)] = length;
    cuts.each.push_back({at, first, length, by[i]});
  }
  return cuts;
}

std::vector<Operand> split_outputs(Planner& p, const aclTensorList* out, const Operand& in) {
  const std::vector<Operand> parts = p.outputs(out, "out", kAny);
  for (const Operand& part : parts) {
    p.check(part.dtype() == in.dtype(), p.name(part) + " must have the dtype of self");
  }
  return parts;
}

void split(Planner& p,
           const Operand& in,
           int64_t dim,
           const std::vector<int64_t>& sizes,
           const std::vector<Operand>& parts) {
  p.check(parts.size() == sizes.size(), "out has " + std::to_string(parts.size()) +
                                            " tensors, expected are " +
                                            std::to_string(sizes.size()));
  int64_t sum = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    p.check_shape(parts[i], with_size(in.shape(), dim, sizes[i]));
    sum += sizes[i];
  }
  p.check(sum == in.shape()[static_cast<size_t>(dim)], "the split sizes do not sum to self's size");
  if (in.numel() == 0) return;
  p.run([=](Launch& launch) {
    int64_t start = 0;
    for (size_t i = 0; i < parts.size(); ++i) {
      copy_elements(get(launch, parts[i]), get(launch, in).slice(dim, start, sizes[i]));
      start += sizes[i];
    }
  });
}

}  // namespace

extern "C" {

SIM_SIGNATURE(InplaceCopy, aclTensor* selfRef, const aclTensor* src) {
  return plan("aclnnInplaceCopy", workspaceSize, executor, [&](Planner& p) {
    const Operand to = p.output(selfRef, "selfRef", kAny);
    const Operand from = p.strided_input(src, "src", kAny);
    p.check_shape(to, p.broadcast(to.shape(), from.shape(), "selfRef and src"));
    if (to.numel() == 0) return;
    // The cast runs over a contiguous copy of the source; a plain copy needs none.
    const bool packed = to.dtype() != from.dtype() && !from.view->contiguous();
    const uint64_t at = packed ? p.workspace(from.numel() * from.view->item()) : 0;
    p.run([=](Launch& launch) {
      const View& source = get(launch, from);
      if (!packed) return cast_elements(get(launch, to), source);
      const View copy = contiguous_view(launch.workspace(at), source.dtype, source.shape);
      copy_elements(copy, source);
      cast_elements(get(launch, to), copy);
    });
  });
}

SIM_SIGNATURE(Cat, const aclTensorList* tensors, int64_t dim, aclTensor* out) {
  return plan("aclnnCat", workspaceSize, executor, [&](Planner& p) {
    const std::vector<Operand> parts = p.inputs(tensors, "tensors", kAny);
    const Operand target = p.output(out, "out", kAny);
    p.check(!parts.empty(), "tensors is empty");
    DType dtype = parts[0].dtype();
    for (const Operand& part : parts) {
      dtype = promote(dtype, part.dtype());
      p.check(dtype != ACL_DT_UNDEFINED, p.name(part) + " has a dtype that does not promote");
    }
    p.check_cast(dtype, target);
    p.check_rank(target, 1, 8);
    const int64_t at = p.dim(dim, target.rank(), "dim");
    int64_t size = 0;
    for (const Operand& part : parts) {
      if (part.rank() == 1 && part.numel() == 0) continue;  // takes no part
      p.check_rank(part, target.rank(), target.rank());
      const int64_t own = part.shape()[static_cast<size_t>(at)];
      p.check_shape(part, with_size(target.shape(), at, own));
      size += own;
    }
    p.check_shape(target, with_size(target.shape(), at, size));
    if (target.numel() == 0) return;
    p.run([=](Launch& launch) {
      int64_t start = 0;
      for (const Operand& part : parts) {
        const View& source = get(launch, part);
        if (source.rank() == 1 && source.numel() == 0) continue;
        const int64_t own = source.size(at);
        cast_elements(get(launch, target).slice(at, start, own), source);
        start += own;
      }
    });
  });
}

SIM_SIGNATURE(Stack, const aclTensorList* tensors, int64_t dim, aclTensor* out) {
  return plan("aclnnStack", workspaceSize, executor, [&](Planner& p) {
    const std::vector<Operand> parts = p.inputs(tensors, "tensors", kAny);
    const Operand target = p.output(out, "out", kAny);
    p.check(!parts.empty(), "tensors is empty");
    const int64_t at = p.dim(dim, parts[0].rank() + 1, "dim");
    Shape shape = parts[0].shape();
    for (const Operand& part : parts) p.check_shape(part, shape);
    shape.insert(shape.begin() + at, static_cast<int64_t>(parts.size()));
    p.check_shape(target, shape);
    if (target.numel() == 0) return;
    p.run([=](Launch& launch) {
      for (size_t i = 0; i < parts.size(); ++i) {
        cast_elements(get(launch, target).select(at, static_cast<int64_t>(i)),
                      get(launch, parts[i]));
      }
    });
  });
}

SIM_SIGNATURE(SplitWithSize,
              const aclTensor* self,
              const aclIntArray* splitSize,
              int64_t dim,
              aclTensorList* out) {
  return plan("aclnnSplitWithSize", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(self, "self", kAny);
    const std::vector<int64_t> sizes = p.array(splitSize, "splitSize");
    p.check_rank(in, 1, 8);
    split(p, in, p.dim(dim, in.rank(), "dim"), sizes, split_outputs(p, out, in));
  });
}
SIM_SIGNATURE(
    SplitTensor, const aclTensor* self, uint64_t splitSections, int64_t dim, aclTensorList* out) {
  return plan("aclnnSplitTensor", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(self, "self", kAny);
    p.check_rank(in, 1, 8);
    p.check(splitSections > 0, "splitSections is 0");
    const int64_t at = p.dim(dim, in.rank(), "dim");
    constexpr uint64_t kMost = std::numeric_limits<int64_t>::max();
    const auto section = static_cast<int64_t>(std::min(splitSections, kMost));
    std::vector<int64_t> sizes;
    for (int64_t left = in.shape()[static_cast<size_t>(at)]; left > 0; left -= section) {
      sizes.push_back(std::min(left, section));
    }
    split(p, in, at, sizes, split_outputs(p, out, in));
  });
}

SIM_SIGNATURE(Slice,
              const aclTensor* self,
              int64_t dim,
              int64_t start,
              int64_t end,
              int64_t step,
              aclTensor* out) {
  return plan("aclnnSlice", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(self, "self", kAny);
    const Operand target = p.output(out, "out", kAny);
    p.check_rank(in, 1, 8);
    const Cuts cuts = cut(p, in.shape(), {start}, {end}, {dim}, {step}, "dim and step");
    move_elements(p, in, target, cuts.shape,
                  [=](const View& to, const View& from) { copy_elements(to, cuts.apply(from)); });
  });
}
SIM_SIGNATURE(SliceV2,
              const aclTensor* self,
              const aclIntArray* starts,
              const aclIntArray* ends,
              const aclIntArray* axes,
              const aclIntArray* steps,
              aclTensor* out) {
  return plan("aclnnSliceV2", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(self, "self", kAny);
    const Operand target = p.output(out, "out", kAny);
    const std::vector<int64_t> from = p.array(starts, "starts");
    const std::vector<int64_t> to = p.array(ends, "ends");
    const std::vector<int64_t> dims = p.array(axes, "axes");
    const std::vector<int64_t> by = p.array(steps, "steps");
    const Cuts cuts = cut(p, in.shape(), from, to, dims, by, "starts, ends, axes and steps");
    move_elements(p, in, target, cuts.shape, [=](const View& into, const View& source) {
      copy_elements(into, cuts.apply(source));
    });
  });
}

SIM_SIGNATURE(Permute, const aclTensor* self, const aclIntArray* dims, aclTensor* out) {
  return plan("aclnnPermute", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(self, "self", kAny);
    std::vector<int64_t> order = p.array(dims, "dims");
    const Operand target = p.output(out, "out", kAny);
    p.check(static_cast<int64_t>(order.size()) == in.rank(), "dims must name each dim of self");
    Shape shape;
    std::vector<bool> seen(order.size());
    for (int64_t& dim : order) {
      dim = p.dim(dim, in.rank(), "dims");
      p.check(!seen[static_cast<size_t>(dim)], "dims names a dim twice");
      seen[static_cast<size_t>(dim)] = true;
      shape.push_back(in.shape()[static_cast<size_t>(dim)]);
    }
    move_elements(p, in, target, shape, [=](const View& to, const View& from) {
      copy_elements(to, from.permute(order));
    });
  });
}

SIM_SIGNATURE(Expand, const aclTensor* self, const aclIntArray* size, aclTensor* out) {
  return plan("aclnnExpand", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(self, "self", kAny);
    Shape shape = p.array(size, "size");
    const Operand target = p.output(out, "out", kAny);
    p.check(static_cast<int64_t>(shape.size()) >= in.rank(), "size has fewer dims than self");
    const size_t lead = shape.size() - in.shape().size();
    for (size_t i = 0; i < in.shape().size(); ++i) {
      if (shape[lead + i] == -1) shape[lead + i] = in.shape()[i];
      p.check(in.shape()[i] == 1 || in.shape()[i] == shape[lead + i],
              "self of shape " + shape_text(in.shape()) + " does not expand to size " +
                  shape_text(shape));
    }
    move_elements(p, in, target, shape,
                  [=](const View& to, const View& from) { copy_elements(to, from.expand(shape)); });
  });
}

// Dims before `axis` become the rows, the others the columns.
SIM_SIGNATURE(Flatten, const aclTensor* self, int64_t axis, aclTensor* out) {
  return plan("aclnnFlatten", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(self, "self", kAny);
    const Operand target = p.output(out, "out", kAny);
    p.check(
        axis >= -in.rank() && axis <= in.rank(),
        "axis is " + std::to_string(axis) + ", self has " + std::to_string(in.rank()) + " dims");
    const int64_t at = axis < 0 ? axis + in.rank() : axis;
    const auto middle = in.shape().begin() + at;
    const Shape shape{count({in.shape().begin(), middle}), count({middle, in.shape().end()})};
    move_elements(p, in, target, shape, [=](const View& to, const View& from) {
      copy_elements(to, from.reshape(shape));
    });
  });
}

SIM_SIGNATURE(StridedSliceAssignV2,
              aclTensor* varRef,
              const aclTensor* inputValue,
              const aclIntArray* begin,
              const aclIntArray* end,
              const aclIntArray* strides,
              const aclIntArray* axesOptional) {
  return plan("aclnnStridedSliceAssignV2", workspaceSize, executor, [&](Planner& p) {
    const Operand self = p.inout(varRef, "varRef", kAny);
    const Operand source = p.input(inputValue, "inputValue", kAny);
    const std::vector<int64_t> first = p.array(begin, "begin");
    std::vector<int64_t> dims(first.size());
    std::iota(dims.begin(), dims.end(), 0);
    if (axesOptional != nullptr) dims = p.array(axesOptional, "axesOptional");
    const Cuts cuts = cut(p, self.shape(), first, p.array(end, "end"), dims,
                          p.array(strides, "strides"), "begin, end, strides and axesOptional");
    check_same_dtype(p, source, self);
    p.check_shape(source, cuts.shape);
    if (source.numel() == 0) return;
    p.run(
        [=](Launch& launch) { copy_elements(cuts.apply(get(launch, self)), get(launch, source)); });
  });
}
}
