#include "simulator/ascend/nnopbase/view.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <stdexcept>

namespace sim {

int64_t count(const Shape& shape) {
  int64_t n = 1;
  bool overflow = false;
  for (const int64_t size : shape) {
    if (size == 0) return 0;
    overflow = overflow || __builtin_mul_overflow(n, size, &n);
  }
  return overflow ? std::numeric_limits<int64_t>::max() : n;
}

bool View::contiguous() const {
  int64_t expected = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    if (shape[i] == 0) return true;
    if (shape[i] != 1 && strides[i] != expected) return false;
    expected *= shape[i];
  }
  return true;
}

int64_t View::offset_of(int64_t index) const {
  int64_t offset = 0;
  for (size_t i = shape.size(); i-- > 0;) {
    offset += index % shape[i] * strides[i];
    index /= shape[i];
  }
  return offset * item();
}

View View::expand(const Shape& to) const {
  View view = *this;
  view.shape = to;
  view.strides.assign(to.size(), 0);
  const size_t lead = to.size() - shape.size();
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == to[lead + i] && shape[i] != 1) view.strides[lead + i] = strides[i];
  }
  return view;
}

View View::permute(const std::vector<int64_t>& dims) const {
  View view = *this;
  for (size_t i = 0; i < dims.size(); ++i) {
    view.shape[i] = size(dims[i]);
    view.strides[i] = stride(dims[i]);
  }
  return view;
}

View View::slice(int64_t dim, int64_t start, int64_t length, int64_t step) const {
  View view = *this;
  view.data += start * stride(dim) * item();
  view.shape[static_cast<size_t>(dim)] = length;
  view.strides[static_cast<size_t>(dim)] *= step;
  return view;
}

View View::select(int64_t dim, int64_t index) const {
  View view = slice(dim, index, 1);
  view.shape.erase(view.shape.begin() + dim);
  view.strides.erase(view.strides.begin() + dim);
  return view;
}

View View::unsqueeze(int64_t dim) const {
  View view = *this;
  view.shape.insert(view.shape.begin() + dim, 1);
  view.strides.insert(view.strides.begin() + dim, 1);
  return view;
}

View View::flip(int64_t dim) const {
  View view = *this;
  if (size(dim) > 0) view.data += (size(dim) - 1) * stride(dim) * item();
  view.strides[static_cast<size_t>(dim)] = -stride(dim);
  return view;
}

View View::with_last(int64_t dim) const {
  std::vector<int64_t> dims;
  for (int64_t i = 0; i < rank(); ++i) {
    if (i != dim) dims.push_back(i);
  }
  if (rank() > 0) dims.push_back(dim);
  return permute(dims);
}

View View::reshape(const Shape& to) const { return contiguous_view(data, dtype, to); }

View contiguous_view(void* data, DType dtype, const Shape& shape) {
  View view{static_cast<char*>(data), dtype, shape, Shape(shape.size(), 1)};
  for (size_t i = shape.size(); i-- > 1;) {
    view.strides[i - 1] = view.strides[i] * std::max<int64_t>(shape[i], 1);
  }
  return view;
}

Cursor::Cursor(const View& view, int64_t first) : at_(view.data) {
  for (size_t i = 0; i < view.shape.size(); ++i) {
    const int64_t size = view.shape[i];
    const int64_t step = view.strides[i] * view.item();
    if (size == 1) continue;
    if (rank_ > 0 && steps_[rank_ - 1] == step * size) {
      sizes_[rank_ - 1] *= size;
      steps_[rank_ - 1] = step;
      continue;
    }
    if (rank_ == kMostDims) throw std::length_error("a view of too many dimensions");
    sizes_[rank_] = size;
    steps_[rank_++] = step;
  }
  for (size_t i = rank_; i-- > 0;) {
    index_[i] = first == 0 ? 0 : first % sizes_[i];
    if (first != 0) first /= sizes_[i];
    at_ += index_[i] * steps_[i];
  }
}

void Cursor::carry() {
  for (size_t i = rank_ - 1; i > 0 && index_[i] == sizes_[i]; --i) {
    at_ += steps_[i - 1] - index_[i] * steps_[i];
    index_[i] = 0;
    ++index_[i - 1];
  }
}

namespace {

// A dimension of a copy, its steps in bytes.
struct Lane {
  int64_t size;
  int64_t to;
  int64_t from;
};

// `count` elements of T. The compiler knows the steps that are not 0.
template <class T, int64_t kTo, int64_t kFrom>
void copy_every(char* to, int64_t to_step, const char* from, int64_t from_step, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    T element;
    std::memcpy(&element, from + i * (kFrom ? kFrom : from_step), sizeof element);
    std::memcpy(to + i * (kTo ? kTo : to_step), &element, sizeof element);
  }
}

template <class T>
void copy_line(char* to, int64_t to_step, const char* from, int64_t from_step, int64_t count) {
  constexpr int64_t kItem = sizeof(T);
  if (to_step == kItem && from_step == kItem) {
    std::memmove(to, from, static_cast<size_t>(count * kItem));
  } else if (to_step == kItem && from_step == 0) {
    T element;
    std::memcpy(&element, from, sizeof element);
    for (int64_t i = 0; i < count; ++i) std::memcpy(to + i * kItem, &element, sizeof element);
  } else if (to_step == kItem) {
    copy_every<T, kItem, 0>(to, to_step, from, from_step, count);
  } else if (from_step == kItem) {
    copy_every<T, 0, kItem>(to, to_step, from, from_step, count);
  } else {
    copy_every<T, 0, 0>(to, to_step, from, from_step, count);
  }
}

// Two dimensions of which one side lies across the other, in tiles that go through a buffer: lines
// of the cache are read whole and written whole, also where steps are powers of two.
template <class T>
void copy_across(char* to, const char* from, Lane outer, Lane inner) {
  constexpr int64_t kItem = sizeof(T);
  constexpr int64_t kTile = kItem <= 4 ? 64 : 32;
  char tile[kTile * kTile * kItem];
  for (int64_t i = 0; i < outer.size; i += kTile) {
    const int64_t rows = std::min(kTile, outer.size - i);
    for (int64_t j = 0; j < inner.size; j += kTile) {
      const int64_t columns = std::min(kTile, inner.size - j);
      const char* in = from + i * outer.from + j * inner.from;
      for (int64_t column = 0; column < columns; ++column, in += inner.from) {
        copy_line<T>(tile + column * kItem, kTile * kItem, in, outer.from, rows);
      }
      char* out = to + i * outer.to + j * inner.to;
      for (int64_t row = 0; row < rows; ++row, out += outer.to) {
        copy_line<T>(out, inner.to, tile + row * kTile * kItem, kItem, columns);
      }
    }
  }
}

template <class T>
void copy_plane(char* to, const char* from, Lane outer, Lane inner) {
  if (outer.from != 0 && inner.from != 0 && std::abs(outer.from) < std::abs(inner.from)) {
    return copy_across<T>(to, from, outer, inner);
  }
  for (int64_t i = 0; i < outer.size; ++i, to += outer.to, from += outer.from) {
    copy_line<T>(to, inner.to, from, inner.from, inner.size);
  }
}

using Plane = void (*)(char*, const char*, Lane, Lane);

constexpr int64_t kLargestItem = 16;
struct Item16 {
  char bytes[kLargestItem];
};

Plane plane_of(int64_t item) {
  switch (item) {
    case 1:
      return copy_plane<uint8_t>;
    case 2:
      return copy_plane<uint16_t>;
    case 4:
      return copy_plane<uint32_t>;
    case 8:
      return copy_plane<uint64_t>;
    default:
      return copy_plane<Item16>;
  }
}

// Elements one after the other on both sides: the inner dimension in one go.
void copy_runs(char* to, const char* from, Lane outer, Lane inner) {
  const auto bytes = static_cast<size_t>(inner.size * inner.to);
  for (int64_t i = 0; i < outer.size; ++i, to += outer.to, from += outer.from) {
    std::memmove(to, from, bytes);
  }
}

// The dimensions that both views have in common, outermost first, without those of one element, and
// as one what lies as one on both sides.
std::vector<Lane> lanes_of(const View& to, const View& from) {
  std::vector<Lane> lanes;
  for (size_t i = 0; i < to.shape.size(); ++i) {
    const Lane lane{to.shape[i], to.strides[i] * to.item(), from.strides[i] * to.item()};
    if (lane.size == 1) continue;
    if (!lanes.empty() && lanes.back().to == lane.to * lane.size &&
        lanes.back().from == lane.from * lane.size) {
      lanes.back() = {lanes.back().size * lane.size, lane.to, lane.from};
    } else {
      lanes.push_back(lane);
    }
  }
  return lanes;
}

}  // namespace

void copy_elements(const View& to, const View& from) {
  int64_t item = to.item();
  if (to.numel() == 0 || item == 0) return;
  std::vector<Lane> lanes = lanes_of(to, from);
  // What lies next to each other where it is written becomes the inner dimension, and beside it
  // what lies so where it is read.
  const auto near = [](int64_t step) { return step == 0 ? INT64_MAX : std::abs(step); };
  const auto by_target = [&](const Lane& a, const Lane& b) { return near(a.to) > near(b.to); };
  std::stable_sort(lanes.begin(), lanes.end(), by_target);
  // A few elements side by side are copied as one large one.
  while (!lanes.empty() && lanes.back().to == item && lanes.back().from == item &&
         std::has_single_bit(static_cast<uint64_t>(lanes.back().size)) &&
         item * lanes.back().size <= kLargestItem) {
    item *= lanes.back().size;
    lanes.pop_back();
  }
  if (lanes.size() > 2) {
    const auto by_source = [&](const Lane& a, const Lane& b) {
      return near(a.from) < near(b.from);
    };
    const auto best = std::min_element(lanes.begin(), lanes.end() - 1, by_source);
    if (by_source(*best, lanes.back())) std::rotate(best, best + 1, lanes.end() - 1);
  }
  while (lanes.size() < 2) lanes.insert(lanes.begin(), Lane{1, 0, 0});

  const Lane outer = lanes[lanes.size() - 2];
  const Lane inner = lanes.back();
  const bool runs = inner.to == item && inner.from == item;
  const Plane plane = runs ? copy_runs : plane_of(item);
  lanes.resize(lanes.size() - 2);
  std::vector<int64_t> index(lanes.size(), 0);
  char* out = to.data;
  const char* in = from.data;
  for (;;) {
    plane(out, in, outer, inner);
    size_t dim = lanes.size();
    while (dim > 0 && ++index[dim - 1] == lanes[dim - 1].size) {
      --dim;
      out -= (lanes[dim].size - 1) * lanes[dim].to;
      in -= (lanes[dim].size - 1) * lanes[dim].from;
      index[dim] = 0;
    }
    if (dim == 0) return;
    out += lanes[dim - 1].to;
    in += lanes[dim - 1].from;
  }
}

}  // namespace sim
