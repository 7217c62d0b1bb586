#pragma once

#include <vector>

#include "mindtorch/dispatch/window.h"

namespace mindtorch::dispatch {

// Runs a window once: leaves out what nobody can see, joins runs of pointwise ops, gives memory
// when it is first written and takes it back after its last use. The caller holds the window's
// lock.
class WindowRunner {
 public:
  explicit WindowRunner(Window& window) : window_(window) {}

  // `done`: the ops before it are done, also when this throws.
  void run(size_t& done);

 private:
  // What is known of a storage that the window writes.
  struct Fate {
    Storage shadow;           // what kernels work on
    bool is_visible = false;  // outside the window
    bool is_needed = false;
    int64_t last_use = -1;
  };

  Fate* fate_of(const RecordedView& view);
  const RecordedView& operand(const Recorded& entry, size_t i) const;
  const RecordedView& output(const Recorded& entry, size_t i) const;
  void find_fates();
  Tensor tensor(const RecordedView& view);
  void run_one(const Recorded& entry);
  void run_kernel(const Recorded& entry);
  // The number of the first op behind those that ran as one.
  size_t run_together(size_t first);
  bool join(const Recorded& entry, size_t number, Device device);
  void release_after(size_t number);

  // One op of the group that is being built.
  struct Joined {
    const RecordedView* out;
    uint16_t step;
    bool is_newest;
  };

  Window& window_;
  std::vector<Fate> fates_;
  ops::FusedGroup group_;
  std::vector<const RecordedView*> inputs_;
  std::vector<Joined> joined_;
  size_t visible_ = 0;  // values of the group that may have to be stored
};

}  // namespace mindtorch::dispatch
