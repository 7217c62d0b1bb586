// Which ops with kernels of their own take complex numbers, wide unsigned integers and 8-bit
// floats. Pointwise ops: ops/functions/more_dtypes.cpp. Views and ops made of others take what
// their parts take.
#include <span>

#include "mindtorch/ops/definitions/definitions.h"

namespace mindtorch::ops {
namespace {

// They move elements and don't look at them.
constexpr std::string_view kMovers[] = {"_copy_list_",
                                        "_index",
                                        "_zero_list_",
                                        "cat",
                                        "clone",
                                        "copy_",
                                        "embedding",
                                        "empty.memory_format",
                                        "empty_strided",
                                        "fill_.Scalar",
                                        "fill_.Tensor",
                                        "flip",
                                        "full",
                                        "gather",
                                        "index_copy_",
                                        "index_fill_",
                                        "index_select",
                                        "item",
                                        "ones",
                                        "repeat_interleave.Tensor",
                                        "repeat_interleave.self_int",
                                        "scalar_tensor",
                                        "scatter_.src",
                                        "scatter_.value",
                                        "take",
                                        "tril",
                                        "tril_",
                                        "triu",
                                        "triu_",
                                        "zero_",
                                        "zeros"};
// The same, where CANN has no op for them.
constexpr std::string_view kMoversOnCpus[] = {"_masked_select", "all.dims", "any.dims", "eye",
                                              "eye.m"};

constexpr std::string_view kOfComplex[] = {"_index_put_",
                                           "addmm",
                                           "addmv",
                                           "baddbmm",
                                           "bmm",
                                           "cumprod",
                                           "cumsum",
                                           "dot",
                                           "embedding_dense_backward",
                                           "index_add_",
                                           "mean.dim",
                                           "mm",
                                           "mv",
                                           "prod.dim_int",
                                           "scatter_add_",
                                           "sum.dim_IntList"};
// The same, where CANN has no op for them.
constexpr std::string_view kOfComplexOnCpus[] = {"linalg_vector_norm",
                                                 "linspace",
                                                 "nonzero",
                                                 "normal.float_float",
                                                 "normal_",
                                                 "rand",
                                                 "randn",
                                                 "std.correction",
                                                 "std_mean.correction",
                                                 "uniform_",
                                                 "var.correction",
                                                 "var_mean.correction",
                                                 "vdot"};

constexpr std::string_view kOfWideUnsigned[] = {"prod.dim_int", "sum.dim_IntList"};

}  // namespace

void define_more_dtypes(Registry& ops) {
  for (const std::string_view name : kMovers) ops.more_dtypes(name, kAnyType, kComplexTypes);
  for (const std::string_view name : kOfComplex)
    ops.more_dtypes(name, kComplexTypes, kComplexTypes);
  for (const std::string_view name : kMoversOnCpus) ops.more_dtypes(name, kAnyType, 0);
  for (const std::string_view name : kOfComplexOnCpus) ops.more_dtypes(name, kComplexTypes, 0);
  // Memory alone.
  for (const char* name : {"empty.memory_format", "empty_strided"}) {
    ops.more_dtypes(name, kAnyType, kAnyType);
  }
  for (const std::string_view name : kOfWideUnsigned) ops.more_dtypes(name, kWideUnsignedTypes, 0);
  ops.more_dtypes("_index_put_", kFloat8Types | bit(DType::kComplex32), 0);
}

}  // namespace mindtorch::ops
