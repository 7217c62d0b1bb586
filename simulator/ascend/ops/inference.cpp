// Attention for the prompt and for the tokens that follow. Quantised tensors, padding on the left
// and shared prefixes are not simulated: phase one says so.
#include "simulator/ascend/ops/inference.h"

namespace sim {
namespace {

constexpr Types kTypes = kF16 | kBF16;

struct Slots {
  Operand query, query_rope, key_rope, shift, mask, table, out, lse;
  std::vector<Operand> keys, values;
  Layout layout, key_layout, out_layout, rows;
  int64_t block_size = 0;
  std::vector<Span> spans;
  AttentionSettings settings;

  // Keys or values of a sequence; a cache in pages is gathered into `pages`.
  View cached(const Launch& launch,
              const std::vector<Operand>& cache,
              size_t number,
              Values& pages) const;
};

View Slots::cached(const Launch& launch,
                   const std::vector<Operand>& cache,
                   size_t number,
                   Values& pages) const {
  const Span& span = spans[number];
  const auto batch = static_cast<int64_t>(number);
  if (!table) {
    const bool single = cache.size() == 1;
    return key_layout.sequence(get(launch, cache[single ? 0 : number]), single ? batch : 0,
                               span.key_first, span.keys);
  }
  const View& all = get(launch, cache[0]);
  const auto blocks = load_all<int64_t>(get(launch, table).select(0, batch));
  const Layout page{all.rank() == 4 ? "BNSD" : "BSH", key_layout.heads};
  const int64_t size = all.rank() == 4 ? all.size(3) : all.size(2) / page.heads;
  pages.resize(static_cast<size_t>(page.heads * span.keys * size));
  const View result = contiguous_view(pages.data(), ACL_FLOAT, {page.heads, span.keys, size});
  for (int64_t first = 0; first < span.keys; first += block_size) {
    const int64_t block = blocks[static_cast<size_t>(first / block_size)];
    if (block < 0 || block >= all.size(0)) {
      throw DeviceFault{507015, "the block table has the block " + std::to_string(block)};
    }
    const int64_t n = std::min(block_size, span.keys - first);
    cast_elements(result.slice(1, first, n), page.sequence(all, block, 0, n));
  }
  return result;
}

// The lengths of the sequences: one for all, or one for each, up to `most`.
std::vector<int64_t> check_lengths(
    Planner& p, const aclIntArray* array, const char* name, int64_t batch, int64_t most) {
  const auto n = static_cast<size_t>(batch);
  if (array == nullptr) return std::vector<int64_t>(n, most);
  std::vector<int64_t> lengths = p.array(array, name);
  if (lengths.empty()) return std::vector<int64_t>(n, most);
  p.check(lengths.size() == 1 || lengths.size() >= n,
          std::string(name) + " must have one value, or one for each sequence");
  if (lengths.size() == 1) lengths.resize(n, lengths[0]);
  for (const int64_t length : lengths) {
    p.check(length >= 0 && length <= most, std::string(name) + " has the value " +
                                               std::to_string(length) + ", the longest is " +
                                               std::to_string(most));
  }
  return lengths;
}

// Keys and values of a cache in pages: [blocks, block size, H] or [blocks, heads, block size,
// size].
Extent page_extent(Planner& p, const Operand& cache, int64_t heads, int64_t block_size) {
  p.check_rank(cache, 3, 4);
  const Layout layout{cache.rank() == 4 ? "BNSD" : "BSH", heads};
  const Extent found = extent(p, cache, layout);
  p.check(found.length == block_size && block_size > 0,
          p.name(cache) + " must have blockSize positions in each block");
  return found;
}

struct KeyExtents {
  Extent key, value;
};

KeyExtents check_cache(Planner& p, const Inference& a, const Slots& s, int64_t batch) {
  p.check(s.keys.size() == s.values.size() && !s.keys.empty(),
          "key and value must have one length");
  p.check(s.keys.size() == 1 || static_cast<int64_t>(s.keys.size()) == batch,
          "key must have one tensor, or one for each sequence");
  KeyExtents found;
  for (size_t i = 0; i < s.keys.size(); ++i) {
    const auto measure = [&](const Operand& operand) {
      return a.block_table != nullptr ? page_extent(p, operand, s.key_layout.heads, a.block_size)
                                      : extent(p, operand, s.key_layout);
    };
    const Extent key = measure(s.keys[i]);
    const Extent value = measure(s.values[i]);
    for (const Operand& each : {s.keys[i], s.values[i]}) {
      p.check(each.dtype() == s.query.dtype(), p.name(each) + " must have the dtype of query");
    }
    p.check(key.heads == s.key_layout.heads && value.heads == key.heads,
            p.name(s.keys[i]) + " has not numKeyValueHeads heads");
    p.check(key.batch == value.batch && key.length == value.length,
            "key and value have shapes " + shape_text(s.keys[i].shape()) + " and " +
                shape_text(s.values[i].shape()) + ", which do not fit");
    const int64_t sequences = s.keys.size() == 1 ? batch : 1;
    p.check(a.block_table != nullptr || key.batch == sequences,
            p.name(s.keys[i]) + " must have " + std::to_string(sequences) + " sequences");
    if (i == 0 || key.length > found.key.length) found = {key, value};
  }
  return found;
}

std::vector<Span> check_spans(
    Planner& p, const Inference& a, const Slots& s, const Extent& q, int64_t longest) {
  std::vector<int64_t> queries;
  std::vector<int64_t> keys;
  int64_t batch = q.batch;
  if (s.layout.packed()) {
    queries =
        lengths_of(p, p.array(a.query_lengths, "actualSeqLengths"), q.length, "actualSeqLengths");
    batch = static_cast<int64_t>(queries.size());
  } else {
    queries = check_lengths(p, a.query_lengths, "actualSeqLengths", batch, q.length);
  }
  const bool packed_keys = s.layout.packed() && !s.table;
  keys = packed_keys ? lengths_of(p, p.array(a.key_lengths, "actualSeqLengthsKv"), longest,
                                  "actualSeqLengthsKv")
                     : check_lengths(p, a.key_lengths, "actualSeqLengthsKv", batch, longest);
  p.check(static_cast<int64_t>(keys.size()) >= batch,
          "actualSeqLengthsKv must have one for each sequence");
  std::vector<Span> spans;
  Span span;
  for (size_t i = 0; i < static_cast<size_t>(batch); ++i) {
    span.queries = queries[i];
    span.keys = keys[i];
    spans.push_back(span);
    if (s.layout.packed()) span.query_first += queries[i];
    if (packed_keys) span.key_first += keys[i];
  }
  return spans;
}

// Further parts of the heads: all but their size is that of the query and of the keys.
void check_ropes(Planner& p, const Slots& s, const Extent& q, const Extent& key) {
  p.check(static_cast<bool>(s.query_rope) == static_cast<bool>(s.key_rope),
          "queryRopeOptional and keyRopeOptional come together");
  if (!s.query_rope) return;
  p.check(!s.table, "keyRopeOptional with a cache in blocks is not simulated");
  const auto fits = [&](const Operand& rope, const Layout& layout, const Extent& whole) {
    const Extent found = extent(p, rope, layout);
    p.check(found.batch == whole.batch && found.heads == whole.heads &&
                found.length == whole.length && rope.dtype() == s.query.dtype(),
            p.name(rope) + " has the shape " + shape_text(rope.shape()) + ", which does not fit");
    return found.size;
  };
  Extent every = key;
  if (s.keys.size() > 1) every.batch = q.batch;
  p.check(fits(s.query_rope, s.layout, q) == fits(s.key_rope, s.key_layout, every),
          "queryRopeOptional and keyRopeOptional must have heads of one size");
}

Slots check(Planner& p, const Inference& a) {
  Slots s;
  s.query = p.input(a.query, "query", kTypes);
  if (a.keys != nullptr || a.key == nullptr) {
    s.keys = p.inputs(a.keys, "key", kTypes);
    s.values = p.inputs(a.values, "value", kTypes);
  } else {
    s.keys = {p.input(a.key, "key", kTypes)};
    s.values = {p.input(a.value, "value", kTypes)};
  }
  s.shift = p.optional(a.shift, "pseShift", kTypes);
  s.mask = p.optional(a.mask, "attenMask", kBool | kU8 | kI8);
  for (const auto& [tensor, name] : a.refused) refuse(p, tensor, name);
  refuse(p, a.shared_prefix, "actualSharedPrefixLenOptional");
  s.table = p.optional(a.block_table, a.block_table_name, kI32);
  s.query_rope = p.optional(a.query_rope, "queryRopeOptional", kTypes);
  s.key_rope = p.optional(a.key_rope, "keyRopeOptional", kTypes);
  std::string layout = p.text(a.layout, "inputLayout");
  const bool turned = layout == "BNSD_BSND";
  if (turned) layout = "BNSD";
  p.check(
      layout == "BSH" || layout == "BSND" || layout == "BNSD" || (layout == "TND" && !a.one_query),
      "inputLayout is " + layout + ", simulated are BSH, BSND, BNSD, BNSD_BSND and TND");
  p.check(a.heads > 0, "numHeads must be positive");
  const int64_t key_heads = a.key_heads == 0 ? a.heads : a.key_heads;
  p.check(key_heads > 0 && a.heads % key_heads == 0, "numKeyValueHeads must divide numHeads");
  s.layout = {layout, a.heads};
  s.key_layout = {layout, key_heads};
  s.out_layout = {turned ? "BSND" : layout, a.heads};
  s.rows = {layout == "TND" ? "TND" : "BNSD", a.heads};
  s.block_size = a.block_size;
  const Extent q = extent(p, s.query, s.layout);
  p.check(q.heads == a.heads, "numHeads is not the number of query's heads");
  p.check(!a.one_query || q.length == 1, "query must have one position");
  const KeyExtents k = check_cache(p, a, s, q.batch);
  p.check(k.key.size == q.size, "key and query must have heads of one size");
  int64_t longest = k.key.length;
  if (s.table) {
    p.check_rank(s.table, 2, 2);
    p.check(a.key_lengths != nullptr, "a cache in blocks needs the lengths of its sequences");
    longest = s.table.shape()[1] * a.block_size;
  }
  s.spans = check_spans(p, a, s, q, longest);
  const auto batch = static_cast<int64_t>(s.spans.size());
  p.check(!s.table || s.table.shape()[0] >= batch,
          "the block table must have a row for each sequence");
  check_ropes(p, s, q, k.key);
  Extent most{batch, a.heads, 0, q.size};
  int64_t keys = 0;
  for (const Span& span : s.spans) {
    most.length = std::max(most.length, span.queries);
    keys = std::max(keys, span.keys);
  }
  check_mask(p, s.mask, a.sparse, most, keys);
  p.check(a.sparse <= 4, "sparseMode is " + std::to_string(a.sparse) + ", expected is 0 to 4");
  if (s.shift) check_broadcast(p, s.shift, most, keys);
  s.settings.scale = static_cast<float>(a.scale);
  s.settings.sparse = a.sparse;
  s.settings.before = a.before;
  s.settings.after = a.after;
  s.out = p.output(a.out, "attentionOut", kTypes);
  Shape shape = s.query.shape();
  if (turned) std::swap(shape[1], shape[2]);
  shape.back() = layout == "BSH" ? k.value.size * a.heads : k.value.size;
  p.check_shape(s.out, shape);
  if (a.wants_lse) {
    s.lse = p.output(a.lse, "softmaxLse", kF32);
    const Shape packed{q.length, q.heads, 1};
    p.check_shape(s.lse, layout == "TND" ? packed : Shape{q.batch, q.heads, q.length, 1});
  }
  return s;
}

}  // namespace

aclnnStatus infer(const Inference& a, uint64_t* workspace_size, aclOpExecutor** executor) {
  return plan(a.op, workspace_size, executor, [&](Planner& p) {
    const Slots s = check(p, a);
    if (s.out.numel() == 0) return;
    p.run([=](Launch& launch) {
      // What no sequence covers is 0.
      constexpr int64_t kZero = 0;
      const View zero = contiguous_view(const_cast<int64_t*>(&kZero), ACL_INT64, {});
      cast_elements(get(launch, s.out), zero);
      if (s.lse) cast_elements(get(launch, s.lse), zero);
      for (size_t i = 0; i < s.spans.size(); ++i) {
        const Span& span = s.spans[i];
        const auto number = static_cast<int64_t>(i);
        const auto part = [&](const Layout& layout, const Operand& operand) {
          return layout.sequence(get(launch, operand), number, span.query_first, span.queries);
        };
        const auto spread = [&](const Operand& operand) {
          return of_sequence(get(launch, operand), number, s.layout.heads, span.queries, span.keys);
        };
        Values key_pages;
        Values value_pages;
        Sequence in;
        in.query = part(s.layout, s.query);
        in.key = s.cached(launch, s.keys, i, key_pages);
        in.value = s.cached(launch, s.values, i, value_pages);
        if (s.query_rope) in.query_rope = part(s.layout, s.query_rope);
        Values unused;
        if (s.key_rope) in.key_rope = s.cached(launch, {s.key_rope}, i, unused);
        if (s.shift) in.shift = spread(s.shift);
        if (s.mask && s.settings.sparse < 2) in.mask = spread(s.mask);
        attend(in, s.settings, part(s.out_layout, s.out),
               {{}, {}, s.lse ? part(s.rows, s.lse) : View{}});
      }
    });
  });
}

}  // namespace sim
