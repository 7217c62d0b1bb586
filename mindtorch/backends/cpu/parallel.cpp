#include "mindtorch/backends/cpu/parallel.h"

#include <omp.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <set>
#include <string>

#include "mindtorch/backends/cpu/openblas.h"
#include "mindtorch/base/error.h"
#include "mindtorch/base/options.h"
#include "mindtorch/profiler/recorder.h"

namespace mindtorch::cpu {
namespace {

struct ThreadState {
  bool inside = false;     // runs a body now
  bool has_pool = false;   // OpenMP keeps worker threads for this thread
  bool lost_pool = false;  // the workers stayed in the parent process
};
thread_local ThreadState this_thread;

// OpenMP's workers do not survive a fork, and OpenMP does not notice: the next region would wait
// for them for ever. Only the forking thread exists in the child, so its own state is all there is.
void after_fork_in_child() {
  if (this_thread.has_pool) this_thread.lost_pool = true;
  this_thread.inside = false;
}

// Distinct cores among the processors this process may run on; hyperthreads of a core count once.
int available_cores() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return std::max(1, omp_get_num_procs());
  std::set<std::string> cores;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    std::ifstream file("/sys/devices/system/cpu/cpu" + std::to_string(cpu) +
                       "/topology/thread_siblings_list");
    std::string siblings;
    if (!std::getline(file, siblings)) siblings = "cpu" + std::to_string(cpu);
    cores.insert(siblings);
  }
  return std::max(1, static_cast<int>(cores.size()));
}

// The CPU time of this process's control group as a number of cores, rounded up; 0 when unlimited.
int control_group_quota() {
  double quota = 0;
  double period = 0;
  if (std::ifstream file("/sys/fs/cgroup/cpu.max"); file) {
    std::string text;
    file >> text >> period;
    quota = std::strtod(text.c_str(), nullptr);  // "max" reads as 0
  } else {
    std::ifstream("/sys/fs/cgroup/cpu/cpu.cfs_quota_us") >> quota;
    std::ifstream("/sys/fs/cgroup/cpu/cpu.cfs_period_us") >> period;
  }
  if (quota <= 0 || period <= 0) return 0;
  return std::max(1, static_cast<int>((quota + period - 1) / period));
}

int default_num_threads() {
  for (const NumberOption* option : {&options::kNumThreads, &options::kOmpNumThreads}) {
    if (const auto count = option->find()) return static_cast<int>(*count);
  }
  const int cores = available_cores();
  const int quota = control_group_quota();
  return quota == 0 ? cores : std::min(cores, quota);
}

std::atomic<int>& thread_setting() {
  static std::atomic<int> count = [] {
    pthread_atfork(nullptr, nullptr, after_fork_in_child);
    scipy_openblas_set_num_threads(1);  // Note [One thread pool]
    return default_num_threads();
  }();
  return count;
}

// Marks the thread for as long as it runs a body, also when the body throws.
class InsideScope {
 public:
  InsideScope() { this_thread.inside = true; }
  ~InsideScope() { this_thread.inside = false; }
  InsideScope(const InsideScope&) = delete;
  InsideScope& operator=(const InsideScope&) = delete;
};

}  // namespace

int num_threads() {
  if (this_thread.lost_pool) return 1;
  return thread_setting().load(std::memory_order_relaxed);
}

void set_num_threads(int count) {
  MT_CHECK(count >= 1, RuntimeError, "set_num_threads expects a positive integer");
  thread_setting().store(count, std::memory_order_relaxed);
}

bool in_parallel_region() { return this_thread.inside; }

int thread_index() { return this_thread.inside ? omp_get_thread_num() : 0; }

void detail::run_parallel(
    int64_t begin, int64_t end, int64_t grain, RangeFn call, const void* body) {
  const int64_t size = end - begin;
  const int64_t pieces = size / std::max<int64_t>(grain, 1);
  const int wanted = static_cast<int>(std::min<int64_t>(num_threads(), pieces));
  if (wanted <= 1 || this_thread.inside || omp_in_parallel()) {
    call(body, begin, end);
    return;
  }

  this_thread.has_pool = true;
  std::atomic<bool> failed = false;
  std::exception_ptr failure;
  const bool is_profiled = profiler::wants(profiler::kHost) && profiler::is_thread_recorded();
#pragma omp parallel num_threads(wanted)
  {
    // OpenMP may grant fewer threads than asked for.
    const int64_t chunk = (size - 1) / omp_get_num_threads() + 1;
    const int64_t from = begin + omp_get_thread_num() * chunk;
    if (from < end) {
      try {
        InsideScope inside;
        profiler::Span span;
        if (MT_UNLIKELY(is_profiled && omp_get_thread_num() != 0)) {
          span = profiler::Span(
              {.kind = profiler::Kind::kPool, .name = "parallel_for", .is_on_any_thread = true});
        }
        call(body, from, std::min(end, from + chunk));
      } catch (...) {
        if (!failed.exchange(true)) failure = std::current_exception();
      }
    }
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace mindtorch::cpu
