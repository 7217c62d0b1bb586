#include "simulator/ascend/nnopbase/dtype.h"

#include <algorithm>

namespace sim {

size_t item_bytes(DType dtype) {
  switch (dtype) {
    case ACL_INT8:
    case ACL_UINT8:
    case ACL_BOOL:
      return 1;
    case ACL_FLOAT16:
    case ACL_BF16:
    case ACL_INT16:
    case ACL_UINT16:
      return 2;
    case ACL_FLOAT:
    case ACL_INT32:
    case ACL_UINT32:
    case ACL_COMPLEX32:
      return 4;
    case ACL_DOUBLE:
    case ACL_INT64:
    case ACL_UINT64:
    case ACL_COMPLEX64:
      return 8;
    case ACL_COMPLEX128:
      return 16;
    default:
      return 0;
  }
}

const char* dtype_name(DType dtype) {
  switch (dtype) {
    case ACL_FLOAT:
      return "FLOAT";
    case ACL_FLOAT16:
      return "FLOAT16";
    case ACL_INT8:
      return "INT8";
    case ACL_INT32:
      return "INT32";
    case ACL_UINT8:
      return "UINT8";
    case ACL_INT16:
      return "INT16";
    case ACL_UINT16:
      return "UINT16";
    case ACL_UINT32:
      return "UINT32";
    case ACL_INT64:
      return "INT64";
    case ACL_UINT64:
      return "UINT64";
    case ACL_DOUBLE:
      return "DOUBLE";
    case ACL_BOOL:
      return "BOOL";
    case ACL_COMPLEX64:
      return "COMPLEX64";
    case ACL_COMPLEX128:
      return "COMPLEX128";
    case ACL_BF16:
      return "BFLOAT16";
    case ACL_COMPLEX32:
      return "COMPLEX32";
    case ACL_INT4:
      return "INT4";
    default:
      return "UNDEFINED";
  }
}

std::string type_names(Types types) {
  std::string names;
  for (int bit = 0; bit < 64; ++bit) {
    if ((types >> bit & 1) == 0) continue;
    if (!names.empty()) names += ", ";
    names += dtype_name(static_cast<DType>(bit));
  }
  return names;
}

Category category(DType dtype) {
  if (dtype == ACL_BOOL) return Category::kBool;
  if (contains(kC | only(ACL_COMPLEX32), dtype)) return Category::kComplex;
  if (contains(kF | kF64, dtype)) return Category::kFloating;
  return Category::kInteger;
}

static DType complex_of(DType dtype) {
  if (contains(kC, dtype)) return dtype;
  return dtype == ACL_DOUBLE ? ACL_COMPLEX128 : ACL_COMPLEX64;
}

static DType promote_integers(DType a, DType b) {
  const bool a_unsigned = a == ACL_UINT8;
  const bool b_unsigned = b == ACL_UINT8;
  if (a_unsigned != b_unsigned) {
    const DType other = a_unsigned ? b : a;
    return other == ACL_INT8 ? ACL_INT16 : other;
  }
  return item_bytes(a) >= item_bytes(b) ? a : b;
}

DType promote(DType a, DType b) {
  if (a == b) return a;
  const Types known = kF | kI | kC | kF64 | kBool;
  if (!contains(known, a) || !contains(known, b)) return ACL_DT_UNDEFINED;
  const Category high = std::max(category(a), category(b));
  if (high == Category::kComplex) {
    const DType x = complex_of(a);
    const DType y = complex_of(b);
    return x == ACL_COMPLEX128 || y == ACL_COMPLEX128 ? ACL_COMPLEX128 : ACL_COMPLEX64;
  }
  if (category(a) != category(b)) return category(a) == high ? a : b;
  if (high == Category::kInteger) return promote_integers(a, b);
  if (a == ACL_DOUBLE || b == ACL_DOUBLE) return ACL_DOUBLE;
  return ACL_FLOAT;  // two different ones of float32, float16, bfloat16
}

DType promote_scalar(DType tensor, DType scalar) {
  if (category(scalar) <= category(tensor)) return tensor;
  if (category(scalar) == Category::kFloating) return ACL_FLOAT;
  if (category(scalar) == Category::kComplex) return complex_of(tensor);
  return scalar;  // a bool tensor, an integer
}

bool castable(DType from, DType to) {
  if (to == ACL_BOOL) return from == ACL_BOOL;
  const Category target = category(to);
  if (category(from) == Category::kComplex) return target == Category::kComplex;
  return category(from) != Category::kFloating || target != Category::kInteger;
}

}  // namespace sim
