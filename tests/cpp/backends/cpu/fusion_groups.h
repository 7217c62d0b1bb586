#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "mindtorch/backends/cpu/fusion.h"
#include "mindtorch/backends/cpu/pointwise.h"
#include "mindtorch/ops/prepared_group.h"

namespace mindtorch::cpu {

// A fused group over real tensors, and what single ops make of the same.
class GroupOverTensors {
 public:
  explicit GroupOverTensors(Shape sizes) { group.sizes = std::move(sizes); }

  uint16_t input(const Tensor& tensor, bool is_number = false) {
    group.inputs.push_back(layout(tensor, is_number));
    inputs.push_back(tensor);
    return static_cast<uint16_t>(inputs.size() - 1);
  }
  // Inputs come first.
  uint16_t step(ops::Pointwise function,
                DType compute,
                DType result,
                std::vector<uint16_t> operands,
                ops::PointwiseParams params = {}) {
    ops::FusedStep step;
    step.function = function;
    step.compute = compute;
    step.result = result;
    step.params = params;
    return add(step, operands);
  }
  // On values with one element a row.
  uint16_t row_step(ops::Pointwise function, DType dtype, std::vector<uint16_t> operands) {
    const uint16_t value = step(function, dtype, dtype, std::move(operands));
    group.steps.back().is_row = true;
    return value;
  }
  uint16_t row(ops::RowFunction function,
               DType compute,
               DType result,
               uint16_t operand,
               double correction = 0) {
    ops::FusedStep step;
    step.params.f[0] = correction;
    step.row = function;
    step.compute = compute;
    step.result = result;
    step.is_row = !ops::gives_row(function);
    return add(step, {operand});
  }
  uint16_t add(ops::FusedStep step, const std::vector<uint16_t>& operands) {
    step.count = static_cast<uint8_t>(operands.size());
    for (size_t i = 0; i < operands.size(); ++i) step.operands[i] = operands[i];
    group.steps.push_back(step);
    return static_cast<uint16_t>(inputs.size() + group.steps.size() - 1);
  }
  void store(uint16_t value, const Tensor& target) {
    group.stores.push_back({value, layout(target, false)});
    targets.push_back(target);
  }

  std::vector<void*> addresses() const {
    std::vector<void*> list;
    for (const Tensor& input : inputs) list.push_back(input.data_ptr());
    for (const Tensor& target : targets) list.push_back(target.data_ptr());
    return list;
  }

  // What every value is, computed step by step from the inputs as they are now.
  std::vector<Tensor> values() const;
  void run() const {
    ops::Launch launch{DeviceType::kCpu};
    fusion_engine().prepare(group, nullptr).program->run(launch, addresses());
  }
  // Runs it as often as a program changes, and compares every target bit for bit.
  void check() const;

  ops::FusedGroup group;
  std::vector<Tensor> inputs;
  std::vector<Tensor> targets;

 private:
  ops::FusedLayout layout(const Tensor& tensor, bool is_number) const {
    return {broadcast_strides(tensor.sizes(), tensor.strides(), group.sizes), tensor.dtype(),
            is_number};
  }
};

// Values of every kind of number that the dtype has, small enough for most functions.
void fill_random(const Tensor& tensor, std::mt19937_64& random);
// The same elements, laid out row by row.
Tensor packed(const Tensor& tensor);
// Tensors that look like `sizes` from far: plain, with dims in another order, with gaps, repeated.
class RandomLayouts {
 public:
  explicit RandomLayouts(uint64_t seed) : random_(seed) {}

  int64_t below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }
  template <typename T>
  T one_of(const std::vector<T>& list) {
    return list[static_cast<size_t>(below(static_cast<int64_t>(list.size())))];
  }

  Tensor input(Shape sizes, DType dtype) {
    for (int64_t& size : sizes) {
      if (below(5) == 0) size = 1;
    }
    return laid_out(sizes, dtype);
  }
  Tensor laid_out(const Shape& sizes, DType dtype) {
    const size_t rank = sizes.size();
    std::vector<size_t> order(rank);
    std::iota(order.begin(), order.end(), size_t{0});
    if (below(3) == 0) std::shuffle(order.begin(), order.end(), random_);
    Shape padded = sizes;
    if (rank > 0 && below(3) == 0)
      padded[static_cast<size_t>(below(static_cast<int64_t>(rank)))] += 3;
    const int64_t step = below(4) == 0 ? 2 : 1;
    Shape strides(rank, 0);
    int64_t total = step;
    for (size_t i = rank; i-- > 0;) {
      strides[order[i]] = total;
      total *= padded[order[i]];
    }
    const Tensor memory = Tensor::make({total}, dtype);
    fill_random(memory, random_);
    return memory.alias(sizes, strides, 0);
  }

 private:
  std::mt19937_64 random_;
};

// Bits equal, but for the bits of NaN.
void expect_same(const Tensor& actual, const Tensor& expected);

}  // namespace mindtorch::cpu
