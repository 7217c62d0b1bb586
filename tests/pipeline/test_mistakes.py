"""Mistakes of shape, dtype and argument raise at the call, in pipelines as in eager mode."""

import copy
import itertools
import warnings

import pytest

DTYPES = ("float32", "float16", "int64", "uint8", "bool")
# Names that look, save or set something, and make nothing that could be recorded.
OTHERS = set(
    "save load pipeline set_default_dtype set_printoptions numpy tolist item data_ptr "
    "autocast_increment_nesting autocast_decrement_nesting".split()
)


def functions(torch):
    for place in (torch, torch.nn.functional, torch.Tensor):
        for name in dir(place):
            function = getattr(place, name)
            if callable(function) and not isinstance(function, type) and name[0] != "_":
                if name not in OTHERS:
                    yield name, function


def calls(torch, first, second):
    """Arguments of every common form, most of them wrong for any given function."""
    a = torch.ones(3, 3, dtype=getattr(torch, first))
    b = torch.ones(3, 3, dtype=getattr(torch, second))
    i = b.long()
    if second == DTYPES[0]:
        yield from ([a], [a[0]], [a, 2], [a, 0.5], [a, 0, 1])
    yield from ([a, b], [a[0], b[0]], [a, b[0]], [a, b, a], [a[None], b[None], a[None]])
    yield from ([a, 1, b], [a, 0, b, a], [a, 0, i, b], [a, 0, i[0], b], [a, i], [a, b[:2]])
    yield from ([a, b.bool(), a], [a, b.bool(), 2], [[a, b]], [[a, b], 0])


def mistake_of(function, args):
    try:
        function(*copy.deepcopy(args))
    except Exception as error:
        return type(error), str(error)
    return None


@pytest.mark.parametrize("first", DTYPES)
def test_mistakes_are_told_at_the_call(torch, first):
    raised = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for (name, function), second in itertools.product(functions(torch), DTYPES):
            for args in calls(torch, first, second):
                want = mistake_of(function, args)
                # What values make impossible is told where they are computed.
                if want is None or want[0] is torch.linalg.LinAlgError or "U[" in want[1]:
                    continue
                with torch.pipeline():
                    got = mistake_of(function, args)
                assert got == want, name
                raised += 1
    assert raised > 10_000


@pytest.mark.parametrize("function", ["numpy", "__array__"])
def test_a_flag_that_has_no_truth(torch, function):
    """The error of the flag is raised by this call, not by whatever comes next."""
    flag = torch.ones(2)
    arguments = (None, flag) if function == "__array__" else ()
    keywords = {} if arguments else {"force": flag}
    with pytest.raises(RuntimeError, match="Boolean value of Tensor with more than one value"):
        getattr(torch.ones(2), function)(*arguments, **keywords)
