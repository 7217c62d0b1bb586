#pragma once

#include <span>
#include <string>

#include "mindtorch/base/macros.h"

namespace mindtorch::dispatch {

// Where in the user's program an op was recorded. Made and read by the language binding, which
// installs the hooks; without them nobody knows.
struct CallSite {
  void* code = nullptr;
  int position = 0;
};

struct CallSiteText {
  std::string file;
  int line = 0;
  std::string function;
};

struct CallSiteHooks {
  CallSite (*capture)() noexcept = nullptr;  // valid during the call
  // Where the site's code is kept beyond the call.
  void (*retain)(void* code) noexcept = nullptr;
  void (*release)(std::span<void* const> codes) noexcept = nullptr;
  CallSiteText (*describe)(CallSite) = nullptr;
  // Around long work: other threads of the language may run meanwhile.
  void* (*let_others_run)() noexcept = nullptr;
  void (*come_back)(void* state) noexcept = nullptr;
  // The language ends: what its other threads hold stays held.
  bool (*is_ending)() noexcept = nullptr;
};
MT_API CallSiteHooks& call_site_hooks() noexcept;

}  // namespace mindtorch::dispatch
