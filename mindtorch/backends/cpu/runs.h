#pragma once

#include <cstdint>
#include <cstring>

namespace mindtorch::cpu {

// `count` pieces of memory of the same length, `from_step` bytes apart in the source and `to_step`
// in the destination.
struct Runs {
  const uint8_t* from;
  int64_t from_step;
  uint8_t* to;
  int64_t to_step;
  int64_t count;
};

// Copies `bytes` contiguous bytes for every piece: memcpy without the call for the short ones that
// permuted arrays are made of.
void copy_runs(const Runs& runs, int64_t bytes);

// Copies and clears of up to so many bytes stay in the caches of a core: plain vector instructions
// are faster there than the C library, which expects main memory and uses string instructions.
inline constexpr int64_t kCachedBytes = 1 << 20;

// Copies one piece of any length, on several threads where that pays; past the caches where it
// would not stay in them. The two do not overlap.
void copy_bytes(const void* from, void* to, int64_t bytes);

// Sets memory to zero, on the calling thread.
void clear_run(void* to, int64_t bytes);

// Below so many bytes a second thread costs more than it saves.
inline constexpr int64_t kCopyGrainBytes = 128 << 10;
// Whether an op that reads and writes so many bytes of memory finds nothing of it in the caches the
// next time, so that its results should be streamed past them.
bool exceeds_caches(int64_t bytes);

// Fills `bytes` bytes of every piece with its one element of `element_size` bytes.
void fill_runs(const Runs& runs, int64_t element_size, int64_t bytes);

// copy_runs past the caches, for memory that is not read soon. The stores of one call are visible
// to other threads when it returns.
void stream_runs(const Runs& runs, int64_t bytes);

}  // namespace mindtorch::cpu
