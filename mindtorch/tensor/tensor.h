#pragma once

#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <vector>

#include "mindtorch/base/error.h"
#include "mindtorch/base/intrusive_ptr.h"
#include "mindtorch/base/macros.h"
#include "mindtorch/tensor/device.h"
#include "mindtorch/tensor/dtype.h"
#include "mindtorch/tensor/scalar.h"
#include "mindtorch/tensor/shape.h"
#include "mindtorch/tensor/storage.h"

namespace mindtorch {

class Generator;
class Tensor;

// A borrowed list of tensors. Accepts `{a, b}`, which lives until the end of the full expression.
class TensorList : public std::span<const Tensor> {
 public:
  using std::span<const Tensor>::span;
  constexpr TensorList() = default;
  constexpr TensorList(std::span<const Tensor> list) : std::span<const Tensor>(list) {}  // NOLINT
  TensorList(const std::vector<Tensor>& list);                                           // NOLINT
  TensorList(std::initializer_list<Tensor> list);                                        // NOLINT
};

// What autograd keeps for a tensor; autograd/ defines it.
class MT_API AutogradMetaInterface {
 public:
  virtual ~AutogradMetaInterface() = default;
};

// What autograd knows of the op that made a view: some views may not be written while it records.
enum class ViewOrigin : uint8_t {
  kRecorded,
  kNoGrad,       // made while gradient mode was off
  kMultiOutput,  // one of several views that one op made
  kFunction,     // made by a custom autograd.Function
  kInference,    // made in inference mode, of a tensor that was not
};

// What a tensor is: a storage seen through sizes, strides and an offset. Shared by handles of type
// Tensor. One thread at a time may change a TensorImpl; any number may read it.
class MT_API TensorImpl final : public RefCounted {
 public:
  TensorImpl(Storage storage, DType dtype, Shape sizes, Shape strides, int64_t offset);
  // Where it is known whether these strides are contiguous. Inline: one a recorded op.
  TensorImpl(Storage made, DType dtype, IntList sizes, IntList strides, int64_t offset, bool dense)
      : storage(std::move(made)),
        sizes(sizes),
        strides(strides),
        offset(offset),
        numel(product_of(sizes)),
        dtype(dtype),
        device(storage->device()),
        is_contiguous(dense) {}
  static void destroy(TensorImpl* impl) noexcept;

  void set_sizes_and_strides(Shape sizes, Shape strides);
  void set_sizes_and_strides(Shape sizes, Shape strides, int64_t offset);

  Storage storage;
  Shape sizes;
  Shape strides;
  int64_t offset;  // elements
  int64_t numel;
  DType dtype;
  Device device;
  bool is_contiguous;
  // Made from a Python number: takes part in promotion by its category only.
  bool is_wrapped_number = false;
  // `.data` of another tensor: shares its bytes but counts its own versions.
  bool has_own_version = false;
  uint32_t own_version = 0;
  // Made in inference mode: autograd never records it.
  bool is_inference = false;
  // Of a view that autograd may have to follow: the tensor it is a view of, which is no view
  // itself, and the version at which the view's own history was last brought up to date.
  ViewOrigin view_origin = ViewOrigin::kRecorded;
  uint32_t view_version = 0;
  IntrusivePtr<TensorImpl> view_base;
  std::unique_ptr<AutogradMetaInterface> autograd;  // null: no history, no gradient
  // Dispatcher layers that must see ops on this tensor; see dispatch/dispatcher.h.
  uint8_t layers = 0;
  // The Python object that stands for this tensor. Normally it owns us; when Python drops it
  // while C++ still holds us, we own it, so that attributes and identity survive.
  void* python_object = nullptr;
  bool owns_python_object = false;
  // Installed by bindings/: drops the owned Python object when the last C++ reference goes. False
  // when Python still uses it and now owns this TensorImpl again.
  static bool (*release_python_object)(TensorImpl*);

  static void* operator new(size_t bytes);
  static void operator delete(void* data, size_t bytes) noexcept;

  // A mark of the trace that recorded the tensor last; 0 once its shape changed. Any thread may
  // record a tensor: a trace ignores marks that are not its own.
  uint64_t trace_mark() const noexcept { return trace_mark_.load(std::memory_order_relaxed); }
  void set_trace_mark(uint64_t mark) noexcept {
    trace_mark_.store(mark, std::memory_order_relaxed);
  }

 private:
  ~TensorImpl() = default;
  static int64_t product_of(IntList sizes) {
    uint64_t count = 1;  // may wrap on the way to a size of 0
    for (const int64_t size : sizes) count *= static_cast<uint64_t>(size);
    return static_cast<int64_t>(count);
  }
  void refresh();

  std::atomic<uint64_t> trace_mark_{0};
};

// A handle to a tensor. Copies share the tensor; a default-made handle is undefined (Python's
// None).
class MT_API Tensor {
 public:
  Tensor() = default;
  explicit Tensor(IntrusivePtr<TensorImpl> impl) : impl_(std::move(impl)) {}

  // New memory, not initialised.
  static Tensor make(IntList sizes, DType dtype, Device device = DeviceType::kCpu);
  static Tensor make_strided(IntList sizes,
                             IntList strides,
                             DType dtype,
                             Device device = DeviceType::kCpu);
  // Without memory so far: StorageImpl::unallocated(). No strides: contiguous.
  static Tensor unallocated(IntList sizes, IntList strides, DType dtype, Device device);
  // A view of a storage; throws RuntimeError where it would reach outside.
  static Tensor over(Storage storage, DType dtype, IntList sizes, IntList strides, int64_t offset);
  // A 0-dim tensor that promotes like the Python number it stands for.
  static Tensor wrapped_number(const Scalar& value);

  bool defined() const { return static_cast<bool>(impl_); }
  TensorImpl* impl() const { return impl_.get(); }
  bool is_same(const Tensor& other) const { return impl_ == other.impl_; }

  int64_t dim() const { return static_cast<int64_t>(impl_->sizes.size()); }
  const Shape& sizes() const { return impl_->sizes; }
  const Shape& strides() const { return impl_->strides; }
  // Of a dimension that there is; it may be counted from the end.
  int64_t size(int64_t d) const {
    return impl_->sizes[static_cast<size_t>(existing_dim(d, dim()))];
  }
  int64_t stride(int64_t d) const {
    return impl_->strides[static_cast<size_t>(existing_dim(d, dim()))];
  }
  int64_t numel() const { return impl_->numel; }
  DType dtype() const { return impl_->dtype; }
  int64_t element_size() const { return size_bytes(impl_->dtype); }
  Device device() const { return impl_->device; }
  bool is_contiguous() const { return impl_->is_contiguous; }
  bool is_wrapped_number() const { return impl_->is_wrapped_number; }

  const Storage& storage() const { return impl_->storage; }
  int64_t storage_offset() const { return impl_->offset; }
  // The first element's address, for kernels and readers; null for empty and meta tensors without
  // bytes. What a kernel writes was prepared by the executor; other writers take
  // mutable_data_ptr().
  void* data_ptr() const { return at_offset(const_cast<void*>(impl_->storage->data())); }
  // For writing: recorded ops that read the bytes are executed first.
  void* mutable_data_ptr() const { return at_offset(impl_->storage->mutable_data()); }
  template <typename T>
  T* data() const {
    return static_cast<T*>(data_ptr());
  }
  bool shares_storage(const Tensor& other) const { return impl_->storage == other.impl_->storage; }

  uint32_t version() const {
    return impl_->has_own_version ? impl_->own_version : impl_->storage->version();
  }
  void bump_version() const {
    if (impl_->has_own_version) {
      ++impl_->own_version;
    } else {
      impl_->storage->bump_version();
    }
  }

  // A view of the same storage.
  Tensor alias(Shape sizes, Shape strides, int64_t offset) const;

  // Every op that torch offers as a method, from the op definitions; bodies in functional/. The
  // library's own sources do without, so that a new op does not rebuild all of them: the list adds
  // neither data nor virtual functions, so the class is the same either way.
#ifndef MINDTORCH_INTERNAL
#include "mindtorch/tensor/tensor_methods.inc"
#endif

 private:
  void* at_offset(void* base) const {
    return base == nullptr ? nullptr : static_cast<char*>(base) + impl_->offset * element_size();
  }

  IntrusivePtr<TensorImpl> impl_;
};

inline TensorList::TensorList(const std::vector<Tensor>& list)
    : std::span<const Tensor>(list.data(), list.size()) {}
inline TensorList::TensorList(std::initializer_list<Tensor> list)
    : std::span<const Tensor>(std::data(list), list.size()) {}

// The dtype torch gives an op on these operands (tensors with dims, 0-dim tensors and Python
// numbers rank in this order within a category).
MT_API DType result_type(const Tensor& a, const Tensor& b);
class MT_API ResultType {
 public:
  void add(const Tensor& operand);
  DType dtype() const;

 private:
  std::optional<DType> dim_, zero_, wrapped_;
};

}  // namespace mindtorch
