"""The version of this package, and of what it was built with."""

__version__ = "0.1.0"
version = __version__
debug = False
cuda = None  # no CUDA toolkit is needed to build
cann = None  # nor CANN
git_version = "unknown"
