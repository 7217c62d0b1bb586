#include "mindtorch/runtime/graph.h"

#include <functional>
#include <memory>
#include <string>

#include "mindtorch/base/error.h"
#include "tests/cpp/runtime/runtime_fixture.h"

namespace mindtorch::test {
namespace {

using driver::CaptureMode;
using runtime::Graph;
using runtime::PoolId;

class GraphTest : public RuntimeTest {
 protected:
  GraphTest() : RuntimeTest({.device_count = 2, .graph_capture = true}) {}

  void capture(Graph& graph, Stream stream) {
    graph.begin(stream, {}, CaptureMode::kGlobal);
    device().memory().release(device().memory().allocate(1000, stream.handle()));
    graph.end();
  }
};

TEST_F(GraphTest, CapturesOnceAndReplaysOnAnyStreamOfItsDevice) {
  Graph graph;
  EXPECT_THROW(graph.replay(device().default_stream()), RuntimeError);
  EXPECT_THROW(graph.end(), RuntimeError);
  EXPECT_THROW(graph.begin(device().default_stream(), {}, CaptureMode::kGlobal), RuntimeError);
  EXPECT_THROW(graph.pool(), RuntimeError);
  capture(graph, device().pool_stream());
  EXPECT_TRUE(graph.captured());
  EXPECT_THROW(graph.begin(device().pool_stream(), {}, CaptureMode::kGlobal), RuntimeError);
  graph.replay(device().default_stream());
  graph.replay(device().pool_stream());
  EXPECT_EQ(fake.replays().size(), 2U);
  EXPECT_THROW(graph.replay(device(1).default_stream()), RuntimeError);
}

TEST_F(GraphTest, ItsMemoryIsKeptUntilItIsReset) {
  Graph graph;
  capture(graph, device().pool_stream());
  device().memory().empty_cache();
  EXPECT_GT(fake.allocated_bytes(0), 0U);
  EXPECT_EQ(device().memory().pool_use_count(graph.pool()), 1);
  graph.reset();
  device().memory().empty_cache();
  EXPECT_EQ(fake.allocated_bytes(0), 0U);
}

TEST_F(GraphTest, IsDestroyedOnceItsReplaysAreDone) {
  Graph graph;
  capture(graph, device().pool_stream());
  work(fake, device().default_stream());
  graph.replay(device().default_stream());
  graph.reset();
  EXPECT_EQ(fake.count(Call::destroy_graph), 0);
  fake.finish_all();
  device().synchronize();
  EXPECT_EQ(fake.count(Call::destroy_graph), 1);
}

TEST_F(GraphTest, ItsMemoryStaysWhileReplaysRun) {
  Graph graph;
  capture(graph, device().pool_stream());
  work(fake, device().default_stream());
  graph.replay(device().default_stream());
  graph.reset();
  device().memory().empty_cache();
  EXPECT_GT(fake.allocated_bytes(0), 0U);
  fake.finish_all();
  device().synchronize();
  device().memory().empty_cache();
  EXPECT_EQ(fake.allocated_bytes(0), 0U);
}

TEST_F(GraphTest, GraphsMaySharePools) {
  const PoolId pool = Graph::make_pool_id();
  EXPECT_NE(pool, Graph::make_pool_id());
  Graph first;
  Graph second;
  for (Graph* graph : {&first, &second}) {
    graph->begin(device().pool_stream(), pool, CaptureMode::kRelaxed);
    graph->end();
    EXPECT_EQ(graph->pool(), pool);
  }
  EXPECT_EQ(device().memory().pool_use_count(pool), 2);
}

// Whatever call fails, nothing stays open, and the next capture works.
TEST_F(GraphTest, EveryFailureLeavesAllWell) {
  const Stream stream = device().pool_stream();
  for (const Call call : {Call::capture_begin, Call::capture_end, Call::replay}) {
    Graph graph;
    fake.fail(call);
    EXPECT_THROW(
        {
          capture(graph, stream);
          graph.replay(stream);
        },
        DriverError);
    fake.clear_faults();
    graph.reset();
    Graph next;
    capture(next, stream);
    next.replay(stream);
  }
}

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const RuntimeError& error) {
    return error.what();
  }
  return "";
}

TEST_F(GraphTest, ADeviceThatCannotChangeOrShowGraphsSaysSo) {
  Graph graph;
  Graph newer;
  capture(graph, device().pool_stream());
  capture(newer, device().pool_stream());
  EXPECT_EQ(message_of([&] { (void)graph.update(newer); }),
            "fake:0 cannot change a captured graph");
  EXPECT_EQ(message_of([&] { graph.raw(); }), "fake:0 cannot show a captured graph");
}

class ChangedGraph : public RuntimeTest {
 protected:
  ChangedGraph() : RuntimeTest({.graph_capture = true, .graph_editing = true}) {}

  // Adds to `runs` at each replay, `times` times.
  void capture(Graph& graph, int& runs, int times) {
    const Stream stream = device().pool_stream();
    graph.begin(stream, {}, CaptureMode::kGlobal);
    for (int i = 0; i < times; ++i) fake.launch(0, stream.handle(), [&runs] { ++runs; });
    graph.end();
  }
};

TEST_F(ChangedGraph, DoesWhatTheNewerOneDoes) {
  int before = 0;
  int after = 0;
  Graph graph;
  Graph newer;
  Graph larger;
  EXPECT_THROW((void)graph.update(newer), RuntimeError);
  EXPECT_THROW(graph.raw(), RuntimeError);
  capture(graph, before, 1);
  EXPECT_THROW((void)graph.update(newer), RuntimeError);
  capture(newer, after, 1);
  capture(larger, after, 2);
  void* const raw = graph.raw();
  EXPECT_NE(raw, nullptr);
  EXPECT_TRUE(graph.update(newer));
  EXPECT_FALSE(graph.update(larger));
  const PoolId pool = newer.pool();
  newer.reset();
  EXPECT_EQ(device().memory().pool_use_count(pool), 1);  // what it reads stays
  graph.replay(device().default_stream());
  fake.finish_all();
  EXPECT_EQ(before, 0);
  EXPECT_EQ(after, 1);
  EXPECT_EQ(graph.raw(), raw);
  graph.reset();
  EXPECT_EQ(device().memory().pool_use_count(pool), 0);
}

// What a replay reads, for as long as it is told so.
class CountedInput final : public runtime::ReplayInput {
 public:
  explicit CountedInput(int& prepared) : prepared_(prepared) {}
  ~CountedInput() override { prepared_ = -1; }
  void prepare() override {
    if (fails) throw RuntimeError("no memory");
    ++prepared_;
  }
  void cancel() noexcept override { --prepared_; }

  bool fails = false;

 private:
  int& prepared_;
};

TEST_F(GraphTest, InputsAreWrittenBeforeEachReplayAndGoWithTheGraph) {
  int first = 0;
  int second = 0;
  Graph graph;
  const Stream stream = device().pool_stream();
  EXPECT_EQ(Graph::capturing(stream), nullptr);
  graph.begin(stream, {}, CaptureMode::kGlobal);
  EXPECT_EQ(Graph::capturing(stream), &graph);
  EXPECT_EQ(Graph::capturing(device().default_stream()), nullptr);
  graph.add(std::make_shared<CountedInput>(first));
  auto failing = std::make_shared<CountedInput>(second);
  graph.add(failing);
  graph.end();
  EXPECT_EQ(Graph::capturing(stream), nullptr);
  EXPECT_EQ(first, 0);  // capturing runs nothing
  graph.replay(stream);
  EXPECT_EQ(first, 1);
  EXPECT_EQ(second, 1);
  failing->fails = true;
  EXPECT_THROW(graph.replay(stream), RuntimeError);
  EXPECT_EQ(first, 1);  // taken back
  EXPECT_EQ(fake.replays().size(), 1U);
  failing->fails = false;
  fake.fail(Call::replay);
  EXPECT_THROW(graph.replay(stream), DriverError);
  fake.clear_faults();
  EXPECT_EQ(first, 1);
  EXPECT_EQ(second, 1);
  failing.reset();
  fake.finish_all();
  graph.reset();
  device().synchronize();
  EXPECT_EQ(first, -1);
  EXPECT_EQ(second, -1);
}

TEST(GraphWithoutCapture, SaysSo) {
  FakeDriver fake;
  Accelerator accelerator(fake);
  Graph graph;
  EXPECT_THROW(graph.begin(accelerator.runtime(0).pool_stream(), {}, CaptureMode::kGlobal),
               RuntimeError);
}

}  // namespace
}  // namespace mindtorch::test
