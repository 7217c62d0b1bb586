#pragma once

#include "mindtorch/base/macros.h"

namespace mindtorch::runtime {

// While it lives, what this thread allocates on an accelerator is at `address`, if that is free:
// work that was captured with its addresses can then be replayed.
class MT_API AddressHint {
 public:
  explicit AddressHint(const void* address) noexcept;
  ~AddressHint();
  AddressHint(const AddressHint&) = delete;
  AddressHint& operator=(const AddressHint&) = delete;

  // Null: none.
  static const void* current() noexcept;

 private:
  const void* const outer_;
};

}  // namespace mindtorch::runtime
