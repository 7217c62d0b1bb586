#include "mindtorch/backends/cpu/convolution/bfloat16_lines.h"

#include <algorithm>

#include "mindtorch/backends/cpu/bfloat16_tiles.h"
#include "mindtorch/backends/cpu/bfloat16_words.h"
#include "mindtorch/base/error.h"

namespace mindtorch::cpu::convolution {

void OutputLines::set(std::span<const int64_t> outputs) {
  runs_.clear();
  first_ = {0};
  for (size_t i = 0; i < outputs.size(); ++i) {
    const size_t j = i % kPanelCols;
    if (j == 0 || outputs[i] != outputs[i - 1] + 1) {
      runs_.push_back({outputs[i] - static_cast<int64_t>(j), 0});
    }
    runs_.back().members |= 1u << j;
    if (j + 1 == kPanelCols || i + 1 == outputs.size()) first_.push_back(runs_.size());
  }
}

#if defined(__x86_64__) && defined(__GNUC__)
namespace {

// The outputs of a line for one term.
MT_WORDS_INLINE __m512i load_line(const uint16_t* term, std::span<const Run> line) {
  __m512i elements = _mm512_maskz_loadu_epi16(line[0].members, term + line[0].at);
  for (size_t i = 1; i < line.size(); ++i) {
    elements = _mm512_mask_loadu_epi16(elements, line[i].members, term + line[i].at);
  }
  return elements;
}

// Elements [at, at + 32) of a line of `size`, 0 where there are none.
MT_WORDS_INLINE __m512i load_inside(const uint16_t* line, int64_t size, int64_t at) {
  const __mmask32 before = first_32(std::clamp<int64_t>(-at, 0, 32));
  const __mmask32 inside = first_32(std::clamp<int64_t>(size - at, 0, 32)) & ~before;
  return _mm512_maskz_loadu_epi16(inside, line + at);
}

}  // namespace

[[gnu::target("avx512f,avx512bw,avx512vl,avx512dq")]] void copy_line(
    const uint16_t* line, int64_t size, int64_t first, int64_t step, int64_t count, uint16_t* to) {
  for (int64_t i = 0; i < count; i += 32) {
    const int64_t at = first + i * step;
    __m512i elements = load_inside(line, size, at);
    if (step == 2) {  // the low halves of words
      const __m256i low = _mm512_cvtepi32_epi16(elements);
      const __m256i high = _mm512_cvtepi32_epi16(load_inside(line, size, at + 32));
      elements = _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
    }
    _mm512_mask_storeu_epi16(to + i, first_32(count - i), elements);
  }
}

[[gnu::target("avx512f,avx512bw,avx512vl,avx512dq")]] void copy_lines(const uint16_t* from,
                                                                      int64_t from_pitch,
                                                                      int64_t lines,
                                                                      int64_t size,
                                                                      int64_t first,
                                                                      int64_t step,
                                                                      int64_t count,
                                                                      uint16_t* to) {
  if (step != 1 || count > 32) {
    for (int64_t i = 0; i < lines; ++i) {
      copy_line(from + i * from_pitch, size, first, step, count, to + i * count);
    }
    return;
  }
  const __mmask32 before = first_32(std::clamp<int64_t>(-first, 0, 32));
  const __mmask32 inside = first_32(std::clamp<int64_t>(size - first, 0, 32)) & ~before;
  const __mmask32 all = first_32(count);
  for (int64_t i = 0; i < lines; ++i) {
    const __m512i elements = _mm512_maskz_loadu_epi16(inside, from + i * from_pitch + first);
    _mm512_mask_storeu_epi16(to + i * count, all, elements);
  }
}

[[gnu::target("avx512f,avx512bw,avx512vl,avx512dq")]] void pack_outputs(
    const uint16_t* patch,
    std::span<const int64_t> offsets,
    bool has_ones,
    int64_t padded_terms,
    std::span<const Run> line,
    uint32_t* panel) {
  const size_t terms = offsets.size();
  size_t t = 0;
  for (; t + 2 <= terms; t += 2, panel += kPanelCols) {
    interleave(load_line(patch + offsets[t], line), load_line(patch + offsets[t + 1], line), panel);
  }
  const __m512i zeros = _mm512_setzero_si512();
  const __m512i ones = has_ones ? _mm512_set1_epi16(0x3F80) : zeros;
  if (t < terms) {
    interleave(load_line(patch + offsets[t], line), ones, panel);
    t += 2;
    panel += kPanelCols;
  } else if (has_ones) {
    interleave(ones, zeros, panel);
    t += 2;
    panel += kPanelCols;
  }
  for (; t < static_cast<size_t>(padded_terms); t += 2, panel += kPanelCols) {
    _mm512_storeu_si512(panel, zeros);
    _mm512_storeu_si512(panel + 16, zeros);
  }
}

[[gnu::target("avx512f,avx512bw,avx512vl,avx512dq")]] void pack_terms(
    const uint16_t* patch,
    std::span<const int64_t> offsets,
    const OutputLines& outputs,
    uint32_t* panel) {
  for (int64_t i = 0; i < outputs.lines(); ++i, panel += 16 * kPanelCols) {
    const std::span<const Run> line = outputs.line(i);
    for (size_t begin = 0; begin < kPanelCols; begin += 16) {
      __m512i words[16];
#pragma GCC unroll 16
      for (size_t j = 0; j < 16; ++j) {
        words[j] = begin + j < offsets.size() ? load_line(patch + offsets[begin + j], line)
                                              : _mm512_setzero_si512();
      }
      transpose_words(words);
#pragma GCC unroll 16
      for (size_t j = 0; j < 16; ++j) {
        _mm512_storeu_si512(panel + j * kPanelCols + begin, words[j]);
      }
    }
  }
}

#else  // no x86

void copy_line(const uint16_t*, int64_t, int64_t, int64_t, int64_t, uint16_t*) {
  MT_ASSERT(bfloat16_tiles() != nullptr);
}

void copy_lines(const uint16_t*, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, uint16_t*) {
  MT_ASSERT(bfloat16_tiles() != nullptr);
}

void pack_outputs(
    const uint16_t*, std::span<const int64_t>, bool, int64_t, std::span<const Run>, uint32_t*) {
  MT_ASSERT(bfloat16_tiles() != nullptr);
}

void pack_terms(const uint16_t*, std::span<const int64_t>, const OutputLines&, uint32_t*) {
  MT_ASSERT(bfloat16_tiles() != nullptr);
}

#endif

}  // namespace mindtorch::cpu::convolution
