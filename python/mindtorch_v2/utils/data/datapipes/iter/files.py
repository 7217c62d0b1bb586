"""Pipes of files: their names, the open files, and what they hold."""

from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe
from ..utils.common import (
    get_file_binaries_from_pathnames,
    get_file_pathnames_from_root,
    validate_pathname_binary_tuple,
)
from ..utils.decoder import Decoder, basichandlers, extension_extract_fn, imagehandler
from .utils import IterableWrapperIterDataPipe

__all__ = [
    "FileListerIterDataPipe",
    "FileOpenerIterDataPipe",
    "RoutedDecoderIterDataPipe",
    "StreamReaderIterDataPipe",
]

_MODES = ("b", "t", "rb", "rt", "r")


def _length(pipe):
    if pipe.length == -1:
        raise TypeError(f"{type(pipe).__name__} instance doesn't have valid length")
    return pipe.length


@functional_datapipe("list_files")
class FileListerIterDataPipe(IterDataPipe):
    """The names of the files in folders."""

    def __init__(
        self,
        root=".",
        masks="",
        *,
        recursive=False,
        abspath=False,
        non_deterministic=False,
        length=-1,
    ):
        if isinstance(root, str):
            root = [root]
        if not isinstance(root, IterDataPipe):
            root = IterableWrapperIterDataPipe(root)
        self.datapipe = root
        self.masks = masks
        self.recursive = recursive
        self.abspath = abspath
        self.non_deterministic = non_deterministic
        self.length = length

    def __iter__(self):
        for folder in self.datapipe:
            yield from get_file_pathnames_from_root(
                folder, self.masks, self.recursive, self.abspath, self.non_deterministic
            )

    def __len__(self):
        return _length(self)


@functional_datapipe("open_files")
class FileOpenerIterDataPipe(IterDataPipe):
    """(name, open file) for each name."""

    def __init__(self, datapipe, mode="r", encoding=None, length=-1):
        if mode not in _MODES:
            raise ValueError(f"Invalid mode {mode}")
        if "b" in mode and encoding is not None:
            raise ValueError("binary mode doesn't take an encoding argument")
        self.datapipe = datapipe
        self.mode = mode
        self.encoding = encoding
        self.length = length

    def __iter__(self):
        yield from get_file_binaries_from_pathnames(self.datapipe, self.mode, self.encoding)

    def __len__(self):
        return _length(self)


@functional_datapipe("read_from_stream")
class StreamReaderIterDataPipe(IterDataPipe):
    """(name, bytes) for each (name, open file): the whole file, or pieces of `chunk` bytes."""

    def __init__(self, datapipe, chunk=None):
        self.datapipe = datapipe
        self.chunk = chunk

    def __iter__(self):
        for name, stream in self.datapipe:
            while True:
                data = stream.read(self.chunk) if self.chunk else stream.read()
                if not data:
                    stream.close()
                    break
                yield name, data


@functional_datapipe("routed_decode")
class RoutedDecoderIterDataPipe(IterDataPipe):
    """(name, object) for each (name, file or bytes): handlers make objects of the bytes by the
    ending of the name."""

    def __init__(self, datapipe, *handlers, key_fn=extension_extract_fn):
        self.datapipe = datapipe
        self.decoder = Decoder(*(handlers or (basichandlers, imagehandler("torch"))), key_fn=key_fn)

    def add_handler(self, *handler):
        """Adds handlers."""
        self.decoder.add_handler(*handler)

    def __iter__(self):
        for name, content in self.datapipe:
            if not isinstance(content, (bytes, bytearray)):
                validate_pathname_binary_tuple((name, content))
            yield name, self.decoder((name, content))[name]

    def __len__(self):
        return len(self.datapipe)
