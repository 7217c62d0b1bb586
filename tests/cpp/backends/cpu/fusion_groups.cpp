#include "tests/cpp/backends/cpu/fusion_groups.h"

#include "mindtorch/mindtorch.h"

namespace mindtorch::cpu {
namespace {

Tensor row_value(const ops::FusedStep& step, const Tensor& operand) {
  const int64_t last[1] = {-1};
  switch (step.row) {
    case ops::RowFunction::kSum:
      return sum(operand, IntList(last), true, step.result);
    case ops::RowFunction::kMean:
      return mean(operand, IntList(last), true, step.result);
    case ops::RowFunction::kAmax:
      return amax(operand, IntList(last), true);
    case ops::RowFunction::kAmin:
      return amin(operand, IntList(last), true);
    case ops::RowFunction::kVar:
      return var(operand, IntList(last), Scalar(step.params.f[0]), true);
    case ops::RowFunction::kStd:
      return std(operand, IntList(last), Scalar(step.params.f[0]), true);
    case ops::RowFunction::kSoftmax:
      return softmax(operand, -1, step.result);
    case ops::RowFunction::kLogSoftmax:
      return log_softmax(operand, -1, step.result);
    case ops::RowFunction::kNone:
      break;
  }
  return {};
}

}  // namespace

std::vector<Tensor> GroupOverTensors::values() const {
  std::vector<Tensor> values;
  for (const Tensor& input : inputs) values.push_back(packed(input));
  for (const ops::FusedStep& step : group.steps) {
    if (step.row != ops::RowFunction::kNone) {
      // Row functions are given whole rows, also of what is repeated along them.
      values.push_back(row_value(step, packed(values[step.operands[0]].expand(group.sizes))));
      continue;
    }
    ops::PointwiseCall call(step.function, step.compute, step.result);
    call.params = step.params;
    for (int i = 0; i < step.count; ++i) call.on(values[step.operands[i]]);
    Shape sizes = group.sizes;
    if (step.is_row) sizes.back() = 1;
    const Tensor out = Tensor::make(sizes, step.result);
    ops::Launch launch{DeviceType::kCpu};
    if (out.numel() > 0) run_pointwise(launch, call, out);
    values.push_back(out);
  }
  return values;
}

void GroupOverTensors::check() const {
  const auto prepared = std::make_shared<ops::PreparedGroup>(group, fusion_engine());
  ops::Launch launch{DeviceType::kCpu};
  for (const char* run : {"tiles", "code, where there is some"}) {
    const std::vector<Tensor> expected = values();
    prepared->program()->run(launch, addresses());
    for (size_t i = 0; i < targets.size(); ++i) {
      SCOPED_TRACE(::testing::Message() << "store " << i << ", by " << run);
      expect_same(packed(targets[i]), expected[group.stores[i].value]);
    }
  }
}

void fill_random(const Tensor& tensor, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  visit_dtype(tensor.dtype(), [&]<typename T>() {
    for (int64_t i = 0; i < tensor.numel(); ++i) {
      T& element = tensor.data<T>()[i];
      if constexpr (std::is_same_v<T, bool>) {
        element = random() % 2 == 0;
      } else if constexpr (std::is_integral_v<T>) {
        element = static_cast<T>(random() % 41) - static_cast<T>(std::is_signed_v<T> ? 20 : 0);
      } else {
        element = static_cast<T>(static_cast<float>(normal(random) * 3));
        if (random() % 64 == 0) element = static_cast<T>(0.0f);
        if (random() % 97 == 0) element = static_cast<T>(std::nanf(""));
      }
    }
  });
}

Tensor packed(const Tensor& tensor) {
  const Tensor result = Tensor::make(tensor.sizes(), tensor.dtype());
  copy(tensor, result);
  return result;
}

void expect_same(const Tensor& actual, const Tensor& expected) {
  ASSERT_EQ(actual.dtype(), expected.dtype());
  ASSERT_EQ(actual.numel(), expected.numel());
  visit_dtype(actual.dtype(), [&]<typename T>() {
    for (int64_t i = 0; i < actual.numel(); ++i) {
      const T a = actual.data<T>()[i];
      const T b = expected.data<T>()[i];
      if (std::memcmp(&a, &b, sizeof(T)) == 0) continue;
      if constexpr (!std::is_integral_v<T>) {
        if (std::isnan(static_cast<double>(a)) && std::isnan(static_cast<double>(b))) continue;
      }
      FAIL() << "element " << i << " of " << actual.numel() << ": " << static_cast<double>(a)
             << " instead of " << static_cast<double>(b) << ", " << info(actual.dtype()).name;
    }
  });
}

}  // namespace mindtorch::cpu
