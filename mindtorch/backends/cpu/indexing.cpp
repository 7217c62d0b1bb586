#include "mindtorch/backends/cpu/indexing.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstring>
#include <limits>

#include "mindtorch/backends/cpu/ceil_div.h"
#include "mindtorch/backends/cpu/parallel.h"
#include "mindtorch/backends/cpu/sorting/keys.h"

// This file is compiled once per instruction set; plain loops below are vectorised for each.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mindtorch/backends/cpu/indexing.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#ifndef MT_INDEXING_BIT_PLACES_
#define MT_INDEXING_BIT_PLACES_
namespace mindtorch::cpu {
// The places of the bits that are set in each byte, lowest first.
struct BitPlaces {
  alignas(64) uint8_t of[256][8] = {};
  constexpr BitPlaces() {
    for (int byte = 0; byte < 256; ++byte) {
      int count = 0;
      for (uint8_t bit = 0; bit < 8; ++bit) {
        if ((byte >> bit & 1) != 0) of[byte][count++] = bit;
      }
    }
  }
};
inline constexpr BitPlaces kBitPlaces;
}  // namespace mindtorch::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using sorting::KeyOf;
using sorting::kIsFloat;
using sorting::kSignBit;

// Rows are looked at 64 elements at a time, as the bits of a word.
constexpr int64_t kWord = 64;

uint64_t nonzero_bytes(const uint8_t* bytes) {
  const hn::CappedTag<uint8_t, kWord> d;
  uint64_t word = 0;
  for (size_t i = 0; i < kWord; i += hn::Lanes(d)) {
    const auto mask = hn::Ne(hn::LoadU(d, bytes + i), hn::Zero(d));
    uint8_t bits[8] = {};
    hn::StoreMaskBits(d, mask, bits);
    uint64_t part;
    std::memcpy(&part, bits, sizeof part);
    word |= part << i;
  }
  return word;
}

template <typename T>
bool is_nonzero(KeyOf<T> bits) {
  return (kIsFloat<T> ? static_cast<KeyOf<T>>(bits & static_cast<KeyOf<T>>(~kSignBit<T>)) : bits) !=
         0;
}

template <typename T>
uint64_t nonzero_word(const KeyOf<T>* bits) {
  if constexpr (sizeof(T) == 1) {
    return nonzero_bytes(bits);
  } else {
    alignas(kWord) uint8_t flags[kWord];
    for (int64_t i = 0; i < kWord; ++i) flags[i] = is_nonzero<T>(bits[i]);
    return nonzero_bytes(flags);
  }
}

// The same for the last, shorter stretch.
template <typename T>
uint64_t nonzero_tail(const KeyOf<T>* bits, int64_t n) {
  uint64_t word = 0;
  for (int64_t i = 0; i < n; ++i) word |= uint64_t{is_nonzero<T>(bits[i])} << i;
  return word;
}

// `visit(word, begin)` for every 64 elements; bits past n are zero.
template <typename T, typename Visit>
void for_each_word(const void* in, int64_t n, Visit visit) {
  const auto* bits = static_cast<const KeyOf<T>*>(in);
  int64_t begin = 0;
  for (; begin + kWord <= n; begin += kWord) visit(nonzero_word<T>(bits + begin), begin);
  if (begin < n) visit(nonzero_tail<T>(bits + begin, n - begin), begin);
}

int64_t CountNonzero(DType dtype, const void* in, int64_t n) {
  return visit_dtype(dtype, [&]<typename T>() HWY_ATTR {
    int64_t count = 0;
    for_each_word<T>(in, n, [&](uint64_t word, int64_t) HWY_ATTR { count += std::popcount(word); });
    return count;
  });
}

// Positions are found for so many elements at a time.
constexpr int64_t kPositions = 1024;

// begin + i for every bit i of the word. Up to 8 more numbers are written than there are bits.
HWY_INLINE uint64_t* write_positions(uint64_t word, uint64_t begin, uint64_t* to) {
  if (word == ~uint64_t{0}) {
    for (uint64_t i = 0; i < kWord; ++i) to[i] = begin + i;
    return to + kWord;
  }
  if (std::popcount(word) <= 8) {
    for (; word != 0; word &= word - 1) {
      *to++ = begin + static_cast<uint64_t>(std::countr_zero(word));
    }
    return to;
  }
  for (; word != 0; word >>= 8, begin += 8) {
    const uint8_t* places = kBitPlaces.of[word & 0xff];
    for (size_t i = 0; i < 8; ++i) to[i] = begin + places[i];
    to += std::popcount(word & 0xff);
  }
  return to;
}

// rest[i] = rest[i] / size, and remainder[i] what is left.
void divide(uint64_t* rest, int64_t n, int64_t size, bool is_short, int64_t* remainder) {
  const auto divisor = static_cast<uint64_t>(size);
  if (!is_short) {
    for (int64_t i = 0; i < n; ++i) {
      const uint64_t quotient = rest[i] / divisor;
      remainder[i] = static_cast<int64_t>(rest[i] - quotient * divisor);
      rest[i] = quotient;
    }
    return;
  }
  // Exact for numbers below 2^31: the rounded inverse is off by less than 2^-31 of itself.
  const int shift = 31 + 64 - std::countl_zero(divisor - 1);
  const auto inverse = static_cast<uint32_t>(((uint64_t{1} << shift) - 1) / divisor + 1);
  for (int64_t i = 0; i < n; ++i) {
    const uint64_t quotient = uint64_t{static_cast<uint32_t>(rest[i])} * inverse >> shift;
    remainder[i] = static_cast<int64_t>(rest[i] - quotient * divisor);
    rest[i] = quotient;
  }
}

void FindNonzero(const ArrayPart& part, int64_t* out, int64_t step) {
  const bool is_short = part.end <= std::numeric_limits<int32_t>::max();
  uint64_t positions[kPositions + kWord];
  visit_dtype(part.dtype, [&]<typename T>() HWY_ATTR {
    const auto* bits = static_cast<const KeyOf<T>*>(part.data);
    for (int64_t begin = part.begin; begin < part.end; begin += kPositions) {
      uint64_t* to = positions;
      for_each_word<T>(bits + begin, std::min(kPositions, part.end - begin),
                       [&](uint64_t word, int64_t at) HWY_ATTR {
                         to = write_positions(word, static_cast<uint64_t>(begin + at), to);
                       });
      const int64_t count = to - positions;
      for (int64_t d = part.dims - 1; d > 0; --d) {
        if (part.sizes[d] == 1) {
          std::fill_n(out + d * step, count, 0);
        } else {
          divide(positions, count, part.sizes[d], is_short, out + d * step);
        }
      }
      std::copy_n(positions, count, out);
      out += count;
    }
  });
}

template <typename Element>
int64_t select_elements(const void* in, const uint8_t* mask, int64_t n, void* out) {
  const auto* from = static_cast<const Element*>(in);
  auto* to = static_cast<Element*>(out);
  for_each_word<uint8_t>(mask, n, [&](uint64_t word, int64_t begin) HWY_ATTR {
    if (word == ~uint64_t{0}) {
      std::memcpy(to, from + begin, kWord * sizeof(Element));
      to += kWord;
      return;
    }
    for (; word != 0; word &= word - 1) *to++ = from[begin + std::countr_zero(word)];
  });
  return to - static_cast<Element*>(out);
}

int64_t select_bytes(int64_t size, const void* in, const uint8_t* mask, int64_t n, void* out) {
  int64_t count = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (mask[i] == 0) continue;
    std::memcpy(static_cast<std::byte*>(out) + count++ * size,
                static_cast<const std::byte*>(in) + i * size, static_cast<size_t>(size));
  }
  return count;
}

int64_t MaskedSelect(int64_t size, const void* in, const uint8_t* mask, int64_t n, void* out) {
  switch (size) {
    case 1:
      return select_elements<uint8_t>(in, mask, n, out);
    case 2:
      return select_elements<uint16_t>(in, mask, n, out);
    case 4:
      return select_elements<uint32_t>(in, mask, n, out);
    case 8:
      return select_elements<uint64_t>(in, mask, n, out);
    default:
      return select_bytes(size, in, mask, n, out);
  }
}

int64_t CheckIndices(const int64_t* index, int64_t n, int64_t lowest, int64_t size) {
  constexpr int64_t kBlock = 1024;
  // Numbers below the lowest are large ones when unsigned.
  const auto range = static_cast<uint64_t>(size) - static_cast<uint64_t>(lowest);
  const auto is_bad = [=](int64_t i) HWY_ATTR {
    return static_cast<uint64_t>(i) - static_cast<uint64_t>(lowest) >= range;
  };
  const hn::ScalableTag<uint64_t> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto* bits = reinterpret_cast<const uint64_t*>(index);
  const auto first = hn::Set(d, static_cast<uint64_t>(lowest));
  const auto end_of_range = hn::Set(d, range);
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t end = std::min(begin + kBlock, n);
    bool bad = false;
    auto inside = hn::Eq(first, first);
    int64_t i = begin;
    for (; i + lanes <= end; i += lanes) {
      const auto shifted = hn::Sub(hn::LoadU(d, bits + i), first);
      inside = hn::And(inside, hn::Lt(shifted, end_of_range));
    }
    for (; i < end; ++i) bad |= is_bad(index[i]);
    if (bad || !hn::AllTrue(d, inside))
      return std::find_if(index + begin, index + end, is_bad) - index;
  }
  return -1;
}

struct Gather {
  const std::byte* src;
  int64_t row_bytes;
  const int64_t* index;
  int64_t count;
  int64_t src_rows;
  int64_t stride_bytes;
  std::byte* out;

  [[nodiscard]] const std::byte* row(int64_t i) const {
    const int64_t wanted = index[i];
    return src + (wanted + ((wanted >> 63) & src_rows)) * stride_bytes;
  }
};

template <typename Element>
void gather_elements(const Gather& g) {
  auto* out = reinterpret_cast<Element*>(g.out);
  for (int64_t i = 0; i < g.count; ++i) std::memcpy(out + i, g.row(i), sizeof(Element));
}

// Rows of at least 16 bytes as vectors; the last one may overlap the one before it. A row's cache
// lines are asked for a few rows ahead.
template <size_t kVectorBytes>
void gather_vectors(const Gather& g) {
  constexpr int64_t kLine = 64;
  constexpr int64_t kLinesAhead = 32;
  const hn::CappedTag<uint8_t, kVectorBytes> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  // The machine sees the rest of a long row coming by itself.
  const int64_t row_lines = std::min(ceil_div(g.row_bytes, kLine), kLinesAhead);
  const int64_t ahead = kLinesAhead / row_lines;
  const auto copy_row = [&](int64_t i) HWY_ATTR {
    const auto* from = reinterpret_cast<const uint8_t*>(g.row(i));
    auto* to = reinterpret_cast<uint8_t*>(g.out + i * g.row_bytes);
    int64_t at = 0;
    for (; at + lanes <= g.row_bytes; at += lanes) {
      hn::StoreU(hn::LoadU(d, from + at), d, to + at);
    }
    if (at < g.row_bytes) {
      at = g.row_bytes - lanes;
      hn::StoreU(hn::LoadU(d, from + at), d, to + at);
    }
  };
  int64_t i = 0;
  for (; i + ahead < g.count; ++i) {
    const std::byte* next = g.row(i + ahead);
    for (int64_t line = 0; line < row_lines; ++line) __builtin_prefetch(next + line * kLine);
    copy_row(i);
  }
  for (; i < g.count; ++i) copy_row(i);
}

void GatherRows(const void* src,
                int64_t row_bytes,
                const int64_t* index,
                int64_t count,
                int64_t src_rows,
                int64_t src_row_stride_bytes,
                void* out) {
  constexpr int64_t kLongRow = 8192;
  const Gather g{
      static_cast<const std::byte*>(src), row_bytes, index, count, src_rows, src_row_stride_bytes,
      static_cast<std::byte*>(out)};
  switch (row_bytes) {
    case 0:
      return;
    case 1:
      return gather_elements<uint8_t>(g);
    case 2:
      return gather_elements<uint16_t>(g);
    case 4:
      return gather_elements<uint32_t>(g);
    case 8:
      return gather_elements<uint64_t>(g);
    default:
      break;
  }
  // Rows of a table that the first-level cache holds need not be asked for.
  constexpr int64_t kNearBytes = 32 * 1024;
  const bool is_near = row_bytes >= 64 && src_rows <= kNearBytes / src_row_stride_bytes;
  if (row_bytes < 16 || row_bytes > kLongRow || is_near) {
    for (int64_t i = 0; i < count; ++i) {
      std::memcpy(g.out + i * row_bytes, g.row(i), static_cast<size_t>(row_bytes));
    }
  } else if (row_bytes < 32) {
    gather_vectors<16>(g);
  } else if (row_bytes < 64) {
    gather_vectors<32>(g);
  } else {
    gather_vectors<64>(g);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mindtorch::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mindtorch::cpu {

HWY_EXPORT(CountNonzero);
HWY_EXPORT(FindNonzero);
HWY_EXPORT(MaskedSelect);
HWY_EXPORT(CheckIndices);
HWY_EXPORT(GatherRows);

int64_t count_nonzero(DType dtype, const void* in, int64_t n) {
  return HWY_DYNAMIC_DISPATCH(CountNonzero)(dtype, in, n);
}
void find_nonzero(const ArrayPart& part, int64_t* out, int64_t step) {
  HWY_DYNAMIC_DISPATCH(FindNonzero)(part, out, step);
}
int64_t masked_select_contiguous(
    int64_t element_size_bytes, const void* in, const uint8_t* mask, int64_t n, void* out) {
  return HWY_DYNAMIC_DISPATCH(MaskedSelect)(element_size_bytes, in, mask, n, out);
}
namespace {
int64_t find_bad_index(const int64_t* index, int64_t n, int64_t lowest, int64_t size) {
  constexpr int64_t kGrain = 32 * 1024;
  std::atomic<int64_t> first = n;
  parallel_for(0, n, kGrain, [&](int64_t begin, int64_t end) {
    const int64_t bad =
        HWY_DYNAMIC_DISPATCH(CheckIndices)(index + begin, end - begin, lowest, size);
    if (bad < 0) return;
    int64_t seen = first;
    while (begin + bad < seen && !first.compare_exchange_weak(seen, begin + bad)) {
    }
  });
  return first == n ? -1 : first.load();
}
}  // namespace

int64_t check_indices(const int64_t* index, int64_t n, int64_t size) {
  return find_bad_index(index, n, -size, size);
}
int64_t check_positive_indices(const int64_t* index, int64_t n, int64_t size) {
  return find_bad_index(index, n, 0, size);
}
void gather_rows(const void* src,
                 int64_t row_bytes,
                 const int64_t* index,
                 int64_t count,
                 int64_t src_rows,
                 int64_t src_row_stride_bytes,
                 void* out) {
  HWY_DYNAMIC_DISPATCH(GatherRows)
  (src, row_bytes, index, count, src_rows, src_row_stride_bytes, out);
}

}  // namespace mindtorch::cpu
#endif
