#include "mindtorch/dispatch/plan/pattern.h"

#include <array>
#include <cctype>
#include <charconv>
#include <mutex>
#include <utility>

#include "mindtorch/base/error.h"

namespace mindtorch::dispatch {
namespace {

class Parser {
 public:
  explicit Parser(const ops::CallPattern& pattern) : rest_(pattern.expression) {
    parsed_.pattern = &pattern;
  }

  ParsedPattern run() {
    do {
      parsed_.root = statement();
    } while (accept(';'));
    check(rest_.empty());
    return std::move(parsed_);
  }

 private:
  void check(bool is_right) const {
    MT_CHECK(is_right, RuntimeError, "pattern ", parsed_.pattern->name, ": cannot read '", rest_,
             "'");
  }
  void skip_spaces() {
    while (!rest_.empty() && rest_[0] == ' ') rest_.remove_prefix(1);
  }
  bool accept(char c) {
    skip_spaces();
    if (rest_.empty() || rest_[0] != c) return false;
    rest_.remove_prefix(1);
    skip_spaces();
    return true;
  }
  template <typename Accepts>
  std::string_view take_while(Accepts accepts) {
    size_t length = 0;
    while (length < rest_.size() && accepts(rest_[length])) ++length;
    const std::string_view taken = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return taken;
  }
  std::string_view word() {
    const std::string_view taken = take_while(
        [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; });
    check(!taken.empty());
    return taken;
  }

  uint16_t add(PatternNode node) {
    parsed_.nodes.push_back(std::move(node));
    return static_cast<uint16_t>(parsed_.nodes.size() - 1);
  }

  uint16_t statement() {
    const std::string_view name = word();
    const bool is_result = accept('!');
    check(accept('='));
    const uint16_t made = expression();
    check(parsed_.nodes[made].name.empty());
    parsed_.nodes[made].name = name;
    parsed_.nodes[made].is_result = is_result;
    return made;
  }

  uint16_t expression() {
    skip_spaces();
    check(!rest_.empty());
    if (rest_[0] == '$') {
      rest_.remove_prefix(1);
      return add({.kind = PatternNode::Kind::kNumber, .name = word()});
    }
    if (rest_[0] == '-' || std::isdigit(static_cast<unsigned char>(rest_[0])) != 0) return number();
    const std::string_view name = word();
    const bool in_any_order = accept('~');
    const bool is_optional = accept('?');
    if (accept('(')) return call(name, in_any_order, is_optional);
    check(!in_any_order);
    for (size_t i = 0; i < parsed_.nodes.size(); ++i) {
      if (parsed_.nodes[i].name == name) return static_cast<uint16_t>(i);
    }
    return add({.is_optional = is_optional, .name = name});
  }

  uint16_t number() {
    PatternNode node{.kind = PatternNode::Kind::kNumber};
    const auto [end, error] =
        std::from_chars(rest_.data(), rest_.data() + rest_.size(), node.number);
    check(error == std::errc());
    rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
    return add(std::move(node));
  }

  uint16_t call(std::string_view op, bool in_any_order, bool is_optional) {
    PatternNode node{.kind = op == "cast"    ? PatternNode::Kind::kCast
                             : op == "view"  ? PatternNode::Kind::kView
                             : op == "alias" ? PatternNode::Kind::kAlias
                                             : PatternNode::Kind::kCall,
                     .is_optional = is_optional,
                     .in_any_order = in_any_order,
                     .op = op};
    do {
      if (is_argument()) {
        const std::string_view name = word();
        check(accept('='));
        node.arguments.push_back({name, take_while([](char c) { return c != ',' && c != ')'; })});
      } else {
        node.operands.push_back(expression());
      }
    } while (accept(','));
    check(accept(')') && !node.operands.empty() && (!in_any_order || node.operands.size() == 2));
    return add(std::move(node));
  }

  // name=...
  bool is_argument() {
    skip_spaces();
    size_t length = 0;
    while (length < rest_.size() &&
           (std::isalnum(static_cast<unsigned char>(rest_[length])) != 0 || rest_[length] == '_')) {
      ++length;
    }
    return length != 0 && length < rest_.size() && rest_[length] == '=';
  }

  std::string_view rest_;
  ParsedPattern parsed_{};
};

}  // namespace

ParsedPattern parse_pattern(const ops::CallPattern& pattern) { return Parser(pattern).run(); }

const std::vector<ParsedPattern>& patterns_of(DeviceType device) {
  static std::array<std::once_flag, kDeviceTypeCount> once;
  static std::array<std::vector<ParsedPattern>, kDeviceTypeCount> parsed;
  const auto index = static_cast<size_t>(device);
  std::call_once(once[index], [&] {
    for (const ops::CallPattern& pattern : ops::call_patterns(device)) {
      parsed[index].push_back(parse_pattern(pattern));
    }
  });
  return parsed[index];
}

}  // namespace mindtorch::dispatch
