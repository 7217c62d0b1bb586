#include "mindtorch/dispatch/window.h"

#include <utility>

#include "mindtorch/dispatch/pipeline.h"
#include "mindtorch/dispatch/window_runner.h"

namespace mindtorch::dispatch {
namespace {

// What is left of work that failed: storages that it was to write throw its error.
class FailedWork final : public PendingWork {
 public:
  explicit FailedWork(std::exception_ptr error) : error_(std::move(error)) {}

  void add(StorageImpl& storage) noexcept {
    ++holders_;
    storage.set_pending(this);
  }
  void materialize(StorageImpl& storage) override {
    const std::exception_ptr error = error_;
    // Bytes that were there before the window are as they were: told once, then usable again.
    if (storage.raw_data() != nullptr) {
      storage.set_pending(nullptr);
      forget(storage);
    }
    std::rethrow_exception(error);
  }
  void forget(StorageImpl&) noexcept override { let_go(); }
  void let_go() noexcept {
    if (holders_.fetch_sub(1) == 1) delete this;
  }

 private:
  const std::exception_ptr error_;
  std::atomic<size_t> holders_{1};  // storages, and whoever made it
};

}  // namespace

RecordedView::RecordedView(const Tensor& tensor) {
  if (!tensor.defined()) return;
  const TensorImpl& impl = *tensor.impl();
  storage = impl.storage;
  sizes = impl.sizes;
  strides = impl.strides;
  offset = impl.offset;
  numel = impl.numel;
  dtype = impl.dtype;
  is_contiguous = impl.is_contiguous;
}

bool RecordedView::is_same(const RecordedView& other) const {
  return offset == other.offset && dtype == other.dtype && sizes == other.sizes &&
         (strides == other.strides || (is_contiguous && other.is_contiguous));
}

bool RecordedView::overlaps(const RecordedView& other) const {
  if (storage.get() != other.storage.get() || numel == 0 || other.numel == 0) return false;
  const int64_t begin = offset * size_bytes(dtype);
  const int64_t other_begin = other.offset * size_bytes(other.dtype);
  const int64_t end = begin + extent(sizes, strides) * size_bytes(dtype);
  const int64_t other_end =
      other_begin + extent(other.sizes, other.strides) * size_bytes(other.dtype);
  return begin < other_end && other_begin < end;
}

CallSiteHooks& call_site_hooks() noexcept {
  static CallSiteHooks hooks;
  return hooks;
}

uint32_t Window::own(const Tensor& tensor) {
  views_.emplace_back(tensor);
  if (tensor.defined() && tensor.storage()->pending() == this) {
    ++written_[tensor.storage()->pending_slot].references;
  }
  return static_cast<uint32_t>(views_.size() - 1);
}

// With the lock held. Storages of other windows were made to run before.
void Window::reads(const Tensor& tensor) {
  StorageImpl& storage = *tensor.storage();
  if (storage.pending() == this) return;
  storage.pending_reads.fetch_add(1, std::memory_order_relaxed);
  read_.push_back(&storage);
  if (storage.is_exposed()) must_run_ = true;
}

void Window::writes(const Tensor& tensor) {
  StorageImpl& storage = *tensor.storage();
  const auto number = static_cast<uint32_t>(entries_.size() - 1);
  if (storage.pending() == this) {
    written_[storage.pending_slot].last_write = number;
    return;
  }
  storage.pending_slot = static_cast<uint32_t>(written_.size());
  // No bytes: promised here, and another thread ran the window before the op was recorded.
  const bool promised = storage.raw_data() == nullptr && storage.size_bytes() != 0;
  written_.push_back({&storage, 0, number, promised});
  storage.set_pending(this);
  if (storage.is_exposed()) must_run_ = true;
}

Tensor Window::promise(const ops::TensorSpec& spec) {
  const IntList strides = spec.strides ? IntList(*spec.strides) : IntList();
  Tensor tensor = Tensor::promise(spec.sizes, strides, spec.dtype, spec.device);
  StorageImpl& storage = *tensor.storage();
  const Lock lock(mutex_);
  storage.pending_slot = static_cast<uint32_t>(written_.size());
  written_.push_back({&storage, 0, 0, true});
  storage.set_pending(this);
  pending_bytes_ += storage.size_bytes();
  return tensor;
}

KeptValue Window::keep(const ops::Value& value) {
  KeptValue kept{value};
  switch (value.kind()) {
    case ops::ValueKind::kTensor:
      reads(value.tensor());
      kept.first_view = own(value.tensor());
      kept.view_count = 1;
      break;
    case ops::ValueKind::kTensorList:
      kept.first_view = static_cast<uint32_t>(views_.size());
      for (const Tensor& tensor : value.tensor_list()) {
        if (tensor.defined()) reads(tensor);
        own(tensor);
      }
      kept.view_count = static_cast<uint32_t>(views_.size()) - kept.first_view;
      break;
    case ops::ValueKind::kIntList: {
      const IntList list = value.int_list();
      kept.value = ops::Value(IntList(ints_.emplace_back(list.begin(), list.end())));
      break;
    }
    case ops::ValueKind::kFloatList: {
      const std::span<const double> list = value.float_list();
      floats_.emplace_back(list.begin(), list.end());
      kept.value = ops::Value(std::span<const double>(floats_.back()));
      break;
    }
    case ops::ValueKind::kString:
      kept.value = ops::Value(std::string_view(texts_.emplace_back(value.string())));
      break;
    case ops::ValueKind::kGenerator:
      must_run_ = true;  // nobody keeps a generator for us
      break;
    default:
      break;
  }
  return kept;
}

Recorded& Window::begin(const ops::Op& op, Device device) {
  if (entries_.empty()) started_ = std::chrono::steady_clock::now();
  Recorded& entry = entries_.emplace_back();
  size_.store(entries_.size(), std::memory_order_relaxed);
  entry.op = &op;
  entry.device = device;
  if (const auto capture = call_site_hooks().capture) entry.site = capture();
  entry.first_operand = static_cast<uint32_t>(views_.size());
  return entry;
}

void Window::record(const ops::Op& op,
                    Device device,
                    ops::Args args,
                    std::span<const Tensor> outputs) {
  const Lock lock(mutex_);
  Recorded& entry = begin(op, device);
  entry.first_value = static_cast<uint32_t>(values_.size());
  entry.value_count = static_cast<uint32_t>(args.size());
  for (const ops::Value& value : args) values_.push_back(keep(value));
  entry.operand_count = static_cast<uint32_t>(views_.size()) - entry.first_operand;
  entry.first_output = static_cast<uint32_t>(views_.size());
  if (op.kind == ops::OpKind::kMutation) {
    writes(args[0].tensor());
    own(args[0].tensor());
  }
  for (const Tensor& output : outputs) {
    writes(output);
    own(output);
  }
  entry.output_count = static_cast<uint32_t>(views_.size()) - entry.first_output;
}

void Window::record_pointwise(const ops::Op& op,
                              const ops::PointwiseCall& call,
                              const Tensor& out) {
  const Lock lock(mutex_);
  Recorded& entry = begin(op, out.device());
  entry.is_pointwise = true;
  entry.function = call.function;
  entry.compute = call.compute;
  entry.result = call.result;
  entry.params = call.params;
  for (int i = 0; i < call.count; ++i) {
    reads(*call.operands[i]);
    own(*call.operands[i]);
  }
  entry.operand_count = static_cast<uint32_t>(call.count);
  entry.first_output = static_cast<uint32_t>(views_.size());
  writes(out);
  own(out);
  entry.output_count = 1;
}

std::unique_ptr<WindowError> Window::run(
    const std::function<void(const WindowError&)>& tell) noexcept {
  if (runner_.load(std::memory_order_relaxed) == std::this_thread::get_id()) return nullptr;
  const Lock lock(mutex_);
  if (entries_.empty()) {
    finish(0, nullptr);
    return nullptr;
  }
  runner_.store(std::this_thread::get_id(), std::memory_order_relaxed);
  std::unique_ptr<WindowError> failure;
  size_t done = 0;
  try {
    WindowRunner(*this).run(done);
  } catch (...) {
    failure = std::make_unique<WindowError>();
    failure->error = std::current_exception();
    failure->number = done;
    if (tell) tell(*failure);
  }
  finish(done, failure == nullptr ? nullptr : failure->error);
  runner_.store({}, std::memory_order_relaxed);
  return failure;
}

// The storages are pending no more, or throw the error: those that ops from `done` on write.
void Window::finish(size_t done, const std::exception_ptr& error) noexcept {
  for (StorageImpl* storage : read_) storage->pending_reads.fetch_sub(1, std::memory_order_relaxed);
  FailedWork* const failed = error == nullptr ? nullptr : new FailedWork(error);
  for (const Written& written : written_) {
    if (written.storage == nullptr) continue;
    // Without references: promised to an op that is not recorded yet.
    if (failed == nullptr || written.references == 0 || written.last_write < done) {
      written.storage->set_pending(nullptr);
    } else {
      if (written.promised) written.storage->drop_bytes();
      failed->add(*written.storage);
    }
  }
  if (failed != nullptr) failed->let_go();
  sites_.clear();
  for (const Recorded& entry : entries_) {
    if (entry.site.code != nullptr) sites_.push_back(entry.site);
  }
  if (!sites_.empty()) call_site_hooks().release(sites_);
  read_.clear();
  written_.clear();
  entries_.clear();
  views_.clear();
  values_.clear();
  ints_.clear();
  floats_.clear();
  texts_.clear();
  size_ = 0;
  pending_bytes_ = 0;
  must_run_ = false;
}

void Window::forget(StorageImpl& storage) noexcept {
  const Lock lock(mutex_);
  if (storage.pending() == this) written_[storage.pending_slot].storage = nullptr;
}

void Window::materialize(StorageImpl& storage) {
  if (runner_.load(std::memory_order_relaxed) == std::this_thread::get_id()) return;
  Pipeline::run_window(*this, "read");
  // Named by something else now: work that failed, or a window of another thread.
  if (PendingWork* const work = storage.pending(); work != nullptr && work != this) {
    work->materialize(storage);
  }
}

}  // namespace mindtorch::dispatch
