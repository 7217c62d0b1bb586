// Windows of images as columns and back, and the inverse of max_pool.
#include "mindtorch/ops/windows.h"

#include <algorithm>
#include <array>
#include <complex>
#include <cstring>
#include <string>
#include <vector>

#include "mindtorch/backends/cpu/ceil_div.h"
#include "mindtorch/backends/cpu/kernels/kernels.h"
#include "mindtorch/backends/cpu/kernels/lines.h"
#include "mindtorch/backends/cpu/kernels/plane_sums.h"
#include "mindtorch/backends/cpu/parallel.h"

namespace mindtorch::cpu {
namespace {

using ops::WindowGrid;

constexpr int64_t kWindowGrain = 16 * 1024;  // elements that are worth a thread

// Along a row of windows: those whose element `tap` lies inside the image.
struct InsideWindows {
  int64_t begin;
  int64_t end;

  InsideWindows(const WindowGrid& grid, size_t dim, int64_t tap) {
    const int64_t first = grid.place(dim, tap, 0);
    const int64_t step = grid.stride[dim];
    const int64_t count = grid.count[dim];
    begin = std::min(count, first >= 0 ? 0 : ceil_div(-first, step));
    const int64_t room = grid.size[dim] - first;
    end = std::max(begin, room <= 0 ? 0 : std::min(count, ceil_div(room, step)));
  }
};

// One row of columns: an element of each window of a plane, 0 outside of it.
template <typename Unit>
void copy_column_row(const WindowGrid& grid, int64_t tap, const Unit* plane, Unit* row) {
  const int64_t y_tap = tap / grid.kernel[1];
  const int64_t x_tap = tap % grid.kernel[1];
  const InsideWindows rows(grid, 0, y_tap);
  const InsideWindows columns(grid, 1, x_tap);
  const int64_t width = grid.count[1];
  const int64_t step = grid.stride[1];
  std::fill_n(row, rows.begin * width, Unit{});
  for (int64_t y = rows.begin; y < rows.end; ++y) {
    Unit* const line = row + y * width;
    const Unit* const source =
        plane + grid.place(0, y_tap, y) * grid.size[1] + grid.place(1, x_tap, 0);
    std::fill_n(line, columns.begin, Unit{});
    if (step == 1) {
      std::copy(source + columns.begin, source + columns.end, line + columns.begin);
    } else {
      for (int64_t x = columns.begin; x < columns.end; ++x) line[x] = source[x * step];
    }
    std::fill_n(line + columns.end, width - columns.end, Unit{});
  }
  std::fill_n(row + rows.end * width, (grid.count[0] - rows.end) * width, Unit{});
}

template <typename Unit>
void copy_columns(const WindowGrid& grid, int64_t planes, const void* images, void* columns) {
  const auto* const from = static_cast<const Unit*>(images);
  auto* const to = static_cast<Unit*>(columns);
  const int64_t area = grid.area();
  const int64_t plane = grid.size[0] * grid.size[1];
  parallel_for(
      0, planes * area, kWindowGrain / (grid.windows() + 1) + 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          copy_column_row(grid, i % area, from + i / area * plane, to + i * grid.windows());
        }
      });
}

void im2col(ops::Launch&,
            const Tensor& self,
            IntList kernel_size,
            IntList dilation,
            IntList padding,
            IntList stride,
            Tensor& out) {
  if (out.numel() == 0) return;
  const Tensor images = as_contiguous(self);
  const WindowGrid grid(IntList(self.sizes()).last(2), kernel_size, dilation, padding, stride);
  const int64_t planes = self.size(0) * self.size(1);
  switch (self.element_size()) {
    case 1:
      return copy_columns<uint8_t>(grid, planes, images.data_ptr(), out.data_ptr());
    case 2:
      return copy_columns<uint16_t>(grid, planes, images.data_ptr(), out.data_ptr());
    case 4:
      return copy_columns<uint32_t>(grid, planes, images.data_ptr(), out.data_ptr());
    case 8:
      return copy_columns<uint64_t>(grid, planes, images.data_ptr(), out.data_ptr());
    default:
      return copy_columns<std::array<uint64_t, 2>>(grid, planes, images.data_ptr(), out.data_ptr());
  }
}

// Adds one row of columns to a plane.
template <typename T>
void add_column_row(const WindowGrid& grid, int64_t tap, const T* row, PlaneSum<T>* plane) {
  using W = PlaneSum<T>;
  const int64_t y_tap = tap / grid.kernel[1];
  const int64_t x_tap = tap % grid.kernel[1];
  const InsideWindows rows(grid, 0, y_tap);
  const InsideWindows columns(grid, 1, x_tap);
  const int64_t step = grid.stride[1];
  for (int64_t y = rows.begin; y < rows.end; ++y) {
    const T* const line = row + y * grid.count[1];
    W* const target = plane + grid.place(0, y_tap, y) * grid.size[1] + grid.place(1, x_tap, 0);
    if (step == 1) {
      for (int64_t x = columns.begin; x < columns.end; ++x) {
        target[x] = static_cast<W>(target[x] + static_cast<W>(line[x]));
      }
    } else {
      for (int64_t x = columns.begin; x < columns.end; ++x) {
        target[x * step] = static_cast<W>(target[x * step] + static_cast<W>(line[x]));
      }
    }
  }
}

void col2im(ops::Launch&,
            const Tensor& self,
            IntList output_size,
            IntList kernel_size,
            IntList dilation,
            IntList padding,
            IntList stride,
            Tensor& out) {
  if (out.numel() == 0) return;
  const Tensor columns = as_contiguous(self);
  const WindowGrid grid(output_size, kernel_size, dilation, padding, stride);
  const int64_t planes = out.size(0) * out.size(1);
  const int64_t rows = grid.area() * grid.windows();
  visit_planes(out.dtype(), [&]<typename T>() {
    const auto* const from = static_cast<const T*>(columns.data_ptr());
    sum_planes(planes, grid.size[0] * grid.size[1], kWindowGrain / (rows + 1) + 1,
               static_cast<T*>(out.data_ptr()), [&](int64_t i, PlaneSum<T>* sums) {
                 for (int64_t tap = 0; tap < grid.area(); ++tap) {
                   add_column_row(grid, tap, from + i * rows + tap * grid.windows(), sums);
                 }
               });
  });
}

// --- the inverse of max_pool ---

[[noreturn]] void refuse_place(int64_t place, IntList output_size) {
  std::string sizes;
  for (const int64_t size : output_size) sizes += (sizes.empty() ? "" : "x") + std::to_string(size);
  MT_THROW(RuntimeError, "Found an invalid max index: ", place, " (output volumes are of size ",
           sizes, ")");
}

template <typename Unit>
void put_maxima(const Tensor& values, const Tensor& places, IntList output_size, const Tensor& to) {
  const int64_t volume = numel(output_size);
  const int64_t planes = volume == 0 ? 0 : to.numel() / volume;
  const int64_t count = planes == 0 ? 0 : values.numel() / planes;
  const auto* const from = static_cast<const Unit*>(values.data_ptr());
  const auto* const place = places.data<int64_t>();
  auto* const out = static_cast<Unit*>(to.data_ptr());
  parallel_for(0, planes, kWindowGrain / (volume + 1) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      Unit* const plane = out + i * volume;
      std::fill_n(plane, volume, Unit{});
      for (int64_t k = i * count; k < (i + 1) * count; ++k) {
        if (MT_UNLIKELY(place[k] < 0 || place[k] >= volume)) refuse_place(place[k], output_size);
        plane[place[k]] = from[k];
      }
    }
  });
}

void max_unpool(
    ops::Launch&, const Tensor& self, const Tensor& indices, IntList output_size, Tensor& out) {
  const Tensor values = as_contiguous(self);
  const Tensor places = as_index(indices);
  if (out.numel() == 0) {
    if (places.numel() != 0) refuse_place(places.data<int64_t>()[0], output_size);
    return;
  }
  const Tensor result = out.is_contiguous() ? out : Tensor::make(out.sizes(), out.dtype());
  switch (self.element_size()) {
    case 2:
      put_maxima<uint16_t>(values, places, output_size, result);
      break;
    case 4:
      put_maxima<uint32_t>(values, places, output_size, result);
      break;
    default:
      put_maxima<uint64_t>(values, places, output_size, result);
  }
  if (!result.is_same(out)) copy(result, out);
}

}  // namespace

void register_windows(ops::Registry& registry) {
  constexpr DTypeSet kColumnTypes = kFloatTypes | kComplexTypes | kBoolType;
  registry.kernel<im2col>(DeviceType::kCpu, "_im2col").takes(kColumnTypes);
  registry.kernel<col2im>(DeviceType::kCpu, "_col2im").takes(kColumnTypes);
  registry.kernel<max_unpool>(DeviceType::kCpu, "_max_unpool").takes(kFloatTypes);
}

}  // namespace mindtorch::cpu
