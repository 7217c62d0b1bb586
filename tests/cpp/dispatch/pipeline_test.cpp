#include "mindtorch/dispatch/record/pipeline.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "mindtorch/functional/functions.h"

namespace mindtorch::test {
namespace {

using dispatch::Pipeline;
using dispatch::PipelineConfig;

// `with torch.pipeline():`
class Block {
 public:
  explicit Block(PipelineConfig config = {}) : pipeline(config) { pipeline.enter(); }
  Pipeline pipeline;  // leaves when it goes
};

bool is_pending(const Tensor& tensor) { return tensor.storage()->pending() != nullptr; }

TEST(Pipeline, OpsWaitForAFlush) {
  const Tensor a = full({100}, Scalar(2.0));
  Block block;
  const Tensor b = add(mul(a, a), a);
  EXPECT_TRUE(is_pending(b));
  EXPECT_EQ(block.pipeline.pending_count(), 2u);
  EXPECT_EQ(b.storage()->raw_data(), nullptr);
  block.pipeline.flush("test");
  EXPECT_FALSE(is_pending(b));
  EXPECT_EQ(b.data<float>()[99], 6);
  EXPECT_EQ(block.pipeline.last_flush_reason(), "test");
}

TEST(Pipeline, AddressesMakeItRun) {
  const Tensor a = full({8}, Scalar(2.0));
  Block block;
  const Tensor b = add(a, a);
  EXPECT_EQ(b.data<float>()[7], 4);
  EXPECT_EQ(block.pipeline.last_flush_reason(), "read");
}

TEST(Pipeline, AStorageThatSomebodyHoldsIsStoredAlthoughItsTensorIsGone) {
  const Tensor a = full({8}, Scalar(1.0));
  Block block;
  Tensor b = add(a, a);
  const Storage first = b.storage();
  b = mul(b, b);
  b = add(b, a);
  block.pipeline.flush("test");
  EXPECT_EQ(b.data<float>()[0], 5);
  ASSERT_NE(first->raw_data(), nullptr);
  EXPECT_EQ(static_cast<const float*>(first->raw_data())[0], 2);
}

// Whatever was fused, each element is what single ops give.
TEST(Pipeline, FusedRunsGiveTheSameBits) {
  const Tensor x = randn({37, 129});
  const Tensor y = randn({129});
  const Tensor z = randn({37, 1});
  const auto program = [&] {
    Tensor t = add(mul(x, y), z);
    t = where(gt(t, Scalar(0.0)), exp(t), sub(t, x));
    const Tensor half = mul(t, full({}, Scalar(0.5), DType::kFloat16));
    t.mul_(y).add_(half);
    const Tensor back = mul(x.t(), Scalar(3.0));
    return std::vector<Tensor>{t, half, div(t, Scalar(7.0)), back, le(t, x)};
  };
  const std::vector<Tensor> expected = program();
  Block block;
  const std::vector<Tensor> got = program();
  block.pipeline.flush("test");
  for (size_t i = 0; i < got.size(); ++i) EXPECT_TRUE(equal(got[i], expected[i])) << i;
}

TEST(Pipeline, OtherThreadsReadWhatIsPending) {
  const Tensor a = full({1000}, Scalar(1.0));
  std::atomic<int> wrong{0};
  for (int round = 0; round < 50; ++round) {
    Block block;
    const Tensor b = add(mul(a, a), a);
    std::vector<std::thread> readers;
    for (int i = 0; i < 3; ++i) {
      readers.emplace_back([&] { wrong += b.data<float>()[500] != 2; });
    }
    const Tensor c = add(b, a);
    for (std::thread& reader : readers) reader.join();
    block.pipeline.flush("test");
    wrong += c.data<float>()[0] != 3;
  }
  EXPECT_EQ(wrong, 0);
}

TEST(Pipeline, EndsWhileOtherThreadsRead) {
  const Tensor a = full({1000}, Scalar(1.0));
  std::atomic<int> wrong{0};
  for (int round = 0; round < 200; ++round) {
    std::vector<std::thread> readers;
    {
      Block block;
      const Tensor b = add(mul(a, a), a);
      for (int i = 0; i < 3; ++i) {
        readers.emplace_back([&wrong, b] { wrong += b.data<float>()[500] != 2; });
      }
    }
    for (std::thread& reader : readers) reader.join();
  }
  EXPECT_EQ(wrong, 0);
}

TEST(Pipeline, EndsWhileOtherThreadsFlush) {
  const Tensor a = full({1000}, Scalar(1.0));
  Pipeline pipeline{PipelineConfig()};
  std::atomic<bool> stop{false};
  std::vector<std::thread> others;
  for (int i = 0; i < 2; ++i) {
    others.emplace_back([&] {
      while (!stop) pipeline.flush("other");
    });
  }
  int wrong = 0;
  for (int round = 0; round < 300; ++round) {
    pipeline.enter();
    const Tensor b = add(mul(a, a), a);
    pipeline.leave();
    wrong += b.data<float>()[500] != 2;
  }
  stop = true;
  for (std::thread& other : others) other.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Pipeline, ThreadsRecordOverSharedInputs) {
  const Tensor a = full({1000}, Scalar(1.0));
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 50; ++round) {
        Block block;
        const Tensor b = add(mul(a, a), a);
        block.pipeline.flush("test");
        wrong += b.data<float>()[0] != 2;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Pipeline, WhatFailedStaysFailed) {
  const Tensor index = full({2}, Scalar(int64_t{9}), DType::kInt64);
  const Tensor a = full({3}, Scalar(1.0));
  Block block;
  const Tensor good = add(a, a);
  const Tensor bad = index_select(a, 0, index);
  const Tensor after = add(bad, Scalar(1.0));
  EXPECT_THROW(block.pipeline.flush("test"), IndexError);
  EXPECT_EQ(good.data<float>()[0], 2);
  EXPECT_THROW(bad.data_ptr(), IndexError);
  EXPECT_THROW(after.data_ptr(), IndexError);
  EXPECT_EQ(block.pipeline.last_error()->op_name, "index_select");
  EXPECT_EQ(add(a, a).data<float>()[0], 2);
}

}  // namespace
}  // namespace mindtorch::test
