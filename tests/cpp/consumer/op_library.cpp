// Runs an op of a library that this program knows by its path alone.
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <vector>

#include "mindtorch/dispatch/dispatcher.h"
#include "mindtorch/mindtorch.h"
#include "mindtorch/ops/evaluate.h"
#include "mindtorch/ops/extension.h"

namespace {

using mindtorch::Tensor;

void check(bool condition, const char* what) {
  if (condition) return;
  std::cerr << what << '\n';
  std::exit(1);
}

Tensor call(const mindtorch::ops::Op& op, std::initializer_list<mindtorch::ops::Value> args) {
  mindtorch::ops::Outputs outputs;
  mindtorch::dispatch::call(op, {args.begin(), args.size()}, outputs);
  return outputs.tensors[0];
}

// The formula of each gradient is the slope of the function.
void check_gradients(const mindtorch::ops::PointwiseCall& call) {
  using mindtorch::ops::Derivative;
  constexpr double kStep = 1e-6;
  double point[] = {0.7, 1.3};
  const auto value = [&] {
    return mindtorch::ops::evaluate<double>(call.function, point, call.params);
  };
  for (int operand = 0; operand < 2; ++operand) {
    const Derivative& derivative =
        mindtorch::ops::function_info(call.function).derivatives[operand];
    check(derivative.kind == Derivative::Kind::kExpression, "there is no derivative");
    std::vector<double> inputs;
    for (const Derivative::Input input : derivative.inputs) {
      inputs.push_back(input == Derivative::Input::kGradient ? 1 : point[static_cast<int>(input)]);
    }
    const double got = mindtorch::ops::evaluate<double>(derivative.function, inputs, call.params);
    point[operand] += kStep;
    const double above = value();
    point[operand] -= 2 * kStep;
    const double below = value();
    point[operand] += kStep;
    check(std::fabs(got - (above - below) / (2 * kStep)) < 1e-8, "a gradient is not the slope");
  }
}

}  // namespace

int main(int, char** argv) {
  const mindtorch::ops::OpLibrary& gated = mindtorch::ops::load_library(argv[1]);
  check(&gated == &mindtorch::ops::load_library(argv[1]), "a library was loaded twice");
  check(gated.name == "gated", "the library has another name");

  const Tensor x = mindtorch::ones({2, 3});
  const mindtorch::Scalar beta = 2;
  const Tensor y = call(gated.ops.at("swiglu"), {x, x, beta});
  const double want = 1 / (1 + std::exp(-2.0));
  check(std::fabs(y.sum().item().to_double() - 6 * want) < 1e-6, "swiglu went wrong");
  check(call(gated.ops.at("swiglu_"), {x, x, beta}).is_same(x), "swiglu_ gave another tensor");
  check(std::fabs(x.sum().item().to_double() - 6 * want) < 1e-6, "swiglu_ went wrong");

  const Tensor one = mindtorch::ones({1});
  const mindtorch::ops::Value args[] = {one, one, beta};
  check_gradients(gated.ops.at("swiglu").resolve(mindtorch::ops::Args(args)));

  check(mindtorch::ops::registry().find("swiglu") == nullptr, "an op is among those built in");
  try {
    mindtorch::ops::load_library("/no/such/library.so");
  } catch (const mindtorch::RuntimeError& error) {
    std::cout << error.what() << '\n';
    return 0;
  }
  std::cerr << "a library that is not there was loaded\n";
  return 1;
}
