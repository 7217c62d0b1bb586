#include "mindtorch/backends/cpu/kernels/row_sections.h"

#include "mindtorch/backends/cpu/parallel.h"
#include "mindtorch/backends/cpu/scratch.h"

namespace mindtorch::cpu {

template <typename T>
void RowSections::run(int64_t width, T* total, AddFn<T> call, const void* add) const {
  const bool is_shared = count_ > 1 && num_threads() > 1 && !in_parallel_region();
  const int64_t others = count_ == 1 ? 0 : is_shared ? count_ - 1 : 1;
  const ScratchArray<T> lines(others * width);
  const auto line_of = [&](int64_t section) {
    return section == 0 ? total : lines.get() + (is_shared ? section - 1 : 0) * width;
  };
  const auto compute = [&](int64_t section) {
    T* const line = line_of(section);
    std::fill_n(line, width, T{0});
    call(add, rows_ * section / count_, rows_ * (section + 1) / count_, line);
  };
  if (is_shared) {
    parallel_for(0, count_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) compute(i);
    });
  }
  for (int64_t i = 0; i < count_; ++i) {
    if (!is_shared) compute(i);
    const T* const line = line_of(i);
    for (int64_t k = 0; k < width && i > 0; ++k) total[k] += line[k];
  }
}

template void RowSections::run(int64_t, float*, AddFn<float>, const void*) const;
template void RowSections::run(int64_t, double*, AddFn<double>, const void*) const;

}  // namespace mindtorch::cpu
