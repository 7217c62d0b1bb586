// Ops by name on matrices, and recurrent layers.
#include "simulator/ascend/aclop/tables.h"

using namespace sim;

namespace {

// An input of matrices, turned where the attribute says so.
aclTensor* matrices(Arguments& call, size_t i, const char* turned) {
  View view = contiguous_view(nullptr, call.input_dtype(i), call.input_shape(i));
  if (call.integer(turned, 0) != 0 && view.rank() >= 2) {
    std::swap(view.shape[z(view.rank() - 1)], view.shape[z(view.rank() - 2)]);
    std::swap(view.strides[z(view.rank() - 1)], view.strides[z(view.rank() - 2)]);
  }
  return call.input_as(i, view);
}

aclnnStatus batch_matmul(Arguments& call) {
  constexpr int8_t kKeepDtype = 0;
  return aclnnMatmulGetWorkspaceSize(matrices(call, 0, "adj_x1"), matrices(call, 1, "adj_x2"),
                                     call.output(0), kKeepDtype, call.size(), call.executor());
}

aclnnStatus svd(Arguments& call) {
  return aclnnSvdGetWorkspaceSize(call.input(0), call.integer("full_matrices", 0) != 0,
                                  call.integer("compute_uv", 1) != 0, call.output(0),
                                  call.output(1), call.output(2), call.size(), call.executor());
}

constexpr NamedOp kProducts[] = {
    {"BatchMatMul", batch_matmul},
    {"Svd", svd},
};

}  // namespace

std::span<const NamedOp> sim::named_products() { return kProducts; }
