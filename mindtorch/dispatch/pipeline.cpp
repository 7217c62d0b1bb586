#include "mindtorch/dispatch/pipeline.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <utility>

#include "mindtorch/runtime/hooks.h"

namespace mindtorch::dispatch {
namespace {

constinit thread_local Pipeline* t_pipeline __attribute__((tls_model("initial-exec"))) = nullptr;

// All windows there are, and who uses them now.
struct Windows {
  struct Use {
    Window* window;
    Pipeline* owner;   // null: nobody
    int visitors = 0;  // other threads that make it run: the owner stays meanwhile
  };
  std::mutex mutex;
  std::condition_variable left;
  std::deque<Use> all;  // elements never move

  Use& find(const Window* window) {
    return *std::find_if(all.begin(), all.end(),
                         [&](const Use& use) { return use.window == window; });
  }
  Window* take(Pipeline* owner) {
    const std::scoped_lock lock(mutex);
    for (Use& use : all) {
      if (use.owner != nullptr) continue;
      use.owner = owner;
      return use.window;
    }
    return all.emplace_back(Use{new Window, owner}).window;
  }
  void give_back(const Window* window) {
    std::unique_lock lock(mutex);
    Use& use = find(window);
    left.wait(lock, [&] { return use.visitors == 0; });
    use.owner = nullptr;
  }
  // The owner, who stays until leave(); null: there is none.
  Pipeline* visit(const Window* window) {
    const std::scoped_lock lock(mutex);
    Use& use = find(window);
    if (use.owner != nullptr) ++use.visitors;
    return use.owner;
  }
  void leave(const Window* window) {
    const std::scoped_lock lock(mutex);
    --find(window).visitors;
    left.notify_all();
  }
  std::vector<Window*> in_use() {
    const std::scoped_lock lock(mutex);
    std::vector<Window*> windows;
    for (const Use& use : all) {
      if (use.owner != nullptr) windows.push_back(use.window);
    }
    return windows;
  }
};
Windows& windows() {
  static auto* const instance = new Windows;
  return *instance;
}

std::string message_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "unknown error";
  }
}

std::string describe_view(const RecordedView& view) {
  if (!view.storage) return "none";
  return mindtorch::detail::concat(name(view.dtype), to_string(view.sizes));
}

}  // namespace

Pipeline::Pipeline(PipelineConfig config)
    : config_(std::move(config)), window_(windows().take(this)) {
  static const bool hooked = [] {
    runtime::hooks().before_sync.add([](runtime::SyncPoint) { settle("synchronize"); });
    runtime::hooks().on_memory_pressure.add(&run_for_memory);
    return true;
  }();
  (void)hooked;
}

Pipeline::~Pipeline() {
  run("context_exit");
  // A thread that makes it run may need what this one holds of the language.
  const CallSiteHooks& hooks = call_site_hooks();
  void* const state = hooks.let_others_run == nullptr ? nullptr : hooks.let_others_run();
  windows().give_back(window_);
  if (state != nullptr) hooks.come_back(state);
}

Pipeline* Pipeline::current() noexcept { return t_pipeline; }
Pipeline* Pipeline::make_current(Pipeline* pipeline) noexcept {
  return std::exchange(t_pipeline, pipeline);
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

bool Pipeline::run_all(const Window* but) noexcept {
  bool any = false;
  for (Window* const window : windows().in_use()) {
    if (window == but || window->size() == 0) continue;
    run_window(*window, "write");
    any = true;
  }
  return any;
}

void Pipeline::record(const ops::Op& op,
                      Device device,
                      ops::Args args,
                      std::span<const Tensor> outputs) {
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
  window_->record(op, device, args, outputs);
  after_record();
}

void Pipeline::record_pointwise(const ops::Op& op,
                                const ops::PointwiseCall& call,
                                const Tensor& out) {
  for (int i = 0; i < call.count; ++i) prepare_read(*call.operands[i]);
  prepare_write(out);
  window_->record_pointwise(op, call, out);
  after_record();
}

void Pipeline::after_record() {
  const auto reached = [](const std::optional<int64_t>& limit, size_t value) {
    return limit && static_cast<int64_t>(value) >= *limit;
  };
  ++recorded_;
  if (MT_UNLIKELY(window_->must_run())) return flush("exposed");
  if (MT_UNLIKELY(config_.min_defer_ops.value_or(0) > recorded_)) return flush("min_defer_ops");
  if (MT_UNLIKELY(reached(config_.max_ops, window_->size()))) return flush("ops");
  if (MT_UNLIKELY(reached(config_.max_pending_bytes, window_->pending_bytes()))) {
    return flush("bytes");
  }
  if (MT_UNLIKELY(config_.max_wait_us.has_value())) {
    const auto age = std::chrono::steady_clock::now() - window_->started();
    if (age >= std::chrono::microseconds(*config_.max_wait_us)) flush("wait");
  }
}

void Pipeline::flush(std::string_view reason) {
  if (const std::exception_ptr error = run(reason)) std::rethrow_exception(error);
}

std::exception_ptr Pipeline::run(std::string_view reason) noexcept {
  const bool empty = window_->size() == 0;
  // What kernels call runs at once.
  Pipeline* const recording = make_current(nullptr);
  const CallSiteHooks& hooks = call_site_hooks();
  void* const state = empty || hooks.let_others_run == nullptr ? nullptr : hooks.let_others_run();
  std::optional<PipelineError> told;
  const std::unique_ptr<WindowError> failure =
      window_->run([&](const WindowError& error) { told = describe(error); });
  if (state != nullptr) hooks.come_back(state);
  make_current(recording);
  const std::scoped_lock lock(mutex_);
  last_reason_ = reason;
  if (empty) return nullptr;
  ++flush_id_;
  last_error_ = std::move(told);
  return failure == nullptr ? nullptr : failure->error;
}

void Pipeline::run_window(Window& window, std::string_view reason) noexcept {
  Pipeline* const owner = windows().visit(&window);
  if (owner == nullptr) return;
  owner->run(reason);
  windows().leave(&window);
}

PipelineError Pipeline::describe(const WindowError& failure) const {
  PipelineError told;
  const Recorded& entry = window_->entry(failure.number);
  told.flush_id = flush_id_ + 1;
  told.op_number = failure.number;
  told.op_name = entry.op->schema.name;
  told.schema = entry.op->schema.full_name();
  told.phase = "submit";
  told.device = entry.device.str();
  if (entry.site.code != nullptr) told.site = call_site_hooks().describe(entry.site);
  for (uint32_t i = 0; i < entry.operand_count; ++i) {
    told.reads.push_back(describe_view(window_->view(entry.first_operand + i)));
  }
  for (uint32_t i = 0; i < entry.output_count; ++i) {
    told.writes.push_back(describe_view(window_->view(entry.first_output + i)));
  }
  told.message = message_of(failure.error);
  return told;
}

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

}  // namespace mindtorch::dispatch
