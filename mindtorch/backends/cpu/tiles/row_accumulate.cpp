// Steps of a reduction over an outer dimension: a row goes into a row of results.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mindtorch/backends/cpu/tiles/row_accumulate.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "mindtorch/backends/cpu/tiles/arithmetic-inl.h"
#include "mindtorch/backends/cpu/tiles/row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::HWY_NAMESPACE {
namespace {

struct AddSquare {
  template <class D, class V>
  HWY_INLINE V operator()(D, V sum, V x) const {
    return hn::MulAdd(x, x, sum);
  }
};
struct AddMagnitude {
  template <class D, class V>
  HWY_INLINE V operator()(D, V sum, V x) const {
    return hn::Add(sum, hn::Abs(x));
  }
};

// Calls step(first row, rows) for a few rows at a time: accumulators stay in registers for as many,
// and each row is still read in order.
template <class Step>
HWY_INLINE void for_row_groups(const void* in,
                               int64_t stride_bytes,
                               int64_t rows,
                               const Step& step) {
  constexpr int64_t kRows = 8;
  for (int64_t row = 0; row < rows; row += kRows) {
    step(static_cast<const char*>(in) + row * stride_bytes, std::min(kRows, rows - row));
  }
}

// acc[i] = op(acc[i], in[i]), where acc holds A: T itself, or the wider type in which it is summed.
template <class Op, class T, class A>
void step(const void* from, int64_t stride_bytes, int64_t all_rows, void* to, int64_t size) {
  const hn::ScalableTag<Wide<T>> d;
  constexpr size_t kLanes = hn::MaxLanes(decltype(d)());
  A* acc = static_cast<A*>(to);
  const size_t n = static_cast<size_t>(size);
  const Op op;
  for_row_groups(from, stride_bytes, all_rows, [&](const char* block, int64_t rows) HWY_ATTR {
    const auto row = [&](int64_t i)
                         HWY_ATTR { return reinterpret_cast<const T*>(block + i * stride_bytes); };
    size_t at = 0;
    for (; at + 4 * kLanes <= n; at += 4 * kLanes) {
      auto v0 = load_wide(d, acc + at);
      auto v1 = load_wide(d, acc + at + kLanes);
      auto v2 = load_wide(d, acc + at + 2 * kLanes);
      auto v3 = load_wide(d, acc + at + 3 * kLanes);
      for (int64_t i = 0; i < rows; ++i) {
        const T* in = row(i) + at;
        v0 = op(d, v0, load_wide(d, in));
        v1 = op(d, v1, load_wide(d, in + kLanes));
        v2 = op(d, v2, load_wide(d, in + 2 * kLanes));
        v3 = op(d, v3, load_wide(d, in + 3 * kLanes));
      }
      store_wide(d, v0, acc + at);
      store_wide(d, v1, acc + at + kLanes);
      store_wide(d, v2, acc + at + 2 * kLanes);
      store_wide(d, v3, acc + at + 3 * kLanes);
    }
    for (; at + kLanes <= n; at += kLanes) {
      auto v = load_wide(d, acc + at);
      for (int64_t i = 0; i < rows; ++i) v = op(d, v, load_wide(d, row(i) + at));
      store_wide(d, v, acc + at);
    }
    if (at < n) {
      const size_t count = n - at;
      auto v = load_wide_first(d, acc + at, count, A());
      for (int64_t i = 0; i < rows; ++i) {
        v = op(d, v, load_wide_first(d, row(i) + at, count, T()));
      }
      store_wide_first(d, v, acc + at, count);
    }
  });
}

// Integers are summed and multiplied in int64, and wrap.
template <bool kProduct, class T>
void step_int(const void* from, int64_t stride_bytes, int64_t rows, void* to, int64_t n) {
  auto* HWY_RESTRICT acc = static_cast<uint64_t*>(to);
  for (int64_t row = 0; row < rows; ++row) {
    const auto* HWY_RESTRICT in =
        reinterpret_cast<const Held<T>*>(static_cast<const char*>(from) + row * stride_bytes);
    for (int64_t i = 0; i < n; ++i) {
      const auto value = static_cast<uint64_t>(static_cast<int64_t>(in[i]));
      acc[i] = kProduct ? acc[i] * value : acc[i] + value;
    }
  }
}

template <class T>
HWY_INLINE bool is_true(T value) {
  if constexpr (kIsHalf<T>) {
    return (value.bits & 0x7fff) != 0;
  } else {
    return value != T{0};
  }
}
template <bool kAny, class T>
void step_truth(const void* from, int64_t stride_bytes, int64_t rows, void* to, int64_t n) {
  auto* HWY_RESTRICT acc = static_cast<uint8_t*>(to);
  for (int64_t row = 0; row < rows; ++row) {
    const auto* HWY_RESTRICT in =
        reinterpret_cast<const Held<T>*>(static_cast<const char*>(from) + row * stride_bytes);
    for (int64_t i = 0; i < n; ++i) {
      const uint8_t value = is_true(in[i]) ? 1 : 0;
      acc[i] = kAny ? static_cast<uint8_t>(acc[i] | value) : static_cast<uint8_t>(acc[i] & value);
    }
  }
}

// NaN beats all but an earlier NaN; of equals the earlier stays.
template <bool kLargest, class V>
HWY_INLINE auto beats(V challenger, V best) {
  const auto wins = kLargest ? hn::Gt(challenger, best) : hn::Lt(challenger, best);
  if constexpr (hwy::IsFloat<hn::TFromV<V>>()) {
    const auto is_new = hn::AndNot(hn::IsNaN(best), hn::IsNaN(challenger));
    return hn::Or(wins, is_new);
  } else {
    return wins;
  }
}

// One vector of columns through at most kArgRows rows. The rows that won are counted in lanes as
// wide as the elements, and become int64 where there are any.
constexpr int64_t kArgRows = 64;
template <bool kLargest, class D, class V, class Load>
HWY_INLINE V step_arg_lanes(
    D, V best, int64_t rows, int64_t first_row, int64_t* index, size_t count, const Load& load) {
  const hn::RebindToUnsigned<D> du;
  using U = hn::TFromD<decltype(du)>;
  constexpr U kNone = static_cast<U>(kArgRows);
  auto winner = hn::Set(du, kNone);
  for (int64_t row = 0; row < rows; ++row) {
    const auto v = load(row);
    const auto wins = beats<kLargest>(v, best);
    best = hn::IfThenElse(wins, v, best);
    winner = hn::IfThenElse(hn::RebindMask(du, wins), hn::Set(du, static_cast<U>(row)), winner);
  }
  if (hn::AllTrue(du, hn::Eq(winner, hn::Set(du, kNone)))) return best;
  HWY_ALIGN U rows_of[hn::MaxLanes(du)];
  hn::Store(winner, du, rows_of);
  for (size_t i = 0; i < count; ++i) {
    index[i] = rows_of[i] == kNone ? index[i] : first_row + rows_of[i];
  }
  return best;
}

template <bool kLargest, class T>
void step_arg(const ArgRows& from, void* to, int64_t* index, int64_t size) {
  using H = Held<T>;
  const hn::ScalableTag<Wide<H>> d;
  constexpr size_t kLanes = hn::MaxLanes(decltype(d)());
  const size_t n = static_cast<size_t>(size);
  H* value = static_cast<H*>(to);
  for (int64_t row = 0; row < from.rows; row += kArgRows) {
    const int64_t rows = std::min(kArgRows, from.rows - row);
    const auto* block = static_cast<const char*>(from.in) + row * from.row_stride_bytes;
    const auto elements = [&](int64_t i, size_t at) HWY_ATTR {
      return reinterpret_cast<const H*>(block + i * from.row_stride_bytes) + at;
    };
    size_t at = 0;
    for (; at + kLanes <= n; at += kLanes) {
      const auto load = [&](int64_t i) HWY_ATTR { return load_wide(d, elements(i, at)); };
      const auto best = step_arg_lanes<kLargest>(d, load_wide(d, value + at), rows,
                                                 from.first_row + row, index + at, kLanes, load);
      store_wide(d, best, value + at);
    }
    if (at < n) {
      const size_t count = n - at;
      const auto load = [&](int64_t i)
                            HWY_ATTR { return load_wide_first(d, elements(i, at), count, H()); };
      const auto best =
          step_arg_lanes<kLargest>(d, load_wide_first(d, value + at, count, H()), rows,
                                   from.first_row + row, index + at, count, load);
      store_wide_first(d, best, value + at, count);
    }
  }
}

template <class... Ts>
void enter_floats(TileTable& table) {
  (enter_accumulate<Ts>(table, Row::kSum, &step<Add, Ts, Wide<Ts>>), ...);
  (enter_accumulate<Ts>(table, Row::kProd, &step<Mul, Ts, Wide<Ts>>), ...);
  (enter_accumulate<Ts>(table, Row::kSumSquares, &step<AddSquare, Ts, Wide<Ts>>), ...);
  (enter_accumulate<Ts>(table, Row::kSumAbs, &step<AddMagnitude, Ts, Wide<Ts>>), ...);
}
template <class... Ts>
void enter_ints(TileTable& table) {
  (enter_accumulate<Ts>(table, Row::kSum, &step_int<false, Ts>), ...);
  (enter_accumulate<Ts>(table, Row::kProd, &step_int<true, Ts>), ...);
}
template <class T>
void enter_args(TileTable& table) {
  const int dtype = static_cast<int>(DTypeOf<T>::value);
  table.accumulate_args[static_cast<int>(Row::kArgmax)][dtype] = &step_arg<true, T>;
  table.accumulate_args[static_cast<int>(Row::kArgmin)][dtype] = &step_arg<false, T>;
}
template <class... Ts>
void enter_all(TileTable& table) {
  (enter_accumulate<Ts>(table, Row::kMax, &step<Maximum, Held<Ts>, Held<Ts>>), ...);
  (enter_accumulate<Ts>(table, Row::kMin, &step<Minimum, Held<Ts>, Held<Ts>>), ...);
  (enter_accumulate<Ts>(table, Row::kAny, &step_truth<true, Ts>), ...);
  (enter_accumulate<Ts>(table, Row::kAll, &step_truth<false, Ts>), ...);
  (enter_args<Ts>(table), ...);
}

}  // namespace

void row_accumulates(TileTable& table) {
  enter_floats<float, double, Half, BFloat16>(table);
  enter_ints<bool, uint8_t, int8_t, int16_t, int32_t, int64_t>(table);
  enter_all<bool, uint8_t, int8_t, int16_t, int32_t, int64_t, Half, BFloat16, float, double>(table);
}

}  // namespace mindtorch::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mindtorch::cpu {
HWY_EXPORT(row_accumulates);
void add_row_accumulates(TileTable& table) { HWY_DYNAMIC_DISPATCH(row_accumulates)(table); }
}  // namespace mindtorch::cpu
#endif
