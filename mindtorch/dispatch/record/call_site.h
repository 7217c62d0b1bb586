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
  // Around long work. The state may be null: this thread does not hold the GIL.
  void* (*release_gil)() noexcept = nullptr;
  void (*acquire_gil)(void* state) noexcept = nullptr;
  // The interpreter is finalizing: locks owned by its other threads are never released.
  bool (*is_finalizing)() noexcept = nullptr;
};
MT_API CallSiteHooks& call_site_hooks() noexcept;

// Other threads of the interpreter may run meanwhile.
class GilRelease {
 public:
  explicit GilRelease(bool release) noexcept
      : state_(release && call_site_hooks().release_gil != nullptr ? call_site_hooks().release_gil()
                                                                   : nullptr) {}
  ~GilRelease() {
    if (state_ != nullptr) call_site_hooks().acquire_gil(state_);
  }
  GilRelease(const GilRelease&) = delete;
  GilRelease& operator=(const GilRelease&) = delete;

 private:
  void* const state_;
};

}  // namespace mindtorch::dispatch
