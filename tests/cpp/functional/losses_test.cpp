#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "mindtorch/functional/functions.h"
#include "tests/cpp/support/errors.h"

namespace mindtorch {
namespace {

using mindtorch::testing::error_of;

Tensor of(std::initializer_list<float> values) {
  const Tensor made = Tensor::make({static_cast<int64_t>(values.size())}, DType::kFloat32);
  std::ranges::copy(values, made.data<float>());
  return made;
}
float number(const Tensor& tensor) { return *contiguous(tensor).data<float>(); }

constexpr int64_t kNone = 0;
constexpr int64_t kMean = 1;
constexpr int64_t kSum = 2;

TEST(Losses, OfValues) {
  const Tensor x = of({1, 3});
  const Tensor y = of({1, 1});
  EXPECT_FLOAT_EQ(number(mse_loss(x, y)), 2);
  EXPECT_FLOAT_EQ(number(mse_loss(x, y, kSum)), 4);
  EXPECT_EQ(mse_loss(x, y, kNone).sizes(), Shape({2}));
  EXPECT_FLOAT_EQ(number(l1_loss(x, y)), 1);
  EXPECT_FLOAT_EQ(number(smooth_l1_loss(x, y, kSum)), 1.5);
  EXPECT_FLOAT_EQ(number(smooth_l1_loss(x, y, kSum, 0)), 2);
  EXPECT_FLOAT_EQ(number(huber_loss(x, y, kSum, 0.5)), 0.875);
  EXPECT_EQ(error_of<RuntimeError>([&] { huber_loss(x, y, kMean, 0); }),
            "huber_loss does not support non-positive values for delta.");
}

TEST(Losses, OfProbabilities) {
  const Tensor half = of({0.5, 0.5});
  const Tensor sure = of({1, 0});
  EXPECT_FLOAT_EQ(number(binary_cross_entropy(half, sure)), std::log(2.0f));
  EXPECT_FLOAT_EQ(number(binary_cross_entropy(of({0}), of({1}))), 100);
  EXPECT_FLOAT_EQ(number(binary_cross_entropy_with_logits(of({0, 0}), sure)), std::log(2.0f));
  EXPECT_FLOAT_EQ(number(kl_div(log(half), half, kSum)), 0);
  EXPECT_FLOAT_EQ(number(kl_div(of({0}), of({0.5}), kSum)), -0.5f * std::log(2.0f));
}

TEST(Losses, OfRankings) {
  EXPECT_FLOAT_EQ(number(margin_ranking_loss(of({1}), of({2}), of({1}))), 1);
  EXPECT_FLOAT_EQ(number(hinge_embedding_loss(of({2, 0.25}), of({1, -1}), 1, kSum)), 2.75);
  const Tensor zero = view(of({0, 0}), {1, 2});
  EXPECT_FLOAT_EQ(number(triplet_margin_loss(zero, zero, zero)), 1);
  EXPECT_FLOAT_EQ(number(cosine_similarity(of({1, 0}), of({1, 1}), 0)), std::sqrt(0.5f));
}

}  // namespace
}  // namespace mindtorch
