#pragma once

#include <cstdint>
#include <vector>

#include "mindtorch/tensor/storage.h"

namespace mindtorch::dispatch {

// Indices of storages, by address. Open addressing; clearing is one increment.
class StorageTable {
 public:
  // The index, or null.
  const uint32_t* find(const StorageImpl* storage) const {
    for (size_t at = home(storage);; at = (at + 1) & (entries_.size() - 1)) {
      const Entry& entry = entries_[at];
      if (entry.generation != generation_) return nullptr;
      if (entry.storage == storage) return &entry.index;
    }
  }
  // Of a storage that is not there.
  void insert(const StorageImpl* storage, uint32_t index) {
    if (++count_ * 2 > entries_.size()) grow();
    size_t at = home(storage);
    while (entries_[at].generation == generation_) at = (at + 1) & (entries_.size() - 1);
    entries_[at] = {storage, index, generation_};
  }
  void clear() {
    count_ = 0;
    if (++generation_ == 0) {  // wrapped: old entries would look new
      entries_.assign(entries_.size(), {});
      generation_ = 1;
    }
  }

 private:
  struct Entry {
    const StorageImpl* storage = nullptr;
    uint32_t index = 0;
    uint32_t generation = 0;
  };
  size_t home(const StorageImpl* storage) const {
    const uint64_t mixed = (reinterpret_cast<uintptr_t>(storage) >> 4) * 0x9E3779B97F4A7C15u;
    return (mixed >> 32) & (entries_.size() - 1);
  }
  void grow() {
    std::vector<Entry> old(entries_.size() * 2);
    old.swap(entries_);
    const uint32_t generation = generation_;
    for (const Entry& entry : old) {
      if (entry.generation != generation) continue;
      size_t at = home(entry.storage);
      while (entries_[at].generation == generation) at = (at + 1) & (entries_.size() - 1);
      entries_[at] = entry;
    }
  }

  std::vector<Entry> entries_ = std::vector<Entry>(64);
  size_t count_ = 0;
  uint32_t generation_ = 1;
};

}  // namespace mindtorch::dispatch
