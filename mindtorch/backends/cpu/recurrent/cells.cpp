// Compiled once for each instruction set, by including itself through foreach_target.h.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mindtorch/backends/cpu/recurrent/cells.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "mindtorch/backends/cpu/recurrent/cells.h"
#include "mindtorch/backends/cpu/tiles/sigmoid-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::recurrent::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;
namespace tiles = mindtorch::cpu::HWY_NAMESPACE;

template <typename T>
using Tag = hn::ScalableTag<T>;
template <typename T>
using Vec = hn::Vec<Tag<T>>;

// The lanes of one vector's worth of units, which the last one of a row need not fill.
template <typename T, bool kFull>
struct Units {
  int64_t at;
  size_t count;

  HWY_INLINE Vec<T> load(const T* from) const {
    if constexpr (kFull) return hn::LoadU(Tag<T>(), from + at);
    return tiles::load_first(Tag<T>(), from + at, count);
  }
  HWY_INLINE void store(Vec<T> v, T* to) const {
    if constexpr (kFull) return hn::StoreU(v, Tag<T>(), to + at);
    tiles::store_first(Tag<T>(), v, to + at, count);
  }
};

template <typename T, typename Body>
HWY_INLINE void for_units(int64_t n, const Body& body) {
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(Tag<T>()));
  int64_t at = 0;
  for (; at + kLanes <= n; at += kLanes) body(Units<T, true>{at, static_cast<size_t>(kLanes)});
  if (at < n) body(Units<T, false>{at, static_cast<size_t>(n - at)});
}

template <typename V>
HWY_INLINE V sigmoid(V x) {
  return tiles::Sigmoid()(hn::DFromV<V>(), x);
}
template <typename V>
HWY_INLINE V tanh(V x) {
  return tiles::Tanh()(hn::DFromV<V>(), x);
}
// The derivatives, of the functions' values.
template <typename V>
HWY_INLINE V sigmoid_slope(V y) {
  return hn::NegMulAdd(y, y, y);
}
template <typename V>
HWY_INLINE V tanh_slope(V y) {
  return hn::NegMulAdd(y, y, hn::Set(hn::DFromV<V>(), 1));
}

template <typename T>
void lstm(T* gates, const T* bias, int64_t n, T* cell, T* hidden) {
  for_units<T>(n, [&](auto units) HWY_ATTR {
    const auto gate = [&](int64_t number) HWY_ATTR {
      return hn::Add(units.load(gates + number * n), units.load(bias + number * n));
    };
    const Vec<T> take = sigmoid(gate(0));
    const Vec<T> keep = sigmoid(gate(1));
    const Vec<T> update = tanh(gate(2));
    const Vec<T> give = sigmoid(gate(3));
    const Vec<T> next = hn::MulAdd(keep, units.load(cell), hn::Mul(take, update));
    units.store(take, gates);
    units.store(keep, gates + n);
    units.store(update, gates + 2 * n);
    units.store(give, gates + 3 * n);
    units.store(next, cell);
    units.store(hn::Mul(give, tanh(next)), hidden);
  });
}

template <typename T>
void lstm_backward(const T* gates,
                   const T* cell,
                   const T* previous_cell,
                   const T* grad_hidden,
                   int64_t n,
                   T* grad_cell,
                   T* grad_gates) {
  for_units<T>(n, [&](auto units) HWY_ATTR {
    const Vec<T> take = units.load(gates);
    const Vec<T> keep = units.load(gates + n);
    const Vec<T> update = units.load(gates + 2 * n);
    const Vec<T> give = units.load(gates + 3 * n);
    const Vec<T> shown = tanh(units.load(cell));
    const Vec<T> grad = units.load(grad_hidden);
    const Vec<T> of_cell =
        hn::MulAdd(hn::Mul(grad, give), tanh_slope(shown), units.load(grad_cell));
    units.store(hn::Mul(hn::Mul(of_cell, update), sigmoid_slope(take)), grad_gates);
    units.store(hn::Mul(hn::Mul(of_cell, units.load(previous_cell)), sigmoid_slope(keep)),
                grad_gates + n);
    units.store(hn::Mul(hn::Mul(of_cell, take), tanh_slope(update)), grad_gates + 2 * n);
    units.store(hn::Mul(hn::Mul(grad, shown), sigmoid_slope(give)), grad_gates + 3 * n);
    units.store(hn::Mul(of_cell, keep), grad_cell);
  });
}

template <typename T>
void gru(T* gates, const T* from_hidden, const T* bias_ih, const T* bias_hh, int64_t n, T* hidden) {
  for_units<T>(n, [&](auto units) HWY_ATTR {
    const auto input_part = [&](int64_t number) HWY_ATTR {
      return hn::Add(units.load(gates + number * n), units.load(bias_ih + number * n));
    };
    const auto hidden_part = [&](int64_t number) HWY_ATTR {
      return hn::Add(units.load(from_hidden + number * n), units.load(bias_hh + number * n));
    };
    const Vec<T> reset = sigmoid(hn::Add(input_part(0), hidden_part(0)));
    const Vec<T> keep = sigmoid(hn::Add(input_part(1), hidden_part(1)));
    const Vec<T> remembered = hidden_part(2);
    const Vec<T> update = tanh(hn::MulAdd(reset, remembered, input_part(2)));
    units.store(reset, gates);
    units.store(keep, gates + n);
    units.store(update, gates + 2 * n);
    units.store(remembered, gates + 3 * n);
    units.store(hn::MulAdd(keep, hn::Sub(units.load(hidden), update), update), hidden);
  });
}

template <typename T>
void gru_backward(const T* gates,
                  const T* previous_hidden,
                  int64_t n,
                  T* grad_hidden,
                  T* grad_from_input,
                  T* grad_from_hidden) {
  for_units<T>(n, [&](auto units) HWY_ATTR {
    const Vec<T> reset = units.load(gates);
    const Vec<T> keep = units.load(gates + n);
    const Vec<T> update = units.load(gates + 2 * n);
    const Vec<T> remembered = units.load(gates + 3 * n);
    const Vec<T> grad = units.load(grad_hidden);
    const Vec<T> of_update = hn::Mul(hn::NegMulAdd(grad, keep, grad), tanh_slope(update));
    const Vec<T> of_reset = hn::Mul(hn::Mul(of_update, remembered), sigmoid_slope(reset));
    const Vec<T> change = hn::Sub(units.load(previous_hidden), update);
    const Vec<T> of_keep = hn::Mul(hn::Mul(grad, change), sigmoid_slope(keep));
    units.store(of_reset, grad_from_input);
    units.store(of_keep, grad_from_input + n);
    units.store(of_update, grad_from_input + 2 * n);
    units.store(of_reset, grad_from_hidden);
    units.store(of_keep, grad_from_hidden + n);
    units.store(hn::Mul(of_update, reset), grad_from_hidden + 2 * n);
    units.store(hn::Mul(grad, keep), grad_hidden);
  });
}

struct Relu {
  template <typename V>
  HWY_INLINE V value(V x) const {
    return hn::IfThenElse(hn::Lt(x, hn::Zero(hn::DFromV<V>())), hn::Zero(hn::DFromV<V>()), x);
  }
  template <typename V>
  HWY_INLINE V gradient(V y, V grad) const {
    return hn::IfThenElseZero(hn::Gt(y, hn::Zero(hn::DFromV<V>())), grad);
  }
};
struct HyperbolicTangent {
  template <typename V>
  HWY_INLINE V value(V x) const {
    return tanh(x);
  }
  template <typename V>
  HWY_INLINE V gradient(V y, V grad) const {
    return hn::Mul(grad, tanh_slope(y));
  }
};

template <typename Nonlinearity, typename T>
void rnn(const T* gates, const T* bias, int64_t n, T* hidden) {
  for_units<T>(n, [&](auto units) HWY_ATTR {
    const Vec<T> sum = hn::Add(units.load(gates), units.load(bias));
    units.store(Nonlinearity().value(sum), hidden);
  });
}

template <typename Nonlinearity, typename T>
void rnn_backward(const T* hidden, const T* grad_hidden, int64_t n, T* grad_gates) {
  for_units<T>(n, [&](auto units) HWY_ATTR {
    units.store(Nonlinearity().gradient(units.load(hidden), units.load(grad_hidden)), grad_gates);
  });
}

template <typename T>
Cells<T> make_cells() {
  return {&lstm<T>,
          &lstm_backward<T>,
          &gru<T>,
          &gru_backward<T>,
          &rnn<HyperbolicTangent, T>,
          &rnn<Relu, T>,
          &rnn_backward<HyperbolicTangent, T>,
          &rnn_backward<Relu, T>};
}
Cells<float> float_cells() { return make_cells<float>(); }
Cells<double> double_cells() { return make_cells<double>(); }

}  // namespace
}  // namespace mindtorch::cpu::recurrent::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mindtorch::cpu::recurrent {

HWY_EXPORT(float_cells);
HWY_EXPORT(double_cells);

template <>
const Cells<float>& cells() {
  static const Cells<float> found = HWY_DYNAMIC_DISPATCH(float_cells)();
  return found;
}
template <>
const Cells<double>& cells() {
  static const Cells<double> found = HWY_DYNAMIC_DISPATCH(double_cells)();
  return found;
}

}  // namespace mindtorch::cpu::recurrent
#endif
