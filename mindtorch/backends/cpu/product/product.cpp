#include "mindtorch/backends/cpu/product/product.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>
#include <type_traits>

#include "mindtorch/backends/cpu/gemm_impl.h"
#include "mindtorch/backends/cpu/parallel.h"
#include "mindtorch/backends/cpu/product/few_rows.h"
#include "mindtorch/backends/cpu/product/plan.h"
#include "mindtorch/backends/cpu/product/sums.h"
#include "mindtorch/backends/cpu/product/tiles.h"
#include "mindtorch/backends/cpu/product/workspace.h"

namespace mindtorch::cpu::product {
namespace {

// From one row of a to the next where rows are copied: more than the longest, so that they do not
// compete for the same lines of the first cache.
constexpr int64_t kCopiedRowBytes = 1536 + 64;
// b of so many bytes stays in the first cache as it lies.
constexpr int64_t kSmallBytes = int64_t{32} << 10;
// So few rows of a need not have b packed if its rows lie close together.
constexpr int64_t kFewRows = 128;
// Panels for which it is worth copying rows of a.
constexpr int64_t kWorthCopying = 4;
// Packed b that threads share at a time.
constexpr int64_t kSharedBytes = int64_t{32} << 20;
constexpr int64_t kLeastShared = 512;  // columns

// While so many panels are multiplied, the next rows of a are brought near.
constexpr int64_t kPrefetchPanels = 4;

enum PanelState : uint8_t { kMissing, kBeingPacked, kPacked };

int64_t aligned(int64_t bytes) { return ceil_div(bytes, 64) * 64; }

template <typename S>
void prefetch_lines(const S* from, int64_t count, int64_t stride, int64_t length) {
  constexpr auto kLine = static_cast<int64_t>(64 / sizeof(S));
  for (int64_t i = 0; i < count; ++i, from += stride) {
    for (int64_t j = 0; j < length; j += kLine) __builtin_prefetch(from + j, 0, 2);
  }
}

// One product, or as many of a batch as share a workspace.
template <typename S>
class Multiplier {
 public:
  using T = typename SumOf<S>::type;

  explicit Multiplier(const Problem& problem)
      : p_(problem),
        tiles_(tiles<T>()),
        packing_(packing<S>()),
        width_(tiles_.panel_columns()),
        panels_(ceil_div(p_.n, width_)),
        column_stride_(ceil_div(std::min(tiles_.rows, p_.m), tiles_.lanes) * tiles_.lanes),
        direct_(std::is_same_v<S, T> && p_.c.col_stride == 1 &&
                (p_.addend.data == nullptr || p_.addend.col_stride == 1)),
        reads_b_(std::is_same_v<S, T> && p_.b.col_stride == 1 && is_near_as_it_lies()) {
    const Traits traits = {tiles_.rows, width_, kSize, p_.b.col_stride != 1, !reads_b_, !direct_};
    plan_ = make_plan({p_.batch, p_.m, p_.n, p_.k}, traits);
    shared_ = plan_.shares_panels;
    panel_size_ = plan_.depth * width_;
    const int64_t a_bytes = p_.a.row_stride * kSize;
    const bool few_panels = ceil_div(panels_, plan_.col_pieces) <= kWorthCopying;
    const bool competes = a_bytes % kCompetingBytes == 0 && p_.m > 4;
    reads_a_ = std::is_same_v<S, T> && few_panels &&
               (p_.a.col_stride == 1 ? !competes : p_.a.row_stride == 1);
  }

  void run() {
    const int64_t item_panels = plan_.blocks * panels_;
    const int64_t item_bytes = item_panels * panel_size_ * kSize;
    const int64_t items =
        shared_ ? std::clamp<int64_t>(kSharedBytes / item_bytes, 1, p_.batch) : p_.batch;
    const int64_t states_bytes = shared_ ? aligned(items * item_panels) : 0;
    const int64_t shared_bytes = shared_ ? items * item_bytes : 0;
    const int64_t parts = plan_.parts > 1 ? plan_.parts : 0;
    const int64_t parts_bytes = aligned(parts * p_.m * p_.n * kSize);
    const int64_t counts_bytes = parts == 0 ? 0 : aligned(plan_.tiles() * int64_t{4});
    area_ = make_area();
    const Workspace workspace(states_bytes + shared_bytes + parts_bytes + counts_bytes +
                              plan_.threads * area_.bytes);
    std::byte* data = workspace.data();
    states_ = reinterpret_cast<std::atomic<uint8_t>*>(data);
    panels_data_ = reinterpret_cast<T*>(data + states_bytes);
    parts_ = reinterpret_cast<T*>(data + states_bytes + shared_bytes);
    counts_ =
        reinterpret_cast<std::atomic<int32_t>*>(data + states_bytes + shared_bytes + parts_bytes);
    areas_ = data + states_bytes + shared_bytes + parts_bytes + counts_bytes;
    if (parts != 0) std::memset(static_cast<void*>(counts_), 0, static_cast<size_t>(counts_bytes));
    for (first_item_ = 0; first_item_ < p_.batch; first_item_ += items) {
      if (shared_) std::memset(data, 0, static_cast<size_t>(states_bytes));
      run_units(std::min(items, p_.batch - first_item_) * plan_.tiles() * plan_.parts);
    }
  }

 private:
  static constexpr auto kSize = static_cast<int64_t>(sizeof(T));

  // What each thread has for itself.
  struct Area {
    int64_t panels = 0;  // offsets
    int64_t sums = 0;
    int64_t bytes = 0;
  };
  // A block of c and of terms.
  struct Block {
    int64_t item;
    int64_t row;
    int64_t rows;
    int64_t panel;        // the first
    int64_t count;        // of panels
    int64_t first_panel;  // with which it begins
  };
  // A few rows of a, as a tile takes them.
  struct Strip {
    const T* data;
    int64_t row_stride;
    int64_t term_stride;
  };

  // Whether a packed b would not be used often enough, or not lie closer.
  bool is_near_as_it_lies() const {
    return p_.m <= 2 * tiles_.rows || p_.k * p_.n * kSize <= kSmallBytes ||
           (p_.m <= kFewRows && p_.b.row_stride * kSize <= kShortRowBytes);
  }

  Area make_area() const {
    Area area;
    if (!reads_a_) {
      const int64_t columns = column_stride_ * plan_.depth * kSize;
      area.panels = aligned(p_.a.col_stride == 1 ? tiles_.rows * kCopiedRowBytes : columns);
    }
    const int64_t own = shared_    ? 0
                        : reads_b_ ? (p_.n % tiles_.lanes == 0 ? 0 : 1)
                                   : ceil_div(panels_, plan_.col_pieces);
    area.sums = area.panels + own * panel_size_ * kSize;
    const int64_t columns = ceil_div(panels_, plan_.col_pieces) * width_;
    area.bytes = area.sums;
    if (!direct_ && plan_.parts == 1) {
      area.bytes += ceil_div(p_.m, plan_.row_pieces) * columns * kSize;
    }
    return area;
  }

  void run_units(int64_t units) {
    if (plan_.threads == 1) {
      for (int64_t i = 0; i < units; ++i) run_unit(i, areas_);
      return;
    }
    std::atomic<int64_t> next = plan_.threads;
    parallel_for(0, plan_.threads, 1, [&](int64_t begin, int64_t end) {
      for (int64_t first = begin; first < end; ++first) {
        for (int64_t i = first; i < units; i = next.fetch_add(1, std::memory_order_relaxed)) {
          run_unit(i, areas_ + first * area_.bytes);
        }
      }
    });
  }

  // Units that need the same panels come one after another.
  void run_unit(int64_t unit, std::byte* area) {
    const int64_t row_piece = unit % plan_.row_pieces;
    unit /= plan_.row_pieces;
    const int64_t part = unit % plan_.parts;
    unit /= plan_.parts;
    const int64_t col_piece = unit % plan_.col_pieces;
    Block block = {};
    block.item = unit / plan_.col_pieces;
    block.row = p_.m * row_piece / plan_.row_pieces;
    block.rows = p_.m * (row_piece + 1) / plan_.row_pieces - block.row;
    block.panel = panels_ * col_piece / plan_.col_pieces;
    block.count = panels_ * (col_piece + 1) / plan_.col_pieces - block.panel;
    block.first_panel = shared_ ? block.count * row_piece / plan_.row_pieces : 0;
    const Sums<T> sums = plan_.parts > 1 ? part_of(block, part) : sums_of(block, area);
    const int64_t first = part * plan_.part_blocks;
    const int64_t end = std::min(first + plan_.part_blocks, plan_.blocks);
    for (int64_t i = first; i < end; ++i) multiply_terms(block, i, i > first, sums, area);
    if (plan_.parts > 1) {
      const int64_t tile = row_piece * plan_.col_pieces + col_piece;
      const int32_t before = counts_[tile].fetch_add(1, std::memory_order_acq_rel);
      if (before + 1 == plan_.parts) add_parts(block);
    } else if (!direct_) {
      store(block, sums);
    }
  }

  // Where the sums of a block are collected.
  Sums<T> sums_of(const Block& block, std::byte* area) const {
    if (direct_) {
      const Matrix c = result_of(block);
      return {static_cast<T*>(c.data), c.row_stride};
    }
    return {reinterpret_cast<T*>(area + area_.sums), block.count * width_};
  }
  Sums<T> part_of(const Block& block, int64_t part) const {
    if (direct_ && part == 0) return sums_of(block, nullptr);
    return {parts_ + part * p_.m * p_.n + block.row * p_.n + block.panel * width_, p_.n};
  }
  Matrix result_of(const Block& block) const {
    const Matrix c = offset<S>(p_.c, block.row, block.panel * width_);
    return {static_cast<S*>(c.data) + (first_item_ + block.item) * p_.c_batch, c.row_stride,
            c.col_stride};
  }
  ConstMatrix addend_of(const Block& block) const {
    if (p_.addend.data == nullptr) return p_.addend;
    const ConstMatrix from = offset<S>(p_.addend, block.row, block.panel * width_);
    return {static_cast<const S*>(from.data) + (first_item_ + block.item) * p_.addend_batch,
            from.row_stride, from.col_stride};
  }
  int64_t columns_of(const Block& block) const {
    return std::min(block.count * width_, p_.n - block.panel * width_);
  }

  // The sums of later parts are added to those of the first, in their order.
  void add_parts(const Block& block) {
    const Sums<T> total = part_of(block, 0);
    for (int64_t i = 1; i < plan_.parts; ++i) {
      add_sums(block.rows, columns_of(block), part_of(block, i), total);
    }
    if (!direct_) store(block, total);
  }
  void store(const Block& block, Sums<T> sums) {
    store_sums<S>(block.rows, columns_of(block), sums, result_of(block), addend_of(block),
                  static_cast<T>(p_.alpha), static_cast<T>(p_.beta));
  }

  // The products of one block of terms begin sums, or are added to them.
  void multiply_terms(
      const Block& block, int64_t term_block, bool adds, Sums<T> sums, std::byte* area) {
    const int64_t term = term_block * plan_.depth;
    const int64_t terms = std::min(plan_.depth, p_.k - term);
    T* const own_panels = reinterpret_cast<T*>(area + area_.panels);

    Tile<T> tile = {};
    tile.terms = terms;
    tile.c_row = sums.stride;
    tile.alpha = direct_ ? static_cast<T>(p_.alpha) : T{1};
    tile.beta = 1;
    const T* addend = nullptr;
    if (adds) {
      addend = sums.data;
      tile.addend_row = sums.stride;
    } else if (term_block == 0 && direct_ && p_.addend.data != nullptr) {
      const ConstMatrix from = addend_of(block);
      addend = static_cast<const T*>(from.data);
      tile.addend_row = from.row_stride;
      tile.beta = static_cast<T>(p_.beta);
    }
    const int64_t strips = ceil_div(block.rows, tiles_.rows);
    for (int64_t s = 0; s < strips; ++s) {
      const int64_t row = block.rows * s / strips;
      const int64_t rows = block.rows * (s + 1) / strips - row;
      const Strip strip = read_strip(block, row, rows, term, terms, area);
      tile.a = strip.data;
      tile.a_row = strip.row_stride;
      tile.a_term = strip.term_stride;
      const int64_t next = block.rows * (s + 1) / strips;
      const int64_t next_rows = s + 1 == strips ? 0 : block.rows * (s + 2) / strips - next;
      const auto& kernels = strip.term_stride == 1 ? tiles_.by_rows : tiles_.by_columns;
      for (int64_t j = 0; j < block.count; ++j) {
        const int64_t at = j + block.first_panel;
        const int64_t index = at < block.count ? at : at - block.count;
        const int64_t panel = block.panel + index;
        const int64_t column = index * width_;
        tile.columns = std::min(width_, p_.n - panel * width_);
        const int64_t padded = tiles_.padded(tile.columns);
        tile.b_term = padded;
        if (shared_) {
          tile.b = shared_panel(block, panel, term_block, term, terms);
        } else if (reads_b_ && tile.columns == padded) {
          tile.b = static_cast<const T*>(b_of(block, panel, term).data);
          tile.b_term = p_.b.row_stride;
          if (s == 0) prefetch_next_panel(block, panel, term, terms);
        } else {
          T* const own = reads_b_ ? own_panels : own_panels + index * panel_size_;
          if (s == 0) pack(block, panel, term, terms, own);
          tile.b = own;
        }
        tile.c = sums.data + row * sums.stride + column;
        tile.addend = addend == nullptr ? nullptr : addend + row * tile.addend_row + column;
        const int64_t left = block.count - j;
        if (left <= kPrefetchPanels) {
          const int64_t steps = std::min(block.count, kPrefetchPanels);
          const int64_t from = next_rows * (steps - left) / steps;
          const int64_t to = next_rows * (steps - left + 1) / steps;
          prefetch_rows(block, next + from, to - from, term, terms);
        }
        kernels[padded / tiles_.lanes - 1][rows - 1](tile);
      }
    }
  }

  // Brings rows of a that come next near, while the present ones are multiplied.
  void prefetch_rows(
      const Block& block, int64_t row, int64_t rows, int64_t term, int64_t terms) const {
    const S* from = static_cast<const S*>(offset<S>(p_.a, block.row + row, term).data) +
                    (first_item_ + block.item) * p_.a_batch;
    if (p_.a.col_stride == 1) prefetch_lines(from, rows, p_.a.row_stride, terms);
  }

  Strip read_strip(const Block& block,
                   int64_t row,
                   int64_t rows,
                   int64_t term,
                   int64_t terms,
                   std::byte* area) const {
    ConstMatrix a = offset<S>(p_.a, block.row + row, term);
    a.data = static_cast<const S*>(a.data) + (first_item_ + block.item) * p_.a_batch;
    if constexpr (std::is_same_v<S, T>) {
      if (reads_a_) return {static_cast<const T*>(a.data), a.row_stride, a.col_stride};
    }
    T* const packed = reinterpret_cast<T*>(area);
    if (a.col_stride == 1) {
      constexpr int64_t kStride = kCopiedRowBytes / kSize;
      packing_.pack_rows(a, rows, terms, packed, kStride);
      return {packed, kStride, 1};
    }
    packing_.pack_columns(a, rows, p_.m - block.row - row, terms, packed, column_stride_);
    return {packed, 1, column_stride_};
  }

  ConstMatrix b_of(const Block& block, int64_t panel, int64_t term) const {
    const ConstMatrix b = offset<S>(p_.b, term, panel * width_);
    return {static_cast<const S*>(b.data) + (first_item_ + block.item) * p_.b_batch, b.row_stride,
            b.col_stride};
  }
  void pack(const Block& block, int64_t panel, int64_t term, int64_t terms, T* to) const {
    const int64_t columns = std::min(width_, p_.n - panel * width_);
    packing_.pack_panel(b_of(block, panel, term), terms, columns, tiles_.padded(columns), to);
    prefetch_next_panel(block, panel, term, terms);
  }
  // Rows of a panel lie in as many pages, across which the processor does not look ahead.
  void prefetch_next_panel(const Block& block, int64_t before, int64_t term, int64_t terms) const {
    const int64_t panel = before + 1;
    const bool is_far = p_.k * p_.n * kSize >= kFarBytes;
    if (!is_far || panel == block.panel + block.count) return;
    const ConstMatrix b = b_of(block, panel, term);
    const int64_t columns = std::min(width_, p_.n - panel * width_);
    if (b.col_stride == 1) {
      prefetch_lines(static_cast<const S*>(b.data), terms, b.row_stride, columns);
    } else if (b.row_stride == 1) {
      prefetch_lines(static_cast<const S*>(b.data), columns, b.col_stride, terms);
    }
  }

  // A panel that others need too; packed here, if nobody has begun to.
  const T* shared_panel(
      const Block& block, int64_t panel, int64_t term_block, int64_t term, int64_t terms) {
    const int64_t index = (block.item * plan_.blocks + term_block) * panels_ + panel;
    T* const data = panels_data_ + index * panel_size_;
    std::atomic<uint8_t>& state = states_[index];
    uint8_t seen = state.load(std::memory_order_acquire);
    if (seen == kPacked) return data;
    if (seen == kMissing && state.compare_exchange_strong(seen, kBeingPacked)) {
      pack(block, panel, term, terms, data);
      state.store(kPacked, std::memory_order_release);
      return data;
    }
    for (int spins = 0; state.load(std::memory_order_acquire) != kPacked; ++spins) {
      if (spins > 1000) std::this_thread::yield();
    }
    return data;
  }

  const Problem& p_;
  const Tiles<T>& tiles_;
  const Packing<S>& packing_;
  const int64_t width_;  // of a panel
  const int64_t panels_;
  const int64_t column_stride_;  // from one term to the next of columns of a that are packed
  const bool direct_;            // sums are collected in c itself
  const bool reads_b_;           // as it lies
  bool reads_a_ = false;
  bool shared_ = false;  // panels
  Plan plan_;
  int64_t panel_size_ = 0;
  int64_t first_item_ = 0;
  Area area_;
  std::atomic<uint8_t>* states_ = nullptr;  // of shared panels
  T* panels_data_ = nullptr;
  T* parts_ = nullptr;                      // sums of each block of terms
  std::atomic<int32_t>* counts_ = nullptr;  // of the blocks of terms that are done, for each tile
  std::byte* areas_ = nullptr;
};

// The transposed products, of the transposed matrices.
Problem swapped(const Problem& p) {
  return {p.batch,
          p.n,
          p.m,
          p.k,
          transposed(p.b),
          p.b_batch,
          transposed(p.a),
          p.a_batch,
          transposed(p.c),
          p.c_batch,
          transposed(p.addend),
          p.addend_batch,
          p.alpha,
          p.beta};
}

}  // namespace

template <typename S>
void multiply(const Problem& problem) {
  if (has_few_rows(problem)) return multiply_few_rows<S>(problem);
  Problem p = swapped(problem);
  if (has_few_rows(p)) return multiply_few_rows<S>(p);
  if (problem.c.col_stride == 1 || problem.c.row_stride != 1) p = problem;
  if (multiply_if_outer<S>(p)) return;

  // So many columns at a time that packed b does not take more than kSharedBytes, if it is shared.
  using T = typename SumOf<S>::type;
  const int64_t most =
      std::max(kSharedBytes / (p.k * static_cast<int64_t>(sizeof(T))), kLeastShared);
  const int64_t columns = p.n;
  for (int64_t column = 0; column < columns; column += most) {
    Problem part = p;
    part.n = std::min(most, columns - column);
    part.b = offset<S>(p.b, 0, column);
    part.c = offset<S>(p.c, 0, column);
    if (p.addend.data != nullptr) part.addend = offset<S>(p.addend, 0, column);
    Multiplier<S>(part).run();
  }
}

template void multiply<float>(const Problem&);
template void multiply<double>(const Problem&);
template void multiply<Half>(const Problem&);
template void multiply<BFloat16>(const Problem&);

}  // namespace mindtorch::cpu::product
