#include "mindtorch/dispatch/record/call_site.h"

namespace mindtorch::dispatch {

CallSiteHooks& call_site_hooks() noexcept {
  static CallSiteHooks hooks;
  return hooks;
}

}  // namespace mindtorch::dispatch
