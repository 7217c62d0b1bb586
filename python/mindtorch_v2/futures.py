"""torch.futures: results that are set later."""

import logging
import threading

__all__ = ["Future", "collect_all", "wait_all"]

_log = logging.getLogger(__name__)


class Future:
    """A value that one thread sets and others wait for.

    >>> future = torch.futures.Future()
    >>> doubled = future.then(lambda done: done.value() * 2)
    >>> future.set_result(3)
    >>> doubled.wait()
    6
    """

    def __init__(self, *, devices=None):
        self._condition = threading.Condition()
        self._is_done = False
        self._value = self._error = None
        self._callbacks = []

    def __class_getitem__(cls, item):
        return cls

    def done(self):
        """Whether there is a value or an error."""
        return self._is_done

    def wait(self):
        """The value, as soon as there is one; raises an error that was set instead."""
        with self._condition:
            self._condition.wait_for(self.done)
        return self.value()

    def value(self):
        """The value, which must have been set."""
        if not self._is_done:
            raise RuntimeError("value() is called on a Future that is not done")
        if self._error is not None:
            raise self._error
        return self._value

    def then(self, callback):
        """A Future of callback(self), which is called when this one is done."""
        result = Future()

        def run(done):
            try:
                result.set_result(callback(done))
            except Exception as error:
                text = f"{type(error).__name__}: {error}"
                result.set_exception(
                    RuntimeError(f"Got the following error when running the callback: {text}")
                )

        self.add_done_callback(run)
        return result

    def add_done_callback(self, callback):
        """Calls callback(self) when this Future is done, or now."""
        with self._condition:
            if not self._is_done:
                self._callbacks.append(callback)
                return
        _notify(callback, self)

    def set_result(self, result):
        """Sets the value, once."""
        self._finish(result, None)

    def set_exception(self, result):
        """Sets an error, which wait() and value() raise."""
        if not isinstance(result, Exception):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")
        self._finish(None, result)

    def _finish(self, value, error):
        with self._condition:
            if self._is_done:
                raise RuntimeError(
                    "Attempting to mark a completed Future as complete again. Note that a Future "
                    "can only be marked completed once."
                )
            self._value, self._error, self._is_done = value, error, True
            callbacks, self._callbacks = self._callbacks, []
            self._condition.notify_all()
        for callback in callbacks:
            _notify(callback, self)


def _notify(callback, future):
    """Its errors are nobody's: who set the value has nothing to do with them."""
    try:
        callback(future)
    except Exception:
        _log.exception("Got the following error when running the callback")


def collect_all(futures):
    """A Future of the list of futures, done when all of them are; with the error of the first of
    them in the list that has one.

    >>> torch.futures.collect_all([]).wait()
    []
    """
    futures = list(futures)
    result = Future()
    left = [len(futures)]
    lock = threading.Lock()

    def finish():
        error = next((each._error for each in futures if each._error is not None), None)
        if error is None:
            result.set_result(futures)
        else:
            result.set_exception(error)

    def count(_):
        with lock:
            left[0] -= 1
            last = left[0] == 0
        if last:
            finish()

    for future in futures:
        future.add_done_callback(count)
    if not futures:
        finish()
    return result


def wait_all(futures):
    """The values of all futures; raises the first error.

    >>> torch.futures.wait_all([])
    []
    """
    return [future.wait() for future in collect_all(futures).wait()]
