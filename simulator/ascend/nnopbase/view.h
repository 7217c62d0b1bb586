#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "simulator/ascend/nnopbase/dtype.h"

namespace sim {

// CANN counts in int64_t, containers in size_t.
inline size_t z(int64_t value) { return static_cast<size_t>(value); }

using Shape = std::vector<int64_t>;

// Never overflows: more than fit are INT64_MAX.
SIM_API int64_t count(const Shape& shape);

// Of all tensors that an op takes, and of a workspace's bytes: sums and small multiples of such
// numbers cannot overflow.
inline constexpr int64_t kMostElements = int64_t{1} << 40;

// Elements in memory, addressed by strides. Does not own them.
struct SIM_API View {
  char* data = nullptr;
  DType dtype = ACL_DT_UNDEFINED;
  Shape shape;
  Shape strides;  // in elements

  int64_t rank() const { return static_cast<int64_t>(shape.size()); }
  int64_t numel() const { return count(shape); }
  int64_t item() const { return static_cast<int64_t>(item_bytes(dtype)); }
  bool contiguous() const;
  int64_t size(int64_t dim) const { return shape[static_cast<size_t>(dim)]; }
  int64_t stride(int64_t dim) const { return strides[static_cast<size_t>(dim)]; }

  // Bytes from `data` to the element with this number in row-major order.
  int64_t offset_of(int64_t index) const;

  // Views of the same bytes. `expand` broadcasts to `to`, which must fit.
  View expand(const Shape& to) const;
  View permute(const std::vector<int64_t>& dims) const;
  View slice(int64_t dim, int64_t start, int64_t length, int64_t step = 1) const;
  View select(int64_t dim, int64_t index) const;
  View unsqueeze(int64_t dim) const;
  View flip(int64_t dim) const;
  // `dim` last, the others in order.
  View with_last(int64_t dim) const;
  // Another shape over the same contiguous bytes.
  View reshape(const Shape& to) const;
};

SIM_API View contiguous_view(void* data, DType dtype, const Shape& shape);

// Walks the elements of a view in row-major order.
class SIM_API Cursor {
 public:
  explicit Cursor(const View& view, int64_t first = 0);
  char* get() const { return at_; }
  void next() { advance(1); }
  // How many elements follow at one stride (`step` bytes), this one included.
  int64_t run() const { return rank_ == 0 ? 1 : sizes_[rank_ - 1] - index_[rank_ - 1]; }
  int64_t step() const { return rank_ == 0 ? 0 : steps_[rank_ - 1]; }
  // Steps over `n` elements, at most run().
  void advance(int64_t n) {
    if (rank_ == 0) return;
    index_[rank_ - 1] += n;
    at_ += n * steps_[rank_ - 1];
    if (index_[rank_ - 1] == sizes_[rank_ - 1]) carry();
  }

 private:
  void carry();

  // Dimensions of one element are left out, and those that lie as one are one.
  static constexpr size_t kMostDims = 32;
  size_t rank_ = 0;
  char* at_;
  std::array<int64_t, kMostDims> sizes_;
  std::array<int64_t, kMostDims> steps_;  // in bytes
  std::array<int64_t, kMostDims> index_;
};

// Copies between views of one shape and one dtype, which do not overlap.
SIM_API void copy_elements(const View& to, const View& from);

}  // namespace sim
