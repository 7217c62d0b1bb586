#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mindtorch/base/macros.h"
#include "mindtorch/base/small_vector.h"

namespace mindtorch {

// Sizes or strides, in elements.
using Shape = SmallVector<int64_t, 5>;

// A borrowed list of integers: how functions take sizes, strides and dims. Accepts `{2, 3}`.
class IntList : public std::span<const int64_t> {
 public:
  using std::span<const int64_t>::span;
  constexpr IntList() = default;
  constexpr IntList(std::span<const int64_t> list) : std::span<const int64_t>(list) {}   // NOLINT
  IntList(const Shape& shape) : std::span<const int64_t>(shape.data(), shape.size()) {}  // NOLINT
  IntList(const std::vector<int64_t>& list)                                              // NOLINT
      : std::span<const int64_t>(list.data(), list.size()) {}
  // The list lives until the end of the full expression, which is all a parameter needs.
  IntList(std::initializer_list<int64_t> list)  // NOLINT
      : std::span<const int64_t>(std::data(list), list.size()) {}
};

enum class MemoryFormat : uint8_t { kContiguous, kPreserve, kChannelsLast, kChannelsLast3d };

inline bool equal(IntList a, IntList b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

// "[2, 3]", as torch writes shapes in messages.
MT_API std::string to_string(IntList list);

// Product of the sizes. Throws RuntimeError when it does not fit and for negative sizes.
MT_API int64_t numel(IntList sizes);
// The same, but nothing when it does not fit.
MT_API std::optional<int64_t> try_numel(IntList sizes);
MT_API Shape contiguous_strides(IntList sizes);
// Strides of a dense tensor in the given format; kPreserve is not a layout and is refused.
MT_API Shape strides_for(IntList sizes, MemoryFormat format);
MT_API bool is_contiguous(IntList sizes, IntList strides);
MT_API bool is_channels_last(IntList sizes, IntList strides);  // 4-d or 5-d
// Each element has an address of its own and there are no gaps, in some order of dimensions.
MT_API bool is_dense(IntList sizes, IntList strides);
// Strides for a new tensor that keeps the order of dimensions of an existing one.
MT_API Shape strides_like(IntList sizes, IntList strides);
// Two different indices may reach the same element (an expanded or self-overlapping layout).
MT_API bool may_overlap_itself(IntList sizes, IntList strides);
// One past the largest reachable element offset, 0 for an empty tensor.
MT_API int64_t extent(IntList sizes, IntList strides);

// Turns a negative dimension into its positive equal; a 0-dim tensor accepts 0 and -1.
MT_API int64_t wrap_dim(int64_t dim, int64_t ndim);
// The same of a dimension that there must be: a 0-dim tensor has none.
MT_API int64_t existing_dim(int64_t dim, int64_t ndim);
// The dims as a bit set; throws on repeats. An absent or empty list means all dims.
MT_API uint64_t dim_mask(std::optional<IntList> dims, int64_t ndim);
MT_API Shape broadcast_shapes(IntList a, IntList b);
// Whether a tensor of `sizes` can be shown as `target`.
MT_API bool broadcasts_to(IntList sizes, IntList target);
// Strides that show a tensor as `target`, 0 where it repeats. The sizes must broadcast.
MT_API Shape broadcast_strides(IntList sizes, IntList strides, IntList target);

// Replaces one -1 by the size that makes the product fit.
MT_API Shape infer_sizes(IntList sizes, int64_t numel);
// Strides of a view with other sizes over the same memory; nothing where only a copy can do it.
MT_API std::optional<Shape> view_strides(IntList sizes, IntList strides, IntList target);

}  // namespace mindtorch
