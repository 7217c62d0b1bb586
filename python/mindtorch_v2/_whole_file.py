"""Files that are replaced as a whole, or not at all."""

import contextlib
import os
import secrets
import stat

from mindtorch_v2 import _C

_LARGE = 1 << 20


@contextlib.contextmanager
def whole_file(path, nbytes=0):
    """A new binary file that takes the place of `path` when the with-block ends without an error.
    Until then, and when the process dies, what was there stays. What remains when the power fails
    before the disk has all bytes is up to the file system.

    `nbytes`: at most how long it will be, as far as that is known."""
    folder = os.path.dirname(path)
    if folder and not os.path.isdir(folder):
        raise RuntimeError(f"Parent directory {folder} does not exist.")
    target = os.path.realpath(path)  # a symbolic link stays one
    try:
        mode = os.stat(target).st_mode
    except FileNotFoundError:
        mode = None
    if mode is not None and not stat.S_ISREG(mode):
        with _open(target, "wb") as file:  # a device, a pipe
            yield file
        return
    folder, name = os.path.split(target)
    new = os.path.join(folder, f".{name[:200]}.{secrets.token_hex(8)}.tmp")
    file = _open(new, "xb")
    try:
        with file:
            if mode is not None:
                os.fchmod(file.fileno(), stat.S_IMODE(mode))
            if nbytes >= _LARGE:
                _drop_cached_pages(target)
                # Blocks that have their place do not keep os.replace() waiting for one, as ext4's
                # delayed allocation does.
                _C._preallocate(file.fileno(), nbytes)
            yield file
            if nbytes >= _LARGE:
                file.truncate()  # gives back what was not needed
        os.replace(new, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(new)
        raise


def _open(path, mode):
    try:
        return open(path, mode, buffering=0)
    except OSError as error:
        raise RuntimeError(f"{path}: open file failed with strerror: {error.strerror}") from error


def _drop_cached_pages(path):
    """Nobody will read the old file again: its pages in memory can take the new one."""
    with contextlib.suppress(OSError), open(path, "rb", buffering=0) as old:
        os.posix_fadvise(old.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def write_all(file, data):
    """Writes all of `data`: a file without a buffer may take a part at a time."""
    view = memoryview(data)
    while view:
        count = file.write(view)
        view = view[len(view) if count is None else count :]  # None: not a file of Python's
