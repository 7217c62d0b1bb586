// Compiled once for each instruction set, by including itself through foreach_target.h.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mindtorch/backends/cpu/linalg/small_singular.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "mindtorch/backends/cpu/ceil_div.h"
#include "mindtorch/backends/cpu/linalg/reflect-inl.h"
#include "mindtorch/backends/cpu/linalg/small_singular.h"

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::HWY_NAMESPACE {
namespace {

template <typename T>
int64_t whole_vectors(int64_t n) {
  return ceil_div(n, kLanesOf<T>) * kLanesOf<T>;
}

// Jacobi's rotations of pairs of columns until all are orthogonal: these are U times the singular
// values, and what the rotations make of the identity is V. In a round every column is in one pair,
// so that the angles of all pairs are computed at once.
template <typename T>
class Rotations {
 public:
  Rotations(int64_t m, int64_t n, T* work)
      : m_(m),
        n_(n),
        even_(n + n % 2),
        rows_(whole_vectors<T>(m)),
        turns_(whole_vectors<T>(n)),
        g_(work),
        v_(g_ + even_ * rows_),
        squares_(v_ + even_ * turns_) {
    T* next = squares_ + whole_vectors<T>(even_);
    for (T** array : {&first_, &second_, &product_, &cosine_, &sine_}) {
      *array = next;
      next += pair_room();
    }
  }

  static int64_t work_size(int64_t m, int64_t n) {
    const int64_t even = n + n % 2;
    return even * (whole_vectors<T>(m) + whole_vectors<T>(n)) + whole_vectors<T>(even) +
           5 * whole_vectors<T>(even / 2);
  }

  bool run(const T* a, T* s, T* u, T* vh) {
    read(a);
    constexpr int kMostSweeps = 30;
    int sweep = 0;
    while (!is_swept()) {
      if (++sweep == kMostSweeps) return false;
    }
    return write(s, u, vh);
  }

 private:
  int64_t pair_room() const { return whole_vectors<T>(even_ / 2); }
  T* column(int64_t j) const { return g_ + j * rows_; }

  // With a size of about 1, by a power of 2; and the identity.
  void read(const T* a) {
    T largest = 0;
    for (int64_t i = 0; i < m_ * n_; ++i) largest = std::max(largest, std::abs(a[i]));
    exponent_ = largest == T(0) ? 0 : std::ilogb(largest);
    const T factor = std::ldexp(T(1), -exponent_);
    std::memset(g_, 0, static_cast<size_t>(even_ * (rows_ + turns_)) * sizeof(T));
    for (int64_t j = 0; j < n_; ++j) {
      for (int64_t i = 0; i < m_; ++i) column(j)[i] = a[j * m_ + i] * factor;
      v_[j * turns_ + j] = T(1);
    }
    for (int64_t i = 0; i < pair_room(); ++i) first_[i] = second_[i] = product_[i] = T(0);
    for (int64_t i = 0; i < even_; ++i) order_[i] = i;
  }

  // All pairs once. Whether no rotation was needed.
  bool is_swept() {
    for (int64_t j = 0; j < even_; ++j) squares_[j] = product_of(column(j), column(j));
    bool is_done = true;
    for (int64_t round = 0; round + 1 < even_; ++round) {
      const int64_t pairs = even_ / 2;
      for (int64_t k = 0; k < pairs; ++k) {
        const auto [i, j] = pair(k);
        first_[k] = squares_[i];
        second_[k] = squares_[j];
        product_[k] = product_of(column(i), column(j));
      }
      if (find_angles()) {
        is_done = false;
        for (int64_t k = 0; k < pairs; ++k) {
          const auto [i, j] = pair(k);
          squares_[i] = first_[k];
          squares_[j] = second_[k];
          rotate(column(i), column(j), rows_, cosine_[k], sine_[k]);
          rotate(v_ + i * turns_, v_ + j * turns_, turns_, cosine_[k], sine_[k]);
        }
      }
      std::rotate(order_ + 1, order_ + even_ - 1, order_ + even_);  // the first one stays
    }
    return is_done;
  }

  std::pair<int64_t, int64_t> pair(int64_t k) const {
    const int64_t i = order_[k];
    const int64_t j = order_[even_ - 1 - k];
    return {std::min(i, j), std::max(i, j)};
  }

  T product_of(const T* x, const T* y) const {
    const Tag<T> d;
    auto sum = hn::Zero(d);
    for (int64_t i = 0; i < rows_; i += kLanesOf<T>) {
      sum = hn::MulAdd(hn::Load(d, x + i), hn::Load(d, y + i), sum);
    }
    return hn::GetLane(hn::SumOfLanes(d, sum));
  }

  // Cosines and sines of all pairs, and the squares of what they become. False if no pair turns.
  bool find_angles() {
    const Tag<T> d;
    const auto one = hn::Set(d, T(1));
    const auto zero = hn::Zero(d);
    constexpr T kEps = std::numeric_limits<T>::epsilon();
    const auto least = hn::Set(d, kEps * kEps * static_cast<T>(m_));
    bool turns = false;
    for (int64_t k = 0; k < pair_room(); k += kLanesOf<T>) {
      const auto x = hn::Load(d, first_ + k);
      const auto y = hn::Load(d, second_ + k);
      const auto product = hn::Load(d, product_ + k);
      const auto counts = hn::Gt(hn::Mul(product, product), hn::Mul(least, hn::Mul(x, y)));
      turns = turns || !hn::AllFalse(d, counts);
      const auto divisor = hn::IfThenElse(counts, hn::Add(product, product), one);
      const auto zeta = hn::Div(hn::Sub(y, x), divisor);
      const auto size = hn::Add(hn::Abs(zeta), hn::Sqrt(hn::MulAdd(zeta, zeta, one)));
      const auto tangent = hn::IfThenElse(counts, hn::CopySign(hn::Div(one, size), zeta), zero);
      const auto cosine = hn::Div(one, hn::Sqrt(hn::MulAdd(tangent, tangent, one)));
      hn::Store(cosine, d, cosine_ + k);
      hn::Store(hn::Mul(cosine, tangent), d, sine_ + k);
      hn::Store(hn::NegMulAdd(tangent, product, x), d, first_ + k);
      hn::Store(hn::MulAdd(tangent, product, y), d, second_ + k);
    }
    return turns;
  }

  static void rotate(T* x, T* y, int64_t n, T cosine, T sine) {
    const Tag<T> d;
    const auto c = hn::Set(d, cosine);
    const auto s = hn::Set(d, sine);
    for (int64_t i = 0; i < n; i += kLanesOf<T>) {
      const auto a = hn::Load(d, x + i);
      const auto b = hn::Load(d, y + i);
      hn::Store(hn::NegMulAdd(s, b, hn::Mul(c, a)), d, x + i);
      hn::Store(hn::MulAdd(s, a, hn::Mul(c, b)), d, y + i);
    }
  }

  // In descending order.
  bool write(T* s, T* u, T* vh) {
    for (int64_t j = 0; j < n_; ++j) {
      squares_[j] = std::sqrt(product_of(column(j), column(j)));
      order_[j] = j;
    }
    std::sort(order_, order_ + n_, [this](int64_t x, int64_t y) {
      return squares_[x] != squares_[y] ? squares_[x] > squares_[y] : x < y;
    });
    constexpr T kEps = std::numeric_limits<T>::epsilon();
    const T least = squares_[order_[0]] * kEps * static_cast<T>(m_);
    if (!(squares_[order_[n_ - 1]] > least)) return false;
    for (int64_t j = 0; j < n_; ++j) {
      const int64_t from = order_[j];
      const T value = squares_[from];
      s[j] = std::ldexp(value, exponent_);
      for (int64_t i = 0; i < m_; ++i) u[j * m_ + i] = column(from)[i] / value;
      for (int64_t i = 0; i < n_; ++i) vh[i * n_ + j] = v_[from * turns_ + i];
    }
    return true;
  }

  int64_t m_;
  int64_t n_;
  int64_t even_;   // columns, with one of zeros if there is no other half of a pair
  int64_t rows_;   // of whole vectors
  int64_t turns_;  // rows of V
  T* g_;
  T* v_;
  T* squares_;  // of the lengths of columns
  T* first_;    // the same by pairs
  T* second_;
  T* product_;
  T* cosine_;
  T* sine_;
  int64_t order_[linalg::kMostRotated + 1];
  int exponent_ = 0;
};

template <typename T>
bool decompose(int64_t m, int64_t n, const T* a, T* s, T* u, T* vh, T* work) {
  return Rotations<T>(m, n, work).run(a, s, u, vh);
}

template <typename T>
const linalg::SmallSingular<T>* make_singular_table() {
  static constexpr linalg::SmallSingular<T> kTable = {&decompose<T>, &Rotations<T>::work_size};
  return &kTable;
}
const linalg::SmallSingular<float>* singular_of_floats() { return make_singular_table<float>(); }
const linalg::SmallSingular<double>* singular_of_doubles() { return make_singular_table<double>(); }

}  // namespace
}  // namespace mindtorch::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mindtorch::cpu {
namespace {
HWY_EXPORT(singular_of_floats);
HWY_EXPORT(singular_of_doubles);
}  // namespace

template <>
const linalg::SmallSingular<float>& linalg::small_singular<float>() {
  return *HWY_DYNAMIC_DISPATCH(singular_of_floats)();
}
template <>
const linalg::SmallSingular<double>& linalg::small_singular<double>() {
  return *HWY_DYNAMIC_DISPATCH(singular_of_doubles)();
}

}  // namespace mindtorch::cpu
#endif
