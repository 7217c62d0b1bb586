// Nanoseconds per call from C++: what dispatch, shape rules and allocation cost without Python. The
// difference to the same case of benchmarks/run.py is the price of the binding.
#include <benchmark/benchmark.h>

#include "mindtorch/functional/functions.h"

namespace mindtorch {
namespace {

Tensor ones(int64_t count) { return fill_(Tensor::make({count}, DType::kFloat32), 1); }

void BM_Add(benchmark::State& state) {
  const Tensor a = ones(state.range(0)), b = ones(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(add(a, b));
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_Add)->Arg(16)->Arg(1 << 12)->Arg(1 << 20);

void BM_AddInPlace(benchmark::State& state) {
  const Tensor a = ones(16), b = ones(16);
  for (auto _ : state) benchmark::DoNotOptimize(add_(a, b));
}
BENCHMARK(BM_AddInPlace);

void BM_AddNumber(benchmark::State& state) {
  const Tensor a = ones(16);
  for (auto _ : state) benchmark::DoNotOptimize(add(a, 2));
}
BENCHMARK(BM_AddNumber);

void BM_AddBroadcast(benchmark::State& state) {
  const Tensor a = ones(16).view({4, 4}), b = ones(4);
  for (auto _ : state) benchmark::DoNotOptimize(add(a, b));
}
BENCHMARK(BM_AddBroadcast);

void BM_Relu(benchmark::State& state) {
  const Tensor a = ones(16);
  for (auto _ : state) benchmark::DoNotOptimize(relu(a));
}
BENCHMARK(BM_Relu);

void BM_Empty(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(empty({state.range(0)}));
}
BENCHMARK(BM_Empty)->Arg(16)->Arg(1 << 20)->Arg(1 << 24);

void BM_View(benchmark::State& state) {
  const Tensor a = ones(16);
  for (auto _ : state) benchmark::DoNotOptimize(a.view({4, 4}));
}
BENCHMARK(BM_View);

void BM_Transpose(benchmark::State& state) {
  const Tensor a = ones(16).view({4, 4});
  for (auto _ : state) benchmark::DoNotOptimize(a.t());
}
BENCHMARK(BM_Transpose);

void BM_Select(benchmark::State& state) {
  const Tensor a = ones(16);
  for (auto _ : state) benchmark::DoNotOptimize(a.select(0, 3));
}
BENCHMARK(BM_Select);

void BM_MetaAdd(benchmark::State& state) {
  const Tensor a = Tensor::make({16}, DType::kFloat32, DeviceType::kMeta);
  for (auto _ : state) benchmark::DoNotOptimize(add(a, a));
}
BENCHMARK(BM_MetaAdd);

}  // namespace
}  // namespace mindtorch
