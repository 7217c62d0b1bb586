#include "mindtorch/backends/cpu/bfloat16_tiles.h"
#include "mindtorch/backends/cpu/capability.h"

#include <algorithm>
#include <cstring>

#include "mindtorch/backends/cpu/gemm_impl.h"
#include "mindtorch/backends/cpu/transpose.h"
#include "mindtorch/base/error.h"

// See Note [Products of bfloat16]. Highway knows these instructions only as part of newer sets.
#if defined(__x86_64__) && defined(__GNUC__)
// GCC 12 takes the undefined inputs of its own intrinsics for ours.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>
#define MT_BF16_TARGET [[gnu::target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16")]]

namespace mindtorch::cpu {
namespace {

constexpr int64_t kRows = 14;
constexpr int64_t kCols = kPanelCols;

// A line is the words of one pair of terms for every row of a strip, or every column of a panel.
struct Lines {
  const uint16_t*
      from;  // element (line entry i, term t) lies at from[i * stride + t * term_stride]
  int64_t stride;
  int64_t term_stride;
  int64_t count;  // entries in use; the others of the panel are 0
};

uint32_t pair_at(const Lines& lines, int64_t i, int64_t term, int64_t terms) {
  const uint16_t* low = lines.from + i * lines.stride + term * lines.term_stride;
  const uint32_t high = term + 1 < terms ? low[lines.term_stride] : 0u;
  return *low | high << 16;
}

void pack_plainly(
    const Lines& lines, int64_t begin, int64_t terms, int64_t width, uint32_t* packed) {
  for (int64_t term = begin; term < terms; term += 2) {
    uint32_t* line = packed + term / 2 * width;
    for (int64_t i = 0; i < width; ++i) {
      line[i] = i < lines.count ? pair_at(lines, i, term, terms) : 0u;
    }
  }
}

// Entries contiguous: interleaves the rows of two terms.
MT_BF16_TARGET void pack_interleaved(const Lines& lines,
                                     int64_t terms,
                                     int64_t width,
                                     uint32_t* packed) {
  const int64_t whole = terms / 2 * 2;
  for (int64_t begin = 0; begin < width; begin += 16) {
    const int64_t room = std::min<int64_t>(16, width - begin);
    const int64_t used = std::clamp<int64_t>(lines.count - begin, 0, room);
    const auto load = static_cast<__mmask16>((1u << used) - 1);
    const auto store = static_cast<__mmask16>((1u << room) - 1);
    for (int64_t term = 0; term < whole; term += 2) {
      const uint16_t* row = lines.from + begin + term * lines.term_stride;
      const __m512i low = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(load, row));
      const __m512i high =
          _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(load, row + lines.term_stride));
      const __m512i pairs = _mm512_or_si512(low, _mm512_slli_epi32(high, 16));
      _mm512_mask_storeu_epi32(packed + term / 2 * width + begin, store, pairs);
    }
  }
  pack_plainly(lines, whole, terms, width, packed);
}

// Terms contiguous: pairs are words already and only have to be transposed.
void pack_transposed(const Lines& lines, int64_t terms, int64_t width, uint32_t* packed) {
  const int64_t pairs = terms / 2;
  const int64_t shape[] = {pairs, lines.count};
  const int64_t from_strides[] = {4, 2 * lines.stride};
  const int64_t to_strides[] = {4 * width, 4};
  copy_strided(4, shape, 2, lines.from, from_strides, packed, to_strides);
  for (int64_t p = 0; p < pairs && lines.count < width; ++p) {
    std::fill(packed + p * width + lines.count, packed + (p + 1) * width, 0u);
  }
  pack_plainly(lines, 2 * pairs, terms, width, packed);
}

void pack(const Lines& lines, int64_t terms, int64_t width, uint32_t* packed) {
  if (lines.term_stride == 1) return pack_transposed(lines, terms, width, packed);
  if (lines.stride == 1) return pack_interleaved(lines, terms, width, packed);
  pack_plainly(lines, 0, terms, width, packed);
}

template <bool kAdd>
MT_BF16_TARGET void multiply_tile(
    const uint32_t* a, const uint32_t* b, int64_t pairs, float* sums, int64_t stride) {
  __m512 low[kRows];
  __m512 high[kRows];
#pragma GCC unroll 14
  for (int64_t r = 0; r < kRows; ++r) {
    low[r] = kAdd ? _mm512_loadu_ps(sums + r * stride) : _mm512_setzero_ps();
    high[r] = kAdd ? _mm512_loadu_ps(sums + r * stride + 16) : _mm512_setzero_ps();
  }
  for (int64_t p = 0; p < pairs; ++p) {
    const auto b_low = reinterpret_cast<__m512bh>(_mm512_loadu_si512(b + p * kCols));
    const auto b_high = reinterpret_cast<__m512bh>(_mm512_loadu_si512(b + p * kCols + 16));
#pragma GCC unroll 14
    for (int64_t r = 0; r < kRows; ++r) {
      const auto factor =
          reinterpret_cast<__m512bh>(_mm512_set1_epi32(static_cast<int>(a[p * kRows + r])));
      low[r] = _mm512_dpbf16_ps(low[r], factor, b_low);
      high[r] = _mm512_dpbf16_ps(high[r], factor, b_high);
    }
  }
#pragma GCC unroll 14
  for (int64_t r = 0; r < kRows; ++r) {
    _mm512_storeu_ps(sums + r * stride, low[r]);
    _mm512_storeu_ps(sums + r * stride + 16, high[r]);
  }
}

MT_BF16_TARGET inline __m512bh load_pairs(const uint16_t* from, __mmask32 mask) {
  return reinterpret_cast<__m512bh>(_mm512_maskz_loadu_epi16(mask, from));
}

template <int64_t kX>
MT_BF16_TARGET void dots(int64_t n,
                         const uint16_t* w,
                         int64_t w_stride,
                         const uint16_t* x,
                         int64_t x_stride,
                         int64_t k,
                         float* out) {
  for (int64_t j = 0; j < n; j += 2) {
    const uint16_t* first = w + j * w_stride;
    const uint16_t* second = j + 1 < n ? first + w_stride : first;
    __m512 sums[2 * kX];
#pragma GCC unroll 16
    for (int64_t i = 0; i < 2 * kX; ++i) sums[i] = _mm512_setzero_ps();
    for (int64_t t = 0; t < k; t += 32) {
      const auto mask = k - t >= 32 ? ~__mmask32{0} : static_cast<__mmask32>((1u << (k - t)) - 1);
      const __m512bh a = load_pairs(first + t, mask);
      const __m512bh b = load_pairs(second + t, mask);
#pragma GCC unroll 8
      for (int64_t i = 0; i < kX; ++i) {
        const auto factor = reinterpret_cast<__m512bh>(_mm512_loadu_si512(x + i * x_stride + t));
        sums[2 * i] = _mm512_dpbf16_ps(sums[2 * i], a, factor);
        sums[2 * i + 1] = _mm512_dpbf16_ps(sums[2 * i + 1], b, factor);
      }
    }
#pragma GCC unroll 8
    for (int64_t i = 0; i < kX; ++i) {
      out[j * kX + i] = _mm512_reduce_add_ps(sums[2 * i]);
      if (j + 1 < n) out[(j + 1) * kX + i] = _mm512_reduce_add_ps(sums[2 * i + 1]);
    }
  }
}

void pack_strip(ConstMatrix a, int64_t rows, int64_t terms, uint16_t* packed) {
  pack({static_cast<const uint16_t*>(a.data), a.row_stride, a.col_stride, rows}, terms, kRows,
       reinterpret_cast<uint32_t*>(packed));
}

void multiply_strip(const uint16_t* strip,
                    const uint32_t* panel,
                    int64_t panel_words,
                    int64_t panels,
                    int64_t terms,
                    float* sums,
                    int64_t stride,
                    bool add) {
  const auto* a = reinterpret_cast<const uint32_t*>(strip);
  const int64_t pairs = ceil_div(terms, 2);
  for (int64_t i = 0; i < panels; ++i) {
    const uint32_t* b = panel + i * panel_words;
    if (add) {
      multiply_tile<true>(a, b, pairs, sums + i * kCols, stride);
    } else {
      multiply_tile<false>(a, b, pairs, sums + i * kCols, stride);
    }
  }
}

}  // namespace

void pack_bfloat16_panel(
    ConstMatrix b, int64_t cols, int64_t terms, int64_t padded_terms, uint32_t* panel) {
  pack({static_cast<const uint16_t*>(b.data), b.col_stride, b.row_stride, cols}, terms, kCols,
       panel);
  std::fill(panel + ceil_div(terms, 2) * kCols, panel + padded_terms / 2 * kCols, 0u);
}

const BFloat16Tiles* avx512_bfloat16_tiles() {
  static const bool has = allows_avx512() && __builtin_cpu_supports("avx512bf16") &&
                          __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
  static constexpr BFloat16Tiles kTiles = {kRows, 2, &pack_strip, &multiply_strip};
  return has ? &kTiles : nullptr;
}

void bfloat16_dots(int64_t n,
                   const uint16_t* w,
                   int64_t w_stride,
                   int64_t rows,
                   const uint16_t* x,
                   int64_t x_stride,
                   int64_t k,
                   float* out) {
  switch (rows) {
    case 1:
      return dots<1>(n, w, w_stride, x, x_stride, k, out);
    case 2:
      return dots<2>(n, w, w_stride, x, x_stride, k, out);
    case 3:
      return dots<3>(n, w, w_stride, x, x_stride, k, out);
    case 4:
      return dots<4>(n, w, w_stride, x, x_stride, k, out);
    case 5:
      return dots<5>(n, w, w_stride, x, x_stride, k, out);
    case 6:
      return dots<6>(n, w, w_stride, x, x_stride, k, out);
    case 7:
      return dots<7>(n, w, w_stride, x, x_stride, k, out);
    default:
      return dots<8>(n, w, w_stride, x, x_stride, k, out);
  }
}

}  // namespace mindtorch::cpu

#else  // no x86

namespace mindtorch::cpu {

void pack_bfloat16_panel(ConstMatrix, int64_t, int64_t, int64_t, uint32_t*) {
  MT_ASSERT(bfloat16_tiles() != nullptr);
}

const BFloat16Tiles* avx512_bfloat16_tiles() { return nullptr; }

void bfloat16_dots(
    int64_t, const uint16_t*, int64_t, int64_t, const uint16_t*, int64_t, int64_t, float*) {
  MT_ASSERT(bfloat16_tiles() != nullptr);
}

}  // namespace mindtorch::cpu
#endif
