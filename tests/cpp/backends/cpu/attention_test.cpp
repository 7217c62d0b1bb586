// Attention and its gradients on every instruction set, against sums as they are defined.
#include "mindtorch/backends/cpu/attention/attention.h"

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <cmath>
#include <random>

#include "tests/cpp/backends/cpu/tile_targets.h"

namespace mindtorch::cpu::attention {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Sizes {
  int64_t heads;  // of query
  int64_t key_heads;
  int64_t queries;
  int64_t keys;
  int64_t size;  // of a query and a key
  int64_t value_size;
  bool is_causal;
  bool has_bias;
};

template <typename T>
Tensor random_tensor(Shape sizes, unsigned seed) {
  std::mt19937 random(seed);
  const Tensor made = Tensor::make(sizes, DTypeOf<T>::value);
  for (int64_t i = 0; i < made.numel(); ++i) {
    made.data<T>()[i] = static_cast<T>(static_cast<double>(random() % 2001) / 1000 - 1);
  }
  return made;
}

// A contiguous [heads, rows, columns] in double.
struct Numbers {
  Numbers(int64_t heads, int64_t rows, int64_t columns)
      : rows(rows), columns(columns), values(static_cast<size_t>(heads * rows * columns)) {}
  template <typename T>
  static Numbers of(const Tensor& tensor, T) {
    Numbers made(tensor.size(0), tensor.size(1), tensor.size(2));
    for (size_t i = 0; i < made.values.size(); ++i) made.values[i] = tensor.data<T>()[i];
    return made;
  }
  double& at(int64_t head, int64_t row, int64_t column) {
    return values[static_cast<size_t>((head * rows + row) * columns + column)];
  }
  int64_t rows, columns;
  std::vector<double> values;
};

template <typename T>
void expect_near(Numbers& wanted, const Tensor& found, const char* what) {
  Numbers got = Numbers::of(found, T{});
  ASSERT_EQ(got.values.size(), wanted.values.size());
  const double near = sizeof(T) == 4 ? 2e-5 : 1e-12;
  for (size_t i = 0; i < got.values.size(); ++i) {
    ASSERT_NEAR(got.values[i], wanted.values[i], near * (1 + std::fabs(wanted.values[i])))
        << what << " " << i;
  }
}

template <typename T>
void check(const Sizes& s) {
  const DType dtype = DTypeOf<T>::value;
  const Tensor query = random_tensor<T>({s.heads, s.queries, s.size}, 1);
  const Tensor key = random_tensor<T>({s.key_heads, s.keys, s.size}, 2);
  const Tensor value = random_tensor<T>({s.key_heads, s.keys, s.value_size}, 3);
  const Tensor grad = random_tensor<T>({s.heads, s.queries, s.value_size}, 4);
  const Tensor bias = s.has_bias ? random_tensor<T>({s.heads, s.queries, s.keys}, 5) : Tensor();
  const Settings settings = {bias, s.is_causal, 0.7};

  Numbers q = Numbers::of(query, T{}), k = Numbers::of(key, T{}), v = Numbers::of(value, T{});
  Numbers g = Numbers::of(grad, T{});
  Numbers out(s.heads, s.queries, s.value_size), lse(s.heads, s.queries, 1);
  Numbers dq(s.heads, s.queries, s.size), dk(s.key_heads, s.keys, s.size);
  Numbers dv(s.key_heads, s.keys, s.value_size);
  for (int64_t h = 0; h < s.heads; ++h) {
    const int64_t shared = h / (s.heads / s.key_heads);
    for (int64_t i = 0; i < s.queries; ++i) {
      std::vector<double> weights(static_cast<size_t>(s.keys), -kInfinity),
          products(weights.size());
      double sum = 0, dot = 0;
      for (int64_t j = 0; j < s.keys; ++j) {
        const auto at = static_cast<size_t>(j);
        if (s.is_causal && j > i) continue;
        double score = 0;
        for (int64_t e = 0; e < s.size; ++e) score += q.at(h, i, e) * k.at(shared, j, e);
        score *= settings.scale;
        if (s.has_bias) score += bias.data<T>()[(h * s.queries + i) * s.keys + j];
        weights[at] = score;
        sum += std::exp(score);
      }
      lse.at(h, i, 0) = std::log(sum);
      for (int64_t j = 0; j < s.keys; ++j) {
        const auto at = static_cast<size_t>(j);
        weights[at] = std::exp(weights[at]) / sum;
        for (int64_t e = 0; e < s.value_size; ++e) {
          out.at(h, i, e) += weights[at] * v.at(shared, j, e);
          dv.at(shared, j, e) += weights[at] * g.at(h, i, e);
          products[at] += v.at(shared, j, e) * g.at(h, i, e);
        }
        dot += weights[at] * products[at];
      }
      for (int64_t j = 0; j < s.keys; ++j) {
        const auto at = static_cast<size_t>(j);
        const double of_score = weights[at] * (products[at] - dot) * settings.scale;
        for (int64_t e = 0; e < s.size; ++e) {
          dq.at(h, i, e) += of_score * k.at(shared, j, e);
          dk.at(shared, j, e) += of_score * q.at(h, i, e);
        }
      }
    }
  }

  const Tensor result = Tensor::make(grad.sizes(), dtype);
  const Tensor logsumexp = Tensor::make({s.heads, s.queries, 1}, dtype);
  forward<T>(query, key, value, settings, result, logsumexp);
  expect_near<T>(out, result, "result");
  expect_near<T>(lse, logsumexp, "logsumexp");
  const Tensor of_query = Tensor::make(query.sizes(), dtype);
  const Tensor of_key = Tensor::make(key.sizes(), dtype);
  const Tensor of_value = Tensor::make(value.sizes(), dtype);
  backward<T>(grad, query, key, value, result, logsumexp, settings, of_query, of_key, of_value);
  expect_near<T>(dq, of_query, "gradient of query");
  expect_near<T>(dk, of_key, "gradient of key");
  expect_near<T>(dv, of_value, "gradient of value");
}

TEST(Attention, IsTheSameOnEveryInstructionSet) {
  const Sizes all[] = {
      {2, 2, 70, 300, 20, 36, false, false}, {2, 1, 110, 70, 64, 64, true, false},
      {4, 2, 9, 280, 3, 17, false, true},    {1, 1, 3, 40, 32, 50, true, true},
      {1, 1, 1, 1, 1, 1, false, false},      {2, 1, 13, 21, 96, 130, true, false},
  };
  on_every_target([&] {
    for (const Sizes& sizes : all) {
      SCOPED_TRACE(::testing::Message()
                   << sizes.queries << " queries, " << sizes.keys << " keys of " << sizes.size);
      check<float>(sizes);
      check<double>(sizes);
      if (HasFatalFailure()) break;
    }
  });
}

}  // namespace
}  // namespace mindtorch::cpu::attention
