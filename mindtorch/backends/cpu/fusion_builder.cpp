#include "mindtorch/backends/cpu/fusion_builder.h"

#include <algorithm>

#include "mindtorch/backends/cpu/tiles/half_arithmetic.h"
#include "mindtorch/backends/cpu/tiles/scalar_operand.h"

namespace mindtorch::cpu {

using ops::FusedStep;
using ops::Pointwise;

DType fused_dtype(Pointwise function, DType compute) {
  return ops::is_half(compute) && find_tile(function, compute) == nullptr ? DType::kFloat32
                                                                          : compute;
}

Row row_kernel(ops::RowFunction function) {
  switch (function) {
    case ops::RowFunction::kAmax:
      return Row::kMax;
    case ops::RowFunction::kAmin:
      return Row::kMin;
    case ops::RowFunction::kVar:
    case ops::RowFunction::kStd:
      return Row::kMoments;
    case ops::RowFunction::kSoftmax:
      return Row::kSoftmax;
    case ops::RowFunction::kLogSoftmax:
      return Row::kLogSoftmax;
    default:
      return Row::kSum;
  }
}

DType row_dtype(const FusedStep& step) {
  const Row kernel = row_kernel(step.row);
  const bool is_wide = kernel == Row::kSum || kernel == Row::kMoments;
  return is_wide ? accumulate_dtype(step.compute) : step.compute;
}

int64_t partial_bytes(const FusedStep& step) {
  const bool is_moments = row_kernel(step.row) == Row::kMoments;
  return is_moments ? int64_t{sizeof(Moments)} : size_bytes(row_dtype(step));
}

FusionBuilder::FusionBuilder(const ops::FusedGroup& group, Rows rows, TiledProgram& program)
    : group_(group), rows_(rows), program_(program) {
  program_.params_.reserve(group.steps.size());
  for (size_t i = 0; i < group.inputs.size(); ++i) {
    const bool is_direct = loop().view(i).is_dense();
    values_.push_back({group.inputs[i].dtype, loop().width(i), loop().is_repeated(i),
                       is_direct ? static_cast<int32_t>(i) : kGathered});
  }
  for (const FusedStep& step : group.steps) {
    values_.push_back({step.result, Width::kWhole, false, kNoSlot});
  }
}

void FusionBuilder::build() {
  for (size_t i = 0; i < group_.inputs.size(); ++i) add_scatters(static_cast<uint16_t>(i));
  for (size_t i = 0; i < group_.steps.size();) i = add_steps(i);
  give_buffers();
}

size_t FusionBuilder::add_steps(size_t first) {
  if (program_.generates_) {
    const size_t end = add_generated(first);
    if (end > first) return end;
  }
  const auto value = static_cast<uint16_t>(group_.inputs.size() + first);
  const FusedStep& step = group_.steps[first];
  if (step.is_copy) {
    add_copy(step, value);
  } else if (step.row == ops::RowFunction::kNone) {
    add_step(step, value);
  } else {
    add_row_step(step, value);
  }
  return first + 1;
}

Width FusionBuilder::width_of(const FusedStep& step) const {
  const auto is_number = [&](uint16_t value) { return values_[value].width == Width::kScalar; };
  if (std::all_of(step.operands, step.operands + step.count, is_number)) return Width::kScalar;
  return step.is_row ? Width::kRow : Width::kWhole;
}

FusionBuilder::Choice FusionBuilder::choose(const FusedStep& step, Width width) const {
  const DType compute = fused_dtype(step.function, step.compute);
  Choice choice;
  choice.native = ops::gives_bool(step.function) ? DType::kBool : compute;
  for (int i = 0; i < step.count; ++i) {
    choice.wanted[i] = ops::takes_bool(step.function, i) ? DType::kBool : compute;
  }

  int narrow = -1;        // the one operand of two that has one element for many of the result
  bool is_other = false;  // there is one more
  bool is_alike = true;   // all others are of the result's dtype
  for (int i = 0; i < step.count; ++i) {
    const Value& operand = values_[step.operands[i]];
    if (operand.width == width) {
      is_alike &= operand.dtype == step.result;
    } else if (narrow < 0 && step.count == 2) {
      narrow = i;
    } else {
      is_other = true;
    }
  }
  if (ops::is_half(step.result) && compute == DType::kFloat32 && is_alike && !is_other) {
    // Without buffers of float32 in between.
    choice.tile = narrow < 0 ? find_half_tile(step.function, step.result)
                             : find_half_number_tile(step.function, step.result, narrow);
    if (choice.tile != nullptr) {
      choice.native = step.result;
      std::fill_n(choice.wanted, step.count, step.result);
      if (narrow >= 0) choice.wanted[narrow] = DType::kFloat32;
      choice.single = narrow;
      return choice;
    }
  }
  if (narrow >= 0 && !is_other) {
    choice.tile = find_scalar_operand_tile(step.function, compute, narrow);
    choice.single = choice.tile != nullptr ? narrow : -1;
  }
  if (choice.tile == nullptr) choice.tile = find_tile(step.function, compute);
  MT_ASSERT(choice.tile != nullptr);  // the dtype was checked
  return choice;
}

void FusionBuilder::add_step(const FusedStep& step, uint16_t value) {
  const Width width = width_of(step);
  const Choice choice = choose(step, width);
  uint16_t operands[ops::kMaxOperands];
  bool is_fixed = true;
  for (int i = 0; i < step.count; ++i) {
    const Width wanted = i == choice.single ? values_[step.operands[i]].width : width;
    operands[i] = as(rounded(step, i), choice.wanted[i], wanted);
    is_fixed &= values_[operands[i]].is_fixed;
  }
  FusionAction action;
  action.run = &run_tile;
  action.tile = choice.tile;
  action.params = &program_.params_.emplace_back(step.params);
  if (choice.single >= 0 && values_[operands[choice.single]].width == Width::kRow &&
      loop().rows_of_tile() > 1) {
    action.run = &run_tile_rows;
    action.single = static_cast<int8_t>(choice.single);
    // Among 16-bit floats the single element is a float32.
    const DType compute = choice.wanted[1 - choice.single];
    const LinesFn lines = choice.wanted[choice.single] == compute
                              ? find_lines(step.function, compute, choice.single)
                              : nullptr;
    if (lines != nullptr) {
      action.run = &run_lines;
      action.lines = lines;
    }
  }
  values_[value].width = width;
  values_[value].is_fixed = is_fixed;
  const uint16_t computed = computed_as(choice.native, value);
  add(action, computed, operands, step.count);
  finish(computed, value);
}

void FusionBuilder::add_copy(const FusedStep& step, uint16_t value) {
  const uint16_t operand = step.operands[0];
  const uint16_t from = as(operand, values_[operand].dtype, values_[operand].width);
  values_[value].width = values_[from].width;
  values_[value].is_fixed = values_[from].is_fixed;
  place_in_memory(value);
  FusionAction action;
  action.run = &run_cast;
  action.cast = find_cast(values_[from].dtype, values_[value].dtype);
  add(action, value, &from, 1);
  add_scatters(value);
}

void FusionBuilder::add_row_step(const FusedStep& step, uint16_t value) {
  const DType native = row_dtype(step);
  FusionAction action;
  action.run = &run_row;
  action.row = find_row(row_kernel(step.row), step.compute);
  MT_CHECK(action.row != nullptr, NotImplementedError, "this row function is not implemented for '",
           legacy_name(step.compute), "'");
  const uint16_t operand = as(step.operands[0], step.compute, Width::kWhole);
  values_[value].width = ops::gives_row(step.row) ? Width::kWhole : Width::kRow;
  values_[value].is_fixed = values_[operand].is_fixed && rows_ == Rows::kWhole;
  if (rows_ == Rows::kDivided) {
    const uint16_t partial = new_value(native, Width::kRow, false);
    const size_t operands = group_.inputs.size() + group_.stores.size();
    values_[partial].slot = static_cast<int32_t>(operands + partials_++);
    return add(action, partial, &operand, 1);
  }
  if (row_kernel(step.row) == Row::kMoments) {
    action.run = native == DType::kFloat64 ? &run_variance<double> : &run_variance<float>;
    action.params = &program_.params_.emplace_back(step.params);
    action.takes_root = step.row == ops::RowFunction::kStd;
  }
  if (step.row != ops::RowFunction::kMean) {
    const uint16_t computed = computed_as(native, value);
    add(action, computed, &operand, 1);
    return finish(computed, value);
  }
  const uint16_t sum = new_value(native, Width::kRow, values_[value].is_fixed);
  add(action, sum, &operand, 1);
  FusionAction division;
  division.run = native == DType::kFloat64 ? &run_mean<double> : &run_mean<float>;
  const uint16_t mean = computed_as(native, value);
  add(division, mean, &sum, 1);
  finish(mean, value);
}

// What a step computes before its result is rounded: the value itself where it is of that dtype.
uint16_t FusionBuilder::computed_as(DType native, uint16_t value) {
  place_in_memory(value);
  if (values_[value].dtype == native) return value;
  return new_value(native, values_[value].width, values_[value].is_fixed);
}

void FusionBuilder::finish(uint16_t computed, uint16_t value) {
  if (computed != value) {
    FusionAction rounding;
    rounding.run = &run_cast;
    rounding.cast = find_cast(values_[computed].dtype, values_[value].dtype);
    add(rounding, value, &computed, 1);
  }
  add_scatters(value);
}

// A value is computed where it is stored, and read from there.
void FusionBuilder::place_in_memory(uint16_t value) {
  Value& placed = values_[value];
  for (size_t k = 0; k < group_.stores.size() && !placed.is_fixed; ++k) {
    const size_t operand = group_.inputs.size() + k;
    if (group_.stores[k].value == value && loop().view(operand).is_dense() &&
        loop().width(operand) == placed.width) {
      placed.slot = static_cast<int32_t>(operand);
      return;
    }
  }
}

void FusionBuilder::add_scatters(uint16_t value) {
  for (size_t k = 0; k < group_.stores.size(); ++k) {
    const auto operand = static_cast<int32_t>(group_.inputs.size() + k);
    if (group_.stores[k].value != value || values_[value].slot == operand) continue;
    const auto target = static_cast<size_t>(operand);
    const uint16_t from = as(value, values_[value].dtype, loop().width(target));
    const uint16_t to = new_value(values_[value].dtype, loop().width(target), false);
    values_[to].slot = operand;
    FusionAction action;
    action.run = &run_scatter;
    action.scatter = find_scatter(size_bytes(values_[value].dtype));
    action.view = &loop().view(target);
    add(action, to, &from, 1);
  }
}

bool FusionBuilder::must_round(const FusedStep& step, int k) const {
  const bool is_condition = ops::takes_bool(step.function, k);
  return ops::rounds_to_half(values_[step.operands[k]].dtype, step.compute) &&
         k != step.unrounded && !is_condition;
}

// An operand of a step as the step's dtype has it, before it is widened.
uint16_t FusionBuilder::rounded(const FusedStep& step, int k) {
  const uint16_t value = step.operands[k];
  return must_round(step, k) ? as(value, step.compute, values_[value].width) : value;
}

uint16_t FusionBuilder::as(uint16_t value, DType dtype, Width width) {
  if (values_[value].slot == kGathered) {
    FusionAction action;
    action.run = &run_gather;
    action.gather = find_gather(size_bytes(values_[value].dtype));
    action.view = &loop().view(value);
    value = derive(value, values_[value].dtype, values_[value].width, action);
  }
  if (values_[value].dtype != dtype) {
    FusionAction action;
    action.run = &run_cast;
    action.cast = find_cast(values_[value].dtype, dtype);
    value = derive(value, dtype, values_[value].width, action);
  }
  if (values_[value].width != width) {
    FusionAction action;
    action.run = &run_spread;
    action.single = values_[value].width == Width::kRow ? 0 : -1;
    value = derive(value, dtype, width, action);
  }
  return value;
}

uint16_t FusionBuilder::derive(uint16_t from, DType dtype, Width width, FusionAction action) {
  for (const Derived& known : derived_) {
    if (known.from == from && known.dtype == dtype && known.width == width) return known.value;
  }
  const uint16_t value = new_value(dtype, width, values_[from].is_fixed);
  derived_.push_back({from, value, dtype, width});
  add(action, value, &from, 1);
  return value;
}

uint16_t FusionBuilder::new_value(DType dtype, Width width, bool is_fixed) {
  values_.push_back({dtype, width, is_fixed, kNoSlot});
  return static_cast<uint16_t>(values_.size() - 1);
}

void FusionBuilder::add(FusionAction action, uint16_t out, const uint16_t* operands, int count) {
  action.out = out;
  action.width = values_[out].width;
  action.out_size = static_cast<uint8_t>(size_bytes(values_[out].dtype));
  for (int i = 0; i < ops::kMaxOperands; ++i) {
    action.in[i] = operands[std::min(i, count - 1)];
    action.in_sizes[i] = static_cast<uint8_t>(size_bytes(values_[action.in[i]].dtype));
  }
  (values_[out].is_fixed ? program_.first_ : program_.actions_).push_back(action);
}

// Values that are the same for every tile keep their buffers. Others give them back after their
// last use; right before it where the result may lie where the operand did.
void FusionBuilder::give_buffers() {
  std::vector<size_t> last_use(values_.size(), 0);
  for (size_t i = 0; i < program_.actions_.size(); ++i) {
    program_.actions_[i].for_reads([&](uint16_t value) { last_use[value] = i; });
  }
  const auto first_buffer = static_cast<int32_t>(loop().operands());
  std::vector<int32_t> free;
  int64_t element = 0;
  const auto take = [&](uint16_t value) {
    Value& placed = values_[value];
    if (placed.slot != kNoSlot) return;
    element = std::max(element, size_bytes(placed.dtype));
    if (free.empty()) free.push_back(first_buffer + static_cast<int32_t>(program_.buffers_++));
    placed.slot = free.back();
    free.pop_back();
  };
  const auto name_slots = [&](FusionAction& action) {
    const auto slot_of = [&](uint16_t value) {
      const int32_t slot = values_[value].slot;
      return slot == kGathered ? value : static_cast<uint16_t>(slot);
    };
    action.for_reads([&](uint16_t& value) { value = slot_of(value); });
    action.for_writes([&](uint16_t& value) { value = slot_of(value); });
  };
  for (FusionAction& action : program_.first_) {
    take(action.out);
    name_slots(action);
  }
  for (size_t i = 0; i < program_.actions_.size(); ++i) {
    FusionAction& action = program_.actions_[i];
    SmallVector<uint16_t, 3> ending;
    action.for_reads([&](uint16_t value) {
      const Value& operand = values_[value];
      const bool is_known = std::find(ending.begin(), ending.end(), value) != ending.end();
      if (last_use[value] == i && !operand.is_fixed && operand.slot >= first_buffer && !is_known) {
        ending.push_back(value);
      }
    });
    const auto give_back = [&](bool before) {
      for (const uint16_t value : ending) {
        // Code may write a result before it reads an operand that a later step of it wants.
        const bool is_alike = action.generated == nullptr && values_[value].width == action.width &&
                              size_bytes(values_[value].dtype) == action.out_size;
        if (is_alike == before) free.push_back(values_[value].slot);
      }
    };
    give_back(true);
    action.for_writes(take);
    give_back(false);
    name_slots(action);
  }
  // A line more than needed: actions may write beyond the end, and buffers do not all begin at the
  // same place of the cache.
  program_.buffer_bytes_ = (loop().tile() * element / kBufferLine + 2) * kBufferLine;
}

}  // namespace mindtorch::cpu
