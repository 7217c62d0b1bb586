#include <optional>

#include "mindtorch/backends/cpu/kernels/kernels.h"
#include "mindtorch/backends/cpu/recurrent/cells.h"
#include "mindtorch/backends/cpu/recurrent/forward.h"

// Note [Recurrent layers] of recurrent/forward.h.
namespace mindtorch::cpu {
namespace {

using recurrent::each_row;
using recurrent::ForwardPass;
using recurrent::Packing;
using recurrent::Rows;
using recurrent::Steps;
using recurrent::sum_of;
using recurrent::WeightProduct;
using Memory = KeptScratch;

Packing packing_of(const Steps& steps) { return steps.are_many() ? Packing::kAll : Packing::kNone; }

// Of every step: i, f, g and o after their functions, and the cells.
ops::SpecList gates_of_lstm(const Tensor& input,
                            const Tensor&,
                            const Tensor&,
                            const Tensor&,
                            const Tensor& w_hh,
                            const Tensor&,
                            const Tensor&,
                            const Tensor&,
                            bool,
                            IntList,
                            bool keep) {
  const int64_t rows = keep ? input.size(0) : 0;
  const auto of = [&](int64_t columns) {
    return ops::TensorSpec{{rows, columns}, input.dtype(), input.device(), std::nullopt};
  };
  return {of(w_hh.size(0)), of(w_hh.size(0) / 4)};
}

void lstm_layer(ops::Launch&,
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
                Tensor& output,
                Tensor& h_n,
                Tensor& c_n,
                Tensor& hidden,
                Tensor& gates,
                Tensor& cells) {
  const Steps steps(input.size(0), h0.size(0), batch_sizes);
  const int64_t n = c0.size(1);
  const int64_t shown = h0.size(1);
  recurrent::with_wide_type(input.dtype(), [&]<typename T>() {
    const Rows<T> first_hidden(h0), first_cells(c0), out(output), last_hidden(h_n), last_cells(c_n),
        kept_hidden(hidden), kept_gates(gates), kept_cells(cells);
    const std::vector<T> bias = sum_of<T>(b_ih, b_hh, 4 * n);
    const ForwardPass<T> pass(input, w_ih, steps, reverse, 4 * n, 4 * n * shown);
    const WeightProduct<T> product(w_hh, true, packing_of(steps));
    std::optional<WeightProduct<T>> project;
    if (w_hr.defined()) project.emplace(w_hr, true, packing_of(steps));
    const auto step = recurrent::cells<T>().lstm;

    const int64_t group = pass.group();
    const int64_t unprojected = project ? group * n : 0;
    Memory memory(Memory::room<T>(pass.gate_count()) + Memory::room<T>(group * shown) +
                      Memory::room<T>(group * n) + Memory::room<T>(unprojected),
                  std::max(pass.scratch_bytes(), product.scratch_bytes(group)));
    T* const all_gates = memory.take<T>(pass.gate_count());
    T* const all_hidden = memory.take<T>(group * shown);
    T* const all_cells = memory.take<T>(group * n);
    T* const all_unprojected = memory.take<T>(unprojected);
    for (int64_t first = 0; first < steps.batch(); first += group) {
      const int64_t count = std::min(group, steps.batch() - first);
      first_hidden.load(first, count, all_hidden);
      first_cells.load(first, count, all_cells);
      pass.run(first, first + count, all_gates,
               [&](int64_t sequence, int64_t row, int64_t rows, T* gate) {
                 T* const h = all_hidden + (sequence - first) * shown;
                 T* const c = all_cells + (sequence - first) * n;
                 T* const to = project ? all_unprojected + (sequence - first) * n : h;
                 product(h, rows, gate, 4 * n, true);
                 each_row(rows, n, [&](int64_t i) {
                   step(gate + i * 4 * n, bias.data(), n, c + i * n, to + i * n);
                 });
                 if (project) (*project)(to, rows, h, shown);
                 out.store(row, rows, h);
                 if (!keep) return;
                 if (project) kept_hidden.store(row, rows, to);
                 kept_gates.store(row, rows, gate);
                 kept_cells.store(row, rows, c);
               });
      last_hidden.store(first, count, all_hidden);
      last_cells.store(first, count, all_cells);
    }
  });
}

ops::TensorSpec gates_of_gru(const Tensor& input,
                             const Tensor&,
                             const Tensor&,
                             const Tensor& w_hh,
                             const Tensor&,
                             const Tensor&,
                             bool,
                             IntList,
                             bool keep) {
  return {{keep ? input.size(0) : 0, w_hh.size(0) / 3 * 4},
          input.dtype(),
          input.device(),
          std::nullopt};
}

void gru_layer(ops::Launch&,
               const Tensor& input,
               const Tensor& h0,
               const Tensor& w_ih,
               const Tensor& w_hh,
               const Tensor& b_ih,
               const Tensor& b_hh,
               bool reverse,
               IntList batch_sizes,
               bool keep,
               Tensor& output,
               Tensor& h_n,
               Tensor& gates) {
  const Steps steps(input.size(0), h0.size(0), batch_sizes);
  const int64_t n = h0.size(1);
  recurrent::with_wide_type(input.dtype(), [&]<typename T>() {
    const Rows<T> first_hidden(h0), out(output), last_hidden(h_n), kept_gates(gates);
    const std::vector<T> bias_ih = sum_of<T>(b_ih, {}, 3 * n);
    const std::vector<T> bias_hh = sum_of<T>(b_hh, {}, 3 * n);
    const ForwardPass<T> pass(input, w_ih, steps, reverse, 4 * n, 3 * n * n);
    const WeightProduct<T> product(w_hh, true, packing_of(steps));
    const auto step = recurrent::cells<T>().gru;

    const int64_t group = pass.group();
    Memory memory(Memory::room<T>(pass.gate_count()) + Memory::room<T>(group * n) +
                      Memory::room<T>(group * 3 * n),
                  std::max(pass.scratch_bytes(), product.scratch_bytes(group)));
    T* const all_gates = memory.take<T>(pass.gate_count());
    T* const all_hidden = memory.take<T>(group * n);
    T* const from_hidden = memory.take<T>(group * 3 * n);
    for (int64_t first = 0; first < steps.batch(); first += group) {
      const int64_t count = std::min(group, steps.batch() - first);
      first_hidden.load(first, count, all_hidden);
      pass.run(first, first + count, all_gates,
               [&](int64_t sequence, int64_t row, int64_t rows, T* gate) {
                 T* const h = all_hidden + (sequence - first) * n;
                 T* const part = from_hidden + (sequence - first) * 3 * n;
                 product(h, rows, part, 3 * n);
                 each_row(rows, n, [&](int64_t i) {
                   step(gate + i * 4 * n, part + i * 3 * n, bias_ih.data(), bias_hh.data(), n,
                        h + i * n);
                 });
                 out.store(row, rows, h);
                 if (keep) kept_gates.store(row, rows, gate);
               });
      last_hidden.store(first, count, all_hidden);
    }
  });
}

void rnn_layer(ops::Launch&,
               const Tensor& input,
               const Tensor& h0,
               const Tensor& w_ih,
               const Tensor& w_hh,
               const Tensor& b_ih,
               const Tensor& b_hh,
               bool relu,
               bool reverse,
               IntList batch_sizes,
               Tensor& output,
               Tensor& h_n) {
  const Steps steps(input.size(0), h0.size(0), batch_sizes);
  const int64_t n = h0.size(1);
  recurrent::with_wide_type(input.dtype(), [&]<typename T>() {
    const Rows<T> first_hidden(h0), out(output), last_hidden(h_n);
    const std::vector<T> bias = sum_of<T>(b_ih, b_hh, n);
    const ForwardPass<T> pass(input, w_ih, steps, reverse, n, n * n);
    const WeightProduct<T> product(w_hh, true, packing_of(steps));
    const auto step = relu ? recurrent::cells<T>().rnn_relu : recurrent::cells<T>().rnn_tanh;

    const int64_t group = pass.group();
    Memory memory(Memory::room<T>(pass.gate_count()) + Memory::room<T>(group * n),
                  std::max(pass.scratch_bytes(), product.scratch_bytes(group)));
    T* const all_gates = memory.take<T>(pass.gate_count());
    T* const all_hidden = memory.take<T>(group * n);
    for (int64_t first = 0; first < steps.batch(); first += group) {
      const int64_t count = std::min(group, steps.batch() - first);
      first_hidden.load(first, count, all_hidden);
      pass.run(first, first + count, all_gates,
               [&](int64_t sequence, int64_t row, int64_t rows, T* gate) {
                 T* const h = all_hidden + (sequence - first) * n;
                 product(h, rows, gate, n, true);
                 each_row(rows, n,
                          [&](int64_t i) { step(gate + i * n, bias.data(), n, h + i * n); });
                 out.store(row, rows, h);
               });
      last_hidden.store(first, count, all_hidden);
    }
  });
}

}  // namespace

void register_recurrent(ops::Registry& registry) {
  registry.kernel<lstm_layer>(DeviceType::kCpu, "_lstm_layer").keeps<gates_of_lstm>();
  registry.kernel<gru_layer>(DeviceType::kCpu, "_gru_layer").keeps<gates_of_gru>();
  registry.kernel<rnn_layer>(DeviceType::kCpu, "_rnn_layer");
}

}  // namespace mindtorch::cpu
