"""Checks, file names and streams of data pipes."""

import fnmatch
import inspect
import os
import warnings

__all__ = [
    "StreamWrapper",
    "get_file_binaries_from_pathnames",
    "get_file_pathnames_from_root",
    "match_masks",
    "validate_input_col",
    "validate_pathname_binary_tuple",
]


def validate_input_col(fn, input_col):
    """ValueError unless `fn` takes as many positional arguments as there are columns."""
    try:
        parameters = inspect.signature(fn).parameters.values()
    except (ValueError, TypeError):
        return  # a builtin that does not say
    count = len(input_col) if isinstance(input_col, (list, tuple)) else 1
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    has_any = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    name = getattr(fn, "__name__", repr(fn))
    keywords = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY and p.default is p.empty]
    if keywords:
        raise ValueError(
            f"The function {name} takes {len(keywords)} non-default keyword-only parameters, "
            "which is not allowed."
        )
    required = sum(p.default is p.empty for p in positional)
    if required > count:
        raise ValueError(
            f"The function {name} takes {required} positional parameters, but {count} are required."
        )
    if not has_any and len(positional) < count:
        raise ValueError(
            f"The function {name} takes {len(positional)} positional parameters, but {count} are "
            "required."
        )


def match_masks(name, masks):
    """Whether a file name fits one of the patterns; no patterns fit all."""
    masks = [masks] if isinstance(masks, str) else masks
    return not masks or masks == [""] or any(fnmatch.fnmatch(name, mask) for mask in masks)


def get_file_pathnames_from_root(
    root, masks, recursive=False, abspath=False, non_deterministic=False
):
    """The files below a folder whose names fit, in order unless `non_deterministic`."""

    def failed(error):
        warnings.warn(error.filename + " : " + error.strerror, stacklevel=3)
        raise error

    if os.path.isfile(root):
        path = os.path.abspath(root) if abspath else root
        if match_masks(os.path.basename(path), masks):
            yield path
        return
    for folder, folders, files in os.walk(root, onerror=failed):
        if abspath:
            folder = os.path.abspath(folder)
        if not non_deterministic:
            files.sort()
            folders.sort()
        yield from (os.path.join(folder, name) for name in files if match_masks(name, masks))
        if not recursive:
            break


def get_file_binaries_from_pathnames(pathnames, mode, encoding=None):
    """(path, open file) for each path."""
    mode = "r" + mode if mode in ("b", "t") else mode
    for path in [pathnames] if isinstance(pathnames, str) else pathnames:
        if not isinstance(path, str):
            raise TypeError(f"Expected string type for pathname, but got {type(path)}")
        yield path, StreamWrapper(open(path, mode, encoding=encoding), name=path)


def validate_pathname_binary_tuple(data):
    """TypeError unless it is (path, open file)."""
    if not isinstance(data, tuple):
        raise TypeError(f"pathname binary data should be tuple type, but it is type {type(data)}")
    if len(data) != 2:
        raise TypeError(f"pathname binary stream tuple length should be 2, but got {len(data)}")
    if not isinstance(data[0], str):
        raise TypeError(
            f"pathname within the tuple should have string type pathname, but it is type "
            f"{type(data[0])}"
        )
    if not hasattr(data[1], "read"):
        raise TypeError(
            "binary stream within the tuple should have a method read, but it is of type "
            f"{type(data[1])}"
        )


class StreamWrapper:
    """A file that is closed when nobody holds it any more."""

    def __init__(self, file_obj, parent_stream=None, name=None):
        self.file_obj = file_obj
        self.parent_stream = parent_stream
        self.name = name

    def __getattr__(self, name):
        return getattr(self.__dict__["file_obj"], name)

    def close(self):
        """Closes the file."""
        self.file_obj.close()

    def __del__(self):
        if "file_obj" in self.__dict__:
            self.close()

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        self.close()

    def __iter__(self):
        yield from self.file_obj

    def __next__(self):
        return next(self.file_obj)

    def __repr__(self):
        return f"StreamWrapper<{self.name or self.file_obj!r}>"
