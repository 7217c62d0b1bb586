#include "tests/cpp/dispatch/test_device.h"

#include <bit>
#include <cstring>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "mindtorch/ops/functions.h"
#include "mindtorch/ops/refusal.h"
#include "mindtorch/runtime/accelerator.h"

namespace mindtorch::test {
namespace {

using ops::Args;
using ops::Launch;
using ops::Value;

constexpr DeviceType kType = TestDevice::kType;

// The same memory, seen as the host's. A number of the host is read now.
Tensor on_host(const Tensor& tensor) {
  if (!tensor.defined()) return tensor;
  if (tensor.device().is_cpu()) {
    Tensor copy = Tensor::make(tensor.sizes(), tensor.dtype());
    std::memcpy(copy.data_ptr(), tensor.data_ptr(), static_cast<size_t>(tensor.element_size()));
    copy.impl()->is_wrapped_number = tensor.is_wrapped_number();
    return copy;
  }
  const Storage storage =
      StorageImpl::borrow(const_cast<void*>(tensor.storage()->data()),
                          tensor.storage()->size_bytes(), DeviceType::kCpu, nullptr, nullptr);
  return Tensor(IntrusivePtr<TensorImpl>::adopt(new TensorImpl(
      storage, tensor.dtype(), tensor.sizes(), tensor.strides(), tensor.storage_offset())));
}

// What a kernel is given, owned until the stream gets round to it.
class HostArgs {
 public:
  explicit HostArgs(Args args) {
    tensors_.reserve(args.size());
    lists_.reserve(args.size());
    ints_.reserve(args.size());
    for (const Value& value : args) {
      if (value.kind() == ops::ValueKind::kTensor) {
        values_.emplace_back(tensors_.emplace_back(on_host(value.tensor())));
      } else if (value.kind() == ops::ValueKind::kTensorList) {
        std::vector<Tensor>& list = lists_.emplace_back();
        for (const Tensor& each : value.tensor_list()) list.push_back(on_host(each));
        values_.emplace_back(TensorList(list));
      } else if (value.kind() == ops::ValueKind::kIntList) {
        std::vector<int64_t>& list =
            ints_.emplace_back(value.int_list().begin(), value.int_list().end());
        values_.emplace_back(IntList(list));
      } else if (value.kind() == ops::ValueKind::kGenerator) {
        values_.emplace_back();  // it is not the host's
      } else {
        values_.push_back(value);
      }
    }
  }
  Args args() const { return values_; }

 private:
  std::vector<Tensor> tensors_;
  std::vector<std::vector<Tensor>> lists_;
  std::vector<std::vector<int64_t>> ints_;
  std::vector<Value> values_;
};

void queue(const Launch& launch, std::function<void()> work) {
  TestDevice::instance().driver().launch(launch.device.index, launch.stream.handle(),
                                         std::move(work));
}

// The same tensor in the device's memory.
Tensor on_device(const Launch& launch, const Tensor& made) {
  const Tensor result =
      Tensor::make_strided(made.sizes(), made.strides(), made.dtype(), launch.device);
  const Tensor target = on_host(result);
  queue(launch, [made, target] {
    std::memcpy(target.storage()->mutable_data(), made.data_ptr(),
                static_cast<size_t>(extent(made.sizes(), made.strides()) * made.element_size()));
  });
  return result;
}

// Its results depend on what the operands hold: the stream is waited for.
void run_dynamic(Launch& launch, Args args, ops::Outputs& outputs) {
  ++TestDevice::instance().kernels;
  launch.stream.synchronize();
  Launch host{DeviceType::kCpu};
  ops::Outputs made;
  launch.op->kernel(DeviceType::kCpu).dynamic(host, HostArgs(args).args(), made);
  outputs.scalar = made.scalar;
  for (const Tensor& tensor : made.tensors) outputs.tensors.push_back(on_device(launch, tensor));
}

void run_kernel(Launch& launch, Args args, std::span<Tensor> outputs) {
  ++TestDevice::instance().kernels;
  auto given = std::make_shared<HostArgs>(args);
  std::vector<Tensor> targets;
  for (const Tensor& output : outputs) targets.push_back(on_host(output));
  queue(launch, [&op = *launch.op, given, targets]() mutable {
    Launch host{DeviceType::kCpu};
    if (op.kind == ops::OpKind::kPointwise) {
      const ops::PointwiseCall call = op.resolve(given->args());
      ops::registry().pointwise_engine(DeviceType::kCpu)(host, call, targets[0]);
    } else {
      op.kernel(DeviceType::kCpu).impl(host, given->args(), targets);
    }
  });
}

void compute(ops::PointwiseCall call, std::vector<Tensor> operands, const Tensor& out) {
  call.count = 0;
  for (const Tensor& operand : operands) call.on(operand);
  Launch host{DeviceType::kCpu};
  ops::registry().pointwise_engine(DeviceType::kCpu)(host, call, out);
}

// Numbers of the host may be of any dtype.
void check_pointwise(const ops::PointwiseCall& call) {
  Device device = DeviceType::kCpu;
  DTypeSet dtypes = bit(call.compute) | bit(call.result);
  for (int i = 0; i < call.count; ++i) {
    if (call.operands[i]->device().is_cpu()) continue;
    device = call.operands[i]->device();
    dtypes |= bit(call.operands[i]->dtype());
  }
  const DTypeSet refused = dtypes & ~TestDevice::kDTypes;
  if (refused == 0) return;
  ops::refuse(ops::function_info(call.function).name, device,
              static_cast<DType>(std::countr_zero(refused)), "the device has no such numbers");
}

void run_pointwise(Launch& launch, const ops::PointwiseCall& call, const Tensor& out) {
  check_pointwise(call);
  ++TestDevice::instance().pointwise;
  std::vector<Tensor> operands;
  for (int i = 0; i < call.count; ++i) operands.push_back(on_host(*call.operands[i]));
  queue(launch, [call, operands, target = on_host(out)] { compute(call, operands, target); });
}

void cast(const Tensor& from, const Tensor& to) {
  static const ops::Op& copy = ops::registry().at("copy_");
  const Value args[] = {to, from, false};
  Launch host{DeviceType::kCpu};
  copy.kernel(DeviceType::kCpu).impl(host, Args(args), {});
}

Tensor over(void* data, const ops::FusedLayout& layout, const Shape& sizes) {
  size_t bytes = static_cast<size_t>(extent(sizes, layout.strides) * size_bytes(layout.dtype));
  return Tensor(IntrusivePtr<TensorImpl>::adopt(
      new TensorImpl(StorageImpl::borrow(data, bytes, DeviceType::kCpu, nullptr, nullptr),
                     layout.dtype, sizes, layout.strides, 0)));
}

// Over the leading dims, which stay, with one element.
Tensor sum_of_leading(const Tensor& values, size_t dims) {
  static const ops::Op& sum = ops::registry().at("sum.dim_IntList");
  Shape which;
  Shape sizes(values.sizes());
  for (size_t d = 0; d < dims; ++d) {
    which.push_back(static_cast<int64_t>(d));
    sizes[d] = 1;
  }
  Tensor out[] = {Tensor::make(sizes, values.dtype())};
  const Value args[] = {values, IntList(which), true, {}};
  Launch host{DeviceType::kCpu};
  sum.kernel(DeviceType::kCpu).impl(host, Args(args), std::span(out));
  return out[0];
}

// Step by step, every value in full. What is read is read before anything is stored.
void run_group(const ops::FusedGroup& group,
               const std::vector<Tensor>& inputs,
               const std::vector<Tensor>& stores) {
  std::vector<Tensor> values = inputs;
  for (const ops::FusedStep& step : group.steps) {
    if (step.leading_dims != 0) {
      values.push_back(sum_of_leading(values[step.operands[0]], step.leading_dims));
      continue;
    }
    const Tensor out = Tensor::make(group.sizes, step.result);
    if (step.is_copy) {
      cast(values[step.operands[0]], out);
    } else {
      ops::PointwiseCall call(step.function, step.compute, step.result);
      call.params = step.params;
      call.unrounded = step.unrounded;
      std::vector<Tensor> operands;
      for (int i = 0; i < step.count; ++i) operands.push_back(values[step.operands[i]]);
      compute(call, operands, out);
    }
    values.push_back(out);
  }
  for (size_t i = 0; i < stores.size(); ++i) cast(values[group.stores[i].value], stores[i]);
}

class Program final : public ops::FusedProgram {
 public:
  explicit Program(ops::FusedGroup group) : group_(std::move(group)) {}
  void run(Launch& launch, std::span<void* const> addresses) const override {
    TestDevice& device = TestDevice::instance();
    ++device.groups;
    device.largest_group = std::max(device.largest_group.load(), group_.steps.size());
    std::vector<Tensor> inputs;
    for (size_t i = 0; i < group_.inputs.size(); ++i) {
      Tensor input = over(addresses[i], group_.inputs[i], group_.sizes);
      if (group_.inputs[i].is_number) {
        const Tensor copy = Tensor::make({}, input.dtype());
        std::memcpy(copy.data_ptr(), addresses[i], static_cast<size_t>(input.element_size()));
        input = copy.alias(group_.sizes, Shape(group_.inputs[i].strides), 0);
      }
      inputs.push_back(input);
    }
    std::vector<Tensor> stores;
    for (size_t i = 0; i < group_.stores.size(); ++i) {
      Shape sizes = group_.sizes;
      const size_t value = group_.stores[i].value;
      if (value >= inputs.size()) {
        std::fill_n(sizes.begin(), group_.steps[value - inputs.size()].leading_dims, 1);
      }
      stores.push_back(over(addresses[inputs.size() + i], group_.stores[i].layout, sizes));
    }
    queue(launch, [group = group_, inputs, stores] { run_group(group, inputs, stores); });
  }

 private:
  const ops::FusedGroup group_;
};

// Has every function, at once.
class Engine final : public ops::FusionEngine {
 public:
  Engine()
      : FusionEngine({.max_steps = TestDevice::kMaxSteps,
                      .max_inputs = TestDevice::kMaxInputs,
                      .max_stores = TestDevice::kMaxStores}) {}
  using FusionEngine::can_fuse;
  bool can_fuse(ops::Pointwise, DType) const override { return true; }
  bool can_fuse_leading(ops::RowFunction function, DType) const override {
    return function == ops::RowFunction::kSum;
  }
  ops::Preparation prepare(const ops::FusedGroup& group, const ops::FusedProgram*) const override {
    return ops::Preparation::ready(TestDevice::program(group));
  }
};

}  // namespace

TestDevice& TestDevice::instance() {
  static auto* const device = new TestDevice;
  return *device;
}

ops::Registry& TestDevice::registry() { return const_cast<ops::Registry&>(ops::registry()); }

TestDevice::TestDevice() {
  auto driver = std::make_unique<FakeDriver>(FakeOptions{.kind = "cuda",
                                                         .backed = true,
                                                         .auto_finish = true,
                                                         .graph_capture = true,
                                                         .graph_editing = true});
  driver_ = driver.get();
  runtime::find_accelerator("npu");  // the library's own drivers come first
  runtime::register_driver(std::move(driver));
  registry().device_dtypes(kType, kDTypes);
  for (const ops::Op& op : ops::registry().ops()) {
    const bool is_pointwise =
        op.kind == ops::OpKind::kPointwise && op.form == ops::OpForm::kPrimary;
    const ops::Kernel& cpu = op.kernel(DeviceType::kCpu);
    if (!cpu && !is_pointwise) continue;
    const bool is_dynamic = cpu.dynamic != nullptr;
    ops::KernelStatement kernel =
        registry().raw_kernel(kType, op.schema.full_name(), is_dynamic ? nullptr : &run_kernel,
                              is_dynamic ? &run_dynamic : nullptr);
    kernel.takes(cpu.takes, cpu.takes_beside);
    if (cpu.auxiliary != nullptr) kernel.keeps(cpu.auxiliary);
  }
  registry().pointwise_engine(kType, &run_pointwise, &check_pointwise);
  registry().fusion_engine(kType, new Engine);
}

std::shared_ptr<const ops::FusedProgram> TestDevice::program(const ops::FusedGroup& group) {
  return std::make_shared<Program>(group);
}

WithoutPointwiseEngine::WithoutPointwiseEngine()
    : engine_(ops::registry().pointwise_engine(kType)),
      fusion_(ops::registry().fusion_engine(kType)) {
  TestDevice::instance().registry().pointwise_engine(kType, nullptr);
  TestDevice::instance().registry().fusion_engine(kType, nullptr);
}

WithoutPointwiseEngine::~WithoutPointwiseEngine() {
  TestDevice::instance().registry().pointwise_engine(kType, engine_);
  TestDevice::instance().registry().fusion_engine(kType, fusion_);
}

WithFusionEngineOnly::WithFusionEngineOnly()
    : engine_(TestDevice::instance().registry().pointwise_engine(kType)) {
  ops::Registry& registry = TestDevice::instance().registry();
  registry.pointwise_engine(kType, nullptr);
  registry.fusion_engine(kType, registry.fusion_engine(kType));
}

WithFusionEngineOnly::~WithFusionEngineOnly() {
  TestDevice::instance().registry().pointwise_engine(kType, engine_);
}

WithFusionEngine::WithFusionEngine(const ops::FusionEngine& engine)
    : before_(TestDevice::instance().registry().fusion_engine(kType)) {
  TestDevice::instance().registry().fusion_engine(kType, &engine);
}

WithFusionEngine::~WithFusionEngine() {
  TestDevice::instance().registry().fusion_engine(kType, before_);
}

}  // namespace mindtorch::test
