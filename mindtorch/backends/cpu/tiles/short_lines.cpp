#include "mindtorch/backends/cpu/tiles/short_lines.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mindtorch/backends/cpu/tiles/short_lines.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "mindtorch/backends/cpu/tiles/arithmetic-inl.h"
#include "mindtorch/backends/cpu/tiles/row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::HWY_NAMESPACE {
namespace {

struct Quotient {
  template <class D, class V>
  HWY_INLINE V operator()(D, V a, V b) const {
    return hn::Div(a, b);
  }
};

// Input `kWhich` of one line: its elements, or its only one in every lane.
template <int kWhich, int kSingle, class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> load(D d, const T* line, size_t at) {
  if constexpr (kWhich == kSingle) {
    return hn::Set(d, *line);
  } else {
    return hn::LoadU(d, line + at);
  }
}

template <class Op, class T, int kSingle>
void lines(const LineRun& run) {
  const hn::ScalableTag<T> d;
  constexpr size_t kLanes = hn::MaxLanes(decltype(d)());
  const Op op;
  const auto n = static_cast<size_t>(run.n);
  for (int64_t line = 0; line < run.lines; ++line) {
    const T* a = reinterpret_cast<const T*>(run.inputs[0] + line * run.input_strides[0]);
    const T* b = reinterpret_cast<const T*>(run.inputs[1] + line * run.input_strides[1]);
    T* out = reinterpret_cast<T*>(run.out + line * run.out_stride);
    size_t at = 0;
    for (; at + 2 * kLanes <= n; at += 2 * kLanes) {
      const size_t next = at + kLanes;
      const auto v0 = op(d, load<0, kSingle>(d, a, at), load<1, kSingle>(d, b, at));
      const auto v1 = op(d, load<0, kSingle>(d, a, next), load<1, kSingle>(d, b, next));
      hn::StoreU(v0, d, out + at);
      hn::StoreU(v1, d, out + next);
    }
    for (; at + kLanes <= n; at += kLanes) {
      hn::StoreU(op(d, load<0, kSingle>(d, a, at), load<1, kSingle>(d, b, at)), d, out + at);
    }
#if HWY_TARGET <= HWY_AVX3
    if (at < n) {
      const auto first = hn::FirstN(d, n - at);
      const auto left = kSingle == 0 ? hn::Set(d, *a) : hn::MaskedLoad(first, d, a + at);
      const auto right = kSingle == 1 ? hn::Set(d, *b) : hn::MaskedLoad(first, d, b + at);
      hn::BlendedStore(op(d, left, right), first, d, out + at);
    }
#else
    if constexpr (sizeof(T) > 1) {
      const hn::CappedTag<T, 1> d1;
      for (; at < n; ++at) {
        hn::StoreU(op(d1, load<0, kSingle>(d1, a, at), load<1, kSingle>(d1, b, at)), d1, out + at);
      }
    } else if (at < n) {  // of bytes there are too many left
      const auto left = kSingle == 0 ? hn::Set(d, *a) : load_first(d, a + at, n - at);
      const auto right = kSingle == 1 ? hn::Set(d, *b) : load_first(d, b + at, n - at);
      store_first(d, op(d, left, right), out + at, n - at);
    }
#endif
  }
}

// The same of 16-bit floats, in float32.
template <class Op, class T, int kSingle>
void half_lines(const LineRun& run) {
  const hn::ScalableTag<float> d;
  constexpr size_t kLanes = hn::MaxLanes(decltype(d)());
  const Op op;
  const auto n = static_cast<size_t>(run.n);
  for (int64_t line = 0; line < run.lines; ++line) {
    const T* a = reinterpret_cast<const T*>(run.inputs[0] + line * run.input_strides[0]);
    const T* b = reinterpret_cast<const T*>(run.inputs[1] + line * run.input_strides[1]);
    T* out = reinterpret_cast<T*>(run.out + line * run.out_stride);
    const auto single = hn::Set(d, static_cast<float>(kSingle == 0 ? *a : *b));
    const auto apply = [&](const auto& load) HWY_ATTR {
      if constexpr (kSingle == 0) {
        return op(d, single, load(b));
      } else if constexpr (kSingle == 1) {
        return op(d, load(a), single);
      } else {
        return op(d, load(a), load(b));
      }
    };
    size_t at = 0;
    for (; at + kLanes <= n; at += kLanes) {
      store_wide(d, apply([&](const T* in) HWY_ATTR { return load_wide(d, in + at); }), out + at);
    }
    if (at == n) continue;
    const auto load_rest = [&](const T* in)
                               HWY_ATTR { return load_wide_first(d, in + at, n - at, T(1.0f)); };
    store_wide_first(d, apply(load_rest), out + at, n - at);
  }
}

template <class Op, class T>
void enter_short_lines(LinesTable& table, Pointwise function) {
  auto& entry = table.lines[static_cast<int>(function)][static_cast<int>(DTypeOf<T>::value)];
  if constexpr (kIsHalf<T>) {
    entry[0] = &half_lines<Op, T, -1>;
    entry[1] = &half_lines<Op, T, 0>;
    entry[2] = &half_lines<Op, T, 1>;
  } else {
    entry[0] = &lines<Op, T, -1>;
    entry[1] = &lines<Op, T, 0>;
    entry[2] = &lines<Op, T, 1>;
  }
}

template <class T>
void enter_all(LinesTable& table) {
  enter_short_lines<Add, T>(table, Pointwise::kAdd);
  enter_short_lines<Sub, T>(table, Pointwise::kSub);
  enter_short_lines<Mul, T>(table, Pointwise::kMul);
  enter_short_lines<Maximum, T>(table, Pointwise::kMaximum);
  enter_short_lines<Minimum, T>(table, Pointwise::kMinimum);
  if constexpr (!std::is_integral_v<T>) enter_short_lines<Quotient, T>(table, Pointwise::kDiv);
}

}  // namespace

void short_lines(LinesTable& table) {
  enter_all<float>(table);
  enter_all<double>(table);
  enter_all<int32_t>(table);
  enter_all<int64_t>(table);
  enter_all<uint8_t>(table);
  enter_all<Half>(table);
  enter_all<BFloat16>(table);
}

}  // namespace mindtorch::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mindtorch::cpu {
HWY_EXPORT(short_lines);

LinesTable build_lines_table() {
  LinesTable table;
  HWY_DYNAMIC_DISPATCH(short_lines)(table);
  return table;
}

LinesFn find_lines(ops::Pointwise function, DType compute, int single) {
  if (MT_UNLIKELY(!ops::is_built_in(function))) return nullptr;
  static const LinesTable table = build_lines_table();
  return table.lines[static_cast<int>(function)][static_cast<int>(compute)][single + 1];
}
}  // namespace mindtorch::cpu
#endif
