#include "mindtorch/ops/schema.h"

#include <gtest/gtest.h>

#include <string>

#include "mindtorch/base/error.h"
#include "mindtorch/ops/registry.h"
#include "mindtorch/ops/schema_text.h"
#include "tests/cpp/support/errors.h"

namespace mindtorch::ops {
namespace {

using testing::error_of;

TEST(Schema, ReadsNameParametersAndReturn) {
  const Schema schema =
      Schema::parse("add.Tensor(Tensor self, Operand other, *, Scalar alpha=1) -> Tensor");
  EXPECT_EQ(schema.name, "add");
  EXPECT_EQ(schema.overload, "Tensor");
  EXPECT_EQ(schema.full_name(), "add.Tensor");
  ASSERT_EQ(schema.params.size(), 3u);
  EXPECT_EQ(schema.params[0].name, "self");
  EXPECT_EQ(schema.params[0].type, ArgType::kTensor);
  EXPECT_FALSE(schema.params[0].keyword_only || schema.params[0].has_default);
  EXPECT_EQ(schema.params[1].type, ArgType::kOperand);
  EXPECT_EQ(schema.params[2].type, ArgType::kScalar);
  EXPECT_TRUE(schema.params[2].keyword_only);
  EXPECT_TRUE(schema.params[2].has_default);
  EXPECT_EQ(schema.params[2].default_text, "1");
  ASSERT_EQ(schema.returns.size(), 1u);
  EXPECT_EQ(schema.returns[0].type, ReturnType::kTensor);
  EXPECT_EQ(schema.returns[0].name, "");
}

TEST(Schema, KnowsEveryType) {
  const std::pair<const char*, ArgType> types[] = {
      {"Tensor", ArgType::kTensor},
      {"Operand", ArgType::kOperand},
      {"Tensor[]", ArgType::kTensorList},
      {"Tensor?[]", ArgType::kOptionalTensorList},
      {"Scalar", ArgType::kScalar},
      {"int", ArgType::kInt},
      {"float", ArgType::kFloat},
      {"bool", ArgType::kBool},
      {"int[]", ArgType::kIntList},
      {"float[]", ArgType::kFloatList},
      {"ScalarType", ArgType::kDType},
      {"Device", ArgType::kDevice},
      {"MemoryFormat", ArgType::kMemoryFormat},
      {"str", ArgType::kString},
      {"Generator", ArgType::kGenerator},
  };
  for (const auto& [text, type] : types) {
    for (const bool optional : {false, true}) {
      const std::string written = std::string("f(") + text + (optional ? "?" : "") + " x) -> ()";
      const Schema schema = Schema::parse(written);
      EXPECT_EQ(schema.params[0].type, type) << written;
      EXPECT_EQ(schema.params[0].optional, optional) << written;
      EXPECT_EQ(schema.str(), written);
    }
  }
}

TEST(Schema, ReadsListSizesDefaultsAndAliases) {
  const Schema schema = Schema::parse(
      "f_(Tensor(a!) self, int[2] size=[0, 1], str mode='mean', int[1]? dim=None) -> Tensor(a!)");
  EXPECT_TRUE(schema.params[0].mutated);
  EXPECT_EQ(schema.params[1].list_size, 2);
  EXPECT_EQ(schema.params[1].default_text, "[0, 1]");
  EXPECT_EQ(schema.params[2].default_text, "'mean'");
  EXPECT_TRUE(schema.params[3].optional);
  EXPECT_EQ(schema.params[3].list_size, 1);
  EXPECT_EQ(schema.params[3].type, ArgType::kIntList);
  EXPECT_FALSE(Schema::parse("f(Tensor(a) self) -> Tensor(a)").params[0].mutated);
}

TEST(Schema, ReadsSeveralReturns) {
  const Schema schema = Schema::parse("f(Tensor self) -> (Tensor values, Tensor indices)");
  ASSERT_EQ(schema.returns.size(), 2u);
  EXPECT_EQ(schema.returns[1].name, "indices");
  EXPECT_TRUE(Schema::parse("f() -> ()").returns.empty());
  EXPECT_EQ(Schema::parse("f(Tensor self) -> Tensor[]").returns[0].type, ReturnType::kTensorList);
  EXPECT_EQ(Schema::parse("f(Tensor self) -> bool").returns[0].type, ReturnType::kBool);
}

TEST(Schema, EveryOpOfTheLibrarySurvivesWritingAndReading) {
  for (const Op& op : registry().ops()) {
    const std::string text = op.schema.str();
    EXPECT_EQ(Schema::parse(text).str(), text);
  }
}

TEST(Schema, PartsAreReadWhateverTheirTypes) {
  const SchemaText schema = SchemaText::parse(
      "ns::f.over(Tensor(a!)?[] x, SymInt[3]? n=None,\n  *, Any(a -> *) y, str s='a, (b') -> "
      "(Tensor(a!) out, Any)");
  EXPECT_EQ(schema.name, "ns::f");
  EXPECT_EQ(schema.overload, "over");
  ASSERT_EQ(schema.params.size(), 4u);
  EXPECT_EQ(schema.params[0].alias, "a!");
  EXPECT_EQ(schema.params[0].tail, "?[]");
  EXPECT_EQ(schema.params[1].type, "SymInt");
  EXPECT_EQ(schema.params[1].list_size, 3);
  EXPECT_EQ(schema.params[2].alias, "a->*");
  EXPECT_TRUE(schema.params[2].keyword_only);
  EXPECT_EQ(schema.params[3].default_text, "'a, (b'");
  ASSERT_EQ(schema.returns.size(), 2u);
  EXPECT_EQ(schema.returns[0].name, "out");
  EXPECT_EQ(schema.returns[1].type, "Any");
}

TEST(Schema, RefusesWhatIsNotOne) {
  for (const char* text : {
           "",
           "f",
           "f(",
           "f()",
           "f() ->",
           "f() - > Tensor x y",
           "(Tensor self) -> Tensor",
           "f.(Tensor self) -> Tensor",
           "f(Tensor) -> Tensor",
           "f(Tensor self) -> Tenso",
           "f(Tensor self) -> int[]",
           "f(Tensor self) -> (Tensor a Tensor b)",
           "f(Tensor self) -> (Tensor",
           "f(Tensor self) -> Tensor, Tensor",
           "f(tensor self) -> Tensor",
           "f(str[] names) -> Tensor",
           "f(Tensor self Tensor other) -> Tensor",
           "f(Tensor self, ) -> Tensor",
           "f(Tensor self, Tensor self) -> Tensor",
           "f(Tensor self, *) -> Tensor",
           "f(Tensor self, * int x) -> Tensor",
           "f(*, Tensor self, *, int x) -> Tensor",
           "f(int x=) -> Tensor",
           "f(int[] x=[0, 1) -> Tensor",
           "f(int[2 x) -> Tensor",
           "f(int[2x] x) -> Tensor",
           "f(int[0] x) -> Tensor",
           "f(int[99999999999999999999] x) -> Tensor",
           "f(Tensor(a! self) -> Tensor",
           "f(Tensor self) -> Tensor()",
       }) {
    EXPECT_THROW(Schema::parse(text), RuntimeError) << text;
  }
}

TEST(Schema, ErrorsSayWhereAndWhat) {
  EXPECT_EQ(error_of<RuntimeError>([] { Schema::parse("f(Tensor self, Foo x) -> Tensor"); }),
            "schema 'f(Tensor self, Foo x) -> Tensor': expected a type at position 19");
  EXPECT_EQ(error_of<RuntimeError>([] { Schema::parse("f(Tensor self] -> Tensor"); }),
            "schema 'f(Tensor self] -> Tensor': expected ) at position 13");
}

}  // namespace
}  // namespace mindtorch::ops
