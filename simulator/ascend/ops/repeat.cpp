// Elements again and again, and in another order.
#include "simulator/ascend/ops/move.h"

using namespace sim;

namespace {

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
      const int64_t all = count({times, length});
      p.check(size == all, "outputSize must be " + std::to_string(all));
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

}  // namespace

extern "C" {

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
        const int64_t left = target.numel() - static_cast<int64_t>(result.size());
        if (each[i] > left) break;
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
}
