// Attention for training: one op for sequences of one length, one for packed ones, their gradients.
#include "simulator/ascend/ops/attention.h"

using namespace sim;

namespace {

// How the caller gives positions to the scores.
enum class Shift {
  kAfterScale = 0,
  kBeforeScale = 1,
  kDistance = 2,      // slopes for the distance between positions
  kRootDistance = 3,  // and for its root
};

// The arguments that all forms have, by the names that they have in common.
struct Training {
  const aclTensor* query;
  const aclTensor* key;
  const char* key_name;
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
  bool backward = false;
  const aclTensor* grad = nullptr;
};
// Those of the forms for packed sequences.
struct Packed {
  bool packed = false;
  const aclIntArray* query_ends = nullptr;
  const aclIntArray* key_ends = nullptr;
};
// Those of the second versions.
struct Positions {
  const aclIntArray* query_start = nullptr;
  const aclIntArray* key_start = nullptr;
  Shift kind = Shift::kBeforeScale;
};

// What phase one found out of them.
struct Slots {
  Operand query, key, value, grad, shift, drop, mask;
  Layout layout, key_layout;
  Layout rows;  // of the results for each row
  std::vector<Span> spans;
  std::vector<int64_t> prefixes;
  AttentionSettings settings;
  bool slopes = false;

  Sequence sequence(const Launch& launch, size_t number) const;
  View of_query(const View& view, size_t number) const {
    return layout.sequence(view, at(number), spans[number].query_first, spans[number].queries);
  }
  View of_key(const View& view, size_t number) const {
    return key_layout.sequence(view, at(number), spans[number].key_first, spans[number].keys);
  }
  View of_rows(const View& view, size_t number) const {
    return rows.sequence(view, at(number), spans[number].query_first, spans[number].queries);
  }
  static int64_t at(size_t number) { return static_cast<int64_t>(number); }
};

Sequence Slots::sequence(const Launch& launch, size_t number) const {
  Sequence in;
  const Span& span = spans[number];
  in.query = of_query(get(launch, query), number);
  in.key = of_key(get(launch, key), number);
  in.value = of_key(get(launch, value), number);
  const auto spread = [&](const Operand& operand) {
    return of_sequence(get(launch, operand), at(number), layout.heads, span.queries, span.keys);
  };
  if (shift && slopes) {
    const View& each = get(launch, shift);
    in.slopes = load_all<float>(each.rank() == 2 ? each.select(0, at(number)) : each);
  } else if (shift) {
    in.shift = spread(shift);
  }
  if (mask && (settings.sparse < 2 || settings.sparse == 5)) in.mask = spread(mask);
  if (drop) in.drop = get(launch, drop);
  for (size_t k = 0; k < number; ++k) {
    in.drop_first += layout.heads * spans[k].queries * spans[k].keys;
  }
  if (!prefixes.empty()) in.prefix = prefixes[number];
  return in;
}

std::vector<Span> check_spans(Planner& p, const Packed& t, const Extent& q, const Extent& k) {
  std::vector<Span> spans;
  if (!t.packed) return std::vector<Span>(static_cast<size_t>(q.batch), {0, q.length, 0, k.length});
  const auto queries = lengths_of(p, p.array(t.query_ends, "actualSeqQLenOptional"), q.length,
                                  "actualSeqQLenOptional");
  const auto keys = lengths_of(p, p.array(t.key_ends, "actualSeqKvLenOptional"), k.length,
                               "actualSeqKvLenOptional");
  p.check(queries.size() == keys.size(),
          "actualSeqQLenOptional and actualSeqKvLenOptional must have one length");
  Span span;
  for (size_t i = 0; i < queries.size(); ++i) {
    span.queries = queries[i];
    span.keys = keys[i];
    spans.push_back(span);
    span.query_first += queries[i];
    span.key_first += keys[i];
  }
  return spans;
}

int64_t start_of(Planner& p, const aclIntArray* array, const char* name) {
  if (array == nullptr) return 0;
  const auto& values = p.array(array, name);
  p.check(values.size() <= 1, std::string(name) + " must have one value");
  return values.empty() ? 0 : values[0];
}

void check_shift(Planner& p, const Positions& t, const Extent& q, int64_t keys, Slots& s) {
  const auto kind = static_cast<int64_t>(t.kind);
  p.check(kind >= 0 && kind <= 3, "pseType is " + std::to_string(kind) + ", expected is 0 to 3");
  s.slopes = t.kind == Shift::kDistance || t.kind == Shift::kRootDistance;
  s.settings.shift_first = t.kind == Shift::kBeforeScale;
  s.settings.root_distance = t.kind == Shift::kRootDistance;
  s.settings.query_start = start_of(p, t.query_start, "qStartIdxOptional");
  s.settings.key_start = start_of(p, t.key_start, "kvStartIdxOptional");
  if (!s.shift) return;
  if (!s.slopes) return check_broadcast(p, s.shift, q, keys);
  const auto batch = static_cast<int64_t>(s.spans.size());
  p.check_shape(s.shift, s.shift.rank() == 2 ? Shape{batch, q.heads} : Shape{q.heads});
}

Slots check(Planner& p, const Training& t, const Packed& ends, const Positions& positions) {
  Slots s;
  s.query = p.input(t.query, "query", kF);
  s.key = p.input(t.key, t.key_name, kF);
  s.value = p.input(t.value, "value", kF);
  if (t.backward) s.grad = p.input(t.grad, "dy", kF);
  s.shift = p.optional(t.shift, t.shift_name, kF);
  s.drop = p.optional(t.drop, "dropMaskOptional", kU8);
  refuse(p, t.padding, "paddingMaskOptional");
  s.mask = p.optional(t.mask, "attenMaskOptional", kBool | kU8);
  const std::string layout = p.text(t.layout, "inputLayout");
  const bool known =
      ends.packed ? layout == "TND"
                  : layout == "BSH" || layout == "SBH" || layout == "BSND" || layout == "BNSD";
  p.check(known, "inputLayout is " + layout + ", expected is " +
                     (ends.packed ? "TND" : "BSH, SBH, BSND or BNSD"));
  p.check(t.heads > 0, "headNum must be positive");
  p.check(t.keep > 0 && t.keep <= 1, "keepProb must be in (0, 1]");
  for (const Operand& each : {s.key, s.value}) {
    p.check(each.dtype() == s.query.dtype(), p.name(each) + " must have the dtype of query");
  }
  s.layout = {layout, t.heads};
  const Extent q = extent(p, s.query, s.layout);
  p.check(q.heads == t.heads, "headNum is not the number of query's heads");
  // BSH and SBH hide how many heads there are; all have the size of query's.
  int64_t key_heads = t.heads;
  if (layout == "BSH" || layout == "SBH") {
    p.check_rank(s.key, 3, 3);
    key_heads = q.size == 0 ? 0 : s.key.shape()[2] / q.size;
    p.check(key_heads > 0, p.name(s.key) + " has smaller heads than query");
  }
  s.key_layout = {layout, key_heads};
  const Extent k = extent(p, s.key, s.key_layout);
  const Extent v = extent(p, s.value, s.key_layout);
  s.key_layout.heads = k.heads;
  p.check(k.heads > 0 && t.heads % k.heads == 0, "key's heads must divide headNum");
  p.check(k.size == q.size, "key and query must have heads of one size");
  p.check(k.batch == q.batch && v.batch == q.batch && v.heads == k.heads && v.length == k.length,
          "query, key and value have shapes " + shape_text(s.query.shape()) + ", " +
              shape_text(s.key.shape()) + " and " + shape_text(s.value.shape()) +
              ", which do not fit");
  s.rows = {ends.packed ? "TND" : "BNSD", t.heads};
  s.spans = check_spans(p, ends, q, k);
  Extent longest = q;
  int64_t keys = 0;
  longest.length = 0;
  if (ends.packed) longest.batch = static_cast<int64_t>(s.spans.size());
  for (const Span& span : s.spans) {
    longest.length = std::max(longest.length, span.queries);
    keys = std::max(keys, span.keys);
  }
  check_mask(p, s.mask, t.sparse, longest, keys);
  int64_t weights = 0;
  for (const Span& span : s.spans) weights += t.heads * span.queries * span.keys;
  p.check(!s.drop || s.drop.numel() * 8 >= weights,
          "dropMaskOptional has fewer bits than there are weights");
  s.settings.scale = static_cast<float>(t.scale);
  s.settings.sparse = t.sparse;
  s.settings.before = t.before;
  s.settings.after = t.after;
  s.settings.keep = static_cast<float>(t.keep);
  check_shift(p, positions, longest, keys, s);
  if (t.prefix != nullptr) s.prefixes = p.array(t.prefix, "prefixOptional");
  p.check(t.sparse < 5 ? s.prefixes.empty() : s.prefixes.size() == s.spans.size(),
          "prefixOptional must have one value for each sequence, in sparseMode 5 and 6 only");
  return s;
}

// [batch, heads, positions, 8], or [positions, heads, 8] of packed sequences.
void check_rows(Planner& p, const Operand& rows, const Slots& s) {
  const Extent q = extent(p, s.query, s.layout);
  const Shape packed{q.length, q.heads, 8};
  const Shape padded{q.batch, q.heads, q.length, 8};
  p.check_shape(rows, s.layout.packed() ? packed : padded);
}

// The shape of the result: query's, with the size of value's heads.
void check_result(Planner& p, const Operand& result, const Slots& s) {
  const Extent v = extent(p, s.value, s.key_layout);
  Shape shape = s.query.shape();
  shape.back() = s.layout.rank() == 3 && !s.layout.packed() ? v.size * s.layout.heads : v.size;
  p.check_shape(result, shape);
}

aclnnStatus forward(const char* op,
                    const Training& t,
                    const Packed& ends,
                    const Positions& positions,
                    const aclTensor* largest,
                    const aclTensor* sums,
                    const aclTensor* weights,
                    const aclTensor* result,
                    uint64_t* workspace_size,
                    aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    const Slots s = check(p, t, ends, positions);
    const Operand top = p.output(largest, "softmaxMaxOut", kF32);
    const Operand sum = p.output(sums, "softmaxSumOut", kF32);
    p.optional_output(weights, "softmaxOutOut", kF);  // stays empty
    const Operand out = p.output(result, "attentionOutOut", kF);
    check_result(p, out, s);
    check_rows(p, top, s);
    check_rows(p, sum, s);
    if (out.numel() == 0) return;
    p.run([=](Launch& launch) {
      for (size_t i = 0; i < s.spans.size(); ++i) {
        attend(s.sequence(launch, i), s.settings, s.of_query(get(launch, out), i),
               {s.of_rows(get(launch, top), i), s.of_rows(get(launch, sum), i), {}});
      }
    });
  });
}

// The tensors of the gradient beside the ones of the forward pass.
struct Backward {
  const aclTensor* largest;
  const aclTensor* sum;
  const aclTensor* result;
  const aclTensor* query;
  const aclTensor* key;
  const aclTensor* value;
  const aclTensor* shift;
};

aclnnStatus backward(const char* op,
                     const Training& t,
                     const Packed& ends,
                     const Positions& positions,
                     const Backward& b,
                     uint64_t* workspace_size,
                     aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    const Slots s = check(p, t, ends, positions);
    const Operand top = p.optional(b.largest, "softmaxMaxOptional", kF32);
    const Operand sum = p.optional(b.sum, "softmaxSumOptional", kF32);
    const Operand result = p.optional(b.result, "attentionInOptional", kF);
    const Operand dq = p.output(b.query, "dqOut", kF);
    const Operand dk = p.output(b.key, "dkOut", kF);
    const Operand dv = p.output(b.value, "dvOut", kF);
    const Operand ds = p.optional_output(b.shift, "dpseOut", kF);
    check_result(p, s.grad, s);
    if (result) check_result(p, result, s);
    if (top) check_rows(p, top, s);
    if (sum) check_rows(p, sum, s);
    p.check_shape(dq, s.query.shape());
    p.check_shape(dk, s.key.shape());
    p.check_shape(dv, s.value.shape());
    const bool of_shift = ds && ds.numel() > 0 && s.shift && !s.slopes;
    if (of_shift) p.check_shape(ds, s.shift.shape());
    if (dq.numel() == 0) return;
    p.run([=](Launch& launch) {
      Values shifts(of_shift ? static_cast<size_t>(ds.numel()) : 0);
      const View sums_of_shift =
          of_shift ? contiguous_view(shifts.data(), ACL_FLOAT, ds.shape()) : View{};
      for (size_t i = 0; i < s.spans.size(); ++i) {
        RowResults rows;
        if (top) rows.largest = s.of_rows(get(launch, top), i);
        if (sum) rows.sum = s.of_rows(get(launch, sum), i);
        Gradients out{s.of_query(get(launch, dq), i),
                      s.of_key(get(launch, dk), i),
                      s.of_key(get(launch, dv), i),
                      {}};
        if (of_shift) {
          out.shift = of_sequence(sums_of_shift, Slots::at(i), s.layout.heads, s.spans[i].queries,
                                  s.spans[i].keys);
        }
        attend_backward(s.sequence(launch, i), s.settings, s.of_query(get(launch, s.grad), i), rows,
                        result ? s.of_query(get(launch, result), i) : View{}, out);
      }
      if (of_shift) store_all(get(launch, ds), shifts);
    });
  });
}

}  // namespace

// Groups of parameters that the forms share, and what they hand on.
#define SIM_MASKS(shift)                                                                           \
  const aclTensor *shift, const aclTensor *dropMaskOptional, const aclTensor *paddingMaskOptional, \
      const aclTensor *attenMaskOptional
#define SIM_NUMBERS                                                                           \
  double scaleValue, double keepProb, int64_t preTokens, int64_t nextTokens, int64_t headNum, \
      char *inputLayout, int64_t, int64_t sparseMode
#define SIM_ENDS const aclIntArray *actualSeqQLenOptional, const aclIntArray *actualSeqKvLenOptional
#define SIM_STARTS const aclIntArray *qStartIdxOptional, const aclIntArray *kvStartIdxOptional
#define SIM_RESULTS                                                                               \
  const aclTensor *softmaxMaxOut, const aclTensor *softmaxSumOut, const aclTensor *softmaxOutOut, \
      const aclTensor *attentionOutOut
#define SIM_GIVEN                                                                              \
  const aclTensor *softmaxMaxOptional, const aclTensor *softmaxSumOptional, const aclTensor *, \
      const aclTensor *attentionInOptional
#define SIM_GRADIENTS \
  const aclTensor *dqOut, const aclTensor *dkOut, const aclTensor *dvOut, const aclTensor *dpseOut

#define SIM_TRAINING(key, shift, ...)                                                            \
  Training {                                                                                     \
    query, key, #key, value, shift, #shift, dropMaskOptional, paddingMaskOptional,               \
        attenMaskOptional, prefixOptional, scaleValue, keepProb, preTokens, nextTokens, headNum, \
        inputLayout, sparseMode __VA_OPT__(, ) __VA_ARGS__                                       \
  }
#define SIM_FORWARD(Name, packed, positions)                                                  \
  return forward("aclnn" #Name, SIM_TRAINING(key, realShiftOptional), packed, positions,      \
                 softmaxMaxOut, softmaxSumOut, softmaxOutOut, attentionOutOut, workspaceSize, \
                 executor)
#define SIM_BACKWARD(Name, packed, positions)                                                  \
  return backward("aclnn" #Name, SIM_TRAINING(keyIn, pseShiftOptional, true, dy), packed,      \
                  positions,                                                                   \
                  Backward{softmaxMaxOptional, softmaxSumOptional, attentionInOptional, dqOut, \
                           dkOut, dvOut, dpseOut},                                             \
                  workspaceSize, executor)

extern "C" {

SIM_SIGNATURE(FlashAttentionScore,
              const aclTensor* query,
              const aclTensor* key,
              const aclTensor* value,
              SIM_MASKS(realShiftOptional),
              const aclIntArray* prefixOptional,
              SIM_NUMBERS,
              SIM_RESULTS) {
  SIM_FORWARD(FlashAttentionScore, Packed{}, Positions{});
}
SIM_SIGNATURE(FlashAttentionScoreV2,
              const aclTensor* query,
              const aclTensor* key,
              const aclTensor* value,
              SIM_MASKS(realShiftOptional),
              const aclIntArray* prefixOptional,
              SIM_STARTS,
              SIM_NUMBERS,
              int64_t pseType,
              SIM_RESULTS) {
  SIM_FORWARD(FlashAttentionScoreV2, Packed{},
              (Positions{qStartIdxOptional, kvStartIdxOptional, static_cast<Shift>(pseType)}));
}
SIM_SIGNATURE(FlashAttentionVarLenScore,
              const aclTensor* query,
              const aclTensor* key,
              const aclTensor* value,
              SIM_MASKS(realShiftOptional),
              const aclIntArray* prefixOptional,
              SIM_ENDS,
              SIM_NUMBERS,
              SIM_RESULTS) {
  SIM_FORWARD(FlashAttentionVarLenScore,
              (Packed{true, actualSeqQLenOptional, actualSeqKvLenOptional}), Positions{});
}
SIM_SIGNATURE(FlashAttentionVarLenScoreV2,
              const aclTensor* query,
              const aclTensor* key,
              const aclTensor* value,
              SIM_MASKS(realShiftOptional),
              const aclIntArray* prefixOptional,
              SIM_ENDS,
              SIM_STARTS,
              SIM_NUMBERS,
              int64_t pseType,
              SIM_RESULTS) {
  SIM_FORWARD(FlashAttentionVarLenScoreV2,
              (Packed{true, actualSeqQLenOptional, actualSeqKvLenOptional}),
              (Positions{qStartIdxOptional, kvStartIdxOptional, static_cast<Shift>(pseType)}));
}
SIM_SIGNATURE(FlashAttentionScoreGrad,
              const aclTensor* query,
              const aclTensor* keyIn,
              const aclTensor* value,
              const aclTensor* dy,
              SIM_MASKS(pseShiftOptional),
              SIM_GIVEN,
              const aclIntArray* prefixOptional,
              SIM_NUMBERS,
              SIM_GRADIENTS) {
  SIM_BACKWARD(FlashAttentionScoreGrad, Packed{}, Positions{});
}
SIM_SIGNATURE(FlashAttentionScoreGradV2,
              const aclTensor* query,
              const aclTensor* keyIn,
              const aclTensor* value,
              const aclTensor* dy,
              SIM_MASKS(pseShiftOptional),
              SIM_GIVEN,
              const aclIntArray* prefixOptional,
              SIM_STARTS,
              SIM_NUMBERS,
              int64_t pseType,
              SIM_GRADIENTS) {
  SIM_BACKWARD(FlashAttentionScoreGradV2, Packed{},
               (Positions{qStartIdxOptional, kvStartIdxOptional, static_cast<Shift>(pseType)}));
}
SIM_SIGNATURE(FlashAttentionUnpaddingScoreGrad,
              const aclTensor* query,
              const aclTensor* keyIn,
              const aclTensor* value,
              const aclTensor* dy,
              SIM_MASKS(pseShiftOptional),
              SIM_GIVEN,
              const aclIntArray* prefixOptional,
              SIM_ENDS,
              SIM_NUMBERS,
              SIM_GRADIENTS) {
  SIM_BACKWARD(FlashAttentionUnpaddingScoreGrad,
               (Packed{true, actualSeqQLenOptional, actualSeqKvLenOptional}), Positions{});
}
SIM_SIGNATURE(FlashAttentionUnpaddingScoreGradV2,
              const aclTensor* query,
              const aclTensor* keyIn,
              const aclTensor* value,
              const aclTensor* dy,
              SIM_MASKS(pseShiftOptional),
              SIM_GIVEN,
              const aclIntArray* prefixOptional,
              SIM_ENDS,
              SIM_STARTS,
              SIM_NUMBERS,
              int64_t pseType,
              SIM_GRADIENTS) {
  SIM_BACKWARD(FlashAttentionUnpaddingScoreGradV2,
               (Packed{true, actualSeqQLenOptional, actualSeqKvLenOptional}),
               (Positions{qStartIdxOptional, kvStartIdxOptional, static_cast<Shift>(pseType)}));
}
}
