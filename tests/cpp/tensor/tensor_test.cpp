#include "mindtorch/tensor/tensor.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "tests/cpp/support/errors.h"

namespace mindtorch {
namespace {

using testing::error_of;

constexpr int64_t kHuge = int64_t{1} << 62;

TEST(Tensor, NewOnesAreContiguous) {
  const Tensor tensor = Tensor::make({2, 3}, DType::kFloat32);
  EXPECT_TRUE(tensor.defined());
  EXPECT_EQ(tensor.dim(), 2);
  EXPECT_EQ(tensor.sizes(), (Shape{2, 3}));
  EXPECT_EQ(tensor.strides(), (Shape{3, 1}));
  EXPECT_EQ(tensor.size(-1), 3);
  EXPECT_EQ(tensor.stride(0), 3);
  EXPECT_EQ(tensor.numel(), 6);
  EXPECT_EQ(tensor.element_size(), 4);
  EXPECT_TRUE(tensor.is_contiguous());
  EXPECT_EQ(tensor.storage()->size_bytes(), 24u);
  EXPECT_THROW(tensor.size(2), IndexError);
  EXPECT_FALSE(Tensor().defined());
  EXPECT_EQ(Tensor::make({0, 3}, DType::kFloat32).data_ptr(), nullptr);
}

TEST(Tensor, HandlesShareViewsDoNot) {
  const Tensor tensor = Tensor::make({2, 3}, DType::kFloat32);
  const Tensor handle = tensor;
  EXPECT_TRUE(handle.is_same(tensor));
  const Tensor view = tensor.alias({3}, {1}, 3);
  EXPECT_FALSE(view.is_same(tensor));
  EXPECT_TRUE(view.shares_storage(tensor));
  EXPECT_EQ(view.data<float>(), tensor.data<float>() + 3);
  EXPECT_FALSE(tensor.shares_storage(Tensor::make({2, 3}, DType::kFloat32)));
}

TEST(Tensor, StorageOutlivesTheTensorItWasMadeFor) {
  Tensor tensor = Tensor::make({4}, DType::kInt64);
  for (int64_t i = 0; i < 4; ++i) tensor.data<int64_t>()[i] = i;
  const Tensor view = tensor.alias({2}, {2}, 1);
  tensor = Tensor();
  EXPECT_EQ(view.data<int64_t>()[0], 1);
  EXPECT_EQ(view.data<int64_t>()[2], 3);
}

TEST(Tensor, ViewsShareTheVersionCounter) {
  const Tensor tensor = Tensor::make({4}, DType::kFloat32);
  const Tensor view = tensor.alias({2}, {1}, 2);
  view.bump_version();
  EXPECT_EQ(tensor.version(), 1u);
  EXPECT_EQ(view.version(), 1u);

  // `.data`: the same bytes, versions of its own.
  const Tensor data = tensor.alias({4}, {1}, 0);
  data.impl()->has_own_version = true;
  data.bump_version();
  EXPECT_EQ(data.version(), 1u);
  data.bump_version();
  EXPECT_EQ(data.version(), 2u);
  EXPECT_EQ(tensor.version(), 1u);
  EXPECT_EQ(data.alias({1}, {1}, 0).version(), 2u);
}

TEST(Tensor, StridedOnesHaveRoomForAllElements) {
  const Tensor tensor = Tensor::make_strided({2, 3}, {1, 4}, DType::kFloat64);
  EXPECT_EQ(tensor.storage()->size_bytes(), 10u * 8);
  EXPECT_FALSE(tensor.is_contiguous());
  EXPECT_EQ(Tensor::make_strided({5}, {0}, DType::kInt8).storage()->size_bytes(), 1u);
  EXPECT_EQ(error_of<RuntimeError>([] { Tensor::make_strided({2}, {1, 1}, DType::kInt8); }),
            "mismatch in length of strides and shape");
  EXPECT_THROW(Tensor::make_strided({2}, {-1}, DType::kInt8), RuntimeError);
}

TEST(Tensor, RefusesSizesThatOverflow) {
  const auto make = [](IntList sizes, DType dtype) {
    return error_of<RuntimeError>([&] { Tensor::make(sizes, dtype, DeviceType::kMeta); });
  };
  EXPECT_EQ(make({kHuge, 4}, DType::kInt8),
            "Storage size calculation overflowed with sizes=[4611686018427387904, 4]");
  EXPECT_EQ(make({kHuge}, DType::kInt16),
            "Storage size calculation overflowed with sizes=[4611686018427387904]");
  EXPECT_EQ(make({kHuge, 4, 0}, DType::kInt8),
            "Storage size calculation overflowed with sizes=[4611686018427387904, 4, 0]");
  EXPECT_EQ(make({0, kHuge, 4}, DType::kInt8), "Stride calculation overflowed");
  EXPECT_EQ(make({kHuge}, DType::kInt8), "no error");
  EXPECT_THROW(Tensor::make_strided({2}, {kHuge}, DType::kInt32, DeviceType::kMeta), RuntimeError);
}

TEST(Tensor, AnEmptyViewMayHaveSizesWhoseProductOverflows) {
  const Tensor empty = Tensor::make({0}, DType::kInt8);
  EXPECT_EQ(empty.alias({kHuge, 4, 0}, {0, 0, 1}, 0).numel(), 0);
}

TEST(Tensor, SizesAreThoseOfDimensionsThatAre) {
  const Tensor matrix = Tensor::make({2, 3}, DType::kFloat32);
  EXPECT_EQ(matrix.size(-1), 3);
  EXPECT_EQ(matrix.stride(-2), 3);
  const Tensor number = Tensor::make({}, DType::kFloat32);
  for (const int64_t dim : {-1, 0, 4}) {
    const std::string text =
        "Dimension specified as " + std::to_string(dim) + " but tensor has no dimensions";
    EXPECT_EQ(error_of<IndexError>([&] { number.size(dim); }), text);
    EXPECT_EQ(error_of<IndexError>([&] { number.stride(dim); }), text);
  }
  EXPECT_EQ(error_of<IndexError>([&] { matrix.size(2); }),
            "Dimension out of range (expected to be in range of [-2, 1], but got 2)");
}

TEST(Tensor, ViewsOfAStorageStayInside) {
  const Storage storage = StorageImpl::allocate(40, DeviceType::kCpu);
  const auto over = [&](IntList sizes, IntList strides, int64_t offset) {
    return error_of<RuntimeError>(
        [&] { Tensor::over(storage, DType::kFloat32, sizes, strides, offset); });
  };
  EXPECT_EQ(over({2, 3}, {4, 1}, 3), "no error");
  EXPECT_EQ(over({2, 3}, {4, 1}, 4),
            "setStorage: sizes [2, 3], strides [4, 1], storage offset 4, and itemsize 4 requiring "
            "a storage size of 44 are out of bounds for storage of size 40");
  EXPECT_EQ(over({0}, {1}, 1000), "no error");
  EXPECT_EQ(over({1}, {1}, -1), "Tensor: invalid storage offset -1");
  EXPECT_NE(over({2}, {-1}, 5), "no error");
  EXPECT_NE(over({2}, {kHuge}, kHuge), "no error");
  EXPECT_NE(over({1}, {1}, kHuge), "no error");
}

TEST(Tensor, MetaTensorsHaveNoBytes) {
  const Tensor tensor = Tensor::make({1 << 20, 1 << 20}, DType::kFloat32, DeviceType::kMeta);
  EXPECT_EQ(tensor.data_ptr(), nullptr);
  EXPECT_EQ(tensor.numel(), int64_t{1} << 40);
}

TEST(Tensor, ChangingSizesRefreshesWhatFollowsFromThem) {
  const Tensor tensor = Tensor::make({2, 3}, DType::kFloat32);
  tensor.impl()->set_sizes_and_strides({3, 2}, {1, 3}, 0);
  EXPECT_FALSE(tensor.is_contiguous());
  tensor.impl()->set_sizes_and_strides({4}, {1}, 2);
  EXPECT_TRUE(tensor.is_contiguous());
  EXPECT_EQ(tensor.numel(), 4);
  EXPECT_EQ(tensor.storage_offset(), 2);
}

TEST(Tensor, PromotesByDimsThenByZeroDimsThenByNumbers) {
  const Tensor f16 = Tensor::make({2}, DType::kFloat16);
  const Tensor i32 = Tensor::make({2}, DType::kInt32);
  const Tensor i64_0 = Tensor::make({}, DType::kInt64);
  const Tensor f64_0 = Tensor::make({}, DType::kFloat64);
  const Tensor number = Tensor::wrapped_number(2.5);
  EXPECT_TRUE(number.is_wrapped_number());
  EXPECT_EQ(*number.data<double>(), 2.5);
  EXPECT_EQ(result_type(f16, i32), DType::kFloat16);
  EXPECT_EQ(result_type(f16, f64_0), DType::kFloat16);
  EXPECT_EQ(result_type(i32, i64_0), DType::kInt32);
  EXPECT_EQ(result_type(i32, f64_0), DType::kFloat64);
  EXPECT_EQ(result_type(i32, number), DType::kFloat32);
  EXPECT_EQ(result_type(f64_0, number), DType::kFloat64);
  EXPECT_EQ(result_type(i64_0, Tensor::wrapped_number(true)), DType::kInt64);
  EXPECT_EQ(result_type(number, Tensor::wrapped_number(1)), DType::kFloat32);
}

}  // namespace
}  // namespace mindtorch
