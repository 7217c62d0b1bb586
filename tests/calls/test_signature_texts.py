"""What is said of each signature when arguments fit none of several, line by line as torch does."""
# ruff: noqa: E501

import pytest

VIEW = """view() received an invalid combination of arguments - got ({got}), but expected one of:
 * (torch.dtype dtype)
      didn't match because some of the {dtype}
 * (tuple of ints size)
      didn't match because some of the {size}
"""
TYPES, KEYWORDS = "arguments have invalid types: ", "keywords were incorrect: "

TEXTS = {
    't.ones(3).view("a")': VIEW.format(
        got="str", dtype=TYPES + "(!str!)", size=TYPES + "(!str!)"
    ),
    't.ones(3).view(dtype="a")': VIEW.format(
        got="dtype=str, ", dtype=TYPES + "(!dtype=str!, )", size=KEYWORDS + "dtype"
    ),
    "t.ones(3).view(foo=1)": VIEW.format(
        got="foo=int, ", dtype=KEYWORDS + "foo", size=KEYWORDS + "foo"
    ),
    't.ones(3).max("a")': """max() received an invalid combination of arguments - got (str), but expected one of:
 * ()
      didn't match because some of the arguments have invalid types: (!str!)
 * (Tensor other)
      didn't match because some of the arguments have invalid types: (!str!)
 * (int dim, bool keepdim = False)
""",
    't.movedim(t.ones(3, 4), (0,), "a")': """movedim() received an invalid combination of arguments - got (Tensor, tuple, str), but expected one of:
 * (Tensor input, int source, int destination)
      didn't match because some of the arguments have invalid types: (Tensor, !tuple of (int,)!, !str!)
 * (Tensor input, tuple of ints source, tuple of ints destination)
      didn't match because some of the arguments have invalid types: (Tensor, !tuple of (int,)!, !str!)
""",
    't.ones(3).scatter_(0, index="i", value=1.0)': """scatter_() received an invalid combination of arguments - got (int, value=float, index=str), but expected one of:
 * (int dim, Tensor index, Tensor src)
      didn't match because some of the keywords were incorrect: value
 * (int dim, Tensor index, Tensor src, *, str reduce)
 * (int dim, Tensor index, Number value)
      didn't match because some of the arguments have invalid types: (int, !index=str!, !value=float!)
 * (int dim, Tensor index, Number value, *, str reduce)
""",
    "t.linspace(0, 1)": """linspace() received an invalid combination of arguments - got (int, int), but expected one of:
 * (Tensor start, Tensor end, int steps, *, Tensor out = None, torch.dtype dtype = None, torch.layout layout = None, torch.device device = None, bool pin_memory = False, bool requires_grad = False)
 * (Number start, Tensor end, int steps, *, Tensor out = None, torch.dtype dtype = None, torch.layout layout = None, torch.device device = None, bool pin_memory = False, bool requires_grad = False)
 * (Tensor start, Number end, int steps, *, Tensor out = None, torch.dtype dtype = None, torch.layout layout = None, torch.device device = None, bool pin_memory = False, bool requires_grad = False)
 * (Number start, Number end, int steps, *, Tensor out = None, torch.dtype dtype = None, torch.layout layout = None, torch.device device = None, bool pin_memory = False, bool requires_grad = False)
""",
}  # fmt: skip


def text_of(package, code):
    with pytest.raises(TypeError) as caught:
        eval(code, {"t": package})
    return str(caught.value)


@pytest.mark.parametrize("code", TEXTS)
def test_text(torch, code):
    assert text_of(torch, code) == TEXTS[code]


@pytest.mark.parametrize("code", TEXTS)
def test_torch_says_the_same(oracle, code):
    assert text_of(oracle, code) == TEXTS[code]
