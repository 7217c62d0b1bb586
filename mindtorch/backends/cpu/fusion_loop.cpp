#include "mindtorch/backends/cpu/fusion_loop.h"
#include "mindtorch/backends/cpu/ceil_div.h"

#include <algorithm>

namespace mindtorch::cpu {
namespace {

constexpr int64_t kRounding = 64;  // elements; tiles of a line start where vectors do

// Dims [first, last) as one tensor sees them.
FusionView merge(
    const Shape& sizes, const Shape& strides, size_t first, size_t last, int64_t element) {
  FusionView view;
  view.element = element;
  for (size_t d = first; d < last; ++d) {
    if (sizes[d] == 1) continue;
    if (!view.sizes.empty() && strides[d] == view.strides.back() * view.sizes.back()) {
      view.sizes.back() *= sizes[d];
      continue;
    }
    view.sizes.push_back(sizes[d]);
    view.strides.push_back(strides[d]);
  }
  if (view.sizes.empty()) {
    view.sizes.push_back(1);
    view.strides.push_back(element);
  }
  return view;
}

bool is_still(const Shape& strides, size_t first) {
  return std::all_of(strides.begin() + first, strides.end(), [](int64_t s) { return s == 0; });
}

}  // namespace

FusionLoop::FusionLoop(const ops::FusedGroup& group, int64_t tile, Rows rows) : rows_(rows) {
  const auto add = [&](const ops::FusedLayout& layout) {
    Operand& operand = operands_.emplace_back();
    operand.view.element = size_bytes(layout.dtype);
    operand.strides = layout.strides;
    for (int64_t& stride : operand.strides) stride *= operand.view.element;
    if (layout.is_number) operand.strides.assign(group.sizes.size(), 0);
  };
  for (const ops::FusedLayout& input : group.inputs) add(input);
  for (const ops::FusedGroup::Store& store : group.stores) add(store.layout);
  order_dims(group);
  choose_tile(tile);
  for (size_t i = 0; i < operands_.size(); ++i) {
    Operand& operand = operands_[i];
    place(operand, i >= group.inputs.size());
    const bool moves = operand.width != Width::kScalar && operand.view.is_dense();
    const int64_t count = operand.width == Width::kWhole ? tile_ : row_ == 0 ? 0 : tile_ / row_;
    steps_.push_back(moves ? count * operand.view.element : 0);
  }
}

void FusionLoop::add_partial(int64_t element) {
  Operand& operand = operands_.emplace_back();
  operand.view = {{1}, {element}, element};
  operand.width = Width::kRow;
  operand.strides.push_back(0);
  int64_t stride = tiles_ * element;
  for (size_t d = 1; d < sizes_.size(); stride *= sizes_[d++]) operand.strides.push_back(stride);
  steps_.push_back(element);
}

void FusionLoop::order_dims(const ops::FusedGroup& group) {
  const bool has_rows = rows_ != Rows::kNone;
  const size_t rank = group.sizes.size();
  Shape order;
  for (size_t d = rank; d-- > 0;) {
    const bool is_row = has_rows && d + 1 == rank;
    if (group.sizes[d] != 1 || is_row) order.push_back(static_cast<int64_t>(d));
  }
  // The first store that is as wide as the group, else such an input.
  const auto is_wide = [&](const Operand& operand) {
    return !is_still(operand.strides, 0) && !(has_rows && operand.strides[rank - 1] == 0);
  };
  const auto stores = operands_.begin() + static_cast<std::ptrdiff_t>(group.inputs.size());
  auto leader = std::find_if(stores, operands_.end(), is_wide);
  if (leader == operands_.end()) leader = std::find_if(operands_.begin(), stores, is_wide);
  if (leader != operands_.end() && rows_ != Rows::kDivided) {
    std::stable_sort(order.begin() + (has_rows ? 1 : 0), order.end(), [&](int64_t a, int64_t b) {
      return leader->strides[static_cast<size_t>(a)] < leader->strides[static_cast<size_t>(b)];
    });
  }
  std::vector<Shape> merged(operands_.size());
  for (const int64_t dim : order) {
    const auto d = static_cast<size_t>(dim);
    bool merges = sizes_.size() > (has_rows ? 1 : 0);
    for (size_t i = 0; i < operands_.size() && merges; ++i) {
      merges = operands_[i].strides[d] == merged[i].back() * sizes_.back();
    }
    if (merges) {
      sizes_.back() *= group.sizes[d];
      continue;
    }
    sizes_.push_back(group.sizes[d]);
    for (size_t i = 0; i < operands_.size(); ++i) merged[i].push_back(operands_[i].strides[d]);
  }
  if (sizes_.empty()) sizes_.push_back(1);
  for (size_t i = 0; i < operands_.size(); ++i) {
    operands_[i].strides = std::move(merged[i]);
    const bool is_number = i < group.inputs.size() && group.inputs[i].is_number;
    if (order.empty()) operands_[i].strides.push_back(is_number ? 0 : operands_[i].view.element);
  }
}

void FusionLoop::choose_tile(int64_t tile) {
  if (std::find(sizes_.begin(), sizes_.end(), 0) != sizes_.end()) {
    tiles_ = 0;
    return;
  }
  const int64_t line = sizes_[0];
  part_size_ = line;
  int64_t whole = 1;  // what a tile is a multiple of
  // Lines of half a tile are long enough.
  while (part_size_ < tile / 2 && part_dims_ < sizes_.size() && rows_ != Rows::kDivided) {
    whole = part_size_;
    part_size_ *= sizes_[part_dims_++];
  }
  for (size_t d = part_dims_; d < sizes_.size(); ++d) parts_ *= sizes_[d];
  if (part_dims_ > 1) {
    tile_ = std::min(part_size_, std::max<int64_t>(1, tile / whole) * whole);
  } else if (rows_ == Rows::kWhole) {
    tile_ = line;
  } else {  // tiles of about the same size
    const int64_t count = std::max<int64_t>(1, ceil_div(line, tile));
    tile_ = ceil_div(line, count);
    if (count > 1) tile_ = ceil_div(tile_, kRounding) * kRounding;
  }
  if (part_dims_ > 1) row_ = line;
  tiles_ = ceil_div(part_size_, tile_);
}

void FusionLoop::place(Operand& operand, bool is_store) {
  const Shape& strides = operand.strides;
  const int64_t element = operand.view.element;
  if (!is_store && is_still(strides, 0)) {
    operand.width = Width::kScalar;
    operand.view = {{1}, {element}, element};
    operand.is_repeated = true;
    return;
  }
  const bool is_row = strides[0] == 0;
  operand.width = is_row ? Width::kRow : Width::kWhole;
  operand.view = merge(sizes_, strides, is_row ? 1 : 0, part_dims_, element);
  operand.is_repeated = part_dims_ > 1 && is_still(strides, part_dims_ - 1);
}

void FusionLoop::enter_part(int64_t part, char** at) const {
  for (size_t d = part_dims_; d < sizes_.size(); ++d) {
    const int64_t index = part % sizes_[d];
    part /= sizes_[d];
    for (size_t i = 0; i < operands_.size(); ++i) at[i] += index * operands_[i].strides[d];
  }
}

}  // namespace mindtorch::cpu
