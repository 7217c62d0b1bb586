#pragma once

#include <vector>

#include "mindtorch/dispatch/eager/layers.h"
#include "mindtorch/tensor/tensor.h"

namespace mindtorch::batching {

inline constexpr uint8_t kLayerBit = dispatch::bit(dispatch::Layer::kBatching);

// What a random op draws inside a vmap.
enum class Randomness : uint8_t {
  kError,
  kSame,       // the same numbers for all samples
  kDifferent,  // other numbers for each
};

// One vmap that this thread is in. Levels count from 1, the outermost.
struct Level {
  int64_t size = 0;
  Randomness randomness = Randomness::kError;
};

// The vmaps of this thread that ops called now belong to. A rule works below its own level: the ops
// it is made of see the outer vmaps only.
MT_API const std::vector<Level>& levels();
MT_API int64_t current_level();
MT_API int64_t enter_level(Level level);
MT_API void leave_level();

class MT_API LevelGuard {
 public:
  explicit LevelGuard(int64_t level);
  ~LevelGuard();
  LevelGuard(const LevelGuard&) = delete;
  LevelGuard& operator=(const LevelGuard&) = delete;

 private:
  const int64_t saved_;
};

// Note [Batched tensors]
// A batched tensor shows one sample of `value`: all dims but `dim`. It has no bytes of its own; its
// storage is one that throws when it is read, so that whatever is not an op gives an error. The
// value may be batched itself, by an outer vmap; autograd knows only the innermost values, which
// are ordinary tensors.
struct Batched {
  Tensor value;
  int64_t dim = 0;
  int64_t level = 0;
};

inline bool is_batched(const Tensor& tensor) { return (tensor.impl()->layers & kLayerBit) != 0; }
// Of a batched tensor.
MT_API const Batched& batched(const Tensor& tensor);
// 0 for an ordinary tensor.
inline int64_t level_of(const Tensor& tensor) {
  return is_batched(tensor) ? batched(tensor).level : 0;
}
MT_API Tensor make_batched(const Tensor& value, int64_t dim, int64_t level);
// Shows another value; for views in place.
void replace_value(const Tensor& tensor, const Tensor& value, int64_t dim);

// The tensor with the batch dim of `level` in front: moved there, or, where the tensor is the same
// for all samples, expanded.
MT_API Tensor with_batch_dim(const Tensor& tensor, int64_t level);

// Note [Gradients inside vmap]
// The ordinary tensor behind a tensor, with the dims of levels 1 to `level` in front, and back.
// What is batched at higher levels stays so. Gradients inside a vmap are gradients of these: the
// samples do not depend on each other, so one backward pass gives those of all samples.
MT_API Tensor to_physical(const Tensor& tensor, int64_t level);
MT_API Tensor from_physical(const Tensor& tensor, int64_t level);

}  // namespace mindtorch::batching
