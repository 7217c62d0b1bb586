#include "mindtorch/autograd/derivatives/derivatives.h"

namespace mindtorch::autograd {

void define_derivatives(Derivatives& derivatives) {
  define_attention(derivatives);
  define_channel_norm(derivatives);
  define_convolution(derivatives);
  define_copy(derivatives);
  define_ctc(derivatives);
  define_fft(derivatives);
  define_indexing(derivatives);
  define_linalg_decompose(derivatives);
  define_linalg_solve(derivatives);
  define_loss(derivatives);
  define_matmul(derivatives);
  define_norm(derivatives);
  define_padding(derivatives);
  define_pooling(derivatives);
  define_random(derivatives);
  define_recurrent(derivatives);
  define_reduce(derivatives);
  define_sampling(derivatives);
  define_shape(derivatives);
  define_sparse(derivatives);
  define_views(derivatives);
  define_windows(derivatives);
}

}  // namespace mindtorch::autograd
