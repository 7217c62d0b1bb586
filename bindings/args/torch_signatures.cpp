#include "bindings/args/torch_signatures.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

namespace mindtorch::python {
namespace {

// Names are separated by spaces, signatures by newlines; `OPTIONS` and `OUT` are written out below.
// A name that ends in "_" takes the row of the name without it, and a method the row of its
// function, unless it has a row of its own. A leading "." makes a row for the method alone.
struct Row {
  std::string_view names;
  std::string_view signatures;
};

// By tools/make_signatures.py, from the table of torch's schemas.
constexpr Row kTable[] = {
#include "bindings/args/torch_signatures.inc"
};

// What that table does not say: overloads that it lacks, and methods that are not as the function.
constexpr Row kRows[] = {
    {"where",
     "Tensor condition\n"
     "Tensor condition, Tensor self, Tensor other, OUT\n"
     "Tensor condition, Scalar self, Tensor other\n"
     "Tensor condition, Tensor self, Scalar other\n"
     "Tensor condition, Scalar self, Scalar other"},
    {".where",
     "Tensor self, Tensor condition, Tensor other\n"
     "Tensor self, Tensor condition, Scalar other"},
    {".nonzero",
     "Tensor self\n"
     "Tensor self, *, bool as_tuple"},
    {"mm bmm",
     "Tensor self, Tensor mat2, OUT\n"
     "Tensor self, Tensor mat2, ScalarType out_dtype, OUT"},
    {".mm .bmm", "Tensor self, Tensor mat2"},
    {"addmm",
     "Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1, OUT\n"
     "Tensor self, Tensor mat1, Tensor mat2, ScalarType out_dtype, *, Scalar beta=1, Scalar "
     "alpha=1, OUT"},
    {".addmm", "Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1"},
    {"baddbmm",
     "Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1, OUT\n"
     "Tensor self, Tensor batch1, Tensor batch2, ScalarType out_dtype, *, Scalar beta=1, Scalar "
     "alpha=1, OUT"},
    {".baddbmm", "Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1"},
};

// Orders of arguments from torch's early days.
constexpr Row kDeprecatedRows[] = {
    {"add sub", "Tensor self, Scalar alpha, Operand other, OUT"},
    {"copy_", "Tensor self, Operand other, bool async"},
    {"addcdiv addcmul", "Tensor self, Scalar value, Tensor tensor1, Tensor tensor2, OUT"},
    {"addmm",
     "Scalar beta, Tensor self, Scalar alpha, Tensor mat1, Tensor mat2, OUT\n"
     "Scalar beta, Tensor self, Tensor mat1, Tensor mat2, OUT"},
    {"addmv",
     "Scalar beta, Tensor self, Scalar alpha, Tensor mat, Tensor vec, OUT\n"
     "Scalar beta, Tensor self, Tensor mat, Tensor vec, OUT"},
    {"addr",
     "Scalar beta, Tensor self, Scalar alpha, Tensor vec1, Tensor vec2, OUT\n"
     "Scalar beta, Tensor self, Tensor vec1, Tensor vec2, OUT"},
    {"addbmm baddbmm",
     "Scalar beta, Tensor self, Scalar alpha, Tensor batch1, Tensor batch2, OUT\n"
     "Scalar beta, Tensor self, Tensor batch1, Tensor batch2, OUT"},
};

bool lists(std::string_view names, std::string_view name) {
  for (size_t at = 0; at < names.size();) {
    const size_t end = std::min(names.find(' ', at), names.size());
    if (names.substr(at, end - at) == name) return true;
    at = end + 1;
  }
  return false;
}

const Row* find(std::span<const Row> rows, std::string_view name, bool is_method) {
  const auto row_of = [&](const std::string& wanted) {
    return std::ranges::find_if(rows, [&](const Row& row) { return lists(row.names, wanted); });
  };
  std::string tried(name);
  for (;;) {
    if (is_method) {
      if (const auto row = row_of("." + tried); row != rows.end()) return &*row;
    }
    if (const auto row = row_of(tried); row != rows.end()) return &*row;
    if (!tried.ends_with('_')) return nullptr;
    tried.pop_back();
  }
}

void replace(std::string& text, std::string_view word, std::string_view by) {
  if (const size_t at = text.find(word); at != std::string::npos) {
    text.replace(at, word.size(), by);
  }
}

ops::Schema read(std::string_view name, std::string_view signature, bool takes_out) {
  std::string text(signature);
  const bool has_star = text.find('*') != std::string::npos;
  if (!takes_out) {
    for (const std::string_view word : {", OUTS", ", OUT"}) replace(text, word, "");
  }
  replace(text, "OUTS", has_star ? "Tensor[2]? out=None" : "*, Tensor[2]? out=None");
  replace(text, "OUT", has_star ? "Tensor? out=None" : "*, Tensor? out=None");
  replace(text, "OPTIONS", "ScalarType? dtype=None, Device? device=None");
  return ops::Schema::parse(std::string(name) + "(" + text + ") -> Tensor");
}

std::vector<ops::Schema> read_all(std::span<const Row> rows,
                                  std::string_view name,
                                  bool is_method) {
  std::vector<ops::Schema> schemas;
  const Row* const row = find(rows, name, is_method);
  if (row == nullptr) return schemas;
  const std::string_view all = row->signatures;
  for (size_t at = 0; at < all.size();) {
    const size_t end = std::min(all.find('\n', at), all.size());
    const std::string_view signature = all.substr(at, end - at);
    at = end + 1;
    schemas.push_back(read(name, signature, !is_method && !name.ends_with('_')));
  }
  return schemas;
}

// Also layout=, pin_memory= and requires_grad=, which our schemas leave out.
void add_options(ops::Schema& schema) {
  const auto find = [&](ops::ArgType type) {
    return std::ranges::find_if(schema.params, [&](const ops::Param& param) {
      return param.keyword_only && param.type == type;
    });
  };
  const auto device = find(ops::ArgType::kDevice);
  if (find(ops::ArgType::kDType) == schema.params.end() || device == schema.params.end()) return;
  static const ops::Schema kLayout = ops::Schema::parse("f(*, Device? layout=None) -> Tensor");
  static const ops::Schema kOthers =
      ops::Schema::parse("f(*, bool? pin_memory=False, bool? requires_grad=False) -> Tensor");
  schema.params.insert(device, kLayout.params[0]);
  schema.params.insert(schema.params.end(), kOthers.params.begin(), kOthers.params.end());
}

}  // namespace

TorchSignatures torch_signatures(const std::string& name,
                                 bool is_method,
                                 std::vector<ops::Schema> ours) {
  TorchSignatures signatures{read_all(kRows, name, is_method),
                             read_all(kDeprecatedRows, name, is_method)};
  if (signatures.shown.empty()) {
    signatures.shown = read_all(kTable, name, is_method);
    if (is_method) {
      std::erase_if(signatures.shown,
                    [](const ops::Schema& schema) { return schema.params[0].name != "self"; });
    }
  }
  if (signatures.shown.empty()) signatures.shown = std::move(ours);
  if (is_method) {
    // A number has no methods.
    std::erase_if(signatures.shown, [](const ops::Schema& schema) {
      return schema.params[0].type == ops::ArgType::kScalar;
    });
    for (ops::Schema& schema : signatures.shown) schema.params.erase(schema.params.begin());
    for (ops::Schema& schema : signatures.deprecated) {
      std::erase_if(schema.params, [](const ops::Param& param) { return param.name == "self"; });
    }
  }
  for (ops::Schema& schema : signatures.shown) add_options(schema);
  return signatures;
}

}  // namespace mindtorch::python
