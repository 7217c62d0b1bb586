#include "mindtorch/ops/schema_text.h"

#include <cctype>
#include <charconv>

#include "mindtorch/base/error.h"

namespace mindtorch::ops {
namespace {

using Item = SchemaText::Item;

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  SchemaText parse() {
    SchemaText schema;
    schema.name = word(":");
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
    check(peek() == '\0', "the end");
    return schema;
  }

 private:
  void add(std::vector<Item>& params, Item param) {
    for (const Item& other : params) check(other.name != param.name, "another name");
    params.push_back(std::move(param));
  }

  // A type with what it may share memory with: "Tensor(a!)[]".
  Item typed() {
    Item item;
    item.type = word();
    if (accept('(')) {
      while (peek() != ')' && peek() != '\0') item.alias += text_[position_++];
      check(!item.alias.empty(), "a name");
      expect(')');
    }
    for (;;) {
      if (accept('?')) {
        item.tail += '?';
      } else if (accept('[')) {
        if (is_word(peek())) item.list_size = number();
        expect(']');
        item.tail += "[]";
      } else {
        item.end = position_;
        return item;
      }
    }
  }

  Item param(bool keyword_only) {
    Item param = typed();
    param.keyword_only = keyword_only;
    param.name = word();
    if (accept('=')) {
      param.has_default = true;
      param.default_text = default_text();
    }
    return param;
  }

  Item result() {
    Item result = typed();
    if (is_word(peek())) result.name = word();
    return result;
  }

  std::string default_text() {
    skip_space();
    std::string text;
    int depth = 0;
    char quote = '\0';
    for (; position_ < text_.size(); ++position_) {
      const char c = text_[position_];
      if (quote != '\0') {
        if (c == quote) quote = '\0';
      } else if (c == '\'' || c == '"') {
        quote = c;
      } else if (depth == 0 && (c == ',' || c == ')')) {
        break;
      } else {
        depth += c == '[' || c == '(' ? 1 : c == ']' || c == ')' ? -1 : 0;
      }
      text += c;
    }
    while (!text.empty() && is_space(text.back())) text.pop_back();
    check(!text.empty(), "a default");
    return text;
  }

  static bool is_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  }
  static bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

  // `more`: what may be in it besides letters, digits and underscores.
  std::string word(std::string_view more = "") {
    skip_space();
    const size_t start = position_;
    while (position_ < text_.size() &&
           (is_word(text_[position_]) || more.find(text_[position_]) != more.npos)) {
      ++position_;
    }
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
    while (position_ < text_.size() && is_space(text_[position_])) ++position_;
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

}  // namespace

SchemaText SchemaText::parse(std::string_view text) { return Parser(text).parse(); }

}  // namespace mindtorch::ops
