#include "mindtorch/ops/linalg_error.h"

#include <algorithm>
#include <string>

namespace mindtorch::ops {

void check_linalg_infos(std::span<const int32_t> infos,
                        std::optional<std::string_view> api_name,
                        bool is_batch) {
  if (!api_name) return;
  const auto failed = std::ranges::find_if(infos, [](int32_t info) { return info != 0; });
  if (MT_LIKELY(failed == infos.end())) return;
  const int32_t info = *failed;
  std::string start(*api_name);
  if (is_batch) {
    start += ": (Batch element " + std::to_string(failed - infos.begin()) + ")";
  }
  const auto is_about = [&](std::string_view what) {
    return api_name->find(what) != std::string_view::npos;
  };
  MT_CHECK(info > 0 || !is_about("svd"), LinAlgError, start,
           ": The algorithm failed to converge because the input matrix contained non-finite "
           "values.");
  MT_ASSERT(info > 0);
  if (is_about("inv")) {
    MT_THROW(LinAlgError, start, ": The diagonal element ", info,
             " is zero, the inversion could not be completed because the input matrix is "
             "singular.");
  }
  if (is_about("solve")) {
    MT_THROW(LinAlgError, start, ": The solver failed because the input matrix is singular.");
  }
  if (is_about("cholesky")) {
    MT_THROW(LinAlgError, start,
             ": The factorization could not be completed because the input is not "
             "positive-definite (the leading minor of order ",
             info, " is not positive-definite).");
  }
  if (is_about("svd") || is_about("eig")) {
    MT_THROW(LinAlgError, start,
             ": The algorithm failed to converge because the input matrix is ill-conditioned or "
             "has too many repeated ",
             is_about("svd") ? "singular values" : "eigenvalues", " (error code: ", info, ").");
  }
  if (is_about("lstsq")) {
    MT_THROW(LinAlgError, start,
             ": The least squares solution could not be computed because the input matrix does not "
             "have full rank (error code: ",
             info, ").");
  }
  if (is_about("lu_factor")) {
    MT_THROW(RuntimeError, start, ": U[", info, ",", info,
             "] is zero and using it on lu_solve would result in a division by zero. If you still "
             "want to perform the factorization, consider calling linalg.lu(A, pivot) or "
             "linalg.lu_factor_ex(A, pivot)");
  }
  MT_THROW(LinAlgError, start, ": The factorization could not be completed because D[", info, ",",
           info, "] is zero.");
}

}  // namespace mindtorch::ops
