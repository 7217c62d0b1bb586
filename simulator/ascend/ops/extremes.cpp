// The largest and the smallest elements over dims, and where they are.
#include "simulator/ascend/ops/reduce.h"

using namespace sim;

namespace {

// Values and where they are, along one dim.
template <class Better>
aclnnStatus reduce_index(const char* op,
                         const aclTensor* self,
                         int64_t dim,
                         bool keep,
                         const aclTensor* values,
                         const char* values_name,
                         const aclTensor* indices,
                         const char* indices_name,
                         Types types,
                         Better better,
                         uint64_t* workspace_size,
                         aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    const Operand in = p.input(self, "self", types);
    const Operand best = values_name == nullptr ? Operand{} : p.output(values, values_name, types);
    const Operand place = p.output(indices, indices_name, kIndex);
    const Lines lines = lines_of(p, in.shape(), {dim}, "dim");
    if (best) {
      check_reduced(p, lines, keep, best);
      p.check(best.dtype() == in.dtype(), p.name(best) + " must have the dtype of self");
    }
    check_reduced(p, lines, keep, place);
    p.check(lines.length > 0 || place.numel() == 0, "self has no elements along dim");
    if (place.numel() == 0) return;
    const uint64_t at = p.workspace(lines.rows * 8);
    p.run([=](Launch& launch) {
      with_real(in.dtype(), [&](auto zero) {
        using C = decltype(zero);
        auto* const places = reinterpret_cast<int64_t*>(launch.workspace(at));
        for_lines<C>(get(launch, in), lines, [&](int64_t row, const std::vector<C>& line) {
          size_t found = 0;
          for (size_t i = 1; i < line.size(); ++i) {
            if (line[found] != line[found]) break;  // not-a-number wins
            if (line[i] != line[i] || better(line[i], line[found])) found = i;
          }
          places[row] = static_cast<int64_t>(found);
          if (best) store(get(launch, best), row, 1, &line[found]);
        });
        store(get(launch, place), 0, lines.rows, places);
      });
    });
  });
}

struct Greater {
  template <class C>
  bool operator()(C a, C b) const {
    return b < a;
  }
};
struct Less {
  template <class C>
  bool operator()(C a, C b) const {
    return a < b;
  }
};

aclnnStatus whole(const char* op,
                  const aclTensor* self,
                  const aclTensor* out,
                  const char* out_name,
                  bool largest,
                  uint64_t* workspace_size,
                  aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    const Operand in = p.input(self, "self", kReal);
    const Operand target = p.output(out, out_name, kReal);
    p.check(in.numel() > 0, "self is empty");
    p.check(target.numel() == 1, p.name(target) + " must have one element");
    const Lines lines = lines_of(p, in.shape(), {}, "dim");
    if (largest) return reduce<Reals>(p, in, lines, target, in.dtype(), Largest{});
    reduce<Reals>(p, in, lines, target, in.dtype(), Smallest{});
  });
}

}  // namespace

extern "C" {

SIM_SIGNATURE(Amax, const aclTensor* self, const aclIntArray* dim, bool keepDim, aclTensor* out) {
  return reduce_dims<Reals>("aclnnAmax", self, dim, "dim", keepDim, ACL_DT_UNDEFINED, out, kReal,
                            kReal, Largest{}, workspaceSize, executor, true, true);
}
SIM_SIGNATURE(Amin, const aclTensor* self, const aclIntArray* dim, bool keepDim, aclTensor* out) {
  return reduce_dims<Reals>("aclnnAmin", self, dim, "dim", keepDim, ACL_DT_UNDEFINED, out, kReal,
                            kReal, Smallest{}, workspaceSize, executor, true, true);
}
SIM_SIGNATURE(MaxV2,
              const aclTensor* self,
              const aclIntArray* dims,
              bool keepDims,
              bool noopWithEmptyDims,
              aclTensor* out) {
  return reduce_dims<Reals>("aclnnMaxV2", self, dims, "dims", keepDims, ACL_DT_UNDEFINED, out,
                            kReal, kReal, Largest{}, workspaceSize, executor, !noopWithEmptyDims,
                            true);
}
SIM_SIGNATURE(Aminmax,
              const aclTensor* self,
              const aclIntArray* dim,
              bool keepDim,
              aclTensor* minOut,
              aclTensor* maxOut) {
  return reduce_pair<Reals>("aclnnAminmax", self, {}, dim, keepDim, minOut, "minOut", maxOut,
                            "maxOut", kReal, Smallest{}, Largest{}, true, workspaceSize, executor);
}
SIM_SIGNATURE(AminmaxDim,
              const aclTensor* self,
              const int64_t dim,
              bool keepDim,
              aclTensor* minOut,
              aclTensor* maxOut) {
  return reduce_pair<Reals>("aclnnAminmaxDim", self, {dim}, nullptr, keepDim, minOut, "minOut",
                            maxOut, "maxOut", kReal, Smallest{}, Largest{}, false, workspaceSize,
                            executor);
}
SIM_SIGNATURE(AminmaxAll, const aclTensor* self, aclTensor* minOut, aclTensor* maxOut) {
  return reduce_pair<Reals>("aclnnAminmaxAll", self, {}, nullptr, false, minOut, "minOut", maxOut,
                            "maxOut", kReal, Smallest{}, Largest{}, false, workspaceSize, executor);
}
SIM_SIGNATURE(Max, const aclTensor* self, aclTensor* out) {
  return whole("aclnnMax", self, out, "out", true, workspaceSize, executor);
}
SIM_SIGNATURE(Min, const aclTensor* self, aclTensor* out) {
  return whole("aclnnMin", self, out, "out", false, workspaceSize, executor);
}
SIM_SIGNATURE(
    MaxDim, const aclTensor* self, int64_t dim, bool keepdim, aclTensor* out, aclTensor* indices) {
  return reduce_index("aclnnMaxDim", self, dim, keepdim, out, "out", indices, "indices",
                      kF | kI32 | kI64 | kBool, Greater{}, workspaceSize, executor);
}
SIM_SIGNATURE(
    MinDim, const aclTensor* self, int64_t dim, bool keepdim, aclTensor* out, aclTensor* indices) {
  return reduce_index("aclnnMinDim", self, dim, keepdim, out, "out", indices, "indices",
                      kF | kI32 | kI64 | kBool, Less{}, workspaceSize, executor);
}
SIM_SIGNATURE(ArgMax, const aclTensor* self, int64_t dim, bool keepdim, aclTensor* out) {
  return reduce_index("aclnnArgMax", self, dim, keepdim, nullptr, nullptr, out, "out",
                      kReal & ~kBool, Greater{}, workspaceSize, executor);
}
SIM_SIGNATURE(ArgMin, const aclTensor* self, int64_t dim, bool keepdim, aclTensor* out) {
  return reduce_index("aclnnArgMin", self, dim, keepdim, nullptr, nullptr, out, "out",
                      kReal & ~kBool, Less{}, workspaceSize, executor);
}
}
