// Compiled once for each instruction set, by including itself through foreach_target.h.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mindtorch/backends/cpu/linalg/small_symmetric.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "mindtorch/backends/cpu/ceil_div.h"
#include "mindtorch/backends/cpu/linalg/reflect-inl.h"
#include "mindtorch/backends/cpu/linalg/small_symmetric.h"

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::HWY_NAMESPACE {
namespace {

template <typename T>
int64_t padded_rows(int64_t n) {
  return ceil_div(n, kLanesOf<T>) * kLanesOf<T>;
}

// A matrix whose columns begin at vectors and end with zeros, and what is made of it.
template <typename T>
class Reduction {
 public:
  Reduction(int64_t n, T* work)
      : n_(n),
        ld_(padded_rows<T>(n)),
        s_(work),
        q_(s_ + n * ld_),
        diagonal_(q_ + n * ld_),
        beside_(diagonal_ + ld_),
        tau_(beside_ + ld_),
        v_(tau_ + ld_),
        w_(v_ + ld_) {}

  static int64_t work_size(int64_t n) { return (2 * n + 5) * padded_rows<T>(n); }

  bool run(T* a, T* values) {
    read(a);
    reduce();
    make_turns();
    scale();
    if (!turn_all()) return false;
    write(a, values);
    return true;
  }

 private:
  // Both triangles, from the lower one.
  void read(const T* a) {
    std::memset(s_, 0, static_cast<size_t>(n_ * ld_) * sizeof(T));
    for (int64_t j = 0; j < n_; ++j) {
      std::copy_n(a + j * n_ + j, n_ - j, s_ + j * ld_ + j);
      for (int64_t i = j + 1; i < n_; ++i) s_[i * ld_ + j] = a[j * n_ + i];
    }
  }

  // To two diagonals, by reflectors from both sides; reflectors stay below the second one.
  void reduce() {
    const Tag<T> d;
    for (int64_t k = 0; k + 1 < n_; ++k) {
      T* const column = s_ + k * ld_;
      diagonal_[k] = column[k];
      tau_[k] = make_reflector(column[k + 1], column + k + 2, n_ - k - 2, k + 2);
      beside_[k] = column[k + 1];
      column[k + 1] = T(1);
      if (tau_[k] == T(0)) continue;
      // From a vector on, with zeros before the reflector: other rows and columns stay.
      const int64_t first = (k + 1) / kLanesOf<T> * kLanesOf<T>;
      std::fill(v_ + first, v_ + k + 1, T(0));
      std::copy(column + k + 1, column + ld_, v_ + k + 1);
      multiply(first, k + 1);
      auto sum = hn::Zero(d);
      for (int64_t i = first; i < ld_; i += kLanesOf<T>) {
        sum = hn::MulAdd(hn::Load(d, v_ + i), hn::Load(d, w_ + i), sum);
      }
      const T factor = -tau_[k] / 2 * (tau_[k] * hn::GetLane(hn::SumOfLanes(d, sum)));
      const auto scaled = hn::Set(d, tau_[k]);
      const auto beside = hn::Set(d, factor);
      for (int64_t i = first; i < ld_; i += kLanesOf<T>) {
        const auto w = hn::Mul(scaled, hn::Load(d, w_ + i));
        hn::Store(hn::MulAdd(beside, hn::Load(d, v_ + i), w), d, w_ + i);
      }
      std::fill(w_ + first, w_ + k + 1, T(0));
      for (int64_t j = k + 1; j < n_; ++j) {
        T* const to = s_ + j * ld_;
        const auto v = hn::Set(d, v_[j]);
        const auto w = hn::Set(d, w_[j]);
        for (int64_t i = first; i < ld_; i += kLanesOf<T>) {
          auto x = hn::Load(d, to + i);
          x = hn::NegMulAdd(w, hn::Load(d, v_ + i), x);
          hn::Store(hn::NegMulAdd(v, hn::Load(d, w_ + i), x), d, to + i);
        }
      }
    }
    diagonal_[n_ - 1] = s_[(n_ - 1) * ld_ + n_ - 1];
    beside_[n_ - 1] = T(0);
  }

  // w = S v, rows from `first` and columns from `column` on.
  void multiply(int64_t first, int64_t column) {
    const Tag<T> d;
    for (int64_t i = first; i < ld_; i += kLanesOf<T>) {
      auto even = hn::Zero(d);
      auto odd = hn::Zero(d);
      const T* from = s_ + column * ld_ + i;
      int64_t j = column;
      for (; j + 2 <= n_; j += 2, from += 2 * ld_) {
        even = hn::MulAdd(hn::Set(d, v_[j]), hn::Load(d, from), even);
        odd = hn::MulAdd(hn::Set(d, v_[j + 1]), hn::Load(d, from + ld_), odd);
      }
      if (j < n_) even = hn::MulAdd(hn::Set(d, v_[j]), hn::Load(d, from), even);
      hn::Store(hn::Add(even, odd), d, w_ + i);
    }
  }

  // Q, the product of the reflectors.
  void make_turns() {
    std::memset(q_, 0, static_cast<size_t>(n_ * ld_) * sizeof(T));
    for (int64_t j = 0; j < n_; ++j) q_[j * ld_ + j] = T(1);
    for (int64_t k = n_ - 2; k >= 0; --k) {
      if (tau_[k] == T(0)) continue;
      const T* const v = s_ + k * ld_ + k + 2;
      reflect_columns(n_ - k - 1, n_ - k - 2, k + 2, v, tau_[k], q_ + (k + 1) * (ld_ + 1), ld_);
    }
  }

  // To a size of about 1, by a power of 2.
  void scale() {
    T largest = 0;
    for (int64_t i = 0; i < n_; ++i) {
      largest = std::max({largest, std::abs(diagonal_[i]), std::abs(beside_[i])});
    }
    exponent_ = largest == T(0) ? 0 : std::ilogb(largest);
    for (int64_t i = 0; i < n_; ++i) {
      diagonal_[i] = std::scalbn(diagonal_[i], -exponent_);
      beside_[i] = std::scalbn(beside_[i], -exponent_);
    }
  }

  bool is_negligible(int64_t i) const {
    constexpr T kEps = std::numeric_limits<T>::epsilon() / 2;
    const T size = std::abs(beside_[i]);
    return size <= kEps * (std::abs(diagonal_[i]) + std::abs(diagonal_[i + 1])) ||
           size <= kEps * kEps;
  }

  // The implicit QL method: rotations make the second diagonal ever smaller.
  bool turn_all() {
    constexpr int kMostSteps = 60;
    for (int64_t first = 0; first + 1 < n_; ++first) {
      for (int step = 0;; ++step) {
        int64_t last = first;
        while (last + 1 < n_ && !is_negligible(last)) ++last;
        if (last + 1 < n_) beside_[last] = T(0);
        if (last == first) break;
        if (step == kMostSteps) return false;
        turn_once(first, last);
      }
    }
    return true;
  }

  // One step for rows [first, last], with the eigenvalue of the first two that is nearer to the
  // first as shift.
  void turn_once(int64_t first, int64_t last) {
    T* const cosines = v_;
    T* const sines = w_;
    const T half = (diagonal_[first + 1] - diagonal_[first]) / (2 * beside_[first]);
    const T length = std::sqrt(half * half + 1);
    const T shift = diagonal_[first] - beside_[first] / (half + std::copysign(length, half));
    T g = diagonal_[last] - shift;
    T sine = 1;
    T cosine = 1;
    T moved = 0;
    for (int64_t i = last - 1; i >= first; --i) {
      const T f = sine * beside_[i];
      const T b = cosine * beside_[i];
      const T square = f * f + g * g;
      T root = std::sqrt(square);
      T inverse = root * (1 / square);  // not 1 / root, which would have to wait for it
      if (square < std::numeric_limits<T>::min()) {
        root = std::hypot(f, g);
        if (root == T(0)) {  // the diagonals have come apart
          diagonal_[i + 1] -= moved;
          beside_[i + 1] = beside_[last] = T(0);
          return rotate_rows(i + 1, last);
        }
        inverse = 1 / root;
      }
      beside_[i + 1] = root;
      sine = f * inverse;
      cosine = g * inverse;
      const T rest = diagonal_[i + 1] - moved;
      const T r = (diagonal_[i] - rest) * sine + 2 * cosine * b;
      moved = sine * r;
      diagonal_[i + 1] = rest + moved;
      g = cosine * r - b;
      cosines[i] = cosine;
      sines[i] = sine;
    }
    diagonal_[first] -= moved;
    beside_[first] = g;
    beside_[last] = T(0);
    rotate_rows(first, last);
  }

  void rotate_rows(int64_t first, int64_t last) {
    constexpr int64_t kWide = 4 * kLanesOf<T>;
    int64_t row = 0;
    for (; row + kWide <= ld_; row += kWide) rotate<4>(row, first, last);
    for (; row < ld_; row += kLanesOf<T>) rotate<1>(row, first, last);
  }

  // Rotates pairs of columns of Q, the last two first, in some rows. A column that the next
  // rotation needs stays in registers.
  template <int kV>
  HWY_INLINE void rotate(int64_t row, int64_t first, int64_t last) {
    const Tag<T> d;
    constexpr int64_t kLanes = kLanesOf<T>;
    T* column = q_ + last * ld_ + row;
    Vector<T> kept[kV];
    HWY_UNROLL(4)
    for (int k = 0; k < kV; ++k) kept[k] = hn::Load(d, column + k * kLanes);
    for (int64_t i = last - 1; i >= first; --i) {
      T* const before = column - ld_;
      const auto cosine = hn::Set(d, v_[i]);
      const auto sine = hn::Set(d, w_[i]);
      HWY_UNROLL(4)
      for (int k = 0; k < kV; ++k) {
        const auto x = hn::Load(d, before + k * kLanes);
        hn::Store(hn::MulAdd(sine, x, hn::Mul(cosine, kept[k])), d, column + k * kLanes);
        kept[k] = hn::NegMulAdd(sine, kept[k], hn::Mul(cosine, x));
      }
      column = before;
    }
    HWY_UNROLL(4)
    for (int k = 0; k < kV; ++k) hn::Store(kept[k], d, column + k * kLanes);
  }

  // In ascending order.
  void write(T* a, T* values) const {
    int64_t order[linalg::kMostTurned];
    for (int64_t i = 0; i < n_; ++i) order[i] = i;
    std::sort(order, order + n_, [this](int64_t x, int64_t y) {
      return diagonal_[x] != diagonal_[y] ? diagonal_[x] < diagonal_[y] : x < y;
    });
    for (int64_t j = 0; j < n_; ++j) {
      values[j] = std::scalbn(diagonal_[order[j]], exponent_);
      std::copy_n(q_ + order[j] * ld_, n_, a + j * n_);
    }
  }

  int64_t n_;
  int64_t ld_;
  T* s_;
  T* q_;
  T* diagonal_;
  T* beside_;
  T* tau_;
  T* v_;  // a reflector, then cosines
  T* w_;  // what it is multiplied to, then sines
  int exponent_ = 0;
};

template <typename T>
bool decompose(int64_t n, T* a, T* values, T* work) {
  return Reduction<T>(n, work).run(a, values);
}

template <typename T>
const linalg::SmallSymmetric<T>* make_symmetric_table() {
  static constexpr linalg::SmallSymmetric<T> kTable = {&decompose<T>, &Reduction<T>::work_size};
  return &kTable;
}
const linalg::SmallSymmetric<float>* symmetric_of_floats() { return make_symmetric_table<float>(); }
const linalg::SmallSymmetric<double>* symmetric_of_doubles() {
  return make_symmetric_table<double>();
}

}  // namespace
}  // namespace mindtorch::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mindtorch::cpu {
namespace {
HWY_EXPORT(symmetric_of_floats);
HWY_EXPORT(symmetric_of_doubles);
}  // namespace

template <>
const linalg::SmallSymmetric<float>& linalg::small_symmetric<float>() {
  return *HWY_DYNAMIC_DISPATCH(symmetric_of_floats)();
}
template <>
const linalg::SmallSymmetric<double>& linalg::small_symmetric<double>() {
  return *HWY_DYNAMIC_DISPATCH(symmetric_of_doubles)();
}

}  // namespace mindtorch::cpu
#endif
