// Compiled once for each instruction set, by including itself through foreach_target.h.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mindtorch/backends/cpu/sparse_rows.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
//
#include <cstddef>

#include "mindtorch/backends/cpu/sparse_rows.h"

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

// The entries of one row, each with its value and the row of `dense` that it multiplies.
template <typename T>
struct Entries {
  const int64_t* order;
  const int64_t* columns;
  const T* values;
  const T* dense;
  int64_t stride;
  int64_t begin;
  int64_t end;

  template <typename Body>
  HWY_INLINE void each(int64_t column, const Body& body) const {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t e = order == nullptr ? i : order[i];
      body(values[e], dense + columns[e] * stride + column);
    }
  }
};

// Sums stay in registers while the entries pass: eight vectors, four, one.
template <typename T>
HWY_INLINE void sum_eight(const Entries<T>& entries, int64_t column, T* out) {
  const hn::ScalableTag<T> d;
  const size_t lanes = hn::Lanes(d);
  auto s0 = hn::Zero(d), s1 = hn::Zero(d), s2 = hn::Zero(d), s3 = hn::Zero(d);
  auto s4 = hn::Zero(d), s5 = hn::Zero(d), s6 = hn::Zero(d), s7 = hn::Zero(d);
  entries.each(column, [&](T value, const T* from) HWY_ATTR {
    const auto v = hn::Set(d, value);
    s0 = hn::MulAdd(v, hn::LoadU(d, from), s0);
    s1 = hn::MulAdd(v, hn::LoadU(d, from + lanes), s1);
    s2 = hn::MulAdd(v, hn::LoadU(d, from + 2 * lanes), s2);
    s3 = hn::MulAdd(v, hn::LoadU(d, from + 3 * lanes), s3);
    s4 = hn::MulAdd(v, hn::LoadU(d, from + 4 * lanes), s4);
    s5 = hn::MulAdd(v, hn::LoadU(d, from + 5 * lanes), s5);
    s6 = hn::MulAdd(v, hn::LoadU(d, from + 6 * lanes), s6);
    s7 = hn::MulAdd(v, hn::LoadU(d, from + 7 * lanes), s7);
  });
  hn::StoreU(s0, d, out);
  hn::StoreU(s1, d, out + lanes);
  hn::StoreU(s2, d, out + 2 * lanes);
  hn::StoreU(s3, d, out + 3 * lanes);
  hn::StoreU(s4, d, out + 4 * lanes);
  hn::StoreU(s5, d, out + 5 * lanes);
  hn::StoreU(s6, d, out + 6 * lanes);
  hn::StoreU(s7, d, out + 7 * lanes);
}
template <typename T>
HWY_INLINE void sum_four(const Entries<T>& entries, int64_t column, T* out) {
  const hn::ScalableTag<T> d;
  const size_t lanes = hn::Lanes(d);
  auto s0 = hn::Zero(d), s1 = hn::Zero(d), s2 = hn::Zero(d), s3 = hn::Zero(d);
  entries.each(column, [&](T value, const T* from) HWY_ATTR {
    const auto v = hn::Set(d, value);
    s0 = hn::MulAdd(v, hn::LoadU(d, from), s0);
    s1 = hn::MulAdd(v, hn::LoadU(d, from + lanes), s1);
    s2 = hn::MulAdd(v, hn::LoadU(d, from + 2 * lanes), s2);
    s3 = hn::MulAdd(v, hn::LoadU(d, from + 3 * lanes), s3);
  });
  hn::StoreU(s0, d, out);
  hn::StoreU(s1, d, out + lanes);
  hn::StoreU(s2, d, out + 2 * lanes);
  hn::StoreU(s3, d, out + 3 * lanes);
}
template <class D, typename T>
HWY_INLINE void sum_one(D d, const Entries<T>& entries, int64_t column, T* out) {
  auto s = hn::Zero(d);
  entries.each(column, [&](T value, const T* from)
                           HWY_ATTR { s = hn::MulAdd(hn::Set(d, value), hn::LoadU(d, from), s); });
  hn::StoreU(s, d, out);
}
// Less than a vector: parts of one, ever smaller.
template <int kLanes, typename T>
HWY_INLINE void sum_rest(const Entries<T>& entries, int64_t column, int64_t n, T* out) {
  if (column + kLanes <= n) {
    sum_one(hn::CappedTag<T, kLanes>(), entries, column, out);
    column += kLanes;
    out += kLanes;
  }
  if constexpr (kLanes > 1) sum_rest<kLanes / 2>(entries, column, n, out);
}

template <typename T>
HWY_INLINE void multiply(const SparseRows& rows,
                         const T* values,
                         const T* dense,
                         int64_t stride,
                         int64_t n,
                         T* out,
                         int64_t from,
                         int64_t to) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t r = from; r < to; ++r) {
    const Entries<T> entries{rows.order,     rows.columns,      values, dense, stride,
                             rows.begins[r], rows.begins[r + 1]};
    T* const row = out + r * n;
    int64_t k = 0;
    for (; k + 8 * lanes <= n; k += 8 * lanes) sum_eight(entries, k, row + k);
    for (; k + 4 * lanes <= n; k += 4 * lanes) sum_four(entries, k, row + k);
    for (; k + lanes <= n; k += lanes) sum_one(d, entries, k, row + k);
    if (k < n) sum_rest<hn::MaxLanes(d) < 2 ? 1 : hn::MaxLanes(d) / 2>(entries, k, n, row + k);
  }
}

template <typename T>
HWY_INLINE T dot(const T* a, const T* b, int64_t n) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto s0 = hn::Zero(d), s1 = hn::Zero(d);
  int64_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    s0 = hn::MulAdd(hn::LoadU(d, a + i), hn::LoadU(d, b + i), s0);
    s1 = hn::MulAdd(hn::LoadU(d, a + i + lanes), hn::LoadU(d, b + i + lanes), s1);
  }
  for (; i + lanes <= n; i += lanes) {
    s0 = hn::MulAdd(hn::LoadU(d, a + i), hn::LoadU(d, b + i), s0);
  }
  T sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(s0, s1)));
  for (; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

// Entries are compared with those before them a vector at a time; most are of the same row.
bool find_begins(const int64_t* row, int64_t from, int64_t to, int64_t* begins) {
  const hn::ScalableTag<int64_t> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t last = from == 0 ? -1 : row[from - 1];
  bool ascends = true;
  const auto begin_rows = [&](int64_t e) {
    ascends = ascends && last <= row[e];
    while (last < row[e]) begins[++last] = e;
  };
  int64_t e = from;
  if (e == 0) begin_rows(e++);
  for (; e + lanes <= to; e += lanes) {
    uint8_t changes[8] = {};
    hn::StoreMaskBits(d, hn::Ne(hn::LoadU(d, row + e), hn::LoadU(d, row + e - 1)), changes);
    for (unsigned bits = changes[0]; bits != 0; bits &= bits - 1) {
      begin_rows(e + __builtin_ctz(bits));
    }
  }
  for (; e < to; ++e) begin_rows(e);
  return ascends;
}

void multiply_floats(const SparseRows& rows,
                     const float* values,
                     const float* dense,
                     int64_t stride,
                     int64_t n,
                     float* out,
                     int64_t from,
                     int64_t to) {
  multiply(rows, values, dense, stride, n, out, from, to);
}
void multiply_doubles(const SparseRows& rows,
                      const double* values,
                      const double* dense,
                      int64_t stride,
                      int64_t n,
                      double* out,
                      int64_t from,
                      int64_t to) {
  multiply(rows, values, dense, stride, n, out, from, to);
}
float dot_floats(const float* a, const float* b, int64_t n) { return dot(a, b, n); }
double dot_doubles(const double* a, const double* b, int64_t n) { return dot(a, b, n); }

}  // namespace
}  // namespace mindtorch::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mindtorch::cpu {

HWY_EXPORT(multiply_floats);
HWY_EXPORT(multiply_doubles);
HWY_EXPORT(find_begins);
HWY_EXPORT(dot_floats);
HWY_EXPORT(dot_doubles);

void multiply_rows(const SparseRows& rows,
                   const float* values,
                   const float* dense,
                   int64_t stride,
                   int64_t n,
                   float* out,
                   int64_t from,
                   int64_t to) {
  HWY_DYNAMIC_DISPATCH(multiply_floats)(rows, values, dense, stride, n, out, from, to);
}
void multiply_rows(const SparseRows& rows,
                   const double* values,
                   const double* dense,
                   int64_t stride,
                   int64_t n,
                   double* out,
                   int64_t from,
                   int64_t to) {
  HWY_DYNAMIC_DISPATCH(multiply_doubles)(rows, values, dense, stride, n, out, from, to);
}
bool find_rows(const int64_t* row, int64_t from, int64_t to, int64_t* begins) {
  return HWY_DYNAMIC_DISPATCH(find_begins)(row, from, to, begins);
}
float dot_rows(const float* a, const float* b, int64_t n) {
  return HWY_DYNAMIC_DISPATCH(dot_floats)(a, b, n);
}
double dot_rows(const double* a, const double* b, int64_t n) {
  return HWY_DYNAMIC_DISPATCH(dot_doubles)(a, b, n);
}

}  // namespace mindtorch::cpu
#endif  // HWY_ONCE
