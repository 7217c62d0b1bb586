// Compiled once for each instruction set, by including itself through foreach_target.h.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mindtorch/backends/cpu/fft/register_lines.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
//
#include <algorithm>

#include "mindtorch/backends/cpu/fft/interleaved-inl.h"
#include "mindtorch/backends/cpu/fft/plan.h"
#include "mindtorch/backends/cpu/fft/register_lines.h"
#include "mindtorch/backends/cpu/parallel.h"

#ifndef MT_FFT_REGISTER_LINES_TYPES_
#define MT_FFT_REGISTER_LINES_TYPES_
namespace mindtorch::cpu::fft {

// In a named namespace: GCC 13 crashes on a lambda that holds a pointer to a function whose types
// are of an unnamed one, where the file is part of a group.
template <typename T>
struct RegisterLines {
  const TransformTable<T>* turns;  // of the rows of a matrix, register_turns()
  bool inverse;
  T scale;
  Lines<const T> from;
  Lines<T> to;
};

template <typename T>
struct RegisterFunctions {
  using Transform = void (*)(const RegisterLines<T>& lines, int64_t begin, int64_t end);

  // For matrices of 4 and of 8 rows of 32 bytes; null where registers are shorter.
  Transform transform4;
  Transform transform8;
};

}  // namespace mindtorch::cpu::fft
#endif

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::fft::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_MAX_BYTES >= 32 && HWY_TARGET != HWY_SCALAR && HWY_ARCH_X86

constexpr bool kTwoLines = HWY_MAX_BYTES == 64;
template <typename T>
using V = hn::Vec<hn::ScalableTag<T>>;
template <typename T>
constexpr int64_t kRowNumbers = static_cast<int64_t>(32 / sizeof(T));

template <typename T>
HWY_INLINE V<T> load_rows(const T* a, const T* b) {
  const hn::ScalableTag<T> d;
  if constexpr (kTwoLines) {
    const hn::Half<decltype(d)> half;
    return hn::Combine(d, hn::LoadU(half, b), hn::LoadU(half, a));
  } else {
    return hn::LoadU(d, a);
  }
}
template <typename T>
HWY_INLINE void store_rows(V<T> x, T* a, T* b) {
  const hn::ScalableTag<T> d;
  if constexpr (kTwoLines) {
    const hn::Half<decltype(d)> half;
    hn::StoreU(hn::LowerHalf(half, x), half, a);
    hn::StoreU(hn::UpperHalf(half, x), half, b);
  } else {
    hn::StoreU(x, d, a);
  }
}

// Complex numbers of as many registers as a row has: row i of each line becomes its column i.
HWY_INLINE void transpose_rows(V<double>* x) { exchange_blocks(x[0], x[1]); }
HWY_INLINE void transpose_rows(V<float>* x) {
  const hn::ScalableTag<double> d;
  const hn::ScalableTag<float> df;
  V<double> y[4];
  for (int i = 0; i < 4; i += 2) {
    const V<double> a = hn::BitCast(d, x[i]);
    const V<double> b = hn::BitCast(d, x[i + 1]);
    y[i] = hn::InterleaveLower(d, a, b);
    y[i + 1] = hn::InterleaveUpper(d, a, b);
  }
  exchange_blocks(y[0], y[2]);
  exchange_blocks(y[1], y[3]);
  for (int i = 0; i < 4; ++i) x[i] = hn::BitCast(df, y[i]);
}

template <typename T>
using Columns = ColumnTransform<hn::ScalableTag<T>>;

// x times the elements of a row of turns.
template <typename T>
HWY_INLINE V<T> turned(V<T> x, const T* turns) {
  const hn::ScalableTag<T> d;
  constexpr auto kRegister = static_cast<int64_t>(64 / sizeof(T));
  return turn_elements(d, x, hn::Load(d, turns), hn::Load(d, turns + kRegister));
}

// A matrix of kRows rows. Result k + kRows * j, of row k and column j, is left in row k / kColumns
// * kColumns + j.
template <int kRows, typename T>
HWY_INLINE void transform_matrix(const Columns<T>& columns,
                                 const TransformTable<T>& turns,
                                 V<T> (&x)[kRows]) {
  constexpr int kColumns = static_cast<int>(kRowNumbers<T> / 2);
  columns.template of<kRows>(x);
  HWY_UNROLL(8)
  for (int i = 1; i < kRows; ++i) x[i] = turned(x[i], turns.row_at(i));
  HWY_UNROLL(4)
  for (int first = 0; first < kRows; first += kColumns) {
    transpose_rows(x + first);
    columns.template of<kColumns>(x + first);
  }
}

// Where the elements of a row of results begin.
template <int kRows, typename T>
constexpr int64_t result_of(int row) {
  constexpr int kColumns = static_cast<int>(kRowNumbers<T> / 2);
  return 2 * (row / kColumns * kColumns + kRows * (row % kColumns));
}

// Calls run(a, b, to_a, to_b, columns) for two lines at a time, or for one in both places.
template <typename T, typename Run>
HWY_INLINE void for_lines(const RegisterLines<T>& p, int64_t begin, int64_t end, const Run& run) {
  const Columns<T> columns = column_transform(hn::ScalableTag<T>(), p.inverse);
  for (int64_t line = begin; line < end; line += kTwoLines ? 2 : 1) {
    const int64_t other = std::min(line + 1, end - 1);
    run(p.from.from_line(line).data, p.from.from_line(other).data, p.to.from_line(line).data,
        p.to.from_line(other).data, columns);
  }
}

template <int kRows, typename T>
void transform(const RegisterLines<T>& p, int64_t begin, int64_t end) {
  const V<T> scale = hn::Set(hn::ScalableTag<T>(), p.scale);
  const auto run = [&](const T* a, const T* b, T* to_a, T* to_b, auto columns) HWY_ATTR {
    V<T> x[kRows];
    HWY_UNROLL(8)
    for (int i = 0; i < kRows; ++i) {
      x[i] = load_rows(a + i * kRowNumbers<T>, b + i * kRowNumbers<T>);
    }
    transform_matrix(columns, *p.turns, x);
    HWY_UNROLL(8)
    for (int i = 0; i < kRows; ++i) {
      constexpr auto kAt = result_of<kRows, T>;
      store_rows(hn::Mul(x[i], scale), to_a + kAt(i), to_b + kAt(i));
    }
  };
  for_lines(p, begin, end, run);
}

template <typename T>
RegisterFunctions<T> make_register_functions() {
  return {&transform<4, T>, &transform<8, T>};
}

#else

template <typename T>
RegisterFunctions<T> make_register_functions() {
  return {nullptr, nullptr};
}

#endif

RegisterFunctions<float> register_float32() { return make_register_functions<float>(); }
RegisterFunctions<double> register_float64() { return make_register_functions<double>(); }

}  // namespace
}  // namespace mindtorch::cpu::fft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mindtorch::cpu::fft {
namespace {

HWY_EXPORT(register_float32);
HWY_EXPORT(register_float64);

template <typename T>
const RegisterFunctions<T>& register_functions() {
  static const RegisterFunctions<T> found = [] {
    if constexpr (std::is_same_v<T, float>) return HWY_DYNAMIC_DISPATCH(register_float32)();
    if constexpr (std::is_same_v<T, double>) return HWY_DYNAMIC_DISPATCH(register_float64)();
  }();
  return found;
}

}  // namespace

template <typename T>
bool transform_register_lines(
    bool inverse, int64_t length, int64_t count, Lines<const T> from, Lines<T> to, T scale) {
  constexpr int64_t kThreadElements = 8 * 1024;  // that pay for a thread
  constexpr auto kColumns = static_cast<int64_t>(16 / sizeof(T));
  const RegisterFunctions<T>& functions = register_functions<T>();
  const auto transform = length == 4 * kColumns   ? functions.transform4
                         : length == 8 * kColumns ? functions.transform8
                                                  : nullptr;
  if (from.step != 2 || to.step != 2 || transform == nullptr) return false;
  const auto turns = register_turns<T>(inverse, length);
  const RegisterLines<T> lines = {turns.get(), inverse, scale, from, to};
  parallel_for(0, count, kThreadElements / length,
               [&](int64_t begin, int64_t end) { transform(lines, begin, end); });
  return true;
}

template bool transform_register_lines(
    bool, int64_t, int64_t, Lines<const float>, Lines<float>, float);
template bool transform_register_lines(
    bool, int64_t, int64_t, Lines<const double>, Lines<double>, double);

}  // namespace mindtorch::cpu::fft
#endif  // HWY_ONCE
