#include "mindtorch/backends/cpu/bfloat16_tiles.h"
#include "mindtorch/backends/cpu/capability.h"

// AMX multiplies tiles of 16 x 32 and 32 x 16 elements in one instruction. A strip is two tiles
// high, so that four tiles of sums, two of a and two of b fill the eight registers. What is read
// more than a few times is packed: rows at a distance of a power of two would fall into few sets of
// the cache.
#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "mindtorch/backends/cpu/bfloat16_words.h"
#include "mindtorch/backends/cpu/ceil_div.h"

#define MT_AMX_TARGET \
  [[gnu::target("amx-tile,amx-bf16,avx512f,avx512bw,avx512vl,avx512dq,avx512bf16")]]

namespace mindtorch::cpu {
namespace {

constexpr int64_t kTileRows = 16;
constexpr int64_t kStepTerms = 32;
constexpr int64_t kStepWords = kStepTerms / 2 * kPanelCols;  // of a panel
constexpr int64_t kRows = 2 * kTileRows;
constexpr int64_t kStripTerms = 512;
constexpr int64_t kTileRowBytes = 64;
// Rows are read where they lie if they are this close together, or for so few panels.
constexpr int64_t kClose = 512;
constexpr int64_t kFewPanels = 4;
// Panels whose sums are rounded together: an instruction that reads what a tile has just written
// waits for it.
constexpr int64_t kTogether = 4;
constexpr int64_t kMostUnpacked = 6;

// The layout that LDTILECFG reads.
struct alignas(64) TileConfig {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};
};

constexpr TileConfig kWholeTiles = [] {
  TileConfig config;
  for (int i = 0; i < 8; ++i) {
    config.row_bytes[i] = kTileRowBytes;
    config.rows[i] = kTileRows;
  }
  return config;
}();

// The kernel grants the registers' 8 KiB of state to processes that ask for it.
bool ask_for_tiles() {
  constexpr unsigned kAmxBf16 = 1u << 22;
  constexpr unsigned kAmxTile = 1u << 24;
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (!allows_avx512()) return false;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0) return false;
  if ((edx & kAmxBf16) == 0 || (edx & kAmxTile) == 0) return false;
  constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;               // XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

// Rows of 32 terms, step by step.
MT_AMX_TARGET void pack_rows(
    const uint16_t* a, int64_t stride, int64_t rows, int64_t terms, int64_t height, uint16_t* to) {
  for (int64_t r = 0; r < height; ++r) {
    uint16_t* line = to + r * kStepTerms;
    for (int64_t t = 0; t < terms; t += kStepTerms, line += height * kStepTerms) {
      const __mmask32 used = r < rows ? first_32(terms - t) : 0;
      _mm512_storeu_si512(line, _mm512_maskz_loadu_epi16(used, a + r * stride + t));
    }
  }
}

// The same where rows are neighbours and terms are `stride` apart.
MT_AMX_TARGET void pack_columns(
    const uint16_t* a, int64_t stride, int64_t rows, int64_t terms, int64_t height, uint16_t* to) {
  for (int64_t t = 0; t < terms; t += kStepTerms) {
    for (int64_t r = 0; r < height; r += kTileRows) {
      const __mmask16 used = first_16(std::max<int64_t>(rows - r, 0));
      __m512i words[16];
#pragma GCC unroll 16
      for (int64_t p = 0; p < 16; ++p) {
        const int64_t term = t + 2 * p;
        const uint16_t* const from = a + term * stride + r;
        const __m256i low =
            term < terms ? _mm256_maskz_loadu_epi16(used, from) : _mm256_setzero_si256();
        const __m256i high = term + 1 < terms ? _mm256_maskz_loadu_epi16(used, from + stride)
                                              : _mm256_setzero_si256();
        words[p] = interleave(low, high);
      }
      transpose_words(words);
#pragma GCC unroll 16
      for (int64_t i = 0; i < 16; ++i) _mm512_storeu_si512(to + (r + i) * kStepTerms, words[i]);
    }
    to += height * kStepTerms;
  }
}

void pack_scattered(ConstMatrix a, int64_t rows, int64_t terms, int64_t height, uint16_t* to) {
  const auto* const from = static_cast<const uint16_t*>(a.data);
  for (int64_t t = 0; t < terms; t += kStepTerms, to += height * kStepTerms) {
    for (int64_t i = 0; i < height * kStepTerms; ++i) {
      const int64_t row = i / kStepTerms;
      const int64_t term = t + i % kStepTerms;
      to[i] = row < rows && term < terms ? from[row * a.row_stride + term * a.col_stride] : 0;
    }
  }
}

BFloat16Rows pack_strip(
    ConstMatrix a, int64_t rows, int64_t terms, int64_t panels, uint16_t* packed) {
  const auto* const from = static_cast<const uint16_t*>(a.data);
  if (a.col_stride == 1 && terms % kStepTerms == 0 && rows % kTileRows == 0 &&
      (a.row_stride <= kClose || panels <= kFewPanels)) {
    return {from, a.row_stride, kStepTerms};
  }
  const int64_t height = rows <= kTileRows ? kTileRows : kRows;
  if (a.col_stride == 1) {
    pack_rows(from, a.row_stride, rows, terms, height, packed);
  } else if (a.row_stride == 1) {
    pack_columns(from, a.col_stride, rows, terms, height, packed);
  } else {
    pack_scattered(a, rows, terms, height, packed);
  }
  return {packed, kStepTerms, height * kStepTerms};
}

// One or two tiles of rows, and of columns.
template <bool kTwoHigh, bool kTwoWide>
MT_AMX_TARGET void multiply_tiles(const BFloat16Rows& rows,
                                  const uint32_t* b,
                                  int64_t steps,
                                  float* sums,
                                  int64_t stride,
                                  bool add) {
  const auto sum_bytes = static_cast<long>(stride * static_cast<int64_t>(sizeof(float)));
  float* const lower = sums + kTileRows * stride;
  if (add) {
    _tile_loadd(0, sums, sum_bytes);
    if constexpr (kTwoWide) _tile_loadd(1, sums + 16, sum_bytes);
    if constexpr (kTwoHigh) _tile_loadd(2, lower, sum_bytes);
    if constexpr (kTwoHigh && kTwoWide) _tile_loadd(3, lower + 16, sum_bytes);
  } else {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  }
  const auto row_bytes =
      static_cast<long>(rows.row_stride * static_cast<int64_t>(sizeof(uint16_t)));
  constexpr long kLineBytes = kPanelCols * sizeof(uint32_t);
  const uint16_t* a = rows.data;
  const uint16_t* a_lower = a + kTileRows * rows.row_stride;
  for (int64_t s = 0; s < steps; ++s) {
    _tile_loadd(4, a, row_bytes);
    _tile_loadd(6, b, kLineBytes);
    _tile_dpbf16ps(0, 4, 6);
    if constexpr (kTwoWide) {
      _tile_loadd(7, b + 16, kLineBytes);
      _tile_dpbf16ps(1, 4, 7);
    }
    if constexpr (kTwoHigh) {
      _tile_loadd(5, a_lower, row_bytes);
      _tile_dpbf16ps(2, 5, 6);
      if constexpr (kTwoWide) _tile_dpbf16ps(3, 5, 7);
    }
    a += rows.step_stride;
    a_lower += rows.step_stride;
    b += kStepWords;
  }
  _tile_stored(0, sums, sum_bytes);
  if constexpr (kTwoWide) _tile_stored(1, sums + 16, sum_bytes);
  if constexpr (kTwoHigh) _tile_stored(2, lower, sum_bytes);
  if constexpr (kTwoHigh && kTwoWide) _tile_stored(3, lower + 16, sum_bytes);
}

MT_AMX_TARGET void multiply_panel(
    const BFloat16Strip& strip, const uint32_t* panel, int64_t cols, float* sums, int64_t stride) {
  const int64_t steps = ceil_div(strip.terms, kStepTerms);
  const bool two_high = strip.rows > kTileRows;
  const bool two_wide = cols > 16;
  const auto multiply =
      two_high ? (two_wide ? &multiply_tiles<true, true> : &multiply_tiles<true, false>)
               : (two_wide ? &multiply_tiles<false, true> : &multiply_tiles<false, false>);
  multiply(strip.a, panel, steps, sums, stride, strip.add);
}

// Columns [col, col + cols), whose sums are complete.
MT_AMX_TARGET void round_sums(
    const BFloat16Strip& strip, int64_t col, int64_t cols, const float* sums, int64_t stride) {
  for (int64_t r = 0; r < strip.rows; ++r, sums += stride) {
    const uint16_t* const addend =
        strip.addend == nullptr ? nullptr : strip.addend + r * strip.addend_stride + col;
    uint16_t* const out = strip.out + r * strip.out_stride + col;
    for (int64_t c = 0; c < cols; c += kPanelCols) {
      store_rounded(_mm512_loadu_ps(sums + c), _mm512_loadu_ps(sums + c + 16),
                    addend == nullptr ? nullptr : addend + c, out + c, first_32(cols - c));
    }
  }
}

void copy_rows(const float* from,
               int64_t from_stride,
               int64_t rows,
               int64_t cols,
               float* to,
               int64_t to_stride) {
  for (int64_t r = 0; r < rows; ++r) {
    std::memcpy(to + r * to_stride, from + r * from_stride,
                static_cast<size_t>(cols) * sizeof(float));
  }
}

MT_AMX_TARGET void multiply_strip(const BFloat16Strip& strip) {
  constexpr int64_t kLocalStride = kTogether * kPanelCols;
  alignas(64) float local[kRows * kLocalStride];
  // Tiles are written whole, so that sums of fewer rows are, too.
  const bool has_whole_tiles = strip.rows % kTileRows == 0;
  const bool is_local = (strip.out != nullptr && !strip.add) || !has_whole_tiles;
  _tile_loadconfig(&kWholeTiles);
  for (int64_t col = 0; col < strip.cols; col += kLocalStride) {
    float* const given = strip.sums == nullptr ? nullptr : strip.sums + col;
    float* const sums = is_local ? local : given;
    const int64_t stride = is_local ? kLocalStride : strip.sums_stride;
    const int64_t cols = std::min(kLocalStride, strip.cols - col);
    const int64_t panel_cols = ceil_div(cols, kPanelCols) * kPanelCols;
    if (is_local && strip.add) {
      copy_rows(given, strip.sums_stride, strip.rows, panel_cols, local, kLocalStride);
    }
    for (int64_t c = 0; c < cols; c += kPanelCols) {
      multiply_panel(strip, strip.panels + (col + c) / kPanelCols * strip.panel_words, cols - c,
                     sums + c, stride);
    }
    if (strip.out != nullptr) {
      round_sums(strip, col, cols, sums, stride);
    } else if (is_local) {
      copy_rows(local, kLocalStride, strip.rows, panel_cols, given, strip.sums_stride);
    }
  }
  _tile_release();  // a thread without tiles in use is cheaper to switch to
}

}  // namespace

const BFloat16Tiles* amx_bfloat16_tiles() {
  static const bool has = avx512_bfloat16_tiles() != nullptr && ask_for_tiles();
  static constexpr BFloat16Tiles kTiles = {kRows,         kRows, kStepTerms,  kStripTerms,
                                           kMostUnpacked, 1,     &pack_strip, &multiply_strip};
  return has ? &kTiles : nullptr;
}

}  // namespace mindtorch::cpu

#else  // no x86

namespace mindtorch::cpu {

const BFloat16Tiles* amx_bfloat16_tiles() { return nullptr; }

}  // namespace mindtorch::cpu
#endif
