// index, index_put_, index_select and the masks: whole slices move at once.
#include "mindtorch/backends/cpu/indexing.h"
#include "mindtorch/backends/cpu/ceil_div.h"

#include <limits>

#include "mindtorch/backends/cpu/kernels/indexed.h"
#include "mindtorch/backends/cpu/kernels/kernels.h"
#include "mindtorch/backends/cpu/kernels/lines.h"
#include "mindtorch/backends/cpu/parallel.h"
#include "mindtorch/tensor/element.h"

namespace mindtorch::cpu {
namespace {

// Rows of so many bytes a thread should copy at least.
int64_t row_grain(int64_t row_bytes) {
  constexpr int64_t kGrainBytes = 64 * 1024;
  constexpr int64_t kRowCost = 8;  // as copying so many bytes
  return std::max<int64_t>(1, kGrainBytes / (row_bytes + kRowCost));
}
constexpr int64_t kIndexGrain = 16 * 1024;  // indices

void check_bounds(const Tensor& index, int64_t size, int64_t dim) {
  const int64_t bad = check_indices(index.data<int64_t>(), index.numel(), size);
  MT_CHECK(bad < 0, IndexError, "index ", index.data<int64_t>()[bad],
           " is out of bounds for dimension ", dim, " with size ", size);
}

// For the index elements [begin, end) the offset, in elements, of the slice that each names. The
// indexed dims of `self` are neighbours, at [first, first + n).
void find_offsets(const Tensor& self,
                  std::span<const Tensor> indices,
                  size_t first,
                  int64_t begin,
                  int64_t end,
                  int64_t* offsets) {
  const int64_t n = end - begin;
  for (size_t i = 0; i < indices.size(); ++i) {
    const int64_t size = self.sizes()[first + i];
    const int64_t stride = self.strides()[first + i];
    const auto* index = indices[i].data<int64_t>() + begin;
    const auto offset = [&](int64_t j) { return (index[j] + (index[j] >> 63 & size)) * stride; };
    if (i == 0) {
      for (int64_t j = 0; j < n; ++j) offsets[j] = offset(j);
    } else {
      for (int64_t j = 0; j < n; ++j) offsets[j] += offset(j);
    }
  }
}

Tensor find_all_offsets(const Tensor& self, std::span<const Tensor> indices, size_t first) {
  Tensor result = Tensor::make({indices[0].numel()}, DType::kInt64);
  auto* offsets = result.data<int64_t>();
  parallel_for(0, result.numel(), kIndexGrain, [&](int64_t begin, int64_t end) {
    find_offsets(self, indices, first, begin, end, offsets + begin);
  });
  return result;
}

// How the dims that are not indexed lie around those that are, in a contiguous tensor.
struct Places {
  int64_t outer = 1;  // dims before the indexed ones
  int64_t outer_stride = 0;
  int64_t block = 1;  // contiguous elements behind each place
};

Places find_places(const Tensor& self, size_t first, size_t indexed) {
  Places places;
  for (size_t i = 0; i < first; ++i) places.outer *= self.sizes()[i];
  for (size_t i = first + indexed; i < self.sizes().size(); ++i) places.block *= self.sizes()[i];
  places.outer_stride = places.block;
  for (size_t i = first; i < first + indexed; ++i) places.outer_stride *= self.sizes()[i];
  return places;
}

struct Selection {
  std::vector<Tensor> indices;  // the defined ones
  Tensor self;                  // indexed dims as neighbours
  size_t first = 0;             // where they start
};

// Brings the indexed dims together; indices that are no neighbours go to the front, as in NumPy.
Selection select_dims(const Tensor& self, TensorList indices) {
  Selection selection;
  size_t last = 0;
  selection.first = indices.size();
  bool reads = true;  // whether any element is reached, or indices need no check
  for (size_t i = 0; i < self.sizes().size(); ++i) {
    const bool indexed = i < indices.size() && indices[i].defined();
    reads &= (indexed ? indices[i].numel() : self.sizes()[i]) != 0;
  }
  for (size_t i = 0; i < indices.size(); ++i) {
    if (!indices[i].defined()) continue;
    if (reads) check_bounds(indices[i], self.sizes()[i], static_cast<int64_t>(i));
    selection.indices.push_back(indices[i]);
    selection.first = std::min(selection.first, i);
    last = i;
  }
  selection.self = self;
  if (selection.indices.size() == last - selection.first + 1) return selection;
  Shape sizes;
  Shape strides;
  for (const bool indexed : {true, false}) {
    for (size_t i = 0; i < self.sizes().size(); ++i) {
      if ((i < indices.size() && indices[i].defined()) != indexed) continue;
      sizes.push_back(self.sizes()[i]);
      strides.push_back(self.strides()[i]);
    }
  }
  selection.self = self.alias(std::move(sizes), std::move(strides), self.storage_offset());
  selection.first = 0;
  return selection;
}

void index(ops::Launch& launch, const Tensor& self, TensorList indices, Tensor& out) {
  if (out.numel() == 0) return;
  Selection selection = select_dims(self, indices);
  if (selection.indices.empty()) return copy(self, out);
  if (!out.is_contiguous()) {
    Tensor picked = Tensor::make(out.sizes(), out.dtype());
    index(launch, self, indices, picked);
    return copy(picked, out);
  }
  const Tensor source = as_contiguous(selection.self);
  const Places places = find_places(source, selection.first, selection.indices.size());
  const int64_t element = self.element_size();
  const int64_t row = places.block * element;
  const int64_t count = selection.indices[0].numel();
  if (places.outer == 1) {  // each offset is used once
    constexpr int64_t kBlock = 1024;
    parallel_for(0, count, row_grain(row), [&](int64_t begin, int64_t end) {
      int64_t offsets[kBlock];
      for (int64_t at = begin; at < end; at += kBlock) {
        const int64_t n = std::min(kBlock, end - at);
        find_offsets(source, selection.indices, selection.first, at, at + n, offsets);
        gather_rows(source.data_ptr(), row, offsets, n, INT64_MAX, element,
                    out.data<char>() + at * row);
      }
    });
    return;
  }
  const Tensor offset_of = find_all_offsets(source, selection.indices, selection.first);
  const auto* offsets = offset_of.data<int64_t>();
  parallel_for(0, places.outer * count, row_grain(row), [&](int64_t begin, int64_t end) {
    while (begin < end) {
      const int64_t outer = begin / count;
      const int64_t at = begin % count;
      const int64_t n = std::min(end - begin, count - at);
      gather_rows(source.data<char>() + outer * places.outer_stride * element, row, offsets + at, n,
                  INT64_MAX, element, out.data<char>() + begin * row);
      begin += n;
    }
  });
}

void index_put(
    ops::Launch&, const Tensor& self, TensorList indices, const Tensor& values, bool accumulate) {
  Selection selection = select_dims(self, indices);
  // The shape of the places written, for broadcasting the values.
  Shape sizes;
  const auto rest_first = selection.first + selection.indices.size();
  for (size_t i = 0; i < selection.first; ++i) sizes.push_back(selection.self.sizes()[i]);
  if (!selection.indices.empty()) {
    for (const int64_t size : selection.indices[0].sizes()) sizes.push_back(size);
  }
  for (size_t i = std::min(rest_first, selection.self.sizes().size());
       i < selection.self.sizes().size(); ++i) {
    sizes.push_back(selection.self.sizes()[i]);
  }
  if (selection.indices.empty()) {
    copy(values, self);
    return;
  }
  if (numel(sizes) == 0) return;
  Tensor spread = values;
  const bool is_one = values.numel() == 1;
  if (!is_one && (values.sizes() != sizes || !values.is_contiguous())) {
    spread = Tensor::make(sizes, values.dtype());
    copy(values, spread);
  }
  // Straight into self, whatever its strides: offsets are places one element apart.
  const Tensor offsets = find_all_offsets(selection.self, selection.indices, selection.first);
  const Shape steps = is_one ? Shape(sizes.size(), 0) : contiguous_strides(sizes);
  const size_t index_dims = selection.indices[0].sizes().size();
  Indexed indexed;
  int64_t block = 1;  // elements of the values behind each place
  for (size_t i = selection.first + index_dims; i < sizes.size(); ++i) block *= sizes[i];
  indexed.along = {offsets.numel(), 1, 1, is_one ? 0 : block};
  for (size_t i = 0; i < selection.self.sizes().size(); ++i) {
    if (i >= selection.first && i < rest_first) continue;
    const size_t at = i < selection.first ? i : i - selection.indices.size() + index_dims;
    indexed.dims.push_back({sizes[at], selection.self.strides()[i], 0, steps[at]});
  }
  indexed.places = std::numeric_limits<int64_t>::max();
  indexed.self = self.data_ptr();
  indexed.index = offsets.data<int64_t>();
  indexed.other = spread.data_ptr();
  indexed.dtype = self.dtype();
  indexed.other_dtype = self.dtype();
  scatter_indexed(accumulate ? Combine::kAdd : Combine::kSet, indexed);
}

// [outer, dim, block] of a contiguous tensor.
struct Slices {
  int64_t outer = 1;
  int64_t length = 1;
  int64_t block = 1;
};

Slices slices_of(const Tensor& self, int64_t dim) {
  Slices slices;
  if (self.dim() == 0) return slices;
  const size_t d = line_dim(self, dim);
  for (size_t i = 0; i < self.sizes().size(); ++i) {
    (i < d ? slices.outer : i > d ? slices.block : slices.length) *= self.sizes()[i];
  }
  return slices;
}

// Unlike a[idx], index_select takes no negative index. Torch has another function for dimension 1.
void check_selected(const Tensor& self, int64_t dim, const Tensor& places, int64_t length) {
  const auto* at = places.data<int64_t>();
  const int64_t bad = check_positive_indices(at, places.numel(), length);
  if (bad < 0) return;
  MT_CHECK(self.dim() > 1 && (line_dim(self, dim) == 1 || self.numel() == 0), IndexError,
           "index out of range in self");
  MT_THROW(RuntimeError, "INDICES element is out of DATA bounds, id=", at[bad],
           " axis_dim=", length);
}

void index_select(ops::Launch&, const Tensor& self, int64_t dim, const Tensor& index, Tensor& out) {
  const Tensor places = as_index(index);
  const Slices slices = slices_of(self, dim);
  check_selected(self, dim, places, slices.length);
  if (out.numel() == 0) return;
  const int64_t row = slices.block * self.element_size();
  if (slices.block == 1) return gather_indexed(Indexed(self, dim, places, out));
  const Tensor source = as_contiguous(self);
  const int64_t count = places.numel();
  parallel_for(0, slices.outer * count, row_grain(row), [&](int64_t begin, int64_t end) {
    while (begin < end) {
      const int64_t outer = begin / count;
      const int64_t at = begin % count;
      const int64_t n = std::min(end - begin, count - at);
      gather_rows(source.data<char>() + outer * slices.length * row, row,
                  places.data<int64_t>() + at, n, slices.length, row,
                  out.data<char>() + begin * row);
      begin += n;
    }
  });
}

Tensor checked_index(const Tensor& self, int64_t dim, const Tensor& index) {
  Tensor places = as_index(index);
  const int64_t length = line_length(self, dim);
  const int64_t bad = check_indices(places.data<int64_t>(), places.numel(), length);
  MT_CHECK(bad < 0, IndexError, "index ", bad < 0 ? 0 : places.data<int64_t>()[bad],
           " is out of bounds for dimension ", line_dim(self, dim), " with size ", length);
  return places;
}

// The same for ops that take no negative index. `Class` and texts are torch's.
template <typename Class>
Tensor positive_index(const Tensor& self, int64_t dim, const Tensor& index, const char* name) {
  Tensor places = as_index(index);
  const int64_t length = line_length(self, dim);
  const auto* at = places.data<int64_t>();
  const int64_t bad = check_positive_indices(at, places.numel(), length);
  if (bad >= 0) {
    throw Class(mindtorch::detail::concat(name, "index ", at[bad],
                                          " is out of bounds for dimension ", line_dim(self, dim),
                                          " with size ", length));
  }
  return places;
}

void index_add(ops::Launch& launch,
               const Tensor& self,
               int64_t dim,
               const Tensor& index,
               const Tensor& source,
               const Scalar& alpha) {
  const Tensor places = self.dim() > 1 ? positive_index<RuntimeError>(self, dim, index, "")
                                       : positive_index<IndexError>(self, dim, index, "");
  Tensor addend = source;
  if (!(alpha == Scalar(1))) {
    addend = Tensor::make(source.sizes(), source.dtype());
    const Tensor scale = Tensor::make({}, source.dtype());
    write_element(scale.data_ptr(), scale.dtype(), alpha);
    ops::PointwiseCall product(ops::Pointwise::kMul, source.dtype(), source.dtype());
    run_pointwise(launch, product.on(source).on(scale), addend);
  }
  scatter_indexed(Combine::kAdd, Indexed(self, dim, places, addend));
}

void index_copy(
    ops::Launch&, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source) {
  const Tensor places = positive_index<IndexError>(self, dim, index, "index_copy_(): ");
  scatter_indexed(Combine::kSet, Indexed(self, dim, places, source));
}

void index_fill(
    ops::Launch&, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& value) {
  Tensor places = checked_index(self, dim, index);
  const auto* at = places.data<int64_t>();
  const int64_t count = places.numel();
  if (std::any_of(at, at + count, [](int64_t i) { return i < 0; })) {
    const Tensor wrapped = Tensor::make(places.sizes(), DType::kInt64);
    const int64_t length = line_length(self, dim);
    std::transform(at, at + count, wrapped.data<int64_t>(),
                   [&](int64_t i) { return i < 0 ? i + length : i; });
    places = wrapped;
  }
  const Tensor one = Tensor::make({}, self.dtype());
  copy(value, one);
  scatter_indexed(Combine::kSet, Indexed(self, dim, places, one));
}

// The elements that are not zero are counted and then written, in pieces of the array.
struct NonzeroPieces {
  NonzeroPieces(DType dtype, const char* data, int64_t n)
      : n(n), step(std::max<int64_t>(1, ceil_div(n, pieces_of(n)))) {
    starts.resize(static_cast<size_t>(ceil_div(n, step)));
    parallel_for(0, static_cast<int64_t>(starts.size()), 1, [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) {
        starts[static_cast<size_t>(i)] =
            count_nonzero(dtype, data + i * step * size_bytes(dtype), end(i) - i * step);
      }
    });
    for (int64_t& start : starts) {
      const int64_t here = start;
      start = count;
      count += here;
    }
  }
  // body(begin, end, elements before that are not zero)
  template <typename Body>
  void for_each(const Body& body) const {
    parallel_for(0, static_cast<int64_t>(starts.size()), 1, [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) {
        body(i * step, end(i), starts[static_cast<size_t>(i)]);
      }
    });
  }
  int64_t end(int64_t piece) const { return std::min(n, (piece + 1) * step); }
  static int64_t pieces_of(int64_t n) {
    return std::clamp<int64_t>(n / kIndexGrain, 1, num_threads());
  }

  int64_t n;
  int64_t step;
  int64_t count = 0;
  SmallVector<int64_t, 16> starts;
};

Tensor masked_select(ops::Launch&, const Tensor& self, const Tensor& mask) {
  MT_CHECK(self.is_contiguous() && mask.is_contiguous() && mask.element_size() == 1 &&
               self.sizes() == mask.sizes(),
           RuntimeError, "_masked_select: expected a contiguous mask of the same shape");
  const NonzeroPieces pieces(DType::kBool, mask.data<char>(), mask.numel());
  Tensor out = Tensor::make({pieces.count}, self.dtype());
  const int64_t element = self.element_size();
  pieces.for_each([&](int64_t begin, int64_t end, int64_t before) {
    masked_select_contiguous(element, self.data<char>() + begin * element,
                             mask.data<uint8_t>() + begin, end - begin,
                             out.data<char>() + before * element);
  });
  return out;
}

Tensor nonzero(ops::Launch&, const Tensor& self) {
  Tensor flat = as_contiguous(self);
  if (!is_common(self.dtype())) {
    flat = Tensor::make(self.sizes(), DType::kBool);
    copy(self, flat);
  }
  const NonzeroPieces pieces(flat.dtype(), flat.data<char>(), flat.numel());
  const int64_t count = pieces.count;
  // One line of indices per dim, and so the columns of the result.
  const Tensor lines = Tensor::make({self.dim(), count}, DType::kInt64);
  Tensor out = lines.alias({count, self.dim()}, {1, count}, 0);
  if (count == 0 || self.dim() == 0) return out;
  pieces.for_each([&](int64_t begin, int64_t end, int64_t before) {
    find_nonzero({flat.dtype(), flat.data_ptr(), self.sizes().data(), self.dim(), begin, end},
                 lines.data<int64_t>() + before, count);
  });
  return out;
}

void take(ops::Launch&, const Tensor& self, const Tensor& index, Tensor& out) {
  const Tensor places = as_index(index);
  const Tensor source = as_contiguous(self);
  const int64_t bad = check_indices(places.data<int64_t>(), places.numel(), self.numel());
  MT_CHECK(bad < 0, IndexError, "out of range: tried to access index ",
           bad < 0 ? 0 : places.data<int64_t>()[bad], " on a tensor of ", self.numel(),
           " elements.");
  const int64_t element = self.element_size();
  parallel_for(0, places.numel(), kIndexGrain, [&](int64_t begin, int64_t end) {
    gather_rows(source.data_ptr(), element, places.data<int64_t>() + begin, end - begin,
                self.numel(), element, out.data<char>() + begin * element);
  });
}

}  // namespace

void register_indexing(ops::Registry& registry) {
  constexpr auto kCpu = DeviceType::kCpu;
  registry.kernel<index>(kCpu, "_index").takes(kAnyType);
  registry.kernel<index_put>(kCpu, "_index_put_")
      .takes(kAllOrComplex | kFloat8Types | bit(DType::kComplex32));
  registry.kernel<index_select>(kCpu, "index_select").takes(kAnyType);
  registry.kernel<index_add>(kCpu, "index_add_").takes(kAllOrComplex);
  registry.kernel<index_copy>(kCpu, "index_copy_").takes(kAnyType);
  registry.kernel<index_fill>(kCpu, "index_fill_").takes(kAnyType);
  registry.dynamic_kernel<masked_select>(kCpu, "_masked_select").takes(kAnyType);
  registry.dynamic_kernel<nonzero>(kCpu, "nonzero").takes(kAllOrComplex);
  registry.kernel<take>(kCpu, "take").takes(kAnyType);
}

}  // namespace mindtorch::cpu
