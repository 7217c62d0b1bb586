// Steps that become machine code: which ones go together, and how they are run.
#include "mindtorch/backends/cpu/fusion_generated.h"

#include <algorithm>

#include "mindtorch/backends/cpu/fusion_builder.h"

namespace mindtorch::cpu {

using ops::FusedStep;
using ops::Pointwise;

namespace {

constexpr int64_t kShortRow = 32;  // elements

// What code can read; other values are converted first.
bool can_read(DType dtype) {
  return dtype == DType::kBool || dtype == DType::kFloat32 || dtype == DType::kFloat16 ||
         dtype == DType::kBFloat16 ||
         (dtype == DType::kFloat64 && jit::best_target() == jit::Target::kAvx512);
}

void run_generated(const FusionAction& action, char* const* slots, const FusionTile& tile) {
  const GeneratedSteps& steps = *action.generated;
  SmallVector<char*, 16> in;
  SmallVector<char*, 8> out;
  for (const GeneratedSteps::Line& line : steps.in) in.push_back(slots[line.slot]);
  for (const GeneratedSteps::Line& line : steps.out) out.push_back(slots[line.slot]);
  const auto call = [&](int64_t n) {
    (*steps.kernel)(reinterpret_cast<const void* const*>(in.data()),
                    reinterpret_cast<void* const*>(out.data()), n);
  };
  if (!steps.by_rows) return call(tile.counts[static_cast<int>(Width::kWhole)]);
  const auto next_row = [&](const GeneratedSteps::Line& line) {
    const int64_t elements[kWidths] = {tile.row, 1, 0};
    return elements[static_cast<int>(line.width)] * line.element_size;
  };
  for (int64_t row = 0; row < tile.counts[static_cast<int>(Width::kRow)]; ++row) {
    call(tile.row);
    for (size_t i = 0; i < in.size(); ++i) in[i] += next_row(steps.in[i]);
    for (size_t i = 0; i < out.size(); ++i) out[i] += next_row(steps.out[i]);
  }
}

}  // namespace

// The first step at or after `first` that has to run by itself.
size_t FusionBuilder::end_of_generated(size_t first) const {
  std::vector<DType> operands;
  size_t end = first;
  bool has_long = false;
  for (; end < group_.steps.size(); ++end) {
    const FusedStep& step = group_.steps[end];
    const bool is_wide = step.row == ops::RowFunction::kNone && !step.is_row && !step.is_copy;
    bool moves = false;     // not the same for every tile
    bool converts = false;  // in a way that code does not
    operands.clear();
    for (int k = 0; k < step.count; ++k) {
      const bool is_inside = step.operands[k] >= group_.inputs.size() + first;
      const Value& operand = values_[step.operands[k]];
      // What comes from outside is converted first where it has to be.
      const DType dtype = operand.dtype;
      operands.push_back(is_inside || can_read(dtype) ? dtype : DType::kFloat32);
      moves |= is_inside || !operand.is_fixed;
      converts |= is_inside && must_round(step, k);
    }
    if (!is_wide || !moves || converts || !jit::can_generate(step, operands)) break;
    if (jit::is_long(step)) {
      if (has_long) break;
      has_long = true;
    }
  }
  return end;
}

// Adds one action for steps from `first` on, and returns the step after them: `first` itself where
// there is no code for it or it is alone.
size_t FusionBuilder::add_generated(size_t first) {
  size_t end = end_of_generated(first);
  // Half of them where all have more values alive than there are registers.
  for (; end >= first + 2; end = first + (end - first) / 2) {
    if (generate(first, end)) return end;
  }
  return first;
}

bool FusionBuilder::generate(size_t first, size_t end) {
  const auto first_value = static_cast<uint16_t>(group_.inputs.size() + first);
  const auto end_value = static_cast<uint16_t>(group_.inputs.size() + end);
  auto generated = std::make_unique<GeneratedSteps>();
  std::vector<jit::Run::Input> inputs;
  std::vector<FusedStep> steps(group_.steps.begin() + static_cast<std::ptrdiff_t>(first),
                               group_.steps.begin() + static_cast<std::ptrdiff_t>(end));
  for (FusedStep& step : steps) {
    for (int k = 0; k < step.count; ++k) {
      if (step.operands[k] >= first_value) continue;
      const uint16_t value = as_input(step, k);
      step.operands[k] = value;
      const auto is_known = [&](const jit::Run::Input& input) { return input.value == value; };
      if (std::any_of(inputs.begin(), inputs.end(), is_known)) continue;
      const Value& from = values_[value];
      inputs.push_back({value, from.dtype, from.width != Width::kWhole});
      generated->in.push_back({value, static_cast<uint8_t>(size_bytes(from.dtype)), from.width});
      generated->by_rows |= from.width == Width::kRow && loop().rows_of_tile() > 1;
    }
  }
  std::vector<uint16_t> outputs;
  for (uint16_t value = first_value; value < end_value; ++value) {
    if (!is_needed(value, end)) continue;
    outputs.push_back(value);
    const DType dtype = values_[value].dtype;
    generated->out.push_back({value, static_cast<uint8_t>(size_bytes(dtype)), Width::kWhole});
  }
  generated->kernel =
      jit::compile({.steps = steps, .first = first_value, .inputs = inputs, .outputs = outputs});
  if (generated->kernel == nullptr) return false;

  FusionAction action;
  action.run = &run_generated;
  action.generated = generated.get();
  program_.generated_.push_back(std::move(generated));
  for (const uint16_t value : outputs) place_in_memory(value);
  program_.actions_.push_back(action);
  for (const uint16_t value : outputs) add_scatters(value);
  return true;
}

// An operand from outside the run, in a dtype and at a width that code can read.
uint16_t FusionBuilder::as_input(const FusedStep& step, int k) {
  const uint16_t operand = rounded(step, k);
  const Value& value = values_[operand];
  const bool is_condition = ops::takes_bool(step.function, k);
  const DType wanted = is_condition ? DType::kBool : fused_dtype(step.function, step.compute);
  const bool as_it_is = value.width == Width::kWhole && can_read(value.dtype);
  // A call for each short row would cost more than rows full of the element.
  const bool is_short =
      value.width == Width::kRow && loop().rows_of_tile() > 1 && loop().row() <= kShortRow;
  return as(operand, as_it_is ? value.dtype : wanted, is_short ? Width::kWhole : value.width);
}

// Read by a step from `end` on, or stored.
bool FusionBuilder::is_needed(uint16_t value, size_t end) const {
  for (size_t i = end; i < group_.steps.size(); ++i) {
    const FusedStep& step = group_.steps[i];
    if (std::find(step.operands, step.operands + step.count, value) != step.operands + step.count) {
      return true;
    }
  }
  return std::any_of(group_.stores.begin(), group_.stores.end(),
                     [&](const ops::FusedGroup::Store& store) { return store.value == value; });
}

}  // namespace mindtorch::cpu
