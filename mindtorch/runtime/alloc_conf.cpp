#include "mindtorch/runtime/alloc_conf.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <optional>

#include "mindtorch/base/error.h"
#include "mindtorch/base/options.h"
#include "mindtorch/driver/device_row.h"

namespace mindtorch::runtime {
namespace {

constexpr size_t kMiB = size_t{1} << 20;
constexpr size_t kMultiple = 512;
constexpr int64_t kMaxMegabytes = int64_t{1} << 40;

using Value = AllocConf::Value;

template <typename Number>
std::optional<Number> parse_number(std::string_view text) {
  Number value{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

std::optional<int64_t> parse_int(std::string_view text, int64_t low, int64_t high) {
  const std::optional<int64_t> value = parse_number<int64_t>(text);
  return value && *value >= low && *value <= high ? value : std::nullopt;
}

std::optional<bool> parse_bool(std::string_view text) {
  if (text == "True" || text == "true") return true;
  if (text == "False" || text == "false") return false;
  return std::nullopt;
}

bool is_division(int64_t divisions) {
  return divisions == 0 || std::has_single_bit(static_cast<uint64_t>(divisions));
}

// Of roundup_power2_divisions. The first entry also holds for less than 1 MiB.
size_t entry_of(size_t megabytes) {
  return std::clamp(static_cast<size_t>(std::bit_width(megabytes)), size_t{1}, size_t{16}) - 1;
}

// "256:1,512:2,>:8". The first item also holds for everything smaller.
bool parse_division_list(std::string_view list, std::array<uint32_t, 16>& table) {
  std::array<uint32_t, 16> result = {};
  size_t next = 0;
  while (!list.empty()) {
    const std::string_view item = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), item.size() + 1));
    const size_t colon = item.find(':');
    if (colon == item.npos) return false;
    const auto divisions = parse_int(item.substr(colon + 1), 0, UINT32_MAX);
    if (!divisions || !is_division(*divisions)) return false;
    const auto value = static_cast<uint32_t>(*divisions);
    if (item.substr(0, colon) == ">") {
      std::fill(result.begin() + static_cast<ptrdiff_t>(next), result.end(), value);
      if (!list.empty()) return false;
      break;
    }
    const auto megabytes = parse_int(item.substr(0, colon), 1, kMaxMegabytes);
    if (!megabytes || !std::has_single_bit(static_cast<uint64_t>(*megabytes))) return false;
    const size_t entry = entry_of(static_cast<size_t>(*megabytes));
    if (next == 0) std::fill_n(result.begin(), entry, value);
    result[entry] = value;
    next = entry + 1;
  }
  if (next == 0 && result[0] == 0) return false;
  table = result;
  return true;
}

std::optional<Value> set_divisions(std::string_view text, AllocConf& conf) {
  if (text.starts_with('[')) {
    if (!text.ends_with(']')) return std::nullopt;
    const std::string_view list = text.substr(1, text.size() - 2);
    if (!parse_division_list(list, conf.roundup_power2_divisions)) return std::nullopt;
    return Value(std::string(text));
  }
  const auto divisions = parse_int(text, 0, UINT32_MAX);
  if (!divisions || !is_division(*divisions)) return std::nullopt;
  conf.roundup_power2_divisions.fill(static_cast<uint32_t>(*divisions));
  return Value(*divisions);
}

template <size_t AllocConf::* kMember, int64_t kLow = 1>
std::optional<Value> set_megabytes(std::string_view text, AllocConf& conf) {
  const auto value = parse_int(text, kLow, kMaxMegabytes);
  if (!value) return std::nullopt;
  conf.*kMember = static_cast<size_t>(*value) * kMiB;
  return Value(*value);
}

template <double AllocConf::* kMember>
std::optional<Value> set_fraction(std::string_view text, AllocConf& conf) {
  const auto value = parse_number<double>(text);
  if (!value || !(*value >= 0 && *value <= 1)) return std::nullopt;
  conf.*kMember = *value;
  return Value(*value);
}

std::optional<Value> set_expandable(std::string_view text, AllocConf& conf) {
  const auto value = parse_bool(text);
  if (!value) return std::nullopt;
  conf.expandable_segments = *value;
  return Value(*value);
}

std::optional<Value> set_outgrown_age(std::string_view text, AllocConf& conf) {
  const auto value = parse_int(text, 0, INT64_MAX);
  if (!value) return std::nullopt;
  conf.outgrown_segment_age = static_cast<uint64_t>(*value);
  return Value(*value);
}

// What torch and its extensions know and what changes nothing here: checked, then only reported.
std::optional<Value> accept_bool(std::string_view text, AllocConf&) {
  const auto value = parse_bool(text);
  return value ? std::optional<Value>(*value) : std::nullopt;
}

template <int64_t kLow, int64_t kHigh>
std::optional<Value> accept_int(std::string_view text, AllocConf&) {
  const auto value = parse_int(text, kLow, kHigh);
  return value ? std::optional<Value>(*value) : std::nullopt;
}

std::optional<Value> accept_threads(std::string_view text, AllocConf&) {
  const auto value = parse_int(text, 1, 128);
  if (!value || !std::has_single_bit(static_cast<uint64_t>(*value))) return std::nullopt;
  return Value(*value);
}

std::optional<Value> accept_backend(std::string_view text, AllocConf&) {
  return text == "native" ? std::optional<Value>(std::string(text)) : std::nullopt;
}

std::optional<Value> accept_page_size(std::string_view text, AllocConf&) {
  return text == "1g" ? std::optional<Value>(std::string(text)) : std::nullopt;
}

struct Key {
  std::string_view name;
  std::optional<Value> (*set)(std::string_view, AllocConf&);  // nothing: a bad value
  const char* expected;
};

constexpr const char* kMegabytes = "a positive number of MiB";
constexpr const char* kBool = "True or False";
constexpr const char* kFraction = "a number from 0 to 1";

constexpr Key kKeys[] = {
    {"max_split_size_mb", &set_megabytes<&AllocConf::max_split_size>, kMegabytes},
    {"max_non_split_rounding_mb", &set_megabytes<&AllocConf::max_non_split_rounding>, kMegabytes},
    {"large_segment_size_mb", &set_megabytes<&AllocConf::large_segment_size, 11>,
     "a number of MiB above 10"},
    {"garbage_collection_threshold", &set_fraction<&AllocConf::garbage_collection_threshold>,
     kFraction},
    {"roundup_power2_divisions", &set_divisions,
     "a power of two, or a list such as [256:1,512:2,>:8] of powers of two"},
    {"expandable_segments", &set_expandable, kBool},
    {"per_process_memory_fraction", &set_fraction<&AllocConf::per_process_memory_fraction>,
     kFraction},
    {"outgrown_segment_age", &set_outgrown_age, "a number of searches, or 0 for never"},
    {"pinned_max_cached_size_mb", &set_megabytes<&AllocConf::pinned_max_cached_size, 0>,
     "a number of MiB"},
    {"pinned_max_round_threshold_mb", &set_megabytes<&AllocConf::pinned_max_round_threshold, 0>,
     "a number of MiB"},
    {"pinned_reserve_segment_size_mb", &set_megabytes<&AllocConf::pinned_reserve_segment_size>,
     kMegabytes},
    {"backend", &accept_backend, "native"},
    {"release_lock_on_*malloc", &accept_bool, kBool},
    {"throw_on_*malloc_oom", &accept_bool, kBool},
    {"graph_capture_record_stream_reuse", &accept_bool, kBool},
    {"pinned_use_*_host_register", &accept_bool, kBool},
    {"pinned_mem_register", &accept_bool, kBool},
    {"pinned_num_register_threads", &accept_threads, "a power of two up to 128"},
    {"pinned_use_background_threads", &accept_bool, kBool},
    {"pinned_free_catch_all", &accept_bool, kBool},
    {"segment_size_mb", &accept_int<20, 512>, "a number of MiB from 20 to 512"},
    {"page_size", &accept_page_size, "1g"},
    {"base_addr_aligned_kb", &accept_int<0, 16>, "a number of KiB from 0 to 16"},
    {"multi_stream_lazy_reclaim", &accept_bool, kBool},
    {"pin_memory_expandable_segments", &accept_bool, kBool},
};

// Items are separated by commas outside brackets.
std::string_view cut_item(std::string_view& text) {
  size_t end = 0;
  for (int depth = 0; end < text.size(); ++end) {
    if (text[end] == '[') ++depth;
    if (text[end] == ']') --depth;
    if (text[end] == ',' && depth <= 0) break;
  }
  const std::string_view item = text.substr(0, end);
  text.remove_prefix(std::min(text.size(), end + 1));
  return item;
}

void keep_setting(AllocConf& conf, std::string_view name, Value value) {
  for (auto& [known, kept] : conf.settings) {
    if (known == name) {
      kept = std::move(value);
      return;
    }
  }
  conf.settings.emplace_back(name, std::move(value));
}

// A star stands for a kind of device or its library.
bool is_name(std::string_view text, std::string_view name) {
  const size_t star = name.find('*');
  if (star == name.npos) return text == name;
  const std::string_view before = name.substr(0, star);
  const std::string_view after = name.substr(star + 1);
  return text.size() > before.size() + after.size() && text.starts_with(before) &&
         text.ends_with(after);
}

// Returns what is wrong with the item; empty: nothing.
std::string apply(std::string_view item, AllocConf& conf) {
  const size_t separator = item.find_first_of(":=");
  if (separator == item.npos) return "expected key:value";
  const std::string_view name = item.substr(0, separator);
  const auto* const key =
      std::ranges::find_if(kKeys, [&](const Key& each) { return is_name(name, each.name); });
  if (key == std::end(kKeys)) return detail::concat("unknown key \"", name, "\"");
  std::optional<Value> value = key->set(item.substr(separator + 1), conf);
  if (!value) return detail::concat(name, " must be ", key->expected);
  keep_setting(conf, name, std::move(*value));
  return "";
}

}  // namespace

AllocConf AllocConf::parse(std::string_view text,
                           const std::function<void(const std::string&)>& warn) {
  AllocConf conf;
  conf.text = text;
  std::string compact;
  std::ranges::copy_if(text, std::back_inserter(compact),
                       [](char c) { return c != ' ' && c != '\t' && c != '\n' && c != '\r'; });
  std::string_view rest = compact;
  while (!rest.empty()) {
    const std::string_view item = cut_item(rest);
    if (item.empty()) continue;
    const std::string mistake = apply(item, conf);
    if (!mistake.empty() && warn) {
      warn(detail::concat("alloc conf: \"", item, "\" is ignored: ", mistake));
    }
  }
  return conf;
}

std::string AllocConf::environment_text(const driver::DeviceRow& row) {
  std::string result;
  for (const TextOption* option : row.alloc_conf) {
    if (result.empty()) result = option->get();
  }
  if (result.empty()) result = options::kTorchAllocConf.get();
  // Names and values are ASCII; what is not may be no text at all.
  std::ranges::replace_if(result, [](char c) { return static_cast<signed char>(c) < 0; }, '?');
  return result;
}

size_t AllocConf::round(size_t bytes) const noexcept {
  if (bytes <= kMultiple) return kMultiple;
  const size_t divisions = roundup_power2_divisions[entry_of(bytes / kMiB)];
  if (divisions <= 1 || bytes <= kMultiple * divisions) {
    return (bytes + kMultiple - 1) & ~(kMultiple - 1);
  }
  const size_t step = std::bit_floor(bytes) / divisions;  // at least 512: bytes > 512 * divisions
  return (bytes + step - 1) & ~(step - 1);
}

}  // namespace mindtorch::runtime
