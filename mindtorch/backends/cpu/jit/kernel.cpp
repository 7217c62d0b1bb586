#include "mindtorch/backends/cpu/jit/kernel.h"

#include <hwy/targets.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "mindtorch/backends/cpu/capability.h"
#include "mindtorch/backends/cpu/jit/functions.h"
#include "mindtorch/backends/cpu/tile.h"
#include "mindtorch/backends/cpu/tiles/half_arithmetic.h"
#include "mindtorch/base/options.h"

namespace mindtorch::cpu::jit {
namespace {

using ops::FusedStep;
using ops::Pointwise;

constexpr size_t kMaxCodeBytes = 256 * 1024;

Kind kind_of(DType dtype) {
  if (dtype == DType::kBool) return Kind::kMask;
  return dtype == DType::kFloat64 ? Kind::kFloat64 : Kind::kFloat32;
}
Kind operand_kind(const FusedStep& step, int operand) {
  return ops::takes_bool(step.function, operand) ? Kind::kMask : kind_of(step.compute);
}

// Gives one of its operands, its sign aside, or a number that every dtype has.
bool is_exact(Pointwise function) {
  switch (function) {
    case Pointwise::kRelu:
    case Pointwise::kAbs:
    case Pointwise::kNeg:
    case Pointwise::kSign:
    case Pointwise::kMaximum:
    case Pointwise::kMinimum:
    case Pointwise::kFmax:
    case Pointwise::kFmin:
    case Pointwise::kCopysign:
    case Pointwise::kWhere:
    case Pointwise::kClamp:
      return true;
    default:
      return false;
  }
}

// Which functions there are is asked of those who write them, once.
struct Generated {
  enum Length : uint8_t { kNone, kShort, kLong };
  Length functions[ops::kPointwiseCount][3] = {};

  Length of(const FusedStep& step) const {
    const Kind kind = kind_of(step.compute);
    if (is_built_in(step.function)) {
      return functions[static_cast<int>(step.function)][static_cast<int>(kind)];
    }
    if (kind == Kind::kFloat64 && target != Target::kAvx512) return kNone;
    return try_function(step.function, kind, target);
  }

  const Target target;

  explicit Generated(Target target) : target(target) {
    for (int i = 0; i < ops::kPointwiseCount; ++i) {
      for (const Kind kind : {Kind::kFloat32, Kind::kFloat64, Kind::kMask}) {
        if (kind == Kind::kFloat64 && target != Target::kAvx512) continue;
        functions[i][static_cast<int>(kind)] =
            try_function(static_cast<Pointwise>(i), kind, target);
      }
    }
  }
  static Length try_function(Pointwise function, Kind kind, Target target) {
    uint8_t unused[16];
    Emitter e(unused, sizeof(unused), 8, target);
    FusedStep step;
    step.function = function;
    step.compute = kind == Kind::kMask      ? DType::kBool
                   : kind == Kind::kFloat64 ? DType::kFloat64
                                            : DType::kFloat32;
    std::vector<Value> values;
    std::vector<Operand> in;
    for (int k = 0; k < ops::function_info(function).arity; ++k) {
      const bool mask = operand_kind(step, k) == Kind::kMask;
      values.push_back(e.load(0, mask ? DType::kBool : step.compute, false));
    }
    for (const Value& value : values) in.emplace_back(value);
    const Call call{function, kind, &step.params};
    if (in.size() == 1 && emit_transcendental(e, call, in[0]).is_set()) return kLong;
    return emit(e, call, in).is_set() ? kShort : kNone;
  }
};

const Generated& generated(Target target) {
  static const Generated avx2(Target::kAvx2);
  static const Generated avx512(Target::kAvx512);
  return target == Target::kAvx512 ? avx512 : avx2;
}

// The run with its values numbered from its inputs on, and where each dies.
class Body {
 public:
  explicit Body(const Run& run) : run_(run), last_use_(run.inputs.size() + run.steps.size(), -1) {
    for (size_t i = 0; i < run.steps.size(); ++i) {
      const FusedStep& step = run.steps[i];
      for (int k = 0; k < step.count; ++k) last_use_[slot(step.operands[k])] = static_cast<int>(i);
    }
    held_.resize(last_use_.size());
  }

  int lanes(Target target) const {
    bool full = target != Target::kAvx512;
    for (const Run::Input& input : run_.inputs) full |= input.dtype == DType::kFloat64;
    for (const FusedStep& step : run_.steps) {
      full |= step.compute == DType::kFloat64 || step.result == DType::kFloat64;
    }
    return full ? 8 : 16;
  }

  // Emits the steps once.
  void operator()(Emitter& e) {
    for (size_t i = 0; i < run_.steps.size(); ++i) emit_step(e, i);
    for (Value& value : held_) value.reset();
  }

 private:
  size_t slot(uint16_t value) const {
    if (value >= run_.first && value < run_.first + run_.steps.size()) {
      return run_.inputs.size() + value - run_.first;
    }
    const auto found = std::find_if(run_.inputs.begin(), run_.inputs.end(),
                                    [&](const Run::Input& input) { return input.value == value; });
    MT_ASSERT(found != run_.inputs.end());
    return static_cast<size_t>(found - run_.inputs.begin());
  }

  void emit_step(Emitter& e, size_t index) {
    const FusedStep& step = run_.steps[index];
    Value converted[ops::kMaxOperands];
    SmallVector<Operand, ops::kMaxOperands> in;
    for (int k = 0; k < step.count; ++k) {
      in.push_back(operand(e, step, static_cast<int>(index), k, converted[k]));
    }
    Value value = emit(e, {step.function, kind_of(step.compute), &step.params},
                       std::span(in.data(), in.size()));
    MT_ASSERT(value.is_set());
    value = e.convert(std::move(value), kind_of(step.result));
    if (must_round(step, index)) value = e.round_to(std::move(value), step.result);
    const auto number = static_cast<uint16_t>(run_.first + index);
    for (size_t i = 0; i < run_.outputs.size(); ++i) {
      if (run_.outputs[i] == number) e.store(static_cast<int>(i), step.result, value);
    }
    for (int k = 0; k < step.count; ++k) {
      const size_t used = slot(step.operands[k]);
      if (last_use_[used] == static_cast<int>(index)) held_[used].reset();
    }
    const size_t made = slot(number);
    if (last_use_[made] >= 0) held_[made] = std::move(value);
  }

  bool must_round(const FusedStep& step, size_t index) const {
    if (size_bytes(step.result) != 2) return false;
    // Storing rounds to float16 anyway.
    const bool is_read = last_use_[run_.inputs.size() + index] >= 0;
    if (step.result == DType::kFloat16 && !is_read) return false;
    if (!is_exact(step.function)) return true;
    for (int k = step.function == Pointwise::kWhere ? 1 : 0; k < step.count; ++k) {
      if (dtype_of(slot(step.operands[k])) != step.result) return true;
    }
    return false;
  }
  DType dtype_of(size_t from) const {
    const size_t inputs = run_.inputs.size();
    return from < inputs ? run_.inputs[from].dtype : run_.steps[from - inputs].result;
  }

  Operand operand(Emitter& e, const FusedStep& step, int index, int k, Value& converted) {
    const size_t from = slot(step.operands[k]);
    const Kind wanted = operand_kind(step, k);
    Value& value = held_[from];
    if (from < run_.inputs.size() && !value.is_set()) {
      const Run::Input& input = run_.inputs[from];
      const auto line = static_cast<int>(from);
      if (input.single && wanted != Kind::kMask && size_bytes(input.dtype) >= 4 &&
          kind_of(input.dtype) == wanted) {
        return e.single(wanted, line);
      }
      value = e.load(line, input.dtype, input.single);
    }
    if (value.kind() != wanted) {
      converted = e.convert(value, wanted);
      return Operand(std::move(converted));
    }
    // A value that is read twice must not lose its registers at the first time.
    int reads = 0;
    for (int i = 0; i < step.count; ++i) reads += step.operands[i] == step.operands[k] ? 1 : 0;
    if (last_use_[from] == index && reads == 1) return Operand(std::move(value));
    return Operand(value);
  }

  const Run& run_;
  std::vector<int> last_use_;
  std::vector<Value> held_;
};

}  // namespace

Target best_target() {
  static const Target target = [] {
    if (!options::kCpuJit.get()) return Target::kNone;
    // As Highway chooses the tiles.
    const int64_t supported = allowed_targets();
    if ((supported & HWY_AVX3) != 0) return Target::kAvx512;
    return (supported & HWY_AVX2) != 0 ? Target::kAvx2 : Target::kNone;
  }();
  return target;
}

bool can_generate(const FusedStep& step, std::span<const DType> operands, Target target) {
  if (target == Target::kNone) return false;
  // All code computes in float32 at least; a few tiles round 16-bit floats on the way.
  if (size_bytes(step.compute) == 2 && find_tile(step.function, step.compute) != nullptr) {
    return false;
  }
  // Nor what a tile computes in another way: results do not depend on how they are run.
  const bool is_half = size_bytes(step.compute) == 2;
  if (is_half && !is_rounded_float(step.function)) return false;
  const auto can_hold = [&](DType dtype) {
    return dtype == DType::kFloat64 ? target == Target::kAvx512
                                    : dtype == DType::kBool || is_floating_point(dtype);
  };
  return std::all_of(operands.begin(), operands.end(), can_hold) && can_hold(step.compute) &&
         can_hold(step.result) && generated(target).of(step) != Generated::kNone;
}

bool is_long(const FusedStep& step) {
  return generated(Target::kAvx512).of(step) == Generated::kLong;
}

std::unique_ptr<Kernel> compile(const Run& run, Target target) {
  if (target == Target::kNone) return nullptr;
  // Where code is written before it is known how long it gets.
  thread_local const std::unique_ptr<uint8_t[]> draft(new uint8_t[kMaxCodeBytes]);
  Body body(run);
  auto kernel = std::make_unique<Kernel>();
  try {
    Emitter e(draft.get(), kMaxCodeBytes, body.lanes(target), target);
    body(e);
    if (!e.begin(static_cast<int>(run.inputs.size()), static_cast<int>(run.outputs.size()))) {
      return nullptr;
    }
    e.loops([&] { body(e); });
    MT_ASSERT(!e.failed());
    kernel->code_ = CodeMemory(std::span(draft.get(), e.size_bytes()));
    kernel->entry_ = e.entry();
    if (target != Target::kAvx512) kernel->multiple_ = e.lanes();
  } catch (const Xbyak::Error&) {  // longer than the draft
    return nullptr;
  }
  if (kernel->code_.data() == nullptr) return nullptr;
  for (const Run::Input& input : run.inputs) {
    kernel->inputs_.push_back({static_cast<uint8_t>(size_bytes(input.dtype)), input.single});
  }
  for (const uint16_t value : run.outputs) {
    const DType dtype = run.steps[static_cast<size_t>(value - run.first)].result;
    kernel->outputs_.push_back({static_cast<uint8_t>(size_bytes(dtype)), false});
  }
  return kernel;
}

void Kernel::run_rest(const void* const* inputs,
                      void* const* outputs,
                      int64_t start,
                      int64_t n) const {
  using Vector = std::array<char, 64>;
  SmallVector<Vector, 24> copies(inputs_.size() + outputs_.size());
  SmallVector<const void*, 16> from;
  SmallVector<void*, 8> to;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const Line& line = inputs_[i];
    char* const copy = copies[i].data();
    std::memset(copy, 0, sizeof(Vector));
    const auto* at = static_cast<const char*>(inputs[i]);
    if (!line.single) at += start * line.size_bytes;
    std::memcpy(copy, at, static_cast<size_t>(line.single ? 1 : n) * line.size_bytes);
    from.push_back(copy);
  }
  for (size_t i = 0; i < outputs_.size(); ++i) to.push_back(copies[inputs_.size() + i].data());
  function()(from.data(), to.data(), multiple_);
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const int64_t size = outputs_[i].size_bytes;
    std::memcpy(static_cast<char*>(outputs[i]) + start * size, to[i],
                static_cast<size_t>(n * size));
  }
}

}  // namespace mindtorch::cpu::jit
