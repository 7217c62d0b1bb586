#include "mindtorch/ops/schema.h"

#include <cctype>
#include <charconv>
#include <utility>

#include "mindtorch/base/error.h"

namespace mindtorch::ops {
namespace {

struct TypeName {
  std::string_view text;
  ArgType type;
};

constexpr TypeName kTypeNames[] = {
    {"Scalar[]", ArgType::kTensorList},  // numbers, each as a tensor that promotes like it
    {"Tensor[]", ArgType::kTensorList},
    {"Tensor?[]", ArgType::kOptionalTensorList},
    {"Tensor", ArgType::kTensor},
    {"Operand", ArgType::kOperand},
    {"Scalar", ArgType::kScalar},
    {"ScalarType", ArgType::kDType},
    {"int[]", ArgType::kIntList},
    {"int", ArgType::kInt},
    {"float[]", ArgType::kFloatList},
    {"float", ArgType::kFloat},
    {"bool", ArgType::kBool},
    {"Device", ArgType::kDevice},
    {"MemoryFormat", ArgType::kMemoryFormat},
    {"str", ArgType::kString},
    {"Generator", ArgType::kGenerator},
};

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Schema parse() {
    Schema schema;
    schema.name = word();
    if (accept('.')) schema.overload = word();
    expect('(');
    if (!accept(')')) {
      bool keyword_only = false;
      do {
        if (!keyword_only && accept('*')) {
          keyword_only = true;
          expect(',');
        }
        add(schema.params, param(keyword_only));
      } while (accept(','));
      expect(')');
    }
    expect('-');
    expect('>');
    if (accept('(')) {
      if (!accept(')')) {
        do schema.returns.push_back(result());
        while (accept(','));
        expect(')');
      }
    } else {
      schema.returns.push_back(result());
    }
    check(position_ == text_.size(), "the end");
    return schema;
  }

 private:
  void add(std::vector<Param>& params, Param param) {
    for (const Param& other : params) check(other.name != param.name, "another name");
    params.push_back(std::move(param));
  }

  Param param(bool keyword_only) {
    Param param;
    param.keyword_only = keyword_only;
    std::string type = word();
    if (accept('(')) {  // alias annotation: (a) or (a!)
      word();
      param.mutated = accept('!');
      expect(')');
    }
    if (accept('?')) param.optional = true;
    if (accept('[')) {
      if (is_word(peek())) param.list_size = number();
      expect(']');
      type += param.optional ? "?[]" : "[]";
      if (type == "Scalar[]") param.list_size = -1;
      param.optional = accept('?');
    }
    bool known = false;
    for (const TypeName& entry : kTypeNames) {
      if (entry.text == type) {
        param.type = entry.type;
        known = true;
      }
    }
    check(known, "a type");
    param.name = word();
    if (accept('=')) {
      param.has_default = true;
      param.default_text = default_text();
    }
    return param;
  }

  Return result() {
    const std::string type = word();
    Return result;
    if (accept('(')) {
      word();
      accept('!');
      expect(')');
    }
    if (type == "Tensor" && accept('[')) {
      expect(']');
      result.type = ReturnType::kTensorList;
    } else if (type == "Tensor") {
      result.type = ReturnType::kTensor;
    } else if (type == "Scalar") {
      result.type = ReturnType::kScalar;
    } else if (type == "int") {
      result.type = ReturnType::kInt;
    } else if (type == "bool") {
      result.type = ReturnType::kBool;
    } else if (type == "float") {
      result.type = ReturnType::kFloat;
    } else {
      check(false, "a return type");
    }
    if (is_word(peek())) result.name = word();
    return result;
  }

  std::string default_text() {
    skip_space();
    std::string text;
    int depth = 0;
    while (position_ < text_.size()) {
      const char c = text_[position_];
      if (depth == 0 && (c == ',' || c == ')')) break;
      depth += c == '[' || c == '(' ? 1 : c == ']' || c == ')' ? -1 : 0;
      text += c;
      ++position_;
    }
    while (!text.empty() && text.back() == ' ') text.pop_back();
    check(!text.empty(), "a default");
    return text;
  }

  static bool is_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  }

  std::string word() {
    skip_space();
    const size_t start = position_;
    while (position_ < text_.size() && is_word(text_[position_])) ++position_;
    check(position_ > start, "a name");
    return std::string(text_.substr(start, position_ - start));
  }
  int64_t number() {
    const std::string digits = word();
    int64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    check(error == std::errc() && *end == '\0' && value > 0, "a size");
    return value;
  }
  void skip_space() {
    while (position_ < text_.size() && text_[position_] == ' ') ++position_;
  }
  char peek() {
    skip_space();
    return position_ < text_.size() ? text_[position_] : '\0';
  }
  bool accept(char c) {
    if (peek() != c) return false;
    ++position_;
    return true;
  }
  void expect(char c) { check(accept(c), std::string_view(&c, 1)); }
  void check(bool condition, std::string_view wanted) {
    MT_CHECK(condition, RuntimeError, "schema '", text_, "': expected ", wanted, " at position ",
             position_);
  }

  std::string_view text_;
  size_t position_ = 0;
};

std::string type_text(const Param& param) {
  std::string text;
  for (const TypeName& entry : kTypeNames) {
    if (entry.type == param.type) text = entry.text;
  }
  if (param.list_size < 0) text = "Scalar[]";
  if (param.list_size > 0) text.insert(text.size() - 1, std::to_string(param.list_size));
  if (param.mutated) text.insert(std::min(text.find('['), text.size()), "(a!)");
  if (param.optional) text += '?';
  return text;
}

}  // namespace

Schema Schema::parse(std::string_view text) { return Parser(text).parse(); }

std::string Schema::str() const {
  std::string text = full_name() + "(";
  bool keyword_only = false;
  for (size_t i = 0; i < params.size(); ++i) {
    const Param& param = params[i];
    if (i != 0) text += ", ";
    if (param.keyword_only && !std::exchange(keyword_only, true)) text += "*, ";
    text += type_text(param) + " " + param.name;
    if (param.has_default) text += "=" + param.default_text;
  }
  text += ") -> ";
  constexpr std::string_view kReturnNames[] = {"Tensor", "Tensor[]", "Scalar", "int",
                                               "bool",   "float",    "()"};
  if (returns.size() != 1) text += "(";
  for (size_t i = 0; i < returns.size(); ++i) {
    if (i != 0) text += ", ";
    text += kReturnNames[static_cast<int>(returns[i].type)];
    if (!returns[i].name.empty()) text += " " + returns[i].name;
  }
  if (returns.size() != 1) text += ")";
  return text;
}

}  // namespace mindtorch::ops
