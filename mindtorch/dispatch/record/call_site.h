#pragma once

#include <span>
#include <string>

#include "mindtorch/base/macros.h"

namespace mindtorch::dispatch {

// Where in the user's program an op was recorded. Made and read by the language binding; unknown
// without its hooks.
struct CallSite {
  void* code = nullptr;
  int position = 0;

  bool operator==(const CallSite&) const = default;
};

struct CallSiteText {
  std::string file;
  int line = 0;
  std::string function;
};

// What the language binding installs. Null functions are not called.
struct CallSiteHooks {
  CallSite (*capture)() noexcept = nullptr;  // valid during the call
  // Keep the code of a site beyond the call.
  void (*retain)(void* code) noexcept = nullptr;
  void (*release)(std::span<void* const> codes) noexcept = nullptr;
  CallSiteText (*describe)(CallSite) = nullptr;
  // The interpreter is finalizing: locks owned by its other threads are never released.
  bool (*is_finalizing)() noexcept = nullptr;
};
MT_API CallSiteHooks& call_site_hooks() noexcept;

}  // namespace mindtorch::dispatch
