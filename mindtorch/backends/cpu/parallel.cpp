#include "mindtorch/backends/cpu/parallel.h"

#include <algorithm>
#include <atomic>

#include "mindtorch/backends/cpu/openblas.h"
#include "mindtorch/backends/cpu/processors.h"
#include "mindtorch/backends/cpu/thread_pool.h"
#include "mindtorch/base/error.h"
#include "mindtorch/base/options.h"
#include "mindtorch/profiler/recorder.h"

namespace mindtorch::cpu {
namespace {

thread_local int this_piece = -1;  // that runs on this thread

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
    scipy_openblas_set_num_threads(1);  // Note [One thread pool]
    return default_num_threads();
  }();
  return count;
}

// Marks the thread for as long as it runs a body, also when the body throws.
class PieceScope {
 public:
  explicit PieceScope(int piece) { this_piece = piece; }
  ~PieceScope() { this_piece = -1; }
  PieceScope(const PieceScope&) = delete;
  PieceScope& operator=(const PieceScope&) = delete;
};

struct Ranges {
  int64_t begin;
  int64_t end;
  int64_t chunk;
  detail::RangeFn call;
  const void* body;
  bool is_profiled;
};

void run_piece(const void* erased, int piece) {
  const auto& ranges = *static_cast<const Ranges*>(erased);
  const int64_t from = ranges.begin + piece * ranges.chunk;
  if (from >= ranges.end) return;
  const PieceScope scope(piece);
  profiler::Span span;
  if (MT_UNLIKELY(ranges.is_profiled && piece != 0)) {
    span = profiler::Span(
        {.kind = profiler::Kind::kPool, .name = "parallel_for", .is_on_any_thread = true});
  }
  ranges.call(ranges.body, from, std::min(ranges.end, from + ranges.chunk));
}

}  // namespace

int num_threads() { return thread_setting().load(std::memory_order_relaxed); }

void set_num_threads(int count) {
  MT_CHECK(count >= 1, RuntimeError, "set_num_threads expects a positive integer");
  thread_setting().store(count, std::memory_order_relaxed);
}

bool in_parallel_region() { return this_piece >= 0; }

int thread_index() { return std::max(this_piece, 0); }

void detail::run_parallel(
    int64_t begin, int64_t end, int64_t grain, RangeFn call, const void* body) {
  const int64_t size = end - begin;
  const int64_t pieces = size / std::max<int64_t>(grain, 1);
  const int wanted = static_cast<int>(std::min<int64_t>(num_threads(), pieces));
  if (wanted <= 1 || in_parallel_region()) {
    call(body, begin, end);
    return;
  }
  const bool is_profiled = profiler::wants(profiler::kHost) && profiler::is_thread_recorded();
  const Ranges ranges = {begin, end, (size - 1) / wanted + 1, call, body, is_profiled};
  ThreadPool::run(wanted, &run_piece, &ranges);
}

}  // namespace mindtorch::cpu
