#include "mindtorch/dispatch/execute/executor.h"

#include <utility>

#include "mindtorch/dispatch/execute/launch.h"

namespace mindtorch::dispatch {
namespace {

constinit thread_local ExecutorEntry* t_entry __attribute__((tls_model("initial-exec"))) = nullptr;

constinit ImmediateExecutor g_immediate;

}  // namespace

ImmediateExecutor& ImmediateExecutor::instance() { return g_immediate; }

Tensor ImmediateExecutor::make_output(const ops::TensorSpec& spec) {
  return spec.strides ? Tensor::make_strided(spec.sizes, *spec.strides, spec.dtype, spec.device)
                      : Tensor::make(spec.sizes, spec.dtype, spec.device);
}

void ImmediateExecutor::run(const PreparedCall& call) {
  if (call.is_mutation()) call.args[0].tensor().storage()->flush_readers();
  for (const Tensor& output : call.outputs) output.storage()->flush_readers();
  if (call.pointwise != nullptr) {
    launch_pointwise(*call.pointwise, call.device, call.outputs[0]);
  } else {
    launch_kernel(call.op, call.device, call.args, call.outputs);
  }
}

Executor& Executor::current() noexcept {
  if (MT_LIKELY(t_entry == nullptr)) return g_immediate;
  const ExecutorEntry* const entry = innermost_executor();
  Executor* const executor =
      entry == nullptr ? nullptr : entry->executor.load(std::memory_order_acquire);
  return executor == nullptr ? g_immediate : *executor;
}

ExecutorEntry* enter_executor(Executor& executor) {
  return t_entry = new ExecutorEntry{&executor, t_entry, std::this_thread::get_id()};
}

void leave_executor(ExecutorEntry& entry) noexcept {
  entry.executor.store(nullptr, std::memory_order_release);
}

ExecutorEntry* innermost_executor() noexcept {
  while (t_entry != nullptr && t_entry->executor.load(std::memory_order_acquire) == nullptr) {
    delete std::exchange(t_entry, t_entry->outer);
  }
  return t_entry;
}

NoRecordGuard::NoRecordGuard() noexcept : entered_(std::exchange(t_entry, nullptr)) {}
NoRecordGuard::~NoRecordGuard() { t_entry = entered_; }

}  // namespace mindtorch::dispatch
