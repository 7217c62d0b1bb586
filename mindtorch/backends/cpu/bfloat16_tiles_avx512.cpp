#include "mindtorch/backends/cpu/bfloat16_tiles.h"
#include "mindtorch/backends/cpu/capability.h"

#include <algorithm>
#include <array>
#include <utility>

#include "mindtorch/backends/cpu/bfloat16_words.h"
#include "mindtorch/backends/cpu/gemm_impl.h"
#include "mindtorch/base/error.h"

// See Note [Products of bfloat16]. Highway knows these instructions only as part of newer sets.
#if defined(__x86_64__) && defined(__GNUC__)
#define MT_BF16_TARGET [[gnu::target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16")]]
#define MT_BF16_LAMBDA \
  __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16"), always_inline))

namespace mindtorch::cpu {
namespace {

constexpr int64_t kRows = kMostUnpackedRows;
constexpr int64_t kCols = kPanelCols;
constexpr int64_t kStripTerms = 1024;
// Rows at most this far apart can be read together: they do not fall into the same sets of the
// first cache.
constexpr int64_t kClose = 512;

// Entries are the rows of a strip or the columns of a panel: element (entry i, term t) lies at
// from[i * stride + t * term_stride]. Lines hold the words of one pair of terms for all entries.
struct Lines {
  const uint16_t* from;
  int64_t stride;
  int64_t term_stride;
  int64_t count;  // entries in use; the others of a line are 0
  int64_t terms;
  int64_t width;  // of a line
  int64_t pairs;  // lines, of which those behind the last term are 0

  uint32_t pair_at(int64_t i, int64_t term) const {
    if (i >= count || term >= terms) return 0;
    const uint16_t* const low = from + i * stride + term * term_stride;
    const uint32_t high = term + 1 < terms ? low[term_stride] : 0u;
    return *low | high << 16;
  }
};

void pack_plainly(const Lines& lines, int64_t first_pair, uint32_t* packed) {
  for (int64_t p = first_pair; p < lines.pairs; ++p) {
    for (int64_t i = 0; i < lines.width; ++i) packed[p * lines.width + i] = lines.pair_at(i, 2 * p);
  }
}

// Two lines, which may be far apart, of which the next entries will soon be read.
MT_BF16_TARGET inline void prefetch(const uint16_t* line, int64_t stride, int64_t next) {
  _mm_prefetch(reinterpret_cast<const char*>(line + next), _MM_HINT_T0);
  _mm_prefetch(reinterpret_cast<const char*>(line + stride + next), _MM_HINT_T0);
}

// Entries contiguous: interleaves the rows of two terms.
MT_BF16_TARGET void pack_interleaved(const Lines& lines, uint32_t* packed) {
  const int64_t whole = lines.terms / 2;
  const __mmask32 used = first_32(lines.count);
  if (lines.width == kCols) {
    for (int64_t p = 0; p < whole; ++p) {
      const uint16_t* const row = lines.from + 2 * p * lines.term_stride;
      prefetch(row, lines.term_stride, kCols);
      interleave(_mm512_maskz_loadu_epi16(used, row),
                 _mm512_maskz_loadu_epi16(used, row + lines.term_stride), packed + p * kCols);
    }
  } else if (lines.width > 16) {
    const __mmask16 store = first_16(lines.width - 16);
    for (int64_t p = 0; p < whole; ++p) {
      const uint16_t* const row = lines.from + 2 * p * lines.term_stride;
      prefetch(row, lines.term_stride, kCols);
      uint32_t* const to = packed + p * lines.width;
      const __m512i first = _mm512_maskz_loadu_epi16(used, row);
      const __m512i second = _mm512_maskz_loadu_epi16(used, row + lines.term_stride);
      _mm512_storeu_si512(
          to, interleave(_mm512_castsi512_si256(first), _mm512_castsi512_si256(second)));
      _mm512_mask_storeu_epi32(
          to + 16, store,
          interleave(_mm512_extracti64x4_epi64(first, 1), _mm512_extracti64x4_epi64(second, 1)));
    }
  } else {
    const auto load = static_cast<__mmask16>(used);
    const __mmask16 store = first_16(lines.width);
    for (int64_t p = 0; p < whole; ++p) {
      const uint16_t* const row = lines.from + 2 * p * lines.term_stride;
      prefetch(row, lines.term_stride, kCols);
      _mm512_mask_storeu_epi32(packed + p * lines.width, store,
                               interleave(_mm256_maskz_loadu_epi16(load, row),
                                          _mm256_maskz_loadu_epi16(load, row + lines.term_stride)));
    }
  }
  pack_plainly(lines, whole, packed);
}

// Terms contiguous: pairs are words already and only have to be transposed.
MT_BF16_TARGET void pack_transposed(const Lines& lines, uint32_t* packed) {
  for (int64_t begin = 0; begin < lines.width; begin += 16) {
    const __mmask16 store = first_16(lines.width - begin);
    const int64_t count = std::clamp<int64_t>(lines.count - begin, 0, 16);
    for (int64_t p = 0; p < lines.pairs; p += 16) {
      const __mmask32 load = first_32(std::max<int64_t>(lines.terms - 2 * p, 0));
      const uint16_t* const from = lines.from + begin * lines.stride + 2 * p;
      __m512i words[16];
#pragma GCC unroll 16
      for (int64_t i = 0; i < 16; ++i) {
        words[i] = i < count ? _mm512_maskz_loadu_epi16(load, from + i * lines.stride)
                             : _mm512_setzero_si512();
      }
      transpose_words(words);
      uint32_t* const to = packed + p * lines.width + begin;
      const int64_t left = lines.pairs - p;
      if (left >= 16) {
#pragma GCC unroll 16
        for (int64_t i = 0; i < 16; ++i) {
          _mm512_mask_storeu_epi32(to + i * lines.width, store, words[i]);
        }
      } else {
        for (int64_t i = 0; i < left; ++i) {
          _mm512_mask_storeu_epi32(to + i * lines.width, store, words[i]);
        }
      }
    }
  }
}

void pack(const Lines& lines, uint32_t* packed) {
  if (lines.term_stride == 1) return pack_transposed(lines, packed);
  if (lines.stride == 1) return pack_interleaved(lines, packed);
  pack_plainly(lines, 0, packed);
}

// Two lines of b by columns as the product's instructions take them.
struct PackedLines {
  static constexpr bool kInOrder = true;
  const uint32_t* at;

  MT_BF16_TARGET void load(__mmask32, __m512i& low, __m512i& high) {
    low = _mm512_loadu_si512(at);
    high = _mm512_loadu_si512(at + 16);
    at += kCols;
  }
};

// Interleaved where they lie, in the order that takes the fewest instructions: quarters of `low`
// and `high` alternate.
struct UnpackedLines {
  static constexpr bool kInOrder = false;
  const uint16_t* at;
  int64_t stride;
  int64_t next;  // to the columns that are read next

  MT_BF16_TARGET void load(__mmask32 columns, __m512i& low, __m512i& high) {
    const __m512i first = _mm512_maskz_loadu_epi16(columns, at);
    const __m512i second = _mm512_maskz_loadu_epi16(columns, at + stride);
    prefetch(at, stride, next);
    low = _mm512_unpacklo_epi16(first, second);
    high = _mm512_unpackhi_epi16(first, second);
    at += 2 * stride;
  }
  // The last line, where their number is odd.
  MT_BF16_TARGET void load_last(__mmask32 columns, __m512i& low, __m512i& high) const {
    const __m512i first = _mm512_maskz_loadu_epi16(columns, at);
    low = _mm512_unpacklo_epi16(first, _mm512_setzero_si512());
    high = _mm512_unpackhi_epi16(first, _mm512_setzero_si512());
  }
};

MT_BF16_TARGET inline __m512bh pair_of(const uint16_t* a) {
  int32_t word;
  __builtin_memcpy(&word, a, sizeof(word));
  return reinterpret_cast<__m512bh>(_mm512_set1_epi32(word));
}

// kR rows and the columns of one panel, from `col` on.
template <int64_t kR, typename B>
MT_BF16_TARGET void multiply_tile(const BFloat16Strip& strip, B b, int64_t col) {
  const __m512i first_in_order = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
  const __m512i second_in_order = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
  const __m512i even_quarters = _mm512_setr_epi64(0, 1, 4, 5, 8, 9, 12, 13);
  const __m512i odd_quarters = _mm512_setr_epi64(2, 3, 6, 7, 10, 11, 14, 15);
  const auto reorder = [](__m512& low, __m512& high, __m512i to_low, __m512i to_high)
                           MT_BF16_LAMBDA {
                             const __m512d x = _mm512_castps_pd(low);
                             const __m512d y = _mm512_castps_pd(high);
                             low = _mm512_castpd_ps(_mm512_permutex2var_pd(x, to_low, y));
                             high = _mm512_castpd_ps(_mm512_permutex2var_pd(x, to_high, y));
                           };
  __m512 low[kR];
  __m512 high[kR];
  float* const sums = strip.sums == nullptr ? nullptr : strip.sums + col;
#pragma GCC unroll 14
  for (int64_t r = 0; r < kR; ++r) {
    low[r] = high[r] = _mm512_setzero_ps();
    if (!strip.add) continue;
    low[r] = _mm512_loadu_ps(sums + r * strip.sums_stride);
    high[r] = _mm512_loadu_ps(sums + r * strip.sums_stride + 16);
    if constexpr (!B::kInOrder) reorder(low[r], high[r], even_quarters, odd_quarters);
  }
  const __mmask32 columns = first_32(strip.cols - col);
  const uint16_t* a = strip.a.data;
  const int64_t row = strip.a.row_stride;
  const auto add_line = [&](__m512i words_low, __m512i words_high) MT_BF16_LAMBDA {
    const auto b_low = reinterpret_cast<__m512bh>(words_low);
    const auto b_high = reinterpret_cast<__m512bh>(words_high);
#pragma GCC unroll 14
    for (int64_t r = 0; r < kR; ++r) {
      const __m512bh factor = pair_of(a + r * row);
      low[r] = _mm512_dpbf16_ps(low[r], b_low, factor);
      high[r] = _mm512_dpbf16_ps(high[r], b_high, factor);
    }
  };
  const int64_t pairs = B::kInOrder ? ceil_div(strip.terms, 2) : strip.terms / 2;
  for (int64_t p = 0; p < pairs; ++p, a += strip.a.step_stride) {
    __m512i words_low, words_high;
    b.load(columns, words_low, words_high);
    add_line(words_low, words_high);
  }
  if constexpr (!B::kInOrder) {
    if (strip.terms % 2 != 0) {
      __m512i words_low, words_high;
      b.load_last(columns, words_low, words_high);
      add_line(words_low, words_high);
    }
#pragma GCC unroll 14
    for (int64_t r = 0; r < kR; ++r) reorder(low[r], high[r], first_in_order, second_in_order);
  }
  if (strip.out == nullptr) {
#pragma GCC unroll 14
    for (int64_t r = 0; r < kR; ++r) {
      _mm512_storeu_ps(sums + r * strip.sums_stride, low[r]);
      _mm512_storeu_ps(sums + r * strip.sums_stride + 16, high[r]);
    }
  } else {
#pragma GCC unroll 14
    for (int64_t r = 0; r < kR; ++r) {
      const uint16_t* const addend =
          strip.addend == nullptr ? nullptr : strip.addend + r * strip.addend_stride + col;
      store_rounded(low[r], high[r], addend, strip.out + r * strip.out_stride + col, columns);
    }
  }
}

template <typename B>
using TileFn = void (*)(const BFloat16Strip& strip, B b, int64_t col);

// The functions for 1 .. kRows rows.
template <typename B>
constexpr std::array<TileFn<B>, kRows> kTileFns = []<size_t... kI>(std::index_sequence<kI...>) {
  return std::array<TileFn<B>, kRows>{&multiply_tile<static_cast<int64_t>(kI) + 1, B>...};
}(std::make_index_sequence<kRows>());

BFloat16Rows pack_strip(ConstMatrix a, int64_t rows, int64_t terms, int64_t, uint16_t* packed) {
  const auto* const from = static_cast<const uint16_t*>(a.data);
  if (a.col_stride == 1 && a.row_stride <= kClose && terms % 2 == 0) return {from, a.row_stride, 2};
  const int64_t pairs = ceil_div(terms, 2);
  pack({from, a.row_stride, a.col_stride, rows, terms, rows, pairs},
       reinterpret_cast<uint32_t*>(packed));
  return {packed, 2, 2 * rows};
}

void multiply_strip(const BFloat16Strip& strip) {
  const TileFn<PackedLines> multiply = kTileFns<PackedLines>[static_cast<size_t>(strip.rows) - 1];
  const uint32_t* panel = strip.panels;
  for (int64_t col = 0; col < strip.cols; col += kCols, panel += strip.panel_words) {
    multiply(strip, {panel}, col);
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

}  // namespace

void pack_bfloat16_panel(
    ConstMatrix b, int64_t cols, int64_t terms, int64_t padded_terms, uint32_t* panel) {
  pack({static_cast<const uint16_t*>(b.data), b.col_stride, b.row_stride, cols, terms, kCols,
        padded_terms / 2},
       panel);
}

void multiply_unpacked(const BFloat16Strip& strip, const uint16_t* b, int64_t b_stride) {
  const TileFn<UnpackedLines> multiply =
      kTileFns<UnpackedLines>[static_cast<size_t>(strip.rows) - 1];
  for (int64_t col = 0; col < strip.cols; col += kCols) {
    multiply(strip, {b + col, b_stride, col + kCols < strip.cols ? kCols : 0}, col);
  }
}

MT_BF16_TARGET void store_transposed(const float* sums,
                                     int64_t sums_stride,
                                     int64_t rows,
                                     int64_t cols,
                                     uint16_t* out,
                                     int64_t stride,
                                     bool add) {
  for (int64_t row = 0; row < rows; row += 16) {
    const __mmask16 store = first_16(rows - row);
    for (int64_t col = 0; col < cols; col += 16) {
      const __mmask16 load = first_16(cols - col);
      __m512i words[16];
#pragma GCC unroll 16
      for (int64_t i = 0; i < 16; ++i) {
        words[i] = row + i < rows
                       ? _mm512_maskz_loadu_epi32(load, sums + (row + i) * sums_stride + col)
                       : _mm512_setzero_si512();
      }
      transpose_words(words);
#pragma GCC unroll 16
      for (int64_t i = 0; i < 16; ++i) {
        if (col + i >= cols) break;
        uint16_t* const to = out + (col + i) * stride + row;
        __m512 line = _mm512_castsi512_ps(words[i]);
        if (add) line = _mm512_add_ps(line, widen(_mm256_maskz_loadu_epi16(store, to)));
        _mm256_mask_storeu_epi16(to, store, reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(line)));
      }
    }
  }
}

const BFloat16Tiles* avx512_bfloat16_tiles() {
  static const bool has = allows_avx512() && __builtin_cpu_supports("avx512bf16") &&
                          __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
  static constexpr BFloat16Tiles kTiles = {
      kRows, 1, 2, kStripTerms, kMostUnpackedRows, 2, &pack_strip, &multiply_strip};
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

const BFloat16Tiles* avx512_bfloat16_tiles() { return nullptr; }

void pack_bfloat16_panel(ConstMatrix, int64_t, int64_t, int64_t, uint32_t*) {
  MT_ASSERT(bfloat16_tiles() != nullptr);
}

void multiply_unpacked(const BFloat16Strip&, const uint16_t*, int64_t) {
  MT_ASSERT(bfloat16_tiles() != nullptr);
}

void store_transposed(const float*, int64_t, int64_t, int64_t, uint16_t*, int64_t, bool) {
  MT_ASSERT(bfloat16_tiles() != nullptr);
}

void bfloat16_dots(
    int64_t, const uint16_t*, int64_t, int64_t, const uint16_t*, int64_t, int64_t, float*) {
  MT_ASSERT(bfloat16_tiles() != nullptr);
}

}  // namespace mindtorch::cpu
#endif
