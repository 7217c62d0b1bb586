// Padding with a constant, the reflected, the repeated or the opposite edge, and its gradients.
#include <cstring>

#include "simulator/ascend/ops/pointwise.h"

using namespace sim;

namespace {

enum class Edge { kReflect, kReplicate, kCircular };

// Which element of a dim of `size` the padded place `at` shows (`at` counts from the first padded
// one).
int64_t shown(int64_t at, int64_t before, int64_t size, Edge edge) {
  const int64_t place = at - before;
  switch (edge) {
    case Edge::kReplicate:
      return std::clamp<int64_t>(place, 0, size - 1);
    case Edge::kCircular:
      return (place % size + size) % size;
    default:
      if (place < 0) return -place;
      return place >= size ? 2 * (size - 1) - place : place;
  }
}

// Before and after of each dim, from CANN's list, which starts at the last dim.
std::vector<std::array<int64_t, 2>> pads_of(Planner& p,
                                            const std::vector<int64_t>& list,
                                            int64_t rank,
                                            const char* name) {
  p.check(list.size() % 2 == 0 && static_cast<int64_t>(list.size()) <= 2 * rank,
          std::string(name) + " must have two values for each padded dim");
  std::vector<std::array<int64_t, 2>> pads(static_cast<size_t>(rank), {0, 0});
  for (size_t i = 0; i < list.size() / 2; ++i) {
    pads[static_cast<size_t>(rank) - 1 - i] = {list[2 * i], list[2 * i + 1]};
  }
  return pads;
}

Shape padded_shape(const Shape& shape, const std::vector<std::array<int64_t, 2>>& pads) {
  Shape result = shape;
  for (size_t i = 0; i < shape.size(); ++i) result[i] += pads[i][0] + pads[i][1];
  return result;
}

// Calls f(number of a padded element, offset of the one it shows in elements of `inner`).
template <class F>
void for_shown(const Shape& outer,
               const View& inner,
               const std::vector<std::array<int64_t, 2>>& pads,
               Edge edge,
               F f) {
  for (int64_t i = 0; i < count(outer); ++i) {
    int64_t rest = i;
    int64_t offset = 0;
    for (size_t d = outer.size(); d-- > 0;) {
      offset += shown(rest % outer[d], pads[d][0], inner.shape[d], edge) * inner.strides[d];
      rest /= outer[d];
    }
    f(i, offset);
  }
}

void check_edge(Planner& p,
                const Operand& in,
                const std::vector<std::array<int64_t, 2>>& pads,
                Edge edge) {
  for (size_t d = 0; d < pads.size(); ++d) {
    const int64_t size = in.shape()[d];
    const int64_t limit = edge == Edge::kReflect ? size - 1 : size;
    const bool padded = pads[d][0] > 0 || pads[d][1] > 0;
    if (edge == Edge::kReplicate || !padded) continue;
    p.check(pads[d][0] <= limit && pads[d][1] <= limit,
            "padding is larger than " + p.name(in) + " at dim " + std::to_string(d));
  }
}

aclnnStatus pad_edge(const char* op,
                     const aclTensor* self,
                     const aclIntArray* padding,
                     const aclTensor* out,
                     size_t dims,
                     Edge edge,
                     uint64_t* workspace_size,
                     aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    const Operand in = p.input(self, "self", kAll);
    const std::vector<int64_t> list = p.array(padding, "padding");
    const Operand target = p.output(out, "out", kAll);
    p.check(list.size() == 2 * dims, "padding must have " + std::to_string(2 * dims) + " values");
    p.check_rank(in, static_cast<int64_t>(dims) + 1, static_cast<int64_t>(dims) + 2);
    const auto pads = pads_of(p, list, in.rank(), "padding");
    check_edge(p, in, pads, edge);
    p.check(target.dtype() == in.dtype(), "out must have the dtype of self");
    p.check_shape(target, padded_shape(in.shape(), pads));
    if (target.numel() == 0) return;
    p.run([=](Launch& launch) {
      const View& from = get(launch, in);
      Cursor cursor(get(launch, target));
      for_shown(target.shape(), from, pads, edge, [&](int64_t, int64_t offset) {
        std::memcpy(cursor.get(), from.data + offset * from.item(),
                    static_cast<size_t>(from.item()));
        cursor.next();
      });
    });
  });
}

aclnnStatus pad_edge_backward(const char* op,
                              const aclTensor* grad,
                              const aclTensor* self,
                              const aclIntArray* padding,
                              const aclTensor* grad_input,
                              size_t dims,
                              Edge edge,
                              uint64_t* workspace_size,
                              aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    const Operand g = p.input(grad, "gradOutput", kF | kF64 | kC);
    const Operand in = p.input(self, "self", kF | kF64 | kC);
    const std::vector<int64_t> list = p.array(padding, "padding");
    const Operand target = p.output(grad_input, "gradInput", kF | kF64 | kC);
    p.check(list.size() == 2 * dims, "padding must have " + std::to_string(2 * dims) + " values");
    p.check_rank(in, static_cast<int64_t>(dims) + 1, static_cast<int64_t>(dims) + 2);
    const auto pads = pads_of(p, list, in.rank(), "padding");
    check_edge(p, in, pads, edge);
    p.check_shape(g, padded_shape(in.shape(), pads));
    p.check_shape(target, in.shape());
    if (target.numel() == 0) return;
    p.run([=](Launch& launch) {
      Fields::with(g.dtype(), [&](auto zero) {
        using C = decltype(zero);
        const auto grads = load_all<C>(get(launch, g));
        std::vector<C> sums(static_cast<size_t>(target.numel()));
        const View inner = contiguous_view(nullptr, target.dtype(), target.shape());
        for_shown(g.shape(), inner, pads, edge, [&](int64_t i, int64_t offset) {
          sums[static_cast<size_t>(offset)] += grads[static_cast<size_t>(i)];
        });
        store_all(get(launch, target), sums);
      });
    });
  });
}

}  // namespace

#define SIM_PAD(Name, dims, edge)                                                                  \
  SIM_SIGNATURE(Name, const aclTensor* self, const aclIntArray* padding, aclTensor* out) {         \
    return pad_edge("aclnn" #Name, self, padding, out, dims, edge, workspaceSize, executor);       \
  }                                                                                                \
  SIM_SIGNATURE(Name##Backward, const aclTensor* gradOutput, const aclTensor* self,                \
                const aclIntArray* padding, aclTensor* gradInput) {                                \
    return pad_edge_backward("aclnn" #Name "Backward", gradOutput, self, padding, gradInput, dims, \
                             edge, workspaceSize, executor);                                       \
  }

extern "C" {

SIM_PAD(ReflectionPad1d, 1, Edge::kReflect)
SIM_PAD(ReflectionPad2d, 2, Edge::kReflect)
SIM_PAD(ReflectionPad3d, 3, Edge::kReflect)
SIM_PAD(ReplicationPad1d, 1, Edge::kReplicate)
SIM_PAD(ReplicationPad2d, 2, Edge::kReplicate)
SIM_PAD(ReplicationPad3d, 3, Edge::kReplicate)
SIM_PAD(CircularPad2d, 2, Edge::kCircular)
SIM_PAD(CircularPad3d, 3, Edge::kCircular)

SIM_SIGNATURE(ConstantPadNd,
              const aclTensor* self,
              const aclIntArray* pad,
              const aclScalar* value,
              aclTensor* out) {
  return plan("aclnnConstantPadNd", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(self, "self", kAll);
    const auto pads = pads_of(p, p.array(pad, "pad"), in.rank(), "pad");
    const aclScalar fill = p.scalar(value, "value");
    const Operand target = p.output(out, "out", kAll);
    p.check(target.dtype() == in.dtype(), "out must have the dtype of self");
    p.check_shape(target, padded_shape(in.shape(), pads));
    if (target.numel() == 0) return;
    p.run([=](Launch& launch) {
      View to = get(launch, target);
      View from = get(launch, in);
      cast_elements(to, contiguous_view(const_cast<char*>(fill.bytes.data()), fill.dtype, {}));
      for (int64_t d = 0; d < from.rank(); ++d) {  // a negative pad cuts
        const auto [before, after] = pads[static_cast<size_t>(d)];
        from =
            from.slice(d, std::max<int64_t>(-before, 0),
                       from.size(d) + std::min<int64_t>(before, 0) + std::min<int64_t>(after, 0));
        to = to.slice(d, std::max<int64_t>(before, 0), from.size(d));
      }
      if (from.numel() > 0) copy_elements(to, from);
    });
  });
}
}
