// The rows of norms and softmax and their gradients, on every instruction set, against their
// formulas in long double.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "mindtorch/backends/cpu/tiles/norm.h"
#include "tests/cpp/backends/cpu/tile_targets.h"

namespace mindtorch::cpu {
namespace {

using Real = long double;

template <class T>
inline constexpr bool kIsHalf = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;
template <class T>
using Wide = std::conditional_t<kIsHalf<T>, float, T>;

template <class T>
std::vector<T> sample(size_t n, uint64_t seed) {
  std::mt19937_64 random(seed * 1000 + n);
  std::normal_distribution<double> normal;
  std::vector<T> values;
  for (size_t i = 0; i < n; ++i) {
    values.push_back(static_cast<T>(static_cast<Wide<T>>(normal(random) * 2)));
  }
  return values;
}

template <class T>
Real tolerance() {
  if (std::is_same_v<T, Half>) return 4e-3L;
  if (std::is_same_v<T, BFloat16>) return 3e-2L;
  return std::is_same_v<T, float> ? 2e-5L : 1e-13L;
}

template <class T>
Real real(T value) {
  return static_cast<Real>(static_cast<Wide<T>>(value));
}

template <class T>
void expect_near(T got, Real want, Real size = 1) {
  const Real bound = tolerance<T>() * (std::fabs(want) + size);
  EXPECT_LE(std::fabs(real(got) - want), bound) << "got " << real(got) << ", want " << want;
}

const size_t kLengths[] = {1,  2,  3,  4,  7,  8,   9,   15,   16,  17,
                           31, 32, 33, 63, 65, 128, 300, 1024, 2049};

class NormTilesTest : public testing::TestWithParam<size_t> {
 protected:
  const NormTable& table() const { return all_targets()[GetParam()].norms; }

  template <class T>
  void check_norms();
  template <class T>
  void check_softmax();
  template <class T>
  void check_channels();
};

template <class T>
void NormTilesTest::check_norms() {
  using W = Wide<T>;
  constexpr auto kDType = static_cast<int>(DTypeOf<T>::value);
  for (const size_t n : kLengths) {
    const auto count = static_cast<Real>(n);
    const auto in = sample<T>(n, 1), grad = sample<T>(n, 2);
    const auto weight = sample<W>(n, 3), bias = sample<W>(n, 4);
    for (const Norm norm : {Norm::kLayer, Norm::kRootMeanSquare}) {
      for (const bool has_weight : {false, true}) {
        SCOPED_TRACE(std::string(name(DTypeOf<T>::value)) + " n = " + std::to_string(n));
        const bool is_layer = norm == Norm::kLayer;
        const double eps = 1e-2;
        const void* const scale = has_weight ? weight.data() : nullptr;
        const void* const shift = is_layer ? bias.data() : nullptr;
        Real mean = 0;
        Real squares = 0;
        for (const T x : in) mean += is_layer ? real(x) / count : 0;
        for (const T x : in) squares += (real(x) - mean) * (real(x) - mean) / count;
        const Real rstd = 1 / std::sqrt(squares + static_cast<Real>(eps));
        std::vector<T> out(n + 1, T(7.0F));
        const NormStatistics found = table().norms[static_cast<int>(norm)][kDType](
            in.data(), out.data(), static_cast<int64_t>(n), {scale, shift, eps});
        EXPECT_NEAR(found.mean, static_cast<double>(mean), 1e-5);
        EXPECT_NEAR(found.rstd, static_cast<double>(rstd), 1e-4 * static_cast<double>(rstd));
        Real sum = 0;
        Real dot = 0;
        const auto by = [&](size_t i) { return has_weight ? real(weight[i]) : Real{1}; };
        for (size_t i = 0; i < n; ++i) {
          const Real normal = (real(in[i]) - mean) * rstd;
          expect_near(out[i], normal * by(i) + (is_layer ? real(bias[i]) : 0), 2);
          sum += is_layer ? real(grad[i]) * by(i) / count : 0;
          dot += real(grad[i]) * by(i) * normal / count;
        }
        EXPECT_EQ(real(out[n]), 7);

        std::vector<T> result(n + 1, T(7.0F));
        std::vector<W> weight_sums(n + 1, W{3});
        std::vector<W> bias_sums(n + 1, W{5});
        table().norm_gradients[static_cast<int>(norm)][kDType](
            grad.data(), in.data(), result.data(), static_cast<int64_t>(n),
            {scale, found, weight_sums.data(), bias_sums.data()});
        for (size_t i = 0; i < n; ++i) {
          const Real normal = (real(in[i]) - mean) * rstd;
          const Real want = rstd * (real(grad[i]) * by(i) - sum - normal * dot);
          expect_near(result[i], want, rstd * 8);
          expect_near(weight_sums[i], 3 + real(grad[i]) * normal, 4);
          expect_near(bias_sums[i], 5 + real(grad[i]), 4);
        }
        EXPECT_EQ(real(result[n]), 7);
        EXPECT_EQ(weight_sums[n], W{3});
        EXPECT_EQ(bias_sums[n], W{5});
      }
    }
  }
}

template <class T>
void NormTilesTest::check_softmax() {
  constexpr auto kDType = static_cast<int>(DTypeOf<T>::value);
  for (const size_t n : kLengths) {
    SCOPED_TRACE(std::string(name(DTypeOf<T>::value)) + " n = " + std::to_string(n));
    const auto in = sample<T>(n, 1), grad = sample<T>(n, 2);
    Real total = 0;
    for (const T x : in) total += std::exp(real(x));
    for (const bool is_log : {false, true}) {
      const auto which = static_cast<int>(is_log ? Softmax::kLog : Softmax::kPlain);
      std::vector<T> results;
      Real sum = 0;
      for (size_t i = 0; i < n; ++i) {
        const Real log = real(in[i]) - std::log(total);
        results.push_back(T(static_cast<Wide<T>>(is_log ? log : std::exp(log))));
        sum += is_log ? real(grad[i]) : real(grad[i]) * real(results[i]);
      }
      const auto want = [&](size_t i) {
        const Real y = real(results[i]);
        return is_log ? real(grad[i]) - std::exp(y) * sum : y * (real(grad[i]) - sum);
      };
      std::vector<T> out(n + 1, T(7.0F));
      table().softmax_gradients[which][kDType](grad.data(), results.data(), out.data(),
                                               static_cast<int64_t>(n));
      for (size_t i = 0; i < n; ++i) expect_near(out[i], want(i), std::fabs(sum) + 1);
      EXPECT_EQ(real(out[n]), 7);

      if (n > static_cast<size_t>(kLongestSoftmaxColumn)) continue;
      // The same row in each of 35 columns, of a matrix of 36.
      const auto spread = [&](const std::vector<T>& row) {
        std::vector<T> matrix;
        for (const T value : row) matrix.insert(matrix.end(), 36, value);
        return matrix;
      };
      std::vector<T> columns = spread(in);
      table().softmax_columns[which][kDType](columns.data(), columns.data(),
                                             static_cast<int64_t>(n), 35, 36);
      std::vector<T> slopes = spread(grad);
      table().softmax_columns_gradients[which][kDType](
          slopes.data(), spread(results).data(), slopes.data(), static_cast<int64_t>(n), 35, 36);
      for (size_t i = 0; i < columns.size(); ++i) {
        if (i % 36 == 35) {
          EXPECT_EQ(real(columns[i]), real(in[i / 36]));
          EXPECT_EQ(real(slopes[i]), real(grad[i / 36]));
          continue;
        }
        expect_near(columns[i], real(results[i / 36]));
        expect_near(slopes[i], want(i / 36), std::fabs(sum) + 1);
      }
    }
  }
}

template <class T>
void NormTilesTest::check_channels() {
  using W = Wide<T>;
  constexpr auto kDType = static_cast<int>(DTypeOf<T>::value);
  for (const size_t n : kLengths) {
    const auto in = sample<T>(n, 1), grad = sample<T>(n, 2);
    const auto a = sample<W>(n, 3), b = sample<W>(n, 4), c = sample<W>(n, 5), e = sample<W>(n, 6);
    const auto size = static_cast<int64_t>(n);
    for (const bool each : {false, true}) {
      SCOPED_TRACE(std::string(name(DTypeOf<T>::value)) + " n = " + std::to_string(n));
      const auto kind = static_cast<int>(each ? ChannelsOfRow::kEach : ChannelsOfRow::kOne);
      const ChannelFns& tiles = table().channels[kind][kDType];
      const auto of = [&](const std::vector<W>& values, size_t i) {
        return real(values[each ? i : 0]);
      };
      std::vector<T> out(n + 1, T(7.0F));
      std::vector<T> slopes(n + 1, T(7.0F));
      std::vector<W> squares(n + 1, W{1}), sums(n + 1, W{2}), dots(n + 1, W{3});
      tiles.scale(in.data(), out.data(), size, a.data(), b.data());
      tiles.squares(in.data(), size, c.data(), squares.data());
      tiles.sums(grad.data(), in.data(), size, c.data(), sums.data(), dots.data());
      tiles.gradient(grad.data(), in.data(), slopes.data(), size, c.data(), a.data(), b.data(),
                     e.data());
      Real all_squares = 1, all_sums = 2, all_dots = 3;
      for (size_t i = 0; i < n; ++i) {
        const Real distance = real(in[i]) - of(c, i);
        expect_near(out[i], real(in[i]) * of(a, i) + of(b, i), 20);
        expect_near(slopes[i], real(grad[i]) * of(a, i) + distance * of(b, i) + of(e, i), 50);
        all_squares += distance * distance;
        all_sums += real(grad[i]);
        all_dots += real(grad[i]) * distance;
        if (!each) continue;
        expect_near(squares[i], 1 + distance * distance, 20);
        expect_near(sums[i], 2 + real(grad[i]), 4);
        expect_near(dots[i], 3 + real(grad[i]) * distance, 20);
      }
      if (!each) {
        expect_near(squares[0], all_squares);
        expect_near(sums[0], all_sums, static_cast<Real>(n));
        expect_near(dots[0], all_dots, static_cast<Real>(4 * n));
      }
      EXPECT_EQ(real(out[n]), 7);
      EXPECT_EQ(real(slopes[n]), 7);
      EXPECT_EQ(squares[n], W{1});
      EXPECT_EQ(sums[n], W{2});
      EXPECT_EQ(dots[n], W{3});
    }
  }
}

TEST_P(NormTilesTest, Norms) {
  check_norms<float>();
  check_norms<double>();
  check_norms<Half>();
  check_norms<BFloat16>();
}
TEST_P(NormTilesTest, Softmax) {
  check_softmax<float>();
  check_softmax<double>();
  check_softmax<Half>();
  check_softmax<BFloat16>();
}
TEST_P(NormTilesTest, Channels) {
  check_channels<float>();
  check_channels<double>();
  check_channels<Half>();
  check_channels<BFloat16>();
}

INSTANTIATE_TEST_SUITE_P(Targets,
                         NormTilesTest,
                         testing::Range(size_t{0}, all_targets().size()),
                         [](const auto& info) { return all_targets()[info.param].name; });

}  // namespace
}  // namespace mindtorch::cpu
