// The attention of one sequence, and its gradient: what all forms of the op share.
#include "simulator/ascend/ops/attention.h"

#include "simulator/ascend/ops/gemm.h"

namespace sim {
namespace {

constexpr float kMasked = -std::numeric_limits<float>::infinity();

// Whether a query position sees a key position, without the mask tensor.
bool in_band(const Sequence& in, const AttentionSettings& s, int64_t i, int64_t j) {
  const int64_t shifted = i + in.keys() - in.queries();
  switch (s.sparse) {
    case 0:
      return in.mask.data == nullptr || (j >= i - s.before && j <= i + s.after);
    case 2:
      return j <= i;
    case 3:
      return j <= shifted;
    case 4:
      return j >= shifted - s.before && j <= shifted + s.after;
    case 5:
    case 6:
      return j < in.prefix || j <= shifted;
    default:
      return true;
  }
}

Values head(const View& view, int64_t n) { return load_all<float>(view.select(0, n)); }

Values turned(const Values& values, int64_t rows, int64_t columns) {
  Values result(values.size());
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) result[z(j * rows + i)] = values[z(i * columns + j)];
  }
  return result;
}

// scores += alpha * query @ key^T
void add_product(
    Values& scores, const View& query, const View& key, int64_t n, int64_t group, float alpha) {
  const Values k = turned(head(key, n / group), key.size(1), key.size(2));
  gemm(query.size(1), key.size(1), query.size(2), alpha, head(query, n).data(), k.data(), 1,
       scores.data());
}

float distance_shift(
    const Sequence& in, const AttentionSettings& s, int64_t n, int64_t i, int64_t j) {
  const auto gap = static_cast<float>(std::abs(i + s.query_start - j - s.key_start));
  return -in.slopes[z(n)] * (s.root_distance ? std::sqrt(gap) : gap);
}

// The scores of one head; what is hidden is -infinity.
Values scores_of(const Sequence& in, const AttentionSettings& s, int64_t n) {
  const int64_t keys = in.keys();
  Values scores(z(in.queries() * keys));
  const float factor = s.shift_first ? 1 : s.scale;
  add_product(scores, in.query, in.key, n, in.group(), factor);
  if (in.query_rope.data != nullptr) {
    add_product(scores, in.query_rope, in.key_rope, n, in.group(), factor);
  }
  const Values shift = in.shift.data != nullptr ? head(in.shift, n) : Values{};
  // Sparse modes that compute who sees whom take a mask that only says "lower triangle".
  const bool masked = in.mask.data != nullptr && (s.sparse < 2 || s.sparse == 5);
  const Values mask = masked ? head(in.mask, n) : Values{};
  for (int64_t i = 0; i < in.queries(); ++i) {
    for (int64_t j = 0; j < keys; ++j) {
      const size_t at = z(i * keys + j);
      float& score = scores[at];
      if (!shift.empty()) score += shift[at];
      if (!in.slopes.empty()) score += distance_shift(in, s, n, i, j);
      if (s.shift_first) score *= s.scale;
      if ((masked && mask[at] != 0) || !in_band(in, s, i, j)) score = kMasked;
    }
  }
  return scores;
}

// Largest scores and sums of exponents of each row.
struct Rows {
  Values largest;
  Values sum;
};

Rows rows_of(const Values& scores, int64_t queries, int64_t keys) {
  Rows rows;
  for (int64_t i = 0; i < queries; ++i) {
    const auto first = scores.begin() + i * keys;
    float top = kMasked;
    for (auto it = first; it != first + keys; ++it) top = std::max(top, *it);
    float sum = 0;
    for (auto it = first; it != first + keys && top != kMasked; ++it) sum += std::exp(*it - top);
    rows.largest.push_back(top);
    rows.sum.push_back(sum);
  }
  return rows;
}

// Scores to probabilities; a row that sees nothing stays 0.
void normalise(Values& scores, const Rows& rows) {
  const size_t keys = rows.sum.empty() ? 0 : scores.size() / rows.sum.size();
  for (size_t i = 0; i < scores.size(); ++i) {
    const float top = rows.largest[i / keys];
    scores[i] = top == kMasked ? 0 : std::exp(scores[i] - top) / rows.sum[i / keys];
  }
}

// Zeroes what dropout drops, and scales the rest.
void drop(Values& p, const Sequence& in, const AttentionSettings& s, int64_t n) {
  if (in.drop.data == nullptr) return;
  const size_t first = z(in.drop_first + n * in.queries() * in.keys());
  for (size_t i = 0; i < p.size(); ++i) {
    int64_t byte = 0;
    load(in.drop, static_cast<int64_t>((first + i) / 8), 1, &byte);
    p[i] = (byte >> ((first + i) % 8) & 1) != 0 ? p[i] / s.keep : 0;
  }
}

// One number for each row, as often as the view has columns.
void store_rows(const View& view, int64_t n, const Values& values) {
  if (view.data == nullptr) return;
  Values wide;
  for (const float value : values) wide.insert(wide.end(), z(view.size(2)), value);
  store_all(view.select(0, n), wide);
}

Values first_column(const View& view, int64_t n) {
  return load_all<float>(view.select(0, n).select(1, 0));
}

}  // namespace

void attend(const Sequence& in,
            const AttentionSettings& s,
            const View& out,
            const RowResults& rows) {
  const int64_t size = in.value.size(2);
  for (int64_t n = 0; n < in.heads(); ++n) {
    Values p = scores_of(in, s, n);
    Rows found = rows_of(p, in.queries(), in.keys());
    normalise(p, found);
    drop(p, in, s, n);
    Values result(z(in.queries() * size));
    gemm(in.queries(), size, in.keys(), 1, p.data(), head(in.value, n / in.group()).data(), 0,
         result.data());
    store_all(out.select(0, n), result);
    store_rows(rows.largest, n, found.largest);
    store_rows(rows.sum, n, found.sum);
    for (size_t i = 0; i < found.sum.size(); ++i) found.largest[i] += std::log(found.sum[i]);
    store_rows(rows.lse, n, found.largest);
  }
}

void attend_backward(const Sequence& in,
                     const AttentionSettings& s,
                     const View& grads,
                     const RowResults& rows,
                     const View& result,
                     const Gradients& out) {
  const int64_t queries = in.queries();
  const int64_t keys = in.keys();
  const int64_t size = in.query.size(2);
  const int64_t value_size = in.value.size(2);
  for (int64_t shared = 0; shared < in.key.size(0); ++shared) {
    Values sum_k(z(keys * size));
    Values sum_v(z(keys * value_size));
    for (int64_t n = shared * in.group(); n < (shared + 1) * in.group(); ++n) {
      Values soft = scores_of(in, s, n);
      Rows found = rows_of(soft, queries, keys);
      if (rows.largest.data != nullptr) found.largest = first_column(rows.largest, n);
      if (rows.sum.data != nullptr) found.sum = first_column(rows.sum, n);
      normalise(soft, found);
      Values dropped = soft;
      drop(dropped, in, s, n);
      const Values dout = head(grads, n);
      gemm(keys, value_size, queries, 1, turned(dropped, queries, keys).data(), dout.data(), 1,
           sum_v.data());
      Values dp(soft.size());
      gemm(queries, keys, value_size, 1, dout.data(),
           turned(head(in.value, shared), keys, value_size).data(), 0, dp.data());
      drop(dp, in, s, n);
      const Values outs = result.data != nullptr ? head(result, n) : Values{};
      for (int64_t i = 0; i < queries; ++i) {
        float dot = 0;
        for (int64_t k = 0; k < value_size && !outs.empty(); ++k) {
          dot += dout[z(i * value_size + k)] * outs[z(i * value_size + k)];
        }
        for (int64_t j = 0; j < keys && outs.empty(); ++j) {
          dot += dp[z(i * keys + j)] * soft[z(i * keys + j)];
        }
        for (int64_t j = 0; j < keys; ++j) {
          float& each = dp[z(i * keys + j)];
          each = soft[z(i * keys + j)] * (each - dot);
          if (out.shift.data == nullptr) continue;
          const View place = out.shift.select(0, n).select(0, i);
          float& sum = *reinterpret_cast<float*>(place.data + j * place.stride(0) * place.item());
          sum += s.shift_first ? each * s.scale : each;
        }
      }
      Values own(z(queries * size));
      gemm(queries, size, keys, s.scale, dp.data(), head(in.key, shared).data(), 0, own.data());
      store_all(out.query.select(0, n), own);
      gemm(keys, size, queries, s.scale, turned(dp, queries, keys).data(), head(in.query, n).data(),
           1, sum_k.data());
    }
    store_all(out.key.select(0, shared), sum_k);
    store_all(out.value.select(0, shared), sum_v);
  }
}

View Layout::sequence(const View& view, int64_t number, int64_t first, int64_t length) const {
  View one = view;
  if (name == "TND") {
    one = view.permute({1, 0, 2});
  } else if (name == "BNSD") {
    one = view.select(0, number);
  } else if (name == "BSND") {
    one = view.select(0, number).permute({1, 0, 2});
  } else {
    const View rows = view.select(name == "SBH" ? 1 : 0, number);
    const int64_t size = rows.size(1) / heads;
    one = View{rows.data,
               rows.dtype,
               {heads, rows.size(0), size},
               {size * rows.stride(1), rows.stride(0), rows.stride(1)}};
  }
  return one.slice(1, first, length);
}

Extent extent(Planner& p, const Operand& operand, const Layout& layout) {
  p.check_rank(operand, layout.rank(), layout.rank());
  const Shape& shape = operand.shape();
  if (layout.name == "TND") return {1, shape[1], shape[0], shape[2]};
  if (layout.name == "BNSD") return {shape[0], shape[1], shape[2], shape[3]};
  if (layout.name == "BSND") return {shape[0], shape[2], shape[1], shape[3]};
  p.check(shape[2] % layout.heads == 0, p.name(operand) + " has the size " +
                                            std::to_string(shape[2]) + ", which its " +
                                            std::to_string(layout.heads) + " heads do not divide");
  const bool batch_first = layout.name == "BSH";
  return {shape[batch_first ? 0 : 1], layout.heads, shape[batch_first ? 1 : 0],
          shape[2] / layout.heads};
}

std::vector<int64_t> lengths_of(Planner& p,
                                const std::vector<int64_t>& ends,
                                int64_t total,
                                const char* name) {
  std::vector<int64_t> lengths;
  int64_t first = 0;
  for (const int64_t end : ends) {
    p.check(end >= first && end <= total,
            std::string(name) + " must rise, up to " + std::to_string(total));
    lengths.push_back(end - first);
    first = end;
  }
  return lengths;
}

void check_broadcast(Planner& p, const Operand& operand, const Extent& queries, int64_t keys) {
  p.check_rank(operand, 2, 4);
  const Shape& shape = operand.shape();
  const size_t rank = shape.size();
  const bool fits = shape[rank - 1] >= keys &&
                    (shape[rank - 2] == 1 || shape[rank - 2] >= queries.length) &&
                    (rank < 3 || shape[0] == 1 || shape[0] == queries.batch) &&
                    (rank < 4 || shape[1] == 1 || shape[1] == queries.heads);
  p.check(fits, p.name(operand) + " has shape " + shape_text(shape) + ", expected is [" +
                    std::to_string(queries.batch) + ", " + std::to_string(queries.heads) + ", " +
                    std::to_string(queries.length) + ", " + std::to_string(keys) +
                    "] or what broadcasts to it");
}

void check_mask(
    Planner& p, const Operand& mask, int64_t sparse, const Extent& queries, int64_t keys) {
  p.check(sparse >= 0 && sparse <= 6,
          "sparseMode is " + std::to_string(sparse) + ", simulated are 0 to 6");
  if (!mask) return;
  if (sparse < 2 || sparse == 5) return check_broadcast(p, mask, queries, keys);
  constexpr int64_t kSide = 2048;
  p.check_shape(mask, {sparse == 6 ? 3072 : kSide, kSide});
}

View of_sequence(const View& view, int64_t number, int64_t heads, int64_t queries, int64_t keys) {
  View four = view;
  while (four.rank() < 4) four = four.unsqueeze(four.rank() == 3 ? 1 : 0);
  const View one = four.select(0, four.size(0) == 1 ? 0 : number);
  // It may be larger than the sequence, or one row for all queries.
  const View rows = one.size(1) > queries ? one.slice(1, 0, queries) : one;
  return rows.slice(2, 0, keys).expand({heads, queries, keys});
}

void refuse(Planner& p, const aclTensor* tensor, const char* name) {
  p.check(tensor == nullptr, std::string(name) + " is not simulated");
  p.optional(nullptr, name, kAll);
}
void refuse(Planner& p, const aclIntArray* array, const char* name) {
  p.check(array == nullptr, std::string(name) + " is not simulated");
}

}  // namespace sim
