#include "mindtorch/dispatch/pipeline.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>

#include "mindtorch/dispatch/eager.h"
#include "mindtorch/dispatch/pipeline_timer.h"
#include "mindtorch/dispatch/wait_at_end.h"
#include "mindtorch/dispatch/window_registry.h"
#include "mindtorch/dispatch/window_values.h"
#include "mindtorch/runtime/hooks.h"

namespace mindtorch::dispatch {

// Note [Blocks left out of order]
// Generators and tasks leave their blocks in any order, and the garbage collector may close one on
// another thread. Whoever leaves only empties the entry: its own thread, which alone walks and
// frees the list, drops it when it comes by.
struct Pipeline::Entry {
  std::atomic<Pipeline*> pipeline;  // null: left
  Entry* outer;
  std::thread::id thread;
};

namespace {

constinit thread_local Pipeline::Entry* t_entry __attribute__((tls_model("initial-exec"))) =
    nullptr;
// How many ops the largest window of this thread's last block had.
constinit thread_local size_t t_last_window = SIZE_MAX;

// How many ops wait where the user says nothing. On the CPU a window is only ever worth its fused
// groups; an accelerator works on one window while the next is recorded, so that it should not wait
// for the first one long.
constexpr int64_t preset_max_ops(DeviceType type) { return type == DeviceType::kCpu ? 256 : 64; }

// What kernels call runs at once.
class Unrecorded {
 public:
  Unrecorded() : entered_(std::exchange(t_entry, nullptr)) {}
  ~Unrecorded() { t_entry = entered_; }
  Unrecorded(const Unrecorded&) = delete;
  Unrecorded& operator=(const Unrecorded&) = delete;

 private:
  Pipeline::Entry* const entered_;
};

void before_sync(runtime::SyncPoint point) {
  if (Pipeline::current() == nullptr) return;
  if (point == runtime::SyncPoint::kSwitchStream) {
    try {
      Pipeline::settle("stream");
    } catch (...) {  // the tensors tell
    }
  } else {
    Pipeline::settle("synchronize");
  }
}

// So many that windows have no numbers for them.
bool has_too_many_tensors(ops::Args args) {
  return std::ranges::any_of(args, [](const ops::Value& value) {
    return value.kind() == ops::ValueKind::kTensorList &&
           value.tensor_list().size() > kMostTensors / 2;
  });
}

}  // namespace

void check(const PipelineConfig& config) {
  const auto positive = [](const char* name, const std::optional<int64_t>& value) {
    MT_CHECK(!value || *value > 0, ValueError, name, " must be positive, but got ", *value);
  };
  positive("max_ops", config.max_ops);
  positive("max_pending_bytes", config.max_pending_bytes);
  const auto not_negative = [](const char* name, const std::optional<int64_t>& value) {
    MT_CHECK(!value || *value >= 0, ValueError, name, " must not be negative, but got ", *value);
  };
  not_negative("max_wait_us", config.max_wait_us);
  not_negative("min_defer_ops", config.min_defer_ops);
  not_negative("adaptive_small_window_ops", config.adaptive_small_window_ops);
  not_negative("adaptive_min_defer_ops", config.adaptive_min_defer_ops);
}

Pipeline::~Pipeline() {
  while (!entries_.empty()) {
    try {
      leave();
    } catch (...) {  // the tensors tell
    }
  }
}

void Pipeline::enter() {
  static const bool hooked = [] {
    runtime::hooks().before_sync.add(&before_sync);
    runtime::hooks().on_memory_pressure.add(&run_for_memory);
    return true;
  }();
  (void)hooked;
  const std::thread::id thread = std::this_thread::get_id();
  MT_CHECK(entries_.empty() || entries_.back()->thread == thread, RuntimeError,
           "this pipeline is in use by another thread");
  // Random numbers are drawn in the order of the program.
  if (Pipeline* const outer = current();
      outer != nullptr && outer != this && outer->window_->has_random()) {
    outer->flush("nested");
  }
  if (window_ == nullptr) {
    recorded_ = 0;
    largest_window_ = 0;
    run_eagerly_ = config_.min_defer_ops.value_or(0) - 1;
    if (config_.adaptive_defer && !config_.min_defer_ops &&
        t_last_window <= static_cast<size_t>(config_.adaptive_small_window_ops)) {
      run_eagerly_ = config_.adaptive_min_defer_ops - 1;
    }
    window_ = WindowRegistry::instance().take(this);  // other threads know it from here on
  }
  t_entry = new Entry{this, t_entry, thread};
  entries_.push_back(t_entry);
}

void Pipeline::leave() {
  if (entries_.empty()) return;
  entries_.back()->pipeline.store(nullptr, std::memory_order_release);
  entries_.pop_back();
  current();  // takes entries off that are left, where this is their thread
  std::exception_ptr error;
  run(window_, "context_exit", &error);
  if (entries_.empty()) {
    if (config_.max_wait_us) PipelineTimer::instance().forget(*window_);
    give_window_back();
    t_last_window = largest_window_;
  }
  if (error != nullptr) std::rethrow_exception(error);
}

void Pipeline::give_window_back() {
  WindowRegistry& registry = WindowRegistry::instance();
  const CallSiteHooks& hooks = call_site_hooks();
  if (MT_LIKELY(registry.try_give_back(window_))) {
  } else if (hooks.is_ending != nullptr && hooks.is_ending()) {
    wait_at_end([&] { return registry.try_give_back(window_); });
  } else {
    // A thread that makes it run may need what this one holds of the language.
    void* const state = hooks.let_others_run == nullptr ? nullptr : hooks.let_others_run();
    registry.give_back(window_);
    if (state != nullptr) hooks.come_back(state);
  }
  window_ = nullptr;
}

Pipeline* Pipeline::current() noexcept {
  while (t_entry != nullptr) {
    if (Pipeline* const pipeline = t_entry->pipeline.load(std::memory_order_acquire)) {
      return pipeline;
    }
    delete std::exchange(t_entry, t_entry->outer);
  }
  return nullptr;
}

// What another window makes must be there before this one can build on it.
void Pipeline::prepare_read(const Tensor& tensor) const {
  const PendingWork* const work = tensor.storage()->pending();
  if (MT_UNLIKELY(work != nullptr && work != window_)) tensor.storage()->data();
}

void Pipeline::prepare_write(const Tensor& tensor) const {
  prepare_read(tensor);
  before_write(*tensor.storage(), window_);
}

void Pipeline::run_readers(const StorageImpl& storage, Window* own) noexcept {
  const uint32_t mine = own != nullptr && own->reads(storage) ? 1 : 0;
  if (storage.pending_reads.load(std::memory_order_relaxed) > mine) run_all(own, true);
}

bool Pipeline::run_all(const Window* but, bool wait) noexcept {
  bool any = false;
  for (Window* const window : WindowRegistry::instance().in_use()) {
    if (window == but || window->size() == 0) continue;
    any |= run_window(*window, wait ? "write" : "memory", wait);
  }
  return any;
}

void Pipeline::record(const ops::Op& op,
                      Device device,
                      ops::Args args,
                      std::span<const Tensor> outputs,
                      bool is_fresh) {
  for (const ops::Value& value : args) {
    if (value.kind() == ops::ValueKind::kTensor) {
      prepare_read(value.tensor());
    } else if (value.kind() == ops::ValueKind::kTensorList) {
      for (const Tensor& tensor : value.tensor_list()) {
        if (tensor.defined()) prepare_read(tensor);
      }
    }
  }
  if (op.kind == ops::OpKind::kMutation) prepare_write(args[0].tensor());
  for (const Tensor& output : outputs) prepare_write(output);
  if (MT_UNLIKELY(has_too_many_tensors(args))) return run_at_once(op, device, args, outputs);
  window_->record(op, device, args, outputs, is_fresh);
  after_record(device);
}

void Pipeline::record_pointwise(const ops::Op& op,
                                const ops::PointwiseCall& call,
                                ops::Args args,
                                const Tensor& out,
                                Writes writes) {
  for (int i = 0; i < call.count; ++i) prepare_read(*call.operands[i]);
  prepare_write(out);
  window_->record_pointwise(op, call, args, out, writes);
  after_record(out.device());
}

bool Pipeline::follow(const ops::Op& op, ops::Args args, ops::Outputs& outputs) {
  if (!window_->follow(op, args, outputs)) return false;
  after_record(outputs.tensors[0].device());
  return true;
}

bool Pipeline::follow_in_place(const ops::Op& op, ops::Args args) {
  const Tensor& self = args[0].tensor();
  before_write(*self.storage(), window_);
  if (!window_->follow_in_place(op, args)) return false;
  after_record(self.device());
  return true;
}

void Pipeline::after_record(Device device) {
  const auto size = static_cast<int64_t>(window_->size());
  if (MT_UNLIKELY(window_->must_run())) return flush("exposed");
  if (MT_UNLIKELY(window_->holds_much())) return flush("bytes");
  if (MT_UNLIKELY(++recorded_ <= run_eagerly_)) return flush("min_defer_ops");
  if (MT_UNLIKELY(size >= config_.max_ops.value_or(preset_max_ops(device.type)))) {
    return flush("ops");
  }
  if (MT_UNLIKELY(config_.max_pending_bytes &&
                  static_cast<int64_t>(window_->pending_bytes()) >= *config_.max_pending_bytes)) {
    return flush("bytes");
  }
  if (MT_UNLIKELY(config_.max_wait_us.has_value() && size == 1)) {
    PipelineTimer::instance().watch(*window_, std::chrono::microseconds(*config_.max_wait_us));
  }
}

void Pipeline::flush(std::string_view reason) {
  std::exception_ptr error;
  if (is_entered_here()) {
    run(window_, reason, &error);
  } else if (Window* const window = WindowRegistry::instance().visit(this)) {
    run(window, reason, &error);
    WindowRegistry::instance().leave(window);
  } else {
    const std::scoped_lock lock(mutex_);
    last_reason_ = reason;
  }
  if (error != nullptr) std::rethrow_exception(error);
}

// By this thread, which then keeps its window.
bool Pipeline::is_entered_here() const noexcept {
  for (const Entry* entry = t_entry; entry != nullptr; entry = entry->outer) {
    if (entry->pipeline.load(std::memory_order_relaxed) == this) return true;
  }
  return false;
}

void Pipeline::settle(std::string_view reason) {
  SmallVector<Pipeline*, 4> entered;
  for (const Entry* entry = t_entry; entry != nullptr; entry = entry->outer) {
    if (Pipeline* const pipeline = entry->pipeline.load(std::memory_order_acquire)) {
      entered.push_back(pipeline);
    }
  }
  std::exception_ptr first;
  while (!entered.empty()) {
    std::exception_ptr error;
    entered.back()->run(entered.back()->window_, reason, &error);
    if (first == nullptr) first = error;
    entered.pop_back();
  }
  if (first != nullptr) std::rethrow_exception(first);
}

void Pipeline::run_at_once(const ops::Op& op,
                           Device device,
                           ops::Args args,
                           std::span<const Tensor> outputs) {
  flush("ops");
  for (const Tensor& output : outputs) output.storage()->make_promised_bytes();
  SmallVector<Tensor, 2> results(outputs.begin(), outputs.end());
  const Unrecorded unrecorded;
  launch_now(op, device, args, {results.data(), results.size()});
}

bool Pipeline::run(Window* window,
                   std::string_view reason,
                   std::exception_ptr* error,
                   bool wait) noexcept {
  bool has_run = false;
  if (window != nullptr && window->size() != 0) {
    const Unrecorded unrecorded;
    has_run = window->run(
        [&](const WindowError* failure) {
          if (failure != nullptr && error != nullptr) *error = failure->error;
          note_run(*window, reason, failure);
        },
        wait);
  }
  if (!has_run) {
    const std::scoped_lock lock(mutex_);
    last_reason_ = reason;
  }
  return has_run;
}

void Pipeline::note_run(Window& window, std::string_view reason, const WindowError* failure) {
  // Without the lock: the words of call sites are the language's, which may have to be waited for.
  std::optional<PipelineError> told;
  std::vector<OpReport> ops;
  if (failure != nullptr) told = describe_error(window, *failure, flush_id() + 1);
  if (config_.debug_enabled) ops = describe_ops(window);
  const std::scoped_lock lock(mutex_);
  last_reason_ = reason;
  ++flush_id_;
  largest_window_ = std::max(largest_window_, window.size());
  last_error_ = std::move(told);
  last_ops_ = std::move(ops);
}

bool Pipeline::run_window(Window& window, std::string_view reason, bool wait) noexcept {
  Pipeline* const owner = WindowRegistry::instance().visit(&window);
  if (owner == nullptr) return false;
  const bool has_run = owner->run(&window, reason, nullptr, wait);
  WindowRegistry::instance().leave(&window);
  return has_run;
}

size_t Pipeline::pending_count() const { return window_ == nullptr ? 0 : window_->size(); }
size_t Pipeline::last_launches() const { return window_ == nullptr ? 0 : window_->last_launches(); }
uint64_t Pipeline::plans_made() const { return window_ == nullptr ? 0 : window_->plans_made(); }

uint64_t Pipeline::flush_id() const {
  const std::scoped_lock lock(mutex_);
  return flush_id_;
}
std::string Pipeline::last_flush_reason() const {
  const std::scoped_lock lock(mutex_);
  return last_reason_;
}
std::optional<PipelineError> Pipeline::last_error() const {
  const std::scoped_lock lock(mutex_);
  return last_error_;
}
std::vector<OpReport> Pipeline::pending_ops() const {
  return window_ == nullptr ? std::vector<OpReport>() : window_->describe_ops();
}
std::vector<OpReport> Pipeline::last_ops() const {
  const std::scoped_lock lock(mutex_);
  return last_ops_;
}

}  // namespace mindtorch::dispatch
