// Patterns of calls: how an expression is read, and where the matcher finds one in a trace.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "mindtorch/backends/ascend/patterns/patterns.h"
#include "mindtorch/base/error.h"
#include "mindtorch/dispatch/plan/pattern_matcher.h"
#include "mindtorch/ops/registry.h"
#include "tests/cpp/dispatch/trace_writer.h"

namespace mindtorch::dispatch {
namespace {

using Kind = PatternNode::Kind;
using Ops = std::vector<uint32_t>;

bool accept_all(ops::PatternCall&) { return true; }
bool accept_none(ops::PatternCall&) { return false; }
void run_nothing(ops::Launch&, const ops::PatternCall&) {}

ops::CallPattern pattern(std::string_view expression,
                         bool (*accepts)(ops::PatternCall&) = accept_all) {
  return {"test", expression, accepts, run_nothing, "", ""};
}

// The matches of one pattern, or of several in order, in what a writer wrote.
std::vector<PatternMatch> matches(const TraceWriter& w,
                                  std::span<const ops::CallPattern> patterns,
                                  std::span<const uint8_t> varying = {},
                                  DeviceType device = DeviceType::kCpu) {
  std::vector<ParsedPattern> parsed;
  for (const ops::CallPattern& each : patterns) parsed.push_back(parse_pattern(each));
  const Liveness liveness = find_liveness(w.trace, w.visible);
  return PatternMatcher(w.trace, liveness, varying).find(parsed, device);
}
std::vector<PatternMatch> matches(const TraceWriter& w, std::string_view expression) {
  const ops::CallPattern one = pattern(expression);
  return matches(w, std::span(&one, 1));
}

uint32_t tensor_of(const PatternMatch& match, std::string_view name) {
  for (const auto& [key, tensor] : match.tensors) {
    if (key == name) return tensor;
  }
  return kNoTensor;
}

constexpr std::string_view kProductAndSum = "out = add~(mul~(a, b), c)";

TEST(PatternParser, NamesAreOneNode) {
  const ops::CallPattern given =
      pattern("square = mul(x, x); out! = rsqrt(add~(mean(square, dim=-1, keepdim=true), $eps))");
  const ParsedPattern parsed = parse_pattern(given);
  ASSERT_EQ(parsed.nodes.size(), 6u);  // x, mul, mean, eps, add, rsqrt
  EXPECT_EQ(parsed.nodes[0].kind, Kind::kTensor);
  EXPECT_EQ(parsed.nodes[1].operands, (std::vector<uint16_t>{0, 0}));
  EXPECT_EQ(parsed.nodes[1].name, "square");
  EXPECT_EQ(parsed.nodes[2].op, "mean");
  ASSERT_EQ(parsed.nodes[2].arguments.size(), 2u);
  EXPECT_EQ(parsed.nodes[2].arguments[0].name, "dim");
  EXPECT_EQ(parsed.nodes[2].arguments[0].text, "-1");
  EXPECT_EQ(parsed.nodes[3].kind, Kind::kNumber);
  EXPECT_EQ(parsed.nodes[3].name, "eps");
  EXPECT_TRUE(parsed.nodes[4].in_any_order);
  EXPECT_EQ(parsed.root, 5);
  EXPECT_TRUE(parsed.nodes[5].is_result);
}

TEST(PatternParser, ReadsLooksNumbersAndWhatMayBeLeftOut) {
  const ops::CallPattern given = pattern("out = mul(view(cast?(x)), add(alias(y?), -2.5))");
  const ParsedPattern parsed = parse_pattern(given);
  std::vector<Kind> kinds;
  for (const PatternNode& node : parsed.nodes) kinds.push_back(node.kind);
  EXPECT_EQ(kinds, (std::vector<Kind>{Kind::kTensor, Kind::kCast, Kind::kView, Kind::kTensor,
                                      Kind::kAlias, Kind::kNumber, Kind::kCall, Kind::kCall}));
  EXPECT_TRUE(parsed.nodes[1].is_optional);
  EXPECT_TRUE(parsed.nodes[3].is_optional);
  EXPECT_EQ(parsed.nodes[5].number, -2.5);
}

TEST(PatternParser, RefusesWhatItCannotRead) {
  for (const char* text : {"", "out", "out =", "out = mul(a, b", "out = mul()", "out = mul~(a)",
                           "out = mul~(a, b, c)", "out = mul(a,)", "out = a~", "out = mul(a, b) b",
                           "out = mul(dim=1)", "out = $", "= a", "a = mul(b, c); a2 = a"}) {
    EXPECT_THROW(parse_pattern(pattern(text)), RuntimeError) << text;
  }
}

TEST(PatternMatcher, FindsOpsThatRunAsOne) {
  TraceWriter w;
  const uint32_t a = w.input({4});
  const uint32_t b = w.input({4});
  const uint32_t c = w.input({4});
  const uint32_t out = w.add(w.mul(a, b), c, true);
  const auto found = matches(w, kProductAndSum);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].ops, (Ops{0, 1}));
  EXPECT_EQ(tensor_of(found[0], "a"), a);
  EXPECT_EQ(tensor_of(found[0], "b"), b);
  EXPECT_EQ(tensor_of(found[0], "c"), c);
  EXPECT_EQ(tensor_of(found[0], "out"), out);
}

TEST(PatternMatcher, OperandsComeInEitherOrderOnlyWhereThatIsSaid) {
  TraceWriter w;
  const uint32_t a = w.input({4});
  const uint32_t c = w.input({4});
  w.add(c, w.mul(a, a), true);
  EXPECT_EQ(matches(w, kProductAndSum).size(), 1u);
  EXPECT_TRUE(matches(w, "out = add(mul(a, b), c)").empty());
}

TEST(PatternMatcher, TheSameNameIsTheSameTensor) {
  TraceWriter w;
  const uint32_t a = w.input({4});
  const uint32_t b = w.input({4});
  w.mul(a, a, true);
  w.mul(a, b, true);
  const auto found = matches(w, "out = mul(x, x)");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].ops, (Ops{0}));
}

TEST(PatternMatcher, WhatOthersSeeIsKept) {
  TraceWriter w;
  const uint32_t a = w.input({4});
  const uint32_t product = w.mul(a, a, true);  // seen outside
  w.add(product, a, true);
  EXPECT_TRUE(matches(w, kProductAndSum).empty());
  EXPECT_EQ(matches(w, "product! = mul(a, b); out = add(product, c)").size(), 1u);

  TraceWriter read_later;
  const uint32_t x = read_later.input({4});
  const uint32_t shared = read_later.mul(x, x);
  read_later.add(shared, x, true);
  read_later.mul(shared, x, true);  // reads it, too
  EXPECT_TRUE(matches(read_later, kProductAndSum).empty());
}

TEST(PatternMatcher, NothingIsReadAfterItHasChanged) {
  TraceWriter w;
  const uint32_t a = w.input({4});
  const uint32_t b = w.input({4});
  const uint32_t product = w.mul(a, b);
  w.mul_in_place(a, b);  // the match would run behind this
  w.add(product, b, true);
  EXPECT_TRUE(matches(w, kProductAndSum).empty());
}

TEST(PatternMatcher, EarlierPatternsAreFirstAndNoneShareAnOp) {
  TraceWriter w;
  const uint32_t a = w.input({4});
  w.add(w.mul(a, a), a, true);
  const ops::CallPattern both[] = {pattern("out = mul(a, b)"), pattern(kProductAndSum)};
  const auto found = matches(w, both);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].ops, (Ops{0}));
  const ops::CallPattern turned[] = {both[1], both[0]};
  EXPECT_EQ(matches(w, turned)[0].ops, (Ops{0, 1}));
}

TEST(PatternMatcher, ThePatternsContractHasTheLastWord) {
  TraceWriter w;
  const uint32_t a = w.input({4});
  w.mul(a, a, true);
  const ops::CallPattern declined[] = {pattern("out = mul(a, b)", accept_none)};
  EXPECT_TRUE(matches(w, declined).empty());
}

TEST(PatternMatcher, NumbersHaveTheirValueOrAName) {
  TraceWriter w;
  const uint32_t a = w.input({4});
  w.pointwise("add.Tensor", ops::Pointwise::kAdd, {a, w.number(0.5)}, true);
  EXPECT_EQ(matches(w, "out = add(a, 0.5)").size(), 1u);
  EXPECT_TRUE(matches(w, "out = add(a, 1)").empty());
  EXPECT_TRUE(matches(w, "out = add(a, b)").empty());  // a tensor is no number
  const auto found = matches(w, "out = add(a, $eps)");
  ASSERT_EQ(found.size(), 1u);
  ASSERT_EQ(found[0].values.size(), 1u);
  EXPECT_EQ(found[0].values[0].first, "eps");
  EXPECT_EQ(found[0].values[0].second, 0.5);
  EXPECT_EQ(found[0].numbers, (Ops{0}));  // another value needs another match
}

TEST(PatternMatcher, LeavesOutOtherDevicesAndOpsThatVary) {
  TraceWriter w;
  const uint32_t a = w.input({4});
  w.add(w.mul(a, a), a, true);
  const ops::CallPattern one[] = {pattern(kProductAndSum)};
  EXPECT_TRUE(matches(w, one, {}, DeviceType::kNpu).empty());
  const std::vector<uint8_t> varying = {1, 0};
  EXPECT_TRUE(matches(w, one, varying).empty());
}

TEST(PatternMatcher, DeadOpsAreNotFound) {
  TraceWriter w;
  const uint32_t a = w.input({4});
  w.add(w.mul(a, a), a);  // nobody sees it
  EXPECT_TRUE(matches(w, kProductAndSum).empty());
}

// --- the table of NPUs ---------------------------------------------------------------------------

bool is_known(std::string_view name) {
  for (int i = 0; i < ops::kPointwiseCount; ++i) {
    if (info(static_cast<ops::Pointwise>(i)).name == name) return true;
  }
  return std::ranges::any_of(ops::registry().ops(), [&](const ops::Op& op) {
    return op.schema.name == name && op.kind == ops::OpKind::kKernel;
  });
}

TEST(AscendPatterns, EachIsReadAndNamesOpsThatExist) {
  std::set<std::string_view> names;
  for (const ops::CallPattern& each : ascend::all_call_patterns()) {
    EXPECT_TRUE(names.insert(each.name).second) << each.name << " is there twice";
    const ParsedPattern parsed = parse_pattern(each);
    EXPECT_EQ(parsed.nodes[parsed.root].name, "out") << each.name;
    for (const PatternNode& node : parsed.nodes) {
      const bool exists = node.kind != Kind::kCall || is_known(node.op);
      EXPECT_TRUE(exists) << each.name << ": " << node.op;
    }
    EXPECT_TRUE(each.calls.starts_with("aclnn") && each.proof.starts_with("test_")) << each.name;
  }
  EXPECT_FALSE(names.empty());
}

}  // namespace
}  // namespace mindtorch::dispatch
