#include "mindtorch/backends/cpu/packed_product.h"

#include <algorithm>

#include "mindtorch/backends/cpu/product/plan.h"
#include "mindtorch/backends/cpu/product/tiles.h"
#include "mindtorch/base/error.h"

namespace mindtorch::cpu {
namespace {

// Terms of a panel that are summed at a time: as many columns stay in the first cache.
constexpr int64_t kDepth = 128;
// So many rows of a at competing distances have room in the first cache.
constexpr int64_t kMostCompeting = 8;

// Panel after panel, row by row; the last one is filled up with zeros.
template <typename S>
void pack(
    ConstMatrix b, int64_t k, int64_t n, int64_t width, typename product::SumOf<S>::type* to) {
  for (int64_t column = 0; column < n; column += width, to += k * width) {
    product::packing<S>().pack_panel(offset<S>(b, 0, column), k, std::min(width, n - column), width,
                                     to);
  }
}

}  // namespace

template <typename T>
PackedMatrix<T>::PackedMatrix(DType dtype, ConstMatrix b, int64_t k, int64_t n) : k_(k), n_(n) {
  const int64_t width = product::tiles<T>().panel_columns();
  panels_.allocate(ceil_div(n, width) * width * k);
  T* const to = panels_.get();
  if constexpr (std::is_same_v<T, float>) {
    if (dtype == DType::kFloat16) {
      pack<Half>(b, k, n, width, to);
    } else if (dtype == DType::kBFloat16) {
      pack<BFloat16>(b, k, n, width, to);
    } else {
      pack<float>(b, k, n, width, to);
    }
  } else {
    MT_ASSERT(dtype == DTypeOf<T>::value);
    pack<T>(b, k, n, width, to);
  }
}

template <typename T>
void PackedMatrix<T>::multiply(
    const T* a, int64_t a_stride, int64_t rows, T* c, int64_t c_stride, bool add) const {
  const product::Tiles<T>& tiles = product::tiles<T>();
  const int64_t width = tiles.panel_columns();
  const bool competes = a_stride * static_cast<int64_t>(sizeof(T)) % product::kCompetingBytes == 0;
  const int64_t most = competes ? std::min(kMostCompeting, tiles.rows) : tiles.rows;
  const int64_t strips = ceil_div(rows, most);
  product::Tile<T> tile = {};
  tile.a_row = a_stride;
  tile.a_term = 1;
  tile.b_term = width;
  tile.c_row = c_stride;
  tile.addend_row = c_stride;
  tile.alpha = 1;
  tile.beta = 1;
  for (int64_t column = 0; column < n_; column += width) {
    tile.columns = std::min(width, n_ - column);
    const auto& multiply = tiles.by_rows[tile.columns > tiles.lanes ? 1 : 0];
    for (int64_t term = 0; term < k_; term += kDepth) {
      tile.terms = std::min(kDepth, k_ - term);
      tile.b = panels_.get() + column * k_ + term * width;
      const bool adds = add || term > 0;
      for (int64_t i = 0; i < strips; ++i) {
        const int64_t row = rows * i / strips;
        tile.a = a + row * a_stride + term;
        tile.c = c + row * c_stride + column;
        tile.addend = adds ? tile.c : nullptr;
        multiply[rows * (i + 1) / strips - row - 1](tile);
      }
    }
  }
}

template class PackedMatrix<float>;
template class PackedMatrix<double>;

}  // namespace mindtorch::cpu
