#include "mindtorch/backends/ascend/kernels/attention.h"

#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "mindtorch/backends/ascend/chip.h"
#include "mindtorch/backends/ascend/kernels/compose.h"
#include "mindtorch/backends/ascend/kernels/dtypes.h"

namespace mindtorch::ascend {
namespace {

constexpr DType kWide = DType::kFloat32;

struct Settings {
  const Tensor& attn_mask;
  bool is_causal;
  double scale;
  const Tensor& dropped;  // undefined: no weights are
  double dropout_p;
};

// True above the diagonal.
void fill_later_keys(ops::Launch& on, const Tensor& out) {
  const Tensor all = make_like(on, out.sizes(), DType::kBool);
  call(on, MT_ACLNN(aclnnInplaceOne), all);
  call(on, MT_ACLNN(aclnnTriu), all, int64_t{1}, out);
}
Tensor later_keys(ops::Launch& on, int64_t queries, int64_t keys) {
  const Tensor made = make_like(on, {queries, keys}, DType::kBool);
  fill_later_keys(on, made);
  return made;
}

// --- in one launch ---

// Whether CANN's op is documented to take a call. It adds masks of numbers in ways of its own.
bool is_taken(
    const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask, bool causal) {
  if (mask.defined() && (causal || mask.dtype() != DType::kBool)) return false;
  return fits_fused_attention(query, key, value);
}

// Memory beside the caching allocator, of which a tensor that stays would keep a whole segment. It
// is released when the work queued by then is done. Undefined where there is none.
Tensor make_aside(runtime::Stream stream, IntList sizes, Device device) {
  struct Memory {
    runtime::Stream stream;
    void* data;
    void release() const { stream.runtime().driver().release(stream.device(), data); }
  };
  const auto bytes = static_cast<size_t>(numel(sizes));
  void* const data = stream.runtime().driver().allocate(stream.device(), bytes);
  if (data == nullptr) return {};
  const auto release = [](void* context) {
    static_cast<Memory*>(context)->stream.defer(
        [](void* done) { std::unique_ptr<Memory>(static_cast<Memory*>(done))->release(); },
        context);
  };
  return Tensor::over(StorageImpl::borrow(data, bytes, device, release, new Memory{stream, data}),
                      DType::kBool, sizes, contiguous_strides(sizes), 0);
}

// The mask of CANN's causal mode has one size, whatever the lengths: it is made once for each
// stream and kept. Undefined where that cannot be.
Tensor kept_causal_mask(ops::Launch& on) {
  constexpr int64_t kSide = 2048;
  static std::mutex mutex;
  // Never destroyed: at exit the device may be gone before.
  static auto& kept = *new std::map<const runtime::StreamState*, Tensor>;
  const runtime::Stream stream = detail::stream_of(on);
  {
    const std::lock_guard lock(mutex);
    const auto found = kept.find(&stream.state());
    if (found != kept.end()) return found->second;
  }
  if (stream.is_capturing()) return {};  // it would be written by the graph only
  // Without the lock: where memory is short, other work may run first, and come here.
  const Tensor made = make_aside(stream, {kSide, kSide}, on.device);
  if (!made.defined()) return {};
  fill_later_keys(on, made);
  const std::lock_guard lock(mutex);
  return kept.try_emplace(&stream.state(), made).first->second;
}

}  // namespace

Tensor in_four_dims(Tensor self) {
  while (self.dim() < 4) self = unsqueezed(self, 0);
  return self;
}

HiddenKeys hide_later_keys(ops::Launch& on, int64_t queries, int64_t keys) {
  constexpr int64_t kCausal = 2;  // sparseMode
  const Tensor kept = kept_causal_mask(on);
  if (kept.defined()) return {kept, kCausal};
  return {later_keys(on, queries, keys)};
}

// Rows and columns must be whole; one sequence or head may stand for all.
HiddenKeys hide_unseen_keys(ops::Launch& on, const Tensor& seen, int64_t queries, int64_t keys) {
  const Tensor given = in_four_dims(seen);
  return {computed(on, ops::Pointwise::kLogicalNot,
                   expanded(given, {given.size(0), given.size(1), queries, keys}))};
}

bool fits_fused_attention(const Tensor& query, const Tensor& key, const Tensor& value) {
  if (!has_fused_attention()) return false;
  constexpr int64_t kMostBatch = 2048;
  constexpr int64_t kMostHeads = 256;
  constexpr int64_t kMostLength = 512 * 1024;
  constexpr int64_t kMostSize = 512;
  if (query.dim() > 4 || query.numel() == 0 || key.numel() == 0) return false;
  if (query.dim() == 4 && query.size(0) > kMostBatch) return false;
  if (query.dim() >= 3 && query.size(-3) > kMostHeads) return false;
  const int64_t size = query.size(-1);
  return size % 16 == 0 && size <= kMostSize && value.size(-1) == size &&
         query.size(-2) <= kMostLength && key.size(-2) <= kMostLength;
}

namespace {

// What both directions give to CANN beside the operands.
struct FusedCall {
  FusedCall(ops::Launch& on, const Tensor& query, const Tensor& key, const Settings& s) {
    heads = query.dim() < 3 ? 1 : query.size(-3);
    if (s.is_causal) {
      hidden = hide_later_keys(on, query.size(-2), key.size(-2));
    } else if (s.attn_mask.defined()) {
      hidden = hide_unseen_keys(on, s.attn_mask, query.size(-2), key.size(-2));
      precision = kEmptyRows;
    }
  }

  static constexpr int64_t kEmptyRows = 2;  // innerPrecise: rows may be masked as a whole
  static constexpr int64_t kFar = std::numeric_limits<int32_t>::max();
  static inline char layout[] = "BNSD";

  HiddenKeys hidden;
  int64_t heads;
  int64_t precision = 0;
};

// What CANN keeps of each row of scores, eight times each.
struct RowStats {
  const Tensor& largest;
  const Tensor& sums;  // of exponentials
};

void attend_in_one(ops::Launch& on,
                   const Tensor& query,
                   const Tensor& key,
                   const Tensor& value,
                   const Settings& s,
                   const Tensor& out,
                   const RowStats& stats) {
  const FusedCall fused(on, query, key, s);
  const Tensor none;
  const Tensor unused = make_like(on, {0}, query.dtype());  // CANN wants it, and leaves it empty
  call(on, MT_ACLNN(aclnnFlashAttentionScore), in_four_dims(query), in_four_dims(key),
       in_four_dims(value), none, s.dropped, none, fused.hidden.mask, nullptr, s.scale,
       1 - s.dropout_p, fused.kFar, fused.kFar, fused.heads, &fused.layout[0], fused.precision,
       fused.hidden.sparse, in_four_dims(stats.largest), in_four_dims(stats.sums), unused,
       in_four_dims(out));
}

void attend_backward_in_one(ops::Launch& on,
                            const Tensor& grad_out,
                            const Tensor& query,
                            const Tensor& key,
                            const Tensor& value,
                            const Tensor& out,
                            const RowStats& stats,
                            const Settings& s,
                            const Tensor& grad_query,
                            const Tensor& grad_key,
                            const Tensor& grad_value) {
  const FusedCall fused(on, query, key, s);
  const Tensor none;
  const Tensor unused = make_like(on, {0}, query.dtype());
  call(on, MT_ACLNN(aclnnFlashAttentionScoreGrad), in_four_dims(query), in_four_dims(key),
       in_four_dims(value), in_four_dims(grad_out), none, s.dropped, none, fused.hidden.mask,
       in_four_dims(stats.largest), in_four_dims(stats.sums), none, in_four_dims(out), nullptr,
       s.scale, 1 - s.dropout_p, fused.kFar, fused.kFar, fused.heads, &fused.layout[0],
       fused.precision, fused.hidden.sparse, in_four_dims(grad_query), in_four_dims(grad_key),
       in_four_dims(grad_value), unused);
}

// --- the ops ---

ops::SpecList row_stats(const Tensor& query,
                        const Tensor&,
                        const Tensor&,
                        const Tensor&,
                        bool,
                        double,
                        bool,
                        const Tensor&,
                        double) {
  constexpr int64_t kCopies = 8;
  Shape sizes = query.sizes();
  sizes.back() = kCopies;
  const ops::TensorSpec spec{std::move(sizes), kWide, query.device(), std::nullopt};
  return {spec, spec};
}

bool takes_forward(const Tensor& query,
                   const Tensor& key,
                   const Tensor& value,
                   const Tensor& attn_mask,
                   bool is_causal,
                   double,
                   bool,
                   const Tensor&,
                   double) {
  return is_taken(query, key, value, attn_mask, is_causal);
}

void flash_attention(ops::Launch& on,
                     const Tensor& query,
                     const Tensor& key,
                     const Tensor& value,
                     const Tensor& attn_mask,
                     bool is_causal,
                     double scale,
                     bool,
                     const Tensor& dropped,
                     double dropout_p,
                     Tensor& out,
                     Tensor& largest,
                     Tensor& sums) {
  const Settings s = {attn_mask, is_causal, scale, dropped, dropout_p};
  attend_in_one(on, query, key, value, s, out, {largest, sums});
}

bool takes_backward(const Tensor&,
                    const Tensor& query,
                    const Tensor& key,
                    const Tensor& value,
                    const Tensor&,
                    const Tensor&,
                    const Tensor&,
                    const Tensor& attn_mask,
                    bool is_causal,
                    double,
                    const Tensor&,
                    double) {
  return is_taken(query, key, value, attn_mask, is_causal);
}

void flash_attention_backward(ops::Launch& on,
                              const Tensor& grad_out,
                              const Tensor& query,
                              const Tensor& key,
                              const Tensor& value,
                              const Tensor& out,
                              const Tensor& largest,
                              const Tensor& sums,
                              const Tensor& attn_mask,
                              bool is_causal,
                              double scale,
                              const Tensor& dropped,
                              double dropout_p,
                              Tensor& grad_query,
                              Tensor& grad_key,
                              Tensor& grad_value) {
  const Settings s = {attn_mask, is_causal, scale, dropped, dropout_p};
  attend_backward_in_one(on, grad_out, query, key, value, out, {largest, sums}, s, grad_query,
                         grad_key, grad_value);
}

}  // namespace

void register_attention(ops::Registry& registry) {
  constexpr const char* kOp = "_scaled_dot_product_flash_attention";
  registry.kernel<flash_attention>(DeviceType::kNpu, kOp)
      .when<takes_forward>()
      .takes(kFloats)
      .keeps<row_stats>();
  registry.kernel<flash_attention_backward>(DeviceType::kNpu, std::string(kOp) + "_backward")
      .when<takes_backward>()
      .takes(kFloats);
}

}  // namespace mindtorch::ascend
