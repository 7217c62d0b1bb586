// Which ops autocast casts for, and how: torch's lists.
#include <span>
#include <string_view>

#include "mindtorch/autocast/autocast_layer.h"
#include "mindtorch/ops/registry.h"

namespace mindtorch::autocast {
namespace {

using ops::AutocastPolicy;
using ops::AutocastTrait;
using Names = std::span<const std::string_view>;

// Products: most of the work, and their sums are made in float32 anyway.
constexpr std::string_view kProducts[] = {
    "_prelu_kernel",
    "addbmm",
    "addmm",
    "baddbmm",
    "bmm",
    "conv1d",
    "conv1d.padding",
    "conv2d",
    "conv2d.padding",
    "conv3d",
    "conv3d.padding",
    "conv_tbc",
    "linalg_vecdot",
    "conv_transpose1d",
    "conv_transpose2d.input",
    "conv_transpose3d.input",
    "linear",
    "matmul",
    "mm",
    "scaled_dot_product_attention",
};
constexpr std::string_view kAcceleratorProducts[] = {"_scaled_dot_product_flash_attention",
                                                     "gru_cell",
                                                     "lstm_cell",
                                                     "rnn_relu_cell",
                                                     "rnn_tanh_cell",
                                                     "addmv",
                                                     "addr",
                                                     "chain_matmul",
                                                     "convolution",
                                                     "einsum",
                                                     "linalg_multi_dot",
                                                     "mv"};

// Recurrent layers are products, too; torch's gru is not among them.
constexpr std::string_view kCpuProducts[] = {"lstm.input", "rnn_relu.input", "rnn_tanh.input"};

constexpr std::string_view kCpuFloat32[] = {"adaptive_max_pool3d",
                                            "avg_pool3d",
                                            "cholesky",
                                            "cholesky_inverse",
                                            "cholesky_solve",
                                            "cross_entropy_loss",
                                            "ctc_loss.IntList",
                                            "ctc_loss.Tensor",
                                            "geqrf",
                                            "grid_sampler",
                                            "grid_sampler_2d",
                                            "grid_sampler_3d",
                                            "inverse",
                                            "fft_fft",
                                            "fft_fft2",
                                            "fft_fftn",
                                            "fft_hfft",
                                            "fft_ifft",
                                            "fft_ifft2",
                                            "fft_ifftn",
                                            "fft_ihfft",
                                            "fft_irfft",
                                            "fft_irfft2",
                                            "fft_irfftn",
                                            "fft_rfft",
                                            "fft_rfft2",
                                            "fft_rfftn",
                                            "linalg_cholesky",
                                            "linalg_cholesky_ex",
                                            "linalg_cond",
                                            "linalg_cond.p_str",
                                            "linalg_eig",
                                            "linalg_eigh",
                                            "linalg_eigvals",
                                            "linalg_eigvalsh",
                                            "linalg_householder_product",
                                            "linalg_inv",
                                            "linalg_inv_ex",
                                            "linalg_lstsq",
                                            "linalg_matrix_rank",
                                            "linalg_matrix_rank.atol_rtol_float",
                                            "linalg_matrix_rank.atol_rtol_tensor",
                                            "linalg_matrix_rank.tol_tensor",
                                            "linalg_qr",
                                            "linalg_solve",
                                            "linalg_svd",
                                            "linalg_svdvals",
                                            "linalg_tensorinv",
                                            "linalg_tensorsolve",
                                            "lu_solve",
                                            "max_pool3d",
                                            "orgqr",
                                            "ormqr",
                                            "pinverse",
                                            "polar",
                                            "prod.dim_int",
                                            "qr",
                                            "svd",
                                            "trace",
                                            "triangular_solve",
                                            "view_as_complex"};
// Functions that overflow early or lose digits.
constexpr std::string_view kAcceleratorFloat32[] = {
    "group_norm", "native_layer_norm",
    "acos",       "asin",
    "cosh",       "dist",
    "erfinv",     "exp",
    "expm1",      "log",
    "log10",      "log1p",
    "log2",       "logsumexp",
    "layer_norm", "pow.Tensor_Tensor",
    "reciprocal", "rms_norm",
    "rsqrt",      "sinh",
    "softplus",   "tan",
};
constexpr std::string_view kAcceleratorFloat32Results[] = {"cumprod",
                                                           "cumsum",
                                                           "linalg_matrix_norm",
                                                           "linalg_matrix_norm.str_ord",
                                                           "linalg_vector_norm",
                                                           "log_softmax.int",
                                                           "prod.dim_int",
                                                           "softmax.int",
                                                           "sum.dim_IntList"};

constexpr std::string_view kCpuWidest[] = {"cat", "index_copy", "stack"};
constexpr std::string_view kAcceleratorWidest[] = {
    "grid_sampler", "_tensordot", "addcdiv",   "addcmul",     "atan2",
    "cross",        "dot",        "index_put", "scatter_add", "vdot"};

}  // namespace

void define_policies(ops::Registry& registry) {
  const auto define = [&](Names names, AutocastPolicy cpu, AutocastPolicy accelerator) {
    for (const std::string_view name : names) registry.autocast(name, {cpu, accelerator});
  };
  constexpr AutocastPolicy kNone = AutocastPolicy::kNone;
  define(kProducts, AutocastPolicy::kLowerPrecision, AutocastPolicy::kLowerPrecision);
  define(kCpuProducts, AutocastPolicy::kLowerPrecision, kNone);
  define(kAcceleratorProducts, kNone, AutocastPolicy::kLowerPrecision);
  define(kCpuFloat32, AutocastPolicy::kFloat32, kNone);
  define(kAcceleratorFloat32, kNone, AutocastPolicy::kFloat32);
  define(kAcceleratorFloat32Results, kNone, AutocastPolicy::kFloat32Result);
  define(kCpuWidest, AutocastPolicy::kWidest, kNone);
  define(kAcceleratorWidest, kNone, AutocastPolicy::kWidest);
}

}  // namespace mindtorch::autocast
