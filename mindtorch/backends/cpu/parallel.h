#pragma once

#include <cstdint>

#include "mindtorch/base/macros.h"

// Note [One thread pool]
// Every loop of the CPU backend that uses more than one thread goes through parallel_for, and so
// through the pool of thread_pool.h. OpenBLAS would bring a second pool of its own; it is kept at
// one thread, so that the two never compete for the same cores.
namespace mindtorch::cpu {

// How many threads parallel_for may use, the caller included. Process-wide, like torch's. Before
// set_num_threads: MINDTORCH_NUM_THREADS, else OMP_NUM_THREADS, else the physical cores this
// process may run on, within the CPU quota of its control group. A forked child has a pool of its
// own.
MT_API int num_threads();

// Throws RuntimeError unless count >= 1.
MT_API void set_num_threads(int count);

// True while the calling thread runs the body of a parallel_for.
MT_API bool in_parallel_region();

// Which range of the running parallel_for this is: 0 .. num_threads() - 1, and 0 outside. No two
// run at once with the same number.
MT_API int thread_index();

namespace detail {
using RangeFn = void (*)(const void* body, int64_t begin, int64_t end);
MT_API void run_parallel(int64_t begin, int64_t end, int64_t grain, RangeFn call, const void* body);
}  // namespace detail

// Runs body(b, e) on ranges that together cover [begin, end): at most one range for each thread,
// each of at least `grain` elements save the last, divided the same way on every call. A range of
// at most `grain` elements runs inline, as do nested calls. When bodies throw, one of the
// exceptions reaches the caller after all bodies have ended. An empty range calls nothing.
template <typename Body>
void parallel_for(int64_t begin, int64_t end, int64_t grain, const Body& body) {
  if (begin >= end) return;
  if (end - begin <= grain) {
    body(begin, end);
    return;
  }
  detail::run_parallel(
      begin, end, grain,
      [](const void* erased, int64_t from, int64_t to) {
        (*static_cast<const Body*>(erased))(from, to);
      },
      &body);
}

}  // namespace mindtorch::cpu
