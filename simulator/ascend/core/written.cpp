#include "simulator/ascend/core/written.h"

#include <cstdlib>
#include <cstring>

#include "simulator/ascend/core/checks.h"
#include "simulator/ascend/core/footprint.h"
#include "simulator/ascend/core/memory.h"

namespace sim {

static bool test(const uint8_t* bits, size_t at) { return bits[at / 8] >> (at % 8) & 1; }

static void set(uint8_t* bits, size_t begin, size_t end) {
  for (; begin < end && begin % 8; ++begin) bits[begin / 8] |= static_cast<uint8_t>(1 << begin % 8);
  for (; end > begin && end % 8; --end) {
    bits[(end - 1) / 8] |= static_cast<uint8_t>(1 << (end - 1) % 8);
  }
  if (begin < end) std::memset(bits + begin / 8, 0xff, (end - begin) / 8);
}

static size_t count_clear(const uint8_t* bits, size_t begin, size_t end) {
  size_t clear = 0;
  while (begin < end) {
    if (begin % 8 == 0 && end - begin >= 8 && bits[begin / 8] == 0xff) {
      begin += 8;
      continue;
    }
    clear += !test(bits, begin++);
  }
  return clear;
}

static uint8_t* bits_of(Block& block) {
  if (!block.written) block.written = std::make_unique<uint8_t[]>(block.bytes / 8 + 1);
  return block.written.get();
}

size_t count_unwritten(const Access& access, Block& block) {
  if (block.all_written || block.freed) return 0;
  size_t clear = 0;
  for_each_run(access, [&](char* begin, char* end) {
    clear += count_clear(bits_of(block), static_cast<size_t>(begin - block.data),
                         static_cast<size_t>(end - block.data));
  });
  return clear;
}

static void mark(const Access& access, Block& block) {
  if (block.all_written || block.freed) return;
  const Range range = range_of(access);
  if (is_dense(access) && range.begin == block.data && range.end == block.data + block.bytes) {
    block.all_written = true;
    block.written.reset();
    return;
  }
  for_each_run(access, [&](char* begin, char* end) {
    set(bits_of(block), static_cast<size_t>(begin - block.data),
        static_cast<size_t>(end - block.data));
  });
}

// True: the marks were copied, because the source has unwritten bytes.
static bool move_marks(const Task& task, const std::vector<std::shared_ptr<Block>>& blocks) {
  if (!task.moves || task.accesses.size() != 2) return false;
  const Access& to = task.accesses[0];
  const Access& from = task.accesses[1];
  if (!to.write || from.write || !to.shape.empty() || !from.shape.empty() || !blocks[0] ||
      !blocks[1] || !count_unwritten(from, *blocks[1])) {
    return false;
  }
  Block& target = *blocks[0];
  if (target.freed || target.place != Place::kDevice) return true;
  if (target.all_written) {
    target.all_written = false;
    set(bits_of(target), 0, target.bytes);
  }
  const uint8_t* source = bits_of(*blocks[1]);
  uint8_t* bits = bits_of(target);
  const auto from_at = static_cast<size_t>(from.data - blocks[1]->data);
  const auto to_at = static_cast<size_t>(to.data - target.data);
  for (size_t i = 0; i < to.bytes; ++i) {
    const size_t at = to_at + i;
    const auto bit = static_cast<uint8_t>(1 << at % 8);
    bits[at / 8] =
        static_cast<uint8_t>(test(source, from_at + i) ? bits[at / 8] | bit : bits[at / 8] & ~bit);
  }
  return true;
}

void mark_written(const Task& task, const std::vector<std::shared_ptr<Block>>& blocks) {
  if (move_marks(task, blocks)) return;
  for (size_t i = 0; i < task.accesses.size(); ++i) {
    if (task.accesses[i].write && blocks[i]) mark(task.accesses[i], *blocks[i]);
  }
}

}  // namespace sim
