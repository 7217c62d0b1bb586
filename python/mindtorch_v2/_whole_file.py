"""Files that are replaced as a whole, or not at all."""

import contextlib
import os
import secrets
import stat


@contextlib.contextmanager
def whole_file(path):
    """A new binary file that takes the place of `path` when the with-block ends without an error.
    Until then, and when the process dies, what was there stays."""
    folder = os.path.dirname(path)
    if folder and not os.path.isdir(folder):
        raise RuntimeError(f"Parent directory {folder} does not exist.")
    target = os.path.realpath(path)  # a symbolic link stays one
    try:
        mode = os.stat(target).st_mode
    except FileNotFoundError:
        mode = None
    if mode is not None and not stat.S_ISREG(mode):
        with open(target, "wb", buffering=0) as file:  # a device, a pipe
            yield file
        return
    folder, name = os.path.split(target)
    new = os.path.join(folder, f".{name[:200]}.{secrets.token_hex(8)}.tmp")
    file = open(new, "xb", buffering=0)
    try:
        with file:
            if mode is not None:
                os.fchmod(file.fileno(), stat.S_IMODE(mode))
            yield file
        os.replace(new, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(new)
        raise
