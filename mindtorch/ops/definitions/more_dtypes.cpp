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
                                        "_masked_select",
                                        "_zero_list_",
                                        "all.dims",
                                        "any.dims",
                                        "cat",
                                        "clone",
                                        "copy_",
                                        "embedding",
                                        "empty.memory_format",
                                        "empty_strided",
                                        "eye",
                                        "eye.m",
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
                                           "linalg_vector_norm",
                                           "linspace",
                                           "mean.dim",
                                           "mm",
                                           "mv",
                                           "nonzero",
                                           "normal_",
                                           "normal.float_float",
                                           "prod.dim_int",
                                           "rand",
                                           "randn",
                                           "scatter_add_",
                                           "std.correction",
                                           "std_mean.correction",
                                           "sum.dim_IntList",
                                           "uniform_",
                                           "var.correction",
                                           "var_mean.correction",
                                           "vdot"};

constexpr std::string_view kOfWideUnsigned[] = {"prod.dim_int", "sum.dim_IntList"};

}  // namespace

void define_more_dtypes(Registry& ops) {
  for (const std::string_view name : kMovers) ops.more_dtypes(name, kAnyType, 0);
  for (const std::string_view name : kOfComplex) ops.more_dtypes(name, kComplexTypes, 0);
  for (const std::string_view name : kOfWideUnsigned) ops.more_dtypes(name, kWideUnsignedTypes, 0);
  ops.more_dtypes("_index_put_", kFloat8Types | bit(DType::kComplex32), 0);
}

}  // namespace mindtorch::ops
