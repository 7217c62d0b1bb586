"""Replaces functions while a program is traced, and puts them back."""

import builtins
import functools

_NOTHING = object()


class _Patcher:
    """`with _Patcher() as patcher:` undoes at the end what was patched inside."""

    def __init__(self):
        self._undo = []
        self._visited = set()

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        while self._undo:
            self._undo.pop()()

    def patch(self, names, name, new):
        """Sets names[name], of a dict such as the globals of a module."""
        before = names.get(name, _NOTHING)
        names[name] = new
        if before is _NOTHING:  # a builtin that the module does not define itself
            self._undo.append(lambda: names.pop(name, None))
        else:
            self._undo.append(lambda: names.__setitem__(name, before))

    def patch_method(self, cls, name, new):
        """Sets an attribute of a class."""
        before = vars(cls).get(name, _NOTHING)
        setattr(cls, name, new)
        if before is _NOTHING:
            self._undo.append(lambda: delattr(cls, name))
        else:
            self._undo.append(lambda: setattr(cls, name, before))

    def visit_once(self, thing):
        """True the first time that it is asked about `thing`."""
        if id(thing) in self._visited:
            return False
        self._visited.add(id(thing))
        return True


def find_proxy(*values):
    """The first Proxy in arguments, nested ones included, or None."""
    from mindtorch_v2.fx.node import map_aggregate
    from mindtorch_v2.fx.proxy import Proxy

    found = []

    def note(leaf):
        if isinstance(leaf, Proxy):
            found.append(leaf)
        return leaf

    for value in values:
        map_aggregate(value, note)
    return found[0] if found else None


def recording_function(function):
    """`function`, but calls with proxies become a node."""

    @functools.wraps(function)
    def recorded(*args, **kwargs):
        proxy = find_proxy(args, kwargs)
        if proxy is None:
            return function(*args, **kwargs)
        result = proxy.tracer.create_proxy("call_function", function, args, kwargs)
        result.node.meta["is_wrapped"] = True
        return result

    return recorded


def recording_method(cls, name):
    """The method `name` of a class, but calls with proxies become a node."""
    function = getattr(cls, name)

    @functools.wraps(function)
    def recorded(*args, **kwargs):
        proxy = find_proxy(args, kwargs)
        if proxy is None:
            return function(*args, **kwargs)
        return proxy.tracer.create_proxy("call_method", name, args, kwargs)

    return recorded


def patch_wrapped(patcher, functions, methods):
    """Makes the functions and methods that wrap() was told of recording ones."""
    for names, name in functions:
        function = names.get(name, getattr(builtins, name, None))
        if function is not None:
            patcher.patch(names, name, recording_function(function))
    for cls, name in methods:
        patcher.patch_method(cls, name, recording_method(cls, name))


def patch_known(patcher, names, function_ids):
    """Makes the functions with these ids recording ones in the globals of a module."""
    if not patcher.visit_once(names):
        return
    for name, value in list(names.items()):
        if not name.startswith("_") and callable(value) and id(value) in function_ids:
            patcher.patch(names, name, recording_function(value))
