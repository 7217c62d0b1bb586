#pragma once

#include <limits>

#include "simulator/ascend/ops/pointwise.h"

namespace sim {

using Values = std::vector<float>;

inline constexpr int64_t kFar = std::numeric_limits<int32_t>::max();

// What all sequences of a call share.
struct AttentionSettings {
  float scale = 1;
  bool shift_first = false;  // the shift is added before the scale multiplies
  int64_t sparse = 0;
  int64_t before = kFar;
  int64_t after = kFar;
  float keep = 1;
  bool root_distance = false;  // of slopes
  int64_t query_start = 0;     // what their positions count from
  int64_t key_start = 0;
};

// What the attention of one sequence is computed from, on the device. A view without data: none.
struct Sequence {
  View query;       // [heads, queries, size]
  View key;         // [key heads, keys, size]
  View value;       // [key heads, keys, its own size]
  View query_rope;  // more of query and key
  View key_rope;
  View shift;     // [heads, queries, keys], added to the scores
  View mask;      // [heads, queries, keys], not 0: not seen
  View drop;      // the bits of all sequences, 1 keeps
  Values slopes;  // of the distance between positions, added to the scores; one for each head
  int64_t drop_first = 0;
  int64_t prefix = 0;  // this many keys are always seen

  int64_t heads() const { return query.size(0); }
  int64_t queries() const { return query.size(1); }
  int64_t keys() const { return key.size(1); }
  int64_t group() const { return heads() / key.size(0); }
};

// [heads, positions, n] of numbers that attention gives for each row; empty views are not written.
struct RowResults {
  View largest;  // score
  View sum;      // of the exponents
  View lse;      // the logarithm of the sum of all exponents
};

void attend(const Sequence& in,
            const AttentionSettings& s,
            const View& out,
            const RowResults& rows);

// The gradients. `rows` and `result` are what attend gave, where the caller has them. `shift` is
// added to; its elements are floats.
struct Gradients {
  View query, key, value, shift;
};
void attend_backward(const Sequence& in,
                     const AttentionSettings& s,
                     const View& grads,
                     const RowResults& rows,
                     const View& result,
                     const Gradients& out);

// How the tensors of a call hold their sequences.
struct Layout {
  std::string name;  // BSH, SBH, BSND, BNSD, TND
  int64_t heads = 1;

  bool packed() const { return name == "TND"; }
  int64_t rank() const { return name == "BSND" || name == "BNSD" ? 4 : 3; }
  // One sequence as [heads, positions, size].
  View sequence(const View& view, int64_t number, int64_t first, int64_t length) const;
};

// The sizes of a tensor in a layout.
struct Extent {
  int64_t batch = 1;
  int64_t heads = 1;
  int64_t length = 0;
  int64_t size = 0;
};
Extent extent(Planner& p, const Operand& operand, const Layout& layout);

// Where a sequence lies.
struct Span {
  int64_t query_first = 0;
  int64_t queries = 0;
  int64_t key_first = 0;
  int64_t keys = 0;
};
// Ends of packed sequences, as lengths.
std::vector<int64_t> lengths_of(Planner& p,
                                const std::vector<int64_t>& ends,
                                int64_t total,
                                const char* name);

// A mask or shift must have the rows and columns of the longest sequence, for one or all heads and
// sequences; one row may stand for all. Modes that compute the mask take a fixed one.
void check_broadcast(Planner& p, const Operand& operand, const Extent& queries, int64_t keys);
void check_mask(
    Planner& p, const Operand& mask, int64_t sparse, const Extent& queries, int64_t keys);

// A mask or shift of 2 to 4 dims as [heads, queries, keys] of sequence `number`.
View of_sequence(const View& view, int64_t number, int64_t heads, int64_t queries, int64_t keys);

// An argument that must be left out; a tensor still counts as an input.
void refuse(Planner& p, const aclTensor* tensor, const char* name);
void refuse(Planner& p, const aclIntArray* array, const char* name);

}  // namespace sim
