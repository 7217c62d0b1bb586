#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "simulator/ascend/core/export.h"

namespace sim {

// Where a call came from: return addresses, and what the program itself passed (a Python line).
struct Site {
  std::array<void*, 8> frames{};
  size_t count = 0;
  std::string note;
};

Site call_site();
// " at symbol (note)": the first frame outside these libraries.
std::string describe_site(const Site& site);

// Asked at the start of every call, with no lock held.
using SiteCallback = const char* (*)();
void set_site_callback(SiteCallback callback);
void note_site(const char* function);

// What note_site() found last in this thread; empty where the program says it itself. A thread that
// launches what another one planned adopts it.
SIM_API std::string found_note();
SIM_API void adopt_note(const std::string& note);

}  // namespace sim
