// What CANN has of linear algebra.
#include "mindtorch/backends/ascend/kernels/compose.h"

namespace mindtorch::ascend {
namespace {

using Name = std::optional<std::string_view>;

// The device does not tell which matrices are singular.
void inv(ops::Launch& on, const Tensor& A, Name, Tensor& inverse, Tensor& info) {
  fill_with_zeros(on, {&info});
  if (inverse.numel() != 0) call(on, MT_ACLNN(aclnnInverse), A, inverse);
}

void qr(ops::Launch& on, const Tensor& A, std::string_view mode, Tensor& q, Tensor& r) {
  const int64_t way = mode == "reduced" ? 0 : mode == "complete" ? 1 : 2;
  call(on, MT_ACLNN(aclnnLinalgQr), A, way, way == 2 ? Tensor() : q, r);
}

// The factors of LU are not the device's to give: it keeps nothing.
void slogdet(ops::Launch& on, const Tensor& A, Tensor& sign, Tensor& logabsdet, Tensor&, Tensor&) {
  if (sign.numel() != 0) call(on, MT_ACLNN(aclnnSlogdet), A, sign, logabsdet);
}
void det(ops::Launch& on, const Tensor& A, Tensor& result, Tensor& none, Tensor&) {
  Tensor sign = make_like(on, result.sizes(), result.dtype());
  Tensor logabsdet = make_like(on, result.sizes(), result.dtype());
  slogdet(on, A, sign, logabsdet, none, none);
  if (result.numel() == 0) return;
  call(on, MT_ACLNN(aclnnMul), sign, computed(on, ops::Pointwise::kExp, logabsdet), result);
}

void solve_triangular(ops::Launch& on,
                      const Tensor& A,
                      const Tensor& B,
                      bool upper,
                      bool left,
                      bool unitriangular,
                      Tensor& out) {
  if (out.numel() == 0) return;
  const Tensor used = make_like(on, A.sizes(), A.dtype());
  // X A = B is A' X' = B' for the transposes.
  call(on, MT_ACLNN(aclnnTriangularSolve), left ? B : transposed(B), A, upper, !left, unitriangular,
       left ? out : transposed(out), used);
}

}  // namespace

void register_linalg(ops::Registry& registry) {
  constexpr auto kNpu = DeviceType::kNpu;
  registry.kernel<inv>(kNpu, "_linalg_inv");
  registry.kernel<qr>(kNpu, "_linalg_qr");
  registry.kernel<slogdet>(kNpu, "_linalg_slogdet");
  registry.kernel<det>(kNpu, "_linalg_det");
  registry.kernel<solve_triangular>(kNpu, "_linalg_solve_triangular");
}

}  // namespace mindtorch::ascend
