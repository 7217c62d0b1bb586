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

constexpr Row kRows[] = {
    {"copysign fmod eq ge greater_equal gt greater le less_equal lt less ne not_equal",
     "Tensor self, Tensor other, OUT\n"
     "Tensor self, Scalar other, OUT"},
    {"true_divide floor_divide multiply",
     "Operand self, Operand other, OUT\n"
     "Tensor self, Scalar other"},
    {"remainder bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift",
     "Tensor self, Tensor other, OUT\n"
     "Scalar self, Tensor other\n"
     "Tensor self, Scalar other, OUT"},
    {"xlogy special_xlogy",
     "Tensor self, Tensor other, OUT\n"
     "Scalar self, Tensor other, OUT\n"
     "Tensor self, Scalar other, OUT"},
    {"pow float_power",
     "Tensor self, Tensor exponent, OUT\n"
     "Scalar self, Tensor exponent, OUT\n"
     "Tensor self, Scalar exponent, OUT"},
    {"div",
     "Operand self, Operand other, OUT\n"
     "Operand self, Operand other, *, str? rounding_mode, OUT\n"
     "Tensor self, Scalar other, *, str? rounding_mode"},
    {"divide",
     "Operand self, Operand other, OUT\n"
     "Operand self, Operand other, *, str? rounding_mode, OUT\n"
     "Tensor self, Scalar other\n"
     "Tensor self, Scalar other, *, str? rounding_mode"},
    {"rsub",
     "Tensor self, Tensor other, *, Scalar alpha=1\n"
     "Tensor self, Scalar other, Scalar alpha=1"},
    {"subtract",
     "Operand self, Operand other, *, Scalar alpha=1, OUT\n"
     "Tensor self, Scalar other, Scalar alpha=1"},
    {"max min",
     "Tensor self, OUT\n"
     "Tensor self, Tensor other, OUT\n"
     "Tensor self, int dim, bool keepdim=False, OUTS"},
    {"median nanmedian",
     "Tensor self\n"
     "Tensor self, int dim, bool keepdim=False, OUTS"},
    {"all any",
     "Tensor self, OUT\n"
     "Tensor self, int[]? dim=None, bool keepdim=False, OUT\n"
     "Tensor self, int dim, bool keepdim=False, OUT"},
    {"mean",
     "Tensor self, *, ScalarType? dtype=None, OUT\n"
     "Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None, OUT"},
    {"sum",
     "Tensor self, *, ScalarType? dtype=None\n"
     "Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None, OUT"},
    {"prod",
     "Tensor self, *, ScalarType? dtype=None\n"
     "Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None, OUT"},
    {"std var",
     "Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False, OUT\n"
     "Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False, OUT\n"
     "Tensor self, bool unbiased=True"},
    {"std_mean var_mean",
     "Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False\n"
     "Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False\n"
     "Tensor self, bool unbiased=True"},
    {"count_nonzero",
     "Tensor self, int? dim=None\n"
     "Tensor self, int[] dim"},
    {"round",
     "Tensor self, OUT\n"
     "Tensor self, *, int decimals, OUT"},
    {"clamp clip",
     "Tensor self, Tensor? min=None, Tensor? max=None, OUT\n"
     "Tensor self, Scalar? min=None, Scalar? max=None, OUT"},
    {"clamp_max",
     "Tensor self, Tensor max, OUT\n"
     "Tensor self, Scalar max, OUT"},
    {"clamp_min",
     "Tensor self, Tensor min, OUT\n"
     "Tensor self, Scalar min, OUT"},
    {"lerp",
     "Tensor self, Tensor end, Tensor weight, OUT\n"
     "Tensor self, Tensor end, Scalar weight, OUT"},
    {"fill",
     "Tensor self, Tensor value\n"
     "Tensor self, Scalar value"},
    {"masked_fill",
     "Tensor self, Tensor mask, Tensor value\n"
     "Tensor self, Tensor mask, Scalar value"},
    {"index_fill",
     "Tensor self, int dim, Tensor index, Tensor value\n"
     "Tensor self, int dim, Tensor index, Scalar value"},
    {"scatter",
     "Tensor self, int dim, Tensor index, Tensor src, OUT\n"
     "Tensor self, int dim, Tensor index, Tensor src, *, str reduce, OUT\n"
     "Tensor self, int dim, Tensor index, Scalar value, OUT\n"
     "Tensor self, int dim, Tensor index, Scalar value, *, str reduce, OUT"},
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
    {"dsplit hsplit vsplit",
     "Tensor self, int sections\n"
     "Tensor self, int[] indices"},
    {"tensor_split",
     "Tensor self, int[] indices, int dim=0\n"
     "Tensor self, Tensor tensor_indices_or_sections, int dim=0\n"
     "Tensor self, int sections, int dim=0"},
    {"repeat_interleave",
     "Tensor self, Tensor repeats, int? dim=None, *, int? output_size=None\n"
     "Tensor repeats, *, int? output_size=None\n"
     "Tensor self, int repeats, int? dim=None, *, int? output_size=None"},
    {".repeat_interleave",
     "Tensor self, Tensor repeats, int? dim=None, *, int? output_size=None\n"
     "Tensor self, int repeats, int? dim=None, *, int? output_size=None"},
    {"squeeze",
     "Tensor self\n"
     "Tensor self, int dim\n"
     "Tensor self, int[] dim"},
    {"movedim moveaxis",
     "Tensor self, int source, int destination\n"
     "Tensor self, int[] source, int[] destination"},
    {"narrow",
     "Tensor self, int dim, Tensor start, int length\n"
     "Tensor self, int dim, int start, int length"},
    {"view",
     "Tensor self, ScalarType dtype\n"
     "Tensor self, int[] size"},
    {"sort",
     "Tensor self, *, bool? stable, int dim=-1, bool descending=False, OUTS\n"
     "Tensor self, int dim=-1, bool descending=False, OUTS"},
    {"argsort",
     "Tensor self, *, bool stable, int dim=-1, bool descending=False, OUT\n"
     "Tensor self, int dim=-1, bool descending=False"},
    {"bucketize",
     "Tensor self, Tensor boundaries, *, bool out_int32=False, bool right=False, OUT\n"
     "Scalar self, Tensor boundaries, *, bool out_int32=False, bool right=False"},
    {"searchsorted",
     "Tensor sorted_sequence, Tensor self, *, bool out_int32=False, bool right=False, str? "
     "side=None, Tensor? sorter=None, OUT\n"
     "Tensor sorted_sequence, Scalar self, *, bool out_int32=False, bool right=False, str? "
     "side=None, Tensor? sorter=None, OUT"},
    {"isin",
     "Tensor elements, Tensor test_elements, *, bool assume_unique=False, bool invert=False, OUT\n"
     "Scalar element, Tensor test_elements, *, bool assume_unique=False, bool invert=False, OUT\n"
     "Tensor elements, Scalar test_element, *, bool assume_unique=False, bool invert=False, OUT"},
    {"arange",
     "Scalar end, *, OUT, OPTIONS\n"
     "Scalar start, Scalar end, *, OPTIONS\n"
     "Scalar start, Scalar end, Scalar step=1, *, OUT, OPTIONS"},
    {"eye",
     "int n, *, OUT, OPTIONS\n"
     "int n, int m, *, OUT, OPTIONS"},
    {"linspace",
     "Tensor start, Tensor end, int steps, *, OUT, OPTIONS\n"
     "Scalar start, Tensor end, int steps, *, OUT, OPTIONS\n"
     "Tensor start, Scalar end, int steps, *, OUT, OPTIONS\n"
     "Scalar start, Scalar end, int steps, *, OUT, OPTIONS"},
    {"logspace",
     "Tensor start, Tensor end, int steps, float base=10.0, *, OUT, OPTIONS\n"
     "Scalar start, Tensor end, int steps, float base=10.0, *, OUT, OPTIONS\n"
     "Tensor start, Scalar end, int steps, float base=10.0, *, OUT, OPTIONS\n"
     "Scalar start, Scalar end, int steps, float base=10.0, *, OUT, OPTIONS"},
    {"rand randn",
     "int[] size, *, Generator? generator, OUT, OPTIONS\n"
     "int[] size, *, OUT, OPTIONS"},
    {"rand_like randn_like",
     "Tensor self, *, Generator? generator, MemoryFormat? memory_format=None, OPTIONS\n"
     "Tensor self, *, MemoryFormat? memory_format=None, OPTIONS"},
    {"randint",
     "int high, int[] size, *, Generator? generator, OUT, OPTIONS\n"
     "int high, int[] size, *, OUT, OPTIONS\n"
     "int low, int high, int[] size, *, Generator? generator, OUT, OPTIONS\n"
     "int low, int high, int[] size, *, OUT, OPTIONS"},
    {"randint_like",
     "Tensor self, int low, int high, *, Generator? generator, MemoryFormat? memory_format=None, "
     "OPTIONS\n"
     "Tensor self, int low, int high, *, MemoryFormat? memory_format=None, OPTIONS\n"
     "Tensor self, Tensor high, *, Generator? generator, MemoryFormat? memory_format=None, "
     "OPTIONS\n"
     "Tensor self, Tensor high, *, MemoryFormat? memory_format=None, OPTIONS\n"
     "Tensor self, int high, *, Generator? generator, MemoryFormat? memory_format=None, OPTIONS\n"
     "Tensor self, int high, *, MemoryFormat? memory_format=None, OPTIONS"},
    {"randperm",
     "int n, *, Generator? generator, OUT, OPTIONS\n"
     "int n, *, OUT, OPTIONS"},
    {"normal",
     "Tensor mean, Tensor std, *, Generator? generator=None, OUT\n"
     "Tensor mean, float std=1, *, Generator? generator=None, OUT\n"
     "float mean, Tensor std, *, Generator? generator=None, OUT\n"
     "float mean, float std, int[] size, *, Generator? generator=None, OUT, OPTIONS"},
    {"normal_", "Tensor self, float mean=0, float std=1, *, Generator? generator=None"},
    {"bernoulli",
     "Tensor self, *, Generator? generator=None, OUT\n"
     "Tensor self, float p, *, Generator? generator=None"},
    {"bernoulli_",
     "Tensor self, Tensor p, *, Generator? generator=None\n"
     "Tensor self, float p=0.5, *, Generator? generator=None"},
    {"random_",
     "Tensor self, *, Generator? generator=None\n"
     "Tensor self, int from, int? to, *, Generator? generator=None\n"
     "Tensor self, int to, *, Generator? generator=None"},
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
