#include "mindtorch/base/warning.h"

#include <atomic>
#include <cstdio>

namespace mindtorch {
namespace {

void to_stderr(const std::string& text) { std::fprintf(stderr, "Warning: %s\n", text.c_str()); }

std::atomic<WarningHandler> g_handler{&to_stderr};

}  // namespace

void warn(const std::string& text) { g_handler.load(std::memory_order_acquire)(text); }

void set_warning_handler(WarningHandler handler) {
  g_handler.store(handler == nullptr ? &to_stderr : handler, std::memory_order_release);
}

}  // namespace mindtorch
