#include <algorithm>

#include "mindtorch/backends/cpu/bfloat16_tiles.h"
#include "mindtorch/backends/cpu/gemm_impl.h"
#include "mindtorch/backends/cpu/half_conversion.h"
#include "mindtorch/backends/cpu/parallel.h"

// Products where the machine multiplies bfloat16: Note [Products of bfloat16]. Panels of b are
// packed once, by all threads, and shared; each thread then packs and multiplies strips of a.
namespace mindtorch::cpu {
namespace {

constexpr int64_t kPanelBytes = int64_t{2} << 20;  // packed at a time: they stay in the caches
constexpr int64_t kStripTerms = 1024;              // of a that are packed at a time
constexpr int64_t kPackGrain = int64_t{1} << 15;   // elements
constexpr int64_t kWorkGrain = int64_t{1} << 20;   // multiplications
constexpr int64_t kLeastPartPanels = 2;
constexpr int64_t kStoredPanels = 8;

struct Product {
  const BFloat16Tiles& tiles;
  int64_t m;
  int64_t n;
  int64_t k;
  ConstMatrix a;
  Matrix c;
  float alpha;
  float beta;
  const HalfConversion& convert;
};

// The panels of b that are packed: columns [first_col, first_col + cols) of the product.
struct Panels {
  const uint32_t* data;
  int64_t words;  // of one
  int64_t first_col;
  int64_t cols;
};

// Rows and terms of one strip, and its sums.
struct StripScratch {
  StripScratch(const Product& p, int64_t cols)
      : stride(cols), packed(p.tiles.rows * kStripTerms), sums(p.tiles.rows * cols) {}
  int64_t stride;
  Scratch<uint16_t> packed;
  Scratch<float> sums;
};

// Sums of `panels` panels and the terms of k that are in the strip.
void multiply_terms(
    const Product& p, const Panels& b, int64_t term, int64_t panels, StripScratch& scratch) {
  p.tiles.multiply_strip(scratch.packed.get(), b.data + term / 2 * kPanelCols, b.words, panels,
                         std::min(kStripTerms, p.k - term), scratch.sums.get(), scratch.stride,
                         term > 0);
}

void pack_terms(const Product& p, int64_t row, int64_t term, StripScratch& scratch) {
  p.tiles.pack_strip(offset<uint16_t>(p.a, row, term), std::min(p.tiles.rows, p.m - row),
                     std::min(kStripTerms, p.k - term), scratch.packed.get());
}

void store_strip(const Product& p, const Panels& b, int64_t row, StripScratch& scratch) {
  for (int64_t r = 0; r < std::min(p.tiles.rows, p.m - row); ++r) {
    auto* const out = static_cast<uint16_t*>(offset<uint16_t>(p.c, row + r, b.first_col).data);
    store_halves(p.convert, b.cols, scratch.sums.get() + r * scratch.stride, out, p.c.col_stride,
                 p.alpha, p.beta);
  }
}

// `panels` panels of b from `first` on.
Panels part_of(const Panels& b, int64_t first, int64_t panels) {
  return {b.data + first * b.words, b.words, b.first_col + first * kPanelCols,
          std::min(panels * kPanelCols, b.cols - first * kPanelCols)};
}

// c of one strip of rows and some panels.
void multiply_strip(const Product& p, const Panels& b, int64_t row, StripScratch& scratch) {
  const int64_t panels = ceil_div(b.cols, kPanelCols);
  if (p.k <= kStripTerms) {  // sums are complete while they are in the first cache
    pack_terms(p, row, 0, scratch);
    for (int64_t i = 0; i < panels; i += kStoredPanels) {
      const Panels part = part_of(b, i, kStoredPanels);
      multiply_terms(p, part, 0, std::min(kStoredPanels, panels - i), scratch);
      store_strip(p, part, row, scratch);
    }
    return;
  }
  for (int64_t term = 0; term < p.k; term += kStripTerms) {
    pack_terms(p, row, term, scratch);
    multiply_terms(p, b, term, panels, scratch);
  }
  store_strip(p, b, row, scratch);
}

// c of all rows and the packed panels. Where there are fewer strips than threads, the panels of a
// strip are divided, too.
void multiply_panels(const Product& p, const Panels& b) {
  const int64_t strips = ceil_div(p.m, p.tiles.rows);
  const int64_t panels = ceil_div(b.cols, kPanelCols);
  const int64_t threads = in_parallel_region() ? 1 : num_threads();
  const int64_t wanted = threads == 1 ? 1 : ceil_div(2 * threads, strips);
  const int64_t part = std::max(ceil_div(panels, wanted), std::min(panels, kLeastPartPanels));
  const int64_t parts = ceil_div(panels, part);
  const int64_t work = p.tiles.rows * part * kPanelCols * p.k;
  parallel_for(0, strips * parts, ceil_div(kWorkGrain, work), [&](int64_t begin, int64_t end) {
    StripScratch scratch(p, part * kPanelCols);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % parts * part;
      const Panels own = part_of(b, first, part);
      multiply_strip(p, own, i / parts * p.tiles.rows, scratch);
    }
  });
}

}  // namespace

void gemm_bfloat16(int64_t m,
                   int64_t n,
                   int64_t k,
                   ConstMatrix a,
                   ConstMatrix b,
                   Matrix c,
                   float alpha,
                   float beta) {
  const HalfConversion convert(DType::kBFloat16);
  const Product product = {*bfloat16_tiles(), m, n, k, a, c, alpha, beta, convert};
  const int64_t step = product.tiles.step_terms;
  const int64_t padded = ceil_div(k, step) * step;
  const int64_t words = padded / 2 * kPanelCols;
  const int64_t panels = ceil_div(n, kPanelCols);
  const int64_t most = std::clamp<int64_t>(
      kPanelBytes / (words * static_cast<int64_t>(sizeof(uint32_t))), 1, panels);
  const Scratch<uint32_t> packed(most * words);
  for (int64_t first = 0; first < panels; first += most) {
    const int64_t count = std::min(most, panels - first);
    const int64_t first_col = first * kPanelCols;
    parallel_for(0, count, ceil_div(kPackGrain, k * kPanelCols), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t col = first_col + i * kPanelCols;
        pack_bfloat16_panel(offset<uint16_t>(b, 0, col), std::min(kPanelCols, n - col), k, padded,
                            packed.get() + i * words);
      }
    });
    multiply_panels(product,
                    {packed.get(), words, first_col, std::min(count * kPanelCols, n - first_col)});
  }
}

}  // namespace mindtorch::cpu
