#include "mindtorch/backends/cpu/fusion_program.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "mindtorch/backends/cpu/ceil_div.h"
#include "mindtorch/backends/cpu/fusion_builder.h"
#include "mindtorch/backends/cpu/parallel.h"

namespace mindtorch::cpu {
namespace {

// Elements of a tile: three or four buffers of float32 stay in the L1 cache, and a call for each
// step still costs little. Narrower dtypes may have as many bytes.
constexpr int64_t kTileElements = 1024;
constexpr int64_t kTileBytes = 4096;
// Where there are rows: what is done once for a row should be done for many, or for long ones.
constexpr int64_t kTileBytesOfRows = 16 * 1024;
// Elements that are worth a thread: for one action over all of them, and for any number.
constexpr int64_t kGrain = 64 * 1024;
constexpr int64_t kMinGrain = 4 * 1024;
constexpr size_t kAlignment = 64;

int64_t tile_elements(const ops::FusedGroup& group, Rows rows) {
  int64_t widest = 1;
  for (const ops::FusedLayout& input : group.inputs) {
    if (!input.is_number) widest = std::max(widest, size_bytes(input.dtype));
  }
  for (const ops::FusedStep& step : group.steps) {
    widest = std::max({widest, size_bytes(step.compute), size_bytes(step.result)});
  }
  if (rows != Rows::kNone) return kTileBytesOfRows / std::max<int64_t>(widest, 4);
  return std::max(kTileElements, kTileBytes / widest);
}

// Memory for a run's slots and buffers: one a thread, for all programs.
struct ThreadMemory {
  char* data = nullptr;
  size_t capacity = 0;
};
constinit thread_local ThreadMemory t_memory __attribute__((tls_model("initial-exec")));

// Frees it at the end of the thread.
struct ThreadMemoryOwner {
  ~ThreadMemoryOwner() { std::free(std::exchange(t_memory, {}).data); }
};

[[gnu::noinline]] void grow_workspace(size_t bytes) {
  thread_local ThreadMemoryOwner owner;
  (void)owner;
  std::free(std::exchange(t_memory, {}).data);
  bytes = ceil_div(bytes, kAlignment) * kAlignment;
  t_memory.data = static_cast<char*>(std::aligned_alloc(kAlignment, bytes));
  if (t_memory.data == nullptr) throw std::bad_alloc();
  t_memory.capacity = bytes;
}

char* workspace(size_t bytes) {
  if (MT_UNLIKELY(bytes > t_memory.capacity)) grow_workspace(bytes);
  return t_memory.data;
}

}  // namespace

TiledProgram::TiledProgram(const ops::FusedGroup& group, Rows rows, bool generate)
    : loop_(group, tile_elements(group, rows), rows), generates_(generate) {
  if (rows == Rows::kDivided) {
    for (const ops::FusedStep& step : group.steps) {
      if (step.row != ops::RowFunction::kNone) loop_.add_partial(partial_bytes(step));
    }
  }
  FusionBuilder(group, rows, *this).build();
  const auto work = static_cast<int64_t>(actions_.size() + group.steps.size() / 8);
  const int64_t grain = std::max(kMinGrain, kGrain / std::max<int64_t>(1, work));
  grain_ = std::max<int64_t>(1, grain / loop_.tile());
}

void TiledProgram::run(ops::Launch&, std::span<void* const> addresses) const {
  const int64_t units = loop_.units();
  if (units <= grain_) {
    if (units > 0) run_units(addresses, 0, units);
    return;
  }
  parallel_for(0, units, grain_,
               [&](int64_t begin, int64_t end) { run_units(addresses, begin, end); });
}

void TiledProgram::run_units(std::span<void* const> addresses, int64_t begin, int64_t end) const {
  const size_t operands = loop_.operands();
  const size_t slot_bytes =
      ceil_div((operands + buffers_) * sizeof(char*), kAlignment) * kAlignment;
  char* const memory = workspace(slot_bytes + buffers_ * static_cast<size_t>(buffer_bytes_));
  auto** const slots = reinterpret_cast<char**>(memory);
  char* buffer = memory + slot_bytes;
  for (size_t i = 0; i < buffers_; ++i, buffer += buffer_bytes_) slots[operands + i] = buffer;
  if (!first_.empty()) {
    for (size_t i = 0; i < operands; ++i) slots[i] = static_cast<char*>(addresses[i]);
    const FusionTile tile = loop_.first_tile();
    for (const FusionAction& action : first_) action.run(action, slots, tile);
  }
  loop_.run(addresses, slots, begin, end, [&](const FusionTile& tile) {
    for (const FusionAction& action : actions_) action.run(action, slots, tile);
  });
}

}  // namespace mindtorch::cpu
