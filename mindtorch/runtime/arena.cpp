#include "mindtorch/runtime/arena.h"

#include <algorithm>

#include "mindtorch/base/error.h"
#include "mindtorch/runtime/private_pool.h"

namespace mindtorch::runtime {
namespace {

bool holds(const Segment& segment, PoolKind pool, const char* address) {
  return !segment.expandable && segment.pool == pool && address >= segment.data &&
         address < segment.data + segment.size;
}

bool may_serve(const Block& block, size_t size, const SplitRules& rules) {
  if (size < rules.max_split_size) return block.size < rules.max_split_size;
  return block.size < size + rules.max_non_split_rounding;
}

}  // namespace

Arena::~Arena() {
  while (segments_ != nullptr) {
    Segment* segment = segments_;
    segments_ = segment->next;
    destroy(segment);
  }
  while (spare_blocks_ != nullptr) {
    Block* block = spare_blocks_;
    spare_blocks_ = block->next;
    delete block;
  }
}

void Arena::reassign(driver::StreamHandle stream, PrivatePool* owner) noexcept {
  MT_ASSERT(segments_ == nullptr);
  stream_ = stream;
  owner_ = owner;
}

Block* Arena::take(PoolKind pool, size_t size, size_t requested) noexcept {
  ++searches_;
  if (Block* block = last_freed_; block != nullptr) {
    last_freed_ = nullptr;
    if (block->fits == size && block->segment->pool == pool) return hand_out(block, requested);
    merge_and_insert(block);
  }
  Block* block = index(pool).find(size);
  if (block == nullptr || !(block->segment->expandable || may_serve(*block, size, rules_))) {
    return nullptr;
  }
  remove_free(block);
  return claim(block, size, requested);
}

Block* Arena::take_at(PoolKind pool, size_t size, size_t requested, const char* address) noexcept {
  ++searches_;
  coalesce();
  Block* const block = block_at(pool, address);
  if (block == nullptr) return nullptr;
  found_last_ = block;
  if (block->state != BlockState::kFree || address + size > block->data + block->size ||
      !may_serve(*block, size, rules_)) {
    return nullptr;
  }
  remove_free(block);
  found_last_ = cut_front(block, static_cast<size_t>(address - block->data));
  return claim(found_last_, size, requested);
}

// The block that the address is in; null: it is in no such segment. What is asked for in a row lies
// close together.
Block* Arena::block_at(PoolKind pool, const char* address) const noexcept {
  Block* block = found_last_;
  if (block == nullptr || !holds(*block->segment, pool, address)) {
    Segment* segment = segments_;
    while (segment != nullptr && !holds(*segment, pool, address)) segment = segment->next;
    if (segment == nullptr) return nullptr;
    block = segment->first;
  }
  while (block->data + block->size <= address) block = block->next;
  while (block->data > address) block = block->previous;
  return block;
}

// Makes the first `size` bytes of a free block, which is in no index, a free block of their own.
// What is left is in no index either.
Block* Arena::cut_front(Block* block, size_t size) noexcept {
  if (size == 0) return block;
  const bool was_split = block->is_split();
  const auto bytes = static_cast<int64_t>(block->size);
  Block* const rest = split(block, size);
  above_peak_ |= stats_.add_split(block->segment->pool, was_split ? 1 : 2, was_split ? 0 : bytes);
  insert_free(block);
  return rest;
}

Block* Arena::claim(Block* block, size_t size, size_t requested) noexcept {
  const Segment& segment = *block->segment;
  const size_t rest_size = block->size - size;
  bool cut;
  if (const PrivatePool* pool = owner(); pool != nullptr && pool->no_split) {
    cut = false;
  } else if (segment.pool == PoolKind::kSmall || segment.expandable) {
    cut = rest_size >= kMinBlock;
  } else {
    cut = size < rules_.max_split_size && rest_size > kSmallLimit;
  }

  const bool was_split = block->is_split();
  int64_t split_count = 0;
  int64_t split_bytes = 0;
  if (cut) {
    insert_free(split(block, size));
    split_count = was_split ? 0 : 1;
    split_bytes = was_split ? -static_cast<int64_t>(size) : static_cast<int64_t>(rest_size);
  } else if (was_split) {
    split_count = -1;
    split_bytes = -static_cast<int64_t>(block->size);
  }
  if (!segment.expandable) above_peak_ |= stats_.add_split(segment.pool, split_count, split_bytes);
  block->fits = size;
  block->oversize = block->size >= rules_.max_split_size;
  return hand_out(block, requested);
}

Block* Arena::hand_out(Block* block, size_t requested) noexcept {
  block->state = BlockState::kAllocated;
  block->requested = requested;
  above_peak_ |= stats_.add_active(block->segment->pool, static_cast<int64_t>(block->size),
                                   static_cast<int64_t>(requested), block->oversize);
  return block;
}

void Arena::record_stream(Block* block, driver::StreamHandle stream) {
  if (std::ranges::find(block->streams, stream) == block->streams.end()) {
    block->streams.push_back(stream);
  }
}

bool Arena::give_back(Block* block) noexcept {
  MT_ASSERT(block->state == BlockState::kAllocated);
  stats_.remove_allocated(block->segment->pool, static_cast<int64_t>(block->size), block->oversize);
  if (MT_UNLIKELY(!block->streams.empty())) {
    block->state = BlockState::kPending;
    return true;
  }
  stats_.remove_active(block->segment->pool, static_cast<int64_t>(block->size),
                       static_cast<int64_t>(block->requested));
  coalesce();  // before the state changes: this block is not to be merged yet
  block->state = BlockState::kFree;
  if (MT_UNLIKELY(block->context != nullptr)) block->context.reset();
  last_freed_ = block;
  return false;
}

void Arena::finish_pending(Block* block) noexcept {
  MT_ASSERT(block->state == BlockState::kPending && block->event_count == 0);
  block->streams.clear();
  if (block->context != nullptr) block->context.reset();
  stats_.remove_active(block->segment->pool, static_cast<int64_t>(block->size),
                       static_cast<int64_t>(block->requested));
  coalesce();
  block->state = BlockState::kFree;
  merge_and_insert(block);
}

void Arena::merge_and_insert(Block* block) noexcept {
  const Segment& segment = *block->segment;
  int64_t split_count = 0;
  int64_t split_bytes = 0;
  if (Block* before = block->previous; before != nullptr && before->state == BlockState::kFree) {
    split_count -= 1;
    split_bytes -= static_cast<int64_t>(before->size);
    remove_free(before);
    absorb(before, block);
    block = before;
  }
  if (Block* after = block->next; after != nullptr && after->state == BlockState::kFree) {
    split_count -= 1;
    split_bytes -= static_cast<int64_t>(after->size);
    remove_free(after);
    absorb(block, after);
  }
  if (block->is_split()) {
    split_count += 1;
    split_bytes += static_cast<int64_t>(block->size);
  }
  if (!segment.expandable) above_peak_ |= stats_.add_split(segment.pool, split_count, split_bytes);
  insert_free(block);
}

// `block` takes over its next neighbour's bytes.
void Arena::absorb(Block* block, Block* neighbour) noexcept {
  block->size += neighbour->size;
  block->next = neighbour->next;
  (block->next != nullptr ? block->next->previous : block->segment->last) = block;
  if (found_last_ == neighbour) found_last_ = block;
  recycle(neighbour);
}

Block* Arena::merge_with_neighbours(Block* block) noexcept {
  if (Block* before = block->previous; before != nullptr && before->state == block->state) {
    if (before->state == BlockState::kFree) remove_free(before);
    absorb(before, block);
    block = before;
  }
  if (Block* after = block->next; after != nullptr && after->state == block->state) {
    if (after->state == BlockState::kFree) remove_free(after);
    absorb(block, after);
  }
  return block;
}

Block* Arena::join(Block* before, Block* block) noexcept {
  if (before != nullptr) {
    absorb(before, block);
    block = before;
  }
  return merge_with_neighbours(block);
}

Block* Arena::split(Block* block, size_t size) {
  Block* rest = new_block();
  rest->data = block->data + size;
  rest->size = block->size - size;
  rest->requested = 0;
  rest->segment = block->segment;
  rest->state = block->state;
  rest->previous = block;
  rest->next = block->next;
  (rest->next != nullptr ? rest->next->previous : rest->segment->last) = rest;
  block->next = rest;
  block->size = size;
  return rest;
}

void Arena::raise_peak() noexcept {
  for (int lane = 0; lane < kLaneCount; ++lane) {
    const int64_t values[] = {stats_.current[0][lane], stats_.current[1][lane],
                              stats_.current[0][lane] + stats_.current[1][lane]};
    for (int pool = 0; pool <= kAllPools; ++pool) {
      if (values[pool] > stats_.high[pool][lane]) stats_.high[pool].set(lane, values[pool]);
    }
  }
  above_peak_ = false;
}

void Arena::insert_free(Block* block) {
  Segment* segment = block->segment;
  block->freed_at = searches_;
  if (!block->is_split() && !segment->expandable) {
    FreeSegments& list = free_segments_[static_cast<int>(segment->pool)];
    segment->free_previous = list.newest;
    segment->free_next = nullptr;
    (list.newest != nullptr ? list.newest->free_next : list.oldest) = segment;
    list.newest = segment;
  }
  if (MT_UNLIKELY(block->size < kMinBlock)) {  // adopted memory may have smaller blocks
    block->leaf = nullptr;
    return;
  }
  index_[static_cast<int>(segment->pool)].insert(block);
}

void Arena::remove_free(Block* block) noexcept {
  Segment* segment = block->segment;
  if (!block->is_split() && !segment->expandable) {
    FreeSegments& list = free_segments_[static_cast<int>(segment->pool)];
    Segment* const before = segment->free_previous;
    Segment* const after = segment->free_next;
    (before != nullptr ? before->free_next : list.oldest) = after;
    (after != nullptr ? after->free_previous : list.newest) = before;
  }
  index_[static_cast<int>(segment->pool)].remove(block);
}

Segment* Arena::add_segment(char* data, size_t size, PoolKind pool, size_t page) {
  auto segment = std::make_unique<Segment>();
  Block* block = new_block();
  segment->arena = this;
  segment->data = block->data = data;
  segment->size = block->size = size;
  segment->first = segment->last = block;
  segment->pool = pool;
  segment->expandable = page != 0;
  segment->page = page;
  segment->oversize = page == 0 && size >= rules_.max_split_size;
  block->segment = segment.get();
  block->requested = 0;
  block->previous = block->next = nullptr;
  block->state = segment->expandable ? BlockState::kUnmapped : BlockState::kFree;
  link(segment.get());
  return segment.release();
}

void Arena::link(Segment* segment) noexcept {
  segment->previous = nullptr;
  segment->next = segments_;
  if (segments_ != nullptr) segments_->previous = segment;
  segments_ = segment;
}

void Arena::detach(Segment* segment) noexcept {
  if (segment->first->state == BlockState::kFree) remove_free(segment->first);
  if (found_last_ != nullptr && found_last_->segment == segment) found_last_ = nullptr;
  if (segment->previous != nullptr) {
    segment->previous->next = segment->next;
  } else {
    segments_ = segment->next;
  }
  if (segment->next != nullptr) segment->next->previous = segment->previous;
}

void Arena::attach(Segment* segment) {
  link(segment);
  insert_free(segment->first);
}

void Arena::destroy(Segment* segment) noexcept {
  for (Block* block = segment->first; block != nullptr;) {
    Block* next = block->next;
    delete block;
    block = next;
  }
  delete segment;
}

Block* Arena::new_block() {
  Block* block = spare_blocks_;
  if (block == nullptr) return new Block;
  spare_blocks_ = block->next;
  return block;
}

void Arena::recycle(Block* block) noexcept {
  block->next = spare_blocks_;
  spare_blocks_ = block;
}

}  // namespace mindtorch::runtime
