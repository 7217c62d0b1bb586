#include "mindtorch/tensor/mt19937.h"

#include <algorithm>

namespace mindtorch {

namespace {

constexpr int kN = Mt19937::kStateWords;
constexpr int kM = 397;

uint32_t mix(uint32_t current, uint32_t following) {
  const uint32_t joined = (current & 0x80000000u) | (following & 0x7fffffffu);
  return joined >> 1 ^ ((0u - (following & 1u)) & 0x9908b0dfu);
}

uint32_t temper(uint32_t word) {
  word ^= word >> 11;
  word ^= word << 7 & 0x9d2c5680u;
  word ^= word << 15 & 0xefc60000u;
  return word ^ word >> 18;
}

}  // namespace

Mt19937::Mt19937(uint64_t seed) {
  uint32_t word = static_cast<uint32_t>(seed);
  state_.words[0] = word;
  for (uint32_t i = 1; i < kN; ++i) {
    word = 1812433253u * (word ^ word >> 30) + i;
    state_.words[i] = word;
  }
  state_.left = 1;
  state_.next = 0;
}

uint32_t Mt19937::next32() {
  if (ready() == 0) twist();
  const uint32_t word = temper(state_.words[state_.next]);
  advance(1);
  return word;
}

void Mt19937::fill(uint32_t* out, int64_t n) {
  while (n > 0) {
    if (ready() == 0) twist();
    const int64_t count = std::min(n, ready());
    const uint32_t* words = state_.words.data() + state_.next;
    for (int64_t i = 0; i < count; ++i) out[i] = temper(words[i]);
    advance(count);
    out += count;
    n -= count;
  }
}

void Mt19937::skip(int64_t n) {
  while (n > 0) {
    if (ready() == 0) twist();
    const int64_t count = std::min(n, ready());
    advance(count);
    n -= count;
  }
}

bool Mt19937::set_state(const State& state) {
  if (state.left < 1 || state.left > kN || state.next > kN) return false;
  if (state.next + static_cast<uint32_t>(state.left) > kN + 1) return false;
  state_ = state;
  return true;
}

// Neither loop reads what it wrote fewer than 227 steps ago, so the compiler vectorises both.
void Mt19937::twist() {
  uint32_t* words = state_.words.data();
  for (int i = 0; i < kN - kM; ++i) words[i] = words[i + kM] ^ mix(words[i], words[i + 1]);
  for (int i = kN - kM; i < kN - 1; ++i) {
    words[i] = words[i + kM - kN] ^ mix(words[i], words[i + 1]);
  }
  words[kN - 1] = words[kM - 1] ^ mix(words[kN - 1], words[0]);
  state_.left = kN + 1;
  state_.next = 0;
}

}  // namespace mindtorch
