#include <vector>

#include "mindtorch/backends/cpu/attention/block.h"
#include "mindtorch/backends/cpu/parallel.h"
#include "mindtorch/backends/cpu/product/vectors.h"

namespace mindtorch::cpu::attention {
namespace {

constexpr int64_t kBackwardQueries = 64;  // of a block, at most
constexpr int64_t kBackwardKeys = 128;    // of a block
// Multiplications that are worth a thread.
constexpr int64_t kBackwardGrain = int64_t{1} << 18;

// The gradients of heads of key and value with all the heads of query that they serve, one after
// the other, on one thread.
template <typename T>
class BackwardPass {
 public:
  BackwardPass(const Tensor& grad_out,
               const Tensor& query,
               const Tensor& key,
               const Tensor& value,
               const Tensor& out,
               const Tensor& logsumexp,
               const Settings& settings)
      : grad_out_(grad_out),
        query_(query),
        out_(out),
        logsumexp_(logsumexp),
        settings_(settings),
        queries_(query.size(-1)),
        grads_(value.size(-1)),
        outs_(value.size(-1)),
        keys_(key.size(-1)),
        values_(value.size(-1)),
        key_columns_(key.size(-2), key.size(-1)),
        value_columns_(key.size(-2), value.size(-1)),
        scores_(kBackwardQueries * kBackwardKeys),
        score_grads_(kBackwardQueries * kBackwardKeys),
        of_query_(kBackwardQueries * queries_.width()),
        of_key_(key.size(-2) * keys_.width()),
        of_value_(key.size(-2) * values_.width()) {}

  void run(const Rows& keys,
           const Rows& values,
           int64_t first_head,
           int64_t heads,
           const Tensor& grad_query,
           const Rows& grad_key,
           const Rows& grad_value) {
    keys_.read(keys, 0, keys.count);
    key_columns_.read(keys_, keys.count, static_cast<T>(settings_.scale));
    values_.read(values, 0, values.count);
    value_columns_.read(values_, values.count, T{1});
    std::fill_n(of_key_.get(), keys.count * keys_.width(), T{0});
    std::fill_n(of_value_.get(), keys.count * values_.width(), T{0});
    for (int64_t head = first_head; head < first_head + heads; ++head) {
      const Rows to(grad_query, head);
      for (int64_t first = 0; first < to.count; first += kBackwardQueries) {
        const int64_t count = std::min(kBackwardQueries, to.count - first);
        run_queries(head, first, count, keys.count);
        finish(of_query_.get(), queries_.width(), settings_.scale, to, first, count);
      }
    }
    finish(of_key_.get(), keys_.width(), settings_.scale, grad_key, 0, keys.count);
    finish(of_value_.get(), values_.width(), 1, grad_value, 0, keys.count);
  }

 private:
  static void finish(
      T* rows, int64_t width, double scale, const Rows& to, int64_t first, int64_t count) {
    const auto factor = static_cast<T>(scale);
    for (int64_t i = 0; i < count * width && factor != 1; ++i) rows[i] *= factor;
    store(rows, width, to, first, count);
  }

  void run_queries(int64_t head, int64_t first, int64_t count, int64_t keys) {
    queries_.read(Rows(query_, head), first, count);
    grads_.read(Rows(grad_out_, head), first, count);
    read_rows(head, first, count);
    std::fill_n(of_query_.get(), count * queries_.width(), T{0});
    const int64_t seen = seen_keys(settings_.is_causal, first + count, keys);
    for (int64_t at = 0; at < seen; at += kBackwardKeys) {
      Block block = {first, count, at, std::min(kBackwardKeys, seen - at), 0};
      block.width = padded(block.keys, tiles_.lanes);
      run_block(head, block);
    }
  }

  // What is known of each row: logsumexp, and the sum of weight times gradient, which is that of
  // result times gradient.
  void read_rows(int64_t head, int64_t first, int64_t count) {
    outs_.read(Rows(out_, head), first, count);
    const T* const logsumexp = logsumexp_.data<T>() + head * query_.size(-2) + first;
    for (int64_t i = 0; i < count; ++i) {
      constexpr T kInfinity = std::numeric_limits<T>::infinity();
      shifts_[i] = logsumexp[i] == -kInfinity ? kInfinity : logsumexp[i];  // all weights are 0
      dots_[i] = product::dot<T>(grads_.width(), grads_.row(i), outs_.row(i));
    }
  }

  void run_block(int64_t head, const Block& block) {
    T* const weights = scores_.get();
    T* const gradients = score_grads_.get();
    tiles_.multiply({block.queries, block.width, query_.size(-1), queries_.row(0),
                     queries_.stride(), 1, key_columns_.panel(block.first_key),
                     tiles_.panel_columns, key_columns_.panel_stride(), weights, block.width,
                     false});
    mask(settings_, head, block, weights);
    tiles_.multiply({block.queries, block.width, grad_out_.size(-1), grads_.row(0), grads_.stride(),
                     1, value_columns_.panel(block.first_key), tiles_.panel_columns,
                     value_columns_.panel_stride(), gradients, block.width, false});
    tiles_.differentiate(weights, gradients, block.queries, block.width, shifts_, dots_);
    add_transposed(block, weights, grads_, of_value_.get() + block.first_key * values_.width());
    add_transposed(block, gradients, queries_, of_key_.get() + block.first_key * keys_.width());
    tiles_.multiply({block.queries, keys_.width(), block.keys, gradients, block.width, 1,
                     keys_.row(block.first_key), keys_.stride(), tiles_.panel_columns,
                     of_query_.get(), queries_.width(), true});
  }

  // sums += scores^T @ rows, for a tile of scores or of what became of them.
  void add_transposed(const Block& block, const T* scores, const PackedRows<T>& rows, T* sums) {
    tiles_.multiply({block.keys, rows.width(), block.queries, scores, 1, block.width, rows.row(0),
                     rows.stride(), tiles_.panel_columns, sums, rows.width(), true});
  }

  const Tensor& grad_out_;
  const Tensor& query_;
  const Tensor& out_;
  const Tensor& logsumexp_;
  const Settings& settings_;
  const Tiles<T> tiles_ = tiles<T>();
  PackedRows<T> queries_, grads_, outs_, keys_, values_;
  PackedColumns<T> key_columns_, value_columns_;
  Scratch<T> scores_, score_grads_;
  Scratch<T> of_query_, of_key_, of_value_;
  T shifts_[kBackwardQueries];
  T dots_[kBackwardQueries];
};

}  // namespace

template <typename T>
void backward(const Tensor& grad_out,
              const Tensor& query,
              const Tensor& key,
              const Tensor& value,
              const Tensor& out,
              const Tensor& logsumexp,
              const Settings& settings,
              const Tensor& grad_query,
              const Tensor& grad_key,
              const Tensor& grad_value) {
  const int64_t heads = heads_per_key(query, key);
  const int64_t scores = heads * query.size(-2) * key.size(-2);
  const int64_t work = scores * (3 * query.size(-1) + 2 * value.size(-1)) + 1;
  parallel_for(0, matrices(key), ceil_div(kBackwardGrain, work), [&](int64_t begin, int64_t end) {
    BackwardPass<T> pass(grad_out, query, key, value, out, logsumexp, settings);
    for (int64_t shared = begin; shared < end; ++shared) {
      pass.run(Rows(key, shared), Rows(value, shared), shared * heads, heads, grad_query,
               Rows(grad_key, shared), Rows(grad_value, shared));
    }
  });
}

#define MT_INSTANTIATE(T)                                                                 \
  template void backward<T>(const Tensor&, const Tensor&, const Tensor&, const Tensor&,   \
                            const Tensor&, const Tensor&, const Settings&, const Tensor&, \
                            const Tensor&, const Tensor&)
MT_INSTANTIATE(float);
MT_INSTANTIATE(double);
#undef MT_INSTANTIATE

}  // namespace mindtorch::cpu::attention
