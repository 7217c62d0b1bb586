#pragma once

#include <cstdint>

// One step of a recurrent cell for one sequence, for float and double, chosen for this machine's
// instruction set. Vectors of `n` hidden units; gates lie one after the other, each of n units, in
// torch's order. No two arguments may overlap.
namespace mindtorch::cpu::recurrent {

template <typename T>
struct Cells {
  // `gates` holds what the four gates get of input and hidden state, and becomes their activations.
  // `cell` is replaced.
  void (*lstm)(T* gates, const T* bias, int64_t n, T* cell, T* hidden);
  // `grad_cell` becomes that of the previous cell.
  void (*lstm_backward)(const T* gates,
                        const T* cell,
                        const T* previous_cell,
                        const T* grad_hidden,
                        int64_t n,
                        T* grad_cell,
                        T* grad_gates);

  // `gates` holds the input's part of the three gates and becomes their activations, followed by
  // the hidden state's part of the last one. `hidden` is replaced.
  void (*gru)(
      T* gates, const T* from_hidden, const T* bias_ih, const T* bias_hh, int64_t n, T* hidden);
  // `grad_hidden` becomes what the previous hidden state gets past the gates.
  void (*gru_backward)(const T* gates,
                       const T* previous_hidden,
                       int64_t n,
                       T* grad_hidden,
                       T* grad_from_input,
                       T* grad_from_hidden);

  // `gates` holds what the hidden units get of input and hidden state.
  void (*rnn_tanh)(const T* gates, const T* bias, int64_t n, T* hidden);
  void (*rnn_relu)(const T* gates, const T* bias, int64_t n, T* hidden);
  void (*rnn_tanh_backward)(const T* hidden, const T* grad_hidden, int64_t n, T* grad_gates);
  void (*rnn_relu_backward)(const T* hidden, const T* grad_hidden, int64_t n, T* grad_gates);
};

template <typename T>
const Cells<T>& cells();

}  // namespace mindtorch::cpu::recurrent
