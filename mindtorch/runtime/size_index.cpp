#include "mindtorch/runtime/size_index.h"

#include <bit>

namespace mindtorch::runtime {

// Inner nodes hold children, leaves hold list heads. A slot counts only if its bit is set, so
// nodes are recycled without clearing them.
struct SizeIndexNode {
  uint64_t bits = 0;
  SizeIndexNode* parent = nullptr;
  unsigned slot = 0;  // in the parent
  union {
    SizeIndexNode* child[64];
    Block* head[64];
  };

  SizeIndexNode() {}
};

namespace {

constexpr unsigned kBits = 6;

// Sizes are multiples of kUnit and not 0; keys start at 0, so that 2 MiB is the last of two levels.
uint64_t key_of(size_t size) { return size / SizeIndex::kUnit - 1; }
unsigned slot_at(uint64_t key, unsigned level) {
  return static_cast<unsigned>(key >> (kBits * level)) & 63;
}
unsigned first(uint64_t bits) { return static_cast<unsigned>(std::countr_zero(bits)); }
unsigned last(uint64_t bits) { return 63u - static_cast<unsigned>(std::countl_zero(bits)); }

void destroy_below(SizeIndexNode* node, unsigned level) {
  if (level > 0) {
    for (uint64_t bits = node->bits; bits != 0; bits &= bits - 1) {
      destroy_below(node->child[first(bits)], level - 1);
    }
  }
  delete node;
}

}  // namespace

SizeIndex::SizeIndex() : root_(new SizeIndexNode) {}

SizeIndex::~SizeIndex() {
  destroy_below(root_, height_ - 1);
  while (spare_ != nullptr) {
    SizeIndexNode* node = spare_;
    spare_ = node->parent;
    delete node;
  }
}

SizeIndexNode* SizeIndex::new_node(SizeIndexNode* parent, unsigned slot) {
  SizeIndexNode* node = spare_;
  if (node != nullptr) {
    spare_ = node->parent;
  } else {
    node = new SizeIndexNode;
  }
  node->parent = parent;
  node->slot = slot;
  return node;
}

// Puts a level above the root; what is there now becomes the part for the smallest keys.
void SizeIndex::grow() {
  SizeIndexNode* top = new_node(nullptr, 0);
  if (root_->bits != 0) {
    top->bits = 1;
    top->child[0] = root_;
    root_->parent = top;
    root_->slot = 0;
  } else {
    root_->parent = spare_;
    spare_ = root_;
  }
  root_ = top;
  ++height_;
}

void SizeIndex::insert(Block* block) {
  const uint64_t key = key_of(block->size);
  while (key >> (kBits * height_) != 0) grow();
  SizeIndexNode* node = root_;
  for (unsigned level = height_ - 1; level > 0; --level) {
    const unsigned slot = slot_at(key, level);
    const uint64_t bit = uint64_t{1} << slot;
    if ((node->bits & bit) == 0) {
      node->child[slot] = new_node(node, slot);
      node->bits |= bit;
    }
    node = node->child[slot];
  }
  const unsigned slot = slot_at(key, 0);
  const uint64_t bit = uint64_t{1} << slot;
  Block* old = (node->bits & bit) != 0 ? node->head[slot] : nullptr;
  block->leaf = node;
  block->list_previous = nullptr;
  block->list_next = old;
  if (old != nullptr) old->list_previous = block;
  node->head[slot] = block;
  node->bits |= bit;
}

void SizeIndex::remove(Block* block) noexcept {
  if (block->leaf == nullptr) return;  // too small to be kept here
  if (block->list_next != nullptr) block->list_next->list_previous = block->list_previous;
  if (block->list_previous != nullptr) {
    block->list_previous->list_next = block->list_next;
    return;
  }
  SizeIndexNode* node = block->leaf;
  unsigned slot = slot_at(key_of(block->size), 0);
  if (block->list_next != nullptr) {
    node->head[slot] = block->list_next;
    return;
  }
  // The list is empty: so may be the nodes above it.
  for (;;) {
    node->bits &= ~(uint64_t{1} << slot);
    if (node->bits != 0 || node == root_) return;
    SizeIndexNode* parent = node->parent;
    slot = node->slot;
    node->parent = spare_;
    spare_ = node;
    node = parent;
  }
}

Block* SizeIndex::find(size_t size) const noexcept {
  const uint64_t key = key_of(size);
  if (key >> (kBits * height_) != 0) return nullptr;
  // Down along the key; the deepest node with something to the right of the path is where to turn
  // off when the path ends.
  const SizeIndexNode* node = root_;
  const SizeIndexNode* turn = nullptr;
  uint64_t turn_bits = 0;
  unsigned turn_level = 0;
  for (unsigned level = height_ - 1;; --level) {
    const unsigned slot = slot_at(key, level);
    const uint64_t bits = node->bits >> slot << slot;
    if (level == 0) {
      if (bits != 0) return node->head[first(bits)];
      break;
    }
    const uint64_t right = bits & ~(uint64_t{1} << slot);
    if (right != 0) {
      turn = node;
      turn_bits = right;
      turn_level = level;
    }
    if (bits == right) break;
    node = node->child[slot];
  }
  if (turn == nullptr) return nullptr;
  node = turn->child[first(turn_bits)];
  for (unsigned level = turn_level - 1; level > 0; --level) node = node->child[first(node->bits)];
  return node->head[first(node->bits)];
}

Block* SizeIndex::largest() const noexcept {
  if (root_->bits == 0) return nullptr;
  const SizeIndexNode* node = root_;
  for (unsigned level = height_ - 1; level > 0; --level) node = node->child[last(node->bits)];
  return node->head[last(node->bits)];
}

}  // namespace mindtorch::runtime
