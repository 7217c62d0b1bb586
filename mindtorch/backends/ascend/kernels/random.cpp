// Numbers drawn by CANN's own generator, from a seed and an offset.
#include <cmath>
#include <limits>
#include <numbers>

#include "mindtorch/backends/ascend/kernels/compose.h"
#include "mindtorch/backends/ascend/kernels/dtypes.h"
#include "mindtorch/ops/random_range.h"
#include "mindtorch/tensor/captured_draws.h"
#include "mindtorch/tensor/generator.h"

namespace mindtorch::ascend {
namespace {

using ops::Pointwise;
using OptionalDType = std::optional<DType>;
using OptionalDevice = std::optional<Device>;

// Each offset starts numbers of its own, however many a call takes.
constexpr uint64_t kCallsStep = 10;  // what torch_npu leaves between two calls

OffsetGenerator& source_of(const ops::Launch& on, Generator* given) {
  Generator& source = given != nullptr ? *given : *default_generator(on.device);
  return OffsetGenerator::from(source, on.device.type);
}

// Where a call draws from, for ops that take it as numbers.
struct Place {
  int64_t seed;
  int64_t offset;
};
Place draw(const ops::Launch& on, Generator* given) {
  MT_CHECK(!on.stream.is_capturing(), RuntimeError,
           "These random numbers cannot be captured in an NPU graph: CANN's op takes the seed as a "
           "number, and every replay would draw the same again.");
  const auto [seed, offset] = source_of(on, given).advance(kCallsStep);
  return {static_cast<int64_t>(seed), static_cast<int64_t>(offset)};
}

// Of an op that CANN has in two forms, of which the second reads its place from the device's memory
// when it runs: calls now(place), or in a graph later(place).
template <class Now, class Later>
void draw_into(
    ops::Launch& on, const Tensor& self, Generator* given, const Now& now, const Later& later) {
  if (MT_LIKELY(!on.stream.is_capturing())) {
    const auto [seed, offset] = source_of(on, given).advance(kCallsStep);
    if (self.numel() == 0) return;
    return now(Place{static_cast<int64_t>(seed), static_cast<int64_t>(offset)});
  }
  const CapturedPlace place = draw_captured(source_of(on, given), on.stream, on.device, kCallsStep);
  if (self.numel() != 0) later(place);
}

void fill_uniform(
    ops::Launch& on, const Tensor& self, double from, double to, Generator* generator) {
  draw_into(
      on, self, generator,
      [&](Place place) {
        call_once(on, MT_ACLNN(aclnnInplaceUniform), self, from, to,
                  static_cast<uint64_t>(place.seed), static_cast<uint64_t>(place.offset));
      },
      [&](const CapturedPlace& place) {
        call_once(on, MT_ACLNN(aclnnInplaceUniformTensor), self, from, to, place.seed, place.offset,
                  place.further);
      });
}
void fill_normal(
    ops::Launch& on, const Tensor& self, double mean, double std, Generator* generator) {
  // CANN takes float32 for both; float64 gets its own afterwards.
  const bool is_double = self.dtype() == DType::kFloat64;
  const float centre = is_double ? 0.0F : static_cast<float>(mean);
  const float width = is_double ? 1.0F : static_cast<float>(std);
  draw_into(
      on, self, generator,
      [&](Place place) {
        call_once(on, MT_ACLNN(aclnnInplaceNormal), self, centre, width, place.seed, place.offset);
      },
      [&](const CapturedPlace& place) {
        call_once(on, MT_ACLNN(aclnnInplaceNormalTensor), self, centre, width, place.seed,
                  place.offset, static_cast<int64_t>(place.further));
      });
  if (!is_double || self.numel() == 0) return;
  call(on, MT_ACLNN(aclnnInplaceMuls), self, typed(Scalar(std), DType::kFloat64));
  call(on, MT_ACLNN(aclnnInplaceAdds), self, typed(Scalar(mean), DType::kFloat64),
       typed(Scalar(1.0), DType::kFloat64));
}
// CANN leaves out `to`: the largest int64 itself is never drawn.
void fill_whole(ops::Launch& on, const Tensor& self, ops::RandomRange range, Generator* generator) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  const uint64_t room = static_cast<uint64_t>(kMost) - static_cast<uint64_t>(range.from);
  const bool beyond = range.range == 0 || range.range > room;
  const int64_t to = beyond ? kMost : range.from + static_cast<int64_t>(range.range);
  draw_into(
      on, self, generator,
      [&](Place place) {
        call_once(on, MT_ACLNN(aclnnInplaceRandom), self, range.from, to, place.seed, place.offset);
      },
      [&](const CapturedPlace& place) {
        call_once(on, MT_ACLNN(aclnnInplaceRandomTensor), self, range.from, to, place.seed,
                  place.offset, static_cast<int64_t>(place.further));
      });
}

void normal(ops::Launch& on, const Tensor& self, double mean, double std, Generator* generator) {
  fill_normal(on, self, mean, std, generator);
}
void uniform(ops::Launch& on, const Tensor& self, double from, double to, Generator* generator) {
  fill_uniform(on, self, from, to, generator);
}
void random(ops::Launch& on, const Tensor& self, Generator* generator) {
  fill_whole(on, self, ops::random_range(self.dtype(), 0, std::nullopt), generator);
}
void random_from(ops::Launch& on,
                 const Tensor& self,
                 int64_t from,
                 std::optional<int64_t> to,
                 Generator* generator) {
  fill_whole(on, self, ops::random_range(self.dtype(), from, to), generator);
}
void random_to(ops::Launch& on, const Tensor& self, int64_t to, Generator* generator) {
  random_from(on, self, 0, to, generator);
}

void bernoulli_p(ops::Launch& on, const Tensor& self, double p, Generator* generator) {
  const Place place = draw(on, generator);
  if (self.numel() == 0) return;
  call_once(on, MT_ACLNN(aclnnInplaceBernoulli), self, typed(Scalar(p), DType::kFloat64),
            place.seed, place.offset);
}
void bernoulli_tensor(ops::Launch& on, const Tensor& self, const Tensor& p, Generator* generator) {
  MT_CHECK(is_floating_point(p.dtype()), NotImplementedError,
           "\"bernoulli_tensor_cpu_p_\" not implemented for '", legacy_name(p.dtype()), "'");
  const Place place = draw(on, generator);
  if (self.numel() == 0) return;
  const Tensor chances = expanded(on_device(on, p, p.dtype()), self.sizes());
  call_once(on, MT_ACLNN(aclnnInplaceBernoulliTensor), self, chances, place.seed, place.offset);
}

// Fills with function(u) of numbers u that are drawn evenly from (0, 1), in float32 or float64.
template <class Function>
void fill_from_units(ops::Launch& on,
                     const Tensor& self,
                     Generator* generator,
                     const Function& function) {
  const DType dtype = self.dtype() == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32;
  const Tensor units = make_like(on, self.sizes(), dtype);
  fill_uniform(on, units, 0, 1, generator);
  if (self.numel() == 0) return;
  // 0 is possible; half of the smallest other number stands for it.
  const double tiny = dtype == DType::kFloat64 ? 0x1p-54 : 0x1p-25;
  const Tensor inner = computed(on, Pointwise::kMaximum, units, Scalar(tiny));
  call(on, MT_ACLNN(aclnnInplaceCopy), self, function(inner));
}

void exponential(ops::Launch& on, const Tensor& self, double lambd, Generator* generator) {
  fill_from_units(on, self, generator, [&](const Tensor& units) {
    return computed(on, Pointwise::kDiv, computed(on, Pointwise::kLog, units), Scalar(-lambd));
  });
}
void geometric(ops::Launch& on, const Tensor& self, double p, Generator* generator) {
  MT_CHECK(self.dtype() != DType::kBool, NotImplementedError,
           "\"geometric_cpu\" not implemented for 'Bool'");
  fill_from_units(on, self, generator, [&](const Tensor& units) {
    const Tensor logs = computed(on, Pointwise::kLog, units);
    return computed(on, Pointwise::kCeil,
                    computed(on, Pointwise::kDiv, logs, Scalar(std::log1p(-p))));
  });
}
void cauchy(
    ops::Launch& on, const Tensor& self, double median, double sigma, Generator* generator) {
  fill_from_units(on, self, generator, [&](const Tensor& units) {
    const Tensor centred = computed(on, Pointwise::kSub, units, Scalar(0.5));
    const Tensor angle = computed(on, Pointwise::kMul, centred, Scalar(std::numbers::pi));
    const Tensor scaled =
        computed(on, Pointwise::kMul, computed(on, Pointwise::kTan, angle), Scalar(sigma));
    return computed(on, Pointwise::kAdd, scaled, Scalar(median));
  });
}
void log_normal(
    ops::Launch& on, const Tensor& self, double mean, double std, Generator* generator) {
  MT_CHECK(is_floating_point(self.dtype()), NotImplementedError,
           "\"log_normal_cpu\" not implemented for '", legacy_name(self.dtype()), "'");
  const DType dtype = self.dtype() == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32;
  const Tensor logs = make_like(on, self.sizes(), dtype);
  fill_normal(on, logs, mean, std, generator);
  if (self.numel() == 0) return;
  call(on, MT_ACLNN(aclnnInplaceCopy), self, computed(on, Pointwise::kExp, logs));
}

void rand(
    ops::Launch& on, IntList, Generator* generator, OptionalDType, OptionalDevice, Tensor& out) {
  fill_uniform(on, out, 0, 1, generator);
}
void randn(
    ops::Launch& on, IntList, Generator* generator, OptionalDType, OptionalDevice, Tensor& out) {
  fill_normal(on, out, 0, 1, generator);
}
void normal_size(ops::Launch& on,
                 double mean,
                 double std,
                 IntList,
                 Generator* generator,
                 OptionalDType,
                 OptionalDevice,
                 Tensor& out) {
  fill_normal(on, out, mean, std, generator);
}
void randint_low(ops::Launch& on,
                 int64_t low,
                 int64_t high,
                 IntList,
                 Generator* generator,
                 OptionalDType,
                 OptionalDevice,
                 Tensor& out) {
  random_from(on, out, low, high, generator);
}
void randint(ops::Launch& on,
             int64_t high,
             IntList,
             Generator* generator,
             OptionalDType,
             OptionalDevice,
             Tensor& out) {
  random_from(on, out, 0, high, generator);
}
void randperm(
    ops::Launch& on, int64_t n, Generator* generator, OptionalDType, OptionalDevice, Tensor& out) {
  const Place place = draw(on, generator);
  if (n != 0) call_once(on, MT_ACLNN(aclnnRandperm), n, place.seed, place.offset, out);
}

// --- dropout ---

// One bit for each element, 1 where it stays, in blocks of 128.
ops::TensorSpec bits_of(const Tensor& self, IntList shape, double) {
  const int64_t blocks = (numel(shape) + 127) / 128;
  return {{blocks * 16}, DType::kUInt8, self.device(), std::nullopt};
}
void dropout_mask(ops::Launch& on, const Tensor& self, IntList shape, double p, Tensor& bits) {
  draw_into(
      on, bits, nullptr,
      [&](Place place) {
        call_once(on, MT_ACLNN(aclnnDropoutGenMaskV2), shape, p, place.seed, place.offset,
                  self.dtype(), bits);
      },
      [&](const CapturedPlace& place) {
        call_once(on, MT_ACLNN(aclnnDropoutGenMaskV2Tensor), shape, p, place.seed, place.offset,
                  static_cast<int64_t>(place.further), self.dtype(), bits);
      });
}
void masked_dropout(
    ops::Launch& on, const Tensor& self, const Tensor& bits, double p, Tensor& out) {
  if (out.numel() != 0) call(on, MT_ACLNN(aclnnDropoutDoMask), self, bits, p, out);
}

// Torch looks at the weights before it draws, and so waits for them.
void check_weights(ops::Launch& on, const Tensor& self) {
  const int64_t dim = -1;
  Shape rows = self.sizes();
  rows.pop_back();
  const Tensor sums = make_like(on, rows, self.dtype());
  call(on, MT_ACLNN(aclnnReduceSum), self, IntList(&dim, 1), false, self.dtype(), sums);
  const Tensor least = make_like(on, {2}, self.dtype());
  const Tensor smallest = least.alias({}, {}, 0);
  const Tensor poorest = least.alias({}, {}, 1);
  call(on, MT_ACLNN(aclnnMin), self, smallest);
  call(on, MT_ACLNN(aclnnMin), sums, poorest);
  MT_CHECK(item(on, smallest).to_double() >= 0, RuntimeError,
           "invalid multinomial distribution (encountering probability entry < 0)");
  const double sum = item(on, poorest).to_double();
  MT_CHECK(std::isfinite(sum), RuntimeError,
           "invalid multinomial distribution (encountering probability entry = infinity or NaN)");
  MT_CHECK(sum > 0, RuntimeError, "invalid multinomial distribution (sum of probabilities <= 0)");
}
void multinomial(ops::Launch& on,
                 const Tensor& self,
                 int64_t num_samples,
                 bool replacement,
                 Generator* generator,
                 Tensor& out) {
  const Place place = draw(on, generator);
  if (out.numel() == 0) return;
  check_weights(on, self);
  call_once(on, MT_ACLNN(aclnnMultinomial), self, num_samples, replacement, place.seed,
            place.offset, out);
}

}  // namespace

void register_random(ops::Registry& registry) {
  constexpr auto kNpu = DeviceType::kNpu;
  registry.kernel<rand>(kNpu, "rand").draws_in_graphs();
  registry.kernel<randn>(kNpu, "randn").draws_in_graphs();
  registry.kernel<randint>(kNpu, "randint").draws_in_graphs();
  registry.kernel<randint_low>(kNpu, "randint.low").draws_in_graphs();
  registry.kernel<randperm>(kNpu, "randperm");
  registry.kernel<normal_size>(kNpu, "normal.float_float").draws_in_graphs();
  registry.kernel<normal>(kNpu, "normal_").draws_in_graphs();
  registry.kernel<uniform>(kNpu, "uniform_").draws_in_graphs();
  registry.kernel<random>(kNpu, "random_").draws_in_graphs();
  registry.kernel<random_to>(kNpu, "random_.to").draws_in_graphs();
  registry.kernel<random_from>(kNpu, "random_.from").draws_in_graphs();
  registry.kernel<bernoulli_tensor>(kNpu, "bernoulli_.Tensor");
  registry.kernel<bernoulli_p>(kNpu, "bernoulli_.float");
  registry.kernel<exponential>(kNpu, "exponential_").draws_in_graphs();
  registry.kernel<geometric>(kNpu, "geometric_").draws_in_graphs();
  registry.kernel<cauchy>(kNpu, "cauchy_").draws_in_graphs();
  registry.kernel<log_normal>(kNpu, "log_normal_").draws_in_graphs();
  registry.kernel<multinomial>(kNpu, "multinomial");
  registry.kernel<dropout_mask>(kNpu, "_dropout_mask")
      .takes(kFloats, kU8)
      .keeps<bits_of>()
      .draws_in_graphs();
  registry.kernel<masked_dropout>(kNpu, "_masked_dropout").takes(kFloats, kU8);
}

}  // namespace mindtorch::ascend
