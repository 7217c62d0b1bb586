#include "simulator/ascend/nnopbase/view.h"

#include <algorithm>
#include <cstring>

namespace sim {

int64_t count(const Shape& shape) {
  int64_t n = 1;
  for (const int64_t size : shape) n *= size;
  return n;
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

Cursor::Cursor(const View& view, int64_t first)
    : view_(&view), rank_(view.shape.size()), item_(view.item()), index_(rank_), at_(view.data) {
  if (first == 0) return;
  for (size_t i = rank_; i-- > 0;) {
    index_[i] = first % view.shape[i];
    first /= view.shape[i];
    at_ += index_[i] * view.strides[i] * item_;
  }
}

void Cursor::next() { advance(1); }

void Cursor::advance(int64_t n) {
  if (rank_ == 0) return;
  index_[rank_ - 1] += n;
  at_ += n * view_->strides[rank_ - 1] * item_;
  if (index_[rank_ - 1] == view_->shape[rank_ - 1]) carry();
}

void Cursor::carry() {
  for (size_t i = rank_ - 1; i > 0 && index_[i] == view_->shape[i]; --i) {
    at_ -= index_[i] * view_->strides[i] * item_;
    index_[i] = 0;
    ++index_[i - 1];
    at_ += view_->strides[i - 1] * item_;
  }
}

void copy_elements(const View& to, const View& from) {
  const auto item = static_cast<size_t>(to.item());
  Cursor target(to);
  Cursor source(from);
  for (int64_t left = to.numel(); left > 0;) {
    const int64_t n = std::min(target.run(), source.run());
    char* out = target.get();
    const char* in = source.get();
    if (target.step() == to.item() && source.step() == to.item()) {
      std::memmove(out, in, static_cast<size_t>(n) * item);
    } else {
      for (int64_t i = 0; i < n; ++i, out += target.step(), in += source.step()) {
        std::memmove(out, in, item);
      }
    }
    target.advance(n);
    source.advance(n);
    left -= n;
  }
}

}  // namespace sim
