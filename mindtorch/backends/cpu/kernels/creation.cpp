#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "mindtorch/backends/cpu/element_runs.h"
#include "mindtorch/backends/cpu/kernels/kernels.h"
#include "mindtorch/backends/cpu/parallel.h"
#include "mindtorch/backends/cpu/pointwise.h"
#include "mindtorch/backends/cpu/runs.h"
#include "mindtorch/backends/cpu/tile.h"
#include "mindtorch/tensor/element.h"

namespace mindtorch::cpu {
namespace {

using OptionalDType = std::optional<DType>;
using OptionalDevice = std::optional<Device>;

constexpr int64_t kFillGrain = 16 * 1024;  // elements
constexpr int64_t kFillGrainBytes = 64 * 1024;

void empty(
    ops::Launch&, IntList, OptionalDType, OptionalDevice, std::optional<MemoryFormat>, Tensor&) {}
void empty_strided(ops::Launch&, IntList, IntList, OptionalDType, OptionalDevice, Tensor&) {}

void clear_bytes(void* data, int64_t bytes) {
  parallel_for(0, bytes, kFillGrainBytes, [=](int64_t begin, int64_t end) {
    clear_run(static_cast<char*>(data) + begin, end - begin);
  });
}

// The elements of an overlapping tensor that stand for all of it.
Tensor without_repeats(const Tensor& self) {
  Shape sizes = self.sizes();
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (self.strides()[i] == 0) sizes[i] = 1;
  }
  return self.alias(std::move(sizes), self.strides(), self.storage_offset());
}

// `value` is one element.
void fill_dense(const Tensor& self, const void* value) {
  const int64_t element = self.element_size();
  parallel_for(0, self.numel(), kFillGrainBytes / element, [&](int64_t begin, int64_t end) {
    fill_elements(element, value, self.data<char>() + begin * element, end - begin);
  });
}

void fill_from(ops::Launch&, const Tensor& self, const Tensor& value) {
  if (self.numel() == 0) return;
  const Tensor one = Tensor::make({}, self.dtype());
  copy(value, one);
  if (!is_dense(self.sizes(), self.strides())) {
    copy(one, without_repeats(self));
    return;
  }
  fill_dense(self, one.data_ptr());
}

void fill(ops::Launch& launch, const Tensor& self, const Scalar& value) {
  if (self.numel() == 0) return;
  if (self.is_contiguous()) {
    alignas(16) char one[16];
    write_element(one, self.dtype(), value);
    fill_dense(self, one);
    return;
  }
  const Tensor one = Tensor::make({}, self.dtype());
  write_element(one.data_ptr(), self.dtype(), value);
  fill_from(launch, self, one);
}

void zero(ops::Launch& launch, const Tensor& self) {
  if (!self.is_contiguous() && !is_dense(self.sizes(), self.strides())) {
    fill(launch, self, 0);
    return;
  }
  clear_bytes(self.data_ptr(), self.numel() * self.element_size());
}

void zeros(ops::Launch&, IntList, OptionalDType, OptionalDevice, Tensor& out) {
  clear_bytes(out.data_ptr(), out.numel() * out.element_size());
}

void ones(ops::Launch& launch, IntList, OptionalDType, OptionalDevice, Tensor& out) {
  fill(launch, out, 1);
}

void full(
    ops::Launch& launch, IntList, const Scalar& value, OptionalDType, OptionalDevice, Tensor& out) {
  fill(launch, out, value);
}

void scalar_tensor(
    ops::Launch& launch, const Scalar& s, OptionalDType, OptionalDevice, Tensor& out) {
  fill(launch, out, s);
}

void eye_m(ops::Launch&, int64_t n, int64_t m, OptionalDType, OptionalDevice, Tensor& out) {
  clear_bytes(out.data_ptr(), out.numel() * out.element_size());
  visit_any_dtype(out.dtype(), [&]<typename T>() {
    T* data = out.data<T>();
    const T one = Scalar(1.0).to<T>();
    for (int64_t i = 0; i < std::min(n, m); ++i) data[i * (m + 1)] = one;
  });
}

void eye(ops::Launch& launch, int64_t n, OptionalDType dtype, OptionalDevice device, Tensor& out) {
  eye_m(launch, n, n, dtype, device, out);
}

// What ranges are computed in: integers wrap around, 16-bit floats are rounded once.
template <typename T>
using Compute = std::conditional_t<std::is_integral_v<T>,
                                   int64_t,
                                   std::conditional_t<sizeof(T) == 2, float, double>>;

// from + by * i in float32, for elements [begin, end) of 16-bit floats.
void round_range(float from, float by, int64_t begin, int64_t end, const Tensor& out) {
  constexpr int64_t kBlock = 1024;
  alignas(64) float block[kBlock];
  const CastFn round = find_cast(DType::kFloat32, out.dtype());
  for (int64_t at = begin; at < end; at += kBlock) {
    const int64_t n = std::min(kBlock, end - at);
    if (at + n <= INT32_MAX) {  // vectors convert these
      const auto first = static_cast<int32_t>(at);
      for (int32_t i = 0; i < n; ++i) block[i] = from + by * static_cast<float>(first + i);
    } else {
      for (int64_t i = 0; i < n; ++i) block[i] = from + by * static_cast<float>(at + i);
    }
    round(block, out.data<char>() + at * 2, n);
  }
}

void arange_step(ops::Launch&,
                 const Scalar& start,
                 const Scalar&,
                 const Scalar& distance,
                 OptionalDType,
                 OptionalDevice,
                 Tensor& out) {
  visit_dtype(out.dtype(), [&]<typename T>() {
    using C = Compute<T>;
    const C from = start.to<C>();
    const C by = distance.to<C>();
    T* data = out.data<T>();
    parallel_for(0, out.numel(), kFillGrain, [=](int64_t begin, int64_t end) {
      if constexpr (std::is_integral_v<T>) {
        const auto step = static_cast<uint64_t>(by);
        const uint64_t first = static_cast<uint64_t>(from) + step * static_cast<uint64_t>(begin);
        if constexpr (std::is_same_v<T, bool>) {
          for (int64_t i = begin; i < end; ++i) {
            data[i] = first + step * static_cast<uint64_t>(i - begin) != 0;
          }
        } else {
          count_elements(sizeof(T), first, step, data + begin, end - begin);
        }
      } else if constexpr (sizeof(T) == 2) {
        round_range(from, by, begin, end, out);
      } else {
        space_numbers(from, by, begin, 1, data + begin, end - begin);
      }
    });
  });
}

void arange(ops::Launch& launch,
            const Scalar& end,
            OptionalDType dtype,
            OptionalDevice device,
            Tensor& out) {
  arange_step(launch, 0, end, 1, dtype, device, out);
}

// Calls store(i, number) for the numbers from `start` to `end`, from either end to the middle and
// with one rounding each, as torch does.
template <typename Store>
void space(double start, double end, int64_t steps, const Store& store) {
  const double step = steps > 1 ? (end - start) / static_cast<double>(steps - 1) : 0;
  parallel_for(0, steps, kFillGrain, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      store(i, i < steps / 2 ? std::fma(step, static_cast<double>(i), start)
                             : std::fma(-step, static_cast<double>(steps - 1 - i), end));
    }
  });
}

// The same for the narrower floats. Products are exact in double precision.
void space_floats(float start, float end, float step, int64_t steps, float* to) {
  parallel_for(0, steps, kFillGrain, [&](int64_t first, int64_t last) {
    const int64_t middle = std::clamp(steps / 2, first, last);
    space_numbers(start, step, first, 1, to + first, middle - first);
    space_numbers(end, -step, steps - 1 - middle, -1, to + middle, last - middle);
  });
}

void linspace(ops::Launch&,
              const Scalar& start,
              const Scalar& end,
              int64_t steps,
              OptionalDType,
              OptionalDevice,
              Tensor& out) {
  if (is_complex(out.dtype())) {
    const std::complex<double> from = start.to_complex();
    const auto count = static_cast<double>(std::max<int64_t>(steps - 1, 1));
    const std::complex<double> step = (end.to_complex() - from) / count;
    for (int64_t i = 0; i < steps; ++i) {
      // From the nearer end.
      const Scalar number = i < steps / 2 || steps == 1
                                ? from + step * static_cast<double>(i)
                                : end.to_complex() - step * static_cast<double>(steps - 1 - i);
      write_element(out.data<char>() + i * out.element_size(), out.dtype(), number);
    }
    return;
  }
  visit_dtype(out.dtype(), [&]<typename T>() {
    T* data = out.data<T>();
    if (steps == 1) {
      *data = start.to<T>();
      return;
    }
    // Integers are spaced in double precision, floats in their own.
    if constexpr (std::is_same_v<T, float>) {
      const T from = start.to<T>();
      const T to = end.to<T>();
      space_floats(from, to, (to - from) / static_cast<T>(steps - 1), steps, data);
    } else if constexpr (std::is_integral_v<T> || sizeof(T) == 8) {
      space(static_cast<double>(start.to<T>()), static_cast<double>(end.to<T>()), steps,
            [=](int64_t i, double number) { data[i] = static_cast<T>(number); });
    } else {
      const Tensor numbers = Tensor::make({steps}, DType::kFloat32);
      // The step is of 16 bits too, and so is each result on the way to it.
      const float from = start.to<T>();
      const float to = end.to<T>();
      const float count = static_cast<T>(static_cast<float>(steps - 1));
      const float step = static_cast<T>(static_cast<T>(to - from) / count);
      space_floats(from, to, step, steps, numbers.data<float>());
      copy(numbers, out);
    }
  });
}

void logspace(ops::Launch&,
              const Scalar& start,
              const Scalar& end,
              int64_t steps,
              double base,
              OptionalDType,
              OptionalDevice,
              Tensor& out) {
  visit_dtype(out.dtype(), [&]<typename T>() {
    T* data = out.data<T>();
    const auto power = [base](double exponent) {
      const double number = std::pow(base, exponent);
      if constexpr (std::is_integral_v<T>) {
        return static_cast<T>(Scalar(number).to_int());
      } else {
        return static_cast<T>(static_cast<Compute<T>>(number));
      }
    };
    if (steps == 1) {
      *data = power(start.to_double());
      return;
    }
    space(static_cast<double>(start.to<T>()), static_cast<double>(end.to<T>()), steps,
          [&](int64_t i, double exponent) { data[i] = power(exponent); });
  });
}

// Writes the rows, then the columns, of those elements of a matrix that lie in [begin(i), end(i))
// of row i.
template <typename Begin, typename End>
void write_indices(
    int64_t first_row, int64_t end_row, const Tensor& out, const Begin& begin, const End& end) {
  if (out.numel() == 0) return;
  const auto write = [&]<typename T>(T) {
    T* row = out.data<T>();
    T* column = row + out.numel() / 2;
    for (int64_t i = first_row; i < end_row; ++i) {
      for (int64_t j = begin(i); j < end(i); ++j) {
        *row++ = static_cast<T>(i);
        *column++ = static_cast<T>(j);
      }
    }
  };
  if (out.dtype() == DType::kInt32) {
    write(int32_t{});
  } else {
    write(int64_t{});
  }
}

void tril_indices(ops::Launch&,
                  int64_t row,
                  int64_t col,
                  int64_t offset,
                  OptionalDType,
                  OptionalDevice,
                  Tensor& out) {
  const int64_t diagonal = std::clamp(offset, -row, col);
  write_indices(
      std::max<int64_t>(0, -diagonal), row, out, [](int64_t) { return int64_t{0}; },
      [=](int64_t i) { return std::min(col, i + diagonal + 1); });
}

void triu_indices(ops::Launch&,
                  int64_t row,
                  int64_t col,
                  int64_t offset,
                  OptionalDType,
                  OptionalDevice,
                  Tensor& out) {
  const int64_t diagonal = std::clamp(offset, -row, col);
  write_indices(
      0, std::min(row, col - diagonal), out,
      [=](int64_t i) { return std::max<int64_t>(0, i + diagonal); }, [=](int64_t) { return col; });
}

}  // namespace

void register_creation(ops::Registry& registry) {
  registry.kernel<empty>(DeviceType::kCpu, "empty.memory_format").takes(kAnyType);
  registry.kernel<empty_strided>(DeviceType::kCpu, "empty_strided").takes(kAnyType);
  registry.kernel<zeros>(DeviceType::kCpu, "zeros").takes(kAnyType);
  registry.kernel<ones>(DeviceType::kCpu, "ones").takes(kAnyType);
  registry.kernel<full>(DeviceType::kCpu, "full").takes(kAnyType);
  registry.kernel<scalar_tensor>(DeviceType::kCpu, "scalar_tensor").takes(kAnyType);
  registry.kernel<eye>(DeviceType::kCpu, "eye").takes(kAnyType);
  registry.kernel<eye_m>(DeviceType::kCpu, "eye.m").takes(kAnyType);
  registry.kernel<arange>(DeviceType::kCpu, "arange");
  registry.kernel<arange_step>(DeviceType::kCpu, "arange.start_step");
  registry.kernel<arange_step>(DeviceType::kCpu, "range.step");
  registry.kernel<linspace>(DeviceType::kCpu, "linspace").takes(kAllOrComplex);
  registry.kernel<logspace>(DeviceType::kCpu, "logspace");
  registry.kernel<tril_indices>(DeviceType::kCpu, "tril_indices");
  registry.kernel<triu_indices>(DeviceType::kCpu, "triu_indices");
  registry.kernel<fill_from>(DeviceType::kCpu, "fill_.Tensor").takes(kAnyType);
  registry.kernel<fill>(DeviceType::kCpu, "fill_.Scalar").takes(kAnyType);
  registry.kernel<zero>(DeviceType::kCpu, "zero_").takes(kAnyType);
}

}  // namespace mindtorch::cpu
