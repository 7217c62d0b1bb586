#include "mindtorch/base/options.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include "mindtorch/base/error.h"
#include "mindtorch/base/warning.h"

namespace mindtorch {
namespace {

constexpr const Option* kCommon[] = {
    &options::kNumThreads,    &options::kOmpNumThreads, &options::kCpuCacheMb,
    &options::kCpuCapability, &options::kCpuJit,        &options::kTorchAllocConf,
};

std::string lower(std::string text) {
  for (char& letter : text) {
    letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  }
  return text;
}

// Short, and without what may be no text at all.
std::string shown(std::string text) {
  constexpr size_t kMost = 60;
  std::ranges::replace_if(text, [](char c) { return static_cast<signed char>(c) < ' '; }, '?');
  if (text.size() > kMost) text = text.substr(0, kMost) + "...";
  return text;
}

}  // namespace

std::optional<std::string> Option::raw() const {
  const char* const text = std::getenv(name);
  if (text == nullptr || *text == '\0') return std::nullopt;
  return text;
}

std::optional<bool> FlagOption::find() const {
  const std::string value = lower(raw().value_or(""));
  for (const char* word : {"1", "true", "yes", "on"}) {
    if (value == word) return true;
  }
  for (const char* word : {"0", "false", "no", "off"}) {
    if (value == word) return false;
  }
  return std::nullopt;
}

bool FlagOption::get() const { return find().value_or(default_value); }

std::optional<uint64_t> NumberOption::find() const {
  const std::string text = raw().value_or("");
  std::string_view digits = text;
  if (list) digits = digits.substr(0, digits.find(','));
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  if (value < range.least || value > range.most) return std::nullopt;
  return value;
}

std::span<const Option* const> common_options() { return kCommon; }

std::string option_problem(const Option& option) {
  const std::optional<std::string> value = option.raw();
  if (!value) return "";
  const auto problem = [&](const auto&... expected) {
    return detail::concat(option.name, "=", shown(*value), " is ignored: it takes ", expected...);
  };
  switch (option.type) {
    case OptionType::kFlag:
      if (!static_cast<const FlagOption&>(option).find()) return problem("0 or 1");
      break;
    case OptionType::kNumber: {
      const auto& number = static_cast<const NumberOption&>(option);
      if (!number.find())
        return problem("a number from ", number.range.least, " to ", number.range.most);
      break;
    }
    case OptionType::kText:
      break;
  }
  return "";
}

void warn_about_options(std::span<const Option* const> options) {
  for (const Option* option : options) {
    if (const std::string problem = option_problem(*option); !problem.empty()) warn(problem);
  }
}

const char* type_name(OptionType type) {
  switch (type) {
    case OptionType::kFlag:
      return "flag";
    case OptionType::kNumber:
      return "number";
    case OptionType::kText:
      return "text";
  }
  MT_ASSERT(false);
  return "";
}

std::string default_text(const Option& option) {
  switch (option.type) {
    case OptionType::kFlag:
      return static_cast<const FlagOption&>(option).default_value ? "1" : "0";
    case OptionType::kNumber: {
      const auto& number = static_cast<const NumberOption&>(option);
      if (number.computed_default != nullptr) return number.computed_default;
      return std::to_string(number.default_value);
    }
    case OptionType::kText:
      return static_cast<const TextOption&>(option).default_value;
  }
  MT_ASSERT(false);
  return "";
}

}  // namespace mindtorch
