#include "mindtorch/backends/cpu/pooling/plane.h"
#include "mindtorch/backends/cpu/ceil_div.h"

namespace mindtorch::cpu::pooling {
namespace {

template <typename Fill>
Plane make_plane(IntList in, IntList out, size_t n, const Fill& fill) {
  Plane plane;
  plane.count = numel(in.first(in.size() - n));
  for (size_t i = 0; i < n; ++i) {
    Windows& w = plane.axes[3 - n + i];
    w = {in[in.size() - n + i], 1, {}, {}, {}};
    const int64_t count = out[out.size() - n + i];
    for (int64_t o = 0; o < count; ++o) fill(w, i, o, count);
  }
  return plane;
}

int64_t entry(IntList list, size_t i) { return list[list.size() == 1 ? 0 : i]; }

struct Neighbours {
  size_t first;
  int64_t count;
  int64_t stride;
};
std::vector<Neighbours> find_neighbours(const Windows& w) {
  std::vector<Neighbours> found;
  for (size_t i = 0; i < w.begin.size(); ++i) {
    if (!found.empty()) {
      Neighbours& last = found.back();
      const int64_t stride = w.begin[i] - w.begin[i - 1];
      if (w.inside(i) == w.inside(last.first) && w.size[i] == w.size[last.first] && stride > 0 &&
          (last.count == 1 || stride == last.stride)) {
        last.stride = stride;
        ++last.count;
        continue;
      }
    }
    found.push_back({i, 1, 1});
  }
  return found;
}

}  // namespace

Plane max_windows(IntList in,
                  IntList out,
                  size_t n,
                  IntList kernel,
                  IntList stride,
                  IntList padding,
                  IntList dilation) {
  return make_plane(in, out, n, [&](Windows& w, size_t i, int64_t o, int64_t) {
    w.step = entry(dilation, i);
    const int64_t first = o * entry(stride.empty() ? kernel : stride, i) - entry(padding, i);
    const int64_t end = std::min(first + (entry(kernel, i) - 1) * w.step + 1, w.in);
    w.begin.push_back(first >= 0 ? first : first + ceil_div(-first, w.step) * w.step);
    w.end.push_back(end);
    w.size.push_back(0);
  });
}

Plane avg_windows(
    IntList in, IntList out, size_t n, IntList kernel, IntList stride, IntList padding) {
  return make_plane(in, out, n, [&](Windows& w, size_t i, int64_t o, int64_t) {
    const int64_t pad = entry(padding, i);
    const int64_t first = o * entry(stride.empty() ? kernel : stride, i) - pad;
    const int64_t end = std::min(first + entry(kernel, i), w.in + pad);
    w.begin.push_back(std::max<int64_t>(first, 0));
    w.end.push_back(std::min(end, w.in));
    w.size.push_back(end - first);
  });
}

Plane adaptive_windows(IntList in, IntList out, size_t n) {
  return make_plane(in, out, n, [](Windows& w, size_t, int64_t o, int64_t count) {
    w.begin.push_back(o * w.in / count);
    w.end.push_back(ceil_div((o + 1) * w.in, count));
    w.size.push_back(w.end.back() - w.begin.back());
  });
}

void merge_whole(Plane& plane) {
  const auto is_whole = [](const Windows& w) {
    return w.out() == 1 && w.begin[0] == 0 && w.end[0] == w.in && w.step == 1;
  };
  Windows& width = plane.axes[2];
  for (size_t i = 2; i-- > 0 && is_whole(plane.axes[i]) && is_whole(width);) {
    width.in *= plane.axes[i].in;
    width.end[0] = width.in;
    width.size[0] *= plane.axes[i].size[0];
    plane.axes[i] = {};
  }
}

WindowRows::WindowRows(const Plane& plane, const Divisor& divisor) {
  const auto& [depth, height, width] = plane.axes;
  const std::vector<Neighbours> neighbours = find_neighbours(width);
  per_row_ = neighbours.size();
  is_irregular_ = per_row_ > 3;  // a border has one run on each side of the others
  std::vector<size_t> starts;
  for (size_t d = 0; d < depth.begin.size(); ++d) {
    for (size_t h = 0; h < height.begin.size(); ++h) {
      starts.push_back(covered_.size());
      for (int64_t z = depth.begin[d]; z < depth.end[d]; z += depth.step) {
        for (int64_t y = height.begin[h]; y < height.end[h]; y += height.step) {
          covered_.push_back((z * height.in + y) * width.in);
        }
      }
      const auto rows = static_cast<int64_t>(covered_.size() - starts.back());
      for (const Neighbours& own : neighbours) {
        const int64_t taps = ceil_div(width.inside(own.first), width.step);
        const WindowRow windows = {nullptr,    rows,     width.begin[own.first], own.stride, taps,
                                   width.step, own.count};
        runs_.push_back({own.first, windows, divisor.of(plane, d, h, own.first)});
      }
    }
  }
  for (size_t i = 0; i < runs_.size(); ++i) {
    runs_[i].windows.rows = covered_.data() + starts[i / per_row_];
  }
}

}  // namespace mindtorch::cpu::pooling
