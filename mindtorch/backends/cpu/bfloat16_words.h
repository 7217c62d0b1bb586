#pragma once

#include <cstdint>

// Pairs of bfloat16 elements as 32-bit words, for both instruction sets of bfloat16_tiles.h.
#if defined(__x86_64__) && defined(__GNUC__)
// GCC 12 takes the undefined inputs of its own intrinsics for ours.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>

#define MT_WORDS_INLINE \
  [[gnu::target("avx512f,avx512bw,avx512vl,avx512dq"), gnu::always_inline]] inline

namespace mindtorch::cpu {

constexpr __mmask16 first_16(int64_t count) {
  return static_cast<__mmask16>(count >= 16 ? 0xFFFFu : (1u << count) - 1);
}
constexpr __mmask32 first_32(int64_t count) {
  return count >= 32 ? ~__mmask32{0} : static_cast<__mmask32>((1u << count) - 1);
}

// Words of two lines of 16 elements: the earlier line in the low halves.
MT_WORDS_INLINE __m512i interleave(__m256i low, __m256i high) {
  return _mm512_or_si512(_mm512_cvtepu16_epi32(low),
                         _mm512_slli_epi32(_mm512_cvtepu16_epi32(high), 16));
}

// The same for two lines of 32 elements.
MT_WORDS_INLINE void interleave(__m512i low, __m512i high, uint32_t* to) {
  // Instructions interleave quarters of registers: bring those of the result into both halves.
  const __m512i order = _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7);
  low = _mm512_permutexvar_epi64(order, low);
  high = _mm512_permutexvar_epi64(order, high);
  _mm512_storeu_si512(to, _mm512_unpacklo_epi16(low, high));
  _mm512_storeu_si512(to + 16, _mm512_unpackhi_epi16(low, high));
}

// Transposes 16 x 16 words.
MT_WORDS_INLINE void transpose_words(__m512i (&rows)[16]) {
  __m512i by_two[16];
#pragma GCC unroll 8
  for (int i = 0; i < 16; i += 2) {
    by_two[i] = _mm512_unpacklo_epi32(rows[i], rows[i + 1]);
    by_two[i + 1] = _mm512_unpackhi_epi32(rows[i], rows[i + 1]);
  }
  __m512i by_four[16];
#pragma GCC unroll 4
  for (int i = 0; i < 16; i += 4) {
    by_four[i] = _mm512_unpacklo_epi64(by_two[i], by_two[i + 2]);
    by_four[i + 1] = _mm512_unpackhi_epi64(by_two[i], by_two[i + 2]);
    by_four[i + 2] = _mm512_unpacklo_epi64(by_two[i + 1], by_two[i + 3]);
    by_four[i + 3] = _mm512_unpackhi_epi64(by_two[i + 1], by_two[i + 3]);
  }
  // by_four[4 i + j] holds words j, j + 4, j + 8, j + 12 of rows 4 i .. 4 i + 3.
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    const __m512i upper_even = _mm512_shuffle_i32x4(by_four[j], by_four[4 + j], 0x88);
    const __m512i upper_odd = _mm512_shuffle_i32x4(by_four[j], by_four[4 + j], 0xDD);
    const __m512i lower_even = _mm512_shuffle_i32x4(by_four[8 + j], by_four[12 + j], 0x88);
    const __m512i lower_odd = _mm512_shuffle_i32x4(by_four[8 + j], by_four[12 + j], 0xDD);
    rows[j] = _mm512_shuffle_i32x4(upper_even, lower_even, 0x88);
    rows[8 + j] = _mm512_shuffle_i32x4(upper_even, lower_even, 0xDD);
    rows[4 + j] = _mm512_shuffle_i32x4(upper_odd, lower_odd, 0x88);
    rows[12 + j] = _mm512_shuffle_i32x4(upper_odd, lower_odd, 0xDD);
  }
}

MT_WORDS_INLINE __m512 widen(__m256i halves) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16));
}

// The sums of 32 columns of one row, rounded to `out`; `addend` is added first unless it is null.
[[gnu::target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16"), gnu::always_inline]] inline void
store_rounded(__m512 low, __m512 high, const uint16_t* addend, uint16_t* out, __mmask32 columns) {
  if (addend != nullptr) {
    const __m512i more = _mm512_maskz_loadu_epi16(columns, addend);
    low = _mm512_add_ps(low, widen(_mm512_castsi512_si256(more)));
    high = _mm512_add_ps(high, widen(_mm512_extracti64x4_epi64(more, 1)));
  }
  _mm512_mask_storeu_epi16(out, columns, reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high, low)));
}

}  // namespace mindtorch::cpu
#endif
