// Numbers drawn from a generator.
#include "mindtorch/ops/definitions/definitions.h"
#include "mindtorch/ops/definitions/rules.h"
#include "mindtorch/ops/dtype_limits.h"
#include "mindtorch/ops/random_range.h"

namespace mindtorch::ops {
namespace {

TensorSpec new_spec(IntList size, DType dtype, std::optional<Device> device) {
  numel(size);
  return contiguous_spec(Shape(size), dtype, device.value_or(Device()));
}

void check_uniform_dtype(DType dtype) {
  MT_CHECK(is_differentiable(dtype), NotImplementedError,
           "\"check_uniform_bounds\" not implemented for '", legacy_name(dtype), "'");
}

void check_normal_dtype(DType dtype, int64_t count) {
  MT_CHECK(is_differentiable(dtype) || count == 0, NotImplementedError,
           "\"normal_kernel_cpu\" not implemented for '", legacy_name(dtype), "'");
}

TensorSpec drawn(IntList size,
                 Generator*,
                 std::optional<DType> dtype,
                 std::optional<Device> device) {
  return new_spec(size, dtype.value_or(default_dtype()), device);
}

TensorSpec rand(IntList size,
                Generator* generator,
                std::optional<DType> dtype,
                std::optional<Device> device) {
  TensorSpec spec = drawn(size, generator, dtype, device);
  check_uniform_dtype(spec.dtype);
  return spec;
}

TensorSpec randn(IntList size,
                 Generator* generator,
                 std::optional<DType> dtype,
                 std::optional<Device> device) {
  TensorSpec spec = drawn(size, generator, dtype, device);
  check_normal_dtype(spec.dtype, numel(size));
  return spec;
}

TensorSpec randint_low(int64_t low,
                       int64_t high,
                       IntList size,
                       Generator*,
                       std::optional<DType> dtype,
                       std::optional<Device> device) {
  TensorSpec spec = new_spec(size, dtype.value_or(DType::kInt64), device);
  warn_if_imprecise(spec.dtype, random_range(spec.dtype, low, high));
  return spec;
}

TensorSpec randint(int64_t high,
                   IntList size,
                   Generator* generator,
                   std::optional<DType> dtype,
                   std::optional<Device> device) {
  return randint_low(0, high, size, generator, dtype, device);
}

TensorSpec randperm(int64_t n,
                    Generator*,
                    std::optional<DType> dtype,
                    std::optional<Device> device) {
  TensorSpec spec = new_spec({n}, dtype.value_or(DType::kInt64), device);
  if (n > 0) check_in_range(n - 1, spec.dtype);
  if (is_floating_point(spec.dtype)) {
    const int64_t most = (int64_t{1} << limits(spec.dtype).digits) + 1;
    MT_CHECK(n <= most, RuntimeError, "n cannot be greater than ", most, " for ",
             legacy_name(spec.dtype), " type.");
  }
  return spec;
}

void check_std(double std) {
  MT_CHECK(std >= 0, RuntimeError, "normal expects std >= 0.0, but found std ", std);
}

TensorSpec normal_size(double,
                       double std,
                       IntList size,
                       Generator* generator,
                       std::optional<DType> dtype,
                       std::optional<Device> device) {
  check_std(std);
  return drawn(size, generator, dtype, device);
}

void normal(const Tensor& self, double, double std, Generator*) {
  check_std(std);
  check_normal_dtype(self.dtype(), self.numel());
}

void uniform(const Tensor& self, double from, double to, Generator*) {
  const DType dtype = self.dtype();
  check_uniform_dtype(dtype);
  const double largest = limits(dtype).largest;
  const auto is_in_range = [=](double bound) { return bound >= -largest && bound <= largest; };
  MT_CHECK(is_in_range(from), RuntimeError, "from is out of bounds for ", limits(dtype).type_name);
  MT_CHECK(is_in_range(to), RuntimeError, "to is out of bounds for ", limits(dtype).type_name);
  MT_CHECK(from <= to, RuntimeError,
           "uniform_ expects to return a [from, to) range, but found from=", from, " > to=", to);
  MT_CHECK(to - from <= largest, RuntimeError, "uniform_ expects to-from <= std::numeric_limits<",
           legacy_name(dtype), ">::max(), but found to=", to, " and from=", from,
           " which result in to-from to exceed the limit");
}

void random(const Tensor&, Generator*) {}
void random_from(const Tensor& self, int64_t from, std::optional<int64_t> to, Generator*) {
  warn_if_imprecise(self.dtype(), random_range(self.dtype(), from, to));
}
void random_to(const Tensor& self, int64_t to, Generator* generator) {
  random_from(self, 0, to, generator);
}

void bernoulli_p(const Tensor&, double p, Generator*) {
  MT_CHECK(p >= 0 && p <= 1, RuntimeError, "bernoulli_ expects p to be in [0, 1], but got p=", p);
}
void bernoulli_tensor(const Tensor& self, const Tensor& p, Generator*) {
  MT_CHECK(is_floating_point(p.dtype()) || self.numel() == 0, NotImplementedError,
           "\"bernoulli_tensor_cpu_p_\" not implemented for '", legacy_name(p.dtype()), "'");
  const IntList target = self.sizes();
  MT_CHECK(p.dim() <= self.dim(), RuntimeError, "expand(torch.", legacy_name(p.dtype()), "Tensor{",
           to_string(p.sizes()), "}, size=", to_string(target), "): the number of sizes provided (",
           target.size(), ") must be greater or equal to the number of dimensions in the tensor (",
           p.dim(), ")");
  const size_t shift = target.size() - p.sizes().size();
  for (size_t i = p.sizes().size(); i-- > 0;) {
    const int64_t own = p.sizes()[i];
    MT_CHECK(own == 1 || own == target[i + shift], RuntimeError,
             "The expanded size of the tensor (", target[i + shift],
             ") must match the existing size (", own, ") at non-singleton dimension ", i + shift,
             ".  Target sizes: ", to_string(target), ".  Tensor sizes: ", to_string(p.sizes()));
  }
}

void exponential(const Tensor& self, double lambd, Generator*) {
  MT_CHECK(is_floating_point(self.dtype()), RuntimeError,
           "Exponential distribution is a continuous probability distribution. dtype must be a "
           "floating point but you specified ",
           legacy_name(self.dtype()));
  MT_CHECK(lambd > 0, RuntimeError, "exponential_ expects lambda > 0.0, but found lambda=", lambd);
}
void geometric(const Tensor& self, double p, Generator*) {
  MT_CHECK(p > 0 && p < 1, RuntimeError, "geometric_ expects p to be in (0, 1), but got p=", p);
  MT_CHECK(self.dtype() != DType::kBool || self.numel() == 0, NotImplementedError,
           "\"geometric_cpu\" not implemented for 'Bool'");
}
void cauchy(const Tensor& self, double, double sigma, Generator*) {
  MT_CHECK(sigma > 0, RuntimeError, "cauchy_ expects sigma > 0.0, but found sigma=", sigma);
  MT_CHECK(is_floating_point(self.dtype()), RuntimeError,
           "Cauchy distribution is a continuous probability distribution. dtype must be a floating "
           "point but you specified ",
           limits(self.dtype()).type_name);
}
void log_normal(const Tensor& self, double, double std, Generator*) {
  MT_CHECK(std > 0, RuntimeError, "log_normal_ expects std > 0.0, but found std=", std);
  MT_CHECK(is_floating_point(self.dtype()) || self.numel() == 0, NotImplementedError,
           "\"log_normal_cpu\" not implemented for '", legacy_name(self.dtype()), "'");
}

TensorSpec multinomial(const Tensor& self, int64_t num_samples, bool replacement, Generator*) {
  MT_CHECK(self.dim() == 1 || self.dim() == 2, RuntimeError, "prob_dist must be 1 or 2 dim");
  MT_CHECK(is_floating_point(self.dtype()), RuntimeError,
           "multinomial only supports floating-point dtypes for input, got: ",
           legacy_name(self.dtype()));
  MT_CHECK(num_samples > 0, RuntimeError, "cannot sample n_sample <= 0 samples");
  const int64_t categories = self.size(-1);
  MT_CHECK(replacement || num_samples <= categories, RuntimeError,
           "cannot sample n_sample > prob_dist.size(-1) samples without replacement");
  const int64_t rows = self.dim() == 2 ? self.size(0) : 1;
  MT_CHECK(rows == 0 || categories > 0, RuntimeError,
           "invalid multinomial distribution (sum of probabilities <= 0)");
  MT_CHECK(categories <= int64_t{1} << 24, RuntimeError, "number of categories cannot exceed 2^24");
  Shape sizes = self.sizes();
  sizes.back() = num_samples;
  return contiguous_spec(std::move(sizes), DType::kInt64, self.device());
}

// What the ops in place take after self: the parameters, then the generator.
SmallVector<Value, 4> unit_parameters(Args args) { return {Value(0.0), Value(1.0), args[1]}; }
SmallVector<Value, 4> below(Args args) { return {Value(int64_t{0}), args[0], args[2]}; }
SmallVector<Value, 4> between(Args args) { return {args[0], args[1], args[3]}; }

void define_factories(Registry& ops) {
  ops.define<rand>(
         "rand(int[] size, *, Generator? generator=None, ScalarType? dtype=None, "
         "Device? device=None) -> Tensor")
      .variants(kOutVariant)
      .draws_by("uniform_", unit_parameters)
      .function_only()
      .random()
      .doc("Numbers drawn evenly from [0, 1).", ">>> torch.rand(2, 3).shape\ntorch.Size([2, 3])");
  ops.define<randn>(
         "randn(int[] size, *, Generator? generator=None, ScalarType? dtype=None, "
         "Device? device=None) -> Tensor")
      .variants(kOutVariant)
      .draws_by("normal_", unit_parameters)
      .function_only()
      .random()
      .doc("Numbers of the standard normal distribution.",
           ">>> torch.randn(2, 3).shape\ntorch.Size([2, 3])");
  ops.define<randint>(
         "randint(int high, int[] size, *, Generator? generator=None, ScalarType? dtype=None, "
         "Device? device=None) -> Tensor")
      .variants(kOutVariant)
      .draws_by("random_.from", below)
      .function_only()
      .random()
      .doc("Integers drawn evenly from `low` to `high`, which is left out.",
           ">>> torch.randint(3, 4, (2,))\ntensor([3, 3])");
  ops.define<randint_low>(
         "randint.low(int low, int high, int[] size, *, Generator? generator=None, "
         "ScalarType? dtype=None, Device? device=None) -> Tensor")
      .device_example("torch.randint(2, 5, (3,))")
      .variants(kOutVariant)
      .draws_by("random_.from", between)
      .function_only()
      .random();
  ops.define<randperm>(
         "randperm(int n, *, Generator? generator=None, ScalarType? dtype=None, "
         "Device? device=None) -> Tensor")
      .variants(kOutVariant)
      .function_only()
      .random()
      .doc("The integers from 0 to n - 1 in random order.",
           ">>> torch.randperm(4).sort().values\ntensor([0, 1, 2, 3])");
  ops.define(
         "rand_like(Tensor self, *, Generator? generator=None, ScalarType? dtype=None, "
         "Device? device=None, MemoryFormat? memory_format=None) -> Tensor")
      .function_only()
      .random()
      .doc("A tensor like `self` with numbers drawn evenly from [0, 1).",
           ">>> torch.rand_like(torch.zeros(2, 3)).shape\ntorch.Size([2, 3])");
  ops.define(
         "randn_like(Tensor self, *, Generator? generator=None, ScalarType? dtype=None, "
         "Device? device=None, MemoryFormat? memory_format=None) -> Tensor")
      .function_only()
      .random()
      .doc("A tensor like `self` with numbers of the standard normal distribution.",
           ">>> torch.randn_like(torch.zeros(2, 3)).shape\ntorch.Size([2, 3])");
  ops.define(
         "randint_like(Tensor self, int high, *, Generator? generator=None, "
         "ScalarType? dtype=None, Device? device=None, MemoryFormat? memory_format=None) -> Tensor")
      .function_only()
      .random()
      .doc("A tensor like `self` with integers from `low` to `high`, which is left out.",
           ">>> torch.randint_like(torch.zeros(2), 3, 4)\ntensor([3., 3.])");
  ops.define(
         "randint_like.low_dtype(Tensor self, int low, int high, *, Generator? generator=None, "
         "ScalarType? dtype=None, Device? device=None, MemoryFormat? memory_format=None) -> Tensor")
      .device_example("torch.randint_like(i, 2, 5)")
      .function_only()
      .random();
}

void define_fills(Registry& ops) {
  ops.define<normal>(
         "normal_(Tensor(a!) self, float mean=0.0, float std=1.0, *, Generator? generator=None) "
         "-> Tensor(a!)")
      .method_only()
      .random()
      .doc("Fills with numbers of a normal distribution.",
           ">>> torch.zeros(2).normal_(5.0, 0.0)\ntensor([5., 5.])");
  ops.define<uniform>(
         "uniform_(Tensor(a!) self, float from=0.0, float to=1.0, *, Generator? generator=None) "
         "-> Tensor(a!)")
      .method_only()
      .random()
      .doc("Fills with numbers drawn evenly from [from, to).",
           ">>> torch.zeros(2).uniform_(3, 3)\ntensor([3., 3.])");
  ops.define<random>("random_(Tensor(a!) self, *, Generator? generator=None) -> Tensor(a!)")
      .method_only()
      .random()
      .doc("Fills with integers from `from` to `to`, which is left out.",
           ">>> torch.zeros(2).random_(3, 4)\ntensor([3., 3.])");
  ops.define<random_to>(
         "random_.to(Tensor(a!) self, int to, *, Generator? generator=None) -> Tensor(a!)")
      .device_example("i.clone().random_(5)")
      .method_only()
      .random();
  ops.define<random_from>(
         "random_.from(Tensor(a!) self, int from, int? to, *, Generator? generator=None) -> "
         "Tensor(a!)")
      .device_example("i.clone().random_(2, 5)")
      .method_only()
      .random();
  ops.define<bernoulli_tensor>(
         "bernoulli_.Tensor(Tensor(a!) self, Tensor p, *, Generator? generator=None) -> Tensor(a!)")
      .method_only()
      .random()
      .doc("Fills with 1 with probability `p`, else 0.",
           ">>> torch.zeros(2).bernoulli_(torch.tensor([0.0, 1.0]))\ntensor([0., 1.])");
  ops.define<bernoulli_p>(
         "bernoulli_.float(Tensor(a!) self, float p=0.5, *, Generator? generator=None) -> "
         "Tensor(a!)")
      .device_example("x.clone().bernoulli_(0.5)")
      .method_only()
      .random();
  ops.define<exponential>(
         "exponential_(Tensor(a!) self, float lambd=1.0, *, Generator? generator=None) -> "
         "Tensor(a!)")
      .method_only()
      .random()
      .doc("Fills with numbers of an exponential distribution.",
           ">>> (torch.zeros(2).exponential_() > 0).all()\ntensor(True)");
  ops.define<geometric>(
         "geometric_(Tensor(a!) self, float p, *, Generator? generator=None) -> Tensor(a!)")
      .method_only()
      .random()
      .doc("Fills with the number of trials up to the first success.",
           ">>> (torch.zeros(2).geometric_(0.5) >= 1).all()\ntensor(True)");
  ops.define<cauchy>(
         "cauchy_(Tensor(a!) self, float median=0.0, float sigma=1.0, *, "
         "Generator? generator=None) -> Tensor(a!)")
      .method_only()
      .random()
      .doc("Fills with numbers of a Cauchy distribution.",
           ">>> torch.zeros(2).cauchy_().shape\ntorch.Size([2])");
  ops.define<log_normal>(
         "log_normal_(Tensor(a!) self, float mean=1.0, float std=2.0, *, "
         "Generator? generator=None) -> Tensor(a!)")
      .method_only()
      .random()
      .doc("Fills with numbers whose logarithm is normal.",
           ">>> (torch.zeros(2).log_normal_() > 0).all()\ntensor(True)");
}

TensorSpec shaped_samples(const char* kernel, const Tensor& self) {
  MT_CHECK(is_floating_point(self.dtype()), NotImplementedError, "\"", kernel,
           "\" not implemented for '", legacy_name(self.dtype()), "'");
  return contiguous_spec(self.sizes(), self.dtype(), self.device());
}
TensorSpec standard_gamma(const Tensor& self, Generator*) { return shaped_samples("gamma", self); }
TensorSpec sample_dirichlet(const Tensor& self, Generator*) {
  return shaped_samples("dirichlet", self);
}
TensorSpec poisson(const Tensor& self, Generator*) { return shaped_samples("poisson_cpu", self); }
TensorSpec binomial(const Tensor& count, const Tensor& prob, Generator*) {
  MT_CHECK(count.dtype() == prob.dtype(), RuntimeError, "Found dtype ", legacy_name(prob.dtype()),
           " but expected ", legacy_name(count.dtype()));
  MT_CHECK(broadcast_shapes(count.sizes(), prob.sizes()) == count.sizes(), RuntimeError,
           "output with shape ", to_string(count.sizes()), " doesn't match the broadcast shape ",
           to_string(broadcast_shapes(count.sizes(), prob.sizes())));
  return shaped_samples("binomial_cpu", count);
}

void define_shaped_samples(Registry& ops) {
  ops.define<standard_gamma>("_standard_gamma(Tensor self, Generator? generator=None) -> Tensor")
      .random()
      .doc("Samples of gamma distributions of scale 1 and the given shapes.",
           ">>> torch._standard_gamma(torch.ones(2)).shape\ntorch.Size([2])");
  ops.define<sample_dirichlet>(
         "_sample_dirichlet(Tensor self, Generator? generator=None) -> Tensor")
      .function_only()
      .random()
      .doc("Samples of Dirichlet distributions with the given concentrations.",
           ">>> torch._sample_dirichlet(torch.ones(3)).sum()\ntensor(1.)");
  ops.define<poisson>("poisson(Tensor self, Generator? generator=None) -> Tensor")
      .function_only()
      .random()
      .doc("Numbers of events, by Poisson distributions of the given rates.",
           ">>> torch.poisson(torch.zeros(2))\ntensor([0., 0.])");
  ops.define<binomial>("binomial(Tensor count, Tensor prob, Generator? generator=None) -> Tensor")
      .function_only()
      .random()
      .doc("Numbers of successes in `count` trials, each with the chance `prob`.",
           ">>> torch.binomial(torch.tensor([3.]), torch.tensor([1.]))\ntensor([3.])");
}

// All of it is a note of the device's own kernel.
SpecList dropout_mask(const Tensor&, IntList, double) { return {}; }
TensorSpec masked_dropout(const Tensor& self, const Tensor&, double) {
  return spec_like(self, self.dtype());
}

// Dropout where a device draws what is dropped in a form that only its kernels know: bits, or a
// seed and an offset.
void define_dropout_by_mask(Registry& ops) {
  ops.define<dropout_mask>("_dropout_mask(Tensor self, int[] shape, float p) -> Tensor")
      .auxiliary(1)
      .device_example("torch.dropout(x * 0, 0.5, True)")
      .internal()
      .random()
      .not_differentiable();
  ops.define<masked_dropout>("_masked_dropout(Tensor self, Tensor mask, float p) -> Tensor")
      .device_example("torch.dropout(x * 0, 0.5, True)")
      .internal();
}

}  // namespace

void define_random(Registry& ops) {
  define_shaped_samples(ops);
  define_factories(ops);
  define_fills(ops);
  define_dropout_by_mask(ops);
  ops.define(
         "normal.Tensor_Tensor(Tensor mean, Tensor std, *, Generator? generator=None) -> Tensor")
      .variants(kOutVariant)
      .function_only()
      .random()
      .doc("Numbers of normal distributions, one for each mean and standard deviation.",
           ">>> torch.normal(torch.tensor([1., 2.]), torch.zeros(2))\ntensor([1., 2.])");
  ops.define(
         "normal.Tensor_float(Tensor mean, float std=1.0, *, Generator? generator=None) -> Tensor")
      .device_example("torch.normal(x, 1.0)")
      .variants(kOutVariant)
      .broadcasts_with_out()
      .function_only()
      .random();
  ops.define("normal.float_Tensor(float mean, Tensor std, *, Generator? generator=None) -> Tensor")
      .device_example("torch.normal(0.0, x)")
      .variants(kOutVariant)
      .function_only()
      .random();
  ops.define<normal_size>(
         "normal.float_float(float mean, float std, int[] size, *, Generator? generator=None, "
         "ScalarType? dtype=None, Device? device=None) -> Tensor")
      .device_example("torch.normal(0.0, 1.0, (2, 3))")
      .variants(kOutVariant)
      .function_only()
      .random();
  ops.define("bernoulli(Tensor self, *, Generator? generator=None) -> Tensor")
      .variants(kOutVariant)
      .random()
      .doc("1 with the probability that each element gives, else 0.",
           ">>> torch.bernoulli(torch.tensor([0.0, 1.0]))\ntensor([0., 1.])");
  ops.define("bernoulli.p(Tensor self, float p, *, Generator? generator=None) -> Tensor")
      .device_example("torch.bernoulli(x, 0.5)")
      .random();
  ops.define<multinomial>(
         "multinomial(Tensor self, int num_samples, bool replacement=False, *, "
         "Generator? generator=None) -> Tensor")
      .variants(kOutVariant)
      .out_dtype(TargetDType::kSame, "multinomial expects Long tensor out, got: $O")
      .random()
      .doc("Indices drawn with the given weights, for each row.",
           ">>> torch.multinomial(torch.tensor([0., 1., 0.]), 1)\ntensor([1])");
  ops.define("dropout(Tensor self, float p, bool train) -> Tensor")
      .function_only()
      .random()
      .doc("Sets elements to 0 with probability `p` and scales the others to make up for it.",
           ">>> torch.dropout(torch.ones(2), 0.5, False)\ntensor([1., 1.])");
  ops.define("dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)")
      .function_only()
      .random()
      .doc("Sets elements to 0 with probability `p` and scales the others to make up for it.",
           ">>> torch.dropout_(torch.ones(2), 1.0, True)\ntensor([0., 0.])");
  ops.define(
         "rrelu(Tensor self, Scalar lower=0.125, Scalar upper=0.3333333333333333, "
         "bool training=False, Generator? generator=None) -> Tensor")
      .function_only()
      .random()
      .doc(
          "The input where it is positive, else scaled by a random number, or by the middle of "
          "its range.",
          ">>> torch.rrelu(torch.tensor([-24.0, 1.0]))\ntensor([-5.5000,  1.0000])");
  ops.define(
         "rrelu_(Tensor(a!) self, Scalar lower=0.125, Scalar upper=0.3333333333333333, "
         "bool training=False, Generator? generator=None) -> Tensor(a!)")
      .function_only()
      .random()
      .doc(
          "The input where it is positive, else scaled by a random number, or by the middle of "
          "its range.",
          ">>> torch.rrelu_(torch.tensor([-24.0, 1.0]))\ntensor([-5.5000,  1.0000])");
  ops.define(
         "rrelu_with_noise(Tensor self, Tensor(b!) noise, Scalar lower=0.125, "
         "Scalar upper=0.3333333333333333, bool training=False, Generator? generator=None) -> "
         "Tensor")
      .random()
      .device_example("torch.ops.aten.rrelu_with_noise(x, x.clone(), 0.1, 0.2, True)")
      .internal();
  ops.define(
         "rrelu_with_noise_(Tensor(a!) self, Tensor(b!) noise, Scalar lower=0.125, "
         "Scalar upper=0.3333333333333333, bool training=False, Generator? generator=None) -> "
         "Tensor(a!)")
      .random()
      .device_example("torch.ops.aten.rrelu_with_noise_(x.clone(), x.clone(), 0.1, 0.2, True)")
      .internal();
  ops.define(
         "rrelu_with_noise_functional(Tensor self, Tensor noise, Scalar lower=0.125, "
         "Scalar upper=0.3333333333333333, bool training=False, Generator? generator=None) -> "
         "(Tensor, Tensor)")
      .random()
      .device_example("torch.ops.aten.rrelu_with_noise_functional(x, x, 0.1, 0.2, True)")
      .internal();
  ops.define(
         "rrelu_with_noise_backward(Tensor grad_output, Tensor self, Tensor noise, Scalar lower, "
         "Scalar upper, bool training, bool self_is_result) -> Tensor")
      .device_example("torch.ops.aten.rrelu_with_noise_backward(x, x, x, 0.1, 0.2, True, False)")
      .internal();
  ops.define("feature_dropout(Tensor self, float p, bool train) -> Tensor")
      .function_only()
      .random()
      .doc("Sets whole channels of (N, C, ...) to 0 with probability `p`, and scales the others.",
           ">>> torch.feature_dropout(torch.ones(1, 2), 0.5, False)\ntensor([[1., 1.]])");
  ops.define("feature_dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)")
      .function_only()
      .random()
      .doc("Sets whole channels of (N, C, ...) to 0 with probability `p`, and scales the others.",
           ">>> torch.feature_dropout_(torch.ones(1, 2), 0.5, False)\ntensor([[1., 1.]])");
  ops.define("alpha_dropout(Tensor self, float p, bool train) -> Tensor")
      .function_only()
      .random()
      .doc("Dropout that keeps mean 0 and variance 1 of what selu gives.",
           ">>> torch.alpha_dropout(torch.ones(2), 0.5, False)\ntensor([1., 1.])");
  ops.define("alpha_dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)")
      .function_only()
      .random()
      .doc("Dropout that keeps mean 0 and variance 1 of what selu gives.",
           ">>> torch.alpha_dropout_(torch.ones(2), 0.5, False)\ntensor([1., 1.])");
  ops.define("feature_alpha_dropout(Tensor self, float p, bool train) -> Tensor")
      .function_only()
      .random()
      .doc("alpha_dropout of whole channels of (N, C, ...).",
           ">>> torch.feature_alpha_dropout(torch.ones(1, 2), 0.5, False)\ntensor([[1., 1.]])");
  ops.define("feature_alpha_dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)")
      .function_only()
      .random()
      .doc("alpha_dropout of whole channels of (N, C, ...).",
           ">>> torch.feature_alpha_dropout_(torch.ones(1, 2), 0.5, False)\ntensor([[1., 1.]])");
}

}  // namespace mindtorch::ops
