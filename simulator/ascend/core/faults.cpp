#include "simulator/ascend/core/faults.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <sstream>
#include <vector>

#include "simulator/ascend/core/reports.h"
#include "simulator/ascend/core/settings.h"

namespace sim {

namespace {
enum class FaultKind { kCall, kTask, kHang, kMemory };

struct Fault {
  FaultKind kind = FaultKind::kCall;
  std::string name;     // function, task, stream id or device id; * for any
  uint64_t number = 0;  // the n-th; of kMemory the bytes
  bool and_after = false;
  aclError code = ACL_SUCCESS;
  uint64_t seen = 0;

  bool hits(const std::string& what) {
    if (name != "*" && name != what) return false;
    ++seen;
    return and_after ? seen >= number : seen == number;
  }
};

struct Faults {
  std::mutex mutex;
  std::vector<Fault> list;
  std::atomic<bool> any{false};
};
}  // namespace

static Faults& faults() {
  static auto* all = new Faults;
  return *all;
}

static bool parse_count(std::string text, uint64_t& number, bool& and_after) {
  and_after = !text.empty() && text.back() == '+';
  if (and_after) text.pop_back();
  if (text.empty() ||
      !std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; })) {
    return false;
  }
  number = std::strtoull(text.c_str(), nullptr, 10);
  return true;
}

static bool parse(const std::string& word, Fault& fault) {
  std::vector<std::string> parts;
  std::istringstream stream(word);
  for (std::string part; std::getline(stream, part, ':');) parts.push_back(part);
  if (parts.size() < 3) return false;
  fault.name = parts[1];
  if (!parse_count(parts[2], fault.number, fault.and_after)) return false;
  if (parts[0] == "hang" || parts[0] == "memory") {
    fault.kind = parts[0] == "hang" ? FaultKind::kHang : FaultKind::kMemory;
    return parts.size() == 3;
  }
  if (parts[0] != "call" && parts[0] != "task") return false;
  fault.kind = parts[0] == "call" ? FaultKind::kCall : FaultKind::kTask;
  fault.code = parts.size() == 4 ? std::atoi(parts[3].c_str()) : 0;
  return fault.code != 0;
}

bool add_faults(const std::string& text) {
  std::string spaced = text;
  std::replace(spaced.begin(), spaced.end(), ';', ' ');
  std::istringstream words(spaced);
  std::vector<Fault> parsed;
  for (std::string word; words >> word;) {
    Fault fault;
    if (!parse(word, fault)) return false;
    parsed.push_back(fault);
  }
  Faults& all = faults();
  const std::lock_guard hold(all.mutex);
  all.list.insert(all.list.end(), parsed.begin(), parsed.end());
  all.any = !all.list.empty();
  return true;
}

void set_faults(const std::string& text) {
  {
    const std::lock_guard hold(faults().mutex);
    faults().list.clear();
    faults().any = false;
  }
  if (!add_faults(text)) report("setting", "the faults are not understood: \"" + text + "\"");
}

bool any_faults() { return faults().any.load(std::memory_order_relaxed); }

aclError fault_of_call(const char* function) {
  if (!any_faults()) return ACL_SUCCESS;
  Faults& all = faults();
  const std::lock_guard hold(all.mutex);
  aclError code = ACL_SUCCESS;
  for (Fault& fault : all.list) {
    if (fault.kind == FaultKind::kCall && fault.hits(function) && !code) code = fault.code;
  }
  return code;
}

TaskFault fault_of_task(const std::string& name, int32_t stream_id) {
  TaskFault found;
  if (!any_faults()) return found;
  Faults& all = faults();
  const std::lock_guard hold(all.mutex);
  for (Fault& fault : all.list) {
    if (fault.kind == FaultKind::kTask && fault.hits(name) && !found.code) found.code = fault.code;
    if (fault.kind == FaultKind::kHang && fault.hits(std::to_string(stream_id))) found.hang = true;
  }
  return found;
}

size_t memory_limit(int32_t device) {
  size_t limit = settings().memory_bytes;
  if (!any_faults()) return limit;
  Faults& all = faults();
  const std::lock_guard hold(all.mutex);
  for (const Fault& fault : all.list) {
    if (fault.kind == FaultKind::kMemory &&
        (fault.name == "*" || fault.name == std::to_string(device))) {
      limit = std::min<size_t>(limit, fault.number);
    }
  }
  return limit;
}

}  // namespace sim
