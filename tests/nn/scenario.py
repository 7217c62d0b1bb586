"""Small programs with what they must give: here by hand, and the same in torch where installed."""

import pytest


class Scenarios:
    """Collects functions of the library; each returns plain values, and has those expected."""

    def __init__(self):
        self.all = []

    def __call__(self, *expected):
        def add(function):
            self.all.append(pytest.param(function, expected[0], id=function.__name__))
            return function

        return add


def error(call, *args, **kwargs):
    """(class, text) of what a call raises."""
    try:
        call(*args, **kwargs)
    except Exception as raised:
        text = raised.args[0] if isinstance(raised, KeyError) else str(raised)
        return type(raised).__name__, text
    return None
