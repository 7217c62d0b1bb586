#pragma once

#include "mindtorch/ops/registry.h"

namespace mindtorch::ops {

// One function per family; library.cpp calls them all.
void define_activation(Registry& ops);
void define_attention(Registry& ops);
void define_binary(Registry& ops);
void define_channel_norm(Registry& ops);
void define_compare(Registry& ops);
void define_complex(Registry& ops);
void define_convolution(Registry& ops);
void define_copy(Registry& ops);
void define_creation(Registry& ops);
void define_ctc(Registry& ops);
void define_embedding(Registry& ops);
void define_fft(Registry& ops);
void define_foreach(Registry& ops);
void define_functions(Registry& ops);
void define_indexing(Registry& ops);
void define_joining(Registry& ops);
void define_linalg(Registry& ops);
void define_linalg_decompose(Registry& ops);
void define_linalg_kernels(Registry& ops);
void define_linalg_norm(Registry& ops);
void define_loss(Registry& ops);
void define_matmul(Registry& ops);
void define_norm(Registry& ops);
void define_optimizer(Registry& ops);
void define_padding(Registry& ops);
void define_pooling(Registry& ops);
void define_random(Registry& ops);
void define_recurrent(Registry& ops);
void define_reduce(Registry& ops);
void define_resizing(Registry& ops);
void define_rounding(Registry& ops);
void define_sampling(Registry& ops);
void define_shape(Registry& ops);
void define_sort(Registry& ops);
void define_sparse(Registry& ops);
void define_special(Registry& ops);
void define_ternary(Registry& ops);
void define_trigonometry(Registry& ops);
void define_unary(Registry& ops);
void define_views(Registry& ops);
void define_windows(Registry& ops);

}  // namespace mindtorch::ops
