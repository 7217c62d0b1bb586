#include "mindtorch/backends/cpu/attention/rows.h"

#include <algorithm>

#include "mindtorch/backends/cpu/copy_matrix.h"
#include "mindtorch/backends/cpu/tile.h"

namespace mindtorch::cpu::attention {

Rows::Rows(const Tensor& tensor, int64_t number)
    : data(static_cast<std::byte*>(tensor.data_ptr())),
      dtype(tensor.dtype()),
      count(tensor.size(-2)),
      width(tensor.size(-1)) {
  const size_t n = tensor.sizes().size();
  row_stride = tensor.strides()[n - 2];
  col_stride = tensor.strides()[n - 1];
  int64_t offset = 0;
  for (size_t i = n - 2; i-- > 0; number /= tensor.sizes()[i]) {
    offset += number % tensor.sizes()[i] * tensor.strides()[i];
  }
  data += offset * itemsize();
}

template <typename T>
void load(const Rows& from, int64_t first, int64_t count, T* to, int64_t stride) {
  const bool same = from.dtype == DTypeOf<T>::value;
  const bool in_order = from.col_stride == 1 || from.width <= 1;
  const ConstMatrix source = from.matrix(first);
  if (same) copy_matrix<T>(count, from.width, source, {to, stride, 1});
  const CastFn widen = find_cast(from.dtype, DTypeOf<T>::value);
  const Scratch<uint16_t> narrow(same || in_order ? 0 : count * from.width);
  if (!same && !in_order) {
    copy_matrix<uint16_t>(count, from.width, source, {narrow.get(), from.width, 1});
  }
  for (int64_t i = 0; i < count; ++i, to += stride) {
    if (!same) {
      widen(in_order ? static_cast<const void*>(from.at(first + i)) : narrow.get() + i * from.width,
            to, from.width);
    }
    std::fill(to + from.width, to + stride, T{0});
  }
}

template <typename T>
void store(const T* from, int64_t stride, const Rows& to, int64_t first, int64_t count) {
  const Matrix target = {to.at(first), to.row_stride, to.col_stride};
  if (to.dtype == DTypeOf<T>::value) {
    return copy_matrix<T>(count, to.width, {from, stride, 1}, target);
  }
  const CastFn round = find_cast(DTypeOf<T>::value, to.dtype);
  const bool in_order = to.col_stride == 1 || to.width <= 1;
  const Scratch<uint16_t> narrow(in_order ? 0 : count * to.width);
  for (int64_t i = 0; i < count; ++i) {
    round(from + i * stride,
          in_order ? static_cast<void*>(to.at(first + i)) : narrow.get() + i * to.width, to.width);
  }
  if (!in_order) copy_matrix<uint16_t>(count, to.width, {narrow.get(), to.width, 1}, target);
}

template <typename T>
void PackedColumns<T>::read(const PackedRows<T>& from, int64_t count, T factor) {
  for (int64_t j = 0; j < count; j += panel_) {
    const int64_t columns = std::min(panel_, count - j);
    T* const to = columns_.get() + j * width_;
    const int64_t size = panel_ * width_;
    if (columns < panel_) std::fill_n(to, size, T{0});
    copy_matrix<T>(width_, columns, {from.row(j), 1, from.stride()}, {to, panel_, 1});
    for (int64_t i = 0; i < size && factor != 1; ++i) to[i] *= factor;
  }
}

template void load(const Rows&, int64_t, int64_t, float*, int64_t);
template void load(const Rows&, int64_t, int64_t, double*, int64_t);
template void store(const float*, int64_t, const Rows&, int64_t, int64_t);
template void store(const double*, int64_t, const Rows&, int64_t, int64_t);
template class PackedColumns<float>;
template class PackedColumns<double>;

}  // namespace mindtorch::cpu::attention
