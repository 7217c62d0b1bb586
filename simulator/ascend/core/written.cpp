#include "simulator/ascend/core/written.h"

#include <algorithm>
#include <cstddef>
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

// The runs of the access inside the block, as places in it.
template <class F>
static void for_each_place(const Access& access, const Block& block, F visit) {
  for_each_run(access, [&](char* begin, char* end) {
    begin = std::max(begin, block.data);
    end = std::min(end, block.data + block.bytes);
    if (begin < end) {
      visit(static_cast<size_t>(begin - block.data), static_cast<size_t>(end - block.data));
    }
  });
}

size_t count_unwritten(const Access& access, Block& block) {
  if (block.all_written || block.freed) return 0;
  size_t clear = 0;
  const uint8_t* bits = bits_of(block);
  for_each_place(access, block,
                 [&](size_t begin, size_t end) { clear += count_clear(bits, begin, end); });
  return clear;
}

static void mark(const Access& access, Block& block) {
  if (block.all_written || block.freed) return;
  const Range range = range_of(access);
  if (is_dense(access) && range.begin <= block.data && range.end >= block.data + block.bytes) {
    block.all_written = true;
    block.written.reset();
    return;
  }
  uint8_t* bits = bits_of(block);
  for_each_place(access, block, [&](size_t begin, size_t end) { set(bits, begin, end); });
}

// The marks of `bytes` bytes, from a place in one block to a place in another.
static void move_marks(Block& to, size_t to_at, Block& from, size_t from_at, size_t bytes) {
  if (to.freed || to.place != Place::kDevice) return;
  const bool known = !from.all_written && !from.freed;
  if (!known || !count_clear(bits_of(from), from_at, from_at + bytes)) {
    if (!to.all_written) set(bits_of(to), to_at, to_at + bytes);
    return;
  }
  if (to.all_written) {
    to.all_written = false;
    set(bits_of(to), 0, to.bytes);
  }
  const uint8_t* source = bits_of(from);
  uint8_t* bits = bits_of(to);
  for (size_t i = 0; i < bytes; ++i) {
    const size_t at = to_at + i;
    const auto bit = static_cast<uint8_t>(1 << at % 8);
    bits[at / 8] =
        static_cast<uint8_t>(test(source, from_at + i) ? bits[at / 8] | bit : bits[at / 8] & ~bit);
  }
}

// Moves the marks of what two blocks hold of a copy.
static void move_marks(const Access& to, Block& target, const Access& from, Block& source) {
  const ptrdiff_t to_at = target.data - to.data;  // where the block lies in the copy
  const ptrdiff_t from_at = source.data - from.data;
  const ptrdiff_t begin = std::max({to_at, from_at, ptrdiff_t{0}});
  const ptrdiff_t end =
      std::min({to_at + static_cast<ptrdiff_t>(target.bytes),
                from_at + static_cast<ptrdiff_t>(source.bytes), static_cast<ptrdiff_t>(to.bytes)});
  if (begin >= end) return;
  move_marks(target, static_cast<size_t>(begin - to_at), source,
             static_cast<size_t>(begin - from_at), static_cast<size_t>(end - begin));
}

// True: the marks were copied, because the source has unwritten bytes.
static bool move_marks(const Task& task, const std::vector<Touch>& touches) {
  if (!task.moves || task.accesses.size() != 2) return false;
  const Access& to = task.accesses[0];
  const Access& from = task.accesses[1];
  if (!to.write || from.write || !to.shape.empty() || !from.shape.empty()) return false;
  bool any_target = false;
  bool any_unwritten = false;
  for (const Touch& touch : touches) {
    if (touch.access == 0) any_target = true;
    if (touch.access == 1 && count_unwritten(from, *touch.block)) any_unwritten = true;
  }
  if (!any_target || !any_unwritten) return false;
  for (const Touch& target : touches) {
    for (const Touch& source : touches) {
      if (target.access == 0 && source.access == 1) {
        move_marks(to, *target.block, from, *source.block);
      }
    }
  }
  return true;
}

void mark_written(const Task& task, const std::vector<Touch>& touches) {
  if (move_marks(task, touches)) return;
  for (const auto& [index, block] : touches) {
    if (task.accesses[index].write) mark(task.accesses[index], *block);
  }
}

}  // namespace sim
