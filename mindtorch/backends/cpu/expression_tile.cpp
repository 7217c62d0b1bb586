#include "mindtorch/backends/cpu/expression_tile.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "mindtorch/backends/cpu/tiles/scalar_operand.h"
#include "mindtorch/ops/functions.h"
#include "mindtorch/tensor/scalar.h"

namespace mindtorch::cpu {
namespace {

using ops::ExprNode;
using ops::Pointwise;
using ops::PointwiseParams;

constexpr int64_t kChunk = 512;  // elements: the buffers of an expression fit the L1 cache
constexpr int64_t kBufferBytes = kChunk * 16;

// An expression as tiles over numbered buffers. Immutable once built.
class TileSequence {
 public:
  // The tile of a step, or none.
  bool is_complete() const { return is_complete_; }

  TileSequence(Pointwise function, DType compute) : compute_(compute) {
    const auto nodes = ops::function_info(function).value.nodes();
    std::vector<size_t> last_use(nodes.size());
    for (size_t i = 0; i < nodes.size(); ++i) {
      for (int k = 0; k < nodes[i].count; ++k) last_use[nodes[i].arguments[k]] = i;
    }
    std::vector<Value> values;
    std::vector<uint8_t> spare;
    for (size_t i = 0; i < nodes.size(); ++i) {
      values.push_back(leaf(nodes[i]));
      if (nodes[i].kind != ExprNode::Kind::kCall) continue;
      if (!add_step(nodes[i], values)) return;
      if (i + 1 == nodes.size()) {
        steps_.back().out = kResult;
        break;
      }
      if (spare.empty()) spare.push_back(buffers_++);
      steps_.back().out = values[i].argument.index = spare.back();
      spare.pop_back();
      for (int k = 0; k < nodes[i].count; ++k) {
        const uint8_t used = nodes[i].arguments[k];
        const bool is_buffer = values[used].argument.from == From::kBuffer;
        if (is_buffer && std::exchange(last_use[used], nodes.size()) == i) {
          spare.push_back(values[used].argument.index);
        }
      }
    }
    is_complete_ = !steps_.empty();
  }

  template <typename T>
  void run(const void* const* inputs, void* out, int64_t n, const PointwiseParams& params) const {
    thread_local std::vector<std::byte> memory;
    const size_t bytes = (buffers_ + numbers_.size()) * size_t{kBufferBytes};
    if (memory.size() < bytes) memory.resize(bytes);
    auto* const buffers = reinterpret_cast<char*>(memory.data());
    char* const numbers = buffers + buffers_ * kBufferBytes;
    for (size_t i = 0; i < numbers_.size(); ++i) {
      const Number& number = numbers_[i];
      std::complex<double> constant = number.constant;
      if (number.param >= 0) constant = {params.f[number.param], params.imag[number.param]};
      const Scalar value = is_complex(compute_) ? Scalar(constant) : Scalar(constant.real());
      auto* const line = reinterpret_cast<T*>(numbers + static_cast<int64_t>(i) * kBufferBytes);
      std::fill_n(line, number.is_line ? std::min(n, kChunk) : 1, value.to<T>());
    }
    for (int64_t begin = 0; begin < n; begin += kChunk) {
      const int64_t count = std::min(kChunk, n - begin);
      for (const Step& step : steps_) {
        const void* operands[3] = {};
        for (int k = 0; k < step.count; ++k) {
          const Argument& argument = step.arguments[static_cast<size_t>(k)];
          const int64_t element = argument.is_bool ? 1 : static_cast<int64_t>(sizeof(T));
          operands[k] = argument.from == From::kOperand
                            ? static_cast<const char*>(inputs[argument.index]) + begin * element
                            : (argument.from == From::kBuffer ? buffers : numbers) +
                                  argument.index * kBufferBytes;
        }
        char* const to = step.out == kResult
                             ? static_cast<char*>(out) + begin * static_cast<int64_t>(sizeof(T))
                             : buffers + step.out * kBufferBytes;
        step.tile(operands, to, count, params);
      }
    }
  }

 private:
  enum class From : uint8_t { kOperand, kBuffer, kNumber };
  static constexpr uint8_t kResult = UINT8_MAX;

  struct Argument {
    From from{};
    uint8_t index = 0;
    bool is_bool = false;
  };
  struct Step {
    TileFn tile = nullptr;
    uint8_t out = 0;
    uint8_t count = 0;
    std::array<Argument, 3> arguments{};
  };
  struct Number {
    int param = -1;
    std::complex<double> constant;
    bool is_line = false;  // some tile wants as many as there are elements
  };
  struct Value {
    Argument argument;
    DType dtype{};
  };

  Value leaf(const ExprNode& node) {
    Value value{{From::kBuffer, node.index}, compute_};
    if (node.kind == ExprNode::Kind::kOperand) value.argument.from = From::kOperand;
    if (node.kind == ExprNode::Kind::kParam || node.kind == ExprNode::Kind::kConstant) {
      const bool is_param = node.kind == ExprNode::Kind::kParam;
      value.argument = {From::kNumber, static_cast<uint8_t>(numbers_.size())};
      numbers_.push_back({is_param ? node.index : -1, {node.constant, node.imaginary}});
    }
    return value;
  }

  bool add_step(const ExprNode& node, std::vector<Value>& values) {
    Step step;
    step.count = node.count;
    // Logic takes what its arguments are; all others the dtype of the expression.
    DType dtype = values[node.arguments[node.count - 1]].dtype;
    int number = -1;
    for (int k = 0; k < node.count; ++k) {
      Value& value = values[node.arguments[k]];
      if (node.function == Pointwise::kWhere && k == 0) value.argument.is_bool = true;
      step.arguments[static_cast<size_t>(k)] = value.argument;
      if (value.argument.from == From::kNumber) number = k;
    }
    const bool gives_bool = ops::gives_bool(node.function);
    if (number >= 0 && node.count == 2) {
      step.tile = find_scalar_operand_tile(node.function, dtype, number);
    }
    const bool takes_number = step.tile != nullptr;
    if (!takes_number) step.tile = find_tile(node.function, dtype);
    for (int k = 0; k < node.count; ++k) {
      const Argument& argument = step.arguments[static_cast<size_t>(k)];
      const bool is_line = argument.from == From::kNumber && !(takes_number && k == number);
      if (is_line) numbers_[argument.index].is_line = true;
    }
    if (step.tile == nullptr) return false;
    Value& result = values.back();
    result.dtype = gives_bool ? DType::kBool : dtype;
    result.argument.is_bool = gives_bool;
    steps_.push_back(step);
    return true;
  }

  const DType compute_;
  std::vector<Step> steps_;
  std::vector<Number> numbers_;
  uint8_t buffers_ = 0;
  bool is_complete_ = false;
};

// Functions that were registered, in float32, float64 and complex numbers of both.
constexpr int kRegistered = ops::kMaxFunctions - ops::kPointwiseCount;
constexpr DType kComputed[] = {DType::kFloat32, DType::kFloat64, DType::kComplex64,
                               DType::kComplex128};
std::atomic<const TileSequence*> g_sequences[kRegistered][4];

const TileSequence& sequence(int number, size_t which) {
  std::atomic<const TileSequence*>& slot = g_sequences[number][which];
  if (const TileSequence* known = slot.load(std::memory_order_acquire)) return *known;
  const auto function = static_cast<Pointwise>(ops::kPointwiseCount + number);
  auto made = std::make_unique<TileSequence>(function, kComputed[which]);
  const TileSequence* expected = nullptr;
  if (slot.compare_exchange_strong(expected, made.get(), std::memory_order_acq_rel)) {
    return *made.release();
  }
  return *expected;
}

template <size_t kWhich>
[[gnu::noinline]] void run_number(
    int number, const void* const* inputs, void* out, int64_t n, const PointwiseParams& params) {
  using T = typename CppType<kComputed[kWhich]>::type;
  sequence(number, kWhich).run<T>(inputs, out, n, params);
}

template <int kNumber, size_t kWhich>
void run_registered(const void* const* inputs,
                    void* out,
                    int64_t n,
                    const PointwiseParams& params) {
  run_number<kWhich>(kNumber, inputs, out, n, params);
}

template <int... kNumbers>
constexpr std::array<std::array<TileFn, 4>, kRegistered> make_table(
    std::integer_sequence<int, kNumbers...>) {
  return {{{&run_registered<kNumbers, 0>, &run_registered<kNumbers, 1>,
            &run_registered<kNumbers, 2>, &run_registered<kNumbers, 3>}...}};
}

}  // namespace

TileFn find_expression_tile(Pointwise function, DType compute) {
  // A tile is a plain function: each registered function has one that knows its number.
  static constexpr auto kTiles = make_table(std::make_integer_sequence<int, kRegistered>());
  const int number = static_cast<int>(function) - ops::kPointwiseCount;
  const auto* const found = std::ranges::find(kComputed, compute);
  if (found == std::end(kComputed)) return nullptr;
  const auto which = static_cast<size_t>(found - std::begin(kComputed));
  return sequence(number, which).is_complete() ? kTiles[static_cast<size_t>(number)][which]
                                               : nullptr;
}

}  // namespace mindtorch::cpu
