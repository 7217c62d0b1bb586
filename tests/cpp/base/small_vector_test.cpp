#include "mindtorch/base/small_vector.h"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace mindtorch {
namespace {

// Longer than any inline string buffer, so that a sanitizer sees a copy too many or too few.
std::string text(int i) { return std::string(40, 'x') + std::to_string(i); }

using Texts = SmallVector<std::string, 2>;

Texts texts(int count) {
  Texts result;
  for (int i = 0; i < count; ++i) result.push_back(text(i));
  return result;
}

bool is_inline(const Texts& vector) {
  const auto* data = reinterpret_cast<const std::byte*>(vector.data());
  const auto* object = reinterpret_cast<const std::byte*>(&vector);
  return data >= object && data < object + sizeof(vector);
}

TEST(SmallVector, StaysInlineUntilItIsFull) {
  Texts vector;
  EXPECT_TRUE(vector.empty());
  for (int i = 0; i < 5; ++i) {
    vector.push_back(text(i));
    EXPECT_EQ(is_inline(vector), i < 2) << i;
  }
  ASSERT_EQ(vector.size(), 5u);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(vector[static_cast<size_t>(i)], text(i));
  EXPECT_EQ(vector.front(), text(0));
  EXPECT_EQ(vector.back(), text(4));
}

TEST(SmallVector, CopiesAreIndependent) {
  for (const int count : {0, 1, 2, 5}) {
    const Texts original = texts(count);
    Texts copy = original;
    EXPECT_EQ(copy, original);
    copy.push_back("more");
    EXPECT_EQ(original.size(), static_cast<size_t>(count));
    EXPECT_FALSE(copy == original);
    copy = original;
    EXPECT_EQ(copy, original);
    const Texts& same = copy;
    copy = same;
    EXPECT_EQ(copy, original);
  }
}

TEST(SmallVector, MovesLeaveAnEmptyUsableVector) {
  for (const int count : {0, 1, 2, 5}) {
    for (const int before : {0, 2, 4}) {
      Texts from = texts(count);
      Texts to = texts(before);
      to = std::move(from);
      EXPECT_EQ(to, texts(count));
      EXPECT_TRUE(from.empty());  // NOLINT: that is the question
      for (int i = 0; i < 3; ++i) from.push_back(text(i));
      EXPECT_EQ(from, texts(3));
      EXPECT_EQ(to, texts(count));
    }
    Texts from = texts(count);
    const Texts to(std::move(from));
    EXPECT_EQ(to, texts(count));
  }
}

TEST(SmallVector, TakesTypesThatOnlyMove) {
  SmallVector<std::unique_ptr<int>, 1> vector;
  for (int i = 0; i < 4; ++i) vector.push_back(std::make_unique<int>(i));
  SmallVector<std::unique_ptr<int>, 1> moved = std::move(vector);
  moved.erase(moved.begin() + 1);
  ASSERT_EQ(moved.size(), 3u);
  EXPECT_EQ(*moved[1], 2);
}

TEST(SmallVector, InsertsErasesAndResizesLikeStdVector) {
  SmallVector<int, 3> ours{1, 2, 3};
  std::vector<int> theirs{1, 2, 3};
  for (const ptrdiff_t at : {0, 3, 2, 6}) {
    EXPECT_EQ(*ours.insert(ours.begin() + at, 10), 10);
    theirs.insert(theirs.begin() + at, 10);
  }
  for (const ptrdiff_t at : {6, 0, 2}) {
    ours.erase(ours.begin() + at);
    theirs.erase(theirs.begin() + at);
  }
  EXPECT_TRUE(std::equal(ours.begin(), ours.end(), theirs.begin(), theirs.end()));
  ours.resize(2);
  ours.resize(4);
  EXPECT_EQ(ours, (SmallVector<int, 3>{theirs[0], theirs[1], 0, 0}));
  ours.resize(6, 7);
  EXPECT_EQ(ours.back(), 7);
  ours.assign(2, 9);
  EXPECT_EQ(ours, (SmallVector<int, 3>{9, 9}));
  ours.assign(theirs.begin(), theirs.end());
  EXPECT_EQ(ours.size(), theirs.size());
  ours.pop_back();
  ours.clear();
  EXPECT_TRUE(ours.empty());
  EXPECT_EQ((SmallVector<int, 3>(size_t{5})), (SmallVector<int, 3>{0, 0, 0, 0, 0}));
}

TEST(SmallVector, GrowsFromItsOwnElements) {
  Texts vector = texts(2);
  vector.emplace_back(vector[0]);
  EXPECT_EQ(vector.back(), text(0));

  vector = texts(2);
  vector.resize(9, vector[1]);
  EXPECT_EQ(vector[1], text(1));
  EXPECT_EQ(vector.back(), text(1));

  vector.assign(3, vector[0]);
  EXPECT_EQ(vector, (Texts{text(0), text(0), text(0)}));
}

// Counts its objects; the copy that makes `copies_left` negative throws.
struct Fragile {
  static inline int alive = 0;
  static inline int copies_left = 0;
  Fragile() { ++alive; }
  Fragile(const Fragile&) {
    if (--copies_left < 0) throw std::runtime_error("no more copies");
    ++alive;
  }
  Fragile(Fragile&&) noexcept { ++alive; }
  Fragile& operator=(const Fragile&) = default;
  ~Fragile() { --alive; }
};

TEST(SmallVector, DestroysOnlyWhatWasMadeWhenAnElementThrows) {
  using Vector = SmallVector<Fragile, 2>;
  {
    Vector source(size_t{4});
    Fragile::copies_left = 2;
    EXPECT_THROW(Vector copy(source), std::runtime_error);
    EXPECT_EQ(Fragile::alive, 4);

    Vector target(size_t{1});
    Fragile::copies_left = 3;
    EXPECT_THROW(target = source, std::runtime_error);
    EXPECT_EQ(target.size(), 3u);

    Fragile::copies_left = 0;
    EXPECT_THROW(target.emplace_back(source[0]), std::runtime_error);
    EXPECT_EQ(target.size(), 3u);
  }
  EXPECT_EQ(Fragile::alive, 0);
}

}  // namespace
}  // namespace mindtorch
