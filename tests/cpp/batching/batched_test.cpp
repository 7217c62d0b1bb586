#include "mindtorch/batching/batched.h"

#include <gtest/gtest.h>

#include "mindtorch/functional/functions.h"

namespace mindtorch::batching {
namespace {

// A vmap for the length of a test.
class Vmap {
 public:
  explicit Vmap(int64_t size, Randomness randomness = Randomness::kError)
      : level(enter_level({size, randomness})) {}
  ~Vmap() { leave_level(); }
  Vmap(const Vmap&) = delete;
  Vmap& operator=(const Vmap&) = delete;

  const int64_t level;
};

TEST(Batched, ShowsOneSample) {
  const Vmap vmap(3);
  const Tensor value = arange(Scalar(12), DType::kFloat32);
  const Tensor sample = make_batched(view(value, {4, 3}), 1, vmap.level);
  EXPECT_EQ(sample.sizes(), (Shape{4}));
  EXPECT_EQ(sample.strides(), (Shape{3}));
  EXPECT_TRUE(is_batched(sample));
  EXPECT_FALSE(is_batched(value));
  EXPECT_THROW(sample.data_ptr(), RuntimeError);
  const Tensor total = sum(mul(sample, sample));
  EXPECT_EQ(total.dim(), 0);
  const Tensor all = with_batch_dim(total, vmap.level);
  EXPECT_EQ(all.sizes(), (Shape{3}));
  EXPECT_EQ(item(select(all, 0, 1)).to_double(), 1 + 16 + 49 + 100);
}

TEST(Batched, NestsInOrderOfLevels) {
  const Vmap outer(2);
  const Vmap inner(3);
  EXPECT_EQ(inner.level, outer.level + 1);
  const Tensor value = view(arange(Scalar(24), DType::kFloat32), {4, 3, 2});
  const Tensor sample = make_batched(make_batched(value, 2, outer.level), 1, inner.level);
  EXPECT_EQ(sample.sizes(), (Shape{4}));
  const Tensor whole = to_physical(sample, inner.level);
  EXPECT_EQ(whole.sizes(), (Shape{2, 3, 4}));
  EXPECT_FALSE(is_batched(whole));
  const Tensor again = from_physical(whole, inner.level);
  EXPECT_EQ(level_of(again), inner.level);
  EXPECT_EQ(level_of(batched(again).value), outer.level);
  EXPECT_TRUE(equal(to_physical(again, inner.level), permute(value, {2, 1, 0})));
}

// Gradients of an outer function, for each sample of a vmap inside.
TEST(Batched, KeepsHigherLevelsOnPhysicalTensors) {
  const Vmap outer(2);
  const Vmap inner(3);
  const Tensor value = view(arange(Scalar(24), DType::kFloat32), {3, 2, 4});
  const Tensor sample = make_batched(make_batched(value, 1, outer.level), 0, inner.level);
  const Tensor physical = to_physical(sample, outer.level);
  EXPECT_EQ(level_of(physical), inner.level);
  EXPECT_EQ(physical.sizes(), (Shape{2, 4}));
  // Ops put the batch dim in front, before those of the lower levels.
  const Tensor back = from_physical(mul(physical, Scalar(1)), outer.level);
  EXPECT_EQ(back.sizes(), (Shape{4}));
  EXPECT_TRUE(equal(to_physical(back, inner.level), transpose(value, 0, 1)));
}

TEST(Batched, DrawsAsTheInnermostVmapSays) {
  {
    const Vmap vmap(3);
    EXPECT_THROW(randn({2}), RuntimeError);
  }
  const Vmap vmap(3, Randomness::kDifferent);
  EXPECT_EQ(with_batch_dim(randn({2}), vmap.level).sizes(), (Shape{3, 2}));
  const Vmap same(4, Randomness::kSame);
  EXPECT_EQ(level_of(randn({2})), vmap.level);
}

}  // namespace
}  // namespace mindtorch::batching
