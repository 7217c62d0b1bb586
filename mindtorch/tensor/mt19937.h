#pragma once

#include <array>
#include <cstdint>

#include "mindtorch/base/macros.h"

namespace mindtorch {

// The 32-bit Mersenne Twister of Matsumoto and Nishimura, seeded and stepped like torch's CPU
// engine. Not locked: a generator owns it and locks.
class MT_API Mt19937 {
 public:
  static constexpr int kStateWords = 624;

  // Only the low 32 bits of the seed reach the state, as in torch.
  explicit Mt19937(uint64_t seed);

  uint32_t next32();
  // The first of two words is the high half.
  uint64_t next64() {
    const uint64_t high = next32();
    return high << 32 | next32();
  }
  // The next `n` words, as `n` calls of next32() would give them.
  void fill(uint32_t* out, int64_t n);
  void skip(int64_t n);

  // What torch saves of its engine. `left` counts one more than the words that remain before the
  // next twist, so that a freshly seeded engine has left = 1 and next = 0.
  struct State {
    std::array<uint32_t, kStateWords> words;
    int32_t left;
    uint32_t next;
  };
  const State& state() const { return state_; }
  // False, and nothing changes, where `left` and `next` would lead outside the state.
  [[nodiscard]] bool set_state(const State& state);

 private:
  // How many words can be taken before the next twist.
  int64_t ready() const { return state_.left - 1; }
  void advance(int64_t n) {
    state_.left -= static_cast<int32_t>(n);
    state_.next += static_cast<uint32_t>(n);
  }
  void twist();

  State state_;
};

}  // namespace mindtorch
