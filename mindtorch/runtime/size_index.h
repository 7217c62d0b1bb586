#pragma once

#include <cstddef>
#include <cstdint>

#include "mindtorch/runtime/block.h"

namespace mindtorch::runtime {

// The free blocks of one pool, by size. A trie over size / kUnit, 64 ways a level: finding the
// smallest block that fits takes a few bit scans a level however many blocks there are. Blocks of
// one size form a list, last in first out. Not thread-safe; owns its nodes, not the blocks.
class SizeIndex {
 public:
  static constexpr size_t kUnit = 512;

  SizeIndex();
  ~SizeIndex();
  SizeIndex(const SizeIndex&) = delete;
  SizeIndex& operator=(const SizeIndex&) = delete;

  void insert(Block* block);
  void remove(Block* block) noexcept;
  // The smallest block of at least `size` bytes, or null.
  Block* find(size_t size) const noexcept;
  Block* largest() const noexcept;

 private:
  SizeIndexNode* new_node(SizeIndexNode* parent, unsigned slot);
  void grow();

  SizeIndexNode* root_;
  SizeIndexNode* spare_ = nullptr;  // emptied nodes, for reuse
  unsigned height_ = 2;             // 64^2 units: all sizes of the small pool
};

}  // namespace mindtorch::runtime
