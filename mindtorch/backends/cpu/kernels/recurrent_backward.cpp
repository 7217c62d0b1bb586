#include <optional>

#include "mindtorch/backends/cpu/kernels/kernels.h"
#include "mindtorch/backends/cpu/recurrent/backward.h"
#include "mindtorch/backends/cpu/recurrent/cells.h"

// Note [Recurrent layers] of recurrent/forward.h: a thread takes its share of the sequences back
// through all steps.
namespace mindtorch::cpu {
namespace {

using recurrent::BackwardPass;
using recurrent::each_row;
using recurrent::PreviousStates;
using recurrent::Rows;
using recurrent::Steps;
using recurrent::WeightProduct;
using Memory = KeptScratch;

void lstm_layer_backward(ops::Launch&,
                         const Tensor& grad_output,
                         const Tensor& grad_h_n,
                         const Tensor& grad_c_n,
                         const Tensor& c0,
                         const Tensor& w_hh,
                         const Tensor& w_hr,
                         const Tensor&,
                         const Tensor& gates,
                         const Tensor& cells,
                         bool reverse,
                         IntList batch_sizes,
                         Tensor& grad_gates,
                         Tensor& grad_h0,
                         Tensor& grad_c0,
                         Tensor& grad_hidden) {
  const Steps steps(gates.size(0), c0.size(0), batch_sizes);
  const int64_t n = c0.size(1);
  const int64_t shown = w_hh.size(1);
  recurrent::with_wide_type(gates.dtype(), [&]<typename T>() {
    const Rows<T> of_output(grad_output), of_last_hidden(grad_h_n), of_last_cells(grad_c_n),
        first_cells(c0), all_gates(gates), all_cells(cells), of_gates(grad_gates),
        of_first_hidden(grad_h0), of_first_cells(grad_c0), of_hidden(grad_hidden);
    const BackwardPass pass(steps, reverse, 4 * n * shown);
    const WeightProduct<T> product(w_hh, false, pass.packing());
    std::optional<WeightProduct<T>> project;
    if (w_hr.defined()) project.emplace(w_hr, false, pass.packing());
    const auto step = recurrent::cells<T>().lstm_backward;
    pass.each_group([&](int64_t first, int64_t last) {
      const int64_t count = last - first;
      const int64_t narrow = all_gates.is_wide() ? 0 : count;
      const int64_t unprojected = project ? count * n : 0;
      Memory memory(2 * Memory::room<T>(narrow * 4 * n) + 2 * Memory::room<T>(narrow * n) +
                        Memory::room<T>(narrow * shown) + Memory::room<T>(count * shown) +
                        Memory::room<T>(count * n) + Memory::room<T>(unprojected),
                    product.scratch_bytes(count));
      T* const gate_block = memory.take<T>(narrow * 4 * n);
      T* const grad_block = memory.take<T>(narrow * 4 * n);
      T* const cell_block = memory.take<T>(narrow * n);
      T* const previous_block = memory.take<T>(narrow * n);
      T* const output_block = memory.take<T>(narrow * shown);
      T* const h = memory.take<T>(count * shown);
      T* const c = memory.take<T>(count * n);
      T* const grad = project ? memory.take<T>(unprojected) : h;
      of_last_hidden.load_or_zeros(first, count, shown, h);
      of_last_cells.load_or_zeros(first, count, n, c);
      pass.each_step(first, last, [&](int64_t t, int64_t row, int64_t rows) {
        of_output.add(row, rows, output_block, h);
        if (project) {
          of_hidden.store(row, rows, h);
          (*project)(h, rows, grad, n);
        }
        const T* const gate = all_gates.read(row, rows, gate_block);
        const T* const cell = all_cells.read(row, rows, cell_block);
        const PreviousStates<T> previous(steps, t, reverse, first, rows, first_cells, all_cells,
                                         previous_block);
        T* const grad_gate = of_gates.place(row, grad_block);
        each_row(rows, n, [&](int64_t i) {
          step(gate + i * 4 * n, cell + i * n, previous.of(i), grad + i * n, n, c + i * n,
               grad_gate + i * 4 * n);
        });
        product(grad_gate, rows, h, shown);
        of_gates.store(row, rows, grad_gate);
      });
      of_first_hidden.store(first, count, h);
      of_first_cells.store(first, count, c);
    });
  });
}

void gru_layer_backward(ops::Launch&,
                        const Tensor& grad_output,
                        const Tensor& grad_h_n,
                        const Tensor& h0,
                        const Tensor& w_hh,
                        const Tensor& output,
                        const Tensor& gates,
                        bool reverse,
                        IntList batch_sizes,
                        Tensor& grad_from_input,
                        Tensor& grad_from_hidden,
                        Tensor& grad_h0) {
  const Steps steps(output.size(0), h0.size(0), batch_sizes);
  const int64_t n = h0.size(1);
  recurrent::with_wide_type(gates.dtype(), [&]<typename T>() {
    const Rows<T> of_output(grad_output), of_last(grad_h_n), first_hidden(h0), all_hidden(output),
        all_gates(gates), of_input_part(grad_from_input), of_hidden_part(grad_from_hidden),
        of_first(grad_h0);
    const BackwardPass pass(steps, reverse, 3 * n * n);
    const WeightProduct<T> product(w_hh, false, pass.packing());
    const auto step = recurrent::cells<T>().gru_backward;
    pass.each_group([&](int64_t first, int64_t last) {
      const int64_t count = last - first;
      const int64_t narrow = all_gates.is_wide() ? 0 : count;
      Memory memory(Memory::room<T>(narrow * 4 * n) + 2 * Memory::room<T>(narrow * 3 * n) +
                        2 * Memory::room<T>(narrow * n) + Memory::room<T>(count * n),
                    product.scratch_bytes(count));
      T* const gate_block = memory.take<T>(narrow * 4 * n);
      T* const input_block = memory.take<T>(narrow * 3 * n);
      T* const hidden_block = memory.take<T>(narrow * 3 * n);
      T* const previous_block = memory.take<T>(narrow * n);
      T* const output_block = memory.take<T>(narrow * n);
      T* const h = memory.take<T>(count * n);
      of_last.load_or_zeros(first, count, n, h);
      pass.each_step(first, last, [&](int64_t t, int64_t row, int64_t rows) {
        of_output.add(row, rows, output_block, h);
        const T* const gate = all_gates.read(row, rows, gate_block);
        const PreviousStates<T> previous(steps, t, reverse, first, rows, first_hidden, all_hidden,
                                         previous_block);
        T* const from_input = of_input_part.place(row, input_block);
        T* const from_hidden = of_hidden_part.place(row, hidden_block);
        each_row(rows, n, [&](int64_t i) {
          step(gate + i * 4 * n, previous.of(i), n, h + i * n, from_input + i * 3 * n,
               from_hidden + i * 3 * n);
        });
        product(from_hidden, rows, h, n, true);
        of_input_part.store(row, rows, from_input);
        of_hidden_part.store(row, rows, from_hidden);
      });
      of_first.store(first, count, h);
    });
  });
}

void rnn_layer_backward(ops::Launch&,
                        const Tensor& grad_output,
                        const Tensor& grad_h_n,
                        const Tensor& h0,
                        const Tensor& w_hh,
                        const Tensor& output,
                        bool relu,
                        bool reverse,
                        IntList batch_sizes,
                        Tensor& grad_gates,
                        Tensor& grad_h0) {
  const Steps steps(output.size(0), h0.size(0), batch_sizes);
  const int64_t n = h0.size(1);
  recurrent::with_wide_type(output.dtype(), [&]<typename T>() {
    const Rows<T> of_output(grad_output), of_last(grad_h_n), all_hidden(output),
        of_gates(grad_gates), of_first(grad_h0);
    const BackwardPass pass(steps, reverse, n * n);
    const WeightProduct<T> product(w_hh, false, pass.packing());
    const auto& cells = recurrent::cells<T>();
    const auto step = relu ? cells.rnn_relu_backward : cells.rnn_tanh_backward;
    pass.each_group([&](int64_t first, int64_t last) {
      const int64_t count = last - first;
      const int64_t narrow = all_hidden.is_wide() ? 0 : count;
      Memory memory(3 * Memory::room<T>(narrow * n) + Memory::room<T>(count * n),
                    product.scratch_bytes(count));
      T* const hidden_block = memory.take<T>(narrow * n);
      T* const grad_block = memory.take<T>(narrow * n);
      T* const output_block = memory.take<T>(narrow * n);
      T* const h = memory.take<T>(count * n);
      of_last.load_or_zeros(first, count, n, h);
      pass.each_step(first, last, [&](int64_t, int64_t row, int64_t rows) {
        of_output.add(row, rows, output_block, h);
        const T* const hidden = all_hidden.read(row, rows, hidden_block);
        T* const grad_gate = of_gates.place(row, grad_block);
        each_row(rows, n,
                 [&](int64_t i) { step(hidden + i * n, h + i * n, n, grad_gate + i * n); });
        product(grad_gate, rows, h, n);
        of_gates.store(row, rows, grad_gate);
      });
      of_first.store(first, count, h);
    });
  });
}

}  // namespace

void register_recurrent_backward(ops::Registry& registry) {
  registry.kernel<lstm_layer_backward>(DeviceType::kCpu, "_lstm_layer_backward");
  registry.kernel<gru_layer_backward>(DeviceType::kCpu, "_gru_layer_backward");
  registry.kernel<rnn_layer_backward>(DeviceType::kCpu, "_rnn_layer_backward");
}

}  // namespace mindtorch::cpu
