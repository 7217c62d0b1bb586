// Runs of pointwise ops as one pass over memory: an interpreter over tiles that stay in the L1
// cache, with the SIMD tiles that single ops use, so that results are the same bit for bit.
#include "mindtorch/backends/cpu/fusion.h"

#include <algorithm>
#include <cstring>

#include "mindtorch/backends/cpu/parallel.h"
#include "mindtorch/backends/cpu/pointwise.h"
#include "mindtorch/backends/cpu/strided_loop.h"
#include "mindtorch/backends/cpu/tile.h"
#include "mindtorch/backends/cpu/tiles/scalar_operand.h"

namespace mindtorch::cpu {
namespace {

using ops::FusedGroup;
using ops::FusedStep;

constexpr int64_t kTile = 1024;  // elements
constexpr int64_t kGrain = 16 * 1024;
constexpr int kMaxTensors = 48;

DType tile_dtype(ops::Pointwise function, DType dtype) {
  const bool half = dtype == DType::kFloat16 || dtype == DType::kBFloat16;
  return half && find_tile(function, dtype) == nullptr ? DType::kFloat32 : dtype;
}

// Where a value is while a tile runs.
struct Place {
  enum Kind : uint8_t { kBuffer, kMemory, kNumber } kind = kBuffer;
  DType dtype{};
  int16_t at = 0;  // buffer, or tensor of the loop
};

// How a step's operand reaches its tile.
struct Operand {
  uint16_t value = 0;
  CastFn cast = nullptr;  // null: as it is
  bool single = false;    // the address of one element
};

struct Step {
  TileFn tile = nullptr;
  const ops::PointwiseParams* params = nullptr;
  Operand operands[3];
  uint8_t count = 0;
  uint16_t value = 0;
  CastFn cast = nullptr;  // to the value's dtype
};

// A group made ready: values have places, steps have tiles.
class Program {
 public:
  explicit Program(const FusedGroup& group) : group_(group) {
    loop_.add(group.stores[0].target, group.sizes);
    for (size_t i = 1; i < group.stores.size(); ++i) loop_.add(group.stores[i].target, group.sizes);
    for (const Tensor& input : group.inputs) loop_.add(input, group.sizes);
    loop_.prepare(group.sizes);
    place_values();
    for (size_t i = 0; i < group.steps.size(); ++i) prepare(group.steps[i], i);
  }

  void run() const {
    const int64_t inner = loop_.inner_size();
    const int64_t blocks = (inner + kTile - 1) / kTile;
    const int64_t grain = std::max<int64_t>(1, kGrain / std::min(inner, kTile));
    parallel_for(0, loop_.outer_size() * blocks, grain, [&](int64_t begin, int64_t end) {
      thread_local std::vector<char> memory;
      memory.resize(
          std::max(memory.size(), static_cast<size_t>(buffers_ + kScratch) * kTile * 8 + 64));
      char* const buffers = memory.data() + (64 - reinterpret_cast<uintptr_t>(memory.data()) % 64);
      spread_numbers(buffers);
      for (int64_t unit = begin; unit < end;) {
        const int64_t line = unit / blocks;
        const int64_t line_end = std::min(end, (line + 1) * blocks);
        loop_.for_lines(line, line + 1, [&](char* const* at) {
          for (int64_t block = unit - line * blocks; block < line_end - line * blocks; ++block) {
            run_tile(at, block * kTile, std::min(kTile, inner - block * kTile), buffers);
          }
        });
        unit = line_end;
      }
    });
  }

 private:
  static constexpr int kScratch = 4;  // buffers for conversions

  size_t stores() const { return group_.stores.size(); }
  int tensor_of_input(size_t input) const { return static_cast<int>(stores() + input); }
  bool is_line(int tensor, DType dtype) const {
    return loop_.strides_bytes[tensor][0] == size_bytes(dtype);
  }

  void place_values() {
    places_.resize(group_.inputs.size() + group_.steps.size());
    last_use_.assign(places_.size(), -1);
    for (size_t i = 0; i < group_.steps.size(); ++i) {
      for (int k = 0; k < group_.steps[i].count; ++k) {
        last_use_[group_.steps[i].operands[k]] = static_cast<int>(i);
      }
    }
    for (size_t i = 0; i < group_.inputs.size(); ++i) {
      const Tensor& input = group_.inputs[i];
      const int tensor = tensor_of_input(i);
      Place& place = places_[i];
      place.dtype = input.dtype();
      if (input.numel() == 1) {
        place.kind = Place::kNumber;
        place.at = static_cast<int16_t>(tensor);
      } else if (is_line(tensor, input.dtype())) {
        place.kind = Place::kMemory;
        place.at = static_cast<int16_t>(tensor);
      } else {  // gathered once per tile
        place.at = take_buffer();
        gathered_.push_back({static_cast<uint16_t>(i), static_cast<int16_t>(tensor)});
      }
    }
    for (size_t i = 0; i < group_.steps.size(); ++i) {
      const size_t value = group_.inputs.size() + i;
      Place& place = places_[value];
      place.dtype = group_.steps[i].result;
      for (size_t k = 0; k < stores(); ++k) {
        if (group_.stores[k].value != value) continue;
        if (place.kind == Place::kBuffer && is_line(static_cast<int>(k), place.dtype)) {
          place.kind = Place::kMemory;  // written in its place, and read from there
          place.at = static_cast<int16_t>(k);
        } else {
          scattered_.push_back({static_cast<uint16_t>(value), static_cast<int16_t>(k)});
        }
      }
      // Operands that are used no more give their buffers back first: a tile may write where it
      // reads. Not one that is scattered at the end.
      for (int k = 0; k < group_.steps[i].count; ++k) {
        give_back(group_.steps[i].operands[k], static_cast<int>(i));
      }
      if (place.kind == Place::kBuffer) place.at = take_buffer();
    }
  }

  int16_t take_buffer() {
    if (!free_.empty()) {
      const int16_t buffer = free_.back();
      free_.pop_back();
      return buffer;
    }
    return static_cast<int16_t>(buffers_++);
  }
  void give_back(uint16_t value, int step) {
    if (value < group_.inputs.size() || last_use_[value] != step) return;
    last_use_[value] = -1;
    if (places_[value].kind != Place::kBuffer) return;
    for (const Moved& moved : scattered_) {
      if (moved.value == value) return;
    }
    free_.push_back(places_[value].at);
  }

  void prepare(const FusedStep& fused, size_t index) {
    Step step;
    const DType compute = tile_dtype(fused.function, fused.compute);
    step.count = fused.count;
    step.params = &fused.params;
    step.value = static_cast<uint16_t>(group_.inputs.size() + index);
    const DType native = ops::gives_bool(fused.function) ? DType::kBool : compute;
    step.cast = native == fused.result ? nullptr : find_cast(native, fused.result);
    step.tile = find_tile(fused.function, compute);
    for (int i = 0; i < fused.count; ++i) {
      const bool condition = fused.function == ops::Pointwise::kWhere && i == 0;
      const DType wanted = condition ? DType::kBool : compute;
      const Place& place = places_[fused.operands[i]];
      step.operands[i].value = fused.operands[i];
      if (place.kind == Place::kNumber) {
        const TileFn tile = fused.count == 2 && find_other(fused, i)
                                ? find_scalar_operand_tile(fused.function, compute, i)
                                : nullptr;
        if (tile != nullptr) {
          step.tile = tile;
          step.operands[i].single = true;
        }
        step.operands[i].value = number(fused.operands[i], wanted);
        continue;
      }
      if (place.dtype != wanted) step.operands[i].cast = find_cast(place.dtype, wanted);
    }
    steps_.push_back(step);
  }
  bool find_other(const FusedStep& fused, int i) const {
    return places_[fused.operands[1 - i]].kind != Place::kNumber;
  }

  // A number in the dtype a step wants: a value of its own, spread over a buffer.
  uint16_t number(uint16_t input, DType dtype) {
    for (const Number& known : numbers_) {
      if (known.input == input && known.dtype == dtype) return known.value;
    }
    const auto value = static_cast<uint16_t>(places_.size());
    Place place;
    place.dtype = dtype;
    place.at = static_cast<int16_t>(buffers_++);
    places_.push_back(place);
    numbers_.push_back({input, value, dtype});
    return value;
  }

  void spread_numbers(char* buffers) const {
    for (const Number& number : numbers_) {
      const Tensor& input = group_.inputs[number.input];
      char* const to = buffers + places_[number.value].at * kTile * 8;
      alignas(8) char element[8];
      find_cast(input.dtype(), number.dtype)(input.data_ptr(), element, 1);
      const auto size = static_cast<size_t>(size_bytes(number.dtype));
      std::memcpy(to, element, size);
      // Doubling: log2(kTile) copies.
      const size_t total = size * static_cast<size_t>(kTile);
      for (size_t done = size; done < total; done *= 2) {
        std::memcpy(to + done, to, std::min(done, total - done));
      }
    }
  }

  void run_tile(char* const* at, int64_t start, int64_t n, char* buffers) const {
    const auto address = [&](uint16_t value) -> char* {
      const Place& place = places_[value];
      if (place.kind == Place::kMemory) return at[place.at] + start * size_bytes(place.dtype);
      return buffers + place.at * kTile * 8;
    };
    const auto scratch = [&](int i) { return buffers + (buffers_ + i) * kTile * 8; };
    for (const Moved& moved : gathered_) {
      const int64_t stride = loop_.strides_bytes[moved.tensor][0];
      const char* from = at[moved.tensor] + start * stride;
      const int64_t size = size_bytes(places_[moved.value].dtype);
      find_gather(size)(from, stride, address(moved.value), n);
    }
    for (const Step& step : steps_) {
      const void* inputs[3];
      for (int i = 0; i < step.count; ++i) {
        const Operand& operand = step.operands[i];
        inputs[i] = address(operand.value);
        if (operand.cast != nullptr) {
          operand.cast(inputs[i], scratch(i), n);
          inputs[i] = scratch(i);
        }
      }
      char* const out = address(step.value);
      if (step.cast == nullptr) {
        step.tile(inputs, out, n, *step.params);
      } else {
        step.tile(inputs, scratch(3), n, *step.params);
        step.cast(scratch(3), out, n);
      }
    }
    for (const Moved& moved : scattered_) {
      const int64_t stride = loop_.strides_bytes[moved.tensor][0];
      const int64_t size = size_bytes(places_[moved.value].dtype);
      find_scatter(size)(address(moved.value), at[moved.tensor] + start * stride, stride, n);
    }
  }

  struct Moved {
    uint16_t value;
    int16_t tensor;
  };
  struct Number {
    uint16_t input;
    uint16_t value;
    DType dtype;
  };

  const FusedGroup& group_;
  StridedLoop<kMaxTensors> loop_;
  SmallVector<Place, 32> places_;
  SmallVector<int, 32> last_use_;
  SmallVector<int16_t, 16> free_;
  SmallVector<Step, 32> steps_;
  SmallVector<Moved, 4> gathered_;
  SmallVector<Moved, 4> scattered_;
  SmallVector<Number, 8> numbers_;
  int buffers_ = 0;
};

}  // namespace

void check_fusable(const ops::PointwiseCall& call) {
  const DType compute = tile_dtype(call.function, call.compute);
  MT_CHECK(find_tile(call.function, compute) != nullptr, NotImplementedError, "\"",
           info(call.function).name, "\" not implemented for '", legacy_name(call.compute), "'");
}

void run_fused(ops::Launch&, const FusedGroup& group) { Program(group).run(); }

}  // namespace mindtorch::cpu
