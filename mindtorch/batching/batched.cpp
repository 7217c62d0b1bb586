#include "mindtorch/batching/batched.h"

#include "mindtorch/functional/functions.h"

namespace mindtorch::batching {
namespace {

struct ThreadLevels {
  std::vector<Level> levels;
  int64_t current = 0;
};
ThreadLevels& thread_levels() {
  thread_local ThreadLevels levels;
  return levels;
}

// See Note [Batched tensors].
class NoBytes final : public PendingWork {
 public:
  explicit NoBytes(Batched batched) : batched(std::move(batched)) {}
  void materialize(StorageImpl&) override {
    MT_THROW(RuntimeError, "Cannot access data pointer of Tensor that doesn't have storage");
  }
  void record_stream(StorageImpl&, runtime::Stream stream) override {
    batched.value.storage()->record_stream(stream);
  }
  void forget(StorageImpl&) noexcept override { delete this; }

  Batched batched;
};

NoBytes& no_bytes(const Tensor& tensor) {
  return *static_cast<NoBytes*>(tensor.storage()->pending());
}

// Sizes or strides without those of the batch dim.
Shape without(const Shape& all, int64_t dim) {
  Shape rest = all;
  rest.erase(rest.begin() + dim);
  return rest;
}

}  // namespace

const std::vector<Level>& levels() { return thread_levels().levels; }
int64_t current_level() { return thread_levels().current; }

int64_t enter_level(Level level) {
  ThreadLevels& thread = thread_levels();
  thread.levels.push_back(level);
  thread.current = static_cast<int64_t>(thread.levels.size());
  dispatch::thread_layers().enabled |= kLayerBit;
  return thread.current;
}

void leave_level() {
  ThreadLevels& thread = thread_levels();
  MT_CHECK(!thread.levels.empty(), RuntimeError, "this thread is in no vmap");
  thread.levels.pop_back();
  thread.current = static_cast<int64_t>(thread.levels.size());
  if (thread.levels.empty()) {
    dispatch::thread_layers().enabled &= static_cast<uint8_t>(~kLayerBit);
  }
}

LevelGuard::LevelGuard(int64_t level) : saved_(thread_levels().current) {
  thread_levels().current = level;
}
LevelGuard::~LevelGuard() { thread_levels().current = saved_; }

const Batched& batched(const Tensor& tensor) { return no_bytes(tensor).batched; }

Tensor make_batched(const Tensor& value, int64_t dim, int64_t level) {
  const int64_t d = wrap_dim(dim, value.dim());
  Storage storage = StorageImpl::unallocated(0, value.device());
  storage->set_pending(new NoBytes({value, d, level}));
  Tensor shown(IntrusivePtr<TensorImpl>::adopt(
      new TensorImpl(std::move(storage), value.dtype(), without(value.sizes(), d),
                     without(value.strides(), d), value.storage_offset())));
  shown.impl()->layers = kLayerBit;
  return shown;
}

void replace_value(const Tensor& tensor, const Tensor& value, int64_t dim) {
  Batched& shown = no_bytes(tensor).batched;
  shown.value = value;
  shown.dim = dim;
  tensor.impl()->set_sizes_and_strides(without(value.sizes(), dim), without(value.strides(), dim),
                                       value.storage_offset());
}

Tensor with_batch_dim(const Tensor& tensor, int64_t level) {
  if (level_of(tensor) == level) {
    const Batched& shown = batched(tensor);
    return shown.dim == 0 ? shown.value : movedim(shown.value, shown.dim, 0);
  }
  MT_CHECK(level >= 1 && level <= static_cast<int64_t>(levels().size()), RuntimeError,
           "there is no vmap of level ", level);
  Shape sizes = tensor.sizes();
  sizes.insert(sizes.begin(), levels()[static_cast<size_t>(level) - 1].size);
  return expand(unsqueeze(tensor, 0), sizes);
}

Tensor to_physical(const Tensor& tensor, int64_t level) {
  MT_CHECK(level >= 0, RuntimeError, "there is no vmap of level ", level);
  if (level_of(tensor) > level) {
    const Batched& shown = batched(tensor);
    return make_batched(to_physical(shown.value, level), shown.dim + level, shown.level);
  }
  return level == 0 ? tensor : to_physical(with_batch_dim(tensor, level), level - 1);
}

Tensor from_physical(const Tensor& tensor, int64_t level) {
  MT_CHECK(level >= 0 && level <= tensor.dim(), RuntimeError, "a tensor of ", tensor.dim(),
           " dimensions has no ", level, " batches");
  if (level_of(tensor) > level) {
    const Batched& shown = batched(tensor);
    return make_batched(from_physical(movedim(shown.value, shown.dim, level), level), 0,
                        shown.level);
  }
  Tensor shown = tensor;
  for (int64_t at = 1; at <= level; ++at) shown = make_batched(shown, 0, at);
  return shown;
}

}  // namespace mindtorch::batching
