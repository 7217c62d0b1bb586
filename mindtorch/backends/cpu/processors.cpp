#include "mindtorch/backends/cpu/processors.h"
#include "mindtorch/backends/cpu/ceil_div.h"

#include <sched.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <algorithm>
#include <fstream>
#include <set>
#include <thread>

namespace mindtorch::cpu {
namespace {

// 0: unlimited, or not there.
int cores_of(double quota, double period) {
  if (quota <= 0 || period <= 0) return 0;
  return std::max(1, static_cast<int>(ceil_div(quota, period)));
}

int quota_of_v2(const std::string& folder) {
  std::string quota;
  double period = 0;
  std::ifstream(folder + "/cpu.max") >> quota >> period;
  return quota == "max" ? 0 : cores_of(std::strtod(quota.c_str(), nullptr), period);
}

int quota_of_v1(const std::string& folder) {
  double quota = 0;
  double period = 0;
  std::ifstream(folder + "/cpu.cfs_quota_us") >> quota;  // -1: unlimited
  std::ifstream(folder + "/cpu.cfs_period_us") >> period;
  return cores_of(quota, period);
}

// The least quota of the group at `path` under `mount` and of all groups that it lies in. In a
// container the path may be that of the host, and only the mount itself is there.
template <typename Quota>
int least_quota(const std::string& mount, std::string path, const Quota& quota) {
  int least = 0;
  for (;;) {
    const int own = quota(mount + path);
    if (own != 0) least = least == 0 ? own : std::min(least, own);
    if (path.empty()) return least;
    path.resize(path.find_last_of('/') == std::string::npos ? 0 : path.find_last_of('/'));
  }
}

bool names_cpu(const std::string& controllers) {
  return ("," + controllers + ",").find(",cpu,") != std::string::npos;
}

}  // namespace

int available_cores(const std::string& root) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) {
    return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  }
  std::set<std::string> cores;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    std::ifstream file(root + "/sys/devices/system/cpu/cpu" + std::to_string(cpu) +
                       "/topology/thread_siblings_list");
    std::string siblings;
    if (!std::getline(file, siblings)) siblings = "cpu" + std::to_string(cpu);
    cores.insert(siblings);
  }
  return std::max(1, static_cast<int>(cores.size()));
}

int control_group_quota(const std::string& root) {
  const std::string groups = root + "/sys/fs/cgroup";
  int least = 0;
  // Lines of "number:controllers:path"; version 2 has number 0 and no controllers.
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    std::string path = line.substr(second + 1);
    if (path == "/") path.clear();
    int own = 0;
    if (controllers.empty()) {
      own = least_quota(groups, path, quota_of_v2);
    } else if (names_cpu(controllers)) {
      own = least_quota(groups + "/cpu", path, quota_of_v1);
    }
    if (own != 0) least = least == 0 ? own : std::min(least, own);
  }
  return least;
}

int64_t last_level_cache_bytes(const std::string& root) {
  int64_t largest = 0;
  for (int index = 0;; ++index) {
    std::ifstream file(root + "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) +
                       "/size");
    int64_t kibibytes = 0;  // "32768K"
    if (!(file >> kibibytes)) break;
    largest = std::max(largest, kibibytes << 10);
  }
  return largest > 0 ? largest : int64_t{32} << 20;
}

bool has_fast_string_copies() {
#if defined(__x86_64__)
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  if (__get_cpuid(0, &eax, &ebx, &ecx, &edx) == 0 || ebx != signature_AMD_ebx) return false;
  constexpr unsigned kZen5 = 0x1a;
  __cpuid(1, eax, ebx, ecx, edx);
  const unsigned family = ((eax >> 8) & 0xf) + ((eax >> 20) & 0xff);
  return family >= kZen5;
#else
  return false;
#endif
}

}  // namespace mindtorch::cpu
