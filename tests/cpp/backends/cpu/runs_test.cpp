#include "mindtorch/backends/cpu/runs.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace mindtorch::cpu {
namespace {

// Three pieces with gaps between them, at any alignment; what lies around them must stay.
void check(void (*copy)(const Runs&, int64_t)) {
  constexpr int64_t kPieces = 3;
  constexpr uint8_t kAround = 0xee;
  for (const int64_t bytes :
       {0, 1, 2, 3, 4, 7, 8, 15, 16, 17, 63, 64, 65, 127, 128, 200, 1000, 8192, 20001}) {
    for (const int64_t shift : {0, 1, 8, 63}) {
      const int64_t from_step = bytes + 5;
      const int64_t to_step = bytes + 9;
      std::vector<uint8_t> from(static_cast<size_t>(shift + kPieces * from_step));
      for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<uint8_t>(i * 7 % 200);
      std::vector<uint8_t> to(static_cast<size_t>(shift + kPieces * to_step), kAround);
      copy({from.data() + shift, from_step, to.data() + shift, to_step, kPieces}, bytes);
      for (int64_t i = 0; i < static_cast<int64_t>(to.size()); ++i) {
        const int64_t piece = (i - shift) / to_step;
        const int64_t at = (i - shift) % to_step;
        const bool is_inside = i >= shift && at < bytes;
        const uint8_t wanted =
            is_inside ? from[static_cast<size_t>(shift + piece * from_step + at)] : kAround;
        ASSERT_EQ(to[static_cast<size_t>(i)], wanted) << bytes << " bytes, shift " << shift;
      }
    }
  }
}

TEST(Runs, AreCopied) { check(&copy_runs); }
TEST(Runs, AreStreamed) { check(&stream_runs); }

TEST(Runs, AreFilledWithAnElement) {
  for (const int64_t size : {1, 2, 4, 8, 16, 24}) {
    for (const int64_t count : {1, 3, 5, 16, 65}) {
      std::vector<uint8_t> element(static_cast<size_t>(size));
      for (size_t i = 0; i < element.size(); ++i) element[i] = static_cast<uint8_t>(i + 1);
      std::vector<uint8_t> to(static_cast<size_t>(size * count + 1), 0);
      fill_runs({element.data(), 0, to.data(), 0, 1}, size, size * count);
      for (size_t i = 0; i + 1 < to.size(); ++i) {
        ASSERT_EQ(to[i], element[i % element.size()]) << size << " bytes, " << count;
      }
      ASSERT_EQ(to.back(), 0);
    }
  }
}

}  // namespace
}  // namespace mindtorch::cpu
