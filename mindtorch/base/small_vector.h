#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

#include "mindtorch/base/macros.h"

namespace mindtorch {

// A vector whose first N elements live inside the object. Shapes, strides and argument lists are
// nearly always short, and the hot path must not touch the heap for them. Element types must be
// nothrow movable.
template <typename T, size_t N>
class SmallVector {
 public:
  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;

  SmallVector() noexcept : data_(inline_data()) {}
  explicit SmallVector(size_t count) : SmallVector() { resize(count); }
  SmallVector(size_t count, const T& value) : SmallVector() { assign(count, value); }
  SmallVector(std::initializer_list<T> values) : SmallVector(values.begin(), values.end()) {}
  explicit SmallVector(std::span<const T> values)
      : SmallVector(values.data(), values.data() + values.size()) {}
  template <typename Iterator>
    requires(!std::is_integral_v<Iterator>)
  SmallVector(Iterator first, Iterator last) : SmallVector() {
    append(first, last);
  }
  SmallVector(const SmallVector& other) : SmallVector(other.begin(), other.end()) {}
  SmallVector(SmallVector&& other) noexcept : SmallVector() { take(other); }
  ~SmallVector() { release(); }

  SmallVector& operator=(const SmallVector& other) {
    if (this != &other) assign(other.begin(), other.end());
    return *this;
  }
  SmallVector& operator=(SmallVector&& other) noexcept {
    if (this != &other) {
      release();
      data_ = inline_data();
      size_ = 0;
      capacity_ = N;
      take(other);
    }
    return *this;
  }

  size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  T* data() noexcept { return data_; }
  const T* data() const noexcept { return data_; }
  T* begin() noexcept { return data_; }
  T* end() noexcept { return data_ + size_; }
  const T* begin() const noexcept { return data_; }
  const T* end() const noexcept { return data_ + size_; }
  T& operator[](size_t i) noexcept { return data_[i]; }
  const T& operator[](size_t i) const noexcept { return data_[i]; }
  T& front() noexcept { return data_[0]; }
  const T& front() const noexcept { return data_[0]; }
  T& back() noexcept { return data_[size_ - 1]; }
  const T& back() const noexcept { return data_[size_ - 1]; }
  operator std::span<const T>() const noexcept { return {data_, size_}; }  // NOLINT

  void reserve(size_t capacity) {
    if (MT_UNLIKELY(capacity > capacity_)) grow(capacity);
  }
  void resize(size_t count) {
    reserve(count);
    while (size_ > count) pop_back();
    for (; size_ < count; ++size_) new (data_ + size_) T();
  }
  // By value here and below: it may be an element of this vector.
  void resize(size_t count, T value) {
    reserve(count);
    while (size_ > count) pop_back();
    for (; size_ < count; ++size_) new (data_ + size_) T(value);
  }
  void assign(size_t count, T value) {
    clear();
    resize(count, std::move(value));
  }
  template <typename Iterator>
    requires(!std::is_integral_v<Iterator>)
  void assign(Iterator first, Iterator last) {
    clear();
    append(first, last);
  }
  void clear() noexcept {
    std::destroy(begin(), end());
    size_ = 0;
  }
  void push_back(T value) { emplace_back(std::move(value)); }
  template <typename... Args>
  T& emplace_back(Args&&... args) {
    if (MT_UNLIKELY(size_ == capacity_)) return grow_back(T(std::forward<Args>(args)...));
    T* added = new (data_ + size_) T(std::forward<Args>(args)...);
    ++size_;
    return *added;
  }
  void pop_back() noexcept { data_[--size_].~T(); }
  T* insert(T* position, T value) {
    const auto at = position - data_;
    emplace_back(std::move(value));
    std::rotate(data_ + at, data_ + size_ - 1, data_ + size_);
    return data_ + at;
  }
  T* erase(T* position) {
    std::move(position + 1, end(), position);
    pop_back();
    return position;
  }

  friend bool operator==(const SmallVector& a, const SmallVector& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  // An element counts once it is made: a constructor may throw.
  template <typename Iterator>
  void append(Iterator first, Iterator last) {
    reserve(size_ + static_cast<size_t>(std::distance(first, last)));
    for (; first != last; ++first, ++size_) new (data_ + size_) T(*first);
  }
  // Out of line, as is growing: rarely needed, and a part of every function that adds an element.
  [[gnu::noinline]] T& grow_back(T value) {
    grow(static_cast<size_t>(size_) + 1);
    return *new (data_ + size_++) T(std::move(value));
  }
  [[gnu::noinline]] void grow(size_t capacity) {
    capacity = std::max(capacity, static_cast<size_t>(capacity_) * 2);
    T* grown = static_cast<T*>(::operator new(capacity * sizeof(T)));
    std::uninitialized_move(begin(), end(), grown);
    std::destroy(begin(), end());
    if (data_ != inline_data()) ::operator delete(data_);
    data_ = grown;
    capacity_ = static_cast<uint32_t>(capacity);
  }
  T* inline_data() noexcept { return reinterpret_cast<T*>(inline_); }

  void take(SmallVector& other) noexcept {
    if (other.data_ == other.inline_data()) {
      std::uninitialized_move(other.begin(), other.end(), data_);
      std::destroy(other.begin(), other.end());
      size_ = other.size_;
    } else {
      data_ = std::exchange(other.data_, other.inline_data());
      size_ = other.size_;
      capacity_ = std::exchange(other.capacity_, static_cast<uint32_t>(N));
    }
    other.size_ = 0;
  }
  void release() noexcept {
    std::destroy(begin(), end());
    if (data_ != inline_data()) ::operator delete(data_);
  }

  T* data_;
  uint32_t size_ = 0;
  uint32_t capacity_ = N;
  alignas(T) std::byte inline_[N * sizeof(T)];
};

}  // namespace mindtorch
