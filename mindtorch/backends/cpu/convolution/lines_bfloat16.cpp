#include "mindtorch/backends/cpu/bfloat16_tiles.h"
#include "mindtorch/backends/cpu/bfloat16_words.h"
#include "mindtorch/backends/cpu/ceil_div.h"
#include "mindtorch/backends/cpu/convolution/lines.h"
#include "mindtorch/base/error.h"

namespace mindtorch::cpu::convolution {

#if defined(__x86_64__) && defined(__GNUC__)
#define MT_BF16_TARGET [[gnu::target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16")]]
#define MT_BF16_INLINE \
  [[gnu::target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16"), gnu::always_inline]] inline

namespace {

constexpr int64_t kLanes = 16;

// The kN taps of a run, for kR outputs and kV vectors of columns.
template <int kR, int kV, int kN>
MT_BF16_INLINE void add_run(
    const uint32_t* x, int64_t step, const uint32_t* y, int64_t y_step, __m512 (&sums)[kR][kV]) {
  __m512bh values[kR + kN - 1];
#pragma GCC unroll 17
  for (int p = 0; p < kR + kN - 1; ++p, x += step) {
    values[p] = reinterpret_cast<__m512bh>(_mm512_set1_epi32(static_cast<int>(*x)));
  }
#pragma GCC unroll 4
  for (int k = 0; k < kN; ++k, y += y_step) {
#pragma GCC unroll 2
    for (int j = 0; j < kV; ++j) {
      const auto factors = reinterpret_cast<__m512bh>(_mm512_loadu_si512(y + j * kLanes));
#pragma GCC unroll 14
      for (int i = 0; i < kR; ++i) {
        sums[i][j] = _mm512_dpbf16_ps(sums[i][j], values[i + k], factors);
      }
    }
  }
}

// Outputs [first, first + kR).
template <int kR, int kV>
MT_BF16_INLINE void tile(const LineProduct<uint16_t>& m, int64_t first) {
  __m512 sums[kR][kV];
#pragma GCC unroll 2
  for (int j = 0; j < kV; ++j) {
    const __m512 initial = _mm512_loadu_ps(m.initial + j * kLanes);
#pragma GCC unroll 14
    for (int i = 0; i < kR; ++i) sums[i][j] = initial;
  }
  const int64_t step = m.step;
  const uint32_t* x = m.x + first * step;
  const uint32_t* y = m.y;
  for (int64_t channel = 0; channel < m.channels; ++channel) {
    for (int64_t r = 0; r < m.run_count; ++r) {
      const LineRun& run = m.runs[r];
      const uint32_t* const from = x + run.offset;
      const uint32_t* const factors = y + run.term * kV * kLanes;
      const int64_t next = run.term_step * kV * kLanes;
      if (run.count == 3) {
        add_run<kR, kV, 3>(from, step, factors, next, sums);
      } else if (run.count == 1) {
        add_run<kR, kV, 1>(from, step, factors, next, sums);
      } else if (run.count == 2) {
        add_run<kR, kV, 2>(from, step, factors, next, sums);
      } else {
        add_run<kR, kV, 4>(from, step, factors, next, sums);
      }
    }
    x += m.channel_stride;
    y += m.channel_terms * kV * kLanes;
  }
#pragma GCC unroll 14
  for (int i = 0; i < kR; ++i) {
    uint16_t* const to = m.c + (first + i) * m.c_stride;
#pragma GCC unroll 2
    for (int j = 0; j < kV; ++j) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + j * kLanes),
                          reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(sums[i][j])));
    }
  }
}

// The last tile may overlap the one before: one of fewer outputs takes no less time.
template <int kR, int kV>
MT_BF16_TARGET void tiles_of(const LineProduct<uint16_t>& m) {
  int64_t first = 0;
  for (; first + kR <= m.outputs; first += kR) tile<kR, kV>(m, first);
  if (first < m.outputs) tile<kR, kV>(m, m.outputs - kR);
}

int64_t padded_to(int64_t count, int64_t unit) { return ceil_div(count, unit) * unit; }

template <int kV>
void line(const LineProduct<uint16_t>& m) {
  const int64_t n = m.outputs;
  if constexpr (kV == 1) {
    if (n >= 14 && padded_to(n, 14) <= padded_to(n, 8)) return tiles_of<14, kV>(m);
  }
  if (n >= 7 && (n < 8 || padded_to(n, 7) < padded_to(n, 8))) return tiles_of<7, kV>(m);
  if (n >= 8) return tiles_of<8, kV>(m);
  if (n >= 4) return tiles_of<4, kV>(m);
  if (n >= 2) return tiles_of<2, kV>(m);
  tiles_of<1, kV>(m);
}

void multiply(const LineProduct<uint16_t>& m) { m.columns == kLanes ? line<1>(m) : line<2>(m); }

}  // namespace

bool has_bfloat16_lines() {
  return bfloat16_tiles() != nullptr && bfloat16_tiles() == avx512_bfloat16_tiles();
}

template <>
LineTiles<uint16_t> line_tiles() {
  return {kLanes, true, &multiply};
}

[[gnu::target("avx512f,avx512bw,avx512vl,avx512dq")]] void interleave_line(const uint16_t* low,
                                                                           const uint16_t* high,
                                                                           int64_t count,
                                                                           uint32_t* to) {
  for (int64_t i = 0; i < count; i += kLanes) {
    const __mmask16 inside = first_16(count - i);
    const __m256i second =
        high == nullptr ? _mm256_setzero_si256() : _mm256_maskz_loadu_epi16(inside, high + i);
    _mm512_mask_storeu_epi32(to + i, inside,
                             interleave(_mm256_maskz_loadu_epi16(inside, low + i), second));
  }
}

#else  // no x86

bool has_bfloat16_lines() { return false; }

template <>
LineTiles<uint16_t> line_tiles() {
  MT_ASSERT(has_bfloat16_lines());
  return {};
}

void interleave_line(const uint16_t*, const uint16_t*, int64_t, uint32_t*) {
  MT_ASSERT(has_bfloat16_lines());
}

#endif

}  // namespace mindtorch::cpu::convolution
