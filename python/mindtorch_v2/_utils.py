"""Small parts that several modules need, by torch's names."""

import sys
import traceback


class _KeyErrorText(str):
    """A text that KeyError shows as it is, with its line breaks."""

    def __repr__(self):
        return self


class ExceptionWrapper:
    """An exception with its traceback as text, to be raised in another thread or process."""

    def __init__(self, exc_info=None, where="in background"):
        exc_info = exc_info or sys.exc_info()
        self.exc_type = exc_info[0]
        self.exc_msg = "".join(traceback.format_exception(*exc_info))
        self.where = where

    def reraise(self):
        """Raises an exception of the same class, with the original traceback in its text."""
        text = f"Caught {self.exc_type.__name__} {self.where}.\nOriginal {self.exc_msg}"
        if self.exc_type is KeyError:
            raise KeyError(_KeyErrorText(text))
        if getattr(self.exc_type, "message", None):
            raise self.exc_type(message=text)
        try:
            exception = self.exc_type(text)
        except Exception:
            raise RuntimeError(text) from None  # it takes other arguments than a text
        raise exception
