#pragma once

#include <cstdint>

namespace mindtorch::cpu {

// Note [Thread pool]
// Worker threads that wait for pieces of loops, shared by all callers. Piece i always goes to
// worker i - 1 if it is free, so that a core finds in its caches what it touched the last time; the
// caller runs piece 0. A caller takes only the workers it needs and wakes only those that sleep: an
// idle worker spins for some microseconds first. Workers that others use are not waited for: their
// pieces go to whoever is done first, and a piece that no worker has begun is taken back by its
// caller. So neither several callers at once nor a busy machine make a loop slower than it would be
// on one thread. OpenMP's pool (libgomp) starts and ends threads whenever the size of a team
// changes, which costs more than most loops, and does not survive a fork.
//
// Note [Threads and memory]
// No thread is pinned: the threads of a user's program are not ours to move, workers that are
// pinned wait for a core that another program uses while others are free, and whoever wants places
// starts the process with them (taskset, numactl, a container's cpuset), which num_threads()
// follows. Fresh memory is not touched by the allocator, so that its pages lie on the node of the
// thread that first writes them; a range is divided the same way on every call and its pieces go to
// the same workers, so that later loops over a large tensor find most of it on their own node.
class ThreadPool {
 public:
  using PieceFn = void (*)(const void* body, int piece);

  // Calls piece(body, i) for every i < pieces, on this thread and on workers, and returns when all
  // have ended. Rethrows one of their exceptions. Not from inside a piece.
  static void run(int pieces, PieceFn piece, const void* body);
};

}  // namespace mindtorch::cpu
