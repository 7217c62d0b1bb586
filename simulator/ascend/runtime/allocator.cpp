// An allocator of the program's own, for a stream. CANN asks it for the memory that legacy
// single-op execution and models with dynamic shapes need, neither of which is simulated: it is
// kept, never called.
#include "simulator/ascend/core/errors.h"
#include "simulator/ascend/core/log.h"
#include "simulator/ascend/core/stream.h"

using namespace sim;

static Allocator* of(aclrtAllocatorDesc desc) { return static_cast<Allocator*>(desc); }

aclrtAllocatorDesc aclrtAllocatorCreateDesc() {
  if (enter("aclrtAllocatorCreateDesc", {})) return nullptr;
  return new Allocator;
}

aclError aclrtAllocatorDestroyDesc(aclrtAllocatorDesc allocatorDesc) {
  if (const aclError code =
          enter("aclrtAllocatorDestroyDesc", {{"allocatorDesc", allocatorDesc}})) {
    return code;
  }
  if (!allocatorDesc) return fail_null("allocatorDesc");
  delete of(allocatorDesc);
  return ACL_SUCCESS;
}

template <class T>
static aclError set(const char* function, aclrtAllocatorDesc desc, T Allocator::* member, T value) {
  if (const aclError code = enter(function, {{"allocatorDesc", desc}})) return code;
  if (!desc) return fail_null("allocatorDesc");
  if (!value) return fail_null("what to set");
  of(desc)->*member = value;
  return ACL_SUCCESS;
}

aclError aclrtAllocatorSetObjToDesc(aclrtAllocatorDesc allocatorDesc, aclrtAllocator allocator) {
  return set("aclrtAllocatorSetObjToDesc", allocatorDesc, &Allocator::object, allocator);
}

aclError aclrtAllocatorSetAllocFuncToDesc(aclrtAllocatorDesc allocatorDesc,
                                          aclrtAllocatorAllocFunc func) {
  return set("aclrtAllocatorSetAllocFuncToDesc", allocatorDesc, &Allocator::allocate, func);
}

aclError aclrtAllocatorSetFreeFuncToDesc(aclrtAllocatorDesc allocatorDesc,
                                         aclrtAllocatorFreeFunc func) {
  return set("aclrtAllocatorSetFreeFuncToDesc", allocatorDesc, &Allocator::free, func);
}

aclError aclrtAllocatorSetAllocAdviseFuncToDesc(aclrtAllocatorDesc allocatorDesc,
                                                aclrtAllocatorAllocAdviseFunc func) {
  return set("aclrtAllocatorSetAllocAdviseFuncToDesc", allocatorDesc, &Allocator::allocate_near,
             func);
}

aclError aclrtAllocatorSetGetAddrFromBlockFuncToDesc(aclrtAllocatorDesc allocatorDesc,
                                                     aclrtAllocatorGetAddrFromBlockFunc func) {
  return set("aclrtAllocatorSetGetAddrFromBlockFuncToDesc", allocatorDesc, &Allocator::address,
             func);
}

aclError aclrtAllocatorRegister(aclrtStream handle, aclrtAllocatorDesc allocatorDesc) {
  if (const aclError code =
          enter("aclrtAllocatorRegister", {{"stream", handle}, {"allocatorDesc", allocatorDesc}})) {
    return code;
  }
  if (!allocatorDesc) return fail_null("allocatorDesc");
  const Allocator& allocator = *of(allocatorDesc);
  if (!allocator.object || !allocator.allocate || !allocator.free || !allocator.address) {
    return fail(ACL_ERROR_INVALID_PARAM, "the description lacks its object or a function");
  }
  const Lock lock(runtime().mutex);
  std::shared_ptr<Stream> stream;
  if (const aclError code = find_stream(handle, stream)) return code;
  stream->allocator = allocator;
  return ACL_SUCCESS;
}

aclError aclrtAllocatorUnregister(aclrtStream handle) {
  if (const aclError code = enter("aclrtAllocatorUnregister", {{"stream", handle}})) return code;
  const Lock lock(runtime().mutex);
  std::shared_ptr<Stream> stream;
  if (const aclError code = find_stream(handle, stream)) return code;
  if (!stream->allocator.object) {
    return fail(ACL_ERROR_INVALID_PARAM, "the stream has no allocator");
  }
  stream->allocator = {};
  return ACL_SUCCESS;
}
