// Bags of rows of a table: their sum, mean or largest elements.
#include <limits>

#include "mindtorch/dispatch/eager/layers.h"
#include "mindtorch/functional/composites.h"
#include "mindtorch/functional/functions.h"
#include "mindtorch/functional/has_kernel.h"
#include "mindtorch/tensor/dtype_set.h"

namespace mindtorch::functional {
namespace {

enum Mode : int64_t { kSum, kMean, kMax };

// The arguments of torch's ops.
struct BagCall {
  const Tensor& weight;
  const Tensor& indices;  // one dim and offsets, or a row for each bag
  const Tensor& offsets;
  bool scale_grad_by_freq;
  int64_t mode;
  bool sparse;
  const Tensor& per_sample_weights;
  bool include_last_offset;
  int64_t padding_idx;  // -1: none

  bool has_rows() const { return !offsets.defined(); }
  int64_t bags() const {
    return has_rows() ? indices.size(0) : offsets.size(0) - (include_last_offset ? 1 : 0);
  }
};

constexpr uint8_t kBatching = dispatch::bit(dispatch::Layer::kBatching);
bool is_readable(const Tensor& tensor) {
  return !tensor.device().is_meta() && (tensor.impl()->layers & kBatching) == 0;
}

std::string type_of(const Tensor& tensor) {
  if (tensor.dtype() == DType::kBool) return "CPUBoolType";
  return "torch." + std::string(legacy_name(tensor.dtype())) + "Tensor";
}

void check_index_dtype(const Tensor& indices) {
  MT_CHECK(indices.dtype() == DType::kInt64 || indices.dtype() == DType::kInt32, RuntimeError,
           "Expected tensor for argument #1 'indices' to have one of the following scalar types: "
           "Long, Int; but got ",
           type_of(indices), " instead (while checking arguments for embedding_bag)");
}

void check_offsets(const BagCall& call) {
  const Tensor& offsets = call.offsets;
  check_index_dtype(offsets);
  MT_CHECK(offsets.dim() == 1, RuntimeError,
           "offsets has to be a 1D Tensor, but got Tensor of dimension ", offsets.dim());
  const int64_t count = offsets.size(0);
  MT_CHECK(!call.include_last_offset || count >= 1, RuntimeError,
           "include_last_offset: number of offset should be at least 1");
  if (count == 0 || !is_readable(offsets)) return;
  const int64_t first = item(select(offsets, 0, 0)).to_int();
  MT_CHECK(first == 0, RuntimeError,
           "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from "
           "position 0. However, got ",
           first, "\n[ ", type_of(offsets), "{} ]");
  const int64_t last = item(select(offsets, 0, count - 1)).to_int();
  MT_CHECK(last <= call.indices.size(0), RuntimeError,
           "offsets[-1] can not be greater than input's length ", call.indices.size(0),
           " but got offsets[-1] of ", last);
}

void check_shares(const BagCall& call) {
  const Tensor& shares = call.per_sample_weights;
  if (!shares.defined()) return;
  MT_CHECK(call.mode == kSum, RuntimeError,
           "embedding_bag: per_sample_weights only supported with mode='sum'");
  MT_CHECK(shares.dtype() == call.weight.dtype(), RuntimeError,
           "Expected tensor for argument #1 'weight' to have the same type as tensor for argument "
           "#1 'per_sample_weights'; but type ",
           type_of(call.weight), " does not equal ", type_of(shares),
           " (while checking arguments for embedding_bag)");
  const auto expect = [](bool holds, const char* what) {
    MT_CHECK(holds, RuntimeError, "Expected per_sample_weights.value().", what,
             " to be true, but got false.  (Could this error message be improved?  If so, please "
             "report an enhancement request to PyTorch.)");
  };
  expect(shares.dim() == call.indices.dim(), "dim() == 1");
  expect(shares.numel() == call.indices.numel(), "numel() == indices.numel()");
}

void check(const BagCall& call) {
  MT_CHECK(call.mode >= kSum && call.mode <= kMax, RuntimeError,
           "`mode` must be sum, mean, or max.");
  check_index_dtype(call.indices);
  MT_CHECK(call.weight.dim() == 2, RuntimeError, "weight has to be a 2D Tensor, but got Tensor of ",
           "dimension ", call.weight.dim());
  if (!call.has_rows()) check_offsets(call);
  MT_CHECK(contains(kFloatTypes, call.weight.dtype()), RuntimeError,
           "Expected tensor for argument #1 'weight' to have one of the following scalar types: "
           "Half, BFloat16, Float, Double; but got ",
           type_of(call.weight), " instead (while checking arguments for embedding_bag)");
  check_shares(call);
}

// Counted from the first row; -1: none.
int64_t wrapped_padding(const Tensor& weight, std::optional<int64_t> padding_idx) {
  if (!padding_idx) return -1;
  const int64_t rows = weight.dim() == 0 ? 0 : weight.size(0);
  MT_CHECK(*padding_idx >= -rows && *padding_idx < rows, RuntimeError,
           "padding_idx must be within the number of embeddings, ", -rows, " through ", rows - 1,
           ", but got ", *padding_idx);
  return *padding_idx < 0 ? *padding_idx + rows : *padding_idx;
}

// The bag of each index.
Tensor owners(const BagCall& call) {
  const Device device = call.indices.device();
  if (call.has_rows()) {
    return repeat_interleave(arange(Scalar(call.indices.size(0)), std::nullopt, device),
                             call.indices.size(1));
  }
  const Tensor starts = narrow(call.offsets, 0, 0, call.bags());
  const Tensor places = arange(Scalar(call.indices.size(0)), starts.dtype(), device);
  return sub(searchsorted(contiguous(starts), places, false, true), Scalar(1));
}

// The first index that names no row, in torch's words.
[[noreturn]] void refuse_index(const Tensor& weight, const Tensor& indices, int64_t mode) {
  const int64_t count = weight.size(0);
  const Tensor flat = reshape(indices, {-1});
  const Tensor wrong = logical_or(lt(flat, Scalar(0)), ge(flat, Scalar(count)));
  const int64_t place = item(argmax(_to_copy(wrong, DType::kInt32))).to_int();
  const int64_t value = item(select(flat, 0, place)).to_int();
  MT_CHECK(mode != kMax, RuntimeError,
           "embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be ", value);
  MT_THROW(RuntimeError, "Index ", place, " of input takes value ", value,
           " which is not in the valid range [0, ", count, ")");
}

template <typename LookUp>
Tensor looked_up(const Tensor& weight, const Tensor& indices, int64_t mode, const LookUp& look_up) {
  try {
    return look_up();
  } catch (const IndexError&) {
    if (!is_readable(indices) || !is_readable(weight)) throw;  // it differs between samples
    refuse_index(weight, indices, mode);
  }
}

// For each bag and column the index of the row whose element is the largest.
Tensor largest_rows(const Tensor& weight, const Tensor& indices) {
  constexpr int64_t kPieceBytes = 32 * 1024;  // of rows that are looked at together
  const int64_t bags = indices.size(0);
  const int64_t bag_bytes = indices.size(1) * weight.size(1) * weight.element_size();
  const int64_t step = std::max<int64_t>(1, kPieceBytes / std::max<int64_t>(1, bag_bytes));
  std::vector<Tensor> pieces;
  for (int64_t begin = 0; begin < std::max<int64_t>(bags, 1); begin += step) {
    const Tensor own = narrow(indices, 0, begin, std::min(step, bags - begin));
    pieces.push_back(gather(own, 1, std::get<1>(max(embedding(weight, own), 1))));
  }
  return _to_copy(cat(pieces), DType::kInt64);
}

// The rows of all bags, which follow one another.
struct Rows {
  Tensor indices;
  Tensor owner;  // the bag of each
  Tensor values;
};

// For each bag and column the largest element and its number among the rows.
std::tuple<Tensor, Tensor> largest_of(const Rows& rows, const Tensor& counts) {
  const Device device = rows.values.device();
  const int64_t count = rows.values.size(0);
  const Tensor begins = sub(cumsum(counts, 0), counts);
  const Tensor place =
      sub(arange(Scalar(count), std::nullopt, device), index_select(begins, 0, rows.owner));
  // Each bag as a row, filled up with -inf.
  const Tensor empty =
      new_full(rows.values, {counts.size(0), item(max(counts)).to_int(), rows.values.size(1)},
               Scalar(-std::numeric_limits<double>::infinity()));
  const Tensor at[] = {rows.owner, place};
  // Not amax: of equal rows the first one gets the gradient.
  const auto [found, where] = max(index_put(empty, TensorList(at), rows.values), 1);
  return {found, add(where, unsqueeze(begins, 1))};
}

Tensor largest(const Rows& rows, const Tensor& counts, const Tensor& zeros) {
  if (rows.values.size(0) == 0) return index_add(zeros, 0, rows.owner, rows.values);
  const Tensor is_empty = unsqueeze(eq(counts, Scalar(0)), 1);
  return masked_fill(std::get<0>(largest_of(rows, counts)), is_empty, Scalar(0));
}

Tensor pooled(const Rows& of, int64_t bags, int64_t mode) {
  const auto& [indices, owner, rows] = of;
  const Tensor zeros = new_zeros(rows, {bags, rows.size(1)});
  const Tensor counts = bincount(owner, {}, bags);
  if (mode == kMax) return largest(of, counts, zeros);
  // 16-bit floats are rounded once, at the end.
  const DType wide = promote_types(rows.dtype(), DType::kFloat32);
  Tensor total = index_add(_to_copy(zeros, wide), 0, owner, _to_copy(rows, wide));
  if (mode == kMean) {
    total = div(total, unsqueeze(_to_copy(clamp_min(counts, Scalar(1)), wide), 1));
  }
  return _to_copy(total, rows.dtype());
}

// Without those of padding_idx, and weighted.
Rows rows_of(const BagCall& call) {
  Rows rows = {reshape(call.indices, {-1}), owners(call), {}};
  Tensor shares = call.per_sample_weights;
  if (shares.defined()) shares = reshape(shares, {-1});
  rows.values = looked_up(call.weight, rows.indices, call.mode, [&] {
    return embedding(call.weight, rows.indices, -1, call.scale_grad_by_freq, call.sparse);
  });
  if (call.padding_idx >= 0) {
    const Tensor kept = squeeze(nonzero(ne(rows.indices, Scalar(call.padding_idx))), 1);
    for (Tensor* each : {&rows.indices, &rows.owner, &rows.values, &shares}) {
      if (each->defined()) *each = index_select(*each, 0, kept);
    }
  }
  if (shares.defined()) rows.values = mul(rows.values, unsqueeze(shares, 1));
  return rows;
}

bool has_bag_op(const Tensor& weight) {
  static const ops::Op& op = ops::registry().at("_rows_of_bags");
  return has_kernel(op, weight);
}

// Whether bags of one length are one op: no row has to be weighted, left out or counted.
bool is_plain(const BagCall& call) {
  return call.has_rows() && !call.scale_grad_by_freq && !call.sparse &&
         !call.per_sample_weights.defined() && call.padding_idx < 0 && has_bag_op(call.weight);
}

Tensor pool(const BagCall& call) {
  if (is_plain(call) && call.mode != kMax) {
    return looked_up(call.weight, call.indices, call.mode,
                     [&] { return _rows_of_bags(call.weight, call.indices, call.mode == kMean); });
  }
  if (is_plain(call) && call.indices.size(1) > 0) {
    return looked_up(call.weight, call.indices, call.mode, [&] {
      return gather(call.weight, 0, largest_rows(detach(call.weight), call.indices));
    });
  }
  if (call.weight.device().is_meta()) {
    return new_empty(call.weight, {call.bags(), call.weight.size(1)});
  }
  return pooled(rows_of(call), call.bags(), call.mode);
}

// --- what torch's op returns beside the rows: the bag of each index, the sizes of the bags, and
// the rows that were largest ---

// For each bag and column the row of the table that holds the largest element, the first of equal
// ones; 0 for empty bags.
Tensor rows_of_largest(const BagCall& call) {
  const Tensor weight = detach(call.weight);
  const Rows rows = rows_of({weight, call.indices, call.offsets, false, call.mode, false,
                             call.per_sample_weights, call.include_last_offset, call.padding_idx});
  const Shape sizes = {call.bags(), weight.size(1)};
  if (rows.values.size(0) == 0) return zeros(sizes, DType::kInt64, weight.device());
  const Tensor counts = bincount(rows.owner, {}, call.bags());
  const Tensor places = std::get<1>(largest_of(rows, counts));
  const Tensor is_empty = unsqueeze(eq(counts, Scalar(0)), 1);
  const Tensor inside = reshape(masked_fill(places, is_empty, Scalar(0)), {-1});
  return masked_fill(view(index_select(rows.indices, 0, inside), sizes), is_empty, Scalar(0));
}

using Notes = std::tuple<Tensor, Tensor, Tensor, Tensor>;

Notes with_notes(const BagCall& call) {
  check(call);
  const Tensor result = pool(call);
  const DType dtype = promote_types(call.indices.dtype(), call.offsets.dtype());
  const Device device = call.indices.device();
  const auto as_index = [&](const Tensor& x) { return _to_copy(x, dtype); };
  const bool knows_bags = call.mode != kSum || call.padding_idx >= 0;
  if (call.weight.device().is_meta() || !knows_bags) {
    const int64_t sizes = call.mode == kSum ? call.offsets.size(0) : call.bags();
    const Tensor none = zeros({sizes}, dtype, device);
    const Tensor owner = empty({knows_bags ? call.indices.size(0) : 0}, dtype, device);
    return {result, owner, none,
            call.mode == kMax ? empty(result.sizes(), dtype, device) : clone(none)};
  }
  // The last offset may be the end.
  const Tensor owner = clamp_max(owners(call), Scalar(std::max<int64_t>(call.bags() - 1, 0)));
  if (call.mode == kSum) {
    const Tensor none = zeros({call.offsets.size(0)}, dtype, device);
    return {result, as_index(owner), none, clone(none)};
  }
  const Tensor counted = call.padding_idx < 0
                             ? ones(call.indices.sizes(), DType::kInt64, device)
                             : _to_copy(ne(call.indices, Scalar(call.padding_idx)), DType::kInt64);
  const Tensor sizes =
      as_index(index_add(zeros({call.bags()}, DType::kInt64, device), 0, owner, counted));
  return {result, as_index(owner), sizes,
          call.mode == kMean ? clone(sizes) : as_index(rows_of_largest(call))};
}

Tensor without_notes(const BagCall& call) {
  check(call);
  return pool(call);
}

// How overloads say which row is none.
int64_t no_padding(const Tensor&) { return -1; }
int64_t padding_number(const Tensor&, int64_t padding_idx) { return padding_idx; }

template <auto Make, auto Padding, typename... Index>
auto bags(const Tensor& weight,
          const Tensor& indices,
          const Tensor& offsets,
          bool scale_grad_by_freq,
          int64_t mode,
          bool sparse,
          const Tensor& per_sample_weights,
          bool include_last_offset,
          Index... padding_idx) {
  return Make({weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights,
               include_last_offset, Padding(weight, padding_idx...)});
}

}  // namespace

void compose_embedding(ops::Registry& registry) {
  using Maybe = std::optional<int64_t>;
  constexpr auto kByNumber = &bags<with_notes, padding_number, int64_t>;
  registry.composite<bags<with_notes, no_padding>>("embedding_bag");
  registry.composite<bags<with_notes, wrapped_padding, Maybe>>("embedding_bag.padding_idx");
  registry.composite<kByNumber>("_embedding_bag");
  registry.composite<kByNumber>("_embedding_bag_forward_only");
  registry.composite<bags<without_notes, wrapped_padding, Maybe>>("_pooled_embedding");
}

}  // namespace mindtorch::functional
