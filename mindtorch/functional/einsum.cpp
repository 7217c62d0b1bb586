// einsum: each label becomes a dimension, operands are contracted from left to right by bmm.
#include <array>
#include <cctype>
#include <string>

#include "mindtorch/functional/composites.h"
#include "mindtorch/functional/functions.h"

namespace mindtorch::functional {
namespace {

constexpr int kLetters = 52;
constexpr int kEllipsis = kLetters;  // stands for all dims that `...` covers

int label_of(char letter) {
  MT_CHECK(std::isalpha(static_cast<unsigned char>(letter)) != 0, RuntimeError,
           "einsum(): invalid subscript given: ", letter, ", subscripts must be in [a-zA-Z]");
  return std::isupper(static_cast<unsigned char>(letter)) != 0 ? letter - 'A' : letter - 'a' + 26;
}

std::string label_text(int label) {
  if (label == kEllipsis) return "...";
  return std::string(1, static_cast<char>(label < 26 ? 'A' + label : 'a' + label - 26));
}

std::string label_at(const std::array<int64_t, kLetters + 1>& place, int64_t p) {
  for (int label = 0; label < kLetters; ++label) {
    if (place[static_cast<size_t>(label)] == p) return label_text(label);
  }
  return label_text(kEllipsis);
}

// The labels of one operand or of the output, with kEllipsis where `...` stands.
std::vector<int> read_labels(std::string_view text) {
  std::vector<int> labels;
  bool ellipsis = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ' ') continue;
    if (text[i] == '.') {
      MT_CHECK(!ellipsis && text.substr(i, 3) == "...", RuntimeError,
               "einsum(): found '.' that is not part of any ellipsis in operands or output");
      ellipsis = true;
      labels.push_back(kEllipsis);
      i += 2;
      continue;
    }
    labels.push_back(label_of(text[i]));
  }
  return labels;
}

struct Equation {
  std::vector<std::vector<int>> inputs;
  std::vector<int> output;
};

Equation parse(std::string_view equation, size_t operands) {
  Equation result;
  const size_t arrow = equation.find("->");
  std::string_view left = equation.substr(0, arrow);
  while (true) {
    const size_t comma = left.find(',');
    result.inputs.push_back(read_labels(left.substr(0, comma)));
    if (comma == std::string_view::npos) break;
    left.remove_prefix(comma + 1);
  }
  MT_CHECK(result.inputs.size() == operands, RuntimeError,
           "einsum(): ", result.inputs.size() < operands ? "more" : "fewer",
           " operands were provided than specified in the equation");
  if (arrow != std::string_view::npos) {
    result.output = read_labels(equation.substr(arrow + 2));
    return result;
  }
  // Without an arrow: the ellipsis, then all labels that occur once, in alphabetical order.
  std::array<int, kLetters + 1> count{};
  for (const auto& labels : result.inputs) {
    for (const int label : labels) ++count[static_cast<size_t>(label)];
  }
  if (count[kEllipsis] > 0) result.output.push_back(kEllipsis);
  for (int label = 0; label < kLetters; ++label) {
    if (count[static_cast<size_t>(label)] == 1) result.output.push_back(label);
  }
  return result;
}

// Sums the product of two tensors of the same rank over `dims`. Dims of size 1 on either side
// broadcast. Arranged as one bmm: [kept by both, only left, summed] x [kept by both, summed, only
// right].
Tensor contract(const Tensor& left, const Tensor& right, uint64_t dims) {
  Shape batch, only_left, only_right, summed;
  Tensor a = left;
  Tensor b = right;
  for (int64_t d = 0; d < left.dim(); ++d) {
    const bool in_left = left.size(d) != 1;
    const bool in_right = right.size(d) != 1;
    if ((dims >> d & 1) != 0) {
      if (in_left && in_right) {
        summed.push_back(d);
      } else if (in_left) {
        a = mindtorch::sum(a, IntList(&d, 1), true);
      } else if (in_right) {
        b = mindtorch::sum(b, IntList(&d, 1), true);
      }
    } else if (in_left && in_right) {
      batch.push_back(d);
    } else if (in_left) {
      only_left.push_back(d);
    } else {
      only_right.push_back(d);
    }
  }
  if (summed.empty()) return mul(a, b);
  const auto size_of = [](const Tensor& tensor, const Shape& which) {
    int64_t product = 1;
    for (const int64_t d : which) product *= tensor.size(d);
    return product;
  };
  const auto order = [](std::initializer_list<const Shape*> groups) {
    Shape result;
    for (const Shape* group : groups) {
      for (const int64_t d : *group) result.push_back(d);
    }
    return result;
  };
  const int64_t count = size_of(a, batch);
  const int64_t k = size_of(a, summed);
  const Tensor x = reshape(permute(a, order({&batch, &only_left, &summed, &only_right})),
                           {count, size_of(a, only_left), k});
  const Tensor y = reshape(permute(b, order({&batch, &summed, &only_right, &only_left})),
                           {count, k, size_of(b, only_right)});
  const Tensor product = mindtorch::bmm(x, y);
  // Back to the common rank: [batch, only_left, only_right, summed as 1].
  const Shape result_order = order({&batch, &only_left, &only_right, &summed});
  Shape sizes;
  for (const int64_t d : batch) sizes.push_back(a.size(d));
  for (const int64_t d : only_left) sizes.push_back(a.size(d));
  for (const int64_t d : only_right) sizes.push_back(b.size(d));
  for (size_t i = 0; i < summed.size(); ++i) sizes.push_back(1);
  Shape back(result_order.size());
  for (size_t i = 0; i < result_order.size(); ++i) {
    back[static_cast<size_t>(result_order[i])] = static_cast<int64_t>(i);
  }
  return permute(reshape(product, sizes), back);
}

Tensor einsum(std::string_view equation, TensorList tensors) {
  MT_CHECK(!tensors.empty(), RuntimeError, "einsum(): must provide at least one operand");
  const Equation parsed = parse(equation, tensors.size());

  std::array<bool, kLetters + 1> in_input{};
  for (const auto& labels : parsed.inputs) {
    for (const int label : labels) in_input[static_cast<size_t>(label)] = true;
  }
  for (const int label : parsed.output) {
    MT_CHECK(in_input[static_cast<size_t>(label)] || label == kEllipsis, RuntimeError,
             "einsum(): output subscript ", label_text(label),
             " does not appear in the equation for any input operand");
  }

  // How many dims the ellipsis covers at most.
  int64_t ellipsis_dims = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    int64_t named = 0;
    bool has_ellipsis = false;
    for (const int label : parsed.inputs[i]) {
      has_ellipsis |= label == kEllipsis;
      named += label != kEllipsis;
    }
    const int64_t rest = tensors[i].dim() - named;
    MT_CHECK(has_ellipsis ? rest >= 0 : rest == 0, RuntimeError,
             "einsum(): the number of subscripts in the equation (", named,
             has_ellipsis ? ") is more than the number of dimensions ("
                          : ") does not match the number of dimensions (",
             tensors[i].dim(), ") for operand ", i,
             has_ellipsis ? "" : " and no ellipsis was given");
    if (has_ellipsis) ellipsis_dims = std::max(ellipsis_dims, rest);
  }

  // Places in the common rank: output labels first, in order, then the summed ones.
  std::array<int64_t, kLetters + 1> place;
  place.fill(-1);
  int64_t next = 0;
  for (const int label : parsed.output) {
    int64_t& at = place[static_cast<size_t>(label)];
    MT_CHECK(at < 0, RuntimeError, "einsum(): output subscript ", label_text(label),
             " appears more than once in the output");
    at = next;
    next += label == kEllipsis ? ellipsis_dims : 1;
  }
  const int64_t output_dims = next;
  for (const auto& labels : parsed.inputs) {
    for (const int label : labels) {
      int64_t& at = place[static_cast<size_t>(label)];
      if (at >= 0) continue;
      at = next;
      next += label == kEllipsis ? ellipsis_dims : 1;
    }
  }
  const int64_t rank = next;

  // Every operand in the common rank, with size 1 where it has no such label.
  std::vector<Tensor> operands;
  Shape common(static_cast<size_t>(rank), 1);
  std::vector<int64_t> last_use(static_cast<size_t>(rank), -1);
  for (size_t i = 0; i < tensors.size(); ++i) {
    Tensor operand = tensors[i];
    std::array<int64_t, kLetters> seen;
    seen.fill(-1);
    Shape places;  // of the operand's dims
    int64_t d = 0;
    const std::vector<int>& labels = parsed.inputs[i];
    for (size_t at = 0; at < labels.size(); ++at) {
      const int label = labels[at];
      if (label == kEllipsis) {
        // Labels after the ellipsis have their dims at the end.
        const int64_t covered = operand.dim() - d - static_cast<int64_t>(labels.size() - at - 1);
        for (int64_t e = 0; e < covered; ++e, ++d) {
          places.push_back(place[kEllipsis] + ellipsis_dims - covered + e);
        }
        continue;
      }
      int64_t& first = seen[static_cast<size_t>(label)];
      if (first >= 0) {
        // A repeated label takes the diagonal.
        MT_CHECK(operand.size(first) == operand.size(d), RuntimeError, "einsum(): subscript ",
                 label_text(label), " is repeated for operand ", i, " but the sizes don't match, ",
                 operand.size(d), " != ", operand.size(first));
        operand = movedim(diagonal(operand, 0, first, d), IntList{-1}, IntList{first});
        continue;
      }
      first = d;
      places.push_back(place[static_cast<size_t>(label)]);
      ++d;
    }
    Shape order(static_cast<size_t>(rank), -1);
    for (size_t j = 0; j < places.size(); ++j) {
      order[static_cast<size_t>(places[j])] = static_cast<int64_t>(j);
    }
    for (int64_t p = 0; p < rank; ++p) {
      if (order[static_cast<size_t>(p)] >= 0) continue;
      operand = unsqueeze(operand, -1);
      order[static_cast<size_t>(p)] = operand.dim() - 1;
    }
    operand = permute(operand, order);
    for (int64_t p = 0; p < rank; ++p) {
      const int64_t size = operand.size(p);
      int64_t& shared = common[static_cast<size_t>(p)];
      if (size == 1) continue;
      MT_CHECK(shared == 1 || shared == size, RuntimeError, "einsum(): subscript ",
               label_at(place, p), " has size ", size, " for operand ", i,
               " which does not broadcast with previously seen size ", shared);
      shared = size;
      last_use[static_cast<size_t>(p)] = static_cast<int64_t>(i);
    }
    operands.push_back(std::move(operand));
  }

  // A summed label goes as soon as no later operand has it.
  Tensor result = operands[0];
  for (size_t i = 0; i < operands.size(); ++i) {
    uint64_t done = 0;
    for (int64_t p = output_dims; p < rank; ++p) {
      if (last_use[static_cast<size_t>(p)] == static_cast<int64_t>(i)) done |= uint64_t{1} << p;
    }
    if (i > 0) {
      result = contract(result, operands[i], done);
      continue;
    }
    Shape dims;
    for (int64_t p = output_dims; p < rank; ++p) {
      // A single operand is summed over dims of size 1 too: sums of integers are int64.
      if (operands.size() == 1 || ((done >> p & 1) != 0 && result.size(p) != 1)) dims.push_back(p);
    }
    if (!dims.empty()) result = mindtorch::sum(result, dims, true);
  }
  Shape summed;
  for (int64_t p = output_dims; p < rank; ++p) summed.push_back(p);
  if (!summed.empty()) result = squeeze(result, summed);
  return result;
}

}  // namespace

void compose_einsum(ops::Registry& registry) { registry.composite<einsum>("einsum"); }

}  // namespace mindtorch::functional
