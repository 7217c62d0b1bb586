#pragma once

#include "simulator/ascend/ops/values.h"

namespace sim {

// Pooling: every place of a small image takes some places of a large one. The last dims of a tensor
// are an image, those before it count images.
struct Pooling {
  int64_t images = 1;
  Shape image;
  Shape out;
  // The places of the image (as numbers in row-major order) that go into place `i` of `out`.
  std::function<void(int64_t i, std::vector<int64_t>* places)> window;

  int64_t area() const { return count(image); }
  int64_t places() const { return count(out); }

  // Calls f(n, i, window of i) for each place of each image.
  template <class F>
  void each(F f) const {
    std::vector<int64_t> found;
    for (int64_t i = 0; i < places(); ++i) {
      found.clear();
      window(i, &found);
      for (int64_t n = 0; n < images; ++n) f(n, i, found);
    }
  }
};

// The shape of a tensor like `shape` whose images have the size `size`.
inline Shape with_image(const Shape& shape, const Shape& size) {
  Shape result(shape.begin(), shape.end() - static_cast<int64_t>(size.size()));
  result.insert(result.end(), size.begin(), size.end());
  return result;
}

// Images of `dims` dims.
inline Pooling pooling_of(Planner& p, const Operand& in, int64_t dims) {
  p.check_rank(in, dims + 1, dims + 2);
  Pooling pooling;
  pooling.image.assign(in.shape().end() - dims, in.shape().end());
  for (int64_t d = 0; d < in.rank() - dims; ++d) pooling.images *= in.shape()[z(d)];
  return pooling;
}

// Calls f(flat place) for each place of a box of an image: its start, and taps `step` apart. What
// lies outside costs nothing.
template <class F>
void for_box(const Shape& image, Shape start, Shape taps, const Shape& step, const F& f) {
  for (size_t d = 0; d < image.size(); ++d) {
    const int64_t before = start[d] < 0 ? (-start[d] + step[d] - 1) / step[d] : 0;
    const int64_t end = (image[d] - start[d] + step[d] - 1) / step[d];
    taps[d] = std::max<int64_t>(std::min(taps[d], end) - before, 0);
    start[d] += before * step[d];
  }
  const int64_t total = count(taps);
  for (int64_t tap = 0; tap < total; ++tap) {
    int64_t place = 0;
    int64_t scale = 1;
    int64_t rest = tap;
    for (size_t d = image.size(); d-- > 0; rest /= taps[d]) {
      place += (start[d] + rest % taps[d] * step[d]) * scale;
      scale *= image[d];
    }
    f(place);
  }
}

// The row-major number `i` as a place in `size`.
inline Shape unravel(int64_t i, const Shape& size) {
  Shape place(size.size());
  for (size_t d = size.size(); d-- > 0; i /= size[d]) place[d] = i % size[d];
  return place;
}

struct Windows {
  Shape kernel;
  Shape stride;
  Shape padding;   // before the image
  Shape trailing;  // after it
  Shape dilation;

  Shape start(const Shape& place) const {
    Shape result(place.size());
    for (size_t d = 0; d < place.size(); ++d) result[d] = place[d] * stride[d] - padding[d];
    return result;
  }
};

struct WindowArguments {
  const aclIntArray* kernel;
  const char* kernel_name;
  const aclIntArray* stride;
  const char* stride_name;
  const aclIntArray* padding;
  const char* padding_name;
  const aclIntArray* dilation;  // null: 1
  bool ceil;
};

// One value for each dim, or one for all; none means `otherwise`.
inline Shape per_image_dim(Planner& p,
                           const Shape& list,
                           const Shape& otherwise,
                           const char* name) {
  check_reasonable(p, list, name);
  if (list.empty()) return otherwise;
  p.check(list.size() == 1 || list.size() == otherwise.size(),
          std::string(name) + " must have one value or " + std::to_string(otherwise.size()));
  return list.size() == 1 ? Shape(otherwise.size(), list[0]) : list;
}

// Lets `pooling` take the windows, which must fit. Padding must be at most half of the kernel.
inline void slide(Planner& p, const Windows& w, bool ceil, Pooling* pooling) {
  for (size_t d = 0; d < pooling->image.size(); ++d) {
    p.check(w.kernel[d] > 0, "the kernel's sizes must be positive");
    p.check(w.stride[d] > 0, "strides must be positive");
    p.check(w.dilation[d] > 0, "dilations must be positive");
    const int64_t most = w.kernel[d] / 2;
    p.check(
        w.padding[d] >= 0 && w.padding[d] <= most && w.trailing[d] >= 0 && w.trailing[d] <= most,
        "padding must be at most half of the kernel");
    const int64_t size = pooling->image[d];
    const int64_t span = narrow(Wide{size} + w.padding[d] + w.trailing[d] -
                                Wide{w.dilation[d]} * (w.kernel[d] - 1) - 1);
    p.check(span >= 0 || size == 0, "the kernel is larger than the padded image");
    int64_t n = size == 0 ? 0 : (span + (ceil ? w.stride[d] - 1 : 0)) / w.stride[d] + 1;
    // The last window starts inside.
    if (ceil && n > 0 && (n - 1) * w.stride[d] >= size + w.padding[d]) --n;
    pooling->out.push_back(n);
  }
  pooling->window = [w, image = pooling->image, out = pooling->out](int64_t i, Shape* places) {
    for_box(image, w.start(unravel(i, out)), w.kernel, w.dilation,
            [&](int64_t place) { places->push_back(place); });
  };
}

inline Windows windows_of(Planner& p, const WindowArguments& a, Pooling* pooling) {
  const size_t dims = pooling->image.size();
  const Shape kernel = p.array(a.kernel, a.kernel_name);
  p.check(!kernel.empty(), std::string(a.kernel_name) + " is empty");
  Windows w;
  w.kernel = per_image_dim(p, kernel, Shape(dims, 1), a.kernel_name);
  w.stride = per_image_dim(p, p.array(a.stride, a.stride_name), w.kernel, a.stride_name);
  w.padding = per_image_dim(p, p.array(a.padding, a.padding_name), Shape(dims, 0), a.padding_name);
  w.trailing = w.padding;
  w.dilation = Shape(dims, 1);
  if (a.dilation != nullptr) {
    w.dilation = per_image_dim(p, p.array(a.dilation, "dilation"), w.dilation, "dilation");
  }
  slide(p, w, a.ceil, pooling);
  return w;
}

// Windows that share the image out evenly among `out`.
inline void adapt(Planner& p, const Shape& out, Pooling* pooling) {
  p.check(out.size() == pooling->image.size(),
          "outputSize must have " + std::to_string(pooling->image.size()) + " values");
  pooling->out = out;
  pooling->window = [image = pooling->image, out](int64_t i, Shape* places) {
    const Shape place = unravel(i, out);
    Shape start(out.size());
    Shape taps(out.size());
    for (size_t d = 0; d < out.size(); ++d) {
      start[d] = place[d] * image[d] / out[d];
      taps[d] = ((place[d] + 1) * image[d] + out[d] - 1) / out[d] - start[d];
    }
    for_box(image, start, taps, Shape(out.size(), 1),
            [&](int64_t inside) { places->push_back(inside); });
  };
}

// The output size of an adaptive pooling, read from the gradient of its output.
inline Shape image_of(Planner& p, const Operand& grads, const Operand& in, int64_t dims) {
  p.check_rank(grads, in.rank(), in.rank());
  const Shape size(grads.shape().end() - dims, grads.shape().end());
  p.check_shape(grads, with_image(in.shape(), size));
  return size;
}

}  // namespace sim
