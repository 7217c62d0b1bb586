#pragma once

#include "mindtorch/autograd/backward_rule.h"

namespace mindtorch::autograd {

void define_attention(Derivatives& derivatives);
void define_channel_norm(Derivatives& derivatives);
void define_convolution(Derivatives& derivatives);
void define_copy(Derivatives& derivatives);
void define_ctc(Derivatives& derivatives);
void define_fft(Derivatives& derivatives);
void define_indexing(Derivatives& derivatives);
void define_linalg_decompose(Derivatives& derivatives);
void define_linalg_solve(Derivatives& derivatives);
void define_loss(Derivatives& derivatives);
void define_matmul(Derivatives& derivatives);
void define_norm(Derivatives& derivatives);
void define_padding(Derivatives& derivatives);
void define_pooling(Derivatives& derivatives);
void define_random(Derivatives& derivatives);
void define_recurrent(Derivatives& derivatives);
void define_reduce(Derivatives& derivatives);
void define_sampling(Derivatives& derivatives);
void define_shape(Derivatives& derivatives);
void define_sparse(Derivatives& derivatives);
void define_views(Derivatives& derivatives);
void define_windows(Derivatives& derivatives);

// All of them.
void define_derivatives(Derivatives& derivatives);

}  // namespace mindtorch::autograd
