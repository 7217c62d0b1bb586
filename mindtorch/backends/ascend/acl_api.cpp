#include "mindtorch/backends/ascend/acl_api.h"

#include <unistd.h>

#include <atomic>
#include <mutex>
#include <optional>
#include <string_view>

#include "mindtorch/backends/ascend/options.h"
#include "mindtorch/base/error.h"

namespace mindtorch::ascend {
namespace {

struct Libraries {
  AclApi api;
  DynamicLibrary runtime;
  DynamicLibrary base;
  std::vector<DynamicLibrary> ops;
  LoadReport report;
};

std::mutex g_mutex;  // loading and choosing
std::optional<Choice> g_choice;
std::atomic<Libraries*> g_libraries{nullptr};
std::atomic<SiteCallback> g_site_callback{nullptr};

Choice parse_choice(std::string_view text, std::string& problem) {
  if (text.empty() || text == "auto") return Choice::kAuto;
  if (text == "cann") return Choice::kCann;
  if (text == "sim") return Choice::kSimulator;
  if (text != "off") {
    problem = detail::concat("MINDTORCH_NPU=", text, " is none of auto, cann, sim, off");
  }
  return Choice::kOff;
}

// Folders that may hold CANN, most specific first; "" lets the loader search.
std::vector<std::string> cann_folders() {
  std::vector<std::string> folders = {""};
  for (const TextOption* option : {&options::kAscendHomePath, &options::kAscendToolkitHome}) {
    if (const std::string home = option->get(); !home.empty()) {
      folders.push_back(home + "/lib64");
    }
  }
  folders.push_back("/usr/local/Ascend/cann/lib64");
  folders.push_back("/usr/local/Ascend/ascend-toolkit/latest/lib64");
  return folders;
}

// CANN ships libraries for linking under the same names, which must not be run.
bool is_stub(const std::string& path) {
  return path.find("/stub/") != std::string::npos || path.find("/devlib/") != std::string::npos;
}

DynamicLibrary find(const std::string& name,
                    const std::vector<std::string>& folders,
                    LoadReport& report) {
  for (const std::string& folder : folders) {
    const std::string file = folder.empty() ? name : folder + "/" + name;
    DynamicLibrary library = DynamicLibrary::open(file);
    if (!library) {
      report.attempts.push_back({name, file, library.error()});
      continue;
    }
    const std::string path = library.path();
    if (is_stub(path)) {
      report.attempts.push_back({name, path, "a library for linking only"});
      continue;
    }
    report.attempts.push_back({name, path, ""});
    return library;
  }
  return {};
}

template <class Function>
void resolve(const DynamicLibrary& library,
             const char* name,
             Function*& field,
             bool required,
             LoadReport& report) {
  field = reinterpret_cast<Function*>(library.symbol(name));
  if (field == nullptr)
    (required ? report.missing_required : report.missing_optional).push_back(name);
}

// Everything from one set of folders. False: report.reason says why not.
bool load_from(const std::vector<std::string>& folders, Libraries& into) {
  LoadReport& report = into.report;
  into.runtime = find("libascendcl.so", folders, report);
  if (!into.runtime) {
    report.reason = "libascendcl.so was not found";
    return false;
  }
  into.base = find("libnnopbase.so", folders, report);
  if (!into.base) {
    report.reason = "libnnopbase.so was not found";
    return false;
  }
  // The split libraries and the old whole one must not be mixed.
  for (const char* name : {"libopapi_math.so", "libopapi_nn.so", "libopapi_cv.so",
                           "libopapi_transformer.so", "libopapi_legacy.so"}) {
    if (DynamicLibrary library = find(name, folders, report)) into.ops.push_back(library);
  }
  if (into.ops.empty()) {
    if (DynamicLibrary library = find("libopapi.so", folders, report)) into.ops.push_back(library);
  }
  if (into.ops.empty()) {
    for (const char* name : {"libaclnn_ops_infer.so", "libaclnn_ops_train.so", "libaclnn_math.so",
                             "libaclnn_rand.so"}) {
      if (DynamicLibrary library = find(name, folders, report)) into.ops.push_back(library);
    }
  }
  if (into.ops.empty()) {
    report.reason = "libopapi.so was not found";
    return false;
  }
#define MT_REQUIRED(name) resolve(library, #name, into.api.name, true, report);
#define MT_OPTIONAL(name) resolve(library, #name, into.api.name, false, report);
  {
    const DynamicLibrary& library = into.runtime;
    MT_ACL_RUNTIME_SYMBOLS(MT_REQUIRED, MT_OPTIONAL)
  }
  {
    const DynamicLibrary& library = into.base;
    MT_ACL_BASE_SYMBOLS(MT_REQUIRED, MT_OPTIONAL)
  }
#undef MT_REQUIRED
#undef MT_OPTIONAL
  if (!report.missing_required.empty()) {
    report.reason = "CANN lacks the function " + report.missing_required[0];
    return false;
  }
  return true;
}

// aclInit, and at least one device.
bool start(Libraries& libraries) {
  LoadReport& report = libraries.report;
  if (void* const set = libraries.runtime.symbol("mtsim_set_site_callback")) {
    reinterpret_cast<void (*)(SiteCallback)>(set)(g_site_callback);
  }
  const aclError code = libraries.api.aclInit(nullptr);
  // Other code in this process may have called it before.
  if (code != ACL_SUCCESS && code != ACL_ERROR_REPEAT_INITIALIZE) {
    const char* text = libraries.api.aclGetRecentErrMsg();
    report.reason = detail::concat("aclInit failed with error ", code, text == nullptr ? "" : ": ",
                                   text == nullptr ? "" : text);
    return false;
  }
  uint32_t count = 0;
  if (libraries.api.aclrtGetDeviceCount(&count) != ACL_SUCCESS || count == 0) {
    report.reason = "CANN finds no device";
    return false;
  }
  report.device_count = static_cast<int>(count);
  return true;
}

Choice choice_now(std::string& problem) {
  return g_choice ? *g_choice : parse_choice(options::kLibrary.get(), problem);
}

Libraries& load() {
  auto& libraries = *new Libraries;
  LoadReport& report = libraries.report;
  std::string problem;
  report.choice = choice_now(problem);
  if (!problem.empty()) {
    report.reason = problem;
    return libraries;
  }
  switch (report.choice) {
    case Choice::kOff:
      report.reason = "MINDTORCH_NPU=off";
      break;
    case Choice::kSimulator:
      if (const std::string folder = simulator_folder(); folder.empty()) {
        report.reason = "the simulator is not installed";
      } else {
        report.usable = load_from({folder}, libraries) && start(libraries);
      }
      break;
    case Choice::kAuto:
    case Choice::kCann:
      report.usable = load_from(cann_folders(), libraries) && start(libraries);
      break;
  }
  // Also where the loader found it in place of CANN.
  report.simulated = report.choice == Choice::kSimulator ||
                     (libraries.runtime && libraries.runtime.symbol("mtsim_set") != nullptr);
  return libraries;
}

// Never destroyed: vendor libraries may be used by destructors of the program.
Libraries& libraries() {
  if (Libraries* const loaded = g_libraries.load(std::memory_order_acquire)) return *loaded;
  std::lock_guard lock(g_mutex);
  if (Libraries* const loaded = g_libraries.load(std::memory_order_relaxed)) return *loaded;
  Libraries& loaded = load();
  g_libraries.store(&loaded, std::memory_order_release);
  return loaded;
}

}  // namespace

const LoadReport& load_report() { return libraries().report; }

const AclApi& acl() {
  Libraries& loaded = libraries();
  MT_CHECK(loaded.report.usable, RuntimeError, "no NPU can be used: ", loaded.report.reason);
  return loaded.api;
}

void* op_symbol(const char* name) noexcept {
  for (const DynamicLibrary& library : libraries().ops) {
    if (void* symbol = library.symbol(name)) return symbol;
  }
  return nullptr;
}

std::string simulator_folder() {
  std::vector<std::string> folders;
  if (const std::string set = options::kSimLibraryDir.get(); !set.empty()) {
    folders.push_back(set);
  } else {
    // Installed beside this library; in a build tree below it.
    const std::string own = own_folder();
    folders = {own + "/ascend_simulator", own + "/lib/ascend_simulator",
               own + "/simulator/ascend/lib"};
  }
  for (const std::string& folder : folders) {
    if (access((folder + "/libascendcl.so").c_str(), R_OK) == 0) return folder;
  }
  return "";
}

bool is_in_use() noexcept {
  const Libraries* const loaded = g_libraries.load(std::memory_order_acquire);
  return loaded != nullptr && loaded->report.usable;
}

void choose(Choice choice) {
  std::lock_guard lock(g_mutex);
  MT_CHECK(!is_in_use(), RuntimeError,
           "the NPU library is in use already: choose before its first use");
  g_libraries.store(nullptr, std::memory_order_release);  // what was looked for in vain is kept
  g_choice = choice;
}

Choice chosen() {
  std::lock_guard lock(g_mutex);
  std::string problem;
  return choice_now(problem);
}

void set_site_callback(SiteCallback callback) { g_site_callback = callback; }

}  // namespace mindtorch::ascend
