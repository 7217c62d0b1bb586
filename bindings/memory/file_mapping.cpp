// Storages over mapped files: memory shared by processes, and checkpoints read on demand. Space for
// files to be written.
#include <fcntl.h>
#include <nanobind/nanobind.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "bindings/interpreter/errors.h"
#include "bindings/interpreter/gil.h"
#include "bindings/interpreter/python_ref.h"
#include "bindings/tensor/py_storage.h"

namespace nb = nanobind;

namespace mindtorch::python {
namespace {

struct Mapping {
  void* address;
  size_t size_bytes;
  PyObject* owner;  // lives as long as the mapping
};

void release_mapping(void* context) {
  const std::unique_ptr<Mapping> mapping(static_cast<Mapping*>(context));
  ::munmap(mapping->address, mapping->size_bytes);
  if (Py_IsInitialized() == 0) return;  // the interpreter took all objects with it
  const GilHold gil;
  Py_DECREF(mapping->owner);
}

// A storage over bytes of an open file, which may be closed afterwards. Not shared: what is written
// stays in this process. `populate` maps all pages at once, for memory that is used at once.
nb::object map_file(
    int fd, int64_t offset, int64_t size_bytes, bool shared, bool populate, nb::handle owner) {
  MT_CHECK(offset >= 0 && size_bytes > 0, RuntimeError, "cannot map ", size_bytes,
           " bytes at offset ", offset);
  struct stat info{};
  MT_CHECK(::fstat(fd, &info) == 0, RuntimeError, "cannot map a file: ", std::strerror(errno));
  // Reading pages behind the end of a file kills the process.
  MT_CHECK(offset <= info.st_size && size_bytes <= info.st_size - offset, RuntimeError,
           "cannot map ", size_bytes, " bytes at offset ", offset, " of a file of ", info.st_size,
           " bytes");
  const int64_t page = ::sysconf(_SC_PAGESIZE);
  const int64_t skipped = offset % page;
  const auto mapped_bytes = static_cast<size_t>(size_bytes + skipped);
  const int flags = (shared ? MAP_SHARED : MAP_PRIVATE) | (populate ? MAP_POPULATE : 0);
  void* address = MAP_FAILED;
  {
    const GilRelease unlocked(populate);
    address = ::mmap(nullptr, mapped_bytes, PROT_READ | PROT_WRITE, flags, fd, offset - skipped);
  }
  MT_CHECK(address != MAP_FAILED, RuntimeError, "cannot map ", size_bytes,
           " bytes of a file: ", std::strerror(errno));
  auto* const mapping = new Mapping{address, mapped_bytes, owner.inc_ref().ptr()};
  return nb::steal(wrap_storage(StorageImpl::borrow(static_cast<uint8_t*>(address) + skipped,
                                                    static_cast<size_t>(size_bytes), Device(),
                                                    &release_mapping, mapping)));
}

// Reserves space on the disk for an open file, whose size stays. A file system that can't, or has
// no more space, says so when the file is written.
void preallocate(int fd, int64_t size_bytes) {
  const GilRelease unlocked(true);
  static_cast<void>(::fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, size_bytes));
}

}  // namespace

void bind_file_mapping(nb::module_& module) {
  module.def("_map_file", &map_file, nb::arg("fd"), nb::arg("offset"), nb::arg("nbytes"),
             nb::arg("shared"), nb::arg("populate"), nb::arg("owner").none());
  module.def("_preallocate", &preallocate, nb::arg("fd"), nb::arg("nbytes"));
}

}  // namespace mindtorch::python
