// A device of its own: torch.device("toy"). docs/add_a_device.md tells how it was made.
//
// It knows mindtorch by its public headers alone. Its memory and its processor are the host's, so
// that what is left is what every device must say: how it is reached (ToyDriver), which dtypes it
// has, and what runs there. Its kernels are those of the CPU, shown the same memory.
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <vector>

#include "mindtorch/driver/device_row.h"
#include "mindtorch/ops/extension.h"
#include "mindtorch/ops/functions.h"
#include "mindtorch/ops/refusal.h"

namespace {

using namespace mindtorch;  // NOLINT: a library's own file
using ops::Args;
using ops::Launch;
using ops::Value;

// --- how it is reached ---------------------------------------------------------------------------

// Work is done when it is asked for: streams are always idle, and an event is a time.
class ToyDriver final : public driver::DeviceDriver {
 public:
  using StreamHandle = driver::StreamHandle;
  using EventHandle = driver::EventHandle;

  const driver::DeviceRow& row() const noexcept override {
    static constexpr driver::DeviceRow kRow = {.name = "toy",
                                               .title = "TOY",
                                               .noun = "toy",
                                               .dispatch_key = "PrivateUse1",
                                               .torch_type = 20,
                                               .dlpack_type = 0};
    return kRow;
  }
  int device_count() noexcept override { return 1; }
  driver::DeviceProperties properties(int) override {
    return {.name = "Toy", .total_memory_bytes = kMemoryBytes};
  }
  driver::MemoryInfo memory_info(int) override {
    const std::lock_guard lock(mutex_);
    return {kMemoryBytes - used_, kMemoryBytes};
  }
  void bind_thread(int) override {}
  void wait_device(int) override {}

  void* allocate(int, size_t bytes) override {
    const std::lock_guard lock(mutex_);
    if (bytes > kMemoryBytes - used_) return nullptr;
    void* const data = std::malloc(bytes);
    if (data == nullptr) return nullptr;
    sizes_[data] = bytes;
    used_ += bytes;
    return data;
  }
  void release(int, void* data) noexcept override {
    const std::lock_guard lock(mutex_);
    used_ -= sizes_.extract(data).mapped();
    std::free(data);
  }
  void* allocate_pinned(size_t bytes) override { return std::malloc(bytes); }
  void release_pinned(void* data) noexcept override { std::free(data); }

  void copy_async(
      void* to, const void* from, size_t bytes, driver::CopyKind, int, StreamHandle) override {
    std::memmove(to, from, bytes);
  }
  void fill_async(void* to, uint8_t value, size_t bytes, int, StreamHandle) override {
    std::memset(to, value, bytes);
  }

  StreamHandle create_stream(int, int) override { return reinterpret_cast<StreamHandle>(new char); }
  void destroy_stream(int, StreamHandle stream) noexcept override {
    delete reinterpret_cast<char*>(stream);
  }
  bool query_stream(int, StreamHandle) override { return true; }
  void wait_stream(int, StreamHandle) override {}

  EventHandle create_event(int, driver::EventFlags) override {
    return reinterpret_cast<EventHandle>(new Time);
  }
  void destroy_event(int, EventHandle event) noexcept override { delete time_of(event); }
  void record_event(EventHandle event, int, StreamHandle) override {
    *time_of(event) = Clock::now();
  }
  void block_stream(int, StreamHandle, EventHandle) override {}
  bool query_event(int, EventHandle) override { return true; }
  void wait_event(int, EventHandle) override {}
  float elapsed_ms(int, EventHandle start, EventHandle end) override {
    return std::chrono::duration<float, std::milli>(*time_of(end) - *time_of(start)).count();
  }

 private:
  static constexpr size_t kMemoryBytes = size_t{1} << 30;
  using Clock = std::chrono::steady_clock;
  using Time = Clock::time_point;
  static Time* time_of(EventHandle event) { return reinterpret_cast<Time*>(event); }

  std::mutex mutex_;
  std::map<void*, size_t> sizes_;
  size_t used_ = 0;
};

// --- what it has ---------------------------------------------------------------------------------

// The numbers it knows. No kernel takes any other, and no tensor on it is of another.
constexpr DTypeSet kDTypes = kBoolType | bit(DType::kInt8) | bit(DType::kInt32) |
                             bit(DType::kInt64) | bit(DType::kBFloat16) | bit(DType::kFloat32);

// The same memory, seen as the host's. Numbers of the host stay what they are.
Tensor on_host(const Tensor& tensor) {
  if (!tensor.defined() || tensor.device().is_cpu()) return tensor;
  void* const data = const_cast<void*>(tensor.storage()->data());
  return Tensor::over(
      StorageImpl::borrow(data, tensor.storage()->size_bytes(), DeviceType::kCpu, nullptr, nullptr),
      tensor.dtype(), tensor.sizes(), tensor.strides(), tensor.storage_offset());
}

// The arguments of a call, seen so.
class HostArgs {
 public:
  explicit HostArgs(Args args) {
    for (const Value& value : args) {
      if (value.kind() == ops::ValueKind::kTensor) {
        values_.emplace_back(tensors_.emplace_back(on_host(value.tensor())));
      } else if (value.kind() == ops::ValueKind::kTensorList) {
        std::vector<Tensor>& list = lists_.emplace_back();
        for (const Tensor& each : value.tensor_list()) list.push_back(on_host(each));
        values_.emplace_back(TensorList(list));
      } else if (value.kind() == ops::ValueKind::kGenerator) {
        values_.emplace_back();  // random numbers are drawn by the CPU's
      } else {
        values_.push_back(value);
      }
    }
  }
  Args get() const { return values_; }

 private:
  std::deque<Tensor> tensors_;
  std::deque<std::vector<Tensor>> lists_;
  std::vector<Value> values_;
};

const ops::Kernel& cpu_kernel(const Launch& on) { return on.op->kernel(DeviceType::kCpu); }

// One function for the kernels of all ops: the launch says which it is.
void run_kernel(Launch& on, Args args, std::span<Tensor> outputs) {
  std::vector<Tensor> targets;
  for (const Tensor& output : outputs) targets.push_back(on_host(output));
  Launch host{DeviceType::kCpu, {}, on.op};
  cpu_kernel(on).impl(host, HostArgs(args).get(), targets);
}

// Results whose shape depends on what the operands hold are made by the kernel.
void run_dynamic(Launch& on, Args args, ops::Outputs& outputs) {
  Launch host{DeviceType::kCpu, {}, on.op};
  ops::Outputs made;
  cpu_kernel(on).dynamic(host, HostArgs(args).get(), made);
  outputs.scalar = made.scalar;
  for (const Tensor& each : made.tensors) {
    const Tensor result =
        Tensor::make_strided(each.sizes(), each.strides(), each.dtype(), on.device);
    std::memcpy(result.storage()->mutable_data(), each.storage()->data(),
                each.storage()->size_bytes());
    outputs.tensors.push_back(result);
  }
}

// Throws where a pointwise call has numbers that the device does not know.
void check_pointwise(const ops::PointwiseCall& call) {
  Device device = DeviceType::kCpu;
  const auto check = [&](DType dtype) {
    if (contains(kDTypes, dtype)) return;
    ops::refuse(ops::function_info(call.function).name, device, dtype, "it knows no such numbers");
  };
  for (int i = 0; i < call.count; ++i) {
    if (!call.operands[i]->device().is_cpu()) device = call.operands[i]->device();
  }
  for (int i = 0; i < call.count; ++i) {
    if (call.operands[i]->device() == device) check(call.operands[i]->dtype());
  }
  check(call.compute);
  check(call.result);
}

// Every pointwise op.
void run_pointwise(Launch&, const ops::PointwiseCall& call, const Tensor& out) {
  check_pointwise(call);
  Tensor operands[ops::kMaxOperands];
  ops::PointwiseCall seen = call;
  for (int i = 0; i < call.count; ++i) {
    operands[i] = on_host(*call.operands[i]);
    seen.operands[i] = &operands[i];
  }
  Launch host{DeviceType::kCpu};
  ops::registry().pointwise_engine(DeviceType::kCpu)(host, seen, on_host(out));
}

// --- attention, which keeps what its backward pass will read
// ----------------------------------------

constexpr const char* kAttention = "_scaled_dot_product_flash_attention";

// Of each row of scores: its logsumexp with the sign turned round, and the row's number.
ops::SpecList notes_of(const Tensor& query,
                       const Tensor&,
                       const Tensor&,
                       const Tensor&,
                       bool,
                       double,
                       bool,
                       const Tensor&,
                       double) {
  Shape rows = query.sizes();
  rows.pop_back();
  Shape columns = rows;
  columns.push_back(1);
  return {{std::move(columns), DType::kFloat32, query.device(), std::nullopt},
          {std::move(rows), DType::kInt64, query.device(), std::nullopt}};
}

void attention(Launch& on,
               const Tensor& query,
               const Tensor& key,
               const Tensor& value,
               const Tensor& attn_mask,
               bool is_causal,
               double scale,
               bool like_query,
               const Tensor&,
               double,
               Tensor& out,
               Tensor& turned,
               Tensor& numbers) {
  const Tensor logsumexp = Tensor::make(numbers.sizes(), DType::kFloat32);
  const Tensor seen[] = {on_host(query), on_host(key), on_host(value), on_host(attn_mask)};
  const Tensor none;
  const Value args[] = {seen[0], seen[1],    seen[2], seen[3], is_causal,
                        scale,   like_query, none,    0.0};
  Tensor targets[] = {on_host(out), logsumexp, Tensor()};
  Launch host{DeviceType::kCpu, {}, on.op};
  cpu_kernel(on).impl(host, Args(args), std::span<Tensor>(targets));
  for (int64_t row = 0; row < numbers.numel(); ++row) {
    on_host(turned).data<float>()[row] = -logsumexp.data<float>()[row];
    on_host(numbers).data<int64_t>()[row] = row;
  }
}

void attention_backward(Launch& on,
                        const Tensor& grad_out,
                        const Tensor& query,
                        const Tensor& key,
                        const Tensor& value,
                        const Tensor& out,
                        const Tensor& turned,
                        const Tensor& numbers,
                        const Tensor& attn_mask,
                        bool is_causal,
                        double scale,
                        const Tensor&,
                        double,
                        Tensor& grad_query,
                        Tensor& grad_key,
                        Tensor& grad_value) {
  const Tensor logsumexp = Tensor::make(numbers.sizes(), DType::kFloat32);
  const int64_t* const known = static_cast<const int64_t*>(numbers.data_ptr());
  for (int64_t row = 0; row < numbers.numel(); ++row) {
    MT_CHECK(known[row] == row, RuntimeError, "these are not the notes that attention left");
    logsumexp.data<float>()[row] = -static_cast<const float*>(turned.data_ptr())[row];
  }
  const Tensor seen[] = {on_host(grad_out), on_host(query), on_host(key),
                         on_host(value),    on_host(out),   on_host(attn_mask)};
  const Tensor none;
  const Value args[] = {seen[0], seen[1], seen[2],   seen[3], seen[4], logsumexp,
                        none,    seen[5], is_causal, scale,   none,    0.0};
  Tensor targets[] = {on_host(grad_query), on_host(grad_key), on_host(grad_value)};
  Launch host{DeviceType::kCpu, {}, on.op};
  cpu_kernel(on).impl(host, Args(args), std::span<Tensor>(targets));
}

}  // namespace

MINDTORCH_DEVICE(toy, device) {
  device.driver = std::make_unique<ToyDriver>();
  device.ops.device_dtypes(device.type, kDTypes);
  device.ops.pointwise_engine(device.type, &run_pointwise, &check_pointwise);
  device.ops.kernel<attention>(device.type, kAttention).keeps<notes_of>();
  device.ops.kernel<attention_backward>(device.type, std::string(kAttention) + "_backward");
  for (const ops::Op& op : device.ops.ops()) {
    const ops::Kernel& cpu = op.kernel(DeviceType::kCpu);
    if (!cpu || op.kernel(device.type)) continue;
    const bool is_dynamic = cpu.dynamic != nullptr;
    ops::KernelStatement kernel = device.ops.raw_kernel(device.type, op.schema.full_name(),
                                                        is_dynamic ? nullptr : &run_kernel,
                                                        is_dynamic ? &run_dynamic : nullptr);
    kernel.takes(cpu.takes, cpu.takes_beside);
    if (cpu.auxiliary != nullptr) kernel.keeps(cpu.auxiliary);
  }
}
