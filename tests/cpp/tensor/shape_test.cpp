#include "mindtorch/tensor/shape.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <set>

#include "mindtorch/base/error.h"
#include "tests/cpp/support/errors.h"

namespace mindtorch {
namespace {

using testing::error_of;

constexpr int64_t kHuge = int64_t{1} << 62;

TEST(Shape, ListsReadAsTorchWritesThem) {
  EXPECT_EQ(to_string(IntList{}), "[]");
  EXPECT_EQ(to_string({2, -3}), "[2, -3]");
  EXPECT_TRUE(equal({1, 2}, {1, 2}));
  EXPECT_FALSE(equal({1, 2}, {1, 2, 3}));
}

TEST(Shape, NumelRefusesWhatDoesNotFit) {
  EXPECT_EQ(numel(IntList{}), 1);
  EXPECT_EQ(numel({2, 3, 4}), 24);
  EXPECT_EQ(numel({0, kHuge, 4}), 0);
  EXPECT_EQ(numel({kHuge, 1}), kHuge);
  EXPECT_EQ(error_of<RuntimeError>([] { numel({kHuge, 2}); }),
            "numel: integer multiplication overflow");
  EXPECT_THROW(numel({kHuge, 4, 0}), RuntimeError);
  EXPECT_EQ(try_numel({kHuge, 4}), std::nullopt);
  EXPECT_EQ(error_of<RuntimeError>([] { numel({2, -1}); }),
            "Trying to create tensor with negative dimension -1: [2, -1]");
}

TEST(Shape, StridesOfEachFormat) {
  EXPECT_EQ(contiguous_strides({2, 3, 4}), (Shape{12, 4, 1}));
  EXPECT_EQ(contiguous_strides({2, 0, 4}), (Shape{4, 4, 1}));
  EXPECT_EQ(contiguous_strides(IntList{}), Shape{});
  EXPECT_EQ(strides_for({2, 3, 4, 5}, MemoryFormat::kChannelsLast), (Shape{60, 1, 15, 3}));
  EXPECT_EQ(strides_for({2, 3, 4, 5, 6}, MemoryFormat::kChannelsLast3d),
            (Shape{360, 1, 90, 18, 3}));
  EXPECT_THROW(strides_for({2, 3}, MemoryFormat::kChannelsLast), RuntimeError);
  EXPECT_THROW(strides_for({2, 3, 4, 5}, MemoryFormat::kChannelsLast3d), RuntimeError);
  EXPECT_THROW(strides_for({2, 3}, MemoryFormat::kPreserve), RuntimeError);
}

TEST(Shape, StridesRefuseToOverflow) {
  EXPECT_EQ(error_of<RuntimeError>([] { contiguous_strides({0, kHuge, 4}); }),
            "Stride calculation overflowed");
  EXPECT_EQ(contiguous_strides({kHuge, 0}), (Shape{1, 1}));
  EXPECT_THROW(strides_for({0, 4, kHuge, 4}, MemoryFormat::kChannelsLast), RuntimeError);
  EXPECT_TRUE(is_contiguous({0, kHuge, 4}, {0, 4, 1}));
  EXPECT_FALSE(is_channels_last({0, 2, kHuge, 4}, {1, 1, 8, 2}));
}

TEST(Shape, Contiguity) {
  EXPECT_TRUE(is_contiguous({2, 3}, {3, 1}));
  EXPECT_TRUE(is_contiguous({2, 1, 3}, {3, 77, 1}));
  EXPECT_TRUE(is_contiguous({2, 0}, {5, 9}));
  EXPECT_TRUE(is_contiguous({0, 3}, {5, 9}));
  EXPECT_FALSE(is_contiguous({2, 3}, {1, 2}));
  EXPECT_FALSE(is_contiguous({2, 3}, {6, 2}));
  EXPECT_FALSE(is_contiguous({2, 3}, {0, 1}));
  EXPECT_TRUE(is_channels_last({2, 3, 4, 5}, {60, 1, 15, 3}));
  EXPECT_FALSE(is_channels_last({2, 3, 4, 5}, {60, 20, 5, 1}));
  EXPECT_FALSE(is_channels_last({3, 4, 5}, {1, 15, 3}));
}

// The addresses a layout reaches, found by walking all indices.
std::multiset<int64_t> addresses(IntList sizes, IntList strides) {
  std::multiset<int64_t> all{0};
  for (size_t d = 0; d < sizes.size(); ++d) {
    std::multiset<int64_t> more;
    for (const int64_t base : all) {
      for (int64_t i = 0; i < sizes[d]; ++i) more.insert(base + i * strides[d]);
    }
    all = std::move(more);
  }
  return all;
}

// Checks the answers about a layout against its list of addresses, for all small layouts.
TEST(Shape, DensityOverlapAndExtentAgreeWithTheAddresses) {
  constexpr int64_t kSizes[] = {0, 1, 2, 3};
  constexpr int64_t kStrides[] = {0, 1, 2, 3, 4, 6};
  for (const int64_t a : kSizes) {
    for (const int64_t b : kSizes) {
      for (const int64_t c : {1, 2}) {
        for (const int64_t s : kStrides) {
          for (const int64_t t : kStrides) {
            for (const int64_t u : kStrides) {
              const Shape sizes{a, b, c};
              const Shape strides{s, t, u};
              const auto all = addresses(sizes, strides);
              const std::set<int64_t> distinct(all.begin(), all.end());
              const int64_t end = all.empty() ? 0 : *all.rbegin() + 1;
              const std::string text = to_string(sizes) + to_string(strides);
              ASSERT_EQ(extent(sizes, strides), end) << text;
              const bool unique = distinct.size() == all.size();
              ASSERT_EQ(is_dense(sizes, strides), unique && std::ssize(distinct) == end) << text;
              // "May": a layout that interleaves without meeting is reported, too.
              ASSERT_TRUE(unique || may_overlap_itself(sizes, strides)) << text;
              if (is_dense(sizes, strides)) {
                ASSERT_FALSE(may_overlap_itself(sizes, strides)) << text;
                ASSERT_EQ(strides_like(sizes, strides), strides) << text;
              }
              ASSERT_TRUE(is_dense(sizes, strides_like(sizes, strides))) << text;
            }
          }
        }
      }
    }
  }
}

TEST(Shape, NewStridesKeepTheOrderOfDimensions) {
  EXPECT_EQ(strides_like({2, 3}, {2, 8}), (Shape{1, 2}));
  EXPECT_EQ(strides_like({2, 3}, {8, 2}), (Shape{3, 1}));
  EXPECT_EQ(strides_like({2, 3, 4}, {0, 8, 1}), (Shape{12, 4, 1}));
}

TEST(Shape, ExtentRefusesToOverflow) {
  EXPECT_EQ(error_of<RuntimeError>([] { extent({2, 3}, {kHuge, kHuge}); }),
            "Storage size calculation overflowed with sizes=[2, 3] and "
            "strides=[4611686018427387904, 4611686018427387904]");
  EXPECT_EQ(extent({2, 0}, {kHuge, kHuge}), 0);
}

TEST(Shape, WrapsDims) {
  EXPECT_EQ(wrap_dim(-1, 3), 2);
  EXPECT_EQ(wrap_dim(2, 3), 2);
  EXPECT_EQ(wrap_dim(-1, 0), 0);
  EXPECT_EQ(error_of<IndexError>([] { wrap_dim(3, 3); }),
            "Dimension out of range (expected to be in range of [-3, 2], but got 3)");
  EXPECT_EQ(error_of<IndexError>([] { wrap_dim(1, 0); }),
            "Dimension out of range (expected to be in range of [-1, 0], but got 1)");
  EXPECT_THROW(wrap_dim(std::numeric_limits<int64_t>::min(), 3), IndexError);
}

TEST(Shape, DimsAsABitSet) {
  EXPECT_EQ(dim_mask(std::nullopt, 3), 7u);
  EXPECT_EQ(dim_mask(IntList{}, 3), 7u);
  EXPECT_EQ(dim_mask(IntList{0, -1}, 3), 5u);
  EXPECT_EQ(dim_mask(IntList{-1}, 0), 0u);
  EXPECT_EQ(dim_mask(std::nullopt, 64), ~uint64_t{0});
  EXPECT_EQ(error_of<RuntimeError>([] { dim_mask(IntList{0, -3}, 3); }),
            "dim 0 appears multiple times in the list of dims");
  EXPECT_THROW(dim_mask(IntList{3}, 3), IndexError);
  EXPECT_THROW(dim_mask(std::nullopt, 65), RuntimeError);
}

TEST(Shape, Broadcasts) {
  EXPECT_EQ(broadcast_shapes({3, 1}, {4}), (Shape{3, 4}));
  EXPECT_EQ(broadcast_shapes({4}, {2, 3, 1}), (Shape{2, 3, 4}));
  EXPECT_EQ(broadcast_shapes({}, {0}), (Shape{0}));
  EXPECT_EQ(broadcast_shapes({1}, {0}), (Shape{0}));
  EXPECT_EQ(error_of<RuntimeError>([] { broadcast_shapes({2, 3}, {4}); }),
            "The size of tensor a (3) must match the size of tensor b (4) at non-singleton "
            "dimension 1");
  EXPECT_THROW(broadcast_shapes({0}, {2}), RuntimeError);
  EXPECT_TRUE(broadcasts_to({3, 1}, {2, 3, 4}));
  EXPECT_FALSE(broadcasts_to({2, 3}, {3}));
  EXPECT_FALSE(broadcasts_to({3}, {1}));
  EXPECT_EQ(broadcast_strides({3, 1}, {1, 1}, {2, 3, 4}), (Shape{0, 1, 0}));
}

TEST(Shape, InfersOneSize) {
  EXPECT_EQ(infer_sizes({2, -1}, 6), (Shape{2, 3}));
  EXPECT_EQ(infer_sizes({-1}, 0), (Shape{0}));
  EXPECT_EQ(infer_sizes({3, -1}, 0), (Shape{3, 0}));
  EXPECT_EQ(error_of<RuntimeError>([] { infer_sizes({4, -1}, 6); }),
            "shape '[4, -1]' is invalid for input of size 6");
  EXPECT_EQ(error_of<RuntimeError>([] { infer_sizes({-1, -1}, 6); }),
            "only one dimension can be inferred");
  EXPECT_EQ(error_of<RuntimeError>([] { infer_sizes({-2, 3}, 6); }),
            "invalid shape dimension -2 at index 0 of shape [-2, 3]");
  EXPECT_THROW(infer_sizes({0, -1}, 0), RuntimeError);
  EXPECT_THROW(infer_sizes({kHuge, 4}, 0), RuntimeError);
}

TEST(Shape, ViewsOfTheSameMemory) {
  EXPECT_EQ(view_strides({2, 3, 4}, {12, 4, 1}, {6, 4}), (Shape{4, 1}));
  EXPECT_EQ(view_strides({2, 3, 4}, {12, 4, 1}, {2, 2, 2, 3}), (Shape{12, 6, 3, 1}));
  EXPECT_EQ(view_strides({2, 3}, {1, 2}, {6}), std::nullopt);
  EXPECT_EQ(view_strides({2, 3}, {1, 2}, {2, 1, 3}), (Shape{1, 6, 2}));
  EXPECT_EQ(view_strides({4, 2}, {4, 1}, {2, 2, 2}), (Shape{8, 4, 1}));
  EXPECT_EQ(view_strides({3, 2}, {0, 0}, {6}), (Shape{0}));
  EXPECT_EQ(view_strides({}, {}, {1, 1}), (Shape{1, 1}));
  EXPECT_EQ(view_strides({0, 3}, {3, 1}, {3, 0}), (Shape{1, 1}));
}

// A view must name the same elements in the same order.
TEST(Shape, ViewsReachTheSameElementsInOrder) {
  const auto listed = [](IntList sizes, IntList strides) {
    std::vector<int64_t> all{0};
    for (size_t d = 0; d < sizes.size(); ++d) {
      std::vector<int64_t> more;
      for (const int64_t base : all) {
        for (int64_t i = 0; i < sizes[d]; ++i) more.push_back(base + i * strides[d]);
      }
      all = std::move(more);
    }
    return all;
  };
  const Shape targets[] = {{12}, {2, 6}, {6, 2}, {3, 4}, {2, 3, 2}, {3, 2, 2}, {1, 12, 1}, {12, 1}};
  int views = 0;
  for (const int64_t s : {0, 1, 2, 3, 6, 12}) {
    for (const int64_t t : {0, 1, 2, 3, 4, 6}) {
      for (const int64_t u : {0, 1, 2, 6}) {
        for (const Shape& sizes : {Shape{2, 3, 2}, Shape{3, 2, 2}, Shape{2, 1, 6}}) {
          const Shape strides{s, t, u};
          for (const Shape& target : targets) {
            const std::optional<Shape> view = view_strides(sizes, strides, target);
            if (!view) continue;
            ++views;
            ASSERT_EQ(listed(target, *view), listed(sizes, strides))
                << to_string(sizes) << to_string(strides) << to_string(target);
          }
        }
      }
    }
  }
  EXPECT_GT(views, 100);
}

}  // namespace
}  // namespace mindtorch
