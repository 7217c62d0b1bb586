// Arguments as traces own them, and the recorder: what it writes down, and what it matches.
#include <gtest/gtest.h>

#include <vector>

#include "mindtorch/dispatch/record/pipeline.h"
#include "mindtorch/dispatch/record/trace_recorder.h"
#include "mindtorch/dispatch/trace/argument.h"
#include "mindtorch/functional/functions.h"

namespace mindtorch::dispatch {
namespace {

using ops::Value;
using ops::ValueKind;

// Into the payload and back.
template <typename Check>
void round_trip(const Value& value, Check check) {
  Payload payload;
  add_to(payload, encode(Value(std::string_view("something before"))));
  const Argument argument = add_to(payload, encode(value));
  EXPECT_TRUE(equals(argument, payload, encode(value)));
  const Value back = decode(argument, payload);
  ASSERT_EQ(back.kind(), value.kind());
  check(back);
}

TEST(Argument, ComesBackAsItWas) {
  round_trip(Value(), [](const Value& v) { EXPECT_TRUE(v.is_none()); });
  round_trip(Value(Scalar(2.5)), [](const Value& v) { EXPECT_EQ(v.scalar(), Scalar(2.5)); });
  round_trip(Value(Scalar(true)), [](const Value& v) { EXPECT_EQ(v.scalar(), Scalar(true)); });
  round_trip(Value(Scalar(int64_t{-3})),
             [](const Value& v) { EXPECT_EQ(v.scalar(), Scalar(int64_t{-3})); });
  round_trip(Value(int64_t{-7}), [](const Value& v) { EXPECT_EQ(v.to_int(), -7); });
  round_trip(Value(0.25), [](const Value& v) { EXPECT_EQ(v.to_float(), 0.25); });
  round_trip(Value(true), [](const Value& v) { EXPECT_TRUE(v.to_bool()); });
  const std::vector<int64_t> ints = {3, -1, 5};
  round_trip(Value(IntList(ints)), [&](const Value& v) {
    EXPECT_EQ(std::vector<int64_t>(v.int_list().begin(), v.int_list().end()), ints);
  });
  const std::vector<double> floats = {0.5, -2};
  round_trip(Value(std::span<const double>(floats)), [&](const Value& v) {
    EXPECT_EQ(std::vector<double>(v.float_list().begin(), v.float_list().end()), floats);
  });
  round_trip(Value(std::string_view("trunc")),
             [](const Value& v) { EXPECT_EQ(v.string(), "trunc"); });
  round_trip(Value(DType::kInt16), [](const Value& v) { EXPECT_EQ(v.dtype(), DType::kInt16); });
  round_trip(Value(Device(DeviceType::kNpu, 3)),
             [](const Value& v) { EXPECT_EQ(v.device(), Device(DeviceType::kNpu, 3)); });
  round_trip(Value(Device(DeviceType::kCpu)),
             [](const Value& v) { EXPECT_EQ(v.device(), Device(DeviceType::kCpu)); });
  round_trip(Value(MemoryFormat::kChannelsLast),
             [](const Value& v) { EXPECT_EQ(v.memory_format(), MemoryFormat::kChannelsLast); });
}

TEST(Argument, OtherValuesDiffer) {
  Payload payload;
  const std::vector<int64_t> list = {1, 2};
  const std::vector<int64_t> longer = {1, 2, 3};
  const std::vector<int64_t> other = {1, 3};
  const Argument argument = add_to(payload, encode(Value(IntList(list))));
  EXPECT_FALSE(equals(argument, payload, encode(Value(IntList(longer)))));
  EXPECT_FALSE(equals(argument, payload, encode(Value(IntList(other)))));
  EXPECT_FALSE(equals(argument, payload, encode(Value())));
  const Argument number = encode(Value(Scalar(int64_t{1}))).argument;
  EXPECT_FALSE(equals(number, payload, encode(Value(Scalar(1.0)))));
  EXPECT_FALSE(equals(number, payload, encode(Value(Scalar(true)))));
}

// Records into a trace, and holds what is pending until the test is over.
class Work final : public PendingWork {
 public:
  void materialize(StorageImpl&) override { ADD_FAILURE() << "nobody may read here"; }
  void forget(StorageImpl&) noexcept override {}
};

class RecorderTest : public ::testing::Test {
 protected:
  ~RecorderTest() override { recorder_.finish(SIZE_MAX, nullptr); }

  Tensor output(const Tensor& like) {
    return Tensor::unallocated(like.sizes(), IntList(), like.dtype(), like.device());
  }
  // out = mul(a, b), the long way.
  Tensor mul(const Tensor& a, const Tensor& b) {
    const Value args[] = {a, b};
    const ops::PointwiseCall call = mul_.resolve(ops::Args(args));
    Tensor out = output(a);
    recorder_.record(
        {mul_, ops::Args(args), DeviceType::kCpu, {&out, 1}, &call, nullptr, Writes::kNew});
    return out;
  }
  bool match_mul(const Tensor& a, const Tensor& b, ops::Outputs& outputs) {
    const Value args[] = {a, b};
    return recorder_.match(mul_, ops::Args(args), outputs);
  }

  const ops::Op& mul_ = ops::registry().at("mul.Tensor");
  Work work_;
  TraceRecorder recorder_{work_};
};

TEST_F(RecorderTest, WritesDownOpsTensorsAndStorages) {
  const Tensor x = ones({2, 3});
  recorder_.begin(nullptr);
  const Tensor y = mul(x, x);
  const Tensor z = mul(y, x.t().t());
  const Trace& trace = recorder_.trace();
  EXPECT_EQ(trace.ops.size(), 2u);
  EXPECT_EQ(trace.storages.size(), 3u);
  EXPECT_EQ(trace.tensors.size(), 4u);  // x, its view, and two results
  EXPECT_EQ(trace.operands(trace.ops[0])[0], trace.operands(trace.ops[0])[1]);
  EXPECT_EQ(trace.outputs(trace.ops[0])[0], trace.operands(trace.ops[1])[0]);
  EXPECT_EQ(x.storage()->pending_readers(), 1u);
  EXPECT_EQ(x.storage()->pending(), nullptr);
  EXPECT_EQ(z.storage()->pending(), &work_);
  EXPECT_EQ(recorder_.unallocated_bytes(), 48u);
}

TEST_F(RecorderTest, MatchesWhatRepeatsAndNothingElse) {
  const Tensor x = ones({2, 3});
  recorder_.begin(nullptr);
  mul(mul(x, x), x);
  const Trace before = recorder_.trace();
  recorder_.finish(SIZE_MAX, nullptr);
  EXPECT_EQ(x.storage()->pending_readers(), 0u);

  const Tensor other = ones({2, 3});
  recorder_.begin(&before);
  ops::Outputs first;
  ASSERT_TRUE(match_mul(other, other, first));
  EXPECT_EQ(first.tensors[0].sizes(), Shape({2, 3}));
  EXPECT_EQ(first.tensors[0].storage()->pending(), &work_);
  ops::Outputs second;
  EXPECT_FALSE(match_mul(other, first.tensors[0], second));  // the operands are exchanged
  EXPECT_FALSE(match_mul(first.tensors[0], ones({2, 3}), second));
  ASSERT_TRUE(match_mul(first.tensors[0], other, second));
  EXPECT_TRUE(recorder_.is_predicted());
  EXPECT_EQ(recorder_.size(), 2u);
  EXPECT_TRUE(recorder_.recorded().ops.empty());
  EXPECT_TRUE(recorder_.trace() == before);
  ops::Outputs third;
  EXPECT_FALSE(match_mul(second.tensors[0], other, third));  // one op more than before
}

TEST_F(RecorderTest, OtherShapesAreRecordedAnew) {
  const Tensor x = ones({2, 3});
  recorder_.begin(nullptr);
  mul(x, x);
  const Trace before = recorder_.trace();
  recorder_.finish(SIZE_MAX, nullptr);
  const Tensor wide = ones({2, 4});
  recorder_.begin(&before);
  ops::Outputs outputs;
  EXPECT_FALSE(match_mul(wide, wide, outputs));
  EXPECT_EQ(wide.storage()->pending_readers(), 0u);  // the op may still be refused
  mul(wide, wide);
  EXPECT_FALSE(recorder_.is_predicted());
  EXPECT_FALSE(recorder_.trace() == before);
  EXPECT_EQ(recorder_.trace().hash_of_ops(), before.hash_of_ops());
}

TEST_F(RecorderTest, NumbersAreNoPartOfTheKey) {
  const Tensor x = ones({2, 3});
  recorder_.begin(nullptr);
  mul(x, Tensor::wrapped_number(Scalar(2.0)));
  const Trace before = recorder_.trace();
  recorder_.finish(SIZE_MAX, nullptr);
  recorder_.begin(&before);
  mul(x, Tensor::wrapped_number(Scalar(3.0)));
  EXPECT_TRUE(recorder_.trace() == before);
  EXPECT_TRUE(recorder_.is_predicted());
  EXPECT_NE(recorder_.recorded().numbers, before.numbers);
}

TEST_F(RecorderTest, AFailureStaysWithWhatWasStillToBeWritten) {
  const Tensor x = ones({2, 3});
  recorder_.begin(nullptr);
  const Tensor done = mul(x, x);
  const Tensor failed = mul(done, x);
  done.storage()->allocate_now();
  recorder_.finish(1, std::make_exception_ptr(RuntimeError("broken")));
  EXPECT_NE(done.data_ptr(), nullptr);
  EXPECT_THROW(failed.data_ptr(), RuntimeError);
}

// A writer cannot forget those who still read: the address for writing runs them first.
TEST(MutableData, RunsWhatStillReads) {
  const Tensor x = ones({4});
  {
    Pipeline pipeline{PipelineConfig()};
    pipeline.enter();
    const Tensor twice = add(x, x);
    EXPECT_EQ(x.storage()->pending_readers(), 1u);
    x.data_ptr();  // reading changes nothing
    EXPECT_NE(twice.storage()->pending(), nullptr);
    static_cast<float*>(x.storage()->mutable_data())[0] = 5;
    EXPECT_EQ(twice.storage()->pending(), nullptr);
    EXPECT_EQ(twice.data<float>()[0], 2);
  }
}

}  // namespace
}  // namespace mindtorch::dispatch
