// Recurrent networks: whole networks and single steps, and the layers they are made of.
//
// Note [Packed rows]
// A layer takes the steps of all sequences as the rows of one matrix, step after step.
// `batch_sizes` says how many sequences each step has, the longest first: never more than the step
// before. Empty: every step has all of them.
#include <algorithm>
#include <numeric>

#include "mindtorch/ops/definitions/definitions.h"
#include "mindtorch/ops/definitions/rules.h"

namespace mindtorch::ops {
namespace {

void check_product(const Tensor& rows, const Tensor& weight) {
  MT_CHECK(rows.dtype() == weight.dtype(), RuntimeError,
           "mat1 and mat2 must have the same dtype, but got ", legacy_name(rows.dtype()), " and ",
           legacy_name(weight.dtype()));
  MT_CHECK(rows.dim() == 2 && weight.dim() == 2 && rows.size(1) == weight.size(1), RuntimeError,
           "mat1 and mat2 shapes cannot be multiplied (", rows.size(0), "x", rows.size(-1), " and ",
           weight.size(-1), "x", weight.size(0), ")");
}

void check_bias(const Tensor& bias, const Tensor& weight) {
  if (!bias.defined()) return;
  MT_CHECK(bias.dtype() == weight.dtype(), RuntimeError,
           "expected m1 and m2 to have the same dtype, but got: ", legacy_name(weight.dtype()),
           " != ", legacy_name(bias.dtype()));
  MT_CHECK(bias.dim() == 1 && bias.size(0) == weight.size(0), RuntimeError,
           "The expanded size of the tensor (", weight.size(0), ") must match the existing size (",
           bias.numel(), ") at non-singleton dimension 1.");
}

void check_rows(const Tensor& input, const Tensor& h0, IntList batch_sizes) {
  const int64_t batch = h0.size(0);
  if (batch_sizes.empty()) {
    const bool fits = batch == 0 ? input.size(0) == 0 : input.size(0) % batch == 0;
    MT_CHECK(fits, RuntimeError, "The size of tensor a (", batch,
             ") must match the size of tensor b (", input.size(0),
             ") at non-singleton dimension 0");
    return;
  }
  const bool falls = std::ranges::is_sorted(batch_sizes, std::greater<>());
  MT_CHECK(falls && batch_sizes.front() <= batch && batch_sizes.back() >= 0, RuntimeError,
           "batch_sizes must fall, from at most the ", batch, " sequences of the hidden state");
  const int64_t total = std::accumulate(batch_sizes.begin(), batch_sizes.end(), int64_t{0});
  MT_CHECK(total == input.size(0), RuntimeError, "batch_sizes sum up to ", total,
           ", but the input has ", input.size(0), " rows");
}

// `gates` rows for each hidden unit.
void check_layer(const Tensor& input,
                 const Tensor& h0,
                 const Tensor& w_ih,
                 const Tensor& w_hh,
                 const Tensor& b_ih,
                 const Tensor& b_hh,
                 IntList batch_sizes,
                 int64_t gates) {
  check_product(input, w_ih);
  check_product(h0, w_hh);
  MT_CHECK(is_floating_point(input.dtype()), NotImplementedError,
           "\"addmm_impl_cpu_\" not implemented for '", legacy_name(input.dtype()), "'");
  MT_CHECK(input.dtype() == h0.dtype(), RuntimeError,
           "mat1 and mat2 must have the same dtype, but got ", legacy_name(input.dtype()), " and ",
           legacy_name(h0.dtype()));
  MT_CHECK(w_ih.size(0) == w_hh.size(0) && w_ih.size(0) % gates == 0, RuntimeError,
           "The size of tensor a (", w_ih.size(0), ") must match the size of tensor b (",
           w_hh.size(0), ") at non-singleton dimension 1");
  check_bias(b_ih, w_ih);
  check_bias(b_hh, w_hh);
  check_rows(input, h0, batch_sizes);
}

TensorSpec like_rows(const Tensor& like, int64_t rows, int64_t columns) {
  return contiguous_spec({rows, columns}, like.dtype(), like.device());
}

SpecList lstm_layer(const Tensor& input,
                    const Tensor& h0,
                    const Tensor& c0,
                    const Tensor& w_ih,
                    const Tensor& w_hh,
                    const Tensor& b_ih,
                    const Tensor& b_hh,
                    const Tensor& w_hr,
                    bool,
                    IntList batch_sizes,
                    bool keep) {
  check_layer(input, h0, w_ih, w_hh, b_ih, b_hh, batch_sizes, 4);
  const int64_t rows = input.size(0);
  const int64_t units = w_hh.size(0) / 4;
  const int64_t shown = w_hr.defined() ? w_hr.size(0) : units;
  MT_CHECK(
      c0.dim() == 2 && c0.size(0) == h0.size(0) && c0.size(1) == units && c0.dtype() == h0.dtype(),
      RuntimeError, "Expected a cell of size [", h0.size(0), ", ", units, "], got ",
      to_string(c0.sizes()));
  MT_CHECK(h0.size(1) == shown && (!w_hr.defined() || (w_hr.dim() == 2 && w_hr.size(1) == units &&
                                                       w_hr.dtype() == h0.dtype())),
           RuntimeError, "Expected a hidden state of ", shown, " units, got ", h0.size(1));
  return {like_rows(input, rows, shown), like_rows(input, h0.size(0), shown),
          like_rows(input, h0.size(0), units),
          like_rows(input, keep && w_hr.defined() ? rows : 0, units)};
}

SpecList lstm_layer_backward(const Tensor&,
                             const Tensor&,
                             const Tensor&,
                             const Tensor& c0,
                             const Tensor& w_hh,
                             const Tensor& w_hr,
                             const Tensor& output,
                             const Tensor&,
                             const Tensor&,
                             bool,
                             IntList) {
  const int64_t rows = output.size(0);
  const int64_t shown = w_hh.size(1);
  return {like_rows(output, rows, w_hh.size(0)), like_rows(output, c0.size(0), shown),
          like_rows(output, c0.size(0), c0.size(1)),
          like_rows(output, w_hr.defined() ? rows : 0, shown)};
}

SpecList gru_layer(const Tensor& input,
                   const Tensor& h0,
                   const Tensor& w_ih,
                   const Tensor& w_hh,
                   const Tensor& b_ih,
                   const Tensor& b_hh,
                   bool,
                   IntList batch_sizes,
                   bool) {
  check_layer(input, h0, w_ih, w_hh, b_ih, b_hh, batch_sizes, 3);
  const int64_t units = w_hh.size(0) / 3;
  MT_CHECK(h0.size(1) == units, RuntimeError, "Expected a hidden state of ", units, " units, got ",
           h0.size(1));
  return {like_rows(input, input.size(0), units), like_rows(input, h0.size(0), units)};
}

SpecList gru_layer_backward(const Tensor&,
                            const Tensor&,
                            const Tensor& h0,
                            const Tensor& w_hh,
                            const Tensor& output,
                            const Tensor&,
                            bool,
                            IntList) {
  const TensorSpec gates = like_rows(output, output.size(0), w_hh.size(0));
  return {gates, gates, like_rows(output, h0.size(0), h0.size(1))};
}

SpecList rnn_layer(const Tensor& input,
                   const Tensor& h0,
                   const Tensor& w_ih,
                   const Tensor& w_hh,
                   const Tensor& b_ih,
                   const Tensor& b_hh,
                   bool,
                   bool,
                   IntList batch_sizes) {
  check_layer(input, h0, w_ih, w_hh, b_ih, b_hh, batch_sizes, 1);
  const int64_t units = w_hh.size(0);
  MT_CHECK(h0.size(1) == units, RuntimeError, "Expected a hidden state of ", units, " units, got ",
           h0.size(1));
  return {like_rows(input, input.size(0), units), like_rows(input, h0.size(0), units)};
}

SpecList rnn_layer_backward(const Tensor&,
                            const Tensor&,
                            const Tensor& h0,
                            const Tensor&,
                            const Tensor& output,
                            bool,
                            bool,
                            IntList) {
  return {like_rows(output, output.size(0), output.size(1)),
          like_rows(output, h0.size(0), h0.size(1))};
}

// One layer in one direction. `gates` and `cells` are what a device's backward kernel needs of
// every step, and `hidden` the states before they are projected; without `keep` they have no rows.
void define_layers(Registry& ops) {
  ops.define<lstm_layer>(
         "_lstm_layer(Tensor input, Tensor h0, Tensor c0, Tensor w_ih, Tensor w_hh, Tensor? b_ih, "
         "Tensor? b_hh, Tensor? w_hr, bool reverse, int[] batch_sizes, bool keep) -> (Tensor "
         "output, Tensor h_n, Tensor c_n, Tensor hidden, Tensor gates, Tensor cells)")
      .auxiliary(2)
      .device_example(
          "torch.lstm(x[:, None], (state, state), [gates[:8], gates[:8, :2]], False, 1, 0.0, "
          "False, False, False)")
      .internal();
  ops.define<lstm_layer_backward>(
         "_lstm_layer_backward(Tensor? grad_output, Tensor? grad_h_n, Tensor? grad_c_n, Tensor c0, "
         "Tensor w_hh, Tensor? w_hr, Tensor output, Tensor gates, Tensor cells, bool reverse, "
         "int[] batch_sizes) -> (Tensor grad_gates, Tensor grad_h0, Tensor grad_c0, Tensor "
         "grad_hidden)")
      .device_example(
          "grad(torch.lstm(x[:, None], (state, state), [gates[:8], gates[:8, :2]], False, 1, 0.0, "
          "False, False, False)[0].sum(), gates)")
      .internal()
      .not_differentiable();
  ops.define<gru_layer>(
         "_gru_layer(Tensor input, Tensor h0, Tensor w_ih, Tensor w_hh, Tensor? b_ih, "
         "Tensor? b_hh, bool reverse, int[] batch_sizes, bool keep) -> (Tensor output, "
         "Tensor h_n, Tensor gates)")
      .device_example(
          "torch.gru(x[:, None], state, [gates[:6], gates[:6, :2]], False, 1, 0.0, False, False, "
          "False)")
      .auxiliary(1)
      .internal();
  ops.define<gru_layer_backward>(
         "_gru_layer_backward(Tensor? grad_output, Tensor? grad_h_n, Tensor h0, Tensor w_hh, "
         "Tensor output, Tensor gates, bool reverse, int[] batch_sizes) -> (Tensor "
         "grad_from_input, Tensor grad_from_hidden, Tensor grad_h0)")
      .device_example(
          "grad(torch.gru(x[:, None], state, [gates[:6], gates[:6, :2]], False, 1, 0.0, False, "
          "False, False)[0].sum(), gates)")
      .internal()
      .not_differentiable();
  ops.define<rnn_layer>(
         "_rnn_layer(Tensor input, Tensor h0, Tensor w_ih, Tensor w_hh, Tensor? b_ih, "
         "Tensor? b_hh, bool relu, bool reverse, int[] batch_sizes) -> (Tensor output, "
         "Tensor h_n)")
      .device_example(
          "torch.rnn_tanh(x[:, None], state, [gates[:2], gates[:2, :2]], False, 1, 0.0, False, "
          "False, False)")
      .internal();
  ops.define<rnn_layer_backward>(
         "_rnn_layer_backward(Tensor? grad_output, Tensor? grad_h_n, Tensor h0, Tensor w_hh, "
         "Tensor output, bool relu, bool reverse, int[] batch_sizes) -> (Tensor grad_gates, "
         "Tensor grad_h0)")
      .device_example(
          "grad(torch.rnn_tanh(x[:, None], state, [gates[:2], gates[:2, :2]], False, 1, 0.0, "
          "False, False, False)[0].sum(), gates)")
      .internal()
      .not_differentiable();
}

// Whole networks: all layers and directions. On accelerators autocast treats them as torch does
// cuDNN's.
void define_networks(Registry& ops) {
  ops.define(
         "lstm.input(Tensor input, Tensor[] hx, Tensor[] params, bool has_biases, int num_layers, "
         "float dropout, bool train, bool bidirectional, bool batch_first) -> "
         "(Tensor, Tensor, Tensor)")
      .device_example(
          "torch.lstm(x[:, None], (state, state), [gates[:8], gates[:8, :2]], False, 1, 0.0, "
          "False, False, False)")
      .autocast(AutocastPolicy::kLowerPrecision)
      .function_only()
      .doc(
          "Long short-term memory: the output of the last layer at every step, and the last hidden "
          "states and cells of all layers.",
          ">>> weights = [torch.ones(4, 1), torch.ones(4, 1)]\n"
          ">>> state = torch.zeros(1, 1, 1)\n"
          ">>> output, h, c = torch.lstm(torch.ones(2, 1, 1), (state, state), weights,\n"
          "...                           False, 1, 0.0, False, False, False)\n"
          ">>> output.shape, c.shape\n"
          "(torch.Size([2, 1, 1]), torch.Size([1, 1, 1]))");
  ops.define(
         "lstm.data(Tensor data, Tensor batch_sizes, Tensor[] hx, Tensor[] params, bool "
         "has_biases, "
         "int num_layers, float dropout, bool train, bool bidirectional) -> "
         "(Tensor, Tensor, Tensor)")
      .device_example(
          "torch.lstm(x, torch.ones(2, dtype=torch.int64, device='cpu'), (state, state), "
          "[gates[:8], gates[:8, :2]], False, 1, 0.0, False, False)")
      .autocast_on_accelerators(AutocastPolicy::kLowerPrecision)
      .function_only();
  ops.define(
         "gru.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, "
         "float dropout, bool train, bool bidirectional, bool batch_first) -> "
         "(Tensor, Tensor)")
      .device_example(
          "torch.gru(x[:, None], state, [gates[:6], gates[:6, :2]], False, 1, 0.0, False, False, "
          "False)")
      .autocast_on_accelerators(AutocastPolicy::kLowerPrecision)
      .function_only()
      .doc(
          "Gated recurrent units: the output of the last layer at every step, and the last hidden "
          "states of all layers.",
          ">>> weights = [torch.ones(3, 1), torch.ones(3, 1)]\n"
          ">>> output, h = torch.gru(torch.ones(2, 1, 1), torch.zeros(1, 1, 1), weights,\n"
          "...                       False, 1, 0.0, False, False, False)\n"
          ">>> output.shape, h.shape\n"
          "(torch.Size([2, 1, 1]), torch.Size([1, 1, 1]))");
  ops.define(
         "gru.data(Tensor data, Tensor batch_sizes, Tensor hx, Tensor[] params, bool has_biases, "
         "int num_layers, float dropout, bool train, bool bidirectional) -> "
         "(Tensor, Tensor)")
      .device_example(
          "torch.gru(x, torch.ones(2, dtype=torch.int64, device='cpu'), state, [gates[:6], "
          "gates[:6, :2]], False, 1, 0.0, False, False)")
      .autocast_on_accelerators(AutocastPolicy::kLowerPrecision)
      .function_only();
  ops.define(
         "rnn_tanh.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int "
         "num_layers, "
         "float dropout, bool train, bool bidirectional, bool batch_first) -> "
         "(Tensor, Tensor)")
      .device_example(
          "torch.rnn_tanh(x[:, None], state, [gates[:2], gates[:2, :2]], False, 1, 0.0, False, "
          "False, False)")
      .autocast(AutocastPolicy::kLowerPrecision)
      .function_only()
      .doc(
          "A recurrent network of tanh units: the output of the last layer at every step, and the "
          "last hidden states of all layers.");
  ops.define(
         "rnn_tanh.data(Tensor data, Tensor batch_sizes, Tensor hx, Tensor[] params, bool "
         "has_biases, "
         "int num_layers, float dropout, bool train, bool bidirectional) -> "
         "(Tensor, Tensor)")
      .device_example(
          "torch.rnn_tanh(x, torch.ones(2, dtype=torch.int64, device='cpu'), state, [gates[:2], "
          "gates[:2, :2]], False, 1, 0.0, False, False)")
      .autocast_on_accelerators(AutocastPolicy::kLowerPrecision)
      .function_only();
  ops.define(
         "rnn_relu.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int "
         "num_layers, "
         "float dropout, bool train, bool bidirectional, bool batch_first) -> "
         "(Tensor, Tensor)")
      .device_example(
          "torch.rnn_relu(x[:, None], state, [gates[:2], gates[:2, :2]], False, 1, 0.0, False, "
          "False, False)")
      .autocast(AutocastPolicy::kLowerPrecision)
      .function_only()
      .doc(
          "A recurrent network of relu units: the output of the last layer at every step, and the "
          "last hidden states of all layers.");
  ops.define(
         "rnn_relu.data(Tensor data, Tensor batch_sizes, Tensor hx, Tensor[] params, bool "
         "has_biases, "
         "int num_layers, float dropout, bool train, bool bidirectional) -> "
         "(Tensor, Tensor)")
      .device_example(
          "torch.rnn_relu(x, torch.ones(2, dtype=torch.int64, device='cpu'), state, [gates[:2], "
          "gates[:2, :2]], False, 1, 0.0, False, False)")
      .autocast_on_accelerators(AutocastPolicy::kLowerPrecision)
      .function_only();
}

void define_cells(Registry& ops) {
  ops.define(
         "lstm_cell(Tensor input, Tensor[] hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, "
         "Tensor? b_hh=None) -> (Tensor, Tensor)")
      .autocast_on_accelerators(AutocastPolicy::kLowerPrecision)
      .function_only()
      .doc("One step of lstm: the next hidden state and cell.",
           ">>> h, c = torch.lstm_cell(torch.ones(1, 1), [torch.zeros(1, 1)] * 2,\n"
           "...                        torch.ones(4, 1), torch.ones(4, 1))\n"
           ">>> c\n"
           "tensor([[0.5568]])");
  ops.define(
         "gru_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, "
         "Tensor? b_hh=None) -> Tensor")
      .autocast_on_accelerators(AutocastPolicy::kLowerPrecision)
      .function_only()
      .doc("One step of gru: the next hidden state.",
           ">>> torch.gru_cell(torch.ones(1, 1), torch.zeros(1, 1), torch.ones(3, 1),\n"
           "...                torch.ones(3, 1))\n"
           "tensor([[0.2048]])");
  ops.define(
         "rnn_tanh_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, "
         "Tensor? b_hh=None) -> Tensor")
      .autocast_on_accelerators(AutocastPolicy::kLowerPrecision)
      .function_only()
      .doc("One step of rnn_tanh: the next hidden state.",
           ">>> torch.rnn_tanh_cell(torch.ones(1, 1), torch.zeros(1, 1), torch.ones(1, 1),\n"
           "...                     torch.ones(1, 1))\n"
           "tensor([[0.7616]])");
  ops.define(
         "rnn_relu_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, "
         "Tensor? b_hh=None) -> Tensor")
      .autocast_on_accelerators(AutocastPolicy::kLowerPrecision)
      .function_only()
      .doc("One step of rnn_relu: the next hidden state.",
           ">>> torch.rnn_relu_cell(torch.ones(1, 1), torch.zeros(1, 1), torch.ones(1, 1),\n"
           "...                     torch.ones(1, 1))\n"
           "tensor([[1.]])");
}

}  // namespace

void define_recurrent(Registry& ops) {
  define_layers(ops);
  define_networks(ops);
  define_cells(ops);
}

}  // namespace mindtorch::ops
