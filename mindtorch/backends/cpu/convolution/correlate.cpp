#include <cstring>

#include "mindtorch/backends/cpu/convolution/filter_panels.h"
#include "mindtorch/backends/cpu/convolution/patch.h"
#include "mindtorch/backends/cpu/convolution/tiles.h"
#include "mindtorch/backends/cpu/copy_matrix.h"
#include "mindtorch/backends/cpu/gemm_impl.h"
#include "mindtorch/backends/cpu/parallel.h"

namespace mindtorch::cpu::convolution {
namespace {

// Multiplications that are worth a thread.
constexpr int64_t kGrain = int64_t{1} << 17;
// Bytes of a patch: it should stay in the second cache, beside the filters.
constexpr int64_t kPatchBytes = int64_t{256} << 10;

// The filters of all groups, as tiles<T>().multiply() takes them.
template <typename T>
void pack(const Correlation& c, const T* filters, const FilterStrides& strides, T* packed) {
  const int64_t most = tiles<T>().panel_rows;
  const int64_t panels = ceil_div(c.filters, most);
  const int64_t grain = ceil_div(kPackGrain, most * c.terms() + 1);
  parallel_for(0, c.groups * panels, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t group = i / panels;
      const int64_t last = std::min(c.filters, (i % panels + 1) * most);
      int64_t rows = most;
      for (int64_t row = i % panels * most; row < last; row += rows) {
        while (rows > last - row) rows /= 2;
        pack_terms(c, filters + group * strides.group + row * strides.filter, strides, rows, rows,
                   packed + (group * c.filters + row) * c.terms());
      }
    }
  });
}

// How many parts the panels of filters are divided into, where there are fewer tasks than threads.
int64_t choose_parts(int64_t tasks, int64_t panels, int64_t work) {
  if (in_parallel_region()) return 1;
  const int64_t threads = std::min<int64_t>(num_threads(), work / kGrain);
  return std::clamp<int64_t>(threads / std::max<int64_t>(tasks, 1), 1, panels);
}

// Blocks of output rows: small enough for the cache, and enough of them for the threads.
int64_t choose_rows(const Correlation& c, const PatchLayout& layout, int64_t element) {
  const int64_t rows = c.axes[1].out;
  const int64_t of_one = (layout.channel_size(2) - layout.channel_size(1)) * c.channels * element;
  const int64_t most = std::max<int64_t>(kPatchBytes / std::max<int64_t>(of_one, 1), 1);
  int64_t blocks = ceil_div(rows, most);
  const int64_t others = c.batch * c.groups * c.axes[0].out;
  const int64_t threads = num_threads();
  if (others * blocks < threads) blocks = std::min(rows, ceil_div(threads, others));
  return ceil_div(rows, blocks);
}

template <typename T>
struct Job {
  const Correlation& c;
  PatchLayout layout;
  const T* input;
  const T* packed;
  const T* bias;
  T* result;

  int64_t input_channel() const { return c.axes[0].in * c.axes[1].in * c.axes[2].in; }
  int64_t result_channel() const { return c.axes[0].size * c.axes[1].size * c.axes[2].size; }
  const T* input_of(int64_t image, int64_t group) const {
    return input + (image * c.groups + group) * c.channels * input_channel();
  }
  T* result_of(int64_t image, int64_t group) const {
    return result + (image * c.groups + group) * c.filters * result_channel();
  }
  const T* packed_of(int64_t group) const { return packed + group * c.filters * c.terms(); }
  const T* bias_of(int64_t group) const {
    return bias == nullptr ? nullptr : bias + group * c.filters;
  }
};

// Windows of one element: a product of matrices as they lie, by columns.
template <typename T>
void multiply_in_place(const Job<T>& job) {
  const Correlation& c = job.c;
  const int64_t size = c.outputs();
  const int64_t images = c.batch * c.groups;
  const int64_t pieces = std::max<int64_t>(
      1, std::min(ceil_div(num_threads(), images), size * c.terms() * c.filters / kGrain));
  const int64_t length = ceil_div(ceil_div(size, pieces), 64) * 64;
  const int64_t count = ceil_div(size, length);
  std::vector<int64_t> offsets;
  job.layout.offsets(c.axes[1].out, c.channels, offsets);
  const int64_t work = length * c.terms() * c.filters + 1;
  parallel_for(0, images * count, ceil_div(kGrain, work), [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const int64_t image = task / count / c.groups;
      const int64_t group = task / count % c.groups;
      const int64_t at = task % count * length;
      tiles<T>().multiply(job.packed_of(group), c.filters, job.input_of(image, group) + at,
                          offsets.data(), c.terms(), std::min(length, size - at),
                          job.bias_of(group), job.result_of(image, group) + at,
                          job.result_channel(), true);
    }
  });
}

template <typename T>
void multiply_patches(const Job<T>& job) {
  const Correlation& c = job.c;
  const Axis& depth = c.axes[0];
  const int64_t height = choose_rows(c, job.layout, sizeof(T));
  const int64_t blocks = ceil_div(c.axes[1].out, height);
  const int64_t tasks = c.batch * c.groups * depth.out * blocks;
  const int64_t pitch = job.layout.pitch();
  const int64_t most = job.layout.positions(height);
  const int64_t panel = tiles<T>().panel_rows;
  const int64_t work = most * c.terms() * c.filters + 1;
  const int64_t panels = ceil_div(c.filters, panel);
  const int64_t parts = choose_parts(tasks, panels, tasks * work);
  const int64_t grain = ceil_div(kGrain, ceil_div(work, parts));
  parallel_for(0, tasks * parts, grain, [&](int64_t begin, int64_t end) {
    const Scratch<T> patch(job.layout.channel_size(height) * c.channels);
    const Scratch<T> rows_of_result(panel * most);
    std::vector<int64_t> offsets;
    int64_t offsets_for = 0;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t task = i / parts;
      const int64_t part = i % parts;
      const int64_t z = task / blocks % depth.out;
      const int64_t group = task / blocks / depth.out % c.groups;
      const int64_t image = task / blocks / depth.out / c.groups;
      const int64_t row = task % blocks * height;
      const int64_t rows = std::min(height, c.axes[1].out - row);
      if (rows <= 0) continue;
      if (rows != offsets_for) job.layout.offsets(rows, c.channels, offsets);
      offsets_for = rows;
      job.layout.fill(job.input_of(image, group), c.channels, z, row, rows, patch.get());
      const int64_t positions = job.layout.positions(rows);
      const T* const bias = job.bias_of(group);
      for (int64_t p = panels * part / parts; p < panels * (part + 1) / parts; ++p) {
        const int64_t m = p * panel;
        const int64_t count = std::min(panel, c.filters - m);
        tiles<T>().multiply(
            job.packed_of(group) + m * c.terms(), count, patch.get(), offsets.data(), c.terms(),
            positions, bias == nullptr ? nullptr : bias + m, rows_of_result.get(), most, false);
        T* to = job.result_of(image, group) + m * job.result_channel() +
                (depth.first + z * depth.step) * c.axes[1].size * c.axes[2].size;
        for (int64_t j = 0; j < count; ++j, to += job.result_channel()) {
          place(c, row, rows, rows_of_result.get() + j * most, pitch, to);
        }
      }
    }
  });
}

// Note [Outputs or filters]
// A vector holds the outputs of one filter or the filters of one output. The first takes images as
// they lie, but computes the gaps between rows too; the second computes nothing in vain when the
// filters fill their vectors, but its results have to be transposed.
template <typename T>
bool is_better_by_filters(const Correlation& c, const PatchLayout& layout) {
  const double by_outputs =
      static_cast<double>(c.axes[2].out) / static_cast<double>(layout.pitch());
  const double transposing = 1 + 8 / static_cast<double>(c.terms() + 1);
  return filled_by_filters<T>(c) > by_outputs * transposing;
}

}  // namespace

template <typename T>
void correlate(const Correlation& c,
               const T* input,
               const T* filters,
               const FilterStrides& strides,
               const T* bias,
               T* result) {
  if (c.batch * c.groups * c.filters * c.outputs() == 0) return;
  Job<T> job = {c, PatchLayout(c), input, nullptr, bias, result};
  const auto is_whole = [](const Axis& axis) { return axis.step == 1 && axis.size == axis.out; };
  if (!job.layout.is_input() && std::all_of(c.axes.begin(), c.axes.end(), is_whole) &&
      is_better_by_filters<T>(c, job.layout)) {
    return correlate_lines(c, Order::kChannelsFirst, input, filters, strides, bias, result);
  }
  const Scratch<T> packed(c.groups * c.filters * c.terms());
  pack(c, filters, strides, packed.get());
  job.packed = packed.get();
  if (job.layout.is_input()) {
    multiply_in_place(job);
  } else {
    multiply_patches(job);
  }
}

template void correlate(
    const Correlation&, const float*, const float*, const FilterStrides&, const float*, float*);
template void correlate(
    const Correlation&, const double*, const double*, const FilterStrides&, const double*, double*);

}  // namespace mindtorch::cpu::convolution
