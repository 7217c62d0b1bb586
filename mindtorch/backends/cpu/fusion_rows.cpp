#include "mindtorch/backends/cpu/fusion_rows.h"

#include <algorithm>
#include <cstring>

#include "mindtorch/backends/cpu/fusion_builder.h"

namespace mindtorch::cpu {

using ops::FusedGroup;
using ops::FusedStep;
using ops::RowFunction;

namespace {

constexpr size_t kRowAlignment = 64;

// By value: made from a row function of this group.
std::vector<bool> after_reduction(const FusedGroup& group) {
  std::vector<bool> after(group.inputs.size(), false);
  for (const FusedStep& step : group.steps) {
    bool is_after = step.row != RowFunction::kNone;
    for (int i = 0; i < step.count; ++i) is_after |= after[step.operands[i]];
    after.push_back(is_after);
  }
  return after;
}

ops::FusedLayout without_last(ops::FusedLayout layout) {
  layout.strides.pop_back();
  return layout;
}

}  // namespace

bool has_trailing_reductions(const FusedGroup& group) {
  const std::vector<bool> after = after_reduction(group);
  for (size_t i = 0; i < group.steps.size(); ++i) {
    if (after[group.inputs.size() + i] && !group.steps[i].is_row) return false;
  }
  return true;
}

// The pass gets every step that comes before a reduction, and the reductions. The tail gets every
// step with one element a row; what both need, both compute. Its inputs are the group's, then the
// combined reductions.
LongRowProgram::LongRowProgram(const FusedGroup& group, bool generate)
    : inputs_(group.inputs.size()), row_(group.sizes.back()) {
  const std::vector<bool> after = after_reduction(group);
  FusedGroup pass{group.device, group.sizes, {}, group.inputs, {}};
  FusedGroup tail{group.device, group.sizes, {}, {}, {}};
  tail.sizes.pop_back();
  for (const int64_t size : tail.sizes) rows_ *= size;
  for (const ops::FusedLayout& input : group.inputs) tail.inputs.push_back(without_last(input));
  const Shape row_strides = contiguous_strides(tail.sizes);
  std::vector<uint16_t> in_pass(inputs_ + group.steps.size());
  std::vector<uint16_t> in_tail(in_pass.size());
  for (size_t i = 0; i < inputs_; ++i) in_pass[i] = in_tail[i] = static_cast<uint16_t>(i);
  const size_t reductions = static_cast<size_t>(
      std::count_if(group.steps.begin(), group.steps.end(),
                    [](const FusedStep& step) { return step.row != RowFunction::kNone; }));
  for (size_t i = 0; i < group.steps.size(); ++i) {
    const size_t value = inputs_ + i;
    const auto enter = [&](FusedGroup& to, std::vector<uint16_t>& values, size_t before) {
      FusedStep step = group.steps[i];
      for (int k = 0; k < step.count; ++k) step.operands[k] = values[step.operands[k]];
      values[value] = static_cast<uint16_t>(before + to.steps.size());
      to.steps.push_back(step);
    };
    const FusedStep& step = group.steps[i];
    if (step.row != RowFunction::kNone) {
      in_tail[value] = static_cast<uint16_t>(inputs_ + reductions_.size());
      tail.inputs.push_back({row_strides, step.result, false});
      reductions_.push_back({step, find_row(row_kernel(step.row), row_dtype(step)),
                             find_cast(row_dtype(step), step.result), 0, 0});
      enter(pass, in_pass, inputs_);
      continue;
    }
    if (!after[value]) enter(pass, in_pass, inputs_);
    if (step.is_row) {
      enter(tail, in_tail, inputs_ + reductions);
      tail.steps.back().is_row = false;
    }
  }
  for (size_t k = 0; k < group.stores.size(); ++k) {
    const FusedGroup::Store& store = group.stores[k];
    const size_t step = store.value - inputs_;
    if (store.value >= inputs_ && group.steps[step].is_row) {
      tail.stores.push_back({in_tail[store.value], without_last(store.layout)});
      tail_stores_.push_back(k);
    } else {
      pass.stores.push_back({in_pass[store.value], store.layout});
      pass_stores_.push_back(k);
    }
  }
  pass_ = std::make_unique<TiledProgram>(pass, Rows::kDivided, generate);
  if (!tail.stores.empty()) tail_ = std::make_unique<TiledProgram>(tail, Rows::kNone, generate);
  const auto reserve = [&](int64_t count, int64_t element) {
    const size_t at = bytes_;
    bytes_ += static_cast<size_t>(count * element) + kRowAlignment - 1;
    bytes_ -= bytes_ % kRowAlignment;
    return at;
  };
  for (Reduction& reduction : reductions_) {
    const FusedStep& step = reduction.step;
    reduction.first = reserve(rows_ * pass_->tiles_of_row(), partial_bytes(step));
    reduction.combined = reserve(rows_, size_bytes(step.result));
  }
}

void LongRowProgram::combine(const Reduction& reduction, char* workspace) const {
  const char* from = workspace + reduction.first;
  char* to = workspace + reduction.combined;
  for (int64_t row = 0; row < rows_; ++row) {
    finish(reduction, from, to);
    from += pass_->tiles_of_row() * partial_bytes(reduction.step);
    to += size_bytes(reduction.step.result);
  }
}

// One row's value out of its partial results.
void LongRowProgram::finish(const Reduction& reduction, const char* partials, char* value) const {
  const FusedStep& step = reduction.step;
  const bool is_double = row_dtype(step) == DType::kFloat64;
  const int64_t tiles = pass_->tiles_of_row();
  alignas(8) char total[8];
  const auto set = [&](double exact) {
    const auto rounded = static_cast<float>(exact);
    is_double ? std::memcpy(total, &exact, 8) : std::memcpy(total, &rounded, 4);
  };
  if (row_kernel(step.row) == Row::kMoments) {
    Moments moments;
    const auto* each = reinterpret_cast<const Moments*>(partials);
    for (int64_t i = 0; i < tiles; ++i) moments += each[i];
    set(variance(moments, step.params.f[0], step.row == RowFunction::kStd));
  } else {
    reduction.combine(partials, total, tiles);
  }
  if (step.row == RowFunction::kMean && is_double) {
    *reinterpret_cast<double*>(total) /= static_cast<double>(row_);
  } else if (step.row == RowFunction::kMean) {
    *reinterpret_cast<float*>(total) /= static_cast<float>(row_);
  }
  reduction.round(total, value, 1);
}

void LongRowProgram::run(ops::Launch& launch, std::span<void* const> addresses) const {
  thread_local std::vector<char> memory;
  thread_local std::vector<void*> list;
  if (memory.size() < bytes_ + kRowAlignment) memory.resize(bytes_ + kRowAlignment);
  char* const workspace =
      memory.data() + (kRowAlignment - reinterpret_cast<uintptr_t>(memory.data()) % kRowAlignment);
  const auto begin_list = [&] { list.assign(addresses.begin(), addresses.begin() + inputs_); };
  begin_list();
  for (const size_t store : pass_stores_) list.push_back(addresses[inputs_ + store]);
  for (const Reduction& reduction : reductions_) list.push_back(workspace + reduction.first);
  pass_->run(launch, list);
  if (tail_ == nullptr) return;
  begin_list();
  for (const Reduction& reduction : reductions_) {
    combine(reduction, workspace);
    list.push_back(workspace + reduction.combined);
  }
  for (const size_t store : tail_stores_) list.push_back(addresses[inputs_ + store]);
  tail_->run(launch, list);
}

}  // namespace mindtorch::cpu
