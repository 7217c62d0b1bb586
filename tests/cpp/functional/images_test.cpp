#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "mindtorch/functional/functions.h"
#include "tests/cpp/support/errors.h"

namespace mindtorch {
namespace {

using mindtorch::testing::error_of;
using Numbers = std::vector<float>;

Tensor counting(IntList sizes) {
  const Tensor made = Tensor::make(sizes, DType::kFloat32);
  std::iota(made.data<float>(), made.data<float>() + made.numel(), 0.0F);
  return made;
}
Numbers numbers(const Tensor& tensor) {
  const Tensor made = contiguous(tensor);
  return {made.data<float>(), made.data<float>() + made.numel()};
}

TEST(Images, HaveBorders) {
  const Tensor line = counting({1, 4});
  EXPECT_EQ(numbers(reflection_pad1d(line, {2, 1})), (Numbers{2, 1, 0, 1, 2, 3, 2}));
  EXPECT_EQ(numbers(replication_pad1d(line, {2, -1})), (Numbers{0, 0, 0, 1, 2}));
  EXPECT_EQ(numbers(pad(line, {1, 1}, "circular")), (Numbers{3, 0, 1, 2, 3, 0}));
  EXPECT_EQ(numbers(pad(line, {0, 1}, "constant", 7.0)), (Numbers{0, 1, 2, 3, 7}));
  EXPECT_EQ(numbers(reflection_pad1d_backward(counting({1, 7}), line, {2, 1})),
            (Numbers{2, 1 + 3, 0 + 4 + 6, 5}));
  EXPECT_EQ(error_of<NotImplementedError>([&] { pad(line, {1, 1}, "mirror"); }),
            "Unrecognised padding mode mirror");
}

TEST(Images, HaveOtherSizes) {
  const Tensor image = counting({1, 1, 1, 2});
  EXPECT_EQ(numbers(upsample_nearest2d(image, {1, 4})), (Numbers{0, 0, 1, 1}));
  EXPECT_EQ(numbers(upsample_bilinear2d(image, {1, 3}, true)), (Numbers{0, 0.5, 1}));
  const std::vector<double> factors = {1, 2};
  EXPECT_EQ(numbers(upsample_nearest2d(image, std::nullopt, std::span<const double>(factors))),
            (Numbers{0, 0, 1, 1}));
}

TEST(Images, AreColumns) {
  const Tensor columns = im2col(counting({1, 2, 2}), {1, 2}, {1, 1}, {0, 0}, {1, 1});
  EXPECT_EQ(columns.sizes(), Shape({2, 2}));
  EXPECT_EQ(numbers(columns), (Numbers{0, 2, 1, 3}));
  EXPECT_EQ(numbers(col2im(columns, {2, 2}, {1, 2}, {1, 1}, {0, 0}, {1, 1})),
            (Numbers{0, 1, 2, 3}));
}

TEST(Images, HaveMaximaAtTheirPlaces) {
  const Tensor places = Tensor::make({1, 1, 2}, DType::kInt64);
  std::ranges::copy(std::vector<int64_t>{3, 0}, places.data<int64_t>());
  const Tensor maxima = counting({1, 1, 2});
  EXPECT_EQ(numbers(max_unpool2d(maxima, places, {2, 2})), (Numbers{1, 0, 0, 0}));
  EXPECT_EQ(error_of<RuntimeError>([&] { max_unpool2d(maxima, places, {1, 3}); }),
            "Found an invalid max index: 3 (output volumes are of size 1x3)");
}

TEST(Images, BagsOfRows) {
  const Tensor indices = Tensor::make({3}, DType::kInt64);
  std::ranges::copy(std::vector<int64_t>{2, 0, 1}, indices.data<int64_t>());
  const Tensor offsets = Tensor::make({2}, DType::kInt64);
  std::ranges::copy(std::vector<int64_t>{0, 2}, offsets.data<int64_t>());
  const auto bags = embedding_bag(counting({3, 2}), indices, offsets);
  EXPECT_EQ(numbers(std::get<0>(bags)), (Numbers{4, 6, 2, 3}));
}

}  // namespace
}  // namespace mindtorch
