#include "mindtorch/backends/cpu/random_fill.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "mindtorch/backends/cpu/capability.h"
#include "mindtorch/base/error.h"

// Every expected number here was given by torch 2.13 for the same seed and the same calls before.
namespace mindtorch::cpu {
namespace {

constexpr uint64_t kSeed = 17;
constexpr DType kAllDTypes[] = {DType::kBool,    DType::kUInt8,  DType::kInt8,    DType::kInt16,
                                DType::kInt32,   DType::kInt64,  DType::kFloat16, DType::kBFloat16,
                                DType::kFloat32, DType::kFloat64};

// torch and we fuse products and sums on machines that can; elsewhere last bits differ from these
// tables.
bool machine_fuses() { return std::string_view(capability()) != "DEFAULT"; }

// FNV-1a, to compare many bytes with what torch gave.
uint64_t digest(const std::vector<uint8_t>& bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const uint8_t byte : bytes) hash = (hash ^ byte) * 0x100000001b3;
  return hash;
}

// The digest of n elements written by fill(out).
template <typename Fill>
uint64_t digest_of(DType dtype, int64_t n, const Fill& fill) {
  std::vector<uint8_t> bytes(static_cast<size_t>(n * size_bytes(dtype)));
  fill(bytes.data());
  return digest(bytes);
}

template <typename T>
void expect_near(const std::vector<T>& actual, const std::vector<T>& expected, double relative) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    const double tolerance = relative * std::max(1.0, std::abs(static_cast<double>(expected[i])));
    EXPECT_NEAR(actual[i], expected[i], tolerance) << i;
  }
}

// The text of the E that body throws.
template <typename E, typename Body>
std::string error_of(const Body& body) {
  try {
    body();
  } catch (const E& error) {
    return error.what();
  }
  return "no error";
}

TEST(RandomFill, IntegersAndUniformsEqualTorchsToTheBit) {
  CpuGenerator g(kSeed);
  const auto uniform = [&](DType dtype, int64_t n, double from, double to) {
    return digest_of(dtype, n, [&](void* out) { fill_uniform(g, dtype, out, n, from, to); });
  };
  EXPECT_EQ(uniform(DType::kFloat32, 1000, 0, 1), 0x61e4a23fd622951bu);
  EXPECT_EQ(uniform(DType::kFloat64, 1001, 0, 1), 0x835115ffd527efcdu);
  EXPECT_EQ(uniform(DType::kFloat16, 17, 0, 1), 0xe9559ae1998f3457u);
  EXPECT_EQ(uniform(DType::kBFloat16, 33, 0, 1), 0x2cb5a64037cd1034u);
  const uint64_t ranges[] = {
      uniform(DType::kFloat32, 100, -0.3, 2.7), uniform(DType::kFloat64, 100, -0.3, 2.7),
      uniform(DType::kFloat16, 100, -0.3, 2.7), uniform(DType::kBFloat16, 100, -0.3, 2.7)};
  if (machine_fuses()) {
    EXPECT_EQ(ranges[0], 0xe620d356abf2e45du);
    EXPECT_EQ(ranges[1], 0x1b8b5b3eb03bfc8du);
    EXPECT_EQ(ranges[2], 0xb49efb419b81065du);
    EXPECT_EQ(ranges[3], 0xa872989a7907c995u);
  }

  const uint64_t full[] = {0x2b63878957d8d0f0, 0xfe1d91180245a3d7, 0x2d2c0b5a42af9b5d,
                           0xe1ad0040f684c630, 0x592224b16246bb56, 0x3baaed29b91dc853,
                           0x21b6005b2d966a53, 0x085920715eaeae39, 0xd13b209c4287d268,
                           0xc834ce9d9c0a22f8};
  for (const DType dtype : kAllDTypes) {
    EXPECT_EQ(digest_of(dtype, 50, [&](void* out) { fill_random_full(g, dtype, out, 50); }),
              full[static_cast<int>(dtype)])
        << name(dtype);
  }
  const std::pair<DType, uint64_t> full64[] = {{DType::kInt64, 0xa4307e1460c42257},
                                               {DType::kFloat64, 0x98ba71845cbacfbf},
                                               {DType::kFloat32, 0x959df4ba2b89a0dd},
                                               {DType::kBFloat16, 0xcc922e3e6257c611}};
  for (const auto& [dtype, expected] : full64) {
    EXPECT_EQ(digest_of(dtype, 50, [&](void* out) { fill_random_full64(g, dtype, out, 50); }),
              expected)
        << name(dtype);
  }

  struct Range {
    DType dtype;
    int64_t base;
    uint64_t range;
    uint64_t expected;
  };
  const Range cases[] = {
      {DType::kBool, 0, 2, 0x9f20db6698883ef8},
      {DType::kUInt8, 0, 200, 0x1680e63e42e90fd2},
      {DType::kInt8, -100, 200, 0x91c97f9ffdc3340d},
      {DType::kInt16, -5, 10, 0x717834c5e610130f},
      {DType::kInt32, 0, uint64_t{1} << 28, 0x25af8f945b0ac6a3},
      {DType::kInt32, -3, (uint64_t{1} << 28) - 1, 0x149a60fa70ba81a7},
      {DType::kInt64, -(int64_t{1} << 40), uint64_t{1} << 41, 0x4d295a59125e2db1},
      {DType::kInt64, 7, 1, 0x490f340bf19fb0a2},
      {DType::kFloat16, -9, 18, 0x5c5f407ff34de124},
      {DType::kBFloat16, 0, 11, 0x03d4a43364b880da},
      {DType::kFloat32, 0, 1000, 0x6d78ab75c4778550},
      {DType::kFloat64, 0, uint64_t{1} << 50, 0x49c5146790f117a7},
  };
  for (const auto& [dtype, base, range, expected] : cases) {
    const auto fill = [&, dtype = dtype, base = base, range = range](void* out) {
      fill_random_range(g, dtype, out, 77, base, range);
    };
    EXPECT_EQ(digest_of(dtype, 77, fill), expected) << name(dtype) << ' ' << range;
  }

  struct Permutation {
    DType dtype;
    int64_t n;
    uint64_t expected;
  };
  const Permutation permutations[] = {{DType::kInt64, 1500, 0x46d515bc99c1abed},
                                      {DType::kInt32, 10, 0x2dbf5fb8d3c49804},
                                      {DType::kUInt8, 100, 0x68c94964af499c55},
                                      {DType::kFloat16, 64, 0x1a7432c3e6589ea3},
                                      {DType::kFloat64, 3, 0x5e51083c28998bb8}};
  for (const auto& [dtype, n, expected] : permutations) {
    const auto fill = [&, dtype = dtype, n = n](void* out) { fill_permutation(g, dtype, out, n); };
    EXPECT_EQ(digest_of(dtype, n, fill), expected) << name(dtype) << ' ' << n;
  }

  const uint64_t bernoulli[] = {0x70465d6a8803818e, 0x0b693406be7e5af9, 0x9c4078f81f90b533,
                                0xb61bc097b1b3f17d, 0x7fd90e817630dc94, 0x84b3e6532d19fe64,
                                0x3ddd67b4bcbb3501, 0x5ed6f42d2a767045, 0x5a6f1cfa2cec0b15,
                                0x7859db7ceb3e3bf8};
  for (const DType dtype : kAllDTypes) {
    EXPECT_EQ(digest_of(dtype, 60, [&](void* out) { fill_bernoulli(g, dtype, out, 60, 0.3); }),
              bernoulli[static_cast<int>(dtype)])
        << name(dtype);
  }
  const std::pair<DType, uint64_t> by_element[] = {{DType::kFloat64, 0x96c64b987c51a859},
                                                   {DType::kFloat32, 0xce3297ced8c4c193},
                                                   {DType::kFloat16, 0x64b97bdda8157625},
                                                   {DType::kBFloat16, 0x2f10871800f89e26}};
  for (const auto& [dtype, expected] : by_element) {
    const uint64_t actual = digest_of(DType::kUInt8, 65, [&, dtype = dtype](void* out) {
      visit_dtype(dtype, [&]<typename P>() {
        std::vector<uint8_t> bytes(65 * sizeof(P));
        P* p = reinterpret_cast<P*>(bytes.data());
        for (int i = 0; i < 65; ++i) p[i] = static_cast<P>(static_cast<float>(i) / 64);
        fill_bernoulli(g, DType::kUInt8, out, 65, dtype, p);
      });
    });
    EXPECT_EQ(actual, expected) << name(dtype);
  }
  EXPECT_EQ(digest(g.get_state()), 0x4518d4722e156bdau);
}

TEST(RandomFill, NormalsEqualTorchsToTheBit) {
  CpuGenerator g(kSeed);
  const auto normal = [&](DType dtype, int64_t n) {
    return digest_of(dtype, n, [&](void* out) { fill_normal(g, dtype, out, n, 0.5, 2); });
  };
  const uint64_t actual[] = {normal(DType::kFloat32, 1003), normal(DType::kFloat16, 50),
                             normal(DType::kBFloat16, 47), normal(DType::kFloat32, 16)};
  // The draws are the same everywhere: an incomplete group of 16 costs float32 more than float16.
  EXPECT_EQ(digest(g.get_state()), 0x8d8551914536b094u);
  if (!machine_fuses()) GTEST_SKIP() << "this machine does not fuse products and sums";
  EXPECT_EQ(actual[0], 0xa90f583dd1e2e68bu);
  EXPECT_EQ(actual[1], 0x3a41dc22b180402fu);
  EXPECT_EQ(actual[2], 0x15481a7ab9b7dfb1u);
  EXPECT_EQ(actual[3], 0x639a8de91dc7f6a0u);
}

// One sequence of calls, as a program would make them: what a call leaves behind shows in the next.
TEST(RandomFill, MixedCallsGiveTorchsNumbers) {
  CpuGenerator g(kSeed);
  std::vector<float> f(4);
  fill_uniform(g, DType::kFloat32, f.data(), 4, 0, 1);
  EXPECT_EQ(f, (std::vector<float>{0.434241235f, 0.53510958f, 0.830208719f, 0.123863578f}));
  std::vector<double> d(3);
  fill_uniform(g, DType::kFloat64, d.data(), 3, 0, 1);
  EXPECT_EQ(d,
            (std::vector<double>{0.23456901973000932, 0.059929278765357474, 0.7462265063396706}));

  f.resize(3);
  fill_normal(g, DType::kFloat32, f.data(), 3, 0, 1);
  expect_near<float>(f, {0.682932258f, 1.2619549f, 0.0208850056f}, 1e-7);
  d.resize(2);
  fill_normal(g, DType::kFloat64, d.data(), 2, 10, 0.5);  // the first one waited since then
  expect_near<double>(d, {9.982271692711425, 10.272110189072913}, 1e-15);
  f.resize(18);
  fill_normal(g, DType::kFloat32, f.data(), 18, 0, 1);
  expect_near<float>(
      f,
      {0.956679463f, 0.0895440876f, 0.473326057f, -0.70655036f, 0.882202804f, 0.855524838f,
       -0.668879688f, -0.320163637f, 1.371544f, -0.708598197f, 0.51692307f, -0.374818176f,
       -1.40169978f, -0.165047914f, -0.731518924f, 2.09001827f, 1.69629622f, -0.048015818f},
      1e-6);
  d.resize(18);
  fill_normal(g, DType::kFloat64, d.data(), 18, 0, 1);
  expect_near<double>(
      d,
      {1.2443654765471568, -1.0055826189462997, -0.027937724103806506, -0.7218508392441813,
       0.5478425239491308, 0.6762437966063276, -0.9684678060862549, -1.1095154978057784,
       -1.035427734796834, -1.158051749921108, 0.4181081026316878, 0.5023982496061673,
       0.5090539904497023, 0.07459618186173429, -0.37195474579263216, 1.1265943476042648,
       0.5125391024830179, 0.11719417389680226},
      1e-14);
  f.resize(17);
  fill_normal_serial(g, DType::kFloat32, f.data(), 17, 0, 1);
  expect_near<float>(
      f,
      {-1.59720767f, -0.957780957f, 1.08841395f, 0.31869486f, 0.462190092f, -0.550893128f,
       0.531638801f, 0.617912233f, -0.21950531f, 0.0583479926f, -0.475822687f, 1.33907425f,
       -0.485564947f, -0.93922621f, 0.35634014f, -0.0176229272f, 0.32898131f},
      1e-7);

  d.resize(3);
  fill_exponential(g, DType::kFloat64, d.data(), 3, 2);
  expect_near<double>(d, {0.9532343237873641, 0.36698554071400463, 1.5326146308722666}, 1e-14);
  f.resize(10);
  fill_exponential(g, DType::kFloat32, f.data(), 10, 2);
  expect_near<float>(f,
                     {0.369756788f, 0.675161302f, 0.202984855f, 0.146731138f, 0.720216095f,
                      0.358367175f, 0.284418106f, 0.699485838f, 0.776035428f, 0.0604216307f},
                     1e-7);
  fill_cauchy(g, DType::kFloat64, d.data(), 3, 1, 2);
  expect_near<double>(d, {-374.8640907074256, 0.603138724226394, 2.6511211203488294}, 1e-12);
  fill_log_normal(g, DType::kFloat64, d.data(), 3, 1, 0.25);
  expect_near<double>(d, {2.8448415337495976, 3.1112994541705175, 3.3489315425874273}, 1e-14);
  std::vector<int32_t> tries(12);
  fill_geometric(g, DType::kInt32, tries.data(), 12, 0.2);
  EXPECT_EQ(tries, (std::vector<int32_t>{5, 2, 2, 1, 10, 2, 1, 1, 4, 1, 4, 2}));
  EXPECT_EQ(g.random64(), 9096132701093324007u);
}

template <typename T>
std::vector<int64_t> multinomial(Generator& g, int64_t samples, bool replacement) {
  std::vector<T> weights;
  for (const float weight : {1.f, 2.f, 0.f, 4.f, 3.f, 5.f, 0.f, 0.f, 1.f, 1.f}) {
    weights.push_back(static_cast<T>(weight));
  }
  std::vector<int64_t> out(static_cast<size_t>(2 * samples));
  sample_multinomial(g, DTypeOf<T>::value, weights.data(), 2, 5, samples, replacement, false,
                     out.data());
  return out;
}

TEST(RandomFill, MultinomialGivesTorchsIndices) {
  using Indices = std::vector<int64_t>;
  CpuGenerator g(kSeed);
  EXPECT_EQ(multinomial<float>(g, 8, true),
            (Indices{3, 3, 1, 0, 4, 1, 3, 4, 0, 3, 3, 4, 0, 0, 3, 0}));
  EXPECT_EQ(multinomial<float>(g, 3, false), (Indices{3, 4, 1, 3, 0, 4}));
  EXPECT_EQ(multinomial<float>(g, 1, false), (Indices{4, 3}));
  EXPECT_EQ(multinomial<double>(g, 8, true),
            (Indices{0, 3, 3, 3, 4, 1, 3, 0, 0, 3, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(multinomial<double>(g, 3, false), (Indices{4, 3, 1, 0, 3, 4}));
  EXPECT_EQ(multinomial<double>(g, 1, true), (Indices{3, 0}));
  EXPECT_EQ(multinomial<Half>(g, 8, true),
            (Indices{4, 3, 3, 3, 1, 0, 4, 3, 4, 0, 3, 0, 0, 3, 0, 0}));
  EXPECT_EQ(multinomial<Half>(g, 3, false), (Indices{3, 4, 1, 0, 4, 3}));
  EXPECT_EQ(multinomial<Half>(g, 1, false), (Indices{4, 0}));
  EXPECT_EQ(multinomial<BFloat16>(g, 8, true),
            (Indices{3, 3, 4, 1, 4, 3, 3, 1, 4, 0, 0, 0, 4, 0, 0, 4}));
  EXPECT_EQ(multinomial<BFloat16>(g, 3, false), (Indices{3, 4, 0, 0, 3, 4}));
  EXPECT_EQ(multinomial<BFloat16>(g, 1, true), (Indices{3, 0}));

  std::vector<float> weights(200);
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(i % 7);
  Indices few(3);
  sample_multinomial(g, DType::kFloat32, weights.data(), 1, 200, 3, false, false, few.data());
  EXPECT_EQ(few, (Indices{73, 86, 166}));
  EXPECT_EQ(digest(g.get_state()), 0xdb69c762bc089a94u);
}

TEST(RandomFill, MultinomialRefusesWhatIsNoDistribution) {
  CpuGenerator g(kSeed);
  const std::vector<uint8_t> before = g.get_state();
  int64_t out[2];
  const auto sample = [&](float a, float b, bool replacement) {
    const float weights[] = {a, b};
    return error_of<RuntimeError>(
        [&] { sample_multinomial(g, DType::kFloat32, weights, 1, 2, 2, replacement, false, out); });
  };
  const char* kNotProbability = "probability tensor contains either `inf`, `nan` or element < 0";
  const char* kNoSum = "invalid multinomial distribution (sum of probabilities <= 0)";
  EXPECT_EQ(sample(1, -1, false), kNotProbability);
  EXPECT_EQ(sample(1, INFINITY, false), kNotProbability);
  EXPECT_EQ(sample(1, NAN, false), kNotProbability);
  EXPECT_EQ(sample(0, 0, false), kNoSum);
  EXPECT_EQ(sample(0, 0, true), kNoSum);
  EXPECT_EQ(sample(1, -1, true),
            "invalid multinomial distribution (encountering probability entry < 0)");
  EXPECT_EQ(sample(1, INFINITY, true),
            "invalid multinomial distribution (encountering probability entry = infinity or NaN)");
  EXPECT_EQ(g.get_state(), before);
  EXPECT_EQ(sample(0, 1, false), "no error");
  EXPECT_EQ(out[0], 1);
}

TEST(RandomFill, NoElementsDrawNothing) {
  CpuGenerator g(kSeed);
  const std::vector<uint8_t> before = g.get_state();
  fill_uniform(g, DType::kFloat32, nullptr, 0, 0, 1);
  fill_normal(g, DType::kFloat32, nullptr, 0, 0, 1);
  fill_random_range(g, DType::kInt64, nullptr, 0, 0, 10);
  fill_permutation(g, DType::kInt64, nullptr, 0);
  int64_t one = 5;
  fill_permutation(g, DType::kInt64, &one, 1);
  EXPECT_EQ(one, 0);
  EXPECT_EQ(g.get_state(), before);
}

TEST(RandomFill, UniformNeverReachesTheUpperBound) {
  CpuGenerator g(kSeed);
  std::vector<BFloat16> values(20000);
  fill_uniform(g, DType::kBFloat16, values.data(), 20000, -1, 0);
  for (const BFloat16 value : values) ASSERT_TRUE(value >= -1 && value < 0) << float{value};
  fill_uniform(g, DType::kBFloat16, values.data(), 10, 3, 3);
  EXPECT_EQ(float{values[9]}, 3);
}

TEST(RandomFill, EveryLengthEqualsAPrefixOfALongerFill) {
  std::vector<double> all(2000);
  CpuGenerator long_run(kSeed);
  fill_uniform(long_run, DType::kFloat64, all.data(), 2000, 0, 1);
  std::vector<double> part(2000);
  for (const int64_t n : {1, 3, 8, 9, 511, 512, 513, 1025}) {
    CpuGenerator g(kSeed);
    part.assign(2000, -1);
    fill_uniform(g, DType::kFloat64, part.data(), n, 0, 1);
    EXPECT_TRUE(std::equal(part.begin(), part.begin() + n, all.begin())) << n;
    EXPECT_EQ(part[static_cast<size_t>(n)], -1) << n;
  }
}

TEST(RandomFill, PermutationHoldsEveryIndexOnce) {
  CpuGenerator g(kSeed);
  std::vector<int64_t> values(5000), sorted(5000);
  fill_permutation(g, DType::kInt64, values.data(), 5000);
  std::iota(sorted.begin(), sorted.end(), 0);
  EXPECT_NE(values, sorted);
  std::sort(values.begin(), values.end());
  EXPECT_EQ(values, sorted);
}

TEST(RandomFill, NamesWhatADTypeCannotHold) {
  CpuGenerator g(kSeed);
  int64_t out[4] = {};
  const auto error = [&](const auto& fill) { return error_of<NotImplementedError>(fill); };
  EXPECT_EQ(error([&] { fill_uniform(g, DType::kInt64, out, 4, 0, 1); }),
            "\"check_uniform_bounds\" not implemented for 'Long'");
  EXPECT_EQ(error([&] { fill_normal(g, DType::kInt32, out, 4, 0, 1); }),
            "\"normal_kernel_cpu\" not implemented for 'Int'");
  EXPECT_EQ(error([&] { fill_log_normal(g, DType::kInt64, out, 4, 0, 1); }),
            "\"log_normal_cpu\" not implemented for 'Long'");
  EXPECT_EQ(error([&] { fill_geometric(g, DType::kBool, out, 4, 0.5); }),
            "\"geometric_cpu\" not implemented for 'Bool'");
  EXPECT_EQ(error([&] { fill_permutation(g, DType::kBool, out, 4); }),
            "\"randperm\" not implemented for 'Bool'");
  EXPECT_EQ(error([&] { fill_random_full64(g, DType::kFloat16, out, 4); }),
            "\"random_full_64_bits_range_kernel_cpu\" not implemented for 'Half'");
  EXPECT_EQ(error([&] { fill_bernoulli(g, DType::kFloat32, out, 4, DType::kInt64, out); }),
            "\"bernoulli_tensor_cpu_p_\" not implemented for 'Long'");
  const double p[] = {0.5, 1.5};
  EXPECT_EQ(error_of<RuntimeError>(
                [&] { fill_bernoulli(g, DType::kFloat32, out, 2, DType::kFloat64, p); }),
            "Expected p_in >= 0 && p_in <= 1 to be true, but got false.");
}

// Stands for the generator of an accelerator.
class OtherGenerator final : public Generator {
 public:
  OtherGenerator() : Generator(Device(DeviceType::kNpu, 0)) {}

 private:
  void seed_locked(uint64_t) override {}
  uint64_t initial_seed_locked() const override { return 0; }
  std::vector<uint8_t> get_state_locked() const override { return {}; }
  void set_state_locked(std::span<const uint8_t>) override {}
  std::shared_ptr<Generator> clone_locked() const override { return nullptr; }
};

TEST(RandomFill, RefusesTheGeneratorOfAnotherDevice) {
  OtherGenerator other;
  float out[1];
  EXPECT_EQ(error_of<RuntimeError>([&] { fill_uniform(other, DType::kFloat32, out, 1, 0, 1); }),
            "Expected a 'cpu' device type for generator but found 'npu'");
}

}  // namespace
}  // namespace mindtorch::cpu
