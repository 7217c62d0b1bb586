#pragma once

#include <algorithm>
#include <cstdint>

namespace mindtorch::cpu {

// The sections in which rows are added up to lines of sums. Only the sizes decide on them, so that
// the sums do not depend on the number of threads.
class RowSections {
 public:
  RowSections(int64_t rows, int64_t columns)
      : rows_(rows),
        count_(std::clamp<int64_t>(
            std::min(rows / kLeastRows, rows * columns / kLeastElements), 1, kMost)) {}
  int64_t count() const { return count_; }

  // add(first, last, line) adds rows to a line of `width` zeros. `total` becomes the sum of the
  // lines of all sections, in their order.
  template <typename T, typename Add>  // T: float, double
  void sum(int64_t width, T* total, const Add& add) const {
    run<T>(
        width, total,
        [](const void* erased, int64_t first, int64_t last, T* line) {
          (*static_cast<const Add*>(erased))(first, last, line);
        },
        &add);
  }

 private:
  // Of a section: with fewer, adding its line would count.
  static constexpr int64_t kLeastRows = 8;
  static constexpr int64_t kLeastElements = 16 * 1024;
  static constexpr int64_t kMost = 16;

  template <typename T>
  using AddFn = void (*)(const void* add, int64_t first, int64_t last, T* line);
  template <typename T>
  void run(int64_t width, T* total, AddFn<T> call, const void* add) const;

  int64_t rows_;
  int64_t count_;
};

}  // namespace mindtorch::cpu
