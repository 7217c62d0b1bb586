#include <cmath>
#include <vector>

#include "mindtorch/backends/cpu/attention/block.h"
#include "mindtorch/backends/cpu/bfloat16_tiles.h"
#include "mindtorch/backends/cpu/parallel.h"

namespace mindtorch::cpu::attention {
namespace {

constexpr int64_t kQueries = 96;  // of a block, at most
constexpr int64_t kKeys = 256;    // of a block
// So few queries are not worth turning the keys: their products read keys and values as they lie.
constexpr int64_t kFewQueries = 8;
// Multiplications that are worth a thread.
constexpr int64_t kGrain = int64_t{1} << 18;

// The attention of blocks of queries, one after the other, on one thread.
template <typename T>
class Forward {
 public:
  Forward(const Tensor& query,
          const Tensor& key,
          const Tensor& value,
          const Settings& settings,
          const Tensor& out,
          const Tensor& logsumexp,
          int64_t height)
      : query_(query),
        key_(key),
        value_(value),
        settings_(settings),
        out_(out),
        logsumexp_(logsumexp),
        few_(query.size(-2) <= kFewQueries),
        queries_(query.size(-1)),
        keys_(key.size(-1)),
        values_(value.size(-1)),
        columns_(few_ ? 0 : key.size(-2), key.size(-1)),
        scores_(height * kKeys),
        result_(height * values_.width()),
        largest_(static_cast<size_t>(height)),
        sums_(static_cast<size_t>(height)) {}

  // Queries [first, first + count) of head `number` of the batch.
  void run(int64_t number, int64_t first, int64_t count) {
    const int64_t shared = number / heads_per_key(query_, key_);
    const Rows keys(key_, shared), values(value_, shared);
    if (!few_ && shared != packed_) pack(keys, values, shared);
    queries_.read(Rows(query_, number), first, count);
    std::fill_n(result_.get(), count * values_.width(), T{0});
    std::ranges::fill(largest_, -std::numeric_limits<T>::infinity());
    std::ranges::fill(sums_, T{0});
    const int64_t seen = seen_keys(settings_.is_causal, first + count, keys.count);
    for (int64_t at = 0; at < seen; at += kKeys) {
      Block block = {first, count, at, std::min(kKeys, seen - at), 0};
      block.width = padded(block.keys, tiles_.lanes);
      if (few_) pack_block(keys, values, block);
      score(block);
      mask(settings_, number, block, scores_.get());
      tiles_.soften(scores_.get(), count, block.width, largest_.data(), sums_.data(), result_.get(),
                    values_.width());
      weigh(block);
    }
    finish(number, first, count);
  }

 private:
  void pack(const Rows& keys, const Rows& values, int64_t shared) {
    keys_.read(keys, 0, keys.count);
    columns_.read(keys_, keys.count, static_cast<T>(settings_.scale));
    values_.read(values, 0, values.count);
    packed_ = shared;
  }
  void pack_block(const Rows& keys, const Rows& values, const Block& block) {
    keys_.read(keys, block.first_key, block.keys, false);
    values_.read(values, block.first_key, block.keys, false);
  }

  void score(const Block& block) {
    const int64_t size = query_.size(-1);
    if (few_) {
      return gemm(DTypeOf<T>::value, block.queries, block.keys, size,
                  {queries_.row(0), queries_.stride(), 1}, {keys_.row(0), 1, keys_.stride()},
                  {scores_.get(), block.width, 1}, {settings_.scale, 0});
    }
    tiles_.multiply({block.queries, block.width, size, queries_.row(0), queries_.stride(), 1,
                     columns_.panel(block.first_key), tiles_.panel_columns, columns_.panel_stride(),
                     scores_.get(), block.width, false});
  }

  // result += weights @ values
  void weigh(const Block& block) {
    tiles_.multiply({block.queries, values_.width(), block.keys, scores_.get(), block.width, 1,
                     values_.row(few_ ? 0 : block.first_key), values_.stride(),
                     tiles_.panel_columns, result_.get(), values_.width(), true});
  }

  void finish(int64_t number, int64_t first, int64_t count) {
    T* const logsumexp = logsumexp_.data<T>() + number * query_.size(-2) + first;
    for (int64_t i = 0; i < count; ++i) {
      const auto at = static_cast<size_t>(i);
      const T sum = sums_[at];
      logsumexp[i] = largest_[at] + std::log(sum);
      const T factor = sum == 0 ? T{0} : 1 / sum;
      T* const row = result_.get() + i * values_.width();
      for (int64_t j = 0; j < values_.width(); ++j) row[j] *= factor;
    }
    store(result_.get(), values_.width(), Rows(out_, number), first, count);
  }

  const Tensor& query_;
  const Tensor& key_;
  const Tensor& value_;
  const Settings& settings_;
  const Tensor& out_;
  const Tensor& logsumexp_;
  const Tiles<T> tiles_ = tiles<T>();
  const bool few_;
  int64_t packed_ = -1;  // the matrix of key and value that is ready
  PackedRows<T> queries_, keys_, values_;
  PackedColumns<T> columns_;
  Scratch<T> scores_, result_;
  std::vector<T> largest_, sums_;
};

}  // namespace

template <typename T>
void forward(const Tensor& query,
             const Tensor& key,
             const Tensor& value,
             const Settings& settings,
             const Tensor& out,
             const Tensor& logsumexp) {
  const int64_t rows = query.size(-2);
  if (query.dtype() == DType::kBFloat16 && key.dtype() == DType::kBFloat16 &&
      value.dtype() == DType::kBFloat16 && bfloat16_tiles() != nullptr && rows > kFewQueries) {
    if constexpr (std::is_same_v<T, float>) {
      return forward_bfloat16(query, key, value, settings, out, logsumexp);
    }
  }
  const int64_t blocks = ceil_div(rows, kQueries);
  const int64_t height = ceil_div(rows, blocks);
  const int64_t work = height * key.size(-2) * (query.size(-1) + value.size(-1)) + 1;
  parallel_for(0, matrices(query) * blocks, ceil_div(kGrain, work),
               [&](int64_t begin, int64_t end) {
                 Forward<T> pass(query, key, value, settings, out, logsumexp, height);
                 for (int64_t task = begin; task < end; ++task) {
                   // Later queries see more keys: a thread gets some from both ends.
                   const int64_t turn = task % blocks;
                   const int64_t block = turn % 2 == 0 ? turn / 2 : blocks - 1 - turn / 2;
                   const int64_t first = block * height;
                   const int64_t count = std::min(height, rows - first);
                   if (count > 0) pass.run(task / blocks, first, count);
                 }
               });
}

template void forward<float>(
    const Tensor&, const Tensor&, const Tensor&, const Settings&, const Tensor&, const Tensor&);
template void forward<double>(
    const Tensor&, const Tensor&, const Tensor&, const Settings&, const Tensor&, const Tensor&);

}  // namespace mindtorch::cpu::attention
