#include "mindtorch/backends/cpu/fusion.h"

#include "mindtorch/backends/cpu/fusion_builder.h"

namespace mindtorch::cpu {
namespace {

void check(const ops::PointwiseCall& call) {
  const DType compute = fused_dtype(call.function, call.compute);
  MT_CHECK(find_tile(call.function, compute) != nullptr, NotImplementedError, "\"",
           info(call.function).name, "\" not implemented for '", legacy_name(call.compute), "'");
}

std::unique_ptr<ops::FusedProgram> prepare(const ops::FusedGroup& group) {
  return std::make_unique<TiledProgram>(group, false, false);
}

}  // namespace

ops::FusionEngine fusion_engine() { return {.check = &check, .prepare = &prepare}; }

}  // namespace mindtorch::cpu
