#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "mindtorch/tensor/tensor.h"

namespace mindtorch::cpu::recurrent {

// The steps of a layer: Note [Packed rows] of definitions/recurrent.cpp.
class Steps {
 public:
  Steps(int64_t rows, int64_t batch, IntList batch_sizes) : batch_(batch), sizes_(batch_sizes) {
    if (batch_sizes.empty()) {
      count_ = batch == 0 ? 0 : rows / batch;
      return;
    }
    count_ = static_cast<int64_t>(batch_sizes.size());
    int64_t begin = 0;
    for (const int64_t size : batch_sizes) {
      begins_.push_back(begin);
      begin += size;
    }
  }
  int64_t count() const { return count_; }
  int64_t batch() const { return batch_; }
  int64_t size(int64_t t) const { return sizes_.empty() ? batch_ : sizes_[static_cast<size_t>(t)]; }
  int64_t begin(int64_t t) const {
    return sizes_.empty() ? t * batch_ : begins_[static_cast<size_t>(t)];
  }
  // How many of the sequences [first, last) step t has.
  int64_t rows(int64_t t, int64_t first, int64_t last) const {
    return std::max<int64_t>(0, std::min(last, size(t)) - first);
  }
  // The step that was computed before step t; -1 where t is the first.
  int64_t before(int64_t t, bool reverse) const {
    const int64_t other = reverse ? t + 1 : t - 1;
    return other == count_ ? -1 : other;
  }
  // Below four sequences or steps a product is not worth packing its weight.
  bool are_many() const { return batch_ >= 4 && count_ >= 4; }

 private:
  int64_t batch_;
  IntList sizes_;
  int64_t count_;
  std::vector<int64_t> begins_;
};

}  // namespace mindtorch::cpu::recurrent
