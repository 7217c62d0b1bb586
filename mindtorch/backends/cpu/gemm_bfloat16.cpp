#include <algorithm>

#include "mindtorch/backends/cpu/bfloat16_tiles.h"
#include "mindtorch/backends/cpu/gemm_impl.h"
#include "mindtorch/backends/cpu/half_conversion.h"
#include "mindtorch/backends/cpu/parallel.h"
#include "mindtorch/backends/cpu/product_grid.h"
#include "mindtorch/backends/cpu/scratch.h"

// Products where the machine multiplies bfloat16: Note [Products of bfloat16]. A thread computes a
// block of c by itself: what two threads both need they both pack, which costs less than reading
// from another core's cache.
namespace mindtorch::cpu {
namespace {

constexpr int64_t kPanelBytes = int64_t{1} << 20;  // packed at a time: they stay in the caches
constexpr int64_t kBlockRows = 128;                // whose sums are kept from term to term
constexpr GridLimits kGridLimits = {int64_t{1} << 19, 32, 512};
// Of a product whose b is not packed: sums and lines of b that stay in the caches.
constexpr int64_t kUnpackedCols = 1024;
constexpr int64_t kUnpackedTerms = 256;

struct Product {
  const BFloat16Tiles& tiles;
  int64_t m;
  int64_t n;
  int64_t k;
  ConstMatrix a;
  ConstMatrix b;
  Matrix c;
  float alpha;
  float beta;
  ConstMatrix addend;

  // Sums can be rounded to c from the registers.
  bool is_direct() const {
    return c.col_stride == 1 && alpha == 1 && (beta == 0 || (beta == 1 && addend.col_stride == 1));
  }
};

// Part of a product that is computed by one call.
struct Block {
  int64_t row;
  int64_t rows;
  int64_t col;
  int64_t cols;
};

// Sums of rows and columns in float, whose rows lie `stride` apart.
struct Sums {
  float* data;
  int64_t stride;
};

int64_t padded_cols(int64_t cols) { return ceil_div(cols, kPanelCols) * kPanelCols; }

// c of a block, from its sums.
void store_block(const Product& p, const Block& block, Sums sums) {
  const Matrix c = offset<uint16_t>(p.c, block.row, block.col);
  const bool adds_other = p.beta != 0 && p.addend.data != p.c.data;
  if (c.row_stride == 1 && p.alpha == 1 && (p.beta == 0 || p.beta == 1) && !adds_other) {
    return store_transposed(sums.data, sums.stride, block.rows, block.cols,
                            static_cast<uint16_t*>(c.data), c.col_stride, p.beta == 1);
  }
  const HalfConversion convert(DType::kBFloat16);
  const Scratch<float> other(adds_other ? block.cols : 0);
  for (int64_t r = 0; r < block.rows; ++r) {
    float* const line = sums.data + r * sums.stride;
    if (adds_other) {
      convert.widen(offset<uint16_t>(p.addend, block.row + r, block.col).data, other.get(),
                    block.cols);
      for (int64_t i = 0; i < block.cols; ++i) line[i] += other.get()[i];
    }
    auto* const out = static_cast<uint16_t*>(c.data) + r * c.row_stride;
    store_halves(convert, block.cols, line, out, c.col_stride, p.alpha, adds_other ? 0 : p.beta);
  }
}

// A strip of `block` without its operands. Where its sums are complete, they are rounded to c.
BFloat16Strip make_strip(
    const Product& p, const Block& block, int64_t term, int64_t terms, Sums sums, bool rounds) {
  BFloat16Strip strip = {};
  strip.rows = block.rows;
  strip.terms = terms;
  strip.cols = block.cols;
  strip.sums = sums.data;
  strip.sums_stride = sums.stride;
  strip.add = term > 0;
  if (!rounds || term + terms < p.k) return strip;
  strip.out = static_cast<uint16_t*>(offset<uint16_t>(p.c, block.row, block.col).data);
  strip.out_stride = p.c.row_stride;
  if (p.beta == 0) return strip;
  strip.addend =
      static_cast<const uint16_t*>(offset<uint16_t>(p.addend, block.row, block.col).data);
  strip.addend_stride = p.addend.row_stride;
  return strip;
}

// Few rows: b is read once, as it lies. `kept` as below.
void multiply_few_rows(const Product& p, Sums kept) {
  const BFloat16Tiles& tiles = *avx512_bfloat16_tiles();
  const int64_t cols = std::min(p.n, kUnpackedCols);
  const bool rounds = kept.data == nullptr && p.is_direct();
  const int64_t sums_count = kept.data == nullptr ? p.m * padded_cols(cols) : 0;
  KeptScratch kept_block(KeptScratch::room<uint16_t>(p.m * kUnpackedTerms) +
                         KeptScratch::room<float>(sums_count));
  auto* const packed = kept_block.take<uint16_t>(p.m * kUnpackedTerms);
  auto* const own_sums = kept_block.take<float>(sums_count);
  for (int64_t col = 0; col < p.n; col += cols) {
    const Block block = {0, p.m, col, std::min(cols, p.n - col)};
    const Sums sums = kept.data == nullptr ? Sums{own_sums, padded_cols(cols)}
                                           : Sums{kept.data + col, kept.stride};
    for (int64_t term = 0; term < p.k; term += kUnpackedTerms) {
      const int64_t terms = std::min(kUnpackedTerms, p.k - term);
      BFloat16Strip strip = make_strip(p, block, term, terms, sums, rounds);
      strip.a = tiles.pack_strip(offset<uint16_t>(p.a, 0, term), p.m, terms, 0, packed);
      multiply_unpacked(strip, static_cast<const uint16_t*>(offset<uint16_t>(p.b, term, col).data),
                        p.b.row_stride);
    }
    if (!rounds && kept.data == nullptr) store_block(p, block, sums);
  }
}

// All of p on this thread. Its sums stay in `kept`, if there is any, which has room for whole
// panels.
void multiply(const Product& p, Sums kept) {
  if (p.m <= p.tiles.unpacked_rows && p.b.col_stride == 1) return multiply_few_rows(p, kept);
  const BFloat16Tiles& tiles = p.tiles;
  const int64_t padded = ceil_div(p.k, tiles.step_terms) * tiles.step_terms;
  const int64_t words = padded / 2 * kPanelCols;
  const int64_t panels = ceil_div(p.n, kPanelCols);
  const int64_t most = std::clamp<int64_t>(
      kPanelBytes / (words * static_cast<int64_t>(sizeof(uint32_t))), 1, panels);
  const bool rounds = kept.data == nullptr && p.is_direct();
  const bool in_one = p.k <= tiles.strip_terms;
  const int64_t height = strip_rows(tiles, p.m);
  // Columns of a are short pieces of lines: those of more strips are read at once.
  const int64_t at_once = p.a.row_stride == 1 ? tiles.packed_strips * height : height;
  const int64_t block_rows =
      in_one || p.m <= at_once ? at_once : std::max(kBlockRows / at_once, int64_t{1}) * at_once;
  const bool needs_sums = kept.data == nullptr && !(rounds && in_one);

  const int64_t strip_count =
      tiles.packed_strips * tiles.rows * std::min(padded, tiles.strip_terms);
  const int64_t sums_count = needs_sums ? (block_rows + tiles.rows) * most * kPanelCols : 0;
  KeptScratch kept_block(KeptScratch::room<uint32_t>(most * words) +
                         KeptScratch::room<uint16_t>(strip_count) +
                         KeptScratch::room<float>(sums_count));
  auto* const packed_b = kept_block.take<uint32_t>(most * words);
  auto* const packed_a = kept_block.take<uint16_t>(strip_count);
  auto* const own_sums = kept_block.take<float>(sums_count);
  for (int64_t first = 0; first < panels; first += most) {
    const int64_t count = std::min(most, panels - first);
    const int64_t col = first * kPanelCols;
    const int64_t cols = std::min(count * kPanelCols, p.n - col);
    for (int64_t i = 0; i < count; ++i) {
      pack_bfloat16_panel(offset<uint16_t>(p.b, 0, col + i * kPanelCols),
                          std::min(kPanelCols, cols - i * kPanelCols), p.k, padded,
                          packed_b + i * words);
    }
    for (int64_t row = 0; row < p.m; row += block_rows) {
      const Block block = {row, std::min(block_rows, p.m - row), col, cols};
      const Sums sums = kept.data != nullptr
                            ? Sums{kept.data + row * kept.stride + col, kept.stride}
                        : needs_sums ? Sums{own_sums, most * kPanelCols}
                                     : Sums{nullptr, 0};
      for (int64_t term = 0; term < p.k; term += tiles.strip_terms) {
        const int64_t terms = std::min(tiles.strip_terms, p.k - term);
        BFloat16Rows packed = {};
        for (int64_t r = 0; r < block.rows; r += height) {
          const Block part = {row + r, std::min(height, block.rows - r), col, cols};
          const Sums own = {sums.data == nullptr ? nullptr : sums.data + r * sums.stride,
                            sums.stride};
          BFloat16Strip strip = make_strip(p, part, term, terms, own, rounds);
          if (r % at_once == 0) {
            packed = tiles.pack_strip(offset<uint16_t>(p.a, part.row, term),
                                      std::min(at_once, block.rows - r), terms, count, packed_a);
          }
          strip.a = packed;
          strip.a.data += r % at_once * packed.row_stride;
          strip.panels = packed_b + term / 2 * kPanelCols;
          strip.panel_words = words;
          tiles.multiply_strip(strip);
        }
      }
      if (!rounds && kept.data == nullptr) store_block(p, block, sums);
    }
  }
}

// Rows and columns of p.
Product part_of(const Product& p, const Block& block) {
  Product part = p;
  part.m = block.rows;
  part.n = block.cols;
  part.a = offset<uint16_t>(p.a, block.row, 0);
  part.b = offset<uint16_t>(p.b, 0, block.col);
  part.c = offset<uint16_t>(p.c, block.row, block.col);
  part.addend = offset<uint16_t>(p.addend, block.row, block.col);
  return part;
}

Block block_of(const Product& p, const ProductGrid& grid, int64_t i) {
  const int64_t row = i / grid.cols;
  const int64_t col = i % grid.cols;
  Block block = {};
  block.row = piece_begin(p.m, grid.rows, row, p.tiles.row_unit);
  block.rows = piece_begin(p.m, grid.rows, row + 1, p.tiles.row_unit) - block.row;
  block.col = piece_begin(p.n, grid.cols, col, kPanelCols);
  block.cols = piece_begin(p.n, grid.cols, col + 1, kPanelCols) - block.col;
  return block;
}

// Blocks of c and of terms; the sums over each block of terms are added at the end.
void multiply_terms_apart(const Product& p, const ProductGrid& grid) {
  const int64_t blocks = grid.rows * grid.cols;
  const int64_t stride = padded_cols(ceil_div(p.n, grid.cols) + kPanelCols);
  const int64_t size = (ceil_div(p.m, grid.rows) + p.tiles.row_unit) * stride;
  const Scratch<float> sums(blocks * grid.terms * size);
  parallel_for(0, blocks * grid.terms, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      Product part = part_of(p, block_of(p, grid, i / grid.terms));
      const int64_t term = piece_begin(p.k, grid.terms, i % grid.terms, p.tiles.step_terms);
      const int64_t next = piece_begin(p.k, grid.terms, i % grid.terms + 1, p.tiles.step_terms);
      part.k = next - term;
      part.a = offset<uint16_t>(part.a, 0, term);
      part.b = offset<uint16_t>(part.b, term, 0);
      multiply(part, {sums.get() + i * size, stride});
    }
  });
  for (int64_t i = 0; i < blocks; ++i) {
    const Block block = block_of(p, grid, i);
    float* const total = sums.get() + i * grid.terms * size;
    for (int64_t j = size; j < grid.terms * size; j += size) {
      for (int64_t r = 0; r < block.rows; ++r) {
        float* const line = total + r * stride;
        for (int64_t c = 0; c < block.cols; ++c) line[c] += line[j + c];
      }
    }
    store_block(p, block, {total, stride});
  }
}

}  // namespace

void gemm_bfloat16(int64_t m,
                   int64_t n,
                   int64_t k,
                   ConstMatrix a,
                   ConstMatrix b,
                   Matrix c,
                   float alpha,
                   float beta,
                   ConstMatrix addend) {
  const Product p = {*bfloat16_tiles(), m, n, k, a, b, c, alpha, beta, addend};
  // Few rows wait for b: the time of a block is that of more rows.
  const ProductGrid grid = choose_grid(std::max(m, kMostUnpackedRows), n, k, kGridLimits);
  if (grid.blocks() == 1) return multiply(p, {nullptr, 0});
  if (grid.terms > 1) return multiply_terms_apart(p, grid);
  parallel_for(0, grid.blocks(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const Block block = block_of(p, grid, i);
      if (block.rows > 0 && block.cols > 0) multiply(part_of(p, block), {nullptr, 0});
    }
  });
}

}  // namespace mindtorch::cpu
