#include "mindtorch/functional/recurrent.h"
#include "mindtorch/autograd/derivatives/composed.h"
#include "mindtorch/autograd/derivatives/derivatives.h"
#include "mindtorch/autograd/derivatives/helpers.h"

// Note [Gradients of recurrent layers]
// One op sweeps back through the steps; what the gates' gradients mean for input and weights is
// then one product each, over all steps. Gradients that will be differentiated themselves are those
// of the composed layer, which is run again.
namespace mindtorch::autograd {
namespace {

// The hidden states that the steps began with, row by row: Note [Packed rows] of
// ops/definitions/recurrent.cpp.
Tensor states_before(const Tensor& first, const Tensor& output, bool reverse, IntList batch_sizes) {
  const int64_t batch = first.size(0);
  const int64_t rows = output.size(0);
  if (batch == 0 || rows == 0) return output;
  if (batch_sizes.empty()) {
    const Tensor others = narrow(output, 0, reverse ? batch : 0, rows - batch);
    return reverse ? cat({others, first}, 0) : cat({first, others}, 0);
  }
  std::vector<Tensor> pieces;
  int64_t begin = 0;
  for (size_t t = 0; t < batch_sizes.size(); ++t) {
    const int64_t size = batch_sizes[t];
    const bool is_last = t + 1 == batch_sizes.size();
    if (!reverse) {
      pieces.push_back(t == 0 ? narrow(first, 0, 0, size)
                              : narrow(output, 0, begin - batch_sizes[t - 1], size));
    } else {
      const int64_t running = is_last ? 0 : batch_sizes[t + 1];
      if (running > 0) pieces.push_back(narrow(output, 0, begin + size, running));
      if (size > running) pieces.push_back(narrow(first, 0, running, size - running));
    }
    begin += size;
  }
  return cat(pieces, 0);
}

// What the gradient of the gates means for the input, its weight and the biases, which are the
// parameters of these numbers.
void set_products(Backward& b,
                  const Tensor& grad_gates,
                  const Tensor& input,
                  const Tensor& w_ih,
                  size_t weight,
                  std::initializer_list<size_t> biases) {
  if (b.needs(0)) b.set(0, mm(grad_gates, w_ih));
  if (b.needs(weight)) b.set(weight, mm(t(grad_gates), input));
  Tensor grad_bias;
  for (const size_t bias : biases) {
    if (!b.needs(bias)) continue;
    if (!grad_bias.defined()) grad_bias = sum(grad_gates, IntList{0});
    b.set(bias, grad_bias);
  }
}

void check_kept(bool keep) {
  MT_CHECK(keep, RuntimeError, "a recurrent layer that kept no gates cannot be differentiated");
}

void lstm_layer(Backward& b,
                const Tensor& input,
                const Tensor& h0,
                const Tensor& c0,
                const Tensor& w_ih,
                const Tensor& w_hh,
                const Tensor& b_ih,
                const Tensor& b_hh,
                const Tensor& w_hr,
                bool reverse,
                IntList batch_sizes,
                bool keep,
                const Tensor& output,
                const TensorMeta&,
                const TensorMeta&,
                const Tensor& hidden,
                const Tensor& gates,
                const Tensor& cells) {
  if (is_grad_enabled()) {
    return differentiate_composed<8>(
        b, {input, h0, c0, w_ih, w_hh, b_ih, b_hh, w_hr}, [&](const auto& x) {
          return functional::composed_lstm_layer(x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7],
                                                 reverse, batch_sizes);
        });
  }
  check_kept(keep);
  const auto [grad_gates, grad_h0, grad_c0, grad_hidden] = _lstm_layer_backward(
      b.grad(0), b.grad(1), b.grad(2), c0, w_hh, w_hr, output, gates, cells, reverse, batch_sizes);
  set_products(b, grad_gates, input, w_ih, 3, {5, 6});
  if (b.needs(1)) b.set(1, grad_h0);
  if (b.needs(2)) b.set(2, grad_c0);
  if (b.needs(4)) {
    b.set(4, mm(t(grad_gates), states_before(h0, output, reverse, batch_sizes)));
  }
  if (b.needs(7)) b.set(7, mm(t(grad_hidden), hidden));
}

void gru_layer(Backward& b,
               const Tensor& input,
               const Tensor& h0,
               const Tensor& w_ih,
               const Tensor& w_hh,
               const Tensor& b_ih,
               const Tensor& b_hh,
               bool reverse,
               IntList batch_sizes,
               bool keep,
               const Tensor& output,
               const TensorMeta&,
               const Tensor& gates) {
  if (is_grad_enabled()) {
    return differentiate_composed<6>(b, {input, h0, w_ih, w_hh, b_ih, b_hh}, [&](const auto& x) {
      return functional::composed_gru_layer(x[0], x[1], x[2], x[3], x[4], x[5], reverse,
                                            batch_sizes);
    });
  }
  check_kept(keep);
  const auto [grad_from_input, grad_from_hidden, grad_h0] =
      _gru_layer_backward(b.grad(0), b.grad(1), h0, w_hh, output, gates, reverse, batch_sizes);
  set_products(b, grad_from_input, input, w_ih, 2, {4});
  if (b.needs(1)) b.set(1, grad_h0);
  if (b.needs(3)) {
    b.set(3, mm(t(grad_from_hidden), states_before(h0, output, reverse, batch_sizes)));
  }
  if (b.needs(5)) b.set(5, sum(grad_from_hidden, IntList{0}));
}

void rnn_layer(Backward& b,
               const Tensor& input,
               const Tensor& h0,
               const Tensor& w_ih,
               const Tensor& w_hh,
               const Tensor& b_ih,
               const Tensor& b_hh,
               bool relu,
               bool reverse,
               IntList batch_sizes,
               const Tensor& output) {
  if (is_grad_enabled()) {
    return differentiate_composed<6>(b, {input, h0, w_ih, w_hh, b_ih, b_hh}, [&](const auto& x) {
      return functional::composed_rnn_layer(x[0], x[1], x[2], x[3], x[4], x[5], relu, reverse,
                                            batch_sizes);
    });
  }
  const auto [grad_gates, grad_h0] =
      _rnn_layer_backward(b.grad(0), b.grad(1), h0, w_hh, output, relu, reverse, batch_sizes);
  set_products(b, grad_gates, input, w_ih, 2, {4, 5});
  if (b.needs(1)) b.set(1, grad_h0);
  if (b.needs(3)) {
    b.set(3, mm(t(grad_gates), states_before(h0, output, reverse, batch_sizes)));
  }
}

}  // namespace

void define_recurrent(Derivatives& derivatives) {
  derivatives.define<lstm_layer>("_lstm_layer").named("MkldnnRnnLayerBackward0");
  derivatives.define<gru_layer>("_gru_layer");
  derivatives.define<rnn_layer>("_rnn_layer");
}

}  // namespace mindtorch::autograd
