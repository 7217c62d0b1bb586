#include <numbers>

#include "mindtorch/backends/cpu/kernels/kernels.h"
#include "mindtorch/backends/cpu/pointwise.h"
#include "mindtorch/backends/cpu/random_fill.h"
#include "mindtorch/backends/cpu/shaped_samples.h"
#include "mindtorch/ops/random_range.h"
#include "mindtorch/tensor/complex_view.h"

namespace mindtorch::cpu {
namespace {

using OptionalDType = std::optional<DType>;
using OptionalDevice = std::optional<Device>;

Generator& source(Generator* given) { return given != nullptr ? *given : *default_cpu_generator(); }

// The same elements, dims ordered from the largest stride to the smallest.
Tensor in_memory_order(const Tensor& self, const Shape& order) {
  Shape sizes;
  Shape strides;
  for (const int64_t dim : order) {
    sizes.push_back(self.sizes()[static_cast<size_t>(dim)]);
    strides.push_back(self.strides()[static_cast<size_t>(dim)]);
  }
  return self.alias(std::move(sizes), std::move(strides), self.storage_offset());
}

Shape memory_order(const Tensor& self) {
  Shape order(static_cast<size_t>(self.dim()));
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return self.strides()[static_cast<size_t>(a)] > self.strides()[static_cast<size_t>(b)];
  });
  return order;
}

// Calls fill(data, n) on memory for the elements of `self` in the order in which torch draws them:
// as they lie in memory.
template <typename Fill>
void fill_in_memory_order(const Tensor& self, const Fill& fill) {
  if (self.numel() == 0) return;
  if (is_dense(self.sizes(), self.strides())) {
    fill(self.data_ptr(), self.numel());
    return;
  }
  const Tensor ordered = in_memory_order(self, memory_order(self));
  const Tensor numbers = Tensor::make(ordered.sizes(), self.dtype());
  fill(numbers.data_ptr(), numbers.numel());
  copy(numbers, ordered);
}

// The parts of complex numbers have half of their variance each.
double std_of_part(double std) { return std / std::numbers::sqrt2; }

void normal(
    ops::Launch& launch, const Tensor& self, double mean, double std, Generator* generator) {
  if (is_complex(self.dtype())) {
    return normal(launch, parts_of(self), mean, std_of_part(std), generator);
  }
  fill_in_memory_order(self, [&](void* data, int64_t n) {
    if (self.is_contiguous()) {
      fill_normal(source(generator), self.dtype(), data, n, mean, std);
    } else {
      fill_normal_serial(source(generator), self.dtype(), data, n, mean, std);
    }
  });
}

void uniform(
    ops::Launch& launch, const Tensor& self, double from, double to, Generator* generator) {
  if (is_complex(self.dtype())) return uniform(launch, parts_of(self), from, to, generator);
  fill_in_memory_order(self, [&](void* data, int64_t n) {
    fill_uniform(source(generator), self.dtype(), data, n, from, to);
  });
}

void random(ops::Launch&, const Tensor& self, Generator* generator) {
  fill_in_memory_order(self, [&](void* data, int64_t n) {
    fill_random_full(source(generator), self.dtype(), data, n);
  });
}

void random_from(ops::Launch&,
                 const Tensor& self,
                 int64_t from,
                 std::optional<int64_t> to,
                 Generator* generator) {
  const ops::RandomRange range = ops::random_range(self.dtype(), from, to);
  fill_in_memory_order(self, [&](void* data, int64_t n) {
    if (range.range == 0) {
      fill_random_full64(source(generator), self.dtype(), data, n);
    } else {
      fill_random_range(source(generator), self.dtype(), data, n, range.from, range.range);
    }
  });
}

void random_to(ops::Launch& launch, const Tensor& self, int64_t to, Generator* generator) {
  random_from(launch, self, 0, to, generator);
}

void bernoulli_p(ops::Launch&, const Tensor& self, double p, Generator* generator) {
  fill_in_memory_order(self, [&](void* data, int64_t n) {
    fill_bernoulli(source(generator), self.dtype(), data, n, p);
  });
}

void bernoulli_tensor(ops::Launch&, const Tensor& self, const Tensor& p, Generator* generator) {
  if (self.numel() == 0) return;
  const Shape order = memory_order(self);
  const Tensor expanded = p.alias(
      self.sizes(), broadcast_strides(p.sizes(), p.strides(), self.sizes()), p.storage_offset());
  const Tensor chances = Tensor::make(in_memory_order(self, order).sizes(), p.dtype());
  copy(in_memory_order(expanded, order), chances);
  fill_in_memory_order(self, [&](void* data, int64_t n) {
    fill_bernoulli(source(generator), self.dtype(), data, n, p.dtype(), chances.data_ptr());
  });
}

void exponential(ops::Launch&, const Tensor& self, double lambd, Generator* generator) {
  fill_in_memory_order(self, [&](void* data, int64_t n) {
    fill_exponential(source(generator), self.dtype(), data, n, lambd);
  });
}

void geometric(ops::Launch&, const Tensor& self, double p, Generator* generator) {
  fill_in_memory_order(self, [&](void* data, int64_t n) {
    fill_geometric(source(generator), self.dtype(), data, n, p);
  });
}

void cauchy(ops::Launch&, const Tensor& self, double median, double sigma, Generator* generator) {
  fill_in_memory_order(self, [&](void* data, int64_t n) {
    fill_cauchy(source(generator), self.dtype(), data, n, median, sigma);
  });
}

void log_normal(ops::Launch&, const Tensor& self, double mean, double std, Generator* generator) {
  fill_in_memory_order(self, [&](void* data, int64_t n) {
    fill_log_normal(source(generator), self.dtype(), data, n, mean, std);
  });
}

void rand(ops::Launch& launch,
          IntList,
          Generator* generator,
          OptionalDType,
          OptionalDevice,
          Tensor& out) {
  if (is_complex(out.dtype())) return uniform(launch, out, 0, 1, generator);
  fill_uniform(source(generator), out.dtype(), out.data_ptr(), out.numel(), 0, 1);
}

void randn(ops::Launch& launch,
           IntList,
           Generator* generator,
           OptionalDType,
           OptionalDevice,
           Tensor& out) {
  if (out.numel() == 0) return;
  if (is_complex(out.dtype())) return normal(launch, out, 0, 1, generator);
  fill_normal(source(generator), out.dtype(), out.data_ptr(), out.numel(), 0, 1);
}

void normal_size(ops::Launch& launch,
                 double mean,
                 double std,
                 IntList,
                 Generator* generator,
                 OptionalDType,
                 OptionalDevice,
                 Tensor& out) {
  if (out.numel() == 0) return;
  if (is_complex(out.dtype())) return normal(launch, out, mean, std, generator);
  fill_normal(source(generator), out.dtype(), out.data_ptr(), out.numel(), mean, std);
}

void randint_low(ops::Launch&,
                 int64_t low,
                 int64_t high,
                 IntList,
                 Generator* generator,
                 OptionalDType,
                 OptionalDevice,
                 Tensor& out) {
  const ops::RandomRange range = ops::random_range(out.dtype(), low, high);
  fill_random_range(source(generator), out.dtype(), out.data_ptr(), out.numel(), range.from,
                    range.range);
}

void randint(ops::Launch& launch,
             int64_t high,
             IntList size,
             Generator* generator,
             OptionalDType dtype,
             OptionalDevice device,
             Tensor& out) {
  randint_low(launch, 0, high, size, generator, dtype, device, out);
}

void randperm(
    ops::Launch&, int64_t n, Generator* generator, OptionalDType, OptionalDevice, Tensor& out) {
  fill_permutation(source(generator), out.dtype(), out.data_ptr(), n);
}

void multinomial(ops::Launch&,
                 const Tensor& self,
                 int64_t num_samples,
                 bool replacement,
                 Generator* generator,
                 Tensor& out) {
  if (out.numel() == 0) return;
  Tensor weights = self;
  if (!self.is_contiguous()) {
    weights = Tensor::make(self.sizes(), self.dtype());
    copy(self, weights);
  }
  // Torch draws into a tensor that lies in memory as the weights do.
  const bool by_columns =
      self.dim() == 2 && self.strides()[0] > 0 && self.strides()[0] < self.strides()[1];
  sample_multinomial(source(generator), self.dtype(), weights.data_ptr(),
                     self.dim() == 1 ? 1 : self.size(0), self.size(-1), num_samples, replacement,
                     by_columns, out.data<int64_t>());
}

// The elements of `self`, as large as `like`, one after the other.
Tensor in_order(const Tensor& self, const Tensor& like) {
  if (self.is_contiguous() && self.sizes() == like.sizes()) return self;
  Tensor ordered = Tensor::make(like.sizes(), self.dtype());
  copy(self.alias(like.sizes(), broadcast_strides(self.sizes(), self.strides(), like.sizes()),
                  self.storage_offset()),
       ordered);
  return ordered;
}

void standard_gamma(ops::Launch&, const Tensor& self, Generator* generator, Tensor& out) {
  sample_gamma(source(generator), self.dtype(), in_order(self, out).data_ptr(), out.data_ptr(),
               out.numel());
}

void dirichlet(ops::Launch&, const Tensor& self, Generator* generator, Tensor& out) {
  if (out.numel() == 0) return;
  sample_dirichlet(source(generator), self.dtype(), in_order(self, out).data_ptr(), out.data_ptr(),
                   out.numel(), out.dim() == 0 ? 1 : out.size(-1));
}

void poisson(ops::Launch&, const Tensor& self, Generator* generator, Tensor& out) {
  sample_poisson(source(generator), self.dtype(), in_order(self, out).data_ptr(), out.data_ptr(),
                 out.numel());
}

void binomial(
    ops::Launch&, const Tensor& count, const Tensor& prob, Generator* generator, Tensor& out) {
  sample_binomial(source(generator), count.dtype(), in_order(count, out).data_ptr(),
                  in_order(prob, out).data_ptr(), out.data_ptr(), out.numel());
}

}  // namespace

void register_random(ops::Registry& registry) {
  registry.kernel<standard_gamma>(DeviceType::kCpu, "_standard_gamma");
  registry.kernel<dirichlet>(DeviceType::kCpu, "_sample_dirichlet");
  registry.kernel<poisson>(DeviceType::kCpu, "poisson");
  registry.kernel<binomial>(DeviceType::kCpu, "binomial");
  registry.kernel<rand>(DeviceType::kCpu, "rand").takes(kAllOrComplex);
  registry.kernel<randn>(DeviceType::kCpu, "randn").takes(kAllOrComplex);
  registry.kernel<randint>(DeviceType::kCpu, "randint");
  registry.kernel<randint_low>(DeviceType::kCpu, "randint.low");
  registry.kernel<randperm>(DeviceType::kCpu, "randperm");
  registry.kernel<normal_size>(DeviceType::kCpu, "normal.float_float").takes(kAllOrComplex);
  registry.kernel<normal>(DeviceType::kCpu, "normal_").takes(kAllOrComplex);
  registry.kernel<uniform>(DeviceType::kCpu, "uniform_").takes(kAllOrComplex);
  registry.kernel<random>(DeviceType::kCpu, "random_");
  registry.kernel<random_to>(DeviceType::kCpu, "random_.to");
  registry.kernel<random_from>(DeviceType::kCpu, "random_.from");
  registry.kernel<bernoulli_tensor>(DeviceType::kCpu, "bernoulli_.Tensor");
  registry.kernel<bernoulli_p>(DeviceType::kCpu, "bernoulli_.float");
  registry.kernel<exponential>(DeviceType::kCpu, "exponential_");
  registry.kernel<geometric>(DeviceType::kCpu, "geometric_");
  registry.kernel<cauchy>(DeviceType::kCpu, "cauchy_");
  registry.kernel<log_normal>(DeviceType::kCpu, "log_normal_");
  registry.kernel<multinomial>(DeviceType::kCpu, "multinomial");
}

}  // namespace mindtorch::cpu
