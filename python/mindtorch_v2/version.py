"""The version of this package, and of what it was built with."""

__version__ = "0.1.0"
version = __version__
debug = False
cuda = None  # no CUDA toolkit is needed to build
cann = None  # nor CANN
hip = None
xpu = None
git_version = "unknown"
# The torch whose names and rules mindtorch follows; what install_as_torch() says that torch is.
torch_version = "2.13.0"
torch_version_with_ours = f"{torch_version}+mindtorch.{__version__}"
