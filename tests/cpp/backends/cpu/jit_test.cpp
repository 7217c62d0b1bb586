// Generated code against the tiles: the same bits, for every function, length and special value.
#include "mindtorch/backends/cpu/jit/kernel.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "mindtorch/backends/cpu/tile.h"
#include "tests/cpp/backends/cpu/tile_targets.h"

namespace mindtorch::cpu {
namespace {

using ops::FusedStep;
using ops::Pointwise;

using Line = std::vector<char>;

// A program: inputs, steps, and which values are looked at.
struct Program {
  std::vector<jit::Run::Input> inputs;
  std::vector<FusedStep> steps;
  std::vector<uint16_t> outputs;

  uint16_t input(DType dtype, bool single = false) {
    const auto value = static_cast<uint16_t>(inputs.size());
    inputs.push_back({value, dtype, single});
    return value;
  }
  // After all inputs.
  uint16_t step(Pointwise function,
                DType compute,
                DType result,
                std::vector<uint16_t> operands,
                ops::PointwiseParams params = {}) {
    FusedStep step;
    step.function = function;
    step.compute = compute;
    step.result = result;
    step.count = static_cast<uint8_t>(operands.size());
    for (size_t i = 0; i < operands.size(); ++i) step.operands[i] = operands[i];
    step.params = params;
    steps.push_back(step);
    return static_cast<uint16_t>(inputs.size() + steps.size() - 1);
  }
  uint16_t step(Pointwise function, std::vector<uint16_t> operands, ops::PointwiseParams p = {}) {
    const bool test = ops::gives_bool(function);
    return step(function, DType::kFloat32, test ? DType::kBool : DType::kFloat32,
                std::move(operands), p);
  }
  bool has_double() const {
    for (uint16_t value = 0; value < inputs.size() + steps.size(); ++value) {
      if (dtype(value) == DType::kFloat64) return true;
    }
    return false;
  }
  DType dtype(uint16_t value) const {
    return value < inputs.size() ? inputs[value].dtype : steps[value - inputs.size()].result;
  }
  std::string text() const {
    std::string text;
    for (const auto& input : inputs) {
      text += "\n" + std::string(name(input.dtype)) + (input.single ? " single" : "");
    }
    for (const FusedStep& step : steps) {
      text += "\n" + ops::function_info(step.function).name + " in " +
              std::string(name(step.compute)) + " to " + std::string(name(step.result));
      for (int k = 0; k < step.count; ++k) text += " " + std::to_string(step.operands[k]);
    }
    return text;
  }
  bool can_generate(jit::Target target) const {
    for (const FusedStep& step : steps) {
      std::vector<DType> operands;
      for (int k = 0; k < step.count; ++k) operands.push_back(dtype(step.operands[k]));
      if (!jit::can_generate(step, operands, target)) return false;
    }
    return true;
  }
  std::unique_ptr<jit::Kernel> compile(jit::Target target) const {
    jit::Run run;
    run.steps = steps;
    run.first = static_cast<uint16_t>(inputs.size());
    run.inputs = inputs;
    run.outputs = outputs;
    return jit::compile(run, target);
  }
};

// An instruction set that this machine has, and its tiles.
struct Machine {
  jit::Target target;
  const TileTable& tiles;
};
std::vector<Machine> machines() {
  std::vector<Machine> list;
  if (!jit::available()) return list;
  for (const TargetTable& target : all_targets()) {
    if (target.name == "AVX2") list.push_back({jit::Target::kAvx2, target.table});
    if (target.name == "AVX3") list.push_back({jit::Target::kAvx512, target.table});
  }
  return list;
}

ops::PointwiseParams params(double a, double b = 0, double c = 0) {
  ops::PointwiseParams result;
  const double values[3] = {a, b, c};
  for (int i = 0; i < 3; ++i) {
    result.f[i] = values[i];
    result.i[i] = static_cast<int64_t>(values[i]);
  }
  return result;
}

// Special values first, then numbers of all sizes.
double element(size_t index, std::mt19937_64& random) {
  using Limits = std::numeric_limits<float>;
  static const double special[] = {0.0,
                                   -0.0,
                                   1.0,
                                   -1.0,
                                   0.5,
                                   -0.5,
                                   3.0,
                                   -3.0,
                                   2.0,
                                   88.9,
                                   -104.5,
                                   6.0,
                                   Limits::infinity(),
                                   -Limits::infinity(),
                                   Limits::quiet_NaN(),
                                   Limits::denorm_min(),
                                   -Limits::denorm_min(),
                                   Limits::min(),
                                   Limits::max(),
                                   Limits::lowest(),
                                   65504,
                                   65520,
                                   0.55,
                                   1e-30};
  if (random() % 4 == 0) return special[random() % std::size(special)];
  if (index % 3 == 0) {
    return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(random())));
  }
  return std::normal_distribution<double>(0, 4)(random);
}

Line make_line(DType dtype, size_t n, std::mt19937_64& random) {
  std::vector<double> values(n);
  for (size_t i = 0; i < n; ++i) values[i] = element(i, random);
  Line line(n * static_cast<size_t>(size_bytes(dtype)));
  find_cast(DType::kFloat64, dtype)(values.data(), line.data(), static_cast<int64_t>(n));
  return line;
}

// What the tiles give, one step after the other over whole lines.
std::vector<Line> interpret(const Program& program,
                            const std::vector<Line>& inputs,
                            size_t n,
                            const TileTable& tiles) {
  const auto count = static_cast<int64_t>(n);
  const auto cast = [&](const Line& from, DType is, DType wanted) {
    Line to(n * static_cast<size_t>(size_bytes(wanted)));
    tiles.casts[static_cast<int>(is)][static_cast<int>(wanted)](from.data(), to.data(), count);
    return to;
  };
  std::vector<Line> values;
  for (size_t i = 0; i < inputs.size(); ++i) {
    Line line = inputs[i];
    if (program.inputs[i].single) {
      line.clear();
      for (size_t k = 0; k < n; ++k) line.insert(line.end(), inputs[i].begin(), inputs[i].end());
    }
    values.push_back(std::move(line));
  }
  for (const FusedStep& step : program.steps) {
    const DType compute = size_bytes(step.compute) == 2 ? DType::kFloat32 : step.compute;
    Line in[3];
    const void* addresses[3] = {};
    for (int k = 0; k < step.count; ++k) {
      const bool condition = step.function == Pointwise::kWhere && k == 0;
      in[k] = cast(values[step.operands[k]], program.dtype(step.operands[k]),
                   condition ? DType::kBool : compute);
      addresses[k] = in[k].data();
    }
    const DType native = ops::gives_bool(step.function) ? DType::kBool : compute;
    Line out(n * static_cast<size_t>(size_bytes(native)));
    const TileFn tile = tiles.tiles[static_cast<int>(step.function)][static_cast<int>(compute)];
    tile(addresses, out.data(), count, step.params);
    values.push_back(cast(out, native, step.result));
  }
  return values;
}

template <class T>
bool same(const char* a, const char* b) {
  T x, y;
  std::memcpy(&x, a, sizeof(T));
  std::memcpy(&y, b, sizeof(T));
  if (std::memcmp(a, b, sizeof(T)) == 0) return true;
  return std::isnan(static_cast<double>(x)) && std::isnan(static_cast<double>(y));
}
bool same(DType dtype, const char* a, const char* b) {
  switch (dtype) {
    case DType::kFloat16:
      return same<Half>(a, b);
    case DType::kBFloat16:
      return same<BFloat16>(a, b);
    case DType::kFloat32:
      return same<float>(a, b);
    case DType::kFloat64:
      return same<double>(a, b);
    default:
      return *a == *b;
  }
}

// Lines start off alignment, and the element behind each must stay as it is.
void check(const Program& program,
           const jit::Kernel& kernel,
           const TileTable& tiles,
           size_t n,
           std::mt19937_64& random) {
  std::vector<Line> inputs;
  std::vector<Line> padded;
  for (const auto& input : program.inputs) {
    inputs.push_back(make_line(input.dtype, input.single ? 1 : n, random));
    padded.push_back(inputs.back());
    padded.back().insert(padded.back().begin(), static_cast<size_t>(size_bytes(input.dtype)), 'x');
  }
  const std::vector<Line> expected = interpret(program, inputs, n, tiles);
  std::vector<const void*> from;
  for (size_t i = 0; i < padded.size(); ++i) {
    from.push_back(padded[i].data() + size_bytes(program.inputs[i].dtype));
  }
  std::vector<Line> results;
  std::vector<void*> to;
  for (const uint16_t value : program.outputs) {
    const auto size = static_cast<size_t>(size_bytes(program.dtype(value)));
    results.push_back(Line((n + 2) * size, 'z'));
  }
  for (size_t i = 0; i < results.size(); ++i) {
    to.push_back(results[i].data() + size_bytes(program.dtype(program.outputs[i])));
  }
  kernel(from.data(), to.data(), static_cast<int64_t>(n));
  for (size_t i = 0; i < results.size(); ++i) {
    const uint16_t value = program.outputs[i];
    const DType dtype = program.dtype(value);
    const auto size = static_cast<size_t>(size_bytes(dtype));
    for (size_t k = 0; k < n; ++k) {
      const char* got = results[i].data() + (k + 1) * size;
      const char* want = expected[value].data() + k * size;
      if (same(dtype, got, want)) continue;
      float in = 0;
      find_cast(program.inputs[0].dtype, DType::kFloat32)(
          inputs[0].data() + (program.inputs[0].single
                                  ? 0
                                  : k * static_cast<size_t>(size_bytes(program.inputs[0].dtype))),
          &in, 1);
      float a = 0, b = 0;
      find_cast(dtype, DType::kFloat32)(got, &a, 1);
      find_cast(dtype, DType::kFloat32)(want, &b, 1);
      FAIL() << "value " << value << ", element " << k << " of " << n << ": " << a << " instead of "
             << b << "; first input " << in;
    }
    for (size_t k = 0; k < size; ++k) {
      ASSERT_EQ(results[i][k], 'z') << "wrote before the line";
      ASSERT_EQ(results[i][(n + 1) * size + k], 'z') << "wrote behind the line, n = " << n;
    }
  }
}

void check_lengths(const Program& program, const Machine& machine, std::vector<size_t> lengths) {
  ASSERT_TRUE(program.can_generate(machine.target));
  const std::unique_ptr<jit::Kernel> kernel = program.compile(machine.target);
  ASSERT_NE(kernel, nullptr);
  std::mt19937_64 random(7);
  for (const size_t n : lengths) {
    ASSERT_NO_FATAL_FAILURE(check(program, *kernel, machine.tiles, n, random)) << n << " elements";
  }
}
void check_lengths(const Program& program, const std::vector<size_t>& lengths) {
  for (const Machine& machine : machines()) {
    if (program.has_double() && machine.target == jit::Target::kAvx2) {
      EXPECT_FALSE(program.can_generate(machine.target));
    } else {
      check_lengths(program, machine, lengths);
    }
  }
}

std::vector<size_t> all_lengths() {
  std::vector<size_t> lengths;
  for (size_t n = 0; n <= 200; ++n) lengths.push_back(n);
  lengths.push_back(1000);
  lengths.push_back(4096 + 17);
  return lengths;
}

// Every function that there is code for, in every dtype it has.
TEST(Jit, Functions) {
  for (const Machine& machine : machines()) {
    int count = 0;
    for (int i = 0; i < ops::kPointwiseCount; ++i) {
      const auto function = static_cast<Pointwise>(i);
      for (const DType dtype :
           {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16, DType::kBool}) {
        Program program;
        std::vector<uint16_t> operands;
        for (int k = 0; k < info(function).arity; ++k) {
          const bool condition = function == Pointwise::kWhere && k == 0;
          operands.push_back(program.input(condition ? DType::kBool : dtype));
        }
        const DType result = ops::gives_bool(function) ? DType::kBool : dtype;
        const uint16_t last =
            program.step(function, dtype, result, operands, params(0.375, 1.5, 2.25));
        program.outputs = {last};
        if (!program.can_generate(machine.target)) continue;
        SCOPED_TRACE(std::string(info(function).name) + " of " + std::string(name(dtype)));
        ++count;
        check_lengths(program, machine, {0, 1, 15, 16, 17, 31, 33, 64, 100, 4000});
        // The same among more constants than registers.
        uint16_t v = last;
        for (int k = 0; k < 40; ++k) {
          v = program.step(Pointwise::kAddScaled, {v, v}, params(k + 0.1));
        }
        program.outputs.push_back(v);
        check_lengths(program, machine, {1, 8, 100});
        if (machine.target == jit::Target::kAvx512) {
          // Beside float64: half as many lanes.
          program.outputs.push_back(
              program.step(Pointwise::kNeg, DType::kFloat64, DType::kFloat64, {last}));
          check_lengths(program, machine, {1, 7, 8, 9, 15, 16, 17, 33, 100, 4000});
        }
        if (HasFailure()) return;
      }
    }
    EXPECT_GT(count, 150);
  }
}

// Code made of a function's expression stands in for a tile that takes the same steps, and for no
// other, whether the function is built in or was registered.
TEST(Jit, TakesThePlaceOfTilesThatTakeTheSameSteps) {
  const Pointwise gelu_backward = ops::function_info(Pointwise::kGelu).derivatives[0].function;
  for (const Machine& machine : machines()) {
    const auto program_of = [](Pointwise function) {
      Program program;
      const uint16_t a = program.input(DType::kFloat32);
      const uint16_t b = program.input(DType::kFloat32);
      program.outputs = {program.step(function, {a, b}, params(0.375, 1 / 0.375))};
      return program;
    };
    const Program smooth_l1 = program_of(ops::function_named("smooth_l1"));
    ASSERT_TRUE(smooth_l1.can_generate(machine.target));
    check_lengths(smooth_l1, machine, {0, 1, 15, 16, 17, 31, 33, 64, 100, 4000});
    EXPECT_TRUE(program_of(Pointwise::kAddScaled).can_generate(machine.target));
    EXPECT_FALSE(program_of(gelu_backward).can_generate(machine.target));
    EXPECT_FALSE(program_of(Pointwise::kLogaddexp).can_generate(machine.target));
  }
}

TEST(Jit, EveryLength) {
  Program program;
  const uint16_t x = program.input(DType::kFloat32);
  const uint16_t y = program.input(DType::kFloat32, true);
  const uint16_t condition = program.input(DType::kBool);
  const uint16_t half = program.input(DType::kFloat16);
  uint16_t v = program.step(Pointwise::kMul, {x, y});
  v = program.step(Pointwise::kAdd, {v, half});
  const uint16_t test = program.step(Pointwise::kGt, {v, x});
  v = program.step(Pointwise::kWhere, {test, v, x});
  const uint16_t rounded =
      program.step(Pointwise::kMaximum, DType::kFloat32, DType::kBFloat16, {v, half});
  const uint16_t both =
      program.step(Pointwise::kLogicalAnd, DType::kBool, DType::kBool, {test, condition});
  v = program.step(Pointwise::kSub, {rounded, v});
  program.outputs = {v, test, rounded, both};
  check_lengths(program, all_lengths());
}

TEST(Jit, MixedWidths) {
  Program program;
  const uint16_t x = program.input(DType::kFloat32);
  const uint16_t y = program.input(DType::kFloat64);
  const uint16_t h = program.input(DType::kBFloat16);
  const uint16_t c = program.input(DType::kBool);
  const uint16_t s = program.input(DType::kFloat32, true);
  const uint16_t t = program.input(DType::kBool, true);
  uint16_t v = program.step(Pointwise::kAdd, DType::kFloat64, DType::kFloat64, {x, y});
  v = program.step(Pointwise::kMul, DType::kFloat64, DType::kFloat64, {v, s});
  const uint16_t f = program.step(Pointwise::kSub, DType::kFloat64, DType::kFloat16, {v, h});
  const uint16_t b = program.step(Pointwise::kLt, DType::kFloat64, DType::kBool, {v, f});
  const uint16_t w = program.step(Pointwise::kWhere, DType::kFloat32, DType::kFloat32, {t, f, x});
  const uint16_t sum = program.step(Pointwise::kAdd, DType::kFloat32, DType::kFloat32, {w, c});
  const uint16_t flag = program.step(Pointwise::kMul, DType::kFloat32, DType::kBool, {sum, b});
  program.outputs = {v, f, b, w, sum, flag};
  check_lengths(program, all_lengths());
}

// In place: an output lies where an input does.
TEST(Jit, InPlace) {
  Program program;
  const uint16_t x = program.input(DType::kFloat32);
  const uint16_t v = program.step(Pointwise::kAdd, {x, x});
  program.outputs = {v};
  for (const Machine& machine : machines()) {
    const auto kernel = program.compile(machine.target);
    ASSERT_NE(kernel, nullptr);
    std::vector<float> line(1003);
    for (size_t i = 0; i < line.size(); ++i) line[i] = static_cast<float>(i);
    const void* from[] = {line.data()};
    void* to[] = {line.data()};
    (*kernel)(from, to, static_cast<int64_t>(line.size()));
    for (size_t i = 0; i < line.size(); ++i) ASSERT_EQ(line[i], 2 * static_cast<float>(i));
  }
}

// More lines of memory than registers for their addresses, more numbers than vector registers.
TEST(Jit, ManyLines) {
  Program program;
  for (int i = 0; i < 20; ++i) program.input(DType::kFloat32, i % 3 == 1);
  uint16_t v = 0;
  for (uint16_t i = 1; i < 20; ++i) {
    v = program.step(i % 2 == 0 ? Pointwise::kAdd : Pointwise::kMul, {v, i});
    v = program.step(Pointwise::kAddScaled, {i, v}, params(i * 1.25));
    v = program.step(Pointwise::kSub, {i, v});
    if (i % 5 == 0) program.outputs.push_back(v);
  }
  program.outputs.push_back(v);
  check_lengths(program, {0, 1, 16, 63, 64, 65, 1000});
}

// Too many values at once: not an error, but no code.
TEST(Jit, TooManyValues) {
  Program program;
  const uint16_t x = program.input(DType::kFloat32);
  std::vector<uint16_t> alive;
  for (int i = 0; i < 40; ++i)
    alive.push_back(program.step(Pointwise::kAddScaled, {x, x}, params(i)));
  uint16_t sum = x;
  for (const uint16_t value : alive) sum = program.step(Pointwise::kAdd, {sum, value});
  program.outputs = {sum};
  for (const Machine& machine : machines()) EXPECT_EQ(program.compile(machine.target), nullptr);
  EXPECT_EQ(program.compile(jit::Target::kNone), nullptr);
}

TEST(Jit, CanBeSwitchedOff) {
  if (!jit::available()) GTEST_SKIP() << "no code is made for this processor";
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a process of its own: the answer is kept
  ::setenv("MINDTORCH_CPU_JIT", "0", 1);
  EXPECT_EXIT(std::exit(jit::available() ? 1 : 0), ::testing::ExitedWithCode(0), "");
  ::unsetenv("MINDTORCH_CPU_JIT");
}

// A process that may not make memory executable, as on hardened systems, goes on without code.
TEST(Jit, NeedsNoExecutableMemory) {
  if (!jit::available()) GTEST_SKIP() << "no code is made for this processor";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Program program;
  const uint16_t x = program.input(DType::kFloat32);
  program.outputs = {program.step(Pointwise::kAdd, {x, x})};
  const auto compile_refused = [&] {
    constexpr int kSetMemoryDenyWriteExecute = 65;  // PR_SET_MDWE, from Linux 6.3 on
    if (::prctl(kSetMemoryDenyWriteExecute, 1, 0, 0, 0) != 0) std::exit(0);
    std::exit(program.compile(jit::best_target()) == nullptr ? 0 : 1);
  };
  EXPECT_EXIT(compile_refused(), ::testing::ExitedWithCode(0), "");
}

// Steps of all that there is code for, on recent values.
Program random_program(jit::Target target, std::mt19937_64& random) {
  const DType dtypes[] = {DType::kFloat32, DType::kFloat32,  DType::kFloat32, DType::kFloat64,
                          DType::kFloat16, DType::kBFloat16, DType::kBool};
  Program program;
  const bool with_double = target == jit::Target::kAvx512 && random() % 3 == 0;
  const auto pick = [&] {
    const DType dtype = dtypes[random() % std::size(dtypes)];
    return dtype == DType::kFloat64 && !with_double ? DType::kFloat32 : dtype;
  };
  const size_t inputs = 1 + random() % 5;
  for (size_t i = 0; i < inputs; ++i) program.input(pick(), random() % 4 == 0);
  const size_t steps = 1 + random() % 30;
  while (program.steps.size() < steps) {
    FusedStep step;
    step.function = static_cast<Pointwise>(random() % ops::kPointwiseCount);
    step.compute = pick();
    step.result = ops::gives_bool(step.function) ? DType::kBool : pick();
    std::vector<uint16_t> operands;
    std::vector<DType> held;
    const size_t values = inputs + program.steps.size();
    for (int k = 0; k < info(step.function).arity; ++k) {
      operands.push_back(
          static_cast<uint16_t>(values - 1 - random() % std::min<size_t>(values, 6)));
      held.push_back(program.dtype(operands.back()));
    }
    if (!jit::can_generate(step, held, target)) continue;
    program.step(step.function, step.compute, step.result, operands, params(0.25, 0.75, 1.5));
  }
  for (size_t i = 0; i < steps; ++i) {
    if (random() % 4 == 0 || i + 1 == steps) {
      program.outputs.push_back(static_cast<uint16_t>(inputs + i));
    }
  }
  return program;
}

TEST(Jit, RandomPrograms) {
  for (const Machine& machine : machines()) {
    std::mt19937_64 random(11);
    int compiled = 0;
    for (int round = 0; round < 300; ++round) {
      const Program program = random_program(machine.target, random);
      const auto kernel = program.compile(machine.target);
      if (kernel == nullptr) continue;  // too many values
      ++compiled;
      for (const size_t n : {size_t{3}, size_t{16}, size_t{77}, size_t{300}}) {
        ASSERT_NO_FATAL_FAILURE(check(program, *kernel, machine.tiles, n, random))
            << "program " << round << program.text();
      }
    }
    EXPECT_GT(compiled, 200);
  }
}

}  // namespace
}  // namespace mindtorch::cpu
