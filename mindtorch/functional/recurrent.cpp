// lstm to rnn_relu and their cells: torch's rules, and the loop over layers and directions.
#include "mindtorch/functional/recurrent.h"

#include <algorithm>
#include <vector>

#include "mindtorch/dispatch/dispatcher.h"
#include "mindtorch/functional/composites.h"
#include "mindtorch/functional/functions.h"

namespace mindtorch::functional {
namespace {

enum class Kind : uint8_t { kLstm, kGru, kTanh, kRelu };

// Of one layer in one direction; undefined where there is none.
struct Weights {
  Tensor w_ih, w_hh, b_ih, b_hh, w_hr;
};

// The states of one layer, or of all of them; no cells but in an LSTM.
struct States {
  Tensor hidden, cells;
};

struct Network {
  Kind kind;
  std::vector<Weights> weights;  // layer by layer, direction by direction
  int64_t layers;
  int64_t directions;
  double dropout;
};

// Note [Recurrent layers by device]
// A device that has a kernel for it runs a layer as one op. For others it is composed, step by
// step.
bool has_layer_op(Kind kind, Device device) {
  static const ops::Op& lstm = ops::registry().at("_lstm_layer");
  static const ops::Op& gru = ops::registry().at("_gru_layer");
  static const ops::Op& rnn = ops::registry().at("_rnn_layer");
  const ops::Op& op = kind == Kind::kLstm ? lstm : kind == Kind::kGru ? gru : rnn;
  return op.has_kernel(device.type);
}

// Whether the gradients of a layer may be asked for. Batches hide what autograd sees of them.
bool may_record(const Tensor& input, const States& start, const Weights& w) {
  if (!dispatch::thread_layers().grad_mode) return false;
  constexpr uint8_t kLayers =
      dispatch::bit(dispatch::Layer::kAutograd) | dispatch::bit(dispatch::Layer::kBatching);
  const Tensor* const all[] = {&input,  &start.hidden, &start.cells, &w.w_ih,
                               &w.w_hh, &w.b_ih,       &w.b_hh,      &w.w_hr};
  return std::ranges::any_of(all, [](const Tensor* tensor) {
    return tensor->defined() && (tensor->impl()->layers & kLayers) != 0;
  });
}

// The outputs of all steps, and the last states.
std::pair<Tensor, States> run_layer(Kind kind,
                                    const Tensor& input,
                                    const States& start,
                                    const Weights& w,
                                    bool reverse,
                                    IntList batch_sizes) {
  const bool fused = has_layer_op(kind, input.device());
  const bool keep = fused && may_record(input, start, w);
  const Tensor& h = start.hidden;
  if (kind == Kind::kLstm) {
    if (fused) {
      auto [output, hidden, cells, all_hidden, gates, all_cells] =
          _lstm_layer(input, h, start.cells, w.w_ih, w.w_hh, w.b_ih, w.b_hh, w.w_hr, reverse,
                      batch_sizes, keep);
      return {output, {hidden, cells}};
    }
    auto [output, hidden, cells] = composed_lstm_layer(
        input, h, start.cells, w.w_ih, w.w_hh, w.b_ih, w.b_hh, w.w_hr, reverse, batch_sizes);
    return {output, {hidden, cells}};
  }
  if (kind == Kind::kGru) {
    if (fused) {
      auto [output, hidden, gates] =
          _gru_layer(input, h, w.w_ih, w.w_hh, w.b_ih, w.b_hh, reverse, batch_sizes, keep);
      return {output, {hidden, {}}};
    }
    auto [output, hidden] =
        composed_gru_layer(input, h, w.w_ih, w.w_hh, w.b_ih, w.b_hh, reverse, batch_sizes);
    return {output, {hidden, {}}};
  }
  const bool relu = kind == Kind::kRelu;
  auto [output, hidden] =
      fused ? _rnn_layer(input, h, w.w_ih, w.w_hh, w.b_ih, w.b_hh, relu, reverse, batch_sizes)
            : composed_rnn_layer(input, h, w.w_ih, w.w_hh, w.b_ih, w.b_hh, relu, reverse,
                                 batch_sizes);
  return {output, {hidden, {}}};
}

std::vector<Weights> split_params(TensorList params, bool has_biases, bool has_projections) {
  const size_t each = (has_biases ? 4u : 2u) + (has_projections ? 1u : 0u);
  MT_CHECK(params.size() % each == 0, RuntimeError, "got an incorrect number of RNN parameters");
  std::vector<Weights> result;
  for (size_t at = 0; at < params.size(); at += each) {
    Weights weights;
    weights.w_ih = params[at];
    weights.w_hh = params[at + 1];
    if (has_biases) {
      weights.b_ih = params[at + 2];
      weights.b_hh = params[at + 3];
    }
    if (has_projections) weights.w_hr = params[at + each - 1];
    result.push_back(weights);
  }
  return result;
}

Network make_network(Kind kind,
                     const States& states,
                     TensorList params,
                     bool has_biases,
                     int64_t layers,
                     double dropout,
                     bool train,
                     bool bidirectional) {
  const bool has_projections =
      states.cells.defined() && states.hidden.size(-1) != states.cells.size(-1);
  Network network = {kind, split_params(params, has_biases, has_projections), layers,
                     bidirectional ? 2 : 1, train ? dropout : 0};
  const auto count = static_cast<int64_t>(network.weights.size());
  MT_CHECK(!bidirectional || (count % 2 == 0 && states.hidden.size(0) % 2 == 0), RuntimeError,
           "Odd number of params or hiddens given to a bidirectional RNN");
  const int64_t wanted = layers * network.directions;
  MT_CHECK(states.hidden.dim() == 3 && states.hidden.size(0) == wanted, RuntimeError,
           "Expected more hidden states in stacked_rnn");
  MT_CHECK(count == wanted, RuntimeError, "Expected more weights in stacked_rnn");
  return network;
}

// All layers, one after the other, over the rows of Note [Packed rows]. Returns the outputs of the
// last one and the last states of all.
std::pair<Tensor, States> run(const Network& network,
                              Tensor input,
                              const States& start,
                              IntList batch_sizes) {
  const bool has_cells = start.cells.defined();
  std::vector<Tensor> hidden;
  std::vector<Tensor> cells;
  for (int64_t layer = 0; layer < network.layers; ++layer) {
    std::vector<Tensor> outputs;
    for (int64_t direction = 0; direction < network.directions; ++direction) {
      const int64_t place = layer * network.directions + direction;
      const States first = {select(start.hidden, 0, place),
                            has_cells ? select(start.cells, 0, place) : Tensor()};
      auto [output, last] =
          run_layer(network.kind, input, first, network.weights[static_cast<size_t>(place)],
                    direction == 1, batch_sizes);
      outputs.push_back(output);
      hidden.push_back(last.hidden);
      if (has_cells) cells.push_back(last.cells);
    }
    input = outputs.size() == 1 ? outputs[0] : cat(outputs, 1);
    if (network.dropout > 0 && layer + 1 < network.layers) {
      input = dropout(input, network.dropout, true);
    }
  }
  const auto joined = [](const std::vector<Tensor>& states) {
    return states.size() == 1 ? unsqueeze(states[0], 0) : stack(states, 0);
  };
  return {input, {joined(hidden), has_cells ? joined(cells) : Tensor()}};
}

std::pair<Tensor, States> run_dense(const Network& network,
                                    const Tensor& input,
                                    const States& start,
                                    bool batch_first) {
  MT_CHECK(input.dim() >= 2, IndexError, "Dimension out of range (expected to be in range of [",
           -input.dim(), ", ", input.dim() - 1, "], but got ", input.dim(), ")");
  MT_CHECK(input.dim() == 3, RuntimeError, "input must have 3 dimensions, got ", input.dim());
  const Tensor steps = batch_first ? transpose(input, 0, 1) : input;
  MT_CHECK(steps.size(0) > 0, RuntimeError, "Expected sequence length to be larger than 0 in RNN");
  const int64_t batch = steps.size(1);
  MT_CHECK(start.hidden.size(1) == batch, RuntimeError, "The size of tensor a (",
           start.hidden.size(1), ") must match the size of tensor b (", batch,
           ") at non-singleton dimension 0");
  auto [rows, states] =
      run(network, reshape(steps, {steps.size(0) * batch, steps.size(2)}), start, {});
  const Tensor output = view(rows, {steps.size(0), batch, rows.size(1)});
  return {batch_first ? transpose(output, 0, 1) : output, states};
}

std::pair<Tensor, States> run_packed(const Network& network,
                                     const Tensor& data,
                                     const Tensor& batch_sizes,
                                     const States& start) {
  MT_CHECK(batch_sizes.dtype() == DType::kInt64, RuntimeError,
           "expected scalar type Long but found ", legacy_name(batch_sizes.dtype()));
  MT_CHECK(batch_sizes.device().is_host(), RuntimeError,
           "batch_sizes should always be on CPU. Instances of PackedSequence should never be "
           "created manually. They should be instantiated by functions like pack_sequence and "
           "pack_padded_sequences in nn.utils.rnn. "
           "https://pytorch.org/docs/stable/nn.html#torch.nn.utils.rnn.pack_sequence");
  const Tensor sizes = contiguous(batch_sizes);
  return run(network, data, start,
             IntList(sizes.data<int64_t>(), static_cast<size_t>(sizes.numel())));
}

std::tuple<Tensor, Tensor, Tensor> lstm(const Tensor& input,
                                        TensorList hx,
                                        TensorList params,
                                        bool has_biases,
                                        int64_t num_layers,
                                        double dropout,
                                        bool train,
                                        bool bidirectional,
                                        bool batch_first) {
  MT_CHECK(hx.size() == 2, RuntimeError, "lstm expects two hidden states");
  const States start = {hx[0], hx[1]};
  const Network network = make_network(Kind::kLstm, start, params, has_biases, num_layers, dropout,
                                       train, bidirectional);
  auto [output, last] = run_dense(network, input, start, batch_first);
  return {output, last.hidden, last.cells};
}

std::tuple<Tensor, Tensor, Tensor> lstm_packed(const Tensor& data,
                                               const Tensor& batch_sizes,
                                               TensorList hx,
                                               TensorList params,
                                               bool has_biases,
                                               int64_t num_layers,
                                               double dropout,
                                               bool train,
                                               bool bidirectional) {
  MT_CHECK(hx.size() == 2, RuntimeError, "lstm expects two hidden states");
  const States start = {hx[0], hx[1]};
  const Network network = make_network(Kind::kLstm, start, params, has_biases, num_layers, dropout,
                                       train, bidirectional);
  auto [output, last] = run_packed(network, data, batch_sizes, start);
  return {output, last.hidden, last.cells};
}

template <Kind kKind>
std::tuple<Tensor, Tensor> dense(const Tensor& input,
                                 const Tensor& hx,
                                 TensorList params,
                                 bool has_biases,
                                 int64_t num_layers,
                                 double dropout,
                                 bool train,
                                 bool bidirectional,
                                 bool batch_first) {
  const States start = {hx, {}};
  const Network network =
      make_network(kKind, start, params, has_biases, num_layers, dropout, train, bidirectional);
  auto [output, last] = run_dense(network, input, start, batch_first);
  return {output, last.hidden};
}

template <Kind kKind>
std::tuple<Tensor, Tensor> packed(const Tensor& data,
                                  const Tensor& batch_sizes,
                                  const Tensor& hx,
                                  TensorList params,
                                  bool has_biases,
                                  int64_t num_layers,
                                  double dropout,
                                  bool train,
                                  bool bidirectional) {
  const States start = {hx, {}};
  const Network network =
      make_network(kKind, start, params, has_biases, num_layers, dropout, train, bidirectional);
  auto [output, last] = run_packed(network, data, batch_sizes, start);
  return {output, last.hidden};
}

void check_cell(const Tensor& input, const Tensor& w_ih, const Tensor& w_hh) {
  for (const Tensor* each : {&input, &w_ih, &w_hh}) {
    MT_CHECK(each->dim() >= 2, IndexError, "Dimension out of range (expected to be in range of [",
             -each->dim(), ", ", each->dim() - 1, "], but got 1)");
  }
  MT_CHECK(input.size(1) == w_ih.size(1), RuntimeError, "input has inconsistent input_size: got ",
           input.size(1), " expected ", w_ih.size(1));
}
void check_cell_state(const Tensor& input, const Tensor& state, const Tensor& w_hh, int number) {
  MT_CHECK(state.dim() >= 2, IndexError, "Dimension out of range (expected to be in range of [",
           -state.dim(), ", ", state.dim() - 1, "], but got 1)");
  MT_CHECK(input.size(0) == state.size(0), RuntimeError, "Input batch size ", input.size(0),
           " doesn't match hidden", number, " batch size ", state.size(0));
  MT_CHECK(state.size(1) == w_hh.size(1), RuntimeError, "hidden", number,
           " has inconsistent hidden_size: got ", state.size(1), ", expected ", w_hh.size(1));
}

std::tuple<Tensor, Tensor> lstm_cell(const Tensor& input,
                                     TensorList hx,
                                     const Tensor& w_ih,
                                     const Tensor& w_hh,
                                     const Tensor& b_ih,
                                     const Tensor& b_hh) {
  MT_CHECK(hx.size() == 2, RuntimeError, "lstm_cell expects two hidden states");
  check_cell(input, w_ih, w_hh);
  check_cell_state(input, hx[0], w_hh, 0);
  check_cell_state(input, hx[1], w_hh, 1);
  const auto [output, last] =
      run_layer(Kind::kLstm, input, {hx[0], hx[1]}, {w_ih, w_hh, b_ih, b_hh, {}}, false, {});
  return {last.hidden, last.cells};
}

template <Kind kKind>
Tensor cell(const Tensor& input,
            const Tensor& hx,
            const Tensor& w_ih,
            const Tensor& w_hh,
            const Tensor& b_ih,
            const Tensor& b_hh) {
  check_cell(input, w_ih, w_hh);
  check_cell_state(input, hx, w_hh, 0);
  return run_layer(kKind, input, {hx, {}}, {w_ih, w_hh, b_ih, b_hh, {}}, false, {}).first;
}

}  // namespace

void compose_recurrent(ops::Registry& registry) {
  registry.composite<lstm>("lstm.input");
  registry.composite<lstm_packed>("lstm.data");
  registry.composite<dense<Kind::kGru>>("gru.input");
  registry.composite<packed<Kind::kGru>>("gru.data");
  registry.composite<dense<Kind::kTanh>>("rnn_tanh.input");
  registry.composite<packed<Kind::kTanh>>("rnn_tanh.data");
  registry.composite<dense<Kind::kRelu>>("rnn_relu.input");
  registry.composite<packed<Kind::kRelu>>("rnn_relu.data");
  registry.composite<lstm_cell>("lstm_cell");
  registry.composite<cell<Kind::kGru>>("gru_cell");
  registry.composite<cell<Kind::kTanh>>("rnn_tanh_cell");
  registry.composite<cell<Kind::kRelu>>("rnn_relu_cell");
}

}  // namespace mindtorch::functional
