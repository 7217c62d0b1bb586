// Images in another size.
#include <algorithm>
#include <array>
#include <cstring>

#include "mindtorch/backends/cpu/kernels/kernels.h"
#include "mindtorch/backends/cpu/kernels/lines.h"
#include "mindtorch/backends/cpu/parallel.h"
#include "mindtorch/backends/cpu/sampling/resize.h"
#include "mindtorch/backends/cpu/tiles/row.h"
#include "mindtorch/ops/interpolation.h"

namespace mindtorch::cpu {
namespace {

using ops::Interpolation;
using sampling::ResizeTaps;
using sampling::WeightedRow;

constexpr int64_t kResizeGrain = 8 * 1024;  // elements that are worth a thread

// Of one dimension. Taps that count nothing name the number behind the source, which is 0:
// infinities elsewhere do no harm.
template <typename W>
ResizeTaps<W> make_taps(
    Interpolation mode, int64_t source, int64_t wanted, double scale, bool align_corners) {
  ResizeTaps<W> result{ops::tap_count(mode), wanted, {}, {}};
  const auto entries = static_cast<size_t>(result.taps * wanted);
  result.places.resize(entries);
  result.weights.resize(entries);
  const W last = static_cast<W>(source - 1);
  const auto put = [&](int64_t tap, int64_t i, W place, W weight) {
    const auto at = static_cast<size_t>(tap * wanted + i);
    const W inside = std::min(std::max(place, W{0}), last);
    result.places[at] = static_cast<int32_t>(weight == 0 ? static_cast<W>(source) : inside);
    result.weights[at] = weight;
  };
  ops::each_tap<W>(mode, source, wanted, scale, align_corners, put);
  return result;
}

// From each element of the source to those of the result. Elements that have fewer taps than others
// take the number behind the result.
template <typename W>
ResizeTaps<W> transposed(const ResizeTaps<W>& taps, int64_t source) {
  std::vector<int64_t> used(static_cast<size_t>(source));
  for (const int32_t place : taps.places) {
    if (place < source) ++used[static_cast<size_t>(place)];
  }
  ResizeTaps<W> result{*std::max_element(used.begin(), used.end()), source, {}, {}};
  result.places.assign(static_cast<size_t>(result.taps * source), static_cast<int32_t>(taps.count));
  result.weights.assign(result.places.size(), W{0});
  std::fill(used.begin(), used.end(), 0);
  for (int64_t i = 0; i < taps.count; ++i) {
    for (int64_t k = 0; k < taps.taps; ++k) {
      const int32_t place = taps.place(k, i);
      if (place == source) continue;
      const int64_t slot = used[static_cast<size_t>(place)]++;
      const auto at = static_cast<size_t>(slot * source + place);
      result.places[at] = static_cast<int32_t>(i);
      result.weights[at] = taps.weight(k, i);
    }
  }
  return result;
}

struct Images {
  int64_t planes;
  int64_t in[3];  // depth, height, width
  int64_t out[3];

  Images(const Tensor& from, const Tensor& to) : planes(from.size(0) * from.size(1)) {
    const auto dims = static_cast<size_t>(from.dim() - 2);
    for (size_t i = 0; i < 3; ++i) {
      const bool is_there = i + dims >= 3;
      const auto dim = static_cast<int64_t>(i + dims) - 1;
      in[i] = is_there ? from.size(dim) : 1;
      out[i] = is_there ? to.size(dim) : 1;
    }
  }
  int64_t elements_in() const { return in[0] * in[1] * in[2]; }

  // body(plane, z, y, number of the row) for ranges of rows of the result.
  template <typename Body>
  void each_rows(const Body& body) const {
    const int64_t rows = out[0] * out[1];
    const int64_t grain = kResizeGrain / (std::max(in[2], out[2]) + 1) + 1;
    parallel_for(0, planes * rows, grain, [&](int64_t begin, int64_t end) {
      auto row = body();
      for (int64_t i = begin; i < end; ++i) row(i / rows, i % rows / out[1], i % out[1], i);
    });
  }
};

// Rows of the source are blended first, and elements of their sum then.
template <typename T, typename W>
void resize(const Images& images, const ResizeTaps<W>* taps, const T* from, T* to) {
  const auto& tiles = sampling::resize_tiles<W>(DTypeOf<T>::value);
  images.each_rows([&] {
    std::vector<W> line(static_cast<size_t>(images.in[2] + sampling::kResizePadding));
    std::vector<WeightedRow<W>> rows;
    return [&, line = std::move(line), rows = std::move(rows)](int64_t plane, int64_t z, int64_t y,
                                                               int64_t i) mutable {
      const T* const image = from + plane * images.elements_in();
      rows.clear();
      for (int64_t kz = 0; kz < taps[0].taps; ++kz) {
        for (int64_t ky = 0; ky < taps[1].taps; ++ky) {
          const W weight = taps[0].weight(kz, z) * taps[1].weight(ky, y);
          if (weight == 0) continue;
          const int64_t row = taps[0].place(kz, z) * images.in[1] + taps[1].place(ky, y);
          rows.push_back({image + row * images.in[2], weight});
        }
      }
      tiles.blend(rows.data(), static_cast<int64_t>(rows.size()), images.in[2], line.data());
      line[static_cast<size_t>(images.in[2])] = 0;  // for taps that count nothing
      tiles.take(line.data(), taps[2], to + i * images.out[2]);
    };
  });
}

// Elements of `Unit`'s size, as they are.
template <typename Unit, typename W>
void copy_nearest(const Images& images, const ResizeTaps<W>* taps, const Unit* from, Unit* to) {
  images.each_rows([&] {
    const Unit* last = nullptr;
    int64_t last_row = 0;
    return [&, last, last_row](int64_t plane, int64_t z, int64_t y, int64_t i) mutable {
      const int64_t row = taps[0].place(0, z) * images.in[1] + taps[1].place(0, y);
      const Unit* const own = from + plane * images.elements_in() + row * images.in[2];
      Unit* const line = to + i * images.out[2];
      if (own == last) {
        std::memcpy(line, to + last_row * images.out[2],
                    static_cast<size_t>(images.out[2]) * sizeof(Unit));
        return;
      }
      last = own;
      last_row = i;
      for (int64_t x = 0; x < images.out[2]; ++x) line[x] = own[taps[2].place(0, x)];
    };
  });
}

template <typename W>
std::vector<ResizeTaps<W>> all_taps(const Images& images,
                                    std::span<const double> scales,
                                    Interpolation mode,
                                    bool align_corners,
                                    bool is_backward) {
  std::vector<ResizeTaps<W>> taps;
  for (size_t i = 0; i < 3; ++i) {
    const bool is_there = i + scales.size() >= 3;
    const int64_t source = is_backward ? images.out[i] : images.in[i];
    const int64_t wanted = is_backward ? images.in[i] : images.out[i];
    // A dimension that is not there has one element.
    taps.push_back(
        is_there ? make_taps<W>(mode, source, wanted, scales[i + scales.size() - 3], align_corners)
                 : make_taps<W>(Interpolation::kNearest, 1, 1, 0, false));
    if (is_backward) taps.back() = transposed(taps.back(), source);
  }
  return taps;
}

void run(const Tensor& self,
         std::span<const double> scales,
         int64_t mode,
         bool align_corners,
         bool is_backward,
         Tensor& out) {
  if (out.numel() == 0) return;
  const Tensor input = as_contiguous(self);
  const Tensor result = out.is_contiguous() ? out : Tensor::make(out.sizes(), out.dtype());
  const Images images(input, result);
  const auto method = static_cast<Interpolation>(mode);
  const auto blend = [&]<typename T, typename W>() {
    const auto taps = all_taps<W>(images, scales, method, align_corners, is_backward);
    resize<T, W>(images, taps.data(), input.data<T>(), result.data<T>());
  };
  const auto copied = [&]<typename Unit, typename W>() {
    const auto taps = all_taps<W>(images, scales, method, align_corners, false);
    copy_nearest(images, taps.data(), static_cast<const Unit*>(input.data_ptr()),
                 static_cast<Unit*>(result.data_ptr()));
  };
  if (ops::is_nearest(method) && !is_backward) {
    switch (self.element_size()) {
      case 1:
        copied.template operator()<uint8_t, float>();
        break;
      case 2:
        copied.template operator()<uint16_t, float>();
        break;
      case 4:
        copied.template operator()<uint32_t, float>();
        break;
      case 8:
        if (self.dtype() == DType::kFloat64) {
          copied.template operator()<uint64_t, double>();
        } else {
          copied.template operator()<uint64_t, float>();
        }
        break;
      default:
        copied.template operator()<std::array<uint64_t, 2>, float>();
    }
  } else if (self.dtype() == DType::kFloat64) {
    blend.template operator()<double, double>();
  } else if (self.dtype() == DType::kFloat32) {
    blend.template operator()<float, float>();
  } else if (self.dtype() == DType::kFloat16) {
    blend.template operator()<Half, float>();
  } else {
    blend.template operator()<BFloat16, float>();
  }
  if (!result.is_same(out)) copy(result, out);
}

void interpolate(ops::Launch&,
                 const Tensor& self,
                 IntList,
                 std::span<const double> scales,
                 int64_t mode,
                 bool align_corners,
                 Tensor& out) {
  run(self, scales, mode, align_corners, false, out);
}
void interpolate_backward(ops::Launch&,
                          const Tensor& grad_output,
                          IntList,
                          std::span<const double> scales,
                          int64_t mode,
                          bool align_corners,
                          Tensor& out) {
  run(grad_output, scales, mode, align_corners, true, out);
}

}  // namespace

void register_resize(ops::Registry& registry) {
  registry.kernel<interpolate>(DeviceType::kCpu, "_interpolate");
  registry.kernel<interpolate_backward>(DeviceType::kCpu, "_interpolate_backward");
}

}  // namespace mindtorch::cpu
