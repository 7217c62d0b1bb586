#include "mindtorch/tensor/shape.h"

#include <algorithm>

#include "mindtorch/base/error.h"

namespace mindtorch {

std::string to_string(IntList list) {
  std::string text = "[";
  for (size_t i = 0; i < list.size(); ++i) {
    if (i != 0) text += ", ";
    text += std::to_string(list[i]);
  }
  return text + "]";
}

std::optional<int64_t> try_numel(IntList sizes) {
  int64_t count = 1;
  bool overflow = false;
  for (const int64_t size : sizes) {
    MT_CHECK(size >= 0, RuntimeError, "Trying to create tensor with negative dimension ", size,
             ": ", to_string(sizes));
    overflow |= __builtin_mul_overflow(count, size, &count);
  }
  return overflow ? std::nullopt : std::optional<int64_t>(count);
}

int64_t numel(IntList sizes) {
  const std::optional<int64_t> count = try_numel(sizes);
  MT_CHECK(count, RuntimeError, "numel: integer multiplication overflow");
  return *count;
}

namespace {

// Empty tensors may have sizes whose product overflows, so numel() does not rule it out.
void grow(int64_t& step, int64_t size) {
  MT_CHECK(!__builtin_mul_overflow(step, std::max<int64_t>(size, 1), &step), RuntimeError,
           "Stride calculation overflowed");
}

}  // namespace

Shape contiguous_strides(IntList sizes) {
  Shape strides(sizes.size());
  int64_t step = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = step;
    if (i != 0) grow(step, sizes[i]);
  }
  return strides;
}

namespace {

// Dims from slowest to fastest for channels-last layouts: N, spatial, C.
Shape channels_last_strides(IntList sizes) {
  Shape strides(sizes.size());
  int64_t step = 1;
  const auto place = [&](size_t dim) {
    strides[dim] = step;
    if (dim != 0) grow(step, sizes[dim]);
  };
  place(1);
  for (size_t dim = sizes.size(); dim-- > 2;) place(dim);
  place(0);
  return strides;
}

// Dims ordered from the smallest stride to the largest; dims of size 1 keep out of the way.
Shape by_stride(IntList sizes, IntList strides) {
  Shape order(sizes.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    const auto ua = static_cast<size_t>(a);
    const auto ub = static_cast<size_t>(b);
    if (sizes[ua] < 2 || sizes[ub] < 2) return sizes[ua] >= 2 && sizes[ub] < 2;
    return strides[ua] < strides[ub];
  });
  return order;
}

}  // namespace

Shape strides_for(IntList sizes, MemoryFormat format) {
  switch (format) {
    case MemoryFormat::kContiguous:
      return contiguous_strides(sizes);
    case MemoryFormat::kChannelsLast:
      MT_CHECK(sizes.size() == 4, RuntimeError,
               "required rank 4 tensor to use channels_last format");
      return channels_last_strides(sizes);
    case MemoryFormat::kChannelsLast3d:
      MT_CHECK(sizes.size() == 5, RuntimeError,
               "required rank 5 tensor to use channels_last_3d format");
      return channels_last_strides(sizes);
    case MemoryFormat::kPreserve:
      break;
  }
  MT_THROW(RuntimeError, "unsupported memory format option Preserve");
}

bool is_contiguous(IntList sizes, IntList strides) {
  uint64_t step = 1;  // may wrap for an empty tensor, which is contiguous whatever its strides say
  for (size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] == 0) return true;
    if (sizes[i] == 1) continue;
    if (static_cast<uint64_t>(strides[i]) != step) {
      return std::find(sizes.begin(), sizes.end(), 0) != sizes.end();
    }
    step *= static_cast<uint64_t>(sizes[i]);
  }
  return true;
}

bool is_channels_last(IntList sizes, IntList strides) {
  if (sizes.size() != 4 && sizes.size() != 5) return false;
  uint64_t step = 1;
  const auto fits = [&](size_t dim) {
    if (sizes[dim] != 1 && static_cast<uint64_t>(strides[dim]) != step) return false;
    step *= static_cast<uint64_t>(sizes[dim]);
    return true;
  };
  if (!fits(1)) return false;
  for (size_t dim = sizes.size(); dim-- > 2;) {
    if (!fits(dim)) return false;
  }
  return fits(0);
}

bool is_dense(IntList sizes, IntList strides) {
  if (is_contiguous(sizes, strides)) return true;
  int64_t step = 1;
  for (const int64_t dim : by_stride(sizes, strides)) {
    const auto d = static_cast<size_t>(dim);
    if (sizes[d] < 2) break;
    if (strides[d] != step) return false;
    step *= sizes[d];
  }
  return true;
}

Shape strides_like(IntList sizes, IntList strides) {
  if (is_dense(sizes, strides)) return Shape(strides);
  // Fastest to slowest, as the existing strides order the dims; ambiguous dims keep their place.
  Shape order(sizes.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(order.size() - 1 - i);
  const auto compare = [&](int64_t a, int64_t b) {
    const auto ua = static_cast<size_t>(a);
    const auto ub = static_cast<size_t>(b);
    if (strides[ua] == 0 || strides[ub] == 0) return 0;
    if (strides[ua] != strides[ub]) return strides[ua] < strides[ub] ? -1 : 1;
    return sizes[ua] > sizes[ub] ? 1 : 0;
  };
  for (size_t i = 1; i < order.size(); ++i) {
    size_t moving = i;
    for (size_t below = i; below-- > 0;) {
      const int result = compare(order[below], order[moving]);
      if (result > 0) {
        std::swap(order[below], order[moving]);
        moving = below;
      } else if (result < 0) {
        break;
      }
    }
  }
  Shape result(sizes.size());
  int64_t step = 1;
  for (const int64_t dim : order) {
    const auto d = static_cast<size_t>(dim);
    result[d] = step;
    step *= std::max<int64_t>(sizes[d], 1);
  }
  return result;
}

bool may_overlap_itself(IntList sizes, IntList strides) {
  if (is_contiguous(sizes, strides)) return false;
  int64_t reach = 0;
  for (const int64_t dim : by_stride(sizes, strides)) {
    const auto d = static_cast<size_t>(dim);
    if (sizes[d] < 2) break;
    if (strides[d] <= reach) return true;
    reach += strides[d] * (sizes[d] - 1);
  }
  return false;
}

int64_t extent(IntList sizes, IntList strides) {
  int64_t end = 1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0) return 0;
    int64_t reach = 0;
    MT_CHECK(!__builtin_mul_overflow(sizes[i] - 1, strides[i], &reach) &&
                 !__builtin_add_overflow(end, reach, &end),
             RuntimeError, "Storage size calculation overflowed with sizes=", to_string(sizes),
             " and strides=", to_string(strides));
  }
  return end;
}

int64_t wrap_dim(int64_t dim, int64_t ndim) {
  const int64_t range = std::max<int64_t>(ndim, 1);
  MT_CHECK(dim >= -range && dim < range, IndexError,
           "Dimension out of range (expected to be in range of [", -range, ", ", range - 1,
           "], but got ", dim, ")");
  return dim < 0 ? dim + range : dim;
}

int64_t existing_dim(int64_t dim, int64_t ndim) {
  if (MT_LIKELY(dim >= -ndim && dim < ndim)) return dim < 0 ? dim + ndim : dim;
  MT_CHECK(ndim > 0, IndexError, "Dimension specified as ", dim, " but tensor has no dimensions");
  return wrap_dim(dim, ndim);
}

uint64_t dim_mask(std::optional<IntList> dims, int64_t ndim) {
  MT_CHECK(ndim <= 64, RuntimeError, "only tensors with up to 64 dims are supported");
  const uint64_t all = ndim == 64 ? ~uint64_t{0} : (uint64_t{1} << ndim) - 1;
  if (!dims || dims->empty()) return all;
  uint64_t mask = 0;
  for (const int64_t dim : *dims) {
    const int64_t wrapped = wrap_dim(dim, ndim);
    MT_CHECK((mask >> wrapped & 1) == 0, RuntimeError, "dim ", wrapped,
             " appears multiple times in the list of dims");
    mask |= uint64_t{1} << wrapped;
  }
  return mask & all;
}

Shape broadcast_shapes(IntList a, IntList b) {
  const bool swapped = a.size() < b.size();
  if (swapped) std::swap(a, b);
  Shape result(a);
  const size_t shift = a.size() - b.size();
  for (size_t i = b.size(); i-- > 0;) {
    const int64_t size = b[i];
    int64_t& out = result[i + shift];
    if (out == size || size == 1) continue;
    MT_CHECK(out == 1, RuntimeError, "The size of tensor a (", swapped ? size : out,
             ") must match the size of tensor b (", swapped ? out : size,
             ") at non-singleton dimension ", i + shift);
    out = size;
  }
  return result;
}

bool broadcasts_to(IntList sizes, IntList target) {
  if (sizes.size() > target.size()) return false;
  const size_t shift = target.size() - sizes.size();
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] != 1 && sizes[i] != target[i + shift]) return false;
  }
  return true;
}

Shape broadcast_strides(IntList sizes, IntList strides, IntList target) {
  Shape result(target.size(), 0);
  const size_t shift = target.size() - sizes.size();
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == target[i + shift]) result[i + shift] = strides[i];
  }
  return result;
}

Shape infer_sizes(IntList sizes, int64_t count) {
  Shape result(sizes);
  int64_t known = 1;
  std::optional<size_t> unknown;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == -1) {
      MT_CHECK(!unknown, RuntimeError, "only one dimension can be inferred");
      unknown = i;
    } else {
      MT_CHECK(sizes[i] >= 0, RuntimeError, "invalid shape dimension ", sizes[i], " at index ", i,
               " of shape ", to_string(sizes));
      MT_CHECK(!__builtin_mul_overflow(known, sizes[i], &known), RuntimeError, "shape '",
               to_string(sizes), "' is invalid for input of size ", count);
    }
  }
  if (unknown) {
    MT_CHECK(known != 0, RuntimeError, "cannot reshape tensor of 0 elements into shape ",
             to_string(sizes),
             " because the unspecified dimension size -1 can be any value and is ambiguous");
    result[*unknown] = count / known;
    known *= result[*unknown];
  }
  MT_CHECK(known == count, RuntimeError, "shape '", to_string(sizes),
           "' is invalid for input of size ", count);
  return result;
}

std::optional<Shape> view_strides(IntList sizes, IntList strides, IntList target) {
  const int64_t count = numel(sizes);
  if (count == 0) {
    return equal(sizes, target) ? Shape(strides) : contiguous_strides(target);
  }
  if (sizes.empty()) return Shape(target.size(), 1);
  Shape result(target.size());
  // Walk both shapes from the back: a run of old dims that is contiguous in memory may be cut into
  // any new dims of the same product.
  auto view = static_cast<int64_t>(target.size()) - 1;
  int64_t run_stride = strides.back();
  int64_t run_size = 1;
  int64_t view_size = 1;
  for (auto dim = static_cast<int64_t>(sizes.size()) - 1; dim >= 0; --dim) {
    const auto d = static_cast<size_t>(dim);
    run_size *= sizes[d];
    const bool run_ends =
        dim == 0 || (sizes[d - 1] != 1 && strides[d - 1] != run_size * run_stride);
    if (!run_ends) continue;
    while (view >= 0 && (view_size < run_size || target[static_cast<size_t>(view)] == 1)) {
      result[static_cast<size_t>(view)] = view_size * run_stride;
      view_size *= target[static_cast<size_t>(view)];
      --view;
    }
    if (view_size != run_size) return std::nullopt;
    if (dim > 0) {
      run_stride = strides[d - 1];
      run_size = 1;
      view_size = 1;
    }
  }
  return view == -1 ? std::optional<Shape>(std::move(result)) : std::nullopt;
}

}  // namespace mindtorch
