#include "mindtorch/base/crc32.h"

#include <array>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace mindtorch {
namespace {

constexpr uint32_t kPolynomial = 0xEDB88320;  // with its bits reversed, as zip wants it

constexpr std::array<uint32_t, 256> make_table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? kPolynomial : 0);
    table[byte] = value;
  }
  return table;
}

constexpr std::array<uint32_t, 256> kTable = make_table();

uint32_t update_bytes(const uint8_t* data, size_t size, uint32_t state) noexcept {
  for (size_t i = 0; i < size; ++i) state = kTable[(state ^ data[i]) & 0xFF] ^ (state >> 8);
  return state;
}

#if defined(__x86_64__)

// A remainder of 128 bits is moved on by n bits when its halves are multiplied by powers of x
// modulo the polynomial. Each constant is such a power, bits reversed: of x^(512+32), x^(512-32),
// x^(128+32), x^(128-32), x^64.
constexpr int64_t kFold512Low = 0x0154442bd4;
constexpr int64_t kFold512High = 0x01c6e41596;
constexpr int64_t kFold128Low = 0x01751997d0;
constexpr int64_t kFold128High = 0x00ccaa009e;
constexpr int64_t kFold64 = 0x0163cd6124;
// Barrett's reduction: the polynomial, and the quotient of x^64 by it.
constexpr int64_t kReversedPolynomial = 0x01db710641;
constexpr int64_t kQuotient = 0x01f7011641;

__attribute__((target("pclmul,sse4.1"))) __m128i load(const uint8_t* data) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(data));
}

__attribute__((target("pclmul,sse4.1"))) __m128i fold(__m128i value, __m128i powers, __m128i next) {
  const __m128i low = _mm_clmulepi64_si128(value, powers, 0x00);
  const __m128i high = _mm_clmulepi64_si128(value, powers, 0x11);
  return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

// At least 64 bytes, and a multiple of 16.
__attribute__((target("pclmul,sse4.1"))) uint32_t update_blocks(const uint8_t* data,
                                                                 size_t size,
                                                                 uint32_t state) noexcept {
  const __m128i by_512 = _mm_set_epi64x(kFold512High, kFold512Low);
  const __m128i by_128 = _mm_set_epi64x(kFold128High, kFold128Low);
  const __m128i by_64 = _mm_set_epi64x(0, kFold64);
  const __m128i reduction = _mm_set_epi64x(kQuotient, kReversedPolynomial);
  const __m128i low_words = _mm_setr_epi32(-1, 0, -1, 0);

  __m128i a = _mm_xor_si128(load(data), _mm_cvtsi32_si128(static_cast<int>(state)));
  __m128i b = load(data + 16);
  __m128i c = load(data + 32);
  __m128i d = load(data + 48);
  for (data += 64, size -= 64; size >= 64; data += 64, size -= 64) {
    a = fold(a, by_512, load(data));
    b = fold(b, by_512, load(data + 16));
    c = fold(c, by_512, load(data + 32));
    d = fold(d, by_512, load(data + 48));
  }
  a = fold(fold(fold(a, by_128, b), by_128, c), by_128, d);
  for (; size >= 16; data += 16, size -= 16) a = fold(a, by_128, load(data));

  // 128 bits to 64, to 32.
  a = _mm_xor_si128(_mm_srli_si128(a, 8), _mm_clmulepi64_si128(a, by_128, 0x10));
  const __m128i rest = _mm_srli_si128(a, 4);
  a = _mm_xor_si128(_mm_clmulepi64_si128(_mm_and_si128(a, low_words), by_64, 0x00), rest);
  __m128i quotient = _mm_clmulepi64_si128(_mm_and_si128(a, low_words), reduction, 0x10);
  quotient = _mm_clmulepi64_si128(_mm_and_si128(quotient, low_words), reduction, 0x00);
  return static_cast<uint32_t>(_mm_extract_epi32(_mm_xor_si128(a, quotient), 1));
}

#endif

}  // namespace

bool has_fast_crc32() noexcept {
#if defined(__x86_64__)
  return __builtin_cpu_supports("pclmul") != 0 && __builtin_cpu_supports("sse4.1") != 0;
#else
  return false;
#endif
}

uint32_t crc32(const void* data, size_t size_bytes, uint32_t value) noexcept {
  const auto* bytes = static_cast<const uint8_t*>(data);
  uint32_t state = ~value;
#if defined(__x86_64__)
  if (size_bytes >= 64 && has_fast_crc32()) {
    const size_t blocks = size_bytes & ~size_t{15};
    state = update_blocks(bytes, blocks, state);
    bytes += blocks;
    size_bytes -= blocks;
  }
#endif
  return ~update_bytes(bytes, size_bytes, state);
}

}  // namespace mindtorch
