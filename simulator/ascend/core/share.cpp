// Note [Sharing]. Physical memory is a file in memory. A shareable handle is the process and the
// descriptor under which that file can be opened, so that another process finds it too; who may is
// written behind the memory's last byte, where no mapping reaches.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "simulator/ascend/core/address_map.h"
#include "simulator/ascend/core/errors.h"
#include "simulator/ascend/core/memory.h"

namespace sim {

namespace {
struct Guests {
  uint64_t exported = 0;  // kExported once it is
  uint64_t page_bytes = 0;
  uint32_t anybody = 0;
  uint32_t count = 0;
  std::array<int32_t, 256> pids{};
};
}  // namespace

static constexpr uint64_t kExported = 0x6d74736861726564;

static bool read_guests(int file, Guests& guests, size_t& bytes) {
  struct stat about{};
  if (fstat(file, &about)) return false;
  const auto end = static_cast<size_t>(about.st_size);
  if (end < sizeof guests) return false;
  bytes = end - sizeof guests;
  const ssize_t got = pread(file, &guests, sizeof guests, static_cast<off_t>(bytes));
  return got == static_cast<ssize_t>(sizeof guests) && guests.exported == kExported;
}

static bool write_guests(int file, const Guests& guests, size_t bytes) {
  const ssize_t put = pwrite(file, &guests, sizeof guests, static_cast<off_t>(bytes));
  return put == static_cast<ssize_t>(sizeof guests);
}

static uint64_t pack(pid_t process, int file) {
  return static_cast<uint64_t>(process) << 32 | static_cast<uint32_t>(file);
}

static int open_shared(uint64_t shared) {
  const std::string path =
      "/proc/" + std::to_string(shared >> 32) + "/fd/" + std::to_string(shared & 0xffffffff);
  return open(path.c_str(), O_RDWR | O_CLOEXEC);
}

static aclError fail_shared() {
  return fail(ACL_ERROR_RT_PARAM_INVALID, "this is no shareable handle of memory that exists");
}

aclError export_physical(aclrtDrvMemHandle handle, bool anybody, uint64_t* shared) {
  std::shared_ptr<Physical> physical;
  if (const aclError code = find_physical(handle, physical)) return code;
  Guests guests;
  guests.exported = kExported;
  guests.page_bytes = physical->page_bytes;
  guests.anybody = anybody;
  if (!write_guests(physical->file, guests, physical->bytes)) return fail_shared();
  *shared = pack(getpid(), physical->file);
  return ACL_SUCCESS;
}

aclError admit(uint64_t shared, const int32_t* pids, size_t count) {
  const int file = open_shared(shared);
  Guests guests;
  size_t bytes = 0;
  aclError code = ACL_SUCCESS;
  if (file < 0 || !read_guests(file, guests, bytes)) {
    code = fail_shared();
  } else if (guests.count + count > guests.pids.size()) {
    code = fail(ACL_ERROR_RT_PARAM_INVALID, "more than 256 processes");
  } else {
    for (size_t i = 0; i < count; ++i) guests.pids[guests.count++] = pids[i];
    if (!write_guests(file, guests, bytes)) code = fail_shared();
  }
  if (file >= 0) close(file);
  return code;
}

aclError import_physical(uint64_t shared, int32_t device, aclrtDrvMemHandle* handle) {
  if (const aclError code = check_device(device)) return code;
  auto physical = std::make_shared<Physical>();  // closes the file if this fails
  physical->file = open_shared(shared);
  Guests guests;
  if (physical->file < 0 || !read_guests(physical->file, guests, physical->bytes)) {
    return fail_shared();
  }
  const auto end = guests.pids.begin() + guests.count;
  const bool own = shared >> 32 == static_cast<uint64_t>(getpid());
  if (!own && !guests.anybody && std::find(guests.pids.begin(), end, getpid()) == end) {
    return fail(ACL_ERROR_RT_DRV_INTERNAL_ERROR,
                "the process that exported the memory did not name this one "
                "(aclrtMemSetPidToShareableHandle)");
  }
  physical->device = device;
  physical->page_bytes = static_cast<uint32_t>(guests.page_bytes);
  physical->imported = true;
  physical->mapped_before = true;
  physical->number = ++address_map().allocations;
  *handle = runtime().physical.add(physical);
  return ACL_SUCCESS;
}

size_t bytes_behind_memory() { return sizeof(Guests); }

}  // namespace sim
