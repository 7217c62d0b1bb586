// Slices with steps and masks, chunks, and what undoes overlapping windows.
#include "simulator/ascend/ops/slices.h"

#include <numeric>

#include "simulator/ascend/ops/indexing.h"
#include "simulator/ascend/ops/values.h"

namespace sim {

static bool bit(int64_t mask, size_t i) { return (mask >> i & 1) != 0; }

// From where and how many elements of a dim of `size`.
static std::pair<int64_t, int64_t> range_of(
    int64_t begin, int64_t end, int64_t step, int64_t size, bool from_start, bool to_end) {
  const int64_t low = step > 0 ? 0 : -1;
  const int64_t high = step > 0 ? size : size - 1;
  const auto inside = [&](int64_t at) { return std::clamp(at < 0 ? at + size : at, low, high); };
  const int64_t first = from_start ? (step > 0 ? low : high) : inside(begin);
  const int64_t last = to_end ? (step > 0 ? high : low) : inside(end);
  const int64_t span = step > 0 ? last - first : first - last;
  const int64_t stride = step > 0 ? step : -step;
  return {first, span <= 0 ? 0 : (span - 1) / stride + 1};
}

Slice slice_of(const View& whole,
               const std::vector<int64_t>& begin,
               const std::vector<int64_t>& end,
               const std::vector<int64_t>& steps,
               const SliceMasks& masks) {
  if (begin.size() != end.size() || begin.size() != steps.size()) {
    throw Rejected{kInvalid, "begin, end and strides differ in length"};
  }
  const auto refuse = [](const std::string& text) { throw Rejected{kInvalid, text}; };
  int64_t named = 0;  // dims that a place of its own stands for
  for (size_t i = 0; i < begin.size(); ++i) {
    if (!bit(masks.ellipsis, i) && !bit(masks.new_axis, i)) ++named;
  }
  if (named > whole.rank()) refuse("begin names more dims than the tensor has");
  Slice slice{{nullptr, whole.dtype, {}, {}}, 0};
  int64_t dim = 0;
  const auto keep = [&] {
    slice.view.shape.push_back(whole.size(dim));
    slice.view.strides.push_back(whole.stride(dim));
    ++dim;
  };
  for (size_t i = 0; i < begin.size(); ++i) {
    if (bit(masks.ellipsis, i)) {
      for (int64_t n = whole.rank() - named; n > 0; --n) keep();
      continue;
    }
    if (bit(masks.new_axis, i)) {
      slice.view.shape.push_back(1);
      slice.view.strides.push_back(0);
      continue;
    }
    if (steps[i] == 0) refuse("strides has a 0");
    const int64_t size = whole.size(dim);
    if (bit(masks.shrink, i)) {
      const int64_t at = begin[i] < 0 ? begin[i] + size : begin[i];
      if (at < 0 || at >= size) refuse("begin is out of range");
      slice.offset += at * whole.stride(dim);
    } else {
      const auto [first, n] =
          range_of(begin[i], end[i], steps[i], size, bit(masks.begin, i), bit(masks.end, i));
      if (n > 0) slice.offset += first * whole.stride(dim);
      slice.view.shape.push_back(n);
      slice.view.strides.push_back(whole.stride(dim) * steps[i]);
    }
    ++dim;
  }
  while (dim < whole.rank()) keep();
  return slice;
}

}  // namespace sim

using namespace sim;

extern "C" {

SIM_SIGNATURE(StridedSlice,
              const aclTensor* self,
              const aclIntArray* begin,
              const aclIntArray* end,
              const aclIntArray* strides,
              int64_t beginMask,
              int64_t endMask,
              int64_t ellipsisMask,
              int64_t newAxisMask,
              int64_t shrinkAxisMask,
              aclTensor* out) {
  return plan("aclnnStridedSlice", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(self, "self", kAll);
    const Operand target = p.output(out, "out", kAll);
    const Slice slice =
        slice_of(contiguous_view(nullptr, in.dtype(), in.shape()), p.array(begin, "begin"),
                 p.array(end, "end"), p.array(strides, "strides"),
                 {beginMask, endMask, ellipsisMask, newAxisMask, shrinkAxisMask});
    p.check_shape(target, slice.view.shape);
    p.check(target.dtype() == in.dtype(), "out must have the dtype of self");
    if (target.numel() == 0) return;
    p.run([=](Launch& launch) {
      View from = slice.view;
      from.data = get(launch, in).data + slice.offset * from.item();
      copy_elements(get(launch, target), from);
    });
  });
}

SIM_SIGNATURE(
    ChunkCat, const aclTensorList* tensors, int64_t dim, int64_t numChunks, aclTensor* out) {
  return plan("aclnnChunkCat", workspaceSize, executor, [&](Planner& p) {
    const auto members = p.inputs(tensors, "tensors", kF);
    const Operand target = p.output(out, "out", kF);
    p.check(!members.empty(), "tensors is empty");
    p.check(numChunks > 0, "numChunks must be positive");
    const int64_t at = p.dim(dim, members[0].rank(), "dim");
    // Of every chunk, the part that a member has: [before, chunk, rows of the dim x what follows].
    Shape expected(members[0].shape().begin(), members[0].shape().begin() + at);
    const int64_t before = count(expected);
    int64_t width = 0;
    std::vector<int64_t> widths, tails;
    for (const Operand& member : members) {
      const Shape& shape = member.shape();
      p.check(member.rank() > at, p.name(member) + " has no such dim");
      p.check(std::equal(expected.begin(), expected.end(), shape.begin()),
              "tensors differ in front of dim");
      tails.push_back(count(Shape(shape.begin() + at + 1, shape.end())));
      widths.push_back((shape[z(at)] + numChunks - 1) / numChunks * tails.back());
      width += widths.back();
    }
    expected.insert(expected.end(), {numChunks, width});
    p.check_shape(target, expected);
    if (target.numel() == 0) return;
    p.run([=](Launch& launch) {
      Values result(z(target.numel()));  // what a last chunk has not is 0
      int64_t column = 0;
      for (size_t k = 0; k < members.size(); ++k) {
        const Values from = values(launch, members[k]);
        const int64_t line = members[k].shape()[z(at)] * tails[k];
        for (int64_t i = 0; i < before * line; ++i) {
          const int64_t row = i / line * numChunks + i % line / widths[k];
          result[z(row * width + column + i % line % widths[k])] = from[z(i)];
        }
        column += widths[k];
      }
      put(launch, target, result);
    });
  });
}

// Adds up where the windows of a dim overlap.
SIM_SIGNATURE(UnfoldGrad,
              const aclTensor* gradOut,
              const aclIntArray* inputSizes,
              int64_t dim,
              int64_t size,
              int64_t step,
              const aclTensor* gradIn) {
  return plan("aclnnUnfoldGrad", workspaceSize, executor, [&](Planner& p) {
    const Operand grad = p.input(gradOut, "gradOut", kF);
    const Shape sizes = p.array(inputSizes, "inputSizes");
    const Operand target = p.output(gradIn, "gradIn", kF);
    const int64_t at = p.dim(dim, static_cast<int64_t>(sizes.size()), "dim");
    p.check(step > 0 && size > 0, "size and step must be positive");
    p.check(!sizes.empty() && size <= sizes[z(at)], "size is larger than the dim");
    Shape windows = sizes;
    windows[z(at)] = (sizes[z(at)] - size) / step + 1;
    windows.push_back(size);
    p.check_shape(grad, windows);
    p.check_shape(target, sizes);
    if (target.numel() == 0) return;
    p.run([=](Launch& launch) {
      const Values from = values(launch, grad);
      Values result(z(target.numel()));
      const int64_t inner = count(Shape(sizes.begin() + at + 1, sizes.end()));
      for (size_t i = 0; i < from.size(); ++i) {
        const int64_t place = static_cast<int64_t>(i) % size;
        const int64_t rest = static_cast<int64_t>(i) / size;
        const int64_t window = rest / inner % windows[z(at)];
        const int64_t row = rest / inner / windows[z(at)] * sizes[z(at)] + window * step + place;
        result[z(row * inner + rest % inner)] += from[i];
      }
      put(launch, target, result);
    });
  });
}

SIM_SIGNATURE(ConfusionTranspose,
              const aclTensor* x,
              const aclIntArray* perm,
              const aclIntArray* shape,
              bool transpose_first,
              aclTensor* out) {
  return plan("aclnnConfusionTranspose", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(x, "x", kAll);
    const std::vector<int64_t> order = p.array(perm, "perm");
    const Shape other = p.array(shape, "shape");
    const Operand target = p.output(out, "out", kAll);
    p.check(target.dtype() == in.dtype(), "out must have the dtype of x");
    p.check(count(other) == in.numel(), "shape has another number of elements than x");
    const Shape& turned = transpose_first ? in.shape() : other;
    std::vector<int64_t> sorted = order;
    std::sort(sorted.begin(), sorted.end());
    std::vector<int64_t> all(turned.size());
    std::iota(all.begin(), all.end(), int64_t{0});
    p.check(sorted == all, "perm does not name each dim once");
    Shape expected = other;
    for (size_t i = 0; i < order.size() && !transpose_first; ++i) expected[i] = other[z(order[i])];
    p.check_shape(target, expected);
    if (target.numel() == 0) return;
    p.run([=](Launch& launch) {
      const View& from = get(launch, in);
      const View moved = (transpose_first ? from : from.reshape(other)).permute(order);
      const View& to = get(launch, target);
      // The elements in order, whatever the shapes.
      Cursor reader(moved);
      Cursor writer(to);
      for (int64_t i = 0; i < to.numel(); ++i, reader.next(), writer.next()) {
        std::copy_n(reader.get(), to.item(), writer.get());
      }
    });
  });
}
}
