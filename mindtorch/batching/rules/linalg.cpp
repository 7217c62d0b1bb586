// What LAPACK computes: kernels that take any number of dims in front of their matrices, the same
// for all arguments. Ops that broadcast these are made of them.
#include <algorithm>

#include "mindtorch/batching/rule.h"
#include "mindtorch/dispatch/dispatcher.h"
#include "mindtorch/functional/functions.h"

namespace mindtorch::batching {
namespace {

// `broadcasts`: the kernel broadcasts the dims in front, so that those of fewer get dims of one
// behind the batch.
void run(Call& call, bool broadcasts) {
  NewArguments args(call.args);
  int64_t rank = 0;
  for (const ops::Value& value : call.args) {
    if (value.kind() == ops::ValueKind::kTensor) rank = std::max(rank, value.tensor().dim());
  }
  for (size_t i = 0; i < call.args.size(); ++i) {
    if (call.args[i].kind() != ops::ValueKind::kTensor) continue;
    Tensor expanded = call.expanded(i);
    for (int64_t d = call.args[i].tensor().dim(); broadcasts && d < rank; ++d) {
      expanded = unsqueeze(expanded, 1);
    }
    args.set(i, expanded);
  }
  ops::Outputs made;
  dispatch::call(call.op, args.get(), made);
  for (const Tensor& result : made.tensors) {
    if (result.numel() == 0 && result.dim() == 1) {  // a factor that nobody asked for
      call.give_same(result);
    } else {
      call.give(result);
    }
  }
}

void each_matrix(Call& call) { run(call, false); }
void broadcast_matrices(Call& call) { run(call, true); }

}  // namespace

void define_linalg(Rules& rules) {
  rules.define({"_linalg_inv", "_linalg_cholesky", "_linalg_lu_factor", "_linalg_permutation",
                "_linalg_lu_solve", "_linalg_det", "_linalg_slogdet", "_linalg_solve_triangular",
                "_linalg_ldl_factor", "_linalg_ldl_solve", "_linalg_qr", "_linalg_geqrf",
                "_linalg_householder_product", "_linalg_ormqr", "_linalg_eigh", "_linalg_svd",
                "_linalg_pinv", "_linalg_matrix_exp"},
               &each_matrix);
  rules.define({"_linalg_solve"}, &broadcast_matrices);
}

}  // namespace mindtorch::batching
