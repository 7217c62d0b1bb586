#include "mindtorch/ops/registry.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include "tests/cpp/support/errors.h"

namespace mindtorch::ops {
namespace {

using testing::error_of;

TensorSpec like(const Tensor& self) { return {self.sizes(), self.dtype(), self.device(), {}}; }
SpecList two_like(const Tensor& self) { return {like(self), like(self)}; }
ViewSpec same(const Tensor& self) { return {self.sizes(), self.strides(), self.storage_offset()}; }
PointwiseCall absolute(const Tensor& self) {
  return PointwiseCall(Pointwise::kAbs, self.dtype(), self.dtype()).on(self);
}
void nothing(const Tensor&) {}
TensorSpec with_int(const Tensor& self, int64_t) { return like(self); }
TensorSpec with_float(const Tensor& self, double) { return like(self); }
TensorSpec with_optional(const Tensor& self, std::optional<int64_t>) { return like(self); }

void unary_kernel(Launch&, const Tensor&, Tensor&) {}
void two_outputs(Launch&, const Tensor&, Tensor&, Tensor&) {}
void int_kernel(Launch&, const Tensor&, int64_t, Tensor&) {}
void list_kernel(Launch&, IntList, Tensor&) {}
Tensor dynamic_unary(Launch&, const Tensor& self) { return self; }
Tensor composite_unary(const Tensor& self) { return self; }
Tensor composite_binary(const Tensor& self, const Tensor&) { return self; }

TEST(Registry, TheRuleSaysWhichKindOfOpItIs) {
  Registry ops;
  ops.define<like>("a(Tensor self) -> Tensor");
  ops.define<two_like>("b(Tensor self) -> (Tensor x, Tensor y)");
  ops.define<same>("c(Tensor(a) self) -> Tensor(a)");
  ops.define<absolute>("d(Tensor self) -> Tensor");
  ops.define<nothing>("e_(Tensor(a!) self) -> Tensor(a!)");
  ops.define("f(Tensor self) -> Tensor");
  ops.define("g(Tensor self) -> Tensor").dynamic();
  const OpKind kinds[] = {OpKind::kKernel,    OpKind::kKernel,   OpKind::kView,
                          OpKind::kPointwise, OpKind::kMutation, OpKind::kComposite,
                          OpKind::kDynamic};
  ASSERT_EQ(ops.ops().size(), std::size(kinds));
  for (size_t i = 0; i < std::size(kinds); ++i) EXPECT_EQ(ops.ops()[i].kind, kinds[i]) << i;

  const Tensor tensor = Tensor::make({2}, DType::kInt32);
  const Value args[] = {tensor};
  SpecList specs;
  ops.at("b").infer(Args(args), specs);
  ASSERT_EQ(specs.size(), 2u);
  EXPECT_EQ(specs[1].dtype, DType::kInt32);
}

TEST(Registry, FindsOpsByFullName) {
  Registry ops;
  const int line = Location::here().line + 1;
  ops.define<like>("a.one(Tensor self) -> Tensor").doc("A sentence.", ">>> 1");
  const Op* op = ops.find("a.one");
  ASSERT_NE(op, nullptr);
  EXPECT_EQ(op, &ops.at("a.one"));
  EXPECT_EQ(op->doc, "A sentence.");
  EXPECT_EQ(op->location.line, line);
  EXPECT_NE(std::string(op->location.file).find("registry_test.cpp"), std::string::npos);
  EXPECT_EQ(ops.find("a"), nullptr);
  EXPECT_EQ(error_of<RuntimeError>([&] { ops.at("a.two"); }), "there is no op a.two");
}

TEST(Registry, RefusesASecondDefinition) {
  Registry ops;
  ops.define<like>("a(Tensor self) -> Tensor").variants(kInplaceVariant);
  const auto again = [&] { ops.define<same>("a(Tensor(a) self) -> Tensor(a)"); };
  EXPECT_EQ(error_of<RuntimeError>(again).find("op a is defined twice, at "), 0u);
  EXPECT_THROW(ops.define("a_(Tensor(a!) self) -> Tensor(a!)"), RuntimeError);
  EXPECT_EQ(ops.at("a").kind, OpKind::kKernel);
  ops.define<like>("a.other(Tensor self) -> Tensor");
}

TEST(Registry, RefusesRulesThatDoNotFitTheSchema) {
  Registry ops;
  // Each names a wrong number of parameters, a wrong type, or a None the function cannot see.
  EXPECT_THROW(ops.define<like>("a(Tensor self, int x) -> Tensor"), RuntimeError);
  EXPECT_THROW(ops.define<with_int>("a(Tensor self) -> Tensor"), RuntimeError);
  EXPECT_THROW(ops.define<with_int>("a(int self, Tensor x) -> Tensor"), RuntimeError);
  EXPECT_THROW(ops.define<with_int>("a(Tensor self, float x) -> Tensor"), RuntimeError);
  EXPECT_THROW(ops.define<with_int>("a(Tensor self, Scalar x) -> Tensor"), RuntimeError);
  EXPECT_THROW(ops.define<with_int>("a(Tensor self, int? x) -> Tensor"), RuntimeError);
  EXPECT_THROW(ops.define<with_float>("a(Tensor self, int x) -> Tensor"), RuntimeError);
  EXPECT_THROW(ops.define<like>("a(Tensor[] self) -> Tensor"), RuntimeError);
  EXPECT_TRUE(ops.ops().empty());

  ops.define<with_int>("a(Tensor self, int x) -> Tensor");
  ops.define<with_optional>("b(Tensor self, int? x) -> Tensor");
  ops.define<with_optional>("c(Tensor? self, int x) -> Tensor");
  const std::string text =
      error_of<RuntimeError>([&] { ops.define<like>("d(Tensor self, int x) -> Tensor"); });
  EXPECT_NE(text.find("registry_test.cpp"), std::string::npos) << text;
  EXPECT_NE(text.find("does not have the signature of d(Tensor self, int x)"), std::string::npos)
      << text;
}

TEST(Registry, RefusesKernelsThatDoNotFitTheSchema) {
  Registry ops;
  ops.define<like>("a(Tensor self) -> Tensor");
  ops.define<two_like>("b(Tensor self) -> (Tensor x, Tensor y)");
  ops.define<with_int>("c(Tensor self, int x) -> Tensor");
  ops.define("d(Tensor self) -> Tensor").dynamic();
  ops.define("e(Tensor self) -> Tensor");
  EXPECT_THROW(ops.kernel<two_outputs>(DeviceType::kCpu, "a"), RuntimeError);
  EXPECT_THROW(ops.kernel<unary_kernel>(DeviceType::kCpu, "b"), RuntimeError);
  EXPECT_THROW(ops.kernel<unary_kernel>(DeviceType::kCpu, "c"), RuntimeError);
  EXPECT_THROW(ops.kernel<list_kernel>(DeviceType::kCpu, "a"), RuntimeError);
  EXPECT_THROW(ops.dynamic_kernel<dynamic_unary>(DeviceType::kCpu, "c"), RuntimeError);
  EXPECT_THROW(ops.composite<composite_binary>("e"), RuntimeError);
  EXPECT_THROW(ops.kernel<unary_kernel>(DeviceType::kCpu, "missing"), RuntimeError);
  for (const Op& op : ops.ops()) {
    EXPECT_FALSE(op.kernel(DeviceType::kCpu)) << op.schema.name;
    EXPECT_EQ(op.composite, nullptr) << op.schema.name;
  }

  ops.kernel<unary_kernel>(DeviceType::kCpu, "a");
  ops.kernel<two_outputs>(DeviceType::kCpu, "b");
  ops.kernel<int_kernel>(DeviceType::kCpu, "c");
  ops.dynamic_kernel<dynamic_unary>(DeviceType::kCpu, "d");
  ops.composite<composite_unary>("e");
}

TEST(Registry, AnOpHasOneKernelForEachDevice) {
  Registry ops;
  ops.define<like>("a(Tensor self) -> Tensor");
  ops.kernel<unary_kernel>(DeviceType::kCpu, "a");
  ops.kernel<unary_kernel>(DeviceType::kNpu, "a");
  EXPECT_EQ(error_of<RuntimeError>([&] { ops.kernel<unary_kernel>(DeviceType::kCpu, "a"); }),
            "op a has two kernels for cpu");
  EXPECT_TRUE(ops.at("a").kernel(DeviceType::kNpu));
  EXPECT_FALSE(ops.at("a").kernel(DeviceType::kCuda));
}

bool is_one_element(const Tensor& self) { return self.numel() == 1; }
bool is_any(const Tensor&, int64_t) { return true; }
int g_ran = 0;
void kernel_of_some(Launch&, const Tensor&, Tensor&) { g_ran = 1; }
void kernel_of_others(Launch&, const Tensor&, Tensor&) { g_ran = 2; }

TEST(Registry, CallsThatAKernelDoesNotTakeGoToTheFallback) {
  Registry ops;
  ops.define<like>("a(Tensor self) -> Tensor");
  ops.fallback<kernel_of_others>("a");
  ops.kernel<kernel_of_some>(DeviceType::kCpu, "a").when<is_one_element>().takes(kFloatTypes);
  const Op& op = ops.at("a");
  EXPECT_EQ(op.kernel(DeviceType::kCpu).takes, kFloatTypes);
  Launch launch{DeviceType::kCpu, {}, &op};
  for (const int64_t size : {1, 2}) {
    const Tensor tensor = Tensor::make({size}, DType::kFloat32);
    const Value args[] = {tensor};
    Tensor out = Tensor::make({size}, DType::kFloat32);
    op.kernel(DeviceType::kCpu).impl(launch, Args(args), {&out, 1});
    EXPECT_EQ(g_ran, size);
  }
}

TEST(Registry, AKernelThatTakesSomeCallsNeedsAFallback) {
  Registry ops;
  ops.define<like>("a(Tensor self) -> Tensor");
  const auto take_some = [&] {
    ops.kernel<kernel_of_some>(DeviceType::kCpu, "a").when<is_one_element>();
  };
  EXPECT_NE(error_of<RuntimeError>(take_some).find("op a has no fallback"), std::string::npos);
  const auto wrong_outputs = [&] { ops.fallback<two_outputs>("a"); };
  EXPECT_NE(error_of<RuntimeError>(wrong_outputs).find("outputs"), std::string::npos);
  ops.fallback<kernel_of_others>("a");
  const auto wrong_arguments = [&] {
    ops.kernel<unary_kernel>(DeviceType::kNpu, "a").when<is_any>();
  };
  EXPECT_NE(error_of<RuntimeError>(wrong_arguments).find("signature"), std::string::npos);
}

TEST(Registry, DerivesInplaceAndOutForms) {
  Registry ops;
  ops.define<like>("a.x(Tensor self) -> Tensor").variants(kInplaceAndOut).also({"b"});
  const Op& base = ops.at("a.x");
  const Op& inplace = ops.at("a_.x");
  EXPECT_EQ(inplace.form, OpForm::kInplace);
  EXPECT_EQ(inplace.base, &base);
  EXPECT_TRUE(inplace.schema.params[0].mutated);
  EXPECT_EQ(inplace.aliases, std::vector<std::string>{"b_"});
  EXPECT_EQ(inplace.location.line, base.location.line);

  const Op& out = ops.at("a.x_out");
  EXPECT_EQ(out.form, OpForm::kOut);
  EXPECT_EQ(out.python_place, kFunction);
  ASSERT_EQ(out.schema.params.size(), 2u);
  EXPECT_EQ(out.schema.params[1].name, "out");
  EXPECT_TRUE(out.schema.params[1].mutated && out.schema.params[1].keyword_only);
  EXPECT_FALSE(base.schema.params[0].mutated);

  ops.define<two_like>("two(Tensor self) -> (Tensor x, Tensor y)").variants(kOutVariant);
  const Op& two = ops.at("two.out");
  ASSERT_EQ(two.schema.params.size(), 3u);
  EXPECT_EQ(two.schema.params[2].name, "y");
}

TEST(Registry, DerivesTheFunctionalFormOfAMutation) {
  Registry ops;
  ops.define<nothing>("a_(Tensor(a!) self) -> Tensor(a!)").variants(kFunctionalVariant).random();
  const Op& op = ops.at("a");
  EXPECT_EQ(op.form, OpForm::kFunctional);
  EXPECT_FALSE(op.schema.params[0].mutated);
  EXPECT_TRUE(op.random);
  EXPECT_THROW(ops.define<nothing>("b(Tensor(a!) self) -> Tensor(a!)").variants(kFunctionalVariant),
               RuntimeError);
}

TEST(Registry, SaysWhichArgumentsAreWritten) {
  Registry ops;
  ops.define<like>("a(Tensor self) -> Tensor").variants(kInplaceAndOut);
  EXPECT_EQ(ops.at("a").written, 0u);
  EXPECT_EQ(ops.at("a_").written, 1u);
  EXPECT_EQ(ops.at("a.out").written, 2u);
  EXPECT_FALSE(ops.at("a.out").writes_first());

  ops.define<nothing>("b_(Tensor(a!) self) -> Tensor(a!)")
      .variants(kFunctionalVariant | kOutVariant);
  EXPECT_EQ(ops.at("b_").written, 1u);
  EXPECT_EQ(ops.at("b").written, 0u);
  EXPECT_EQ(ops.at("b.out").written, 2u);
  EXPECT_EQ(ops.at("b.out").schema.str(), "b.out(Tensor self, *, Tensor(a!) out) -> Tensor");

  const Tensor first = Tensor::make({2}, DType::kFloat32);
  const std::vector<Tensor> list = {first, first};
  const Value args[] = {Value(first), Value(TensorList(list)), Value(first)};
  int count = 0;
  each_tensor(0b110, args, [&](const Tensor&) { ++count; });
  EXPECT_EQ(count, 3);
}

TEST(Registry, AutocastIsForTheFormThatWritesNothing) {
  Registry ops;
  ops.define<like>("a(Tensor self) -> Tensor")
      .variants(kInplaceAndOut)
      .autocast(AutocastPolicy::kFloat32);
  EXPECT_EQ(ops.at("a").autocast.cpu, AutocastPolicy::kFloat32);
  EXPECT_EQ(ops.at("a").autocast.accelerator, AutocastPolicy::kFloat32);
  EXPECT_EQ(ops.at("a_").autocast.cpu, AutocastPolicy::kNone);
  EXPECT_EQ(ops.at("a.out").autocast.cpu, AutocastPolicy::kNone);

  ops.define<nothing>("b_(Tensor(a!) self) -> Tensor(a!)")
      .variants(kFunctionalVariant)
      .autocast_on_cpu(AutocastPolicy::kWidest);
  EXPECT_EQ(ops.at("b").autocast.cpu, AutocastPolicy::kWidest);
  EXPECT_EQ(ops.at("b").autocast.accelerator, AutocastPolicy::kNone);
  EXPECT_EQ(ops.at("b_").autocast.cpu, AutocastPolicy::kNone);
}

TEST(Registry, PlacesApplyToTheDerivedForms) {
  Registry ops;
  ops.define<like>("a(Tensor self) -> Tensor").variants(kInplaceAndOut).function_only();
  EXPECT_EQ(ops.at("a").python_place, kFunction);
  EXPECT_EQ(ops.at("a_").python_place, kFunction | kMethod);
  ops.define<like>("b(Tensor self) -> Tensor").variants(kInplaceVariant).internal().random();
  EXPECT_EQ(ops.at("b").python_place, 0);
  EXPECT_EQ(ops.at("b_").python_place, 0);
  EXPECT_TRUE(ops.at("b_").random);
}

TEST(Registry, WhatMayBeWrittenIntoFollowsTheKind) {
  Registry ops;
  ops.define<like>("kernel(Tensor self) -> Tensor");
  ops.define("composite(Tensor self) -> Tensor");
  ops.define("dynamic(Tensor self) -> Tensor").dynamic();
  EXPECT_EQ(ops.at("kernel").out.accepts, TargetDType::kSame);
  EXPECT_EQ(ops.at("composite").out.accepts, TargetDType::kCast);
  EXPECT_EQ(ops.at("dynamic").out.accepts, TargetDType::kSame);
  EXPECT_EQ(ops.at("kernel").inplace.accepts, TargetDType::kCast);
}

TEST(Registry, EveryOpOfTheLibraryCanRunOnTheCpu) {
  const bool engine = registry().pointwise_engine(DeviceType::kCpu) != nullptr;
  // What a device may have or not: without it dropout is made of other ops, as on the CPU.
  const std::set<std::string_view> optional = {"_dropout_mask", "_masked_dropout"};
  for (const Op& op : registry().ops()) {
    if (op.form != OpForm::kPrimary || op.kind == OpKind::kView) continue;
    if (optional.contains(op.schema.name)) continue;
    const bool runs = op.kind == OpKind::kComposite   ? op.composite != nullptr
                      : op.kind == OpKind::kPointwise ? engine
                                                      : bool(op.kernel(DeviceType::kCpu));
    EXPECT_TRUE(runs) << op.schema.str();
  }
}

}  // namespace
}  // namespace mindtorch::ops
