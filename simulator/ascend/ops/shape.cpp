// Copies that change the place of elements, not their value.
#include <cstring>

#include "simulator/ascend/ops/pointwise.h"

using namespace sim;

namespace {

constexpr Types kAny = kAll | only(ACL_COMPLEX32);

// An op with one input and one output of one dtype: checks the shape, then runs f(out, in).
template <class F>
void move_elements(Planner& p, const Operand& in, const Operand& out, const Shape& expected, F f) {
  p.check(out.dtype() == in.dtype(), p.name(out) + " must have the dtype of " + p.name(in));
  p.check_shape(out, expected);
  if (out.numel() == 0) return;
  p.run([=](Launch& launch) { f(get(launch, out), get(launch, in)); });
}

Shape with_size(const Shape& shape, int64_t dim, int64_t size) {
  Shape result = shape;
  result[static_cast<size_t>(dim)] = size;
  return result;
}

// `bound` counted from the end when negative, then cut to [0, size].
int64_t clip(int64_t bound, int64_t size) {
  return std::clamp<int64_t>(bound < 0 ? bound + size : bound, 0, size);
}

void triangle(const View& out, const View& in, int64_t diagonal, bool lower) {
  const int64_t rows = in.size(in.rank() - 2);
  const int64_t columns = in.size(in.rank() - 1);
  const auto item = static_cast<size_t>(in.item());
  Cursor from(in);
  Cursor to(out);
  for (int64_t i = 0; i < in.numel(); ++i, from.next(), to.next()) {
    const int64_t row = i / columns % rows;
    const int64_t column = i % columns;
    const bool keep = lower ? column - row <= diagonal : column - row >= diagonal;
    if (keep) {
      std::memmove(to.get(), from.get(), item);
    } else {
      std::memset(to.get(), 0, item);
    }
  }
}

aclnnStatus triangle_op(const char* op,
                        const aclTensor* self,
                        int64_t diagonal,
                        const aclTensor* out,
                        bool lower,
                        uint64_t* workspace_size,
                        aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    const Operand in =
        out == nullptr ? p.inout(self, "selfRef", kAny) : p.input(self, "self", kAny);
    const Operand target = out == nullptr ? in : p.output(out, "out", kAny);
    p.check_rank(in, 2, 8);
    move_elements(p, in, target, in.shape(),
                  [=](const View& to, const View& from) { triangle(to, from, diagonal, lower); });
  });
}

void repeat_interleave(const View& out, const View& in, const std::vector<int64_t>& repeats) {
  int64_t at = 0;
  for (int64_t i = 0; i < in.size(0); ++i) {
    const int64_t times = repeats.size() == 1 ? repeats[0] : repeats[static_cast<size_t>(i)];
    for (int64_t k = 0; k < times; ++k, ++at) {
      if (at >= out.size(0)) throw DeviceFault{507018, "outputSize is less than the repeats' sum"};
      copy_elements(out.select(0, at), in.select(0, i));
    }
  }
  if (at != out.size(0)) throw DeviceFault{507018, "outputSize is not the repeats' sum"};
}

View dim_first(const View& view, int64_t dim) {
  std::vector<int64_t> dims{dim};
  for (int64_t i = 0; i < view.rank(); ++i) {
    if (i != dim) dims.push_back(i);
  }
  return view.permute(dims);
}

aclnnStatus repeat_interleave_op(const char* op,
                                 const aclTensor* self,
                                 bool by_tensor,
                                 const aclTensor* repeats,
                                 int64_t times,
                                 bool flat,
                                 int64_t dim,
                                 int64_t size,
                                 const aclTensor* out,
                                 uint64_t* workspace_size,
                                 aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    const Operand in = p.input(self, "self", kF | kI | kBool | kF64);
    const Operand counts = by_tensor ? p.input(repeats, "repeats", kIndex) : Operand{};
    const Operand target = p.output(out, "out", kF | kI | kBool | kF64);
    const int64_t at = flat ? 0 : p.dim(dim, in.rank(), "dim");
    const Shape shape = flat || in.rank() == 0 ? Shape{in.numel()} : in.shape();
    const int64_t length = shape[static_cast<size_t>(at)];
    p.check(counts || times >= 0, "repeats is negative");
    if (counts) {
      p.check_rank(counts, 0, 1);
      p.check(counts.numel() == 1 || counts.numel() == length,
              "repeats must have one element, or one for each of self");
    } else {
      p.check(size == times * length, "outputSize must be " + std::to_string(times * length));
    }
    p.check(target.dtype() == in.dtype(), "out must have the dtype of self");
    p.check_shape(target, with_size(shape, at, size));
    if (target.numel() == 0) return;
    p.run([=](Launch& launch) {
      const View source = contiguous_view(get(launch, in).data, in.dtype(), shape);
      const auto each =
          counts ? load_all<int64_t>(get(launch, counts)) : std::vector<int64_t>{times};
      repeat_interleave(dim_first(get(launch, target), at), dim_first(source, at), each);
    });
  });
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
    const auto section = static_cast<int64_t>(splitSections);
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
    p.check(step > 0, "step must be positive");
    const int64_t at = p.dim(dim, in.rank(), "dim");
    const int64_t size = in.shape()[static_cast<size_t>(at)];
    const int64_t first = clip(start, size);
    const int64_t length = (std::max(clip(end, size), first) - first + step - 1) / step;
    move_elements(p, in, target, with_size(in.shape(), at, length),
                  [=](const View& to, const View& from) {
                    copy_elements(to, from.slice(at, first, length, step));
                  });
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
    p.check(from.size() == to.size() && to.size() == dims.size() && by.size() == dims.size(),
            "starts, ends, axes and steps must have one length");
    Shape shape = in.shape();
    std::vector<std::array<int64_t, 4>> cuts;
    for (size_t i = 0; i < dims.size(); ++i) {
      const int64_t at = p.dim(dims[i], in.rank(), "axes");
      p.check(by[i] > 0, "steps must be positive");
      const int64_t size = shape[static_cast<size_t>(at)];
      const int64_t first = clip(from[i], size);
      const int64_t length = (std::max(clip(to[i], size), first) - first + by[i] - 1) / by[i];
      shape[static_cast<size_t>(at)] = length;
      cuts.push_back({at, first, length, by[i]});
    }
    move_elements(p, in, target, shape, [=](const View& into, const View& source) {
      View view = source;
      for (const auto& [at, first, length, step] : cuts) view = view.slice(at, first, length, step);
      copy_elements(into, view);
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

SIM_SIGNATURE(Repeat, const aclTensor* self, const aclIntArray* repeats, aclTensor* out) {
  return plan("aclnnRepeat", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(self, "self", kAny);
    const std::vector<int64_t> times = p.array(repeats, "repeats");
    const Operand target = p.output(out, "out", kAny);
    p.check(static_cast<int64_t>(times.size()) >= in.rank(), "repeats has fewer dims than self");
    Shape shape(times.size() - in.shape().size(), 1);
    shape.insert(shape.end(), in.shape().begin(), in.shape().end());
    const Shape single = shape;
    for (size_t i = 0; i < times.size(); ++i) {
      p.check(times[i] >= 0, "repeats has a negative value");
      shape[i] *= times[i];
    }
    move_elements(p, in, target, shape, [=](const View& to, const View& from) {
      const View source = contiguous_view(from.data, from.dtype, single);
      // Each dim of `to` as (times, size), which the source broadcasts over.
      View wide{to.data, to.dtype, {}, {}};
      View narrow{source.data, source.dtype, {}, {}};
      for (int64_t i = 0; i < source.rank(); ++i) {
        wide.shape.insert(wide.shape.end(), {times[static_cast<size_t>(i)], source.size(i)});
        wide.strides.insert(wide.strides.end(), {source.size(i) * to.stride(i), to.stride(i)});
        narrow.shape.insert(narrow.shape.end(), {times[static_cast<size_t>(i)], source.size(i)});
        narrow.strides.insert(narrow.strides.end(), {0, source.stride(i)});
      }
      copy_elements(wide, narrow);
    });
  });
}

SIM_SIGNATURE(RepeatInterleave,
              const aclTensor* self,
              const aclTensor* repeats,
              int64_t outputSize,
              aclTensor* out) {
  return repeat_interleave_op("aclnnRepeatInterleave", self, true, repeats, 0, true, 0, outputSize,
                              out, workspaceSize, executor);
}
SIM_SIGNATURE(RepeatInterleaveWithDim,
              const aclTensor* self,
              const aclTensor* repeats,
              int64_t dim,
              int64_t outputSize,
              aclTensor* out) {
  return repeat_interleave_op("aclnnRepeatInterleaveWithDim", self, true, repeats, 0, false, dim,
                              outputSize, out, workspaceSize, executor);
}
SIM_SIGNATURE(RepeatInterleaveInt,
              const aclTensor* self,
              int64_t repeats,
              int64_t outputSize,
              aclTensor* out) {
  return repeat_interleave_op("aclnnRepeatInterleaveInt", self, false, nullptr, repeats, true, 0,
                              outputSize, out, workspaceSize, executor);
}
SIM_SIGNATURE(RepeatInterleaveIntWithDim,
              const aclTensor* self,
              int64_t repeats,
              int64_t dim,
              int64_t outputSize,
              aclTensor* out) {
  return repeat_interleave_op("aclnnRepeatInterleaveIntWithDim", self, false, nullptr, repeats,
                              false, dim, outputSize, out, workspaceSize, executor);
}
SIM_SIGNATURE(RepeatInterleaveTensor,
              const aclTensor* repeats,
              int64_t outputSize,
              aclTensor* out) {
  return plan("aclnnRepeatInterleaveTensor", workspaceSize, executor, [&](Planner& p) {
    const Operand counts = p.input(repeats, "repeats", kIndex);
    const Operand target = p.output(out, "out", kIndex);
    p.check_rank(counts, 1, 1);
    p.check_shape(target, {outputSize});
    if (outputSize == 0) return;
    p.run([=](Launch& launch) {
      const auto each = load_all<int64_t>(get(launch, counts));
      std::vector<int64_t> result;
      for (size_t i = 0; i < each.size(); ++i) {
        result.insert(result.end(), static_cast<size_t>(std::max<int64_t>(each[i], 0)),
                      static_cast<int64_t>(i));
      }
      if (static_cast<int64_t>(result.size()) != target.numel()) {
        throw DeviceFault{507018, "outputSize is not the repeats' sum"};
      }
      store_all(get(launch, target), result);
    });
  });
}

SIM_SIGNATURE(Flip, const aclTensor* self, const aclIntArray* dims, aclTensor* out) {
  return plan("aclnnFlip", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(self, "self", kAny);
    std::vector<int64_t> flipped = p.array(dims, "dims");
    const Operand target = p.output(out, "out", kAny);
    for (int64_t& dim : flipped) dim = p.dim(dim, in.rank(), "dims");
    move_elements(p, in, target, in.shape(), [=](const View& to, const View& from) {
      View view = from;
      if (view.rank() > 0) {
        for (const int64_t dim : flipped) view = view.flip(dim);
      }
      copy_elements(to, view);
    });
  });
}

SIM_SIGNATURE(
    Roll, const aclTensor* x, const aclIntArray* shifts, const aclIntArray* dims, aclTensor* out) {
  return plan("aclnnRoll", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(x, "x", kAny);
    const std::vector<int64_t> by = p.array(shifts, "shifts");
    std::vector<int64_t> along = p.array(dims, "dims");
    const Operand target = p.output(out, "out", kAny);
    const bool flat = along.empty();
    p.check(flat ? by.size() == 1 : by.size() == along.size(),
            "shifts must have one value for each of dims");
    for (int64_t& dim : along) dim = p.dim(dim, in.rank(), "dims");
    move_elements(p, in, target, in.shape(), [=](const View& to, const View& from) {
      const Shape shape = flat ? Shape{from.numel()} : from.shape;
      const View source = contiguous_view(from.data, from.dtype, shape);
      const View linear = contiguous_view(nullptr, ACL_INT8, shape);
      Shape total(shape.size(), 0);
      for (size_t i = 0; i < by.size(); ++i)
        total[flat ? 0 : static_cast<size_t>(along[i])] += by[i];
      Cursor cursor(source);
      for (int64_t i = 0; i < source.numel(); ++i, cursor.next()) {
        int64_t at = 0;
        int64_t rest = i;
        for (size_t d = shape.size(); d-- > 0;) {
          const int64_t size = shape[d];
          const int64_t place = ((rest % size + total[d]) % size + size) % size;
          at += place * linear.strides[d];
          rest /= size;
        }
        std::memcpy(to.data + to.offset_of(at), cursor.get(), static_cast<size_t>(to.item()));
      }
    });
  });
}

SIM_SIGNATURE(Tril, const aclTensor* self, int64_t diagonal, aclTensor* out) {
  if (out == nullptr) {
    return plan("aclnnTril", workspaceSize, executor,
                [](Planner&) { throw Rejected{kNullPointer, "out is null"}; });
  }
  return triangle_op("aclnnTril", self, diagonal, out, true, workspaceSize, executor);
}
SIM_SIGNATURE(Triu, const aclTensor* self, int64_t diagonal, aclTensor* out) {
  if (out == nullptr) {
    return plan("aclnnTriu", workspaceSize, executor,
                [](Planner&) { throw Rejected{kNullPointer, "out is null"}; });
  }
  return triangle_op("aclnnTriu", self, diagonal, out, false, workspaceSize, executor);
}
SIM_SIGNATURE(InplaceTril, const aclTensor* selfRef, int64_t diagonal) {
  return triangle_op("aclnnInplaceTril", selfRef, diagonal, nullptr, true, workspaceSize, executor);
}
SIM_SIGNATURE(InplaceTriu, aclTensor* selfRef, int64_t diagonal) {
  return triangle_op("aclnnInplaceTriu", selfRef, diagonal, nullptr, false, workspaceSize,
                     executor);
}

SIM_SIGNATURE(Diag, const aclTensor* self, int64_t diagonal, aclTensor* out) {
  return plan("aclnnDiag", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(self, "self", kAny);
    const Operand target = p.output(out, "out", kAny);
    p.check_rank(in, 1, 2);
    const int64_t below = std::max<int64_t>(-diagonal, 0);
    const int64_t right = std::max<int64_t>(diagonal, 0);
    if (in.rank() == 1) {
      const int64_t n = in.numel() + below + right;
      return move_elements(p, in, target, {n, n}, [=](const View& to, const View& from) {
        triangle(to, from.reshape({1, from.numel()}).expand(to.shape), -to.size(0) - 1, true);
        View line = to;
        line.data += (below * to.stride(0) + right * to.stride(1)) * to.item();
        line.shape = from.shape;
        line.strides = {to.stride(0) + to.stride(1)};
        copy_elements(line, from);
      });
    }
    const int64_t n = std::max<int64_t>(std::min(in.shape()[0] - below, in.shape()[1] - right), 0);
    move_elements(p, in, target, {n}, [=](const View& to, const View& from) {
      View line = from;
      line.data += (below * from.stride(0) + right * from.stride(1)) * from.item();
      line.shape = {n};
      line.strides = {from.stride(0) + from.stride(1)};
      copy_elements(to, line);
    });
  });
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
