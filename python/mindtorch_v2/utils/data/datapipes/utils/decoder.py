"""Functions that make objects of the bytes of a file, by the file's ending."""

import io
import json
import os.path
import pickle

import mindtorch_v2 as torch

__all__ = [
    "Decoder",
    "ImageHandler",
    "MatHandler",
    "basichandlers",
    "extension_extract_fn",
    "handle_extension",
    "imagehandler",
    "mathandler",
]

_TEXT = ("txt", "text", "transcript")
_NUMBERS = ("cls", "cls2", "class", "count", "index", "inx", "id")
_IMAGES = ("jpg", "jpeg", "png", "ppm", "pgm", "pbm", "pnm")


def basichandlers(extension, data):
    """Text, whole numbers, JSON, pickles and tensors. Pickles can run any code.

    >>> from mindtorch_v2.utils.data.datapipes.utils.decoder import basichandlers
    >>> basichandlers("json", b"[1, 2]")
    [1, 2]
    """
    if extension in _TEXT:
        return data.decode("utf-8")
    if extension in _NUMBERS:
        return int(data)
    if extension in ("json", "jsn"):
        return json.loads(data)
    if extension in ("pyd", "pickle"):
        return pickle.loads(data)
    if extension == "pt":
        return torch.load(io.BytesIO(data))
    return None


def handle_extension(extensions, f):
    """A handler that calls `f` for files with one of the endings, which are separated by spaces."""
    endings = [ending.split(".") for ending in extensions.lower().split()]

    def handle(key, data):
        parts = key.lower().split(".")
        if any(parts[-len(ending) :] == ending for ending in endings):
            return f(data)
        return None

    return handle


class ImageHandler:
    """Makes images: "pil", "rgb", "l", ... as "8" (bytes) or without (floats from 0 to 1), as array
    or tensor: "torchrgb", "rgb8", "torchl8"."""

    def __init__(self, imagespec):
        spec = imagespec.lower()
        self.imagespec = spec
        self._as_tensor = spec.startswith("torch")
        self._as_pil = spec.startswith("pil")
        rest = spec.removeprefix("torch").removeprefix("pil")
        self._as_bytes = rest.endswith("8")
        self._mode = {"": "rgb"}.get(rest.removesuffix("8"), rest.removesuffix("8"))
        if self._mode not in ("l", "rgb", "rgba"):
            raise AssertionError(f"unknown image specification: {imagespec}")

    def __call__(self, extension, data):
        if extension.lower() not in _IMAGES:
            return None
        import numpy
        from PIL import Image

        image = Image.open(io.BytesIO(data)).convert(self._mode.upper())
        if self._as_pil:
            return image
        pixels = numpy.asarray(image)
        if not self._as_bytes:
            pixels = pixels.astype("float32") / 255
        if not self._as_tensor:
            return pixels
        if pixels.ndim == 2:
            pixels = pixels[:, :, None]
        return torch.tensor(pixels.transpose(2, 0, 1).copy())


def imagehandler(imagespec):
    """An ImageHandler."""
    return ImageHandler(imagespec)


class MatHandler:
    """Reads Matlab files through SciPy."""

    def __init__(self, **loadmat_kwargs):
        self.loadmat_kwargs = loadmat_kwargs

    def __call__(self, extension, data):
        if extension != "mat":
            return None
        import scipy.io

        return scipy.io.loadmat(io.BytesIO(data), **self.loadmat_kwargs)


def mathandler(**loadmat_kwargs):
    """A MatHandler."""
    return MatHandler(**loadmat_kwargs)


def extension_extract_fn(pathname):
    """The ending of a file name, without the dot."""
    return os.path.splitext(pathname)[1].removeprefix(".")


class Decoder:
    """Asks handlers, the last that was added first, what a file holds; its bytes if none knows."""

    def __init__(self, *handler, key_fn=extension_extract_fn):
        self.handlers = list(handler)
        self.key_fn = key_fn

    def add_handler(self, *handler):
        """Adds handlers."""
        self.handlers.extend(handler)

    def decode1(self, key, data):
        """What one file holds."""
        for handler in self.handlers:
            result = handler(key, data)
            if result is not None:
                return result
        return data

    def decode(self, data):
        """{file name: what it holds}."""
        pairs = [data] if isinstance(data, tuple) else data.items()
        result = {}
        for name, content in pairs:
            if name.startswith("__"):
                result[name] = (
                    content.decode("utf-8") if isinstance(content, bytes) else str(content)
                )
            else:
                result[name] = self.decode1(self.key_fn(name), _all_bytes(content))
        return result

    def __call__(self, data):
        return self.decode(data)


def _all_bytes(content):
    if isinstance(content, (bytes, bytearray)):
        return bytes(content)
    try:
        return content.read()
    finally:
        content.close()
