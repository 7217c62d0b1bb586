"""torch.utils.serialization: settings of torch.save and torch.load."""

from . import config

__all__ = ["config"]
