#include <cmath>
#include <vector>

#include "mindtorch/backends/cpu/attention/block.h"
#include "mindtorch/backends/cpu/bfloat16_product.h"
#include "mindtorch/backends/cpu/bfloat16_tiles.h"
#include "mindtorch/backends/cpu/half_conversion.h"
#include "mindtorch/backends/cpu/parallel.h"

// Note [Attention by tiles] with products of bfloat16: scores, sums and results are float, weights
// are rounded to bfloat16 before they are multiplied with the values.
namespace mindtorch::cpu::attention {
namespace {

constexpr int64_t kBFloat16Queries = 96;  // of a block, at most
constexpr int64_t kBFloat16Keys = 256;    // of a block
// Multiplications that are worth a thread.
constexpr int64_t kBFloat16Grain = int64_t{1} << 19;

int64_t in_panels(int64_t columns) { return padded(columns, kPanelCols); }

// The attention of blocks of queries, one after the other, on one thread.
class BFloat16Forward {
 public:
  BFloat16Forward(const Tensor& query,
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
        width_(in_panels(value.size(-1))),
        keys_(key.size(-1), key.size(-2)),
        scores_(height * kBFloat16Keys),
        weights_(height * kBFloat16Keys),
        result_(height * width_),
        largest_(static_cast<size_t>(height)),
        sums_(static_cast<size_t>(height)) {
    for (int64_t at = 0; at < key.size(-2); at += kBFloat16Keys) {
      values_.emplace_back(std::min(kBFloat16Keys, key.size(-2) - at), value.size(-1));
    }
  }

  // Queries [first, first + count) of head `number` of the batch.
  void run(int64_t number, int64_t first, int64_t count) {
    const int64_t shared = number / heads_per_key(query_, key_);
    if (shared != packed_) pack(shared);
    const Rows queries(query_, number);
    std::fill_n(result_.get(), count * width_, 0.0f);
    std::ranges::fill(largest_, -std::numeric_limits<float>::infinity());
    std::ranges::fill(sums_, 0.0f);
    const int64_t seen = seen_keys(settings_.is_causal, first + count, key_.size(-2));
    for (int64_t at = 0; at < seen; at += kBFloat16Keys) {
      Block block = {first, count, at, std::min(kBFloat16Keys, seen - at), 0};
      block.width = in_panels(block.keys);
      keys_.multiply(queries.matrix(first), count, query_.size(-1), at, block.keys, scores_.get(),
                     block.width, false);
      const auto scale = static_cast<float>(settings_.scale);
      for (int64_t i = 0; i < count * block.width && scale != 1; ++i) scores_.get()[i] *= scale;
      mask(settings_, number, block, scores_.get());
      tiles_.soften(scores_.get(), count, block.width, largest_.data(), sums_.data(), result_.get(),
                    width_);
      convert_.narrow(scores_.get(), weights_.get(), count * block.width);
      values_[static_cast<size_t>(at / kBFloat16Keys)].multiply(
          {weights_.get(), block.width, 1}, count, block.keys, 0, value_.size(-1), result_.get(),
          width_, true);
    }
    finish(number, first, count);
  }

 private:
  void pack(int64_t shared) {
    const Rows keys(key_, shared), values(value_, shared);
    keys_.read(transposed(keys.matrix(0)), keys.width, keys.count);
    for (int64_t at = 0; at < keys.count; at += kBFloat16Keys) {
      values_[static_cast<size_t>(at / kBFloat16Keys)].read(
          values.matrix(at), std::min(kBFloat16Keys, keys.count - at), values.width);
    }
    packed_ = shared;
  }

  void finish(int64_t number, int64_t first, int64_t count) {
    float* const logsumexp = logsumexp_.data<float>() + number * query_.size(-2) + first;
    for (int64_t i = 0; i < count; ++i) {
      const auto at = static_cast<size_t>(i);
      logsumexp[i] = largest_[at] + std::log(sums_[at]);
      const float factor = sums_[at] == 0 ? 0.0f : 1 / sums_[at];
      float* const row = result_.get() + i * width_;
      for (int64_t j = 0; j < width_; ++j) row[j] *= factor;
    }
    store(result_.get(), width_, Rows(out_, number), first, count);
  }

  const Tensor& query_;
  const Tensor& key_;
  const Tensor& value_;
  const Settings& settings_;
  const Tensor& out_;
  const Tensor& logsumexp_;
  const Tiles<float> tiles_ = tiles<float>();
  const HalfConversion convert_{DType::kBFloat16};
  int64_t width_;        // of a row of the result
  int64_t packed_ = -1;  // the matrix of key and value that is ready
  PackedBFloat16 keys_;
  std::vector<PackedBFloat16> values_;  // of each block of keys
  Scratch<float> scores_;
  Scratch<uint16_t> weights_;
  Scratch<float> result_;
  std::vector<float> largest_, sums_;
};

}  // namespace

void forward_bfloat16(const Tensor& query,
                      const Tensor& key,
                      const Tensor& value,
                      const Settings& settings,
                      const Tensor& out,
                      const Tensor& logsumexp) {
  const int64_t rows = query.size(-2);
  const int64_t height = std::min(kBFloat16Queries, padded(rows, bfloat16_tiles()->row_unit));
  const int64_t blocks = ceil_div(rows, height);
  const int64_t work = height * key.size(-2) * (query.size(-1) + value.size(-1)) + 1;
  parallel_for(0, matrices(query) * blocks, ceil_div(kBFloat16Grain, work),
               [&](int64_t begin, int64_t end) {
                 BFloat16Forward pass(query, key, value, settings, out, logsumexp, height);
                 for (int64_t task = begin; task < end; ++task) {
                   // Later queries see more keys: a thread gets some from both ends.
                   const int64_t turn = task % blocks;
                   const int64_t block = turn % 2 == 0 ? turn / 2 : blocks - 1 - turn / 2;
                   const int64_t first = block * height;
                   pass.run(task / blocks, first, std::min(height, rows - first));
                 }
               });
}

}  // namespace mindtorch::cpu::attention
