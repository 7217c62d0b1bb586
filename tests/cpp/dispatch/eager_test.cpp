#include "mindtorch/dispatch/eager/eager.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <vector>

#include "mindtorch/base/warning.h"
#include "mindtorch/ops/refusal.h"
#include "mindtorch/ops/registry.h"
#include "tests/cpp/support/errors.h"

namespace mindtorch::dispatch {
namespace {

using ops::Args;
using ops::Launch;
using ops::Outputs;
using ops::SpecList;
using ops::TensorSpec;
using ops::Value;
using testing::error_of;

int g_kernel_runs = 0;
const void* g_last_output = nullptr;

TensorSpec like(const Tensor& self) { return {self.sizes(), self.dtype(), self.device(), {}}; }
TensorSpec pair(const Tensor& self, const Tensor&) { return like(self); }
TensorSpec of_list(TensorList tensors) { return like(tensors[0]); }
TensorSpec as_float(const Tensor& self) {
  return {self.sizes(), DType::kFloat32, self.device(), {}};
}
TensorSpec row_notes(const Tensor& self) {
  return {{self.size(0)}, DType::kFloat64, self.device(), {}};
}
TensorSpec flat(const Tensor& self) { return {{self.numel()}, self.dtype(), self.device(), {}}; }
SpecList value_and_index(const Tensor& self) {
  return {like(self), {self.sizes(), DType::kInt64, self.device(), {}}};
}
SpecList no_result(const Tensor&) { return {}; }
TensorSpec filled(IntList size, std::optional<DType> dtype, std::optional<Device> device) {
  return {Shape(size), dtype.value_or(DType::kFloat32), device.value_or(Device()), {}};
}
TensorSpec mixed(const Tensor& self, const Tensor&, bool) { return like(self); }
TensorSpec flagged(const Tensor& self, bool) { return like(self); }
void nothing(const Tensor&) {}

void count(const Tensor& out) {
  ++g_kernel_runs;
  g_last_output = out.data_ptr();
}
// Each output element is the input element plus one; all tensors are contiguous floats.
void plus_one(Launch&, const Tensor& self, Tensor& out) {
  count(out);
  for (int64_t i = 0; i < out.numel(); ++i) out.data<float>()[i] = self.data<float>()[i] + 1;
}
void pair_kernel(Launch&, const Tensor&, const Tensor&, Tensor& out) { count(out); }
void mixed_kernel(Launch&, const Tensor&, const Tensor&, bool, Tensor& out) { count(out); }
void flagged_kernel(Launch&, const Tensor&, bool, Tensor& out) { count(out); }
void list_kernel(Launch&, TensorList, Tensor& out) { count(out); }
void two_kernel(Launch&, const Tensor&, Tensor& values, Tensor&) { count(values); }
void note_kernel(Launch&, const Tensor&, Tensor& notes) { count(notes); }
void filled_kernel(Launch&, IntList, std::optional<DType>, std::optional<Device>, Tensor& out) {
  count(out);
}
void mutate_kernel(Launch&, const Tensor& self) { count(self); }
Tensor dynamic_kernel(Launch&, const Tensor& self) { return self; }

const ops::Registry& test_ops() {
  static const ops::Registry& made = []() -> const ops::Registry& {
    auto& ops = *new ops::Registry;
    constexpr DeviceType kCpu = DeviceType::kCpu;
    ops.define<like>("plus(Tensor self) -> Tensor").variants(ops::kInplaceAndOut);
    ops.kernel<plus_one>(kCpu, "plus");
    ops.define<pair>("pair(Tensor self, Tensor other) -> Tensor").variants(ops::kOutVariant);
    ops.kernel<pair_kernel>(kCpu, "pair");
    ops.define<mixed>("mixed(Tensor self, Tensor other, bool now) -> Tensor")
        .copies_from("other", "now");
    ops.kernel<mixed_kernel>(kCpu, "mixed");
    ops.define<of_list>("join(Tensor[] tensors) -> Tensor").variants(ops::kOutVariant).joins();
    ops.define<of_list>("multiply(Tensor[] tensors) -> Tensor").variants(ops::kOutVariant);
    ops.kernel<list_kernel>(kCpu, "multiply");
    ops.kernel<list_kernel>(kCpu, "join");
    ops.define<as_float>("as_float(Tensor self) -> Tensor").variants(ops::kInplaceAndOut);
    ops.kernel<plus_one>(kCpu, "as_float");
    ops.define<flagged>("flagged(Tensor self, bool flag) -> Tensor")
        .variants(ops::kOutVariant)
        .out_dtype(ops::TargetDType::kFloating, "$R is $r, $O is $o, flag is ${flag}");
    ops.kernel<flagged_kernel>(kCpu, "flagged");
    ops.define<flat>("flat(Tensor self) -> Tensor").variants(ops::kInplaceAndOut);
    ops.kernel<plus_one>(kCpu, "flat");
    ops.define<value_and_index>("two(Tensor self) -> (Tensor values, Tensor indices)")
        .variants(ops::kOutVariant);
    ops.kernel<two_kernel>(kCpu, "two");
    ops.define<filled>(
           "filled(int[] size, *, ScalarType? dtype=None, Device? device=None) -> Tensor")
        .variants(ops::kOutVariant);
    ops.kernel<filled_kernel>(kCpu, "filled");
    ops.define<nothing>("change_(Tensor(a!) self) -> Tensor(a!)");
    ops.kernel<mutate_kernel>(kCpu, "change_");
    ops.define<like>("lacking(Tensor self) -> Tensor").variants(ops::kOutVariant);
    ops.define<nothing>("lacking_change_(Tensor(a!) self) -> Tensor(a!)");
    ops.define("lacking_dynamic(Tensor self) -> Tensor").dynamic();
    ops.define<pair>("picky(Tensor self, Tensor index) -> Tensor");
    ops.kernel<pair_kernel>(kCpu, "picky").takes(bit(DType::kFloat32) | bit(DType::kComplex64));
    ops.define<like>("noted(Tensor self) -> (Tensor, Tensor notes)").auxiliary(1);
    ops.kernel<two_kernel>(kCpu, "noted").keeps<row_notes>();
    ops.define<like>("forgetful(Tensor self) -> (Tensor, Tensor notes)").auxiliary(1);
    ops.kernel<two_kernel>(kCpu, "forgetful");
    ops.define<no_result>("noting(Tensor self) -> Tensor").auxiliary(1);
    ops.kernel<note_kernel>(kCpu, "noting").keeps<row_notes>();
    ops.define("unwritten(Tensor self) -> Tensor");
    ops.define("search(Tensor self) -> Tensor").dynamic();
    ops.dynamic_kernel<dynamic_kernel>(kCpu, "search");
    return ops;
  }();
  return made;
}

SmallVector<Tensor, 2> run(std::string_view op, std::initializer_list<Value> args) {
  Outputs outputs;
  run_eager(test_ops().at(op), Args(args.begin(), args.size()), outputs);
  return std::move(outputs.tensors);
}
std::string failure(std::string_view op, std::initializer_list<Value> args) {
  return error_of<RuntimeError>([&] { run(op, args); });
}

Tensor floats(std::initializer_list<float> values) {
  Tensor tensor = Tensor::make({static_cast<int64_t>(values.size())}, DType::kFloat32);
  std::copy(values.begin(), values.end(), tensor.data<float>());
  return tensor;
}
Tensor meta(IntList sizes) { return Tensor::make(sizes, DType::kFloat32, DeviceType::kMeta); }

constexpr const char* kOverlapsItself =
    "unsupported operation: more than one element of the written-to tensor refers to a single "
    "memory location. Please clone() the tensor before performing the operation.";

class EagerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    g_kernel_runs = 0;
    warnings().clear();
    set_warning_handler([](const std::string& text) { warnings().push_back(text); });
  }
  void TearDown() override { set_warning_handler(nullptr); }
  static std::vector<std::string>& warnings() {
    static std::vector<std::string> texts;
    return texts;
  }
};

// --- devices
// --------------------------------------------------------------------------------------

TEST_F(EagerTest, RefusesTensorsOfTwoDevices) {
  EXPECT_EQ(failure("pair", {floats({1, 2}), meta({2})}),
            "Expected all tensors to be on the same device, but found at least two devices, cpu "
            "and meta! (when checking arguments of pair)");
  EXPECT_NE(failure("pair", {meta({2}), floats({1, 2})}), "no error");
  const Tensor list[] = {floats({1}), Tensor(), meta({1})};
  EXPECT_NE(failure("join", {TensorList(list)}), "no error");
  EXPECT_EQ(g_kernel_runs, 0);
}

TEST_F(EagerTest, AZeroDimCpuTensorJoinsAnyDevice) {
  const Tensor number = Tensor::make({}, DType::kFloat32);
  EXPECT_TRUE(run("pair", {meta({2}), number})[0].device().is_meta());
  run("pair", {number, meta({2})});
  EXPECT_NE(failure("pair", {floats({1}), meta({})}), "no error");
}

TEST_F(EagerTest, SomeOpsTakeAnyDevice) {
  run("mixed", {floats({1, 2}), meta({2}), true});
  EXPECT_EQ(g_kernel_runs, 1);
}

TEST_F(EagerTest, OnMetaOnlyTheRuleRuns) {
  const Tensor result = run("plus", {meta({2, 3})})[0];
  EXPECT_EQ(result.sizes(), (Shape{2, 3}));
  EXPECT_EQ(g_kernel_runs, 0);
}

// --- what is missing
// ------------------------------------------------------------------------------

TEST_F(EagerTest, AMissingKernelNamesOpDeviceAndDtype) {
  const Tensor tensor = floats({1});
  const auto missing = [&](std::string_view op, std::initializer_list<Value> args) {
    return error_of<NotImplementedError>([&] { run(op, args); });
  };
  EXPECT_EQ(missing("lacking", {tensor}),
            "Could not run 'lacking' on device cpu for torch.float32: there is no kernel for it");
  EXPECT_EQ(missing("lacking.out", {tensor, floats({1})}),
            "Could not run 'lacking' on device cpu for torch.float32: there is no kernel for it");
  EXPECT_EQ(missing("lacking_change_", {tensor}),
            "Could not run 'lacking_change_' on device cpu for torch.float32: there is no kernel "
            "for it");
  EXPECT_EQ(missing("lacking_dynamic", {tensor}),
            "Could not run 'lacking_dynamic' on device cpu for torch.float32: there is no kernel "
            "for it");
  EXPECT_EQ(missing("search", {meta({2})}),
            "Could not run 'search' on device meta for torch.float32: its output shape depends on "
            "the data");
  EXPECT_EQ(missing("unwritten", {tensor}), "op unwritten has no implementation");
  EXPECT_EQ(tensor.version(), 0u);
}

// --- what a device's kernel states of itself
// -------------------------------------------------------

TEST_F(EagerTest, AKernelTakesTheDTypesItStates) {
  const auto tensor = [](DType dtype) { return Tensor::make({2}, dtype); };
  const auto refused = [&](const Tensor& self, const Tensor& index) {
    return error_of<NotImplementedError>([&] { run("picky", {self, index}); });
  };
  run("picky", {tensor(DType::kFloat32), tensor(DType::kInt64)});
  run("picky", {tensor(DType::kComplex64), tensor(DType::kInt64)});
  EXPECT_EQ(g_kernel_runs, 2);
  EXPECT_EQ(refused(tensor(DType::kInt64), tensor(DType::kInt64)),
            "\"picky\" not implemented for 'Long'");
  EXPECT_EQ(refused(tensor(DType::kFloat32), tensor(DType::kComplex128)),
            "\"picky\" not implemented for 'ComplexDouble'");
  EXPECT_EQ(g_kernel_runs, 2);
  // Where nothing is computed, nothing is refused.
  run("picky", {Tensor::make({2}, DType::kInt64, DeviceType::kMeta), meta({2})});
}

TEST_F(EagerTest, ARefusalElsewhereNamesWhatIsTaken) {
  ops::Op op = test_ops().at("picky");
  op.kernels[static_cast<int>(DeviceType::kNpu)] = op.kernel(DeviceType::kCpu);
  EXPECT_EQ(error_of<NotImplementedError>(
                [&] { ops::refuse_dtype(op, Device(DeviceType::kNpu, 1), DType::kInt64); }),
            "Could not run 'picky' on device npu:1 for torch.int64: it takes float32, complex64");
}

TEST_F(EagerTest, AChipMayTakeFewerDTypes) {
  const auto given_to = [](const char* chip, DType dtype) {
    ops::Registry ops;
    ops.define<like>("plus(Tensor self) -> Tensor");
    ops.kernel<plus_one>(DeviceType::kNpu, "plus")
        .takes(kFloatTypes)
        .without("Small", kHalfTypes)
        .without("Smallest", bit(DType::kFloat64));
    ops.use_chip(DeviceType::kNpu, chip, chip);
    const ops::Op& op = ops.at("plus");
    if (contains(op.kernel(DeviceType::kNpu).takes, dtype)) return std::string("taken");
    return error_of<NotImplementedError>(
        [&] { ops::refuse_dtype(op, Device(DeviceType::kNpu, 0), dtype); });
  };
  EXPECT_EQ(given_to("Large1", DType::kFloat16), "taken");
  EXPECT_EQ(given_to("Small3", DType::kFloat64), "taken");
  EXPECT_EQ(given_to("Small3", DType::kFloat16),
            "Could not run 'plus' on device npu:0, Small3 for torch.float16: it takes float32, "
            "float64");
  EXPECT_EQ(given_to("Smallest", DType::kFloat64),
            "Could not run 'plus' on device npu:0, Smallest for torch.float64: it takes float32");
  // What no chip takes is not the chip's fault.
  EXPECT_EQ(given_to("Small3", DType::kInt8),
            "Could not run 'plus' on device npu:0 for torch.int8: it takes float32, float64");
}

TEST_F(EagerTest, AKernelStatesWhatItKeeps) {
  const auto noted = run("noted", {Tensor::make({3, 2}, DType::kFloat32)});
  EXPECT_EQ(noted[0].sizes(), (Shape{3, 2}));
  EXPECT_EQ(noted[1].sizes(), (Shape{3}));
  EXPECT_EQ(noted[1].dtype(), DType::kFloat64);
  EXPECT_EQ(run("forgetful", {Tensor::make({3, 2}, DType::kFloat32)})[1].sizes(), (Shape{0}));
  EXPECT_EQ(run("noted", {meta({3, 2})})[1].sizes(), (Shape{0}));
  const auto noting = run("noting", {Tensor::make({3, 2}, DType::kFloat32)});
  EXPECT_EQ(noting[0].sizes(), (Shape{3}));  // it has no other result
  EXPECT_EQ(run("noting", {meta({3, 2})})[0].device(), meta({1}).device());
  ops::Registry ops;
  ops.define<like>("plain(Tensor self) -> Tensor");
  EXPECT_THROW(ops.kernel<plus_one>(DeviceType::kCpu, "plain").keeps<row_notes>(), RuntimeError);
}

TEST_F(EagerTest, AnOpKnowsWhichDevicesHaveIt) {
  EXPECT_TRUE(test_ops().at("picky").has_kernel(DeviceType::kCpu));
  EXPECT_FALSE(test_ops().at("picky").has_kernel(DeviceType::kNpu));
  EXPECT_TRUE(test_ops().at("lacking").has_kernel(DeviceType::kMeta));
  EXPECT_FALSE(test_ops().at("search").has_kernel(DeviceType::kMeta));
}

// --- in place
// -------------------------------------------------------------------------------------

TEST_F(EagerTest, InPlaceWritesAndCounts) {
  const Tensor tensor = floats({1, 2});
  EXPECT_TRUE(run("plus_", {tensor})[0].is_same(tensor));
  EXPECT_EQ(tensor.data<float>()[1], 3);
  EXPECT_EQ(tensor.version(), 1u);
  EXPECT_TRUE(run("change_", {tensor})[0].is_same(tensor));
  EXPECT_EQ(tensor.version(), 2u);
}

TEST_F(EagerTest, InPlaceRefusesAnotherShapeOrAWiderDtype) {
  const Tensor matrix = Tensor::make({2, 2}, DType::kFloat32);
  EXPECT_EQ(failure("flat_", {matrix}),
            "output with shape [2, 2] doesn't match the broadcast shape [4]");
  const Tensor ints = Tensor::make({2}, DType::kInt32);
  EXPECT_EQ(failure("as_float_", {ints}),
            "result type Float can't be cast to the desired output type Int");
  EXPECT_EQ(matrix.version() + ints.version(), 0u);
}

TEST_F(EagerTest, WritingRefusesTensorsThatOverlapThemselves) {
  const Tensor expanded = floats({1}).alias({3}, {0}, 0);
  EXPECT_EQ(failure("plus_", {expanded}), kOverlapsItself);
  EXPECT_EQ(failure("change_", {expanded}), kOverlapsItself);
  EXPECT_EQ(failure("plus.out", {floats({1, 2, 3}), expanded}), kOverlapsItself);
  EXPECT_EQ(g_kernel_runs, 0);
}

// --- out=
// -----------------------------------------------------------------------------------------

TEST_F(EagerTest, OutIsWrittenDirectlyWhenItFits) {
  const Tensor out = floats({0, 0});
  const auto result = run("plus.out", {floats({1, 2}), out});
  EXPECT_TRUE(result[0].is_same(out));
  EXPECT_EQ(g_last_output, out.data_ptr());
  EXPECT_EQ(out.data<float>()[1], 3);
  EXPECT_EQ(out.version(), 1u);
  EXPECT_TRUE(warnings().empty());
}

TEST_F(EagerTest, OutGoesThroughACopyWhenItsLayoutDiffersOrItIsAnInput) {
  const Tensor strided = floats({0, 0, 0}).alias({2}, {2}, 0);
  run("plus.out", {floats({1, 2}), strided});
  EXPECT_NE(g_last_output, strided.data_ptr());
  EXPECT_EQ(strided.data<float>()[0], 2);
  EXPECT_EQ(strided.data<float>()[2], 3);

  const Tensor both = floats({1, 2});
  run("plus.out", {both, both});
  EXPECT_NE(g_last_output, both.data_ptr());
  EXPECT_EQ(both.data<float>()[1], 3);
}

TEST_F(EagerTest, OutOfAnotherSizeIsResizedWithAWarningUnlessEmpty) {
  const Tensor empty = Tensor::make({0}, DType::kFloat32);
  run("plus.out", {floats({1, 2}), empty});
  EXPECT_EQ(empty.sizes(), (Shape{2}));
  EXPECT_TRUE(warnings().empty());

  const Tensor wrong = floats({0, 0, 0});
  run("plus.out", {floats({1, 2}), wrong});
  EXPECT_EQ(wrong.sizes(), (Shape{2}));
  ASSERT_EQ(warnings().size(), 1u);
  EXPECT_EQ(warnings()[0].find("An output with one or more elements was resized since it had "
                               "shape [3], which does not match the required output shape [2]"),
            0u);
}

TEST_F(EagerTest, OutMustBeAbleToHoldTheResult) {
  EXPECT_EQ(failure("as_float.out", {floats({1}), Tensor::make({1}, DType::kInt64)}),
            "Expected out tensor to have dtype float, but got long int instead");
  EXPECT_NE(failure("plus.out", {floats({1}), meta({1})}), "no error");
  EXPECT_EQ(failure("two.out", {floats({1}), floats({0}), floats({0})}),
            "Expected out tensor to have dtype long int, but got float instead");
  const Storage fixed = StorageImpl::borrow(nullptr, 0, DeviceType::kCpu, [](void*) {}, nullptr);
  EXPECT_EQ(failure("plus.out", {floats({1}), Tensor::over(fixed, DType::kFloat32, {0}, {1}, 0)}),
            "Trying to resize storage that is not resizable");
  EXPECT_EQ(g_kernel_runs, 0);
}

TEST_F(EagerTest, OutMustNotOverlapListedInputsInPart) {
  const Tensor whole = floats({1, 2, 3});
  const Tensor list[] = {whole.alias({2}, {1}, 0)};
  EXPECT_NE(failure("join.out", {TensorList(list), whole.alias({2}, {1}, 1)})
                .find("some elements of the input tensor and the written-to tensor refer to"),
            std::string::npos);
  EXPECT_EQ(whole.version(), 0u);
  EXPECT_EQ(failure("multiply.out", {TensorList(list), whole.alias({2}, {1}, 1)}), "no error");
}

TEST_F(EagerTest, TraitsSayWhichDtypesOutMayHaveAndInWhichWordsOthersAreRefused) {
  run("flagged.out", {floats({1}), true, Tensor::make({1}, DType::kFloat64)});
  EXPECT_EQ(failure("flagged.out", {floats({1}), true, Tensor::make({1}, DType::kInt64)}),
            "Float is float, Long is long int, flag is True");
  EXPECT_EQ(failure("flagged.out", {floats({1}), false, Tensor::make({1}, DType::kBool)}),
            "Float is float, Bool is bool, flag is False");
}

TEST_F(EagerTest, OutDecidesWhatAFactoryMakes) {
  const Tensor out = Tensor::make({2}, DType::kInt16);
  run("filled.out", {IntList{2}, Value(), Value(), out});
  EXPECT_EQ(g_last_output, out.data_ptr());
  run("filled.out", {IntList{2}, DType::kInt16, Device(), out});
  EXPECT_EQ(failure("filled.out", {IntList{2}, DType::kFloat32, Value(), out}),
            "dtype Float does not match dtype of out parameter (Short)");
  EXPECT_EQ(failure("filled.out", {IntList{2}, Value(), Device(DeviceType::kMeta), out}),
            "device type meta does not match device type of out parameter (cpu)");
}

}  // namespace
}  // namespace mindtorch::dispatch
