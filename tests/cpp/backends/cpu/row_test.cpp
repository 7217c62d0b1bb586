#include "mindtorch/backends/cpu/tiles/row.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "tests/cpp/backends/cpu/tile_targets.h"

namespace mindtorch::cpu {
namespace {

template <class T>
inline constexpr bool kIsHalf = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;
template <class T>
inline constexpr bool kIsFloat = std::is_floating_point_v<T> || kIsHalf<T>;
template <class T>
using Wide = std::conditional_t<kIsHalf<T>, float, T>;
template <class T>
using Accumulator = std::conditional_t<kIsFloat<T>, Wide<T>, int64_t>;
// bool is held as bytes of 0 and 1.
template <class T>
using Held = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;

template <class T>
std::vector<Held<T>> sample(size_t n, uint64_t seed = 1) {
  std::mt19937_64 random(seed + n);
  std::normal_distribution<double> normal;
  std::vector<Held<T>> values;
  for (size_t i = 0; i < n; ++i) {
    if constexpr (std::is_same_v<T, bool>) {
      values.push_back(static_cast<uint8_t>(random() % 2));
    } else if constexpr (kIsFloat<T>) {
      values.push_back(static_cast<T>(static_cast<Wide<T>>(normal(random) * 3)));
    } else {
      values.push_back(static_cast<T>(random()));
    }
  }
  return values;
}

// The relative rounding error of the type in which a row is computed, and of the one it is held in.
template <class T>
double wide_epsilon() {
  return std::numeric_limits<Wide<T>>::epsilon();
}
template <class T>
double held_epsilon() {
  if (std::is_same_v<T, Half>) return 0x1p-10;
  if (std::is_same_v<T, BFloat16>) return 0x1p-7;
  return wide_epsilon<T>();
}

const std::vector<size_t>& lengths() {
  static const std::vector<size_t> list = [] {
    std::vector<size_t> result;
    for (size_t n = 1; n <= 70; ++n) result.push_back(n);
    result.insert(result.end(),
                  {127, 128, 129, 512, 513, 1000, 2047, 2048, 2049, 4096, 5000, 70001});
    return result;
  }();
  return list;
}

void expect_near(long double got, long double want, long double bound) {
  EXPECT_LE(std::fabs(got - want), bound) << "got " << got << ", want " << want;
}

class RowTest : public testing::TestWithParam<size_t> {
 protected:
  const TargetTable& target() const { return all_targets()[GetParam()]; }

  template <class T>
  RowFn row(Row function) const {
    return target().table.rows[static_cast<int>(function)][static_cast<int>(DTypeOf<T>::value)];
  }
  template <class T, class Result, class Element>
  Result reduce(Row function, const std::vector<Element>& in) const {
    Result result{};
    row<T>(function)(in.data(), &result, static_cast<int64_t>(in.size()));
    return result;
  }
  template <class T>
  AccumulateFn step(Row function) const {
    return target()
        .table.accumulates[static_cast<int>(function)][static_cast<int>(DTypeOf<T>::value)];
  }

  template <class T>
  void check_sums();
  template <class T>
  void check_extremes();
  template <class T>
  void check_truth();
  template <class T>
  void check_softmax();
  template <class T>
  void check_steps();
  template <class T>
  void check_row_steps();
};

template <class T>
void RowTest::check_sums() {
  using A = Accumulator<T>;
  for (const size_t n : lengths()) {
    SCOPED_TRACE(std::string(name(DTypeOf<T>::value)) + " n = " + std::to_string(n));
    const auto in = sample<T>(n);
    if constexpr (kIsFloat<T>) {
      long double sum = 0, magnitudes = 0, squares = 0;
      for (const auto& x : in) {
        const long double value = static_cast<Wide<T>>(x);
        sum += value;
        magnitudes += std::fabs(value);
        squares += value * value;
      }
      // Pairwise: far below n roundings.
      const long double bound = wide_epsilon<T>() * (4 + std::log2(static_cast<double>(n)));
      expect_near((reduce<T, A>(Row::kSum, in)), sum, bound * magnitudes);
      expect_near((reduce<T, A>(Row::kSumAbs, in)), magnitudes, bound * magnitudes);
      expect_near((reduce<T, A>(Row::kSumSquares, in)), squares, bound * squares);
      const auto moments = reduce<T, Moments>(Row::kMoments, in);
      const long double mean = sum / static_cast<long double>(n);
      long double m2 = 0;
      for (const auto& x : in) {
        const long double distance = static_cast<Wide<T>>(x) - mean;
        m2 += distance * distance;
      }
      EXPECT_EQ(moments.count, static_cast<int64_t>(n));
      expect_near(moments.mean, mean, 1e-13);
      expect_near(moments.m2, m2, 1e-12 * (1 + m2));

      std::vector<T> factors;
      long double product = 1;
      for (size_t i = 0; i < n; ++i) {
        factors.push_back(T(i / 64 % 2 == 0 ? 1.25f : 0.8f));
        product *= static_cast<Wide<T>>(factors.back());
      }
      expect_near((reduce<T, A>(Row::kProd, factors)), product,
                  wide_epsilon<T>() * static_cast<double>(n) * product);
    } else {
      uint64_t sum = 0, product = 1;
      for (const auto& x : in) {
        sum += static_cast<uint64_t>(static_cast<int64_t>(x));
        product *= static_cast<uint64_t>(static_cast<int64_t>(x));
      }
      EXPECT_EQ((reduce<T, A>(Row::kSum, in)), static_cast<int64_t>(sum));
      EXPECT_EQ((reduce<T, A>(Row::kProd, in)), static_cast<int64_t>(product));
    }
  }
  EXPECT_EQ((reduce<T, A>(Row::kSum, std::vector<Held<T>>{})), A{0});
  EXPECT_EQ((reduce<T, A>(Row::kProd, std::vector<Held<T>>{})), A{1});
}

template <class T>
void RowTest::check_extremes() {
  using H = Held<T>;
  for (const size_t n : lengths()) {
    SCOPED_TRACE(std::string(name(DTypeOf<T>::value)) + " n = " + std::to_string(n));
    auto in = sample<T>(n);
    const auto wide = [](H value) { return static_cast<Wide<H>>(value); };
    const auto less = [&](H a, H b) { return wide(a) < wide(b); };
    const auto high = std::max_element(in.begin(), in.end(), less);
    const auto low = std::min_element(in.begin(), in.end(), less);
    EXPECT_EQ(wide(reduce<T, H>(Row::kMax, in)), wide(*high));
    EXPECT_EQ(wide(reduce<T, H>(Row::kMin, in)), wide(*low));
    EXPECT_EQ((reduce<T, int64_t>(Row::kArgmax, in)), high - in.begin());
    EXPECT_EQ((reduce<T, int64_t>(Row::kArgmin, in)), low - in.begin());
    if constexpr (kIsFloat<T>) {
      for (const size_t where : {size_t{0}, n / 2, n - 1}) {
        auto with_nan = in;
        with_nan[where] = T(NAN);
        with_nan[n - 1] = T(NAN);
        EXPECT_TRUE(std::isnan(wide(reduce<T, H>(Row::kMax, with_nan))));
        EXPECT_TRUE(std::isnan(wide(reduce<T, H>(Row::kMin, with_nan))));
        EXPECT_EQ((reduce<T, int64_t>(Row::kArgmax, with_nan)), static_cast<int64_t>(where));
        EXPECT_EQ((reduce<T, int64_t>(Row::kArgmin, with_nan)), static_cast<int64_t>(where));
      }
      const std::vector<T> bottom(n, T(-INFINITY));
      EXPECT_EQ(wide(reduce<T, H>(Row::kMax, bottom)), -INFINITY);
      EXPECT_EQ((reduce<T, int64_t>(Row::kArgmax, bottom)), 0);
    }
  }
}

template <class T>
void RowTest::check_truth() {
  for (const size_t n : lengths()) {
    SCOPED_TRACE(std::string(name(DTypeOf<T>::value)) + " n = " + std::to_string(n));
    const auto one = static_cast<Held<T>>(static_cast<Wide<Held<T>>>(1));
    auto zeros = std::vector<Held<T>>(n);
    auto ones = std::vector<Held<T>>(n, one);
    if constexpr (kIsFloat<T>) zeros[n / 2] = T(-0.0f);
    EXPECT_EQ((reduce<T, uint8_t>(Row::kAny, zeros)), 0);
    EXPECT_EQ((reduce<T, uint8_t>(Row::kAll, ones)), 1);
    for (const size_t where : {size_t{0}, n / 2, n - 1}) {
      auto some = std::vector<Held<T>>(n);
      some[where] = one;
      if constexpr (kIsFloat<T>) some[where] = T(NAN);
      EXPECT_EQ((reduce<T, uint8_t>(Row::kAny, some)), 1);
      EXPECT_EQ((reduce<T, uint8_t>(Row::kAll, some)), n == 1 ? 1 : 0);
      auto most = ones;
      most[where] = Held<T>();
      EXPECT_EQ((reduce<T, uint8_t>(Row::kAll, most)), 0);
      EXPECT_EQ((reduce<T, uint8_t>(Row::kAny, most)), n == 1 ? 0 : 1);
    }
  }
  EXPECT_EQ((reduce<T, uint8_t>(Row::kAny, std::vector<Held<T>>{})), 0);
  EXPECT_EQ((reduce<T, uint8_t>(Row::kAll, std::vector<Held<T>>{})), 1);
}

template <class T>
void RowTest::check_softmax() {
  for (const size_t n : lengths()) {
    SCOPED_TRACE(std::string(name(DTypeOf<T>::value)) + " n = " + std::to_string(n));
    const auto in = sample<T>(n);
    long double largest = -INFINITY, sum = 0;
    for (const T x : in) largest = std::max<long double>(largest, static_cast<Wide<T>>(x));
    for (const T x : in) sum += std::exp(static_cast<Wide<T>>(x) - largest);
    const long double total = largest + std::log(sum);
    expect_near((reduce<T, Wide<T>>(Row::kLogsumexp, in)), total,
                2 * wide_epsilon<T>() * (1 + std::fabs(total)));

    const size_t offset = n % 3;
    std::vector<T> out(offset + n + 1, T(7.0f));
    row<T>(Row::kSoftmax)(in.data(), out.data() + offset, static_cast<int64_t>(n));
    int wrong = 0;
    for (size_t i = 0; i < n; ++i) {
      // The difference from the largest is rounded, and the exponential multiplies that by its
      // size.
      const long double exponent = static_cast<Wide<T>>(in[i]) - total;
      const long double want = std::exp(exponent);
      const long double bound =
          held_epsilon<T>() / 2 + wide_epsilon<T>() * (2 + std::fabs(exponent));
      const long double error = std::fabs(static_cast<Wide<T>>(out[offset + i]) - want);
      wrong += error <= bound * want + (std::is_same_v<T, Half> ? 6e-8L : 0) ? 0 : 1;
    }
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(static_cast<Wide<T>>(out.back()), 7);
    auto in_place = in;
    row<T>(Row::kSoftmax)(in_place.data(), in_place.data(), static_cast<int64_t>(n));
    EXPECT_EQ(std::memcmp(in_place.data(), out.data() + offset, n * sizeof(T)), 0);

    row<T>(Row::kLogSoftmax)(in.data(), out.data() + offset, static_cast<int64_t>(n));
    wrong = 0;
    for (size_t i = 0; i < n; ++i) {
      const long double want = static_cast<Wide<T>>(in[i]) - total;
      const long double error = std::fabs(static_cast<Wide<T>>(out[offset + i]) - want);
      wrong += error <= held_epsilon<T>() * (2 + std::fabs(want)) ? 0 : 1;
    }
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(static_cast<Wide<T>>(out.back()), 7);
    in_place = in;
    row<T>(Row::kLogSoftmax)(in_place.data(), in_place.data(), static_cast<int64_t>(n));
    EXPECT_EQ(std::memcmp(in_place.data(), out.data() + offset, n * sizeof(T)), 0);
  }
  const float inf = INFINITY;
  const auto logsumexp = [&](float a, float b) {
    return reduce<T, Wide<T>>(Row::kLogsumexp, std::vector<T>{T(a), T(b)});
  };
  EXPECT_EQ(logsumexp(-inf, -inf), -inf);
  EXPECT_EQ(logsumexp(inf, 0), inf);
  EXPECT_EQ(logsumexp(inf, -inf), inf);
  EXPECT_EQ(logsumexp(-inf, 0), 0);
  EXPECT_TRUE(std::isnan(logsumexp(NAN, 0)));
  std::vector<T> pair = {T(-inf), T(0.0f)};
  row<T>(Row::kSoftmax)(pair.data(), pair.data(), 2);
  EXPECT_EQ(static_cast<float>(pair[0]), 0);
  EXPECT_EQ(static_cast<float>(pair[1]), 1);
  pair = {T(inf), T(0.0f)};
  row<T>(Row::kSoftmax)(pair.data(), pair.data(), 2);
  EXPECT_TRUE(std::isnan(static_cast<float>(pair[0])) && std::isnan(static_cast<float>(pair[1])));
}

// Many rows at once give what one after the other gives.
template <class T>
void RowTest::check_row_steps() {
  using A = Accumulator<T>;
  for (const size_t n : {1u, 5u, 16u, 67u, 130u}) {
    for (const size_t rows : {0u, 1u, 7u, 8u, 9u, 64u, 65u, 200u}) {
      SCOPED_TRACE(std::string(name(DTypeOf<T>::value)) + " n = " + std::to_string(n) +
                   " rows = " + std::to_string(rows));
      const size_t stride = n + 3;
      const auto in = sample<T>(stride * rows, 4);
      const auto count = static_cast<int64_t>(n);
      const auto stride_bytes = static_cast<int64_t>(stride * sizeof(in[0]));
      const auto row = [&](size_t i) { return in.data() + i * stride; };
      std::vector<A> together(n, A{1}), single(n, A{1});
      step<T>(Row::kSum).rows(in.data(), stride_bytes, static_cast<int64_t>(rows), together.data(),
                              count);
      for (size_t i = 0; i < rows; ++i) step<T>(Row::kSum)(row(i), single.data(), count);
      EXPECT_EQ(std::memcmp(together.data(), single.data(), n * sizeof(A)), 0);

      auto best = sample<T>(n, 5), best_one = best;
      std::vector<int64_t> index(n, -1), index_one(n, -1);
      const AccumulateArgFn arg =
          target().table.accumulate_args[static_cast<int>(Row::kArgmax)]
                                        [static_cast<int>(DTypeOf<T>::value)];
      arg({in.data(), stride_bytes, static_cast<int64_t>(rows), 3}, best.data(), index.data(),
          count);
      for (size_t i = 0; i < rows; ++i) {
        arg({row(i), 0, 1, static_cast<int64_t>(i) + 3}, best_one.data(), index_one.data(), count);
      }
      EXPECT_EQ(std::memcmp(best.data(), best_one.data(), n * sizeof(best[0])), 0);
      EXPECT_EQ(index, index_one);
    }
  }
}

template <class T>
void RowTest::check_steps() {
  using A = Accumulator<T>;
  using H = Held<T>;
  for (size_t n = 0; n <= 70; ++n) {
    SCOPED_TRACE(std::string(name(DTypeOf<T>::value)) + " n = " + std::to_string(n));
    auto in = sample<T>(n, 2);
    auto other = sample<T>(n, 3);
    if constexpr (kIsFloat<T>) {
      if (n > 4) in[4] = T(NAN);
      if (n > 5) other[5] = T(NAN);
    }
    const auto wide = [](H value) { return static_cast<Wide<H>>(value); };
    const auto same = [](auto a, auto b) { return a == b || (a != a && b != b); };
    const int64_t count = static_cast<int64_t>(n);

    std::vector<A> sum(n + 1, A{3}), product(n + 1, A{3});
    step<T>(Row::kSum)(in.data(), sum.data(), count);
    step<T>(Row::kProd)(in.data(), product.data(), count);
    for (size_t i = 0; i < n; ++i) {
      const A value = static_cast<A>(wide(in[i]));
      EXPECT_TRUE(same(sum[i], static_cast<A>(A{3} + value)));
      if constexpr (kIsFloat<T>) {
        EXPECT_TRUE(same(product[i], 3 * value));
      } else {
        EXPECT_EQ(product[i], static_cast<A>(3 * static_cast<uint64_t>(value)));
      }
    }
    EXPECT_EQ(sum[n], A{3});
    EXPECT_EQ(product[n], A{3});

    auto high = other, low = other, best = other, worst = other;
    std::vector<int64_t> best_index(n, 1), worst_index(n, 1);
    step<T>(Row::kMax)(in.data(), high.data(), count);
    step<T>(Row::kMin)(in.data(), low.data(), count);
    const auto& args = target().table.accumulate_args;
    const int dtype = static_cast<int>(DTypeOf<T>::value);
    const ArgRows ninth = {in.data(), 0, 1, 9};
    args[static_cast<int>(Row::kArgmax)][dtype](ninth, best.data(), best_index.data(), count);
    args[static_cast<int>(Row::kArgmin)][dtype](ninth, worst.data(), worst_index.data(), count);
    std::vector<uint8_t> any(n, 0), all(n, 1);
    step<T>(Row::kAny)(in.data(), any.data(), count);
    step<T>(Row::kAll)(in.data(), all.data(), count);
    for (size_t i = 0; i < n; ++i) {
      const auto a = wide(other[i]), b = wide(in[i]);
      const bool kept_nan = a != a;
      const bool up = !kept_nan && (b != b || b > a);
      const bool down = !kept_nan && (b != b || b < a);
      EXPECT_TRUE(same(wide(high[i]), up ? b : a));
      EXPECT_TRUE(same(wide(low[i]), down ? b : a));
      EXPECT_TRUE(same(wide(best[i]), up ? b : a));
      EXPECT_TRUE(same(wide(worst[i]), down ? b : a));
      EXPECT_EQ(best_index[i], up ? 9 : 1);
      EXPECT_EQ(worst_index[i], down ? 9 : 1);
      EXPECT_EQ(any[i], b != 0 ? 1 : 0);
      EXPECT_EQ(all[i], b != 0 ? 1 : 0);
    }
    if constexpr (kIsFloat<T>) {
      std::vector<A> squares(n, A{2}), magnitudes(n, A{2});
      step<T>(Row::kSumSquares)(in.data(), squares.data(), count);
      step<T>(Row::kSumAbs)(in.data(), magnitudes.data(), count);
      for (size_t i = 0; i < n; ++i) {
        const A value = wide(in[i]);
        if (value != value) continue;
        expect_near(squares[i], 2 + value * value, 2 * wide_epsilon<T>() * squares[i]);
        EXPECT_EQ(magnitudes[i], 2 + std::fabs(value));
      }
    }
  }
}

TEST_P(RowTest, SumsProductsAndMoments) {
  check_sums<bool>();
  check_sums<uint8_t>();
  check_sums<int8_t>();
  check_sums<int16_t>();
  check_sums<int32_t>();
  check_sums<int64_t>();
  check_sums<Half>();
  check_sums<BFloat16>();
  check_sums<float>();
  check_sums<double>();
}

TEST_P(RowTest, ExtremesTakeTheFirstAndNanWins) {
  check_extremes<bool>();
  check_extremes<uint8_t>();
  check_extremes<int8_t>();
  check_extremes<int16_t>();
  check_extremes<int32_t>();
  check_extremes<int64_t>();
  check_extremes<Half>();
  check_extremes<BFloat16>();
  check_extremes<float>();
  check_extremes<double>();
}

TEST_P(RowTest, AnyAndAll) {
  check_truth<bool>();
  check_truth<uint8_t>();
  check_truth<int8_t>();
  check_truth<int16_t>();
  check_truth<int32_t>();
  check_truth<int64_t>();
  check_truth<Half>();
  check_truth<BFloat16>();
  check_truth<float>();
  check_truth<double>();
}

TEST_P(RowTest, SoftmaxAndLogsumexp) {
  check_softmax<Half>();
  check_softmax<BFloat16>();
  check_softmax<float>();
  check_softmax<double>();
}

TEST_P(RowTest, StepsOverAnOuterDimension) {
  check_steps<bool>();
  check_steps<uint8_t>();
  check_steps<int8_t>();
  check_steps<int16_t>();
  check_steps<int32_t>();
  check_steps<int64_t>();
  check_steps<Half>();
  check_steps<BFloat16>();
  check_steps<float>();
  check_steps<double>();
}

TEST_P(RowTest, StepsOfManyRows) {
  check_row_steps<bool>();
  check_row_steps<uint8_t>();
  check_row_steps<int8_t>();
  check_row_steps<int16_t>();
  check_row_steps<int32_t>();
  check_row_steps<int64_t>();
  check_row_steps<Half>();
  check_row_steps<BFloat16>();
  check_row_steps<float>();
  check_row_steps<double>();
}

// A million equal terms: adding them one by one in float32 would be off in the third digit.
TEST_P(RowTest, LongSumsStayAccurate) {
  const std::vector<float> in(1 << 22, 0.1f);
  const double exact = 0.1f * static_cast<double>(in.size());
  expect_near((reduce<float, float>(Row::kSum, in)), exact, exact * 1e-6);
}

TEST(Moments, CombineLikeOneRow) {
  Moments left{1.0, 2.0, 4};
  const Moments right{3.0, 6.0, 12};
  left += right;
  EXPECT_EQ(left.count, 16);
  EXPECT_DOUBLE_EQ(left.mean, 2.5);
  EXPECT_DOUBLE_EQ(left.m2, 2 + 6 + 4.0 * 4 * 12 / 16);
  left += Moments{};
  EXPECT_EQ(left.count, 16);
}

INSTANTIATE_TEST_SUITE_P(Targets,
                         RowTest,
                         testing::Range(size_t{0}, all_targets().size()),
                         [](const auto& info) { return all_targets()[info.param].name; });

}  // namespace
}  // namespace mindtorch::cpu
