"""torch.utils._contextlib: context managers that are decorators as well."""

import functools
import inspect


def context_decorator(context, function):
    """The function, run inside context(), a new one for each call; of a generator each step."""
    make = context if callable(context) and not hasattr(context, "__enter__") else lambda: context
    if inspect.isclass(function):
        raise RuntimeError(
            "Cannot decorate classes; it is ambiguous whether or not only the constructor or all "
            "methods should have the context manager applied; additionally, decorating a class "
            "at definition-site will prevent use of the identifier as a conventional type. To "
            "specify which methods to decorate, decorate each of them individually."
        )
    if inspect.isgeneratorfunction(function):
        return _wrap_generator(make, function)

    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        with make():
            return function(*args, **kwargs)

    return wrapped


def _wrap_generator(make, function):
    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        generator = function(*args, **kwargs)
        resume = functools.partial(next, generator)
        while True:
            try:
                with make():
                    value = resume()
            except StopIteration as end:
                return end.value
            try:
                sent = yield value
            except GeneratorExit:
                with make():
                    generator.close()
                raise
            except BaseException as error:
                resume = functools.partial(generator.throw, error)
            else:
                resume = functools.partial(generator.send, sent)

    return wrapped


class _DecoratorContextManager:
    """A base of context managers: @manager wraps a function, with a clone() for each call."""

    def __call__(self, orig_func):
        return context_decorator(self.clone, orig_func)

    def __enter__(self):
        raise NotImplementedError

    def __exit__(self, exc_type, exc_value, traceback):
        raise NotImplementedError

    def clone(self):
        """A new object of the same class."""
        return self.__class__()


class _NoParamDecoratorContextManager(_DecoratorContextManager):
    """The same for managers without arguments: @manager without brackets works, too."""

    def __new__(cls, orig_func=None):
        self = super().__new__(cls)
        return self if orig_func is None else self(orig_func)
