#include "tests/cpp/dispatch/test_device.h"

#include <bit>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "mindtorch/ops/functions.h"
#include "mindtorch/ops/refusal.h"
#include "mindtorch/runtime/accelerator.h"
#include "mindtorch/tensor/generator.h"

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

// --- attention -----------------------------------------------------------------------------------

// Notes of its own beside each row's logsumexp: the row's number, which the backward kernel checks.
constexpr int64_t kNotes = 2;
constexpr size_t kStats = 5;  // in the arguments of the backward op

ops::TensorSpec notes_of(Args args) {
  Shape sizes = args[0].tensor().sizes();
  sizes.back() = kNotes;
  return {std::move(sizes), DType::kFloat32, args[0].tensor().device(), std::nullopt};
}

Tensor logsumexp_of(const Tensor& notes) {
  Shape sizes = notes.sizes();
  sizes.pop_back();
  return Tensor::make(sizes, DType::kFloat32);
}

// Of dropout it keeps a seed and an offset, and draws again wherever they are read.
ops::TensorSpec dropped_of(Args args) {
  return {{2}, DType::kInt64, args[0].tensor().device(), std::nullopt};
}

void run_dropout_mask(Launch& launch, Args, std::span<Tensor> outputs) {
  ++TestDevice::instance().kernels;
  constexpr uint64_t kStep = 4;
  const GeneratorPtr& generator = default_generator(launch.device);
  const auto place = OffsetGenerator::from(*generator, kType).advance(kStep);
  queue(launch, [place, out = on_host(outputs[0])] {
    out.data<int64_t>()[0] = static_cast<int64_t>(place.seed);
    out.data<int64_t>()[1] = static_cast<int64_t>(place.offset);
  });
}

// What each element is multiplied by.
std::vector<double> noise_of(const Tensor& dropped, size_t count, double p) {
  const auto* const place = dropped.data<int64_t>();
  CpuGenerator generator(static_cast<uint64_t>(place[0] * 1000 + place[1]));
  std::vector<double> noise(count);
  for (double& each : noise) {
    each = static_cast<double>(generator.random32()) * 0x1p-32 < p ? 0 : 1 / (1 - p);
  }
  return noise;
}

void cast(const Tensor& from, const Tensor& to);

Tensor as_doubles(const Tensor& tensor) {
  const Tensor made = Tensor::make(tensor.sizes(), DType::kFloat64);
  cast(tensor, made);
  return made;
}

void run_masked_dropout(Launch& launch, Args args, std::span<Tensor> outputs) {
  ++TestDevice::instance().kernels;
  auto given = std::make_shared<HostArgs>(args);
  queue(launch, [given, out = on_host(outputs[0])] {
    const Args seen = given->args();
    const Tensor values = as_doubles(seen[0].tensor());
    const auto count = static_cast<size_t>(values.numel());
    const std::vector<double> noise = noise_of(seen[1].tensor(), count, seen[2].to_float());
    for (size_t i = 0; i < count; ++i) values.data<double>()[i] *= noise[i];
    cast(values, out);
  });
}

// A matrix of weights and its noise for each head of query, one after the other.
struct Dropped {
  // `first`: of the arguments that both directions have, beginning with query.
  Dropped(Args args, size_t first, size_t settings) {
    query = as_doubles(args[first].tensor());
    key = as_doubles(args[first + 1].tensor());
    value = as_doubles(args[first + 2].tensor());
    queries = query.size(-2);
    keys = key.size(-2);
    size = query.size(-1);
    value_size = value.size(-1);
    heads = query.numel() / (queries * size);
    shared = heads / (key.numel() / (keys * size));
    scale = args[settings + 1].to_float();
    weights_of(args, settings);
    noise =
        noise_of(args[args.size() - 2].tensor(), weights.size(), args[args.size() - 1].to_float());
  }

  // The mask of truths or numbers, and the causal one, are the CPU kernel's to apply: values that
  // tell which key they are of show the weights.
  void weights_of(Args args, size_t settings) {
    static const ops::Op& op = ops::registry().at("_scaled_dot_product_flash_attention");
    Shape sizes = key.sizes();
    sizes.back() = keys;
    const Tensor one = Tensor::make(sizes, DType::kFloat64);
    for (int64_t i = 0; i < one.numel(); ++i) {
      one.data<double>()[i] = i / keys % keys == i % keys ? 1 : 0;
    }
    sizes = query.sizes();
    sizes.back() = keys;
    Tensor out = Tensor::make(sizes, DType::kFloat64);
    Shape rows = query.sizes();
    rows.pop_back();
    Tensor targets[] = {out, Tensor::make(rows, DType::kFloat64), Tensor()};
    const Tensor none;
    const Value given[] = {query, key,  one, args[settings - 1], args[settings], scale,
                           false, none, 0.0};
    Launch host{DeviceType::kCpu};
    op.kernel(DeviceType::kCpu).impl(host, Args(given), std::span(targets));
    weights.assign(out.data<double>(), out.data<double>() + out.numel());
  }

  template <typename Visit>
  void each(const Visit& visit) const {
    for (int64_t head = 0; head < heads; ++head) {
      for (int64_t i = 0; i < queries; ++i) {
        for (int64_t j = 0; j < keys; ++j) {
          const auto at = static_cast<size_t>((head * queries + i) * keys + j);
          visit(at, head * queries + i, head / shared * keys + j);
        }
      }
    }
  }

  Tensor query, key, value;
  int64_t queries, keys, size, value_size, heads, shared;
  double scale;
  std::vector<double> weights, noise;
};

void attend_dropped(Args args, const Tensor& out) {
  const Dropped d(args, 0, 4);
  const Tensor sums = Tensor::make(out.sizes(), DType::kFloat64);
  std::fill_n(sums.data<double>(), sums.numel(), 0.0);
  d.each([&](size_t at, int64_t row, int64_t column) {
    for (int64_t k = 0; k < d.value_size; ++k) {
      sums.data<double>()[row * d.value_size + k] +=
          d.weights[at] * d.noise[at] * d.value.data<double>()[column * d.value_size + k];
    }
  });
  cast(sums, out);
}

void attend_dropped_backward(Args args, std::span<Tensor> outputs) {
  const Dropped d(args, 1, 8);
  const Tensor grad = as_doubles(args[0].tensor());
  std::vector<Tensor> sums;
  for (const Tensor& output : outputs) {
    sums.push_back(Tensor::make(output.sizes(), DType::kFloat64));
    std::fill_n(sums.back().data<double>(), sums.back().numel(), 0.0);
  }
  std::vector<double> of_weights(d.weights.size());
  std::vector<double> of_rows(static_cast<size_t>(d.heads * d.queries));
  d.each([&](size_t at, int64_t row, int64_t column) {
    double dot = 0;
    for (int64_t k = 0; k < d.value_size; ++k) {
      const double g = grad.data<double>()[row * d.value_size + k];
      dot += g * d.value.data<double>()[column * d.value_size + k];
      sums[2].data<double>()[column * d.value_size + k] += g * d.weights[at] * d.noise[at];
    }
    of_weights[at] = dot * d.noise[at];
    of_rows[static_cast<size_t>(row)] += of_weights[at] * d.weights[at];
  });
  d.each([&](size_t at, int64_t row, int64_t column) {
    const double of_score =
        d.weights[at] * (of_weights[at] - of_rows[static_cast<size_t>(row)]) * d.scale;
    for (int64_t k = 0; k < d.size; ++k) {
      sums[0].data<double>()[row * d.size + k] +=
          of_score * d.key.data<double>()[column * d.size + k];
      sums[1].data<double>()[column * d.size + k] +=
          of_score * d.query.data<double>()[row * d.size + k];
    }
  });
  for (size_t i = 0; i < sums.size(); ++i) cast(sums[i], outputs[i]);
}

bool drops(Args args) { return args[args.size() - 2].tensor().defined(); }

void run_attention(Launch& launch, Args args, std::span<Tensor> outputs) {
  ++TestDevice::instance().kernels;
  auto given = std::make_shared<HostArgs>(args);
  if (drops(args)) {
    return queue(launch,
                 [given, out = on_host(outputs[0])] { attend_dropped(given->args(), out); });
  }
  queue(launch, [&op = *launch.op, given, out = on_host(outputs[0]), notes = on_host(outputs[1])] {
    const Tensor logsumexp = logsumexp_of(notes);
    std::vector<Tensor> targets = {out, logsumexp, Tensor()};
    Launch host{DeviceType::kCpu};
    op.kernel(DeviceType::kCpu).impl(host, given->args(), targets);
    for (int64_t row = 0; row < logsumexp.numel(); ++row) {
      notes.data<float>()[row * kNotes] = logsumexp.data<float>()[row];
      notes.data<float>()[row * kNotes + 1] = static_cast<float>(row);
    }
  });
}

void run_attention_backward(Launch& launch, Args args, std::span<Tensor> outputs) {
  ++TestDevice::instance().kernels;
  auto given = std::make_shared<HostArgs>(args);
  std::vector<Tensor> targets;
  for (const Tensor& output : outputs) targets.push_back(on_host(output));
  if (drops(args)) {
    return queue(launch,
                 [given, targets]() mutable { attend_dropped_backward(given->args(), targets); });
  }
  queue(launch, [&op = *launch.op, given, targets]() mutable {
    const Tensor& notes = given->args()[kStats].tensor();
    const Tensor logsumexp = logsumexp_of(notes);
    for (int64_t row = 0; row < logsumexp.numel(); ++row) {
      if (notes.data<float>()[row * kNotes + 1] != static_cast<float>(row)) {
        ++TestDevice::instance().foreign_notes;
      }
      logsumexp.data<float>()[row] = notes.data<float>()[row * kNotes];
    }
    std::vector<Value> values(given->args().begin(), given->args().end());
    values[kStats] = Value(logsumexp);
    Launch host{DeviceType::kCpu};
    op.kernel(DeviceType::kCpu).impl(host, values, targets);
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
  const std::map<std::string, ops::ImplFn> own = {
      {"_scaled_dot_product_flash_attention", &run_attention},
      {"_scaled_dot_product_flash_attention_backward", &run_attention_backward}};
  for (const ops::Op& op : ops::registry().ops()) {
    const bool is_pointwise =
        op.kind == ops::OpKind::kPointwise && op.form == ops::OpForm::kPrimary;
    const ops::Kernel& cpu = op.kernel(DeviceType::kCpu);
    if (!cpu && !is_pointwise) continue;
    const std::string name = op.schema.full_name();
    const auto special = own.find(name);
    ops::ImplFn impl = special != own.end() ? special->second : &run_kernel;
    if (cpu.dynamic != nullptr) impl = nullptr;
    ops::KernelStatement kernel =
        registry().raw_kernel(kType, name, impl, cpu.dynamic == nullptr ? nullptr : &run_dynamic);
    kernel.takes(cpu.takes, cpu.takes_beside);
    if (impl == &run_attention) {
      kernel.keeps([](Args args, ops::SpecList& specs) { specs.push_back(notes_of(args)); });
    } else if (cpu.auxiliary != nullptr) {
      kernel.keeps(cpu.auxiliary);
    }
  }
  const DTypeSet floats = bit(DType::kFloat16) | bit(DType::kFloat32);
  registry()
      .raw_kernel(kType, "_dropout_mask", &run_dropout_mask)
      .takes(floats, bit(DType::kInt64))
      .keeps([](Args args, ops::SpecList& specs) { specs.push_back(dropped_of(args)); });
  registry().raw_kernel(kType, "_masked_dropout", &run_masked_dropout).takes(floats);
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
