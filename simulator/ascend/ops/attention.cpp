// Attention for training, and for the prompt and the following tokens; rotary embedding.
//
// Quantised inputs, paged caches and the packed layout "TND" are not simulated: phase one says so.
#include <limits>

#include "simulator/ascend/ops/gemm.h"
#include "simulator/ascend/ops/pointwise.h"

using namespace sim;

namespace {

using Values = std::vector<float>;

constexpr float kMasked = -std::numeric_limits<float>::infinity();

size_t z(int64_t value) { return static_cast<size_t>(value); }

// A tensor of heads as [batch, head, position, size], whatever its layout.
View heads(const View& view, const std::string& layout, int64_t count_of_heads) {
  if (layout == "BNSD") return view;
  if (layout == "BSND") return view.permute({0, 2, 1, 3});
  const int64_t size = view.size(2) / count_of_heads;
  const View split{view.data,
                   view.dtype,
                   {view.size(0), view.size(1), count_of_heads, size},
                   {view.stride(0), view.stride(1), size * view.stride(2), view.stride(2)}};
  return split.permute(layout == "SBH" ? std::vector<int64_t>{1, 2, 0, 3}
                                       : std::vector<int64_t>{0, 2, 1, 3});
}

void check_layout(Planner& p, const std::string& layout) {
  p.check(layout == "BSH" || layout == "SBH" || layout == "BSND" || layout == "BNSD",
          "inputLayout is " + layout + ", simulated are BSH, SBH, BSND and BNSD");
}

// How many heads key and value have, when their layout hides it.
int64_t key_heads(const Operand& query, const Operand& key, const std::string& layout, int64_t n) {
  if (layout == "BNSD") return key.shape()[1];
  if (layout == "BSND") return key.shape()[2];
  return n * key.shape()[2] / query.shape()[2];
}

struct Settings {
  float scale = 1;
  bool shift_first = false;  // the shift is added before the scale multiplies
  int64_t sparse = 0;
  int64_t before = std::numeric_limits<int32_t>::max();
  int64_t after = std::numeric_limits<int32_t>::max();
  std::vector<int64_t> key_lengths;  // of each batch; empty: all
  float keep = 1;
};

// Whether a query position sees a key position, without the mask tensor.
bool in_band(const Settings& s, bool masked, int64_t i, int64_t j, int64_t queries, int64_t keys) {
  switch (s.sparse) {
    case 0:
      return !masked || (j >= i - s.before && j <= i + s.after);
    case 2:
      return j <= i;
    case 3:
      return j <= i + keys - queries;
    case 4:
      return j >= i + keys - queries - s.before && j <= i + keys - queries + s.after;
    default:
      return true;
  }
}

View broadcast_mask(const View& mask, int64_t b, int64_t n, int64_t queries, int64_t keys) {
  View four = mask;
  while (four.rank() < 4) four = four.unsqueeze(four.rank() == 3 ? 1 : 0);
  return four.expand({b, n, queries, keys});
}

// What attention is computed from, on the device.
struct Inputs {
  View query;  // [B, N, S, D]
  View key;    // [B, Nk, Sk, D]
  View value;
  View shift;  // added to the scores; rank 0 and no data: none
  View mask;   // not 0: not seen
  View drop;   // bits, 1 keeps

  int64_t batch() const { return query.size(0); }
  int64_t heads() const { return query.size(1); }
  int64_t queries() const { return query.size(2); }
  int64_t keys() const { return key.size(2); }
  int64_t group() const { return heads() / key.size(1); }
};

Values matrix(const View& four, int64_t b, int64_t n) {
  return load_all<float>(four.select(0, b).select(0, n));
}
Values turned(const Values& values, int64_t rows, int64_t columns) {
  Values result(values.size());
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) result[z(j * rows + i)] = values[z(i * columns + j)];
  }
  return result;
}

// Probabilities of one head, and for each row the largest score and the sum of exponents.
Values probabilities(
    const Inputs& in, const Settings& s, int64_t b, int64_t n, Values* tops, Values* sums) {
  const int64_t queries = in.queries();
  const int64_t keys = in.keys();
  const int64_t size = in.query.size(3);
  const Values q = matrix(in.query, b, n);
  const Values k = turned(matrix(in.key, b, n / in.group()), keys, size);
  Values scores(z(queries * keys));
  gemm(queries, keys, size, s.shift_first ? 1 : s.scale, q.data(), k.data(), 0, scores.data());
  const bool shifted = in.shift.data != nullptr;
  const bool masked = in.mask.data != nullptr;
  const Values shift =
      shifted ? matrix(broadcast_mask(in.shift, in.batch(), in.heads(), queries, keys), b, n)
              : Values{};
  // Sparse modes 2 to 4 take a compressed mask that only says "lower triangle".
  const bool own_mask = masked && s.sparse < 2;
  const Values mask =
      own_mask ? matrix(broadcast_mask(in.mask, in.batch(), in.heads(), queries, keys), b, n)
               : Values{};
  const int64_t length = s.key_lengths.empty()       ? keys
                         : s.key_lengths.size() == 1 ? s.key_lengths[0]
                                                     : s.key_lengths[z(b)];
  for (int64_t i = 0; i < queries; ++i) {
    float top = kMasked;
    for (int64_t j = 0; j < keys; ++j) {
      float& score = scores[z(i * keys + j)];
      if (shifted) score += shift[z(i * keys + j)];
      if (s.shift_first) score *= s.scale;
      const bool hidden = (own_mask && mask[z(i * keys + j)] != 0) || j >= length ||
                          !in_band(s, masked, i, j, queries, keys);
      if (hidden) score = kMasked;
      top = std::max(top, score);
    }
    float sum = 0;
    for (int64_t j = 0; j < keys; ++j) {
      float& score = scores[z(i * keys + j)];
      score = top == kMasked ? 0 : std::exp(score - top);
      sum += score;
    }
    for (int64_t j = 0; j < keys && sum > 0; ++j) scores[z(i * keys + j)] /= sum;
    if (tops != nullptr) tops->push_back(top);
    if (sums != nullptr) sums->push_back(sum);
  }
  return scores;
}

// Zeroes what dropout drops, and scales the rest.
void drop(Values& p, const Inputs& in, const Settings& s, int64_t b, int64_t n) {
  if (in.drop.data == nullptr) return;
  const auto first = z((b * in.heads() + n) * in.queries() * in.keys());
  for (size_t i = 0; i < p.size(); ++i) {
    int64_t byte = 0;
    load(in.drop, static_cast<int64_t>((first + i) / 8), 1, &byte);
    p[i] = (byte >> ((first + i) % 8) & 1) != 0 ? p[i] / s.keep : 0;
  }
}

void attend(const Inputs& in,
            const Settings& s,
            const View& out,
            const View* top_out,
            const View* sum_out,
            const View* lse_out) {
  const int64_t size = in.value.size(3);
  Values tops;
  Values sums;
  for (int64_t b = 0; b < in.batch(); ++b) {
    for (int64_t n = 0; n < in.heads(); ++n) {
      Values p = probabilities(in, s, b, n, &tops, &sums);
      drop(p, in, s, b, n);
      Values result(z(in.queries() * size));
      gemm(in.queries(), size, in.keys(), 1, p.data(), matrix(in.value, b, n / in.group()).data(),
           0, result.data());
      store_all(out.select(0, b).select(0, n), result);
    }
  }
  const auto spread = [](const View& view, const Values& values) {  // 8 copies of each
    Values wide;
    for (const float value : values) wide.insert(wide.end(), 8, value);
    store_all(view, wide);
  };
  if (top_out != nullptr) spread(*top_out, tops);
  if (sum_out != nullptr) spread(*sum_out, sums);
  if (lse_out != nullptr) {
    for (size_t i = 0; i < tops.size(); ++i) tops[i] += std::log(sums[i]);
    store_all(*lse_out, tops);
  }
}

void refuse(Planner& p, const void* object, const char* name) {
  p.check(object == nullptr, std::string(name) + " is not simulated");
}

struct Training {
  const aclTensor* query;
  const aclTensor* key;
  const aclTensor* value;
  const aclTensor* shift;
  const char* shift_name;
  const aclTensor* drop;
  const aclTensor* padding;
  const aclTensor* mask;
  const aclIntArray* prefix;
  double scale;
  double keep;
  int64_t before;
  int64_t after;
  int64_t heads;
  const char* layout;
  int64_t sparse;
};

struct Slots {
  Operand query, key, value, shift, drop, mask;
  std::string layout;
  int64_t heads = 0;
  int64_t key_heads = 0;
  Settings settings;

  Inputs inputs(const Launch& launch) const {
    Inputs in;
    in.query = ::heads(get(launch, query), layout, heads);
    in.key = sim_heads(launch, key);
    in.value = sim_heads(launch, value);
    if (shift) in.shift = get(launch, shift);
    if (mask) in.mask = get(launch, mask);
    if (drop) in.drop = get(launch, drop);
    return in;
  }
  View sim_heads(const Launch& launch, const Operand& operand) const {
    return ::heads(get(launch, operand), layout, key_heads);
  }
};

Slots check_training(Planner& p, const Training& t) {
  Slots s;
  s.query = p.input(t.query, "query", kF);
  s.key = p.input(t.key, "key", kF);
  s.value = p.input(t.value, "value", kF);
  s.shift = p.optional(t.shift, t.shift_name, kF);
  s.drop = p.optional(t.drop, "dropMaskOptional", kU8);
  refuse(p, t.padding, "paddingMaskOptional");
  s.mask = p.optional(t.mask, "attenMaskOptional", kBool | kU8);
  refuse(p, t.prefix, "prefixOptional");
  s.layout = p.text(t.layout, "inputLayout");
  check_layout(p, s.layout);
  const int64_t rank = s.layout.size() == 3 ? 3 : 4;
  for (const Operand& each : {s.query, s.key, s.value}) p.check_rank(each, rank, rank);
  p.check(t.heads > 0, "headNum must be positive");
  p.check(t.sparse >= 0 && t.sparse <= 4, "sparseMode is " + std::to_string(t.sparse));
  p.check(t.keep > 0 && t.keep <= 1, "keepProb must be in (0, 1]");
  s.heads = t.heads;
  if (s.query.numel() > 0) s.key_heads = key_heads(s.query, s.key, s.layout, t.heads);
  p.check(s.key_heads > 0 && t.heads % s.key_heads == 0, "key's heads must divide headNum");
  s.settings.scale = static_cast<float>(t.scale);
  s.settings.shift_first = true;
  s.settings.sparse = t.sparse;
  s.settings.before = t.before;
  s.settings.after = t.after;
  s.settings.keep = static_cast<float>(t.keep);
  return s;
}

struct Inference {
  const char* op;
  const aclTensor* query;
  const aclTensor* key;
  const aclTensor* value;
  const aclTensor* shift;
  const aclTensor* mask;
  const aclIntArray* key_lengths;
  int64_t heads;
  double scale;
  int64_t before;
  int64_t after;
  const char* layout;
  int64_t key_heads;
  int64_t sparse;
  const aclTensor* out;
  const aclTensor* lse;
};

aclnnStatus infer(const Inference& a,
                  const std::vector<std::pair<const void*, const char*>>& refused,
                  uint64_t* workspace_size,
                  aclOpExecutor** executor) {
  return plan(a.op, workspace_size, executor, [&](Planner& p) {
    Slots s;
    s.query = p.input(a.query, "query", kF);
    s.key = p.input(a.key, "key", kF);
    s.value = p.input(a.value, "value", kF);
    s.shift = p.optional(a.shift, "pseShift", kF);
    s.mask = p.optional(a.mask, "attenMask", kBool | kU8 | kI8 | kF);
    for (const auto& [object, name] : refused) refuse(p, object, name);
    s.layout = p.text(a.layout, "inputLayout");
    check_layout(p, s.layout);
    const int64_t rank = s.layout.size() == 3 ? 3 : 4;
    for (const Operand& each : {s.query, s.key, s.value}) p.check_rank(each, rank, rank);
    p.check(a.heads > 0, "numHeads must be positive");
    p.check(a.sparse >= 0 && a.sparse <= 4, "sparseMode is " + std::to_string(a.sparse));
    s.heads = a.heads;
    s.key_heads = a.key_heads == 0 ? a.heads : a.key_heads;
    p.check(a.heads % s.key_heads == 0, "numKeyValueHeads must divide numHeads");
    s.settings.scale = static_cast<float>(a.scale);
    s.settings.sparse = a.sparse;
    s.settings.before = a.before;
    s.settings.after = a.after;
    if (a.key_lengths != nullptr) {
      s.settings.key_lengths = p.array(a.key_lengths, "actualSeqLengths");
    }
    const Operand out = p.output(a.out, "attentionOut", kF);
    const Operand lse = a.lse == nullptr ? Operand{} : p.output(a.lse, "softmaxLse", kF32);
    p.check_shape(out, s.query.shape());
    if (out.numel() == 0) return;
    p.run([=](Launch& launch) {
      const View to = heads(get(launch, out), s.layout, s.heads);
      const View* const lse_view = lse ? &get(launch, lse) : nullptr;
      attend(s.inputs(launch), s.settings, to, nullptr, nullptr, lse_view);
    });
  });
}

// The only member of a list.
const aclTensor* single(const aclTensorList* list) {
  if (list == nullptr || object_id(list) == 0 || list->tensors.size() != 1) return nullptr;
  return list->tensors[0];
}

constexpr int64_t kFar = std::numeric_limits<int32_t>::max();

}  // namespace

extern "C" {

SIM_SIGNATURE(FlashAttentionScore,
              const aclTensor* query,
              const aclTensor* key,
              const aclTensor* value,
              const aclTensor* realShiftOptional,
              const aclTensor* dropMaskOptional,
              const aclTensor* paddingMaskOptional,
              const aclTensor* attenMaskOptional,
              const aclIntArray* prefixOptional,
              double scaleValue,
              double keepProb,
              int64_t preTokens,
              int64_t nextTokens,
              int64_t headNum,
              char* inputLayout,
              int64_t,
              int64_t sparseMode,
              const aclTensor* softmaxMaxOut,
              const aclTensor* softmaxSumOut,
              const aclTensor*,
              const aclTensor* attentionOutOut) {
  return plan("aclnnFlashAttentionScore", workspaceSize, executor, [&](Planner& p) {
    const Slots s = check_training(
        p, {query, key, value, realShiftOptional, "realShiftOptional", dropMaskOptional,
            paddingMaskOptional, attenMaskOptional, prefixOptional, scaleValue, keepProb, preTokens,
            nextTokens, headNum, inputLayout, sparseMode});
    const Operand tops = p.output(softmaxMaxOut, "softmaxMaxOut", kF32);
    const Operand sums = p.output(softmaxSumOut, "softmaxSumOut", kF32);
    const Operand out = p.output(attentionOutOut, "attentionOutOut", kF);
    p.check_shape(out, s.query.shape());
    p.check_rank(tops, 4, 4);
    p.check(tops.shape()[3] == 8 && tops.shape()[1] == headNum,
            "softmaxMaxOut must have the shape [batch, headNum, queries, 8]");
    p.check_shape(sums, tops.shape());
    if (out.numel() == 0) return;
    p.run([=](Launch& launch) {
      const View to = heads(get(launch, out), s.layout, s.heads);
      attend(s.inputs(launch), s.settings, to, &get(launch, tops), &get(launch, sums), nullptr);
    });
  });
}

SIM_SIGNATURE(FlashAttentionScoreGrad,
              const aclTensor* query,
              const aclTensor* keyIn,
              const aclTensor* value,
              const aclTensor* dy,
              const aclTensor* pseShiftOptional,
              const aclTensor* dropMaskOptional,
              const aclTensor* paddingMaskOptional,
              const aclTensor* attenMaskOptional,
              const aclTensor*,
              const aclTensor*,
              const aclTensor*,
              const aclTensor*,
              const aclIntArray* prefixOptional,
              double scaleValue,
              double keepProb,
              int64_t preTokens,
              int64_t nextTokens,
              int64_t headNum,
              char* inputLayout,
              int64_t,
              int64_t sparseMode,
              const aclTensor* dqOut,
              const aclTensor* dkOut,
              const aclTensor* dvOut,
              const aclTensor*) {
  return plan("aclnnFlashAttentionScoreGrad", workspaceSize, executor, [&](Planner& p) {
    const Slots s = check_training(
        p, {query, keyIn, value, pseShiftOptional, "pseShiftOptional", dropMaskOptional,
            paddingMaskOptional, attenMaskOptional, prefixOptional, scaleValue, keepProb, preTokens,
            nextTokens, headNum, inputLayout, sparseMode});
    const Operand g = p.input(dy, "dy", kF);
    const Operand dq = p.output(dqOut, "dqOut", kF);
    const Operand dk = p.output(dkOut, "dkOut", kF);
    const Operand dv = p.output(dvOut, "dvOut", kF);
    p.check_shape(g, s.query.shape());
    p.check_shape(dq, s.query.shape());
    p.check_shape(dk, s.key.shape());
    p.check_shape(dv, s.value.shape());
    if (dq.numel() == 0) return;
    p.run([=](Launch& launch) {
      const Inputs in = s.inputs(launch);
      const View grads = heads(get(launch, g), s.layout, s.heads);
      const View to_q = heads(get(launch, dq), s.layout, s.heads);
      const View to_k = heads(get(launch, dk), s.layout, s.key_heads);
      const View to_v = heads(get(launch, dv), s.layout, s.key_heads);
      const int64_t rows = in.queries();
      const int64_t keys = in.keys();
      const int64_t size = in.query.size(3);
      const float scale = s.settings.scale;
      for (int64_t b = 0; b < in.batch(); ++b) {
        for (int64_t shared = 0; shared < s.key_heads; ++shared) {
          Values sum_k(z(keys * size));
          Values sum_v(z(keys * size));
          for (int64_t n = shared * in.group(); n < (shared + 1) * in.group(); ++n) {
            const Values soft = probabilities(in, s.settings, b, n, nullptr, nullptr);
            Values dropped = soft;
            drop(dropped, in, s.settings, b, n);
            const Values dout = matrix(grads, b, n);
            gemm(keys, size, rows, 1, turned(dropped, rows, keys).data(), dout.data(), 1,
                 sum_v.data());
            const Values v = turned(matrix(in.value, b, shared), keys, size);
            Values dp(soft.size());
            gemm(rows, keys, size, 1, dout.data(), v.data(), 0, dp.data());
            drop(dp, in, s.settings, b, n);
            for (int64_t i = 0; i < rows; ++i) {
              float dot = 0;
              for (int64_t j = 0; j < keys; ++j) dot += dp[z(i * keys + j)] * soft[z(i * keys + j)];
              for (int64_t j = 0; j < keys; ++j) {
                float& each = dp[z(i * keys + j)];
                each = soft[z(i * keys + j)] * (each - dot);
              }
            }
            Values own(z(rows * size));
            gemm(rows, size, keys, scale, dp.data(), matrix(in.key, b, shared).data(), 0,
                 own.data());
            store_all(to_q.select(0, b).select(0, n), own);
            gemm(keys, size, rows, scale, turned(dp, rows, keys).data(),
                 matrix(in.query, b, n).data(), 1, sum_k.data());
          }
          store_all(to_k.select(0, b).select(0, shared), sum_k);
          store_all(to_v.select(0, b).select(0, shared), sum_v);
        }
      }
    });
  });
}

SIM_SIGNATURE(PromptFlashAttention,
              const aclTensor* query,
              const aclTensor* key,
              const aclTensor* value,
              const aclTensor* pseShift,
              const aclTensor* attenMask,
              const aclIntArray* actualSeqLengths,
              int64_t numHeads,
              double scaleValue,
              int64_t preTokens,
              int64_t nextTokens,
              char* inputLayout,
              int64_t numKeyValueHeads,
              const aclTensor* attentionOut) {
  return infer({"aclnnPromptFlashAttention", query, key, value, pseShift, attenMask,
                actualSeqLengths, numHeads, scaleValue, preTokens, nextTokens, inputLayout,
                numKeyValueHeads, 0, attentionOut, nullptr},
               {}, workspaceSize, executor);
}
SIM_SIGNATURE(PromptFlashAttentionV2,
              const aclTensor* query,
              const aclTensor* key,
              const aclTensor* value,
              const aclTensor* pseShift,
              const aclTensor* attenMask,
              const aclIntArray*,
              const aclIntArray* actualSeqLengthsKv,
              const aclTensor* deqScale1,
              const aclTensor* quantScale1,
              const aclTensor* deqScale2,
              const aclTensor* quantScale2,
              const aclTensor* quantOffset2,
              int64_t numHeads,
              double scaleValue,
              int64_t preTokens,
              int64_t nextTokens,
              char* inputLayout,
              int64_t numKeyValueHeads,
              int64_t sparseMode,
              const aclTensor* attentionOut) {
  return infer({"aclnnPromptFlashAttentionV2", query, key, value, pseShift, attenMask,
                actualSeqLengthsKv, numHeads, scaleValue, preTokens, nextTokens, inputLayout,
                numKeyValueHeads, sparseMode, attentionOut, nullptr},
               {{deqScale1, "deqScale1"},
                {quantScale1, "quantScale1"},
                {deqScale2, "deqScale2"},
                {quantScale2, "quantScale2"},
                {quantOffset2, "quantOffset2"}},
               workspaceSize, executor);
}
SIM_SIGNATURE(PromptFlashAttentionV3,
              const aclTensor* query,
              const aclTensor* key,
              const aclTensor* value,
              const aclTensor* pseShift,
              const aclTensor* attenMask,
              const aclIntArray*,
              const aclIntArray* actualSeqLengthsKv,
              const aclTensor* deqScale1,
              const aclTensor* quantScale1,
              const aclTensor* deqScale2,
              const aclTensor* quantScale2,
              const aclTensor* quantOffset2,
              int64_t numHeads,
              double scaleValue,
              int64_t preTokens,
              int64_t nextTokens,
              char* inputLayout,
              int64_t numKeyValueHeads,
              int64_t sparseMode,
              int64_t,
              const aclTensor* attentionOut) {
  return infer({"aclnnPromptFlashAttentionV3", query, key, value, pseShift, attenMask,
                actualSeqLengthsKv, numHeads, scaleValue, preTokens, nextTokens, inputLayout,
                numKeyValueHeads, sparseMode, attentionOut, nullptr},
               {{deqScale1, "deqScale1"},
                {quantScale1, "quantScale1"},
                {deqScale2, "deqScale2"},
                {quantScale2, "quantScale2"},
                {quantOffset2, "quantOffset2"}},
               workspaceSize, executor);
}
SIM_SIGNATURE(IncreFlashAttention,
              const aclTensor* query,
              const aclTensorList* key,
              const aclTensorList* value,
              const aclTensor* pseShift,
              const aclTensor* attenMask,
              const aclIntArray* actualSeqLengths,
              int64_t numHeads,
              double scaleValue,
              char* inputLayout,
              int64_t numKeyValueHeads,
              const aclTensor* attentionOut) {
  return infer({"aclnnIncreFlashAttention", query, single(key), single(value), pseShift, attenMask,
                actualSeqLengths, numHeads, scaleValue, kFar, kFar, inputLayout, numKeyValueHeads,
                0, attentionOut, nullptr},
               {}, workspaceSize, executor);
}
SIM_SIGNATURE(IncreFlashAttentionV4,
              const aclTensor* query,
              const aclTensorList* key,
              const aclTensorList* value,
              const aclTensor* pseShift,
              const aclTensor* attenMask,
              const aclIntArray* actualSeqLengths,
              const aclTensor* dequantScale1,
              const aclTensor* quantScale1,
              const aclTensor* dequantScale2,
              const aclTensor* quantScale2,
              const aclTensor* quantOffset2,
              const aclTensor* antiquantScale,
              const aclTensor* antiquantOffset,
              const aclTensor* blocktable,
              const aclTensor* kvPaddingSize,
              int64_t numHeads,
              double scaleValue,
              char* inputLayout,
              int64_t numKeyValueHeads,
              int64_t,
              int64_t,
              const aclTensor* attentionOut) {
  return infer({"aclnnIncreFlashAttentionV4", query, single(key), single(value), pseShift,
                attenMask, actualSeqLengths, numHeads, scaleValue, kFar, kFar, inputLayout,
                numKeyValueHeads, 0, attentionOut, nullptr},
               {{dequantScale1, "dequantScale1"},
                {quantScale1, "quantScale1"},
                {dequantScale2, "dequantScale2"},
                {quantScale2, "quantScale2"},
                {quantOffset2, "quantOffset2"},
                {antiquantScale, "antiquantScale"},
                {antiquantOffset, "antiquantOffset"},
                {blocktable, "blocktable"},
                {kvPaddingSize, "kvPaddingSize"}},
               workspaceSize, executor);
}
SIM_SIGNATURE(FusedInferAttentionScore,
              const aclTensor* query,
              const aclTensorList* key,
              const aclTensorList* value,
              const aclTensor* pseShift,
              const aclTensor* attenMask,
              const aclIntArray*,
              const aclIntArray* actualSeqLengthsKv,
              const aclTensor* deqScale1,
              const aclTensor* quantScale1,
              const aclTensor* deqScale2,
              const aclTensor* quantScale2,
              const aclTensor* quantOffset2,
              const aclTensor* antiquantScale,
              const aclTensor* antiquantOffset,
              const aclTensor* blockTable,
              const aclTensor* queryPaddingSize,
              const aclTensor* kvPaddingSize,
              int64_t numHeads,
              double scaleValue,
              int64_t preTokens,
              int64_t nextTokens,
              char* inputLayout,
              int64_t numKeyValueHeads,
              int64_t sparseMode,
              int64_t,
              int64_t,
              int64_t,
              bool softmaxLseFlag,
              const aclTensor* attentionOut,
              const aclTensor* softmaxLse) {
  return infer(
      {"aclnnFusedInferAttentionScore", query, single(key), single(value), pseShift, attenMask,
       actualSeqLengthsKv, numHeads, scaleValue, preTokens, nextTokens, inputLayout,
       numKeyValueHeads, sparseMode, attentionOut, softmaxLseFlag ? softmaxLse : nullptr},
      {{deqScale1, "deqScale1"},
       {quantScale1, "quantScale1"},
       {deqScale2, "deqScale2"},
       {quantScale2, "quantScale2"},
       {quantOffset2, "quantOffset2"},
       {antiquantScale, "antiquantScale"},
       {antiquantOffset, "antiquantOffset"},
       {blockTable, "blockTable"},
       {queryPaddingSize, "queryPaddingSize"},
       {kvPaddingSize, "kvPaddingSize"}},
      workspaceSize, executor);
}

SIM_SIGNATURE(FusedInferAttentionScoreV2,
              const aclTensor* query,
              const aclTensorList* key,
              const aclTensorList* value,
              const aclTensor* pseShiftOptional,
              const aclTensor* attenMaskOptional,
              const aclIntArray*,
              const aclIntArray* actualSeqLengthsKvOptional,
              const aclTensor* deqScale1Optional,
              const aclTensor* quantScale1Optional,
              const aclTensor* deqScale2Optional,
              const aclTensor* quantScale2Optional,
              const aclTensor* quantOffset2Optional,
              const aclTensor* antiquantScaleOptional,
              const aclTensor* antiquantOffsetOptional,
              const aclTensor* blockTableOptional,
              const aclTensor* queryPaddingSizeOptional,
              const aclTensor* kvPaddingSizeOptional,
              const aclTensor* keyAntiquantScaleOptional,
              const aclTensor* keyAntiquantOffsetOptional,
              const aclTensor* valueAntiquantScaleOptional,
              const aclTensor* valueAntiquantOffsetOptional,
              const aclTensor* keySharedPrefixOptional,
              const aclTensor* valueSharedPrefixOptional,
              const aclIntArray* actualSharedPrefixLenOptional,
              int64_t numHeads,
              double scaleValue,
              int64_t preTokens,
              int64_t nextTokens,
              char* inputLayout,
              int64_t numKeyValueHeads,
              int64_t sparseMode,
              int64_t,
              int64_t,
              int64_t,
              bool softmaxLseFlag,
              int64_t,
              int64_t,
              const aclTensor* attentionOut,
              const aclTensor* softmaxLse) {
  return infer({"aclnnFusedInferAttentionScoreV2", query, single(key), single(value),
                pseShiftOptional, attenMaskOptional, actualSeqLengthsKvOptional, numHeads,
                scaleValue, preTokens, nextTokens, inputLayout, numKeyValueHeads, sparseMode,
                attentionOut, softmaxLseFlag ? softmaxLse : nullptr},
               {{deqScale1Optional, "deqScale1Optional"},
                {quantScale1Optional, "quantScale1Optional"},
                {deqScale2Optional, "deqScale2Optional"},
                {quantScale2Optional, "quantScale2Optional"},
                {quantOffset2Optional, "quantOffset2Optional"},
                {antiquantScaleOptional, "antiquantScaleOptional"},
                {antiquantOffsetOptional, "antiquantOffsetOptional"},
                {blockTableOptional, "blockTableOptional"},
                {queryPaddingSizeOptional, "queryPaddingSizeOptional"},
                {kvPaddingSizeOptional, "kvPaddingSizeOptional"},
                {keyAntiquantScaleOptional, "keyAntiquantScaleOptional"},
                {keyAntiquantOffsetOptional, "keyAntiquantOffsetOptional"},
                {valueAntiquantScaleOptional, "valueAntiquantScaleOptional"},
                {valueAntiquantOffsetOptional, "valueAntiquantOffsetOptional"},
                {keySharedPrefixOptional, "keySharedPrefixOptional"},
                {valueSharedPrefixOptional, "valueSharedPrefixOptional"},
                {actualSharedPrefixLenOptional, "actualSharedPrefixLenOptional"}},
               workspaceSize, executor);
}

SIM_SIGNATURE(ApplyRotaryPosEmb,
              aclTensor* queryRef,
              aclTensor* keyRef,
              const aclTensor* cos,
              const aclTensor* sin,
              int64_t layout) {
  return plan("aclnnApplyRotaryPosEmb", workspaceSize, executor, [&](Planner& p) {
    const Operand query = p.inout(queryRef, "queryRef", kF);
    const Operand key = p.inout(keyRef, "keyRef", kF);
    const Operand c = p.input(cos, "cos", kF);
    const Operand s = p.input(sin, "sin", kF);
    p.check(layout == 1, "layout is " + std::to_string(layout) + ", simulated is 1 (BSND)");
    p.check_rank(query, 4, 4);
    p.check_rank(key, 4, 4);
    p.check(query.shape()[3] % 2 == 0, "queryRef has an odd head size");
    for (const Operand& each : {query, key}) {
      p.check_shape(each, p.broadcast(each.shape(), c.shape(), "queryRef, keyRef and cos"));
      p.check_shape(each, p.broadcast(each.shape(), s.shape(), "queryRef, keyRef and sin"));
    }
    if (query.numel() == 0) return;
    p.run([=](Launch& launch) {
      for (const Operand& each : {query, key}) {
        const View& view = get(launch, each);
        const Values x = load_all<float>(view);
        Values cosines(x.size());
        Values sines(x.size());
        load(get(launch, c).expand(view.shape), 0, view.numel(), cosines.data());
        load(get(launch, s).expand(view.shape), 0, view.numel(), sines.data());
        const size_t size = z(view.size(3));
        Values result(x.size());
        for (size_t i = 0; i < x.size(); ++i) {
          const bool first = i % size < size / 2;
          const float other = first ? -x[i + size / 2] : x[i - size / 2];
          result[i] = x[i] * cosines[i] + other * sines[i];
        }
        store_all(view, result);
      }
    });
  });
}
}
