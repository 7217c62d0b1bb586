// aclopAttr: the numbers and texts of an op of the older path, by name.
#include "simulator/ascend/aclop/attributes.h"

#include "mindtorch/backends/ascend/acl_abi.h"
#include "simulator/ascend/core/errors.h"
#include "simulator/ascend/core/log.h"

using namespace sim;

static aclError keep(const char* function,
                     aclopAttr* attr,
                     const char* name,
                     const void* values,
                     const Attribute& value) {
  if (const aclError code = enter(function, {{"attr", attr}, {"attrName", name}})) return code;
  if (attr == nullptr) return fail_null("attr");
  if (name == nullptr) return fail_null("attrName");
  if (values == nullptr) return fail_null("the value");
  attr->values[name] = value;
  return ACL_SUCCESS;
}

// Of a list that the caller gives; an empty one may be null.
template <class To, class From>
static std::vector<To> list_of(int count, const From* values) {
  if (values == nullptr || count <= 0) return {};
  return std::vector<To>(values, values + count);
}

// What stands for the values where null is no mistake.
static const void* given(int count, const void* values) {
  return count == 0 && values == nullptr ? "" : values;
}

extern "C" {

SIM_API aclopAttr* aclopCreateAttr() {
  if (enter("aclopCreateAttr", {}) != 0) return nullptr;
  return new aclopAttr;
}

SIM_API void aclopDestroyAttr(const aclopAttr* attr) {
  if (enter("aclopDestroyAttr", {{"attr", attr}}) == 0) delete attr;
}

SIM_API aclError aclopSetAttrBool(aclopAttr* attr, const char* name, uint8_t value) {
  return keep("aclopSetAttrBool", attr, name, "", int64_t{value});
}
SIM_API aclError aclopSetAttrInt(aclopAttr* attr, const char* name, int64_t value) {
  return keep("aclopSetAttrInt", attr, name, "", value);
}
SIM_API aclError aclopSetAttrFloat(aclopAttr* attr, const char* name, float value) {
  return keep("aclopSetAttrFloat", attr, name, "", double{value});
}
SIM_API aclError aclopSetAttrString(aclopAttr* attr, const char* name, const char* value) {
  return keep("aclopSetAttrString", attr, name, value, std::string(value == nullptr ? "" : value));
}
SIM_API aclError aclopSetAttrDataType(aclopAttr* attr, const char* name, aclDataType value) {
  return keep("aclopSetAttrDataType", attr, name, "", int64_t{value});
}

SIM_API aclError aclopSetAttrListBool(aclopAttr* attr,
                                      const char* name,
                                      int count,
                                      const uint8_t* values) {
  return keep("aclopSetAttrListBool", attr, name, given(count, values),
              list_of<int64_t>(count, values));
}
SIM_API aclError aclopSetAttrListInt(aclopAttr* attr,
                                     const char* name,
                                     int count,
                                     const int64_t* values) {
  return keep("aclopSetAttrListInt", attr, name, given(count, values),
              list_of<int64_t>(count, values));
}
SIM_API aclError aclopSetAttrListFloat(aclopAttr* attr,
                                       const char* name,
                                       int count,
                                       const float* values) {
  return keep("aclopSetAttrListFloat", attr, name, given(count, values),
              list_of<double>(count, values));
}
SIM_API aclError aclopSetAttrListDataType(aclopAttr* attr,
                                          const char* name,
                                          int count,
                                          const aclDataType* values) {
  return keep("aclopSetAttrListDataType", attr, name, given(count, values),
              list_of<int64_t>(count, values));
}
SIM_API aclError aclopSetAttrListString(aclopAttr* attr,
                                        const char* name,
                                        int count,
                                        const char** values) {
  return keep("aclopSetAttrListString", attr, name, given(count, values),
              list_of<std::string>(count, values));
}

SIM_API aclError aclopSetAttrListListInt(
    aclopAttr* attr, const char* name, int count, const int* counts, const int64_t* const* values) {
  std::vector<std::vector<int64_t>> lists;
  for (int i = 0; i < count && counts != nullptr && values != nullptr; ++i) {
    lists.push_back(list_of<int64_t>(counts[i], values[i]));
  }
  return keep("aclopSetAttrListListInt", attr, name, given(count, values), lists);
}
}
