#pragma once

#include "mindtorch/tensor/tensor.h"

namespace mindtorch::cpu {

// A walk over several tensors of one broadcast shape. Dims are ordered so that the first tensor's
// smallest stride is innermost, and merged wherever all tensors allow it.
template <int kMaxOperands>
struct StridedLoop {
  int operands = 0;
  Shape sizes;                        // innermost first
  Shape strides_bytes[kMaxOperands];  // innermost first
  char* data[kMaxOperands] = {};

  // `sizes` is the full shape; operands are added with strides broadcast to it.
  void add(const Tensor& tensor, IntList target) {
    const int64_t element = tensor.element_size();
    Shape strides = broadcast_strides(tensor.sizes(), tensor.strides(), target);
    for (int64_t& stride : strides) stride *= element;
    data[operands] = static_cast<char*>(tensor.data_ptr());
    strides_bytes[operands++] = std::move(strides);
  }

  void prepare(IntList target) {
    Shape order;
    for (size_t i = target.size(); i-- > 0;) {
      if (target[i] != 1) order.push_back(static_cast<int64_t>(i));
    }
    const auto key = [&](int64_t dim) { return strides_bytes[0][static_cast<size_t>(dim)]; };
    std::stable_sort(order.begin(), order.end(),
                     [&](int64_t a, int64_t b) { return key(a) < key(b); });
    Shape merged_sizes;
    Shape merged[kMaxOperands];
    for (const int64_t dim : order) {
      const auto d = static_cast<size_t>(dim);
      bool merges = !merged_sizes.empty();
      for (int i = 0; i < operands && merges; ++i) {
        merges = strides_bytes[i][d] == merged[i].back() * merged_sizes.back();
      }
      if (merges) {
        merged_sizes.back() *= target[d];
        continue;
      }
      merged_sizes.push_back(target[d]);
      for (int i = 0; i < operands; ++i) merged[i].push_back(strides_bytes[i][d]);
    }
    if (merged_sizes.empty()) {
      merged_sizes.push_back(1);
      for (int i = 0; i < operands; ++i) merged[i].push_back(0);
    }
    sizes = std::move(merged_sizes);
    for (int i = 0; i < operands; ++i) strides_bytes[i] = std::move(merged[i]);
  }

  int64_t inner_size() const { return sizes[0]; }
  int64_t outer_size() const {
    int64_t count = 1;
    for (size_t i = 1; i < sizes.size(); ++i) count *= sizes[i];
    return count;
  }

  // Calls body(pointers, count) for runs of lines that lie along the second innermost dim.
  template <typename Body>
  void for_line_runs(int64_t begin, int64_t end, const Body& body) const {
    for (int64_t line = begin; line < end;) {
      char* at[kMaxOperands];
      for (int i = 0; i < operands; ++i) at[i] = data[i];
      int64_t rest = line;
      int64_t count = 1;
      for (size_t d = 1; d < sizes.size(); ++d) {
        const int64_t index = rest % sizes[d];
        rest /= sizes[d];
        if (d == 1) count = std::min(end - line, sizes[1] - index);
        for (int i = 0; i < operands; ++i) at[i] += index * strides_bytes[i][d];
      }
      body(at, count);
      line += count;
    }
  }

  // Calls body(pointers) for inner lines [begin, end), with each operand's address of the line.
  template <typename Body>
  void for_lines(int64_t begin, int64_t end, const Body& body) const {
    Shape index(sizes.size(), 0);
    char* at[kMaxOperands];
    for (int i = 0; i < operands; ++i) at[i] = data[i];
    int64_t rest = begin;
    for (size_t d = 1; d < sizes.size(); ++d) {
      index[d] = rest % sizes[d];
      rest /= sizes[d];
      for (int i = 0; i < operands; ++i) at[i] += index[d] * strides_bytes[i][d];
    }
    for (int64_t line = begin; line < end; ++line) {
      body(at);
      for (size_t d = 1; d < sizes.size(); ++d) {
        for (int i = 0; i < operands; ++i) at[i] += strides_bytes[i][d];
        if (++index[d] < sizes[d]) break;
        for (int i = 0; i < operands; ++i) at[i] -= strides_bytes[i][d] * sizes[d];
        index[d] = 0;
      }
    }
  }
};

}  // namespace mindtorch::cpu
