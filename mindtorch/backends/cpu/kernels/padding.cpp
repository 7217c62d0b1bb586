// Borders of an image's own elements, and the gradients of that.
#include "mindtorch/ops/padding.h"

#include <algorithm>
#include <array>
#include <complex>
#include <cstring>
#include <vector>

#include "mindtorch/backends/cpu/kernels/kernels.h"
#include "mindtorch/backends/cpu/kernels/lines.h"
#include "mindtorch/backends/cpu/kernels/plane_sums.h"
#include "mindtorch/backends/cpu/parallel.h"

namespace mindtorch::cpu {
namespace {

constexpr int64_t kBorderGrain = 16 * 1024;  // elements that are worth a thread

// Planes of up to three padded dims, without the border and with it. Where channels lie side by
// side they are one pixel, and the planes are the images.
struct BorderedPlanes {
  int64_t planes = 1;
  int64_t pixel = 1;              // elements
  int64_t inside[3] = {1, 1, 1};  // depth, height, width
  int64_t whole[3] = {1, 1, 1};
  std::vector<int64_t> shown[3];  // which element of the inside each element of the whole shows
  // Of a line of the whole: the elements that are a line of the inside as it stands.
  int64_t first;
  int64_t count;

  // `sizes` are those of the inside.
  BorderedPlanes(IntList sizes, IntList padding, ops::Padding kind, bool channels_last) {
    const size_t dims = padding.size() / 2;
    const size_t leading = sizes.size() - dims;
    for (size_t i = 0; i < leading; ++i) {
      (channels_last && i + 1 == leading ? pixel : planes) *= sizes[i];
    }
    for (size_t i = 0; i < 3; ++i) {
      const bool is_there = i + dims >= 3;
      const size_t pair = 2 * (2 - i);
      const int64_t before = is_there ? padding[pair] : 0;
      const int64_t after = is_there ? padding[pair + 1] : 0;
      inside[i] = is_there ? sizes[leading + i + dims - 3] : 1;
      whole[i] = inside[i] + before + after;
      shown[i] = ops::shown_elements(kind, inside[i], before, after);
    }
    // More may be taken away than there is: then all that is left is border.
    first = std::clamp<int64_t>(padding[0], 0, std::max<int64_t>(whole[2], 0));
    const int64_t cut = std::max<int64_t>(-padding[0], 0) + std::max<int64_t>(-padding[1], 0);
    count = std::clamp<int64_t>(inside[2] - cut, 0, std::max<int64_t>(whole[2] - first, 0));
  }

  int64_t start() const { return shown[2][static_cast<size_t>(first)]; }
  int64_t lines() const { return whole[0] * whole[1]; }
  int64_t inside_elements() const { return inside[0] * inside[1] * inside[2] * pixel; }
  int64_t whole_elements() const { return lines() * whole[2] * pixel; }
  // The line of a plane's inside that a line of the whole shows.
  int64_t shown_line(int64_t line) const {
    const auto z = static_cast<size_t>(line / whole[1]);
    const auto y = static_cast<size_t>(line % whole[1]);
    return shown[0][z] * inside[1] + shown[1][y];
  }
};

// The elements as they lie in memory once channels come last, where they do.
Tensor in_memory_order(const Tensor& self, bool channels_last) {
  return as_contiguous(channels_last ? with_dim_last(self, 1) : self);
}

template <typename CopyPixel>
void copy_bordered(const BorderedPlanes& p,
                   int64_t bytes,
                   const char* from,
                   char* to,
                   const CopyPixel& copy_pixel) {
  const int64_t lines = p.lines();
  const int64_t* const shown = p.shown[2].data();
  const auto middle = static_cast<size_t>(p.count * bytes);
  const int64_t start = middle == 0 ? 0 : p.start() * bytes;
  const int64_t plane_bytes = p.inside[0] * p.inside[1] * p.inside[2] * bytes;
  const int64_t grain = kBorderGrain / (p.whole[2] * p.pixel + 1) + 1;
  parallel_for(0, p.planes * lines, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const char* const source =
          from + i / lines * plane_bytes + p.shown_line(i % lines) * p.inside[2] * bytes;
      char* const line = to + i * p.whole[2] * bytes;
      for (int64_t x = 0; x < p.first; ++x) copy_pixel(line + x * bytes, source + shown[x] * bytes);
      if (middle != 0) std::memcpy(line + p.first * bytes, source + start, middle);
      for (int64_t x = p.first + p.count; x < p.whole[2]; ++x) {
        copy_pixel(line + x * bytes, source + shown[x] * bytes);
      }
    }
  });
}

template <int64_t kBytes>
void copy_bordered_units(const BorderedPlanes& p, const char* from, char* to) {
  copy_bordered(p, kBytes, from, to,
                [](char* target, const char* source) { std::memcpy(target, source, kBytes); });
}

void pad_edges(ops::Launch&, const Tensor& self, IntList padding, int64_t mode, Tensor& out) {
  if (out.numel() == 0) return;
  const bool channels_last = !out.is_contiguous();
  const Tensor input = in_memory_order(self, channels_last);
  const BorderedPlanes p(self.sizes(), padding, static_cast<ops::Padding>(mode), channels_last);
  const auto* const from = static_cast<const char*>(input.data_ptr());
  auto* const to = static_cast<char*>(out.data_ptr());
  const int64_t bytes = p.pixel * out.element_size();
  switch (bytes) {
    case 1:
      return copy_bordered_units<1>(p, from, to);
    case 2:
      return copy_bordered_units<2>(p, from, to);
    case 4:
      return copy_bordered_units<4>(p, from, to);
    case 8:
      return copy_bordered_units<8>(p, from, to);
    case 16:
      return copy_bordered_units<16>(p, from, to);
    default:
      return copy_bordered(p, bytes, from, to, [=](char* target, const char* source) {
        std::memcpy(target, source, static_cast<size_t>(bytes));
      });
  }
}

template <typename W, typename T>
void add_elements(const T* from, W* to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] += static_cast<W>(from[i]);
}

// Of one plane: `sums` are zeros.
template <typename T>
void add_plane(const BorderedPlanes& p, const T* grads, PlaneSum<T>* sums) {
  const int64_t* const shown = p.shown[2].data();
  for (int64_t i = 0; i < p.lines(); ++i) {
    const T* const line = grads + i * p.whole[2] * p.pixel;
    PlaneSum<T>* const target = sums + p.shown_line(i) * p.inside[2] * p.pixel;
    const auto add_pixel = [&](int64_t x) {
      add_elements(line + x * p.pixel, target + shown[x] * p.pixel, p.pixel);
    };
    for (int64_t x = 0; x < p.first; ++x) add_pixel(x);
    if (p.count != 0) {
      add_elements(line + p.first * p.pixel, target + p.start() * p.pixel, p.count * p.pixel);
    }
    for (int64_t x = p.first + p.count; x < p.whole[2]; ++x) add_pixel(x);
  }
}

void pad_edges_backward(
    ops::Launch&, const Tensor& grad_output, IntList padding, int64_t mode, Tensor& out) {
  if (out.numel() == 0) return;
  const bool channels_last = !out.is_contiguous();
  const Tensor grads = in_memory_order(grad_output, channels_last);
  const BorderedPlanes p(out.sizes(), padding, static_cast<ops::Padding>(mode), channels_last);
  // All dtypes but bool.
  visit_planes(out.dtype(), [&]<typename T>() {
    if constexpr (!std::is_same_v<T, bool>) {
      const auto* const from = static_cast<const T*>(grads.data_ptr());
      sum_planes(p.planes, p.inside_elements(), kBorderGrain / (p.whole_elements() + 1) + 1,
                 static_cast<T*>(out.data_ptr()), [&](int64_t i, PlaneSum<T>* sums) {
                   add_plane(p, from + i * p.whole_elements(), sums);
                 });
    }
  });
}

}  // namespace

void register_padding(ops::Registry& registry) {
  registry.kernel<pad_edges>(DeviceType::kCpu, "_pad_edges").takes(kAnyType);
  registry.kernel<pad_edges_backward>(DeviceType::kCpu, "_pad_edges_backward")
      .takes(kFloatTypes | kComplexTypes);
}

}  // namespace mindtorch::cpu
