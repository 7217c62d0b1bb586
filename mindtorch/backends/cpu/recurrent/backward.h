#pragma once

#include <algorithm>
#include <cstdint>

#include "mindtorch/backends/cpu/recurrent/forward.h"

namespace mindtorch::cpu::recurrent {

// The sequences and steps of a backward pass.
class BackwardPass {
 public:
  BackwardPass(const Steps& steps, bool reverse, int64_t work_of_a_row)
      : steps_(steps), reverse_(reverse), work_(work_of_a_row) {}

  Packing packing() const { return steps_.are_many() ? Packing::kAll : Packing::kNone; }

  // body(first, last) for groups of sequences, by all threads.
  template <typename Body>
  void each_group(const Body& body) const {
    const int64_t least = share(steps_, steps_.count(), work_);
    parallel_for(0, steps_.batch(), least, [&](int64_t begin, int64_t end) {
      const int64_t groups = steps_.are_many() ? ceil_div(end - begin, kGroupRows) : 1;
      const int64_t group = ceil_div(end - begin, groups);
      for (int64_t first = begin; first < end; first += group) {
        body(first, std::min(end, first + group));
      }
    });
  }
  // body(t, first row, number of rows) for a group, the last step first.
  template <typename Body>
  void each_step(int64_t first, int64_t last, const Body& body) const {
    for (int64_t i = 0; i < steps_.count(); ++i) {
      const int64_t t = reverse_ ? i : steps_.count() - 1 - i;
      const int64_t rows = steps_.rows(t, first, last);
      if (rows > 0) body(t, steps_.begin(t) + first, rows);
    }
  }

 private:
  // Sequences whose states stay in the second cache.
  static constexpr int64_t kGroupRows = 64;

  const Steps& steps_;
  const bool reverse_;
  const int64_t work_;
};

// The states that `rows` sequences from `first` on began step t with: those after the step before
// it, or the first ones.
template <typename T>
class PreviousStates {
 public:
  PreviousStates(const Steps& steps,
                 int64_t t,
                 bool reverse,
                 int64_t first,
                 int64_t rows,
                 const Rows<T>& first_states,
                 const Rows<T>& states,
                 T* block)
      : columns_(states.columns()) {
    const int64_t before = steps.before(t, reverse);
    running_ = before < 0 ? 0 : steps.rows(before, first, first + rows);
    if (running_ > 0) {
      of_running_ = states.read(steps.begin(before) + first, running_, block);
      if (!states.is_wide()) block += running_ * columns_;
    }
    if (running_ < rows) of_others_ = first_states.read(first + running_, rows - running_, block);
  }
  const T* of(int64_t i) const {
    return i < running_ ? of_running_ + i * columns_ : of_others_ + (i - running_) * columns_;
  }

 private:
  int64_t columns_;
  int64_t running_;
  const T* of_running_ = nullptr;
  const T* of_others_ = nullptr;
};

}  // namespace mindtorch::cpu::recurrent
