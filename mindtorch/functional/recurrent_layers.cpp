#include <algorithm>
#include <vector>

#include "mindtorch/functional/functions.h"
#include "mindtorch/functional/recurrent.h"

namespace mindtorch::functional {
namespace {

// The hidden state, and the cell of an LSTM.
using StateList = std::vector<Tensor>;

// Sequences that end at a step are put aside; backwards, they begin with their first states.
template <typename Change>
StateList changed(const StateList& states, const Change& change) {
  StateList result;
  for (size_t i = 0; i < states.size(); ++i) result.push_back(change(states[i], i));
  return result;
}

// The outputs of all steps, and the last states. `advance` makes the states after a step of those
// before it and of the input's part of the gates. Note [Packed rows] of definitions/recurrent.cpp.
template <typename Advance>
std::pair<Tensor, StateList> run_steps(const Tensor& from_input,
                                       const StateList& start,
                                       bool reverse,
                                       IntList batch_sizes,
                                       const Advance& advance) {
  const int64_t batch = start[0].size(0);
  std::vector<int64_t> sizes(batch_sizes.begin(), batch_sizes.end());
  if (sizes.empty() && batch > 0) {
    sizes.assign(static_cast<size_t>(from_input.size(0) / batch), batch);
  }
  if (sizes.empty()) return {narrow(from_input, 1, 0, start[0].size(1)), start};
  std::vector<Tensor> parts = split_with_sizes(from_input, sizes);
  if (reverse) {
    std::ranges::reverse(parts);
    std::ranges::reverse(sizes);
  }
  std::vector<Tensor> outputs;
  std::vector<StateList> ended;
  int64_t running = sizes[0];
  StateList states = changed(start, [&](const Tensor& state, size_t) {
    return running == batch ? state : narrow(state, 0, 0, running);
  });
  if (!reverse && running < batch) {
    ended.push_back(changed(start, [&](const Tensor& state, size_t) {
      return narrow(state, 0, running, batch - running);
    }));
  }
  for (size_t t = 0; t < parts.size(); ++t) {
    const int64_t size = sizes[t];
    if (size < running) {
      ended.push_back(changed(states, [&](const Tensor& state, size_t) {
        return narrow(state, 0, size, running - size);
      }));
      states =
          changed(states, [&](const Tensor& state, size_t) { return narrow(state, 0, 0, size); });
    } else if (size > running) {
      states = changed(states, [&](const Tensor& state, size_t i) {
        return cat({state, narrow(start[i], 0, running, size - running)}, 0);
      });
    }
    running = size;
    states = advance(parts[t], states);
    outputs.push_back(states[0]);
  }
  if (reverse) {
    std::ranges::reverse(outputs);
    if (running < batch) {
      states = changed(states, [&](const Tensor& state, size_t i) {
        return cat({state, narrow(start[i], 0, running, batch - running)}, 0);
      });
    }
  }
  if (!ended.empty()) {
    states = changed(states, [&](const Tensor& state, size_t i) {
      std::vector<Tensor> pieces = {state};
      for (size_t j = ended.size(); j-- > 0;) pieces.push_back(ended[j][i]);
      return cat(pieces, 0);
    });
  }
  return {outputs.size() == 1 ? outputs[0] : cat(outputs, 0), states};
}

Tensor sum_of_biases(const Tensor& a, const Tensor& b) {
  return a.defined() && b.defined() ? add(a, b) : a.defined() ? a : b;
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> composed_lstm_layer(const Tensor& input,
                                                       const Tensor& h0,
                                                       const Tensor& c0,
                                                       const Tensor& w_ih,
                                                       const Tensor& w_hh,
                                                       const Tensor& b_ih,
                                                       const Tensor& b_hh,
                                                       const Tensor& w_hr,
                                                       bool reverse,
                                                       IntList batch_sizes) {
  // Transposed once: so the gradients of the steps are summed before they are transposed.
  const Tensor weight = t(w_hh);
  const auto advance = [&](const Tensor& part, const StateList& states) {
    const std::vector<Tensor> gates = chunk(addmm(part, states[0], weight), 4, 1);
    const Tensor cell =
        add(mul(sigmoid(gates[1]), states[1]), mul(sigmoid(gates[0]), tanh(gates[2])));
    const Tensor hidden = mul(sigmoid(gates[3]), tanh(cell));
    return StateList{w_hr.defined() ? linear(hidden, w_hr) : hidden, cell};
  };
  const auto [output, states] = run_steps(linear(input, w_ih, sum_of_biases(b_ih, b_hh)), {h0, c0},
                                          reverse, batch_sizes, advance);
  return {output, states[0], states[1]};
}

std::tuple<Tensor, Tensor> composed_gru_layer(const Tensor& input,
                                              const Tensor& h0,
                                              const Tensor& w_ih,
                                              const Tensor& w_hh,
                                              const Tensor& b_ih,
                                              const Tensor& b_hh,
                                              bool reverse,
                                              IntList batch_sizes) {
  const Tensor weight = t(w_hh);
  const auto advance = [&](const Tensor& part, const StateList& states) {
    const Tensor& hidden = states[0];
    const std::vector<Tensor> of_input = chunk(part, 3, 1);
    const std::vector<Tensor> of_hidden =
        chunk(b_hh.defined() ? addmm(b_hh, hidden, weight) : mm(hidden, weight), 3, 1);
    const Tensor reset = sigmoid(add(of_input[0], of_hidden[0]));
    const Tensor keep = sigmoid(add(of_input[1], of_hidden[1]));
    const Tensor update = tanh(add(of_input[2], mul(reset, of_hidden[2])));
    return StateList{add(update, mul(keep, sub(hidden, update)))};
  };
  const auto [output, states] =
      run_steps(linear(input, w_ih, b_ih), {h0}, reverse, batch_sizes, advance);
  return {output, states[0]};
}

std::tuple<Tensor, Tensor> composed_rnn_layer(const Tensor& input,
                                              const Tensor& h0,
                                              const Tensor& w_ih,
                                              const Tensor& w_hh,
                                              const Tensor& b_ih,
                                              const Tensor& b_hh,
                                              bool relu,
                                              bool reverse,
                                              IntList batch_sizes) {
  const Tensor weight = t(w_hh);
  const auto advance = [&](const Tensor& part, const StateList& states) {
    const Tensor sum = addmm(part, states[0], weight);
    return StateList{relu ? mindtorch::relu(sum) : tanh(sum)};
  };
  const auto [output, states] = run_steps(linear(input, w_ih, sum_of_biases(b_ih, b_hh)), {h0},
                                          reverse, batch_sizes, advance);
  return {output, states[0]};
}

}  // namespace mindtorch::functional
