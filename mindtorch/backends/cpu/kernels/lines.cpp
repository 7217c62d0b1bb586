#include "mindtorch/backends/cpu/kernels/lines.h"

#include <algorithm>
#include <array>

#include "mindtorch/backends/cpu/ceil_div.h"
#include "mindtorch/backends/cpu/parallel.h"
#include "mindtorch/backends/cpu/scratch.h"
#include "mindtorch/backends/cpu/transpose.h"
#include "mindtorch/base/error.h"

namespace mindtorch::cpu {
namespace {

constexpr int64_t kLineGrain = 4096;         // elements a thread should get at least
constexpr int64_t kPanelBytes = 512 * 1024;  // of the lines of a block
constexpr int64_t kCacheLine = 64;
constexpr size_t kMostOperands = 3;

// Divides lines into blocks of at most `most`: trailing dims whole, and part of the one before.
class Division {
 public:
  Division(IntList kept, int64_t most) {
    whole_from_ = kept.size();
    while (whole_from_ > 0 && inner_ * kept[whole_from_ - 1] <= most) inner_ *= kept[--whole_from_];
    if (whole_from_ == 0) return;
    divided_ = kept[whole_from_ - 1];
    step_ = std::max<int64_t>(1, most / inner_);
    count_ = numel(kept.first(whole_from_ - 1)) * ceil_div(divided_, step_);
  }

  int64_t count() const { return count_; }
  int64_t most_lines() const { return std::min(step_, divided_) * inner_; }

  struct Block {
    int64_t outer;  // in row-major order of the dims before the divided one
    int64_t begin;  // along the divided dim
    int64_t end;
  };
  Block block(int64_t i) const {
    const int64_t parts = ceil_div(divided_, step_);
    const int64_t begin = i % parts * step_;
    return {i / parts, begin, std::min(begin + step_, divided_)};
  }
  int64_t first_line(const Block& b) const { return (b.outer * divided_ + b.begin) * inner_; }
  int64_t lines(const Block& b) const { return (b.end - b.begin) * inner_; }

  // Between the block's lines of a tensor and contiguous ones at `panel`.
  void move(const Tensor& tensor, const Block& b, char* panel, bool to_panel) const {
    const int64_t element = tensor.element_size();
    Shape sizes = tensor.sizes();
    Shape strides = tensor.strides();
    for (int64_t& stride : strides) stride *= element;
    char* data = tensor.data<char>();
    if (whole_from_ > 0) {
      data += b.begin * strides[whole_from_ - 1];
      sizes[whole_from_ - 1] = b.end - b.begin;
      int64_t rest = b.outer;
      for (size_t i = whole_from_ - 1; i-- > 0;) {
        data += rest % sizes[i] * strides[i];
        rest /= sizes[i];
        sizes[i] = 1;
      }
    }
    Shape packed = contiguous_strides(sizes);
    for (int64_t& stride : packed) stride *= element;
    const auto dims = static_cast<int>(sizes.size());
    if (to_panel) {
      copy_strided(element, sizes.data(), dims, data, strides.data(), panel, packed.data());
    } else {
      copy_strided(element, sizes.data(), dims, panel, packed.data(), data, strides.data());
    }
  }

 private:
  size_t whole_from_ = 0;
  int64_t inner_ = 1;
  int64_t divided_ = 1;
  int64_t step_ = 1;
  int64_t count_ = 1;
};

}  // namespace

LineOperand::LineOperand(const Tensor& tensor, int64_t dim, bool is_output) : is_output(is_output) {
  if (!tensor.defined()) return;
  lines = with_dim_last(tensor, dim);
  // An expanded tensor may have more elements than memory has bytes.
  MT_CHECK(!__builtin_mul_overflow(line_length(tensor, dim), tensor.element_size(), &line_bytes),
           RuntimeError, "numel: integer multiplication overflow");
  is_direct = lines.is_contiguous();
}

void for_line_blocks(std::initializer_list<LineOperand> operands,
                     size_t nested_bytes,
                     const LineBody& body) {
  const LineOperand& model = *operands.begin();
  const int64_t count = model.lines.numel() / line_length(model.lines, -1);
  int64_t copied_bytes = 0;  // of a line of all operands
  int64_t smallest = kCacheLine;
  for (const LineOperand& operand : operands) {
    if (operand.is_direct) continue;
    copied_bytes += operand.line_bytes;
    smallest = std::min(smallest, operand.lines.element_size());
  }
  const int64_t length = line_length(model.lines, -1);
  int64_t most = std::max<int64_t>(1, kLineGrain / length);
  if (copied_bytes > 0) {
    const int64_t share = std::max(ceil_div(count, num_threads()), kCacheLine / smallest);
    most = std::clamp<int64_t>(kPanelBytes / copied_bytes, 1, share);
  }
  const IntList sizes = model.lines.sizes();
  const Division division(sizes.first(sizes.empty() ? 0 : sizes.size() - 1), most);
  const int64_t lines = division.most_lines();
  size_t panel_bytes = 0;
  for (const LineOperand& operand : operands) {
    if (!operand.is_direct) panel_bytes += KeptScratch::room<char>(lines * operand.line_bytes);
  }
  const int64_t grain = std::max<int64_t>(1, kLineGrain / (lines * length));
  parallel_for(0, division.count(), grain, [&](int64_t begin, int64_t end) {
    KeptScratch scratch(panel_bytes, nested_bytes);
    std::array<char*, kMostOperands> panels{};
    std::array<char*, kMostOperands> data{};
    for (size_t k = 0; k < operands.size(); ++k) {
      const LineOperand& operand = operands.begin()[k];
      if (!operand.is_direct) panels[k] = scratch.take<char>(lines * operand.line_bytes);
    }
    for (int64_t i = begin; i < end; ++i) {
      const Division::Block block = division.block(i);
      const int64_t first = division.first_line(block);
      for (size_t k = 0; k < operands.size(); ++k) {
        const LineOperand& operand = operands.begin()[k];
        if (!operand.lines.defined()) continue;
        data[k] =
            operand.is_direct ? operand.lines.data<char>() + first * operand.line_bytes : panels[k];
        if (!operand.is_direct && !operand.is_output) {
          division.move(operand.lines, block, panels[k], true);
        }
      }
      body(data.data(), first, division.lines(block));
      for (size_t k = 0; k < operands.size(); ++k) {
        const LineOperand& operand = operands.begin()[k];
        if (!operand.is_direct && operand.is_output) {
          division.move(operand.lines, block, panels[k], false);
        }
      }
    }
  });
}

}  // namespace mindtorch::cpu
