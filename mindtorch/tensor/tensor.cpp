#include "mindtorch/tensor/tensor.h"

#include <algorithm>

#include "mindtorch/runtime/host_allocator.h"

namespace mindtorch {

bool (*TensorImpl::release_python_object)(TensorImpl*) = nullptr;

TensorImpl::TensorImpl(Storage storage, DType dtype, Shape sizes, Shape strides, int64_t offset)
    : storage(std::move(storage)),
      sizes(std::move(sizes)),
      strides(std::move(strides)),
      offset(offset),
      dtype(dtype),
      device(this->storage->device()) {
  refresh();
}

void TensorImpl::destroy(TensorImpl* impl) noexcept {
  if (impl->owns_python_object && !release_python_object(impl)) return;
  delete impl;
}

void* TensorImpl::operator new(size_t bytes) { return runtime::allocate_small(bytes); }
void TensorImpl::operator delete(void* data, size_t bytes) noexcept {
  runtime::release_small(data, bytes);
}

void TensorImpl::refresh() {
  set_trace_mark(0);
  numel = product_of(sizes);
  is_contiguous = sizes.size() == 1 ? strides[0] == 1 || sizes[0] <= 1
                                    : mindtorch::is_contiguous(sizes, strides);
}

void TensorImpl::set_sizes_and_strides(Shape new_sizes, Shape new_strides) {
  sizes = std::move(new_sizes);
  strides = std::move(new_strides);
  refresh();
}

void TensorImpl::set_sizes_and_strides(Shape new_sizes, Shape new_strides, int64_t new_offset) {
  offset = new_offset;
  set_sizes_and_strides(std::move(new_sizes), std::move(new_strides));
}

namespace {

// Inline: every result of an op is made here.
[[gnu::always_inline]] inline Tensor wrap(
    Storage&& storage, DType dtype, Shape&& sizes, Shape&& strides, int64_t offset) {
  return Tensor(IntrusivePtr<TensorImpl>::adopt(
      new TensorImpl(std::move(storage), dtype, std::move(sizes), std::move(strides), offset)));
}

size_t checked_bytes(std::optional<int64_t> count, DType dtype, IntList sizes) {
  int64_t bytes = 0;
  MT_CHECK(count && !__builtin_mul_overflow(*count, size_bytes(dtype), &bytes), RuntimeError,
           "Storage size calculation overflowed with sizes=", to_string(sizes));
  return static_cast<size_t>(bytes);
}

}  // namespace

Tensor Tensor::make(IntList sizes, DType dtype, Device device) {
  const size_t bytes = checked_bytes(try_numel(sizes), dtype, sizes);
  return wrap(StorageImpl::allocate(bytes, device), dtype, Shape(sizes), contiguous_strides(sizes),
              0);
}

Tensor Tensor::make_strided(IntList sizes, IntList strides, DType dtype, Device device) {
  MT_CHECK(sizes.size() == strides.size(), RuntimeError, "mismatch in length of strides and shape");
  for (const int64_t stride : strides) {
    MT_CHECK(
        stride >= 0, RuntimeError,
        "empty_strided: Negative strides are not supported; got strides: ", to_string(strides));
  }
  mindtorch::numel(sizes);
  const size_t bytes = checked_bytes(extent(sizes, strides), dtype, sizes);
  return wrap(StorageImpl::allocate(bytes, device), dtype, Shape(sizes), Shape(strides), 0);
}

Tensor Tensor::unallocated(IntList sizes, IntList strides, DType dtype, Device device) {
  const bool contiguous = strides.size() != sizes.size();
  const size_t bytes = contiguous ? checked_bytes(try_numel(sizes), dtype, sizes)
                                  : checked_bytes(extent(sizes, strides), dtype, sizes);
  return wrap(StorageImpl::unallocated(bytes, device), dtype, Shape(sizes),
              contiguous ? contiguous_strides(sizes) : Shape(strides), 0);
}

Tensor Tensor::over(Storage storage, DType dtype, IntList sizes, IntList strides, int64_t offset) {
  MT_CHECK(sizes.size() == strides.size(), RuntimeError, "mismatch in length of strides and shape");
  MT_CHECK(offset >= 0, RuntimeError, "Tensor: invalid storage offset ", offset);
  for (const int64_t stride : strides) {
    MT_CHECK(stride >= 0, RuntimeError,
             "as_strided: Negative strides are not supported at the moment, got strides: ",
             to_string(strides));
  }
  int64_t end = 0;
  mindtorch::numel(sizes);
  const int64_t reach = extent(sizes, strides);
  MT_CHECK(!__builtin_add_overflow(reach, offset, &end), RuntimeError,
           "Storage size calculation overflowed with sizes=", to_string(sizes),
           " and strides=", to_string(strides));
  MT_CHECK(reach == 0 || checked_bytes(end, dtype, sizes) <= storage->size_bytes(), RuntimeError,
           "setStorage: sizes ", to_string(sizes), ", strides ", to_string(strides),
           ", storage offset ", offset, ", and itemsize ", size_bytes(dtype),
           " requiring a storage size of ", end * size_bytes(dtype),
           " are out of bounds for storage of size ", storage->size_bytes());
  return wrap(std::move(storage), dtype, Shape(sizes), Shape(strides), offset);
}

Tensor Tensor::wrapped_number(const Scalar& value) {
  const DType dtype = value.dtype();
  Tensor tensor =
      wrap(StorageImpl::allocate(value.is_complex() ? 16 : 8, DeviceType::kCpu), dtype, {}, {}, 0);
  switch (value.kind()) {
    case Scalar::Kind::kBool:
      *tensor.data<bool>() = value.to_bool();
      break;
    case Scalar::Kind::kInt:
    case Scalar::Kind::kUnsigned:
      *tensor.data<int64_t>() = value.to_int();
      break;
    case Scalar::Kind::kFloat:
      *tensor.data<double>() = value.to_double();
      break;
    case Scalar::Kind::kComplex:
      *tensor.data<std::complex<double>>() = value.to_complex();
      break;
  }
  tensor.impl()->is_wrapped_number = true;
  return tensor;
}

Tensor Tensor::alias(Shape sizes, Shape strides, int64_t offset) const {
  Tensor view =
      wrap(Storage(impl_->storage), impl_->dtype, std::move(sizes), std::move(strides), offset);
  if (MT_UNLIKELY(impl_->has_own_version)) {
    view.impl()->has_own_version = true;
    view.impl()->own_version = impl_->own_version;
  }
  return view;
}

namespace {

DType combine(const std::optional<DType>& a, DType b) { return a ? promote_types(*a, b) : b; }

}  // namespace

void ResultType::add(const Tensor& operand) {
  DType dtype = operand.dtype();
  if (operand.is_wrapped_number()) {
    if (is_floating_point(dtype)) dtype = default_dtype();
    if (is_complex(dtype)) dtype = complex_dtype(default_dtype());
    wrapped_ = combine(wrapped_, dtype);
  } else if (operand.dim() == 0) {
    zero_ = combine(zero_, dtype);
  } else {
    dim_ = combine(dim_, dtype);
  }
}

DType ResultType::dtype() const {
  // A lower-priority operand changes the result only when its category is higher.
  std::optional<DType> result = dim_;
  for (const auto& lower : {zero_, wrapped_}) {
    if (!lower) continue;
    if (!result) {
      result = lower;
    } else if (info(*lower).kind > info(*result).kind) {
      // Floats keep their precision as parts of complex numbers.
      result = is_floating_point(*result) ? complex_dtype(*result) : promote_types(*result, *lower);
    }
  }
  return result.value_or(default_dtype());
}

DType result_type(const Tensor& a, const Tensor& b) {
  if (MT_LIKELY(a.dtype() == b.dtype() && !a.is_wrapped_number() && !b.is_wrapped_number())) {
    return a.dtype();
  }
  ResultType type;
  type.add(a);
  type.add(b);
  return type.dtype();
}

}  // namespace mindtorch
