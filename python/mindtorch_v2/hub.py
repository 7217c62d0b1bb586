"""torch.hub: weights from a URL or a local file, and models that a folder's hubconf.py offers."""

import hashlib
import os
import re
import sys
import uuid
import zipfile
from urllib.parse import urlparse

import mindtorch_v2 as torch

__all__ = [
    "download_url_to_file",
    "get_dir",
    "help",
    "list",
    "load",
    "load_state_dict_from_url",
    "set_dir",
]

HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")
_CHUNK_BYTES = 1 << 20
_CONFIG = "hubconf.py"
_folder = None


def _get_torch_home():
    """The folder of torch's files: $TORCH_HOME, or ~/.cache/torch."""
    cache = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    return os.path.expanduser(os.environ.get("TORCH_HOME", os.path.join(cache, "torch")))


def get_dir():
    """The folder of downloads: set_dir's, or hub in $TORCH_HOME, or in ~/.cache/torch."""
    return os.path.join(_get_torch_home(), "hub") if _folder is None else _folder


def set_dir(d):
    """Sets the folder of downloads.

    >>> torch.hub.set_dir("downloads")
    >>> torch.hub.get_dir()
    'downloads'
    """
    global _folder
    _folder = os.path.expanduser(d)


def download_url_to_file(url, dst, hash_prefix=None, progress=True):
    """Downloads to a file, which appears when it is whole. `hash_prefix` is how the SHA-256 of the
    contents must begin. A URL may be file://, too."""
    from urllib.request import Request, urlopen

    dst = os.path.expanduser(dst)
    partial = f"{dst}.{uuid.uuid4().hex}.partial"
    digest = hashlib.sha256()
    try:
        with (
            urlopen(Request(url, headers={"User-Agent": "torch.hub"})) as source,
            open(partial, "xb") as target,
        ):
            total = int(source.headers.get("Content-Length") or 0)
            while chunk := source.read(_CHUNK_BYTES):
                target.write(chunk)
                digest.update(chunk)
                if progress and total and sys.stderr.isatty():
                    sys.stderr.write(f"\r{100 * target.tell() // total:3d} %")
        if progress and sys.stderr.isatty():
            sys.stderr.write("\n")
        found = digest.hexdigest()
        if hash_prefix is not None and not found.startswith(hash_prefix):
            raise RuntimeError(f'invalid hash value (expected "{hash_prefix}", got "{found}")')
        os.replace(partial, dst)
    finally:
        if os.path.exists(partial):
            os.remove(partial)


def load_state_dict_from_url(
    url,
    model_dir=None,
    map_location=None,
    progress=True,
    check_hash=False,
    file_name=None,
    weights_only=False,
):
    """Loads what torch.save wrote from a URL, http(s):// or file://. It is downloaded once, to
    `model_dir` or the folder checkpoints in get_dir(). With `check_hash` the name holds the
    beginning of the SHA-256: name-5c106cde.pth. Set `weights_only` for files that you do not trust:
    see torch.load.

    >>> torch.save({"weight": torch.ones(2)}, "weights.pt")
    >>> import os
    >>> url = "file://" + os.path.abspath("weights.pt")
    >>> torch.hub.load_state_dict_from_url(url, model_dir="kept", progress=False)
    {'weight': tensor([1., 1.])}
    """
    from urllib.parse import unquote

    if model_dir is None:
        model_dir = os.path.join(get_dir(), "checkpoints")
    os.makedirs(model_dir, exist_ok=True)
    name = file_name or os.path.basename(unquote(urlparse(url).path))
    kept = os.path.join(model_dir, name)
    if not os.path.exists(kept):
        if progress:
            sys.stderr.write(f'Downloading: "{url}" to {kept}\n')
        found = HASH_REGEX.search(name) if check_hash else None
        download_url_to_file(url, kept, found and found.group(1), progress)
    with _unpacked(kept) as file:
        return torch.load(file, map_location=map_location, weights_only=weights_only)


def load(repo_or_dir, model, *args, source="github", **kwargs):
    """Calls a function of a folder's hubconf.py. Only source="local" is there: code is not
    downloaded.

    >>> _ = open("hubconf.py", "w").write("def double(x):\\n    return 2 * x\\n")
    >>> torch.hub.load(".", "double", 21, source="local")
    42
    """
    for name in ("trust_repo", "force_reload", "verbose", "skip_validation"):
        kwargs.pop(name, None)
    return _entry(_config(repo_or_dir, source), model)(*args, **kwargs)


def list(
    github,
    force_reload=False,
    skip_validation=False,
    trust_repo=None,
    verbose=True,
    *,
    source="local",
):
    """The names of the functions that a folder's hubconf.py offers."""
    config = _config(github, source)
    return [name for name, value in vars(config).items() if callable(value) and name[0] != "_"]


def help(
    github, model, force_reload=False, skip_validation=False, trust_repo=None, *, source="local"
):
    """The documentation of a function of a folder's hubconf.py."""
    return _entry(_config(github, source), model).__doc__


def _config(folder, source):
    """hubconf.py of a folder, as a module."""
    import importlib.util

    if source not in ("github", "local"):
        raise ValueError(f'Unknown source: "{source}". Allowed values: "github" | "local".')
    path = os.path.join(os.path.expanduser(folder), _CONFIG)
    if source == "github" and not os.path.exists(path):
        raise RuntimeError(
            f"torch.hub: {folder!r} is not downloaded. Clone the repository, and give its folder "
            'with source="local".'
        )
    if not os.path.exists(path):
        raise FileNotFoundError(f"torch.hub: there is no {_CONFIG} in {folder!r}")
    folder = os.path.dirname(os.path.abspath(path))
    sys.path.insert(0, folder)  # what it imports may be beside it
    try:
        spec = importlib.util.spec_from_file_location("hubconf", path)
        config = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(config)
    finally:
        sys.path.remove(folder)
    missing = [
        name
        for name in getattr(config, "dependencies", None) or []
        if importlib.util.find_spec(name) is None
    ]
    if missing:
        raise RuntimeError(f"Missing dependencies: {', '.join(missing)}")
    return config


def _entry(config, name):
    if not isinstance(name, str):
        raise ValueError("Invalid input: model should be a string of function name")
    function = getattr(config, name, None)
    if not callable(function):
        raise RuntimeError(f"Cannot find callable {name} in hubconf")
    return function


def _unpacked(path):
    """The file itself; or the one file in a zip archive that somebody packed it in."""
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            if len(members) == 1 and not members[0].is_dir():
                import io

                return io.BytesIO(archive.read(members[0]))
    return open(path, "rb")


def __getattr__(name):
    if name == "tqdm":
        from mindtorch_v2.utils.model_zoo import tqdm

        return tqdm
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
