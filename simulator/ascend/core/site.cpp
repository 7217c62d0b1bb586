#include "simulator/ascend/core/site.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "simulator/ascend/core/python_line.h"

namespace sim {

static std::atomic<SiteCallback> site_callback{nullptr};
static thread_local std::string note_of_thread;

void set_site_callback(SiteCallback callback) { site_callback = callback; }

void note_site(const char* function) {
  const SiteCallback callback = site_callback.load(std::memory_order_relaxed);
  if (!callback) {
    python_line(function, note_of_thread);
    return;
  }
  const char* text = callback();
  note_of_thread = text ? text : "";
}

std::string found_note() {
  return site_callback.load(std::memory_order_relaxed) ? std::string() : note_of_thread;
}

void adopt_note(const std::string& note) {
  if (!site_callback.load(std::memory_order_relaxed)) note_of_thread = note;
}

Site call_site() {
  Site site;
  site.count =
      static_cast<size_t>(backtrace(site.frames.data(), static_cast<int>(site.frames.size())));
  site.note = note_of_thread;
  return site;
}

// Not the caller: the simulator itself, and sanitizers, which stand between it and backtrace().
static bool is_between(const char* file) {
  for (const char* name :
       {"libascendcl.so", "libnnopbase.so", "libopapi.so", "libasan.so", "libtsan.so"}) {
    if (file && std::strstr(file, name)) return true;
  }
  return false;
}

static std::string describe_frame(const void* frame, const Dl_info& info) {
  if (info.dli_sname) {
    int status = 0;
    char* readable = abi::__cxa_demangle(info.dli_sname, nullptr, nullptr, &status);
    std::string text = readable ? readable : info.dli_sname;
    std::free(readable);
    return text;
  }
  const char* slash = info.dli_fname ? std::strrchr(info.dli_fname, '/') : nullptr;
  const std::string file = slash ? slash + 1 : info.dli_fname ? info.dli_fname : "?";
  char offset[32];
  std::snprintf(offset, sizeof offset, "+0x%lx",
                static_cast<unsigned long>(static_cast<const char*>(frame) -
                                           static_cast<const char*>(info.dli_fbase)));
  return file + offset;
}

std::string describe_site(const Site& site) {
  std::string text;
  for (size_t i = 0; i < site.count && text.empty(); ++i) {
    Dl_info info{};
    if (!dladdr(site.frames[i], &info) || is_between(info.dli_fname)) continue;
    text = " at " + describe_frame(site.frames[i], info);
  }
  if (!site.note.empty())
    text += (text.empty() ? " at " : " (") + site.note + (text.empty() ? "" : ")");
  return text;
}

}  // namespace sim
