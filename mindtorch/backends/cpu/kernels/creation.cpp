#include <cstring>

#include "mindtorch/backends/cpu/kernels/kernels.h"
#include "mindtorch/backends/cpu/parallel.h"
#include "mindtorch/backends/cpu/pointwise.h"

namespace mindtorch::cpu {
namespace {

void empty(ops::Launch&,
           IntList,
           std::optional<DType>,
           std::optional<Device>,
           std::optional<MemoryFormat>,
           Tensor&) {}
void empty_strided(
    ops::Launch&, IntList, IntList, std::optional<DType>, std::optional<Device>, Tensor&) {}

void fill(ops::Launch&, const Tensor& self, const Scalar& value) {
  if (self.numel() == 0) return;
  if (!is_dense(self.sizes(), self.strides())) {
    const Tensor one = Tensor::make({}, self.dtype());
    visit_dtype(self.dtype(), [&]<typename T>() { *one.data<T>() = value.to<T>(); });
    copy(one, self);
    return;
  }
  visit_dtype(self.dtype(), [&]<typename T>() {
    const T element = value.to<T>();
    parallel_for(0, self.numel(), 64 * 1024, [&](int64_t begin, int64_t end) {
      std::fill(self.data<T>() + begin, self.data<T>() + end, element);
    });
  });
}

void full(ops::Launch& launch,
          IntList,
          const Scalar& value,
          std::optional<DType>,
          std::optional<Device>,
          Tensor& out) {
  fill(launch, out, value);
}

void zero(ops::Launch& launch, const Tensor& self) { fill(launch, self, 0); }

}  // namespace

void register_creation(ops::Registry& registry) {
  registry.kernel<empty>(DeviceType::kCpu, "empty.memory_format");
  registry.kernel<empty_strided>(DeviceType::kCpu, "empty_strided");
  registry.kernel<full>(DeviceType::kCpu, "full");
  registry.kernel<fill>(DeviceType::kCpu, "fill_.Scalar");
  registry.kernel<zero>(DeviceType::kCpu, "zero_");
}

}  // namespace mindtorch::cpu
