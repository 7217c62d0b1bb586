// What LAPACK computes: kernels that take any number of dims in front of their matrices, the same
// for all arguments. Ops that broadcast these are made of them.
#include "mindtorch/batching/rule.h"
#include "mindtorch/dispatch/dispatcher.h"
#include "mindtorch/functional/functions.h"

namespace mindtorch::batching {
namespace {

void each_matrix(Call& call) {
  NewArguments args(call.args);
  for (size_t i = 0; i < call.args.size(); ++i) {
    if (call.args[i].kind() == ops::ValueKind::kTensor) args.set(i, call.expanded(i));
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

}  // namespace

void define_linalg(Rules& rules) {
  rules.define({"_linalg_inv", "_linalg_cholesky", "_linalg_lu_factor", "_linalg_permutation",
                "_linalg_lu_solve", "_linalg_det", "_linalg_slogdet", "_linalg_solve",
                "_linalg_solve_triangular", "_linalg_ldl_factor", "_linalg_ldl_solve", "_linalg_qr",
                "_linalg_geqrf", "_linalg_householder_product", "_linalg_ormqr", "_linalg_eigh",
                "_linalg_svd", "_linalg_pinv", "_linalg_matrix_exp"},
               &each_matrix);
}

}  // namespace mindtorch::batching
