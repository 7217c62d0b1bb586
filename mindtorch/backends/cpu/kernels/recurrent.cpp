#include <array>
#include <cstring>
#include <optional>
#include <vector>

#include "mindtorch/backends/cpu/bfloat16_product.h"
#include "mindtorch/backends/cpu/bfloat16_tiles.h"
#include "mindtorch/backends/cpu/gemm.h"
#include "mindtorch/backends/cpu/half_conversion.h"
#include "mindtorch/backends/cpu/kernels/kernels.h"
#include "mindtorch/backends/cpu/packed_product.h"
#include "mindtorch/backends/cpu/parallel.h"
#include "mindtorch/backends/cpu/pointwise.h"
#include "mindtorch/backends/cpu/recurrent/cells.h"
#include "mindtorch/backends/cpu/tiles/row.h"

// Note [Recurrent layers]
// The input's part of the gates is one product over all steps. What is left of a step is a small
// product with the weight that all steps share, packed once, and one pass over the gates. (With a
// weight of bfloat16, states are rounded to bfloat16 for the product, as they are in the output.)
// Sequences do not meet in a layer, so that a thread takes its share of them through all steps, and
// waits for no other. The states that run along are those of the result: a sequence that ends keeps
// its last state, and backwards one that has not begun its first.
namespace mindtorch::cpu {
namespace {

// Multiplications that are worth a thread.
constexpr int64_t kGrain = int64_t{1} << 20;
// Below this many rows or steps a product is not worth packing its weight.
constexpr int64_t kLeastRows = 4;
constexpr int64_t kLeastSteps = 4;

// Note [Packed rows] of definitions/recurrent.cpp.
class Steps {
 public:
  Steps(int64_t rows, int64_t batch, IntList batch_sizes) : batch_(batch), sizes_(batch_sizes) {
    if (batch_sizes.empty()) {
      count_ = batch == 0 ? 0 : rows / batch;
      return;
    }
    count_ = static_cast<int64_t>(batch_sizes.size());
    int64_t begin = 0;
    for (const int64_t size : batch_sizes) {
      begins_.push_back(begin);
      begin += size;
    }
  }
  int64_t count() const { return count_; }
  int64_t batch() const { return batch_; }
  int64_t size(int64_t t) const { return sizes_.empty() ? batch_ : sizes_[static_cast<size_t>(t)]; }
  int64_t begin(int64_t t) const {
    return sizes_.empty() ? t * batch_ : begins_[static_cast<size_t>(t)];
  }
  // The row of a sequence at the step that was computed before step t; -1 where t is its first.
  int64_t row_before(int64_t t, int64_t sequence, bool reverse) const {
    const int64_t other = reverse ? t + 1 : t - 1;
    if (other < 0 || other == count_ || sequence >= size(other)) return -1;
    return begin(other) + sequence;
  }
  // body(t, first row, number of rows) for the sequences [first, last).
  template <typename Body>
  void each(bool backwards, int64_t first, int64_t last, const Body& body) const {
    for (int64_t i = 0; i < count_; ++i) {
      const int64_t t = backwards ? count_ - 1 - i : i;
      const int64_t rows = std::min(last, size(t)) - first;
      if (rows > 0) body(t, begin(t) + first, rows);
    }
  }

 private:
  int64_t batch_;
  IntList sizes_;
  int64_t count_;
  std::vector<int64_t> begins_;
};

// Whether products with a weight of bfloat16, of n columns, are computed in bfloat16.
template <typename T>
bool multiplies_bfloat16(const Tensor& weight, int64_t n) {
  return std::is_same_v<T, float> && weight.dtype() == DType::kBFloat16 &&
         bfloat16_tiles() != nullptr && n % kPanelCols == 0;
}

// A weight, or its transpose, as a matrix.
ConstMatrix matrix_of(const Tensor& weight, bool is_transposed) {
  const ConstMatrix plain = {weight.data_ptr(), weight.strides()[0], weight.strides()[1]};
  return is_transposed ? transposed(plain) : plain;
}

// The product of the rows of every step with one weight, or with its transpose.
template <typename T>
class StepProduct {
 public:
  // `values` are those of `weight` as T, contiguous.
  StepProduct(const Tensor& weight, const Tensor& values, bool is_transposed, const Steps& steps)
      : weight_(matrix_of(values, is_transposed)),
        k_(values.size(is_transposed ? 1 : 0)),
        n_(values.size(is_transposed ? 0 : 1)) {
    if (steps.batch() < kLeastRows || steps.count() < kLeastSteps) return;
    if (multiplies_bfloat16<T>(weight, n_)) {
      narrow_.emplace(k_, n_);
      narrow_->read(matrix_of(weight, is_transposed), k_, n_);
    } else {
      packed_.emplace(static_cast<const T*>(weight_.data), k_, n_, weight_.row_stride,
                      weight_.col_stride);
    }
  }
  void operator()(const T* a, int64_t rows, T* c, bool add = false) const {
    if (packed_) return packed_->multiply(a, k_, rows, c, n_, add);
    if constexpr (std::is_same_v<T, float>) {
      if (narrow_) {
        const Scratch<uint16_t> rounded(rows * k_);
        HalfConversion(DType::kBFloat16).narrow(a, rounded.get(), rows * k_);
        return narrow_->multiply({rounded.get(), k_, 1}, rows, k_, 0, n_, c, n_, add);
      }
    }
    gemm(DTypeOf<T>::value, rows, n_, k_, {a, k_, 1}, weight_, {c, n_, 1}, kOneFactor,
         add ? kOneFactor : kZeroFactor);
  }

 private:
  ConstMatrix weight_;
  int64_t k_;
  int64_t n_;
  std::optional<PackedMatrix<T>> packed_;
  std::optional<PackedBFloat16> narrow_;
};

// body(first, last) on shares of the sequences.
template <typename Body>
void share(const Steps& steps, int64_t work_of_a_row, const Body& body) {
  const int64_t work = std::max<int64_t>(1, steps.count() * work_of_a_row);
  parallel_for(0, steps.batch(), std::max<int64_t>(4, ceil_div(kGrain, work)), body);
}

// Contiguous elements of T.
template <typename T>
Tensor values(const Tensor& tensor) {
  if (tensor.dtype() == DTypeOf<T>::value && tensor.is_contiguous()) return tensor;
  const Tensor result = Tensor::make(tensor.sizes(), DTypeOf<T>::value);
  copy(tensor, result);
  return result;
}

// The same of what may be missing: zeros then.
template <typename T>
Tensor values_or_zeros(const Tensor& tensor, IntList sizes) {
  if (tensor.defined()) return values<T>(tensor);
  const Tensor result = Tensor::make(sizes, DTypeOf<T>::value);
  std::fill_n(result.data<T>(), result.numel(), T{0});
  return result;
}

template <typename T>
void copy_rows(const T* from, T* to, int64_t count) {
  std::memcpy(to, from, static_cast<size_t>(count) * sizeof(T));
}
template <typename T>
void add_rows(const T* from, T* to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] += from[i];
}

// compute(outputs) in the dtype that the op computes in, float32 for 16-bit floats: the outputs
// themselves, or tensors that are rounded into them.
template <size_t kCount, typename Compute>
void compute_wide(const std::array<Tensor*, kCount>& outs, const Compute& compute) {
  const DType wide = accumulate_dtype(outs[0]->dtype());
  std::array<Tensor, kCount> results;
  for (size_t i = 0; i < kCount; ++i) {
    results[i] = outs[i]->dtype() == wide ? *outs[i] : Tensor::make(outs[i]->sizes(), wide);
  }
  if (wide == DType::kFloat64) {
    compute.template operator()<double>(results);
  } else {
    compute.template operator()<float>(results);
  }
  for (size_t i = 0; i < kCount; ++i) {
    if (!results[i].is_same(*outs[i])) copy(results[i], *outs[i]);
  }
}

// The input's part of all gates: the first columns of rows of `stride`.
template <typename T>
void multiply_input(const Tensor& input, const Tensor& w_ih, T* gates, int64_t stride) {
  const int64_t rows = input.size(0);
  const int64_t k = input.size(1);
  const int64_t n = w_ih.size(0);
  if constexpr (std::is_same_v<T, float>) {
    if (multiplies_bfloat16<T>(w_ih, n) && input.dtype() == DType::kBFloat16 && k > 0) {
      PackedBFloat16 weight(k, n);
      weight.read(matrix_of(w_ih, true), k, n);
      const ConstMatrix x = matrix_of(input, false);
      parallel_for(0, rows, ceil_div(kGrain, k * n), [&](int64_t begin, int64_t end) {
        weight.multiply(offset<uint16_t>(x, begin, 0), end - begin, k, 0, n, gates + begin * stride,
                        stride, false);
      });
      return;
    }
  }
  const Tensor x = values<T>(input);
  const Tensor w = values<T>(w_ih);
  gemm(DTypeOf<T>::value, rows, n, k, {x.data<T>(), k, 1}, {w.data<T>(), 1, k}, {gates, stride, 1});
}

template <typename T>
std::vector<T> sum_of(const Tensor& a, const Tensor& b, int64_t n) {
  std::vector<T> sum(static_cast<size_t>(n), T{0});
  for (const Tensor* each : {&a, &b}) {
    if (each->defined()) add_rows(values<T>(*each).template data<T>(), sum.data(), n);
  }
  return sum;
}

// --- LSTM -----------------------------------------------------------------------------------

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
                Tensor& output,
                Tensor& h_n,
                Tensor& c_n,
                Tensor& gates,
                Tensor& cells) {
  const Steps steps(input.size(0), h0.size(0), batch_sizes);
  const int64_t n = c0.size(1);
  const int64_t shown = h0.size(1);
  compute_wide<5>({&output, &h_n, &c_n, &gates, &cells}, [&]<typename T>(const auto& results) {
    T* const out = results[0].template data<T>();
    T* const hidden = results[1].template data<T>();
    T* const cell = results[2].template data<T>();
    T* const gate = results[3].template data<T>();
    T* const kept = results[4].template data<T>();
    copy(h0, results[1]);
    copy(c0, results[2]);
    multiply_input<T>(input, w_ih, gate, 4 * n);
    const std::vector<T> bias = sum_of<T>(b_ih, b_hh, 4 * n);
    const Tensor weight = values<T>(w_hh);
    const StepProduct<T> product(w_hh, weight, true, steps);
    const Tensor shape = w_hr.defined() ? values<T>(w_hr) : Tensor();
    std::optional<StepProduct<T>> project;
    if (w_hr.defined()) project.emplace(w_hr, shape, true, steps);
    const auto step = recurrent::cells<T>().lstm;
    share(steps, 4 * n * shown, [&](int64_t first, int64_t last) {
      const Scratch<T> from_hidden((last - first) * 4 * n);
      const Scratch<T> unprojected(project ? (last - first) * n : 0);
      T* const h = hidden + first * shown;
      T* const c = cell + first * n;
      T* const to = project ? unprojected.get() : h;
      steps.each(reverse, first, last, [&](int64_t, int64_t row, int64_t rows) {
        product(h, rows, from_hidden.get());
        for (int64_t i = 0; i < rows; ++i) {
          step(gate + (row + i) * 4 * n, from_hidden.get() + i * 4 * n, bias.data(), n, c + i * n,
               to + i * n);
        }
        if (project) (*project)(unprojected.get(), rows, h);
        copy_rows(h, out + row * shown, rows * shown);
        copy_rows(c, kept + row * n, rows * n);
      });
    });
  });
}

void lstm_layer_backward(ops::Launch&,
                         const Tensor& grad_output,
                         const Tensor& grad_h_n,
                         const Tensor& grad_c_n,
                         const Tensor& c0,
                         const Tensor& w_hh,
                         const Tensor& w_hr,
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
  compute_wide<4>(
      {&grad_gates, &grad_h0, &grad_c0, &grad_hidden}, [&]<typename T>(const auto& results) {
        T* const grad_gate = results[0].template data<T>();
        T* const grad_h = results[1].template data<T>();
        T* const grad_c = results[2].template data<T>();
        T* const of_hidden = results[3].template data<T>();
        copy(values_or_zeros<T>(grad_h_n, grad_h0.sizes()), results[1]);
        copy(values_or_zeros<T>(grad_c_n, grad_c0.sizes()), results[2]);
        const Tensor first_cells = values<T>(c0), all_gates = values<T>(gates),
                     all_cells = values<T>(cells), weight = values<T>(w_hh);
        const Tensor of_output = grad_output.defined() ? values<T>(grad_output) : Tensor();
        const StepProduct<T> product(w_hh, weight, false, steps);
        const Tensor shape = w_hr.defined() ? values<T>(w_hr) : Tensor();
        std::optional<StepProduct<T>> project;
        if (w_hr.defined()) project.emplace(w_hr, shape, false, steps);
        const auto step = recurrent::cells<T>().lstm_backward;
        share(steps, 4 * n * shown, [&](int64_t first, int64_t last) {
          const Scratch<T> unprojected(project ? (last - first) * n : 0);
          T* const h = grad_h + first * shown;
          T* const c = grad_c + first * n;
          steps.each(!reverse, first, last, [&](int64_t t, int64_t row, int64_t rows) {
            if (of_output.defined()) {
              add_rows(of_output.data<T>() + row * shown, h, rows * shown);
            }
            if (project) {
              copy_rows(h, of_hidden + row * shown, rows * shown);
              (*project)(h, rows, unprojected.get());
            }
            const T* const grad = project ? unprojected.get() : h;
            for (int64_t i = 0; i < rows; ++i) {
              const int64_t before = steps.row_before(t, first + i, reverse);
              const T* const previous = before < 0 ? first_cells.data<T>() + (first + i) * n
                                                   : all_cells.data<T>() + before * n;
              step(all_gates.data<T>() + (row + i) * 4 * n, all_cells.data<T>() + (row + i) * n,
                   previous, grad + i * n, n, c + i * n, grad_gate + (row + i) * 4 * n);
            }
            product(grad_gate + row * 4 * n, rows, h);
          });
        });
      });
}

// --- GRU ------------------------------------------------------------------------------------

void gru_layer(ops::Launch&,
               const Tensor& input,
               const Tensor& h0,
               const Tensor& w_ih,
               const Tensor& w_hh,
               const Tensor& b_ih,
               const Tensor& b_hh,
               bool reverse,
               IntList batch_sizes,
               Tensor& output,
               Tensor& h_n,
               Tensor& gates) {
  const Steps steps(input.size(0), h0.size(0), batch_sizes);
  const int64_t n = h0.size(1);
  compute_wide<3>({&output, &h_n, &gates}, [&]<typename T>(const auto& results) {
    T* const out = results[0].template data<T>();
    T* const hidden = results[1].template data<T>();
    T* const gate = results[2].template data<T>();
    copy(h0, results[1]);
    multiply_input<T>(input, w_ih, gate, 4 * n);
    const std::vector<T> bias_ih = sum_of<T>(b_ih, {}, 3 * n);
    const std::vector<T> bias_hh = sum_of<T>(b_hh, {}, 3 * n);
    const Tensor weight = values<T>(w_hh);
    const StepProduct<T> product(w_hh, weight, true, steps);
    const auto step = recurrent::cells<T>().gru;
    share(steps, 3 * n * n, [&](int64_t first, int64_t last) {
      const Scratch<T> from_hidden((last - first) * 3 * n);
      T* const h = hidden + first * n;
      steps.each(reverse, first, last, [&](int64_t, int64_t row, int64_t rows) {
        product(h, rows, from_hidden.get());
        for (int64_t i = 0; i < rows; ++i) {
          step(gate + (row + i) * 4 * n, from_hidden.get() + i * 3 * n, bias_ih.data(),
               bias_hh.data(), n, h + i * n);
        }
        copy_rows(h, out + row * n, rows * n);
      });
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
  compute_wide<3>(
      {&grad_from_input, &grad_from_hidden, &grad_h0}, [&]<typename T>(const auto& results) {
        T* const from_input = results[0].template data<T>();
        T* const from_hidden = results[1].template data<T>();
        T* const grad_h = results[2].template data<T>();
        copy(values_or_zeros<T>(grad_h_n, grad_h0.sizes()), results[2]);
        const Tensor first_hidden = values<T>(h0), all_hidden = values<T>(output),
                     all_gates = values<T>(gates), weight = values<T>(w_hh);
        const Tensor of_output = grad_output.defined() ? values<T>(grad_output) : Tensor();
        const StepProduct<T> product(w_hh, weight, false, steps);
        const auto step = recurrent::cells<T>().gru_backward;
        share(steps, 3 * n * n, [&](int64_t first, int64_t last) {
          T* const h = grad_h + first * n;
          steps.each(!reverse, first, last, [&](int64_t t, int64_t row, int64_t rows) {
            if (of_output.defined()) add_rows(of_output.data<T>() + row * n, h, rows * n);
            for (int64_t i = 0; i < rows; ++i) {
              const int64_t before = steps.row_before(t, first + i, reverse);
              const T* const previous = before < 0 ? first_hidden.data<T>() + (first + i) * n
                                                   : all_hidden.data<T>() + before * n;
              step(all_gates.data<T>() + (row + i) * 4 * n, previous, n, h + i * n,
                   from_input + (row + i) * 3 * n, from_hidden + (row + i) * 3 * n);
            }
            product(from_hidden + row * 3 * n, rows, h, true);
          });
        });
      });
}

// --- RNN ------------------------------------------------------------------------------------

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
  compute_wide<2>({&output, &h_n}, [&]<typename T>(const auto& results) {
    T* const out = results[0].template data<T>();
    T* const hidden = results[1].template data<T>();
    copy(h0, results[1]);
    multiply_input<T>(input, w_ih, out, n);
    const std::vector<T> bias = sum_of<T>(b_ih, b_hh, n);
    const Tensor weight = values<T>(w_hh);
    const StepProduct<T> product(w_hh, weight, true, steps);
    const auto step = relu ? recurrent::cells<T>().rnn_relu : recurrent::cells<T>().rnn_tanh;
    share(steps, n * n, [&](int64_t first, int64_t last) {
      const Scratch<T> from_hidden((last - first) * n);
      T* const h = hidden + first * n;
      steps.each(reverse, first, last, [&](int64_t, int64_t row, int64_t rows) {
        product(h, rows, from_hidden.get());
        for (int64_t i = 0; i < rows; ++i) {
          step(out + (row + i) * n, from_hidden.get() + i * n, bias.data(), n);
        }
        copy_rows(out + row * n, h, rows * n);
      });
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
  compute_wide<2>({&grad_gates, &grad_h0}, [&]<typename T>(const auto& results) {
    T* const grad_gate = results[0].template data<T>();
    T* const grad_h = results[1].template data<T>();
    copy(values_or_zeros<T>(grad_h_n, grad_h0.sizes()), results[1]);
    const Tensor all_hidden = values<T>(output), weight = values<T>(w_hh);
    const Tensor of_output = grad_output.defined() ? values<T>(grad_output) : Tensor();
    const StepProduct<T> product(w_hh, weight, false, steps);
    const auto& cells = recurrent::cells<T>();
    const auto step = relu ? cells.rnn_relu_backward : cells.rnn_tanh_backward;
    share(steps, n * n, [&](int64_t first, int64_t last) {
      T* const h = grad_h + first * n;
      steps.each(!reverse, first, last, [&](int64_t, int64_t row, int64_t rows) {
        if (of_output.defined()) add_rows(of_output.data<T>() + row * n, h, rows * n);
        for (int64_t i = 0; i < rows; ++i) {
          step(all_hidden.data<T>() + (row + i) * n, h + i * n, n, grad_gate + (row + i) * n);
        }
        product(grad_gate + row * n, rows, h);
      });
    });
  });
}

}  // namespace

void register_recurrent(ops::Registry& registry) {
  registry.kernel<lstm_layer>(DeviceType::kCpu, "_lstm_layer");
  registry.kernel<lstm_layer_backward>(DeviceType::kCpu, "_lstm_layer_backward");
  registry.kernel<gru_layer>(DeviceType::kCpu, "_gru_layer");
  registry.kernel<gru_layer_backward>(DeviceType::kCpu, "_gru_layer_backward");
  registry.kernel<rnn_layer>(DeviceType::kCpu, "_rnn_layer");
  registry.kernel<rnn_layer_backward>(DeviceType::kCpu, "_rnn_layer_backward");
}

}  // namespace mindtorch::cpu
