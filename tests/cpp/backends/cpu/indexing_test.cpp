#include "mindtorch/backends/cpu/indexing.h"

#include <gtest/gtest.h>

#include <numeric>

#include "tests/cpp/backends/cpu/row_samples.h"

namespace mindtorch::cpu {
namespace {

using namespace testing;

std::vector<int64_t> lengths() {
  std::vector<int64_t> out(71);
  std::iota(out.begin(), out.end(), int64_t{0});
  out.insert(out.end(), {127, 128, 129, 1000, 4097});
  return out;
}

TEST(Nonzero, FindsWhatIsNotZero) {
  for (const DType dtype : kAllDTypes) {
    visit_dtype(dtype, [&]<typename T>() {
      for (const Sample sample : kAllSamples) {
        for (const int64_t n : lengths()) {
          SCOPED_TRACE(describe(dtype, sample, n));
          const Row<T> row = make_row<T>(sample, n);
          std::vector<int64_t> expected;
          for (int64_t i = 0; i < n; ++i) {
            if (is_nan(row[i]) || static_cast<double>(row[i]) != 0) expected.push_back(i);
          }
          const int64_t count = count_nonzero(dtype, row.data(), n);
          ASSERT_EQ(count, static_cast<int64_t>(expected.size()));
          // One more, which must stay as it is.
          std::vector<int64_t> out(expected.size() + 1, -1);
          find_nonzero({dtype, row.data(), &n, 1, 0, n}, out.data(), 0);
          expected.push_back(-1);
          ASSERT_EQ(out, expected);
        }
      }
    });
  }
}

TEST(Nonzero, GivesCoordinatesOfEveryDim) {
  std::mt19937 random(5);
  const std::vector<int64_t> sizes = {7, 1, 13, 64, 3};
  const int64_t n = 7 * 13 * 64 * 3;
  for (const unsigned one_in : {1u, 2u, 40u}) {
    std::vector<uint8_t> in(static_cast<size_t>(n));
    for (uint8_t& byte : in) byte = random() % one_in == 0 ? 1 : 0;
    for (const int64_t begin : {int64_t{0}, int64_t{64 * 3 * 5 + 17}}) {
      std::vector<std::vector<int64_t>> expected(sizes.size());
      for (int64_t i = begin; i < n; ++i) {
        if (in[static_cast<size_t>(i)] == 0) continue;
        int64_t rest = i;
        for (size_t d = sizes.size(); d-- > 0; rest /= sizes[d]) {
          expected[d].push_back(rest % sizes[d]);
        }
      }
      const int64_t step = static_cast<int64_t>(expected[0].size()) + 1;
      std::vector<int64_t> out(static_cast<size_t>(step) * sizes.size(), -1);
      find_nonzero(
          {DType::kUInt8, in.data(), sizes.data(), static_cast<int64_t>(sizes.size()), begin, n},
          out.data(), step);
      for (size_t d = 0; d < sizes.size(); ++d) {
        expected[d].push_back(-1);
        const auto line = out.begin() + static_cast<int64_t>(d) * step;
        ASSERT_EQ(std::vector<int64_t>(line, line + step), expected[d]);
      }
    }
  }
}

TEST(MaskedSelect, CopiesWhatTheMaskSelects) {
  std::mt19937 random(11);
  for (const int64_t size : {1, 2, 4, 8, 16, 3}) {
    for (const unsigned one_in : {1u, 2u, 40u, 1000000u}) {
      for (const int64_t n : lengths()) {
        std::vector<uint8_t> in(static_cast<size_t>(n * size));
        for (uint8_t& byte : in) byte = static_cast<uint8_t>(random());
        std::vector<uint8_t> mask(static_cast<size_t>(n));
        std::vector<uint8_t> expected;
        for (int64_t i = 0; i < n; ++i) {
          // Any byte but zero counts as true.
          if (random() % one_in != 0) continue;
          mask[static_cast<size_t>(i)] = static_cast<uint8_t>(1 + random() % 255);
          expected.insert(expected.end(), in.begin() + i * size, in.begin() + (i + 1) * size);
        }
        std::vector<uint8_t> out(expected.size() + 1, 77);
        ASSERT_EQ(masked_select_contiguous(size, in.data(), mask.data(), n, out.data()),
                  static_cast<int64_t>(expected.size()) / size);
        expected.push_back(77);
        ASSERT_EQ(out, expected) << "size " << size << " n " << n;
      }
    }
  }
}

TEST(CheckIndices, FindsTheFirstBadOne) {
  std::vector<int64_t> index(5000);
  std::mt19937 random(13);
  for (int64_t& i : index) i = static_cast<int64_t>(random() % 20) - 10;
  const auto check = [&](int64_t size) {
    return check_indices(index.data(), static_cast<int64_t>(index.size()), size);
  };
  index[17] = -10;
  EXPECT_EQ(check(10), -1);
  EXPECT_EQ(check_indices(nullptr, 0, 10), -1);
  EXPECT_EQ(check_indices(index.data(), 1, 0), 0);
  index[4999] = 10;
  EXPECT_EQ(check(10), 4999);
  index[2048] = -11;
  EXPECT_EQ(check(10), 2048);
  index[2047] = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(check(10), 2047);
  index[0] = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(check(10), 0);
}

TEST(GatherRows, CopiesRows) {
  std::mt19937 random(17);
  for (const int64_t row_bytes :
       {0, 1, 2, 3, 4, 8, 12, 16, 20, 31, 32, 33, 64, 65, 100, 128, 256, 1000, 3072, 8192, 8200}) {
    for (const int64_t gap : {0, 5}) {
      for (const int64_t count : {0, 1, 3, 100}) {
        constexpr int64_t kRows = 37;
        const int64_t stride = row_bytes + gap;
        std::vector<uint8_t> src(static_cast<size_t>(kRows * stride));
        for (uint8_t& byte : src) byte = static_cast<uint8_t>(random());
        std::vector<int64_t> index(static_cast<size_t>(count));
        std::vector<uint8_t> expected;
        for (int64_t& i : index) {
          i = static_cast<int64_t>(random() % (2 * kRows)) - kRows;
          const auto row = src.begin() + (i < 0 ? i + kRows : i) * stride;
          expected.insert(expected.end(), row, row + row_bytes);
        }
        std::vector<uint8_t> out(expected.size() + 1, 99);
        gather_rows(src.data(), row_bytes, index.data(), count, kRows, stride, out.data());
        expected.push_back(99);
        ASSERT_EQ(out, expected) << "row_bytes " << row_bytes << " gap " << gap;
      }
    }
  }
}

}  // namespace
}  // namespace mindtorch::cpu
