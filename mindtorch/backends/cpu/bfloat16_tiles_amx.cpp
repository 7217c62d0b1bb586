#include "mindtorch/backends/cpu/bfloat16_tiles.h"
#include "mindtorch/backends/cpu/capability.h"

// AMX multiplies tiles of 16 x 32 and 32 x 16 elements in one instruction. A strip is two tiles
// high, so that four tiles of sums, two of a and two of b fill the eight registers. Both operands
// are packed by tiles: rows at a distance of a power of two would fall into few sets of the cache.
#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__)
// GCC 12 takes the undefined inputs of its own intrinsics for ours.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#define MT_AMX_TARGET [[gnu::target("amx-tile,amx-bf16,avx512f,avx512bw,avx512vl")]]

namespace mindtorch::cpu {
namespace {

constexpr int64_t kTileRows = 16;
constexpr int64_t kStepTerms = 32;
constexpr int64_t kStepWords = kStepTerms / 2 * kPanelCols;  // of a panel
constexpr int64_t kRows = 2 * kTileRows;
constexpr int64_t kTileElements = kTileRows * kStepTerms;
constexpr int64_t kTileRowBytes = 64;

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

// Rows of 32 terms, tile by tile: the two tiles of a step are neighbours.
MT_AMX_TARGET void pack_rows(
    const uint16_t* a, int64_t stride, int64_t rows, int64_t terms, uint16_t* packed) {
  for (int64_t r = 0; r < kRows; ++r) {
    const uint16_t* const row = a + r * stride;
    uint16_t* to = packed + r * kStepTerms;
    for (int64_t t = 0; t < terms; t += kStepTerms, to += 2 * kTileElements) {
      const int64_t used = r < rows ? std::min<int64_t>(kStepTerms, terms - t) : 0;
      const auto mask =
          used == kStepTerms ? ~__mmask32{0} : static_cast<__mmask32>((uint64_t{1} << used) - 1);
      _mm512_storeu_si512(to, _mm512_maskz_loadu_epi16(mask, row + t));
    }
  }
}

void pack_strip(ConstMatrix a, int64_t rows, int64_t terms, uint16_t* packed) {
  const auto* from = static_cast<const uint16_t*>(a.data);
  if (a.col_stride == 1) return pack_rows(from, a.row_stride, rows, terms, packed);
  const int64_t steps = (terms + kStepTerms - 1) / kStepTerms;
  std::memset(packed, 0, static_cast<size_t>(steps * 2 * kTileElements) * sizeof(uint16_t));
  for (int64_t t = 0; t < terms; ++t) {
    uint16_t* to = packed + t / kStepTerms * 2 * kTileElements + t % kStepTerms;
    for (int64_t r = 0; r < rows; ++r) {
      to[r * kStepTerms] = from[r * a.row_stride + t * a.col_stride];
    }
  }
}

MT_AMX_TARGET void multiply_tile(
    const uint16_t* a, const uint32_t* b, int64_t steps, float* sums, int64_t stride, bool add) {
  const auto row_bytes = static_cast<long>(stride * static_cast<int64_t>(sizeof(float)));
  float* const lower = sums + kTileRows * stride;
  if (add) {
    _tile_loadd(0, sums, row_bytes);
    _tile_loadd(1, sums + 16, row_bytes);
    _tile_loadd(2, lower, row_bytes);
    _tile_loadd(3, lower + 16, row_bytes);
  } else {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  }
  constexpr long kLineBytes = kPanelCols * sizeof(uint32_t);
  for (int64_t s = 0; s < steps; ++s, a += 2 * kTileElements, b += kStepWords) {
    _tile_loadd(4, a, kTileRowBytes);
    _tile_loadd(6, b, kLineBytes);
    _tile_dpbf16ps(0, 4, 6);
    _tile_loadd(7, b + 16, kLineBytes);
    _tile_dpbf16ps(1, 4, 7);
    _tile_loadd(5, a + kTileElements, kTileRowBytes);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  _tile_stored(0, sums, row_bytes);
  _tile_stored(1, sums + 16, row_bytes);
  _tile_stored(2, lower, row_bytes);
  _tile_stored(3, lower + 16, row_bytes);
}

MT_AMX_TARGET void multiply_strip(const uint16_t* strip,
                                  const uint32_t* panel,
                                  int64_t panel_words,
                                  int64_t panels,
                                  int64_t terms,
                                  float* sums,
                                  int64_t stride,
                                  bool add) {
  const int64_t steps = (terms + kStepTerms - 1) / kStepTerms;
  _tile_loadconfig(&kWholeTiles);
  for (int64_t i = 0; i < panels; ++i) {
    multiply_tile(strip, panel + i * panel_words, steps, sums + i * kPanelCols, stride, add);
  }
  _tile_release();  // a thread without tiles in use is cheaper to switch to
}

}  // namespace

const BFloat16Tiles* amx_bfloat16_tiles() {
  static const bool has = avx512_bfloat16_tiles() != nullptr && ask_for_tiles();
  static constexpr BFloat16Tiles kTiles = {kRows, kStepTerms, &pack_strip, &multiply_strip};
  return has ? &kTiles : nullptr;
}

}  // namespace mindtorch::cpu

#else  // no x86

namespace mindtorch::cpu {

const BFloat16Tiles* amx_bfloat16_tiles() { return nullptr; }

}  // namespace mindtorch::cpu
#endif
