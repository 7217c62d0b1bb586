#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "mindtorch/base/macros.h"

// The environment variables this library reads, but for those of one kind of device, which its row
// lists (driver/device_row.h). The simulator has settings of its own.
namespace mindtorch {

enum class OptionType : uint8_t {
  kFlag,    // 1, true, yes, on, or 0, false, no, off, in upper or lower case
  kNumber,  // a decimal number
  kText,
};

// One variable. Unset and empty are the same, and mean the default; so does a value that is not of
// its type, which option_problem() finds. Reading asks the environment each time.
struct Option {
  const char* name;
  OptionType type;
  const char* meaning;

  // The value as it is; without one, nothing.
  MT_API std::optional<std::string> raw() const;
};

struct FlagOption : Option {
  bool default_value;

  constexpr FlagOption(const char* name, bool value, const char* meaning)
      : Option{name, OptionType::kFlag, meaning}, default_value(value) {}
  MT_API bool get() const;
  MT_API std::optional<bool> find() const;  // nothing: unset, or not a flag
};

struct NumberRange {
  uint64_t least;
  uint64_t most;
};

struct NumberOption : Option {
  uint64_t default_value = 0;
  const char* computed_default = nullptr;  // instead of a value: what the program takes, in words
  NumberRange range;
  bool list;  // of numbers, separated by commas, of which the first counts

  constexpr NumberOption(const char* name, uint64_t value, NumberRange range, const char* meaning)
      : Option{name, OptionType::kNumber, meaning},
        default_value(value),
        range(range),
        list(false) {}
  constexpr NumberOption(const char* name,
                         const char* computed_default,
                         NumberRange range,
                         const char* meaning,
                         bool list = false)
      : Option{name, OptionType::kNumber, meaning},
        computed_default(computed_default),
        range(range),
        list(list) {}
  uint64_t get() const { return find().value_or(default_value); }
  MT_API std::optional<uint64_t> find() const;  // nothing: unset, or no such number
};

struct TextOption : Option {
  const char* default_value;

  constexpr TextOption(const char* name, const char* value, const char* meaning)
      : Option{name, OptionType::kText, meaning}, default_value(value) {}
  std::string get() const { return raw().value_or(default_value); }
};

namespace options {

inline constexpr TextOption kTorchAllocConf{
    "PYTORCH_ALLOC_CONF", "",
    "Settings of the allocator of a device, where the device's own variables are not set."};
inline constexpr NumberOption kNumThreads{
    "MINDTORCH_NUM_THREADS", "the available cores", {1, 4096}, "Threads that CPU ops use."};
inline constexpr NumberOption kOmpNumThreads{
    "OMP_NUM_THREADS",
    "the available cores",
    {1, 4096},
    "Read as `MINDTORCH_NUM_THREADS` where that is not set; of a list, the first.",
    true};
inline constexpr NumberOption kCpuCacheMb{"MINDTORCH_CPU_CACHE_MB",
                                          "a quarter of the machine's memory",
                                          {0, uint64_t{1} << 40},
                                          "MiB of freed CPU memory that are kept for reuse."};
inline constexpr TextOption kCpuCapability{
    "MINDTORCH_CPU_CAPABILITY", "auto",
    "The best instructions that CPU ops may use: `auto` (the machine's), `avx2`, `default`."};
inline constexpr FlagOption kCpuJit{"MINDTORCH_CPU_JIT", true,
                                    "Generate machine code for fused CPU ops."};

}  // namespace options

// Those above, in the order of the documentation; runtime::all_options() adds those of devices.
MT_API std::span<const Option* const> common_options();
// A message about an invalid value of the variable; empty: it is valid. Texts are checked where
// they are used.
MT_API std::string option_problem(const Option& option);
// Gives every such problem to warn().
MT_API void warn_about_options(std::span<const Option* const> options);
MT_API const char* type_name(OptionType type);
MT_API std::string default_text(const Option& option);

}  // namespace mindtorch
