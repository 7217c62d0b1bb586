// Ops by name that move or convert elements.
#include "simulator/ascend/aclop/tables.h"
#include "simulator/ascend/ops/slices.h"

using namespace sim;

namespace {

void check(bool ok, const char* text) {
  if (!ok) throw Rejected{kInvalid, text};
}

// The output with the shape that the input has: both are whole buffers.
aclTensor* output_like_input(Arguments& call) {
  const Shape shape = call.input_shape(0);
  check(count(shape) == count(call.output_shape(0)), "x and y differ in their number of elements");
  return call.output_as(0, contiguous_view(nullptr, call.output_dtype(0), shape));
}

aclnnStatus copy(Arguments& call, const aclTensor* from, aclTensor* to) {
  return aclnnInplaceCopyGetWorkspaceSize(to, from, call.size(), call.executor());
}

aclnnStatus identity(Arguments& call) {
  check(call.input_dtype(0) == call.output_dtype(0), "x and y differ in dtype");
  return copy(call, call.input(0), output_like_input(call));
}

aclnnStatus cast(Arguments& call) {
  return aclnnCastGetWorkspaceSize(call.input(0), call.output_dtype(0), output_like_input(call),
                                   call.size(), call.executor());
}

aclnnStatus take(Arguments& call, const Slice& slice) {
  check(slice.view.shape == call.output_shape(0), "y has another shape than the slice");
  return copy(call, call.input_as(0, slice.view, slice.offset), call.output(0));
}

// Offsets and sizes; a size of -1 is the rest.
aclnnStatus slice(Arguments& call) {
  const View whole = contiguous_view(nullptr, call.input_dtype(0), call.input_shape(0));
  const std::vector<int64_t> begin = call.host_integers(1);
  std::vector<int64_t> end = call.host_integers(2);
  check(begin.size() == whole.shape.size() && end.size() == begin.size(),
        "offsets and size must name every dim");
  for (size_t i = 0; i < end.size(); ++i) {
    check(end[i] >= -1 && begin[i] >= 0, "offsets and size must not be negative");
    end[i] = end[i] < 0 ? whole.shape[i] : begin[i] + end[i];
    check(end[i] <= whole.shape[i], "the slice reaches beyond x");
  }
  return take(call, slice_of(whole, begin, end, std::vector<int64_t>(end.size(), 1), {}));
}

aclnnStatus strided_slice(Arguments& call) {
  const View whole = contiguous_view(nullptr, call.input_dtype(0), call.input_shape(0));
  const SliceMasks masks{call.integer("begin_mask", 0), call.integer("end_mask", 0),
                         call.integer("ellipsis_mask", 0), call.integer("new_axis_mask", 0),
                         call.integer("shrink_axis_mask", 0)};
  return take(call, slice_of(whole, call.host_integers(1), call.host_integers(2),
                             call.host_integers(3), masks));
}

aclnnStatus transpose(Arguments& call) {
  return aclnnPermuteGetWorkspaceSize(call.input(0), call.array(call.host_integers(1)),
                                      call.output(0), call.size(), call.executor());
}

aclnnStatus broadcast(Arguments& call) {
  check(call.host_integers(1) == call.output_shape(0), "shape is not the shape of y");
  return copy(call, call.input(0), call.output(0));
}

// Pairs of each dim, the first dim first.
aclnnStatus pad(Arguments& call) {
  const std::vector<int64_t> pairs = call.host_integers(1);
  check(pairs.size() == 2 * call.input_shape(0).size(), "paddings must have two numbers for a dim");
  std::vector<int64_t> last_first;
  for (size_t i = pairs.size() / 2; i-- > 0;) {
    last_first.insert(last_first.end(), {pairs[2 * i], pairs[2 * i + 1]});
  }
  return aclnnConstantPadNdGetWorkspaceSize(call.input(0), call.array(last_first),
                                            call.scalar(0, call.input_dtype(0)), call.output(0),
                                            call.size(), call.executor());
}

// Elements of src to places of dst that sizes, strides and offsets name; dst is the output too.
aclnnStatus view_copy(Arguments& call) {
  const auto view = [&](size_t i) {
    return View{nullptr, call.input_dtype(i), call.host_integers(i + 1), call.host_integers(i + 2)};
  };
  const auto offset = [&](size_t i) {
    const std::vector<int64_t> values = call.host_integers(i + 3);
    return values.empty() ? 0 : values[0];
  };
  return copy(call, call.input_as(4, view(4), offset(4)), call.input_as(0, view(0), offset(0)));
}

constexpr NamedOp kMoves[] = {
    {"BroadcastTo", broadcast}, {"Cast", cast},
    {"Identity", identity},     {"Pad", pad},
    {"Slice", slice},           {"StridedSlice", strided_slice},
    {"Transpose", transpose},   {"ViewCopy", view_copy},
};

}  // namespace

std::span<const NamedOp> sim::named_moves() { return kMoves; }
