#pragma once

#include <algorithm>
#include <vector>

#include "mindtorch/backends/cpu/parallel.h"
#include "mindtorch/tensor/tensor.h"

namespace mindtorch::cpu {

// The elements of a list of tensors, one tensor after the other, divided among threads.
class ListRanges {
 public:
  static constexpr int64_t kGrain = 8 * 1024;  // elements a thread should get at least

  explicit ListRanges(TensorList list) {
    starts_.reserve(list.size() + 1);
    starts_.push_back(0);
    for (const Tensor& tensor : list) starts_.push_back(starts_.back() + tensor.numel());
  }

  // body(index, begin, end): elements of the tensor of that index. Empty tensors have none.
  template <typename Body>
  void parallel_for_each(const Body& body) const {
    parallel_for(0, starts_.back(), kGrain, [&](int64_t begin, int64_t end) {
      auto at = std::ranges::upper_bound(starts_, begin) - starts_.begin() - 1;
      for (; begin < end; ++at) {
        const auto index = static_cast<size_t>(at);
        const int64_t stop = std::min(end, starts_[index + 1]);
        if (begin < stop) body(index, begin - starts_[index], stop - starts_[index]);
        begin = stop;
      }
    });
  }

 private:
  std::vector<int64_t> starts_;  // of each tensor, and the end
};

}  // namespace mindtorch::cpu
