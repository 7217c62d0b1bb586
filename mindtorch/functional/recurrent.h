#pragma once

#include <tuple>

#include "mindtorch/tensor/tensor.h"

// Layers of recurrent networks written in terms of other ops: for devices without a kernel for
// them, and for gradients of gradients. They take the arguments of the ops _lstm_layer, _gru_layer
// and _rnn_layer.
namespace mindtorch::functional {

// output, h_n, c_n
std::tuple<Tensor, Tensor, Tensor> composed_lstm_layer(const Tensor& input,
                                                       const Tensor& h0,
                                                       const Tensor& c0,
                                                       const Tensor& w_ih,
                                                       const Tensor& w_hh,
                                                       const Tensor& b_ih,
                                                       const Tensor& b_hh,
                                                       const Tensor& w_hr,
                                                       bool reverse,
                                                       IntList batch_sizes);
// output, h_n
std::tuple<Tensor, Tensor> composed_gru_layer(const Tensor& input,
                                              const Tensor& h0,
                                              const Tensor& w_ih,
                                              const Tensor& w_hh,
                                              const Tensor& b_ih,
                                              const Tensor& b_hh,
                                              bool reverse,
                                              IntList batch_sizes);
std::tuple<Tensor, Tensor> composed_rnn_layer(const Tensor& input,
                                              const Tensor& h0,
                                              const Tensor& w_ih,
                                              const Tensor& w_hh,
                                              const Tensor& b_ih,
                                              const Tensor& b_hh,
                                              bool relu,
                                              bool reverse,
                                              IntList batch_sizes);

}  // namespace mindtorch::functional
