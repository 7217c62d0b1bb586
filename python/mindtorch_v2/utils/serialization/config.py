"""Settings of torch.save and torch.load.

>>> config = torch.utils.serialization.config
>>> config.save.compute_crc32, config.load.mmap
(True, False)
>>> with config.patch("load.mmap", True):
...     config.load.mmap
True
"""

import contextlib
import mmap as _mmap


class _Settings:
    """Attributes that exist from the beginning; no others can be set."""

    def __setattr__(self, name, value):
        if not hasattr(self, name):
            raise AttributeError(f"torch.utils.serialization.config has no setting {name!r}")
        super().__setattr__(name, value)


class _Save(_Settings):
    compute_crc32 = True  # whether records get a checksum
    use_pinned_memory_for_d2h = False  # whether storages of devices are fetched to pinned memory
    storage_alignment = 64  # where the bytes of storages may begin


class _Load(_Settings):
    mmap = False  # what load(mmap=None) means
    endianness = None  # the byte order of files that do not say theirs: a LoadEndianness
    mmap_flags = _mmap.MAP_PRIVATE  # MAP_SHARED: what is written to mapped tensors is in the file


save = _Save()
load = _Load()


@contextlib.contextmanager
def patch(changes, value=None):
    """A with-block with other settings: {"load.mmap": True}, or a name and a value."""
    changes = changes if isinstance(changes, dict) else {changes: value}
    before = []
    try:
        for name, new in changes.items():
            group, _, key = name.partition(".")
            settings = {"save": save, "load": load}[group]
            before.append((settings, key, getattr(settings, key)))
            setattr(settings, key, new)
        yield
    finally:
        for settings, key, old in reversed(before):
            setattr(settings, key, old)
