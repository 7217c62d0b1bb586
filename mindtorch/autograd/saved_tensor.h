#pragma once

#include <memory>
#include <vector>

#include "mindtorch/autograd/node.h"

namespace mindtorch::autograd {

// What a pair of saved-tensor hooks made of a tensor.
class PackedTensor {
 public:
  virtual ~PackedTensor() = default;
  virtual Tensor unpack() = 0;
};
// Packs every tensor that this thread saves, while it is the innermost one.
class SavedTensorHooks {
 public:
  virtual ~SavedTensorHooks() = default;
  virtual std::unique_ptr<PackedTensor> pack(const Tensor& tensor) = 0;
};
// This thread's, innermost last. `reason` while they may not be used.
struct SavedTensorHooksStack {
  std::vector<std::shared_ptr<SavedTensorHooks>> hooks;
  std::string disabled_reason;
  int hidden = 0;  // while a hook packs
};
MT_API SavedTensorHooksStack& saved_tensor_hooks();

// A tensor that a node keeps for backward. Throws when it was written since.
class MT_API SavedTensor {
 public:
  SavedTensor() = default;
  // `is_output`: a result of the node itself. It is kept without its history, which would own us.
  SavedTensor(const Tensor& tensor, bool is_output);
  SavedTensor(SavedTensor&&) = default;
  SavedTensor& operator=(SavedTensor&&) = default;

  bool defined() const { return data_.defined() || packed_ != nullptr; }
  // Work queued on `reader` uses the memory, also once it is freed.
  void keep_for(runtime::Stream reader) const;
  void reset(runtime::Stream reader);
  // With its history: `owner` is the node that saved it.
  Tensor unpack(Node& owner) const;

 private:
  [[noreturn]] void refuse_version(Node& owner, uint32_t version) const;

  Tensor data_;
  uint32_t version_ = 0;
  uint32_t output_ = 0;
  bool is_output_ = false;
  bool requires_grad_ = false;
  bool was_leaf_ = false;
  NodePtr grad_fn_;  // of a packed tensor
  std::unique_ptr<PackedTensor> packed_;
};

[[noreturn]] MT_API void refuse_second_backward();

}  // namespace mindtorch::autograd
