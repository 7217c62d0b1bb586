"""How results lie in memory: strides are torch's, also of dims of size 1 and of nothing."""

import pytest

from tests.support.answers import wrong, wrong_on_npu

# Tensors of dims in other orders, with gaps, repeated, and with strides that say nothing.
LAYOUTS = {
    "matrix": "t([[1., 2., 3.], [4., 5., 6.]])",
    "turned": "t([[1., 2.], [3., 4.], [5., 6.]]).t()",
    "repeated": "t([[1.], [2.]]).expand(2, 3)",
    "column": "t([[1., 2., 3.]]).t()",
    "odd": "torch.as_strided(t([1., 2., 3., 4., 5., 6.]), (2, 1, 3), (3, 50, 1))",
    "odd_turned": "torch.as_strided(t([1., 2., 3., 4., 5., 6.]), (3, 1, 2), (1, 50, 3))",
    "images": "torch.arange(24.).to(t(0).device).reshape(2, 2, 2, 3).permute(0, 3, 1, 2)",
    "pixels": "torch.arange(6.).to(t(0).device).reshape(2, 1, 1, 3).permute(0, 3, 1, 2)",
    "nothing": "t([[1., 2., 3.]])[:0].t()",
}

TABLE = """
{column}.clone() => (1, 3)
{odd}.clone() => (3, 50, 1)
{odd_turned}.clone() => (1, 50, 3)
{pixels}.clone() => (3, 1, 3, 3)
{nothing}.clone() => (1, 3)
{repeated}.clone() => (3, 1)
{odd}.contiguous() => (3, 50, 1)
torch.ones_like({odd}) => (3, 50, 1)
torch.zeros_like({pixels}) => (3, 1, 3, 3)
torch.empty_like({nothing}) => (1, 3)
torch.full_like({column}, 2) => (1, 3)
torch.rand_like({odd}) => (3, 50, 1)
torch.flip({odd}, [0]) => (3, 50, 1)
torch.flip({pixels}, [1]) => (3, 1, 3, 3)
torch.flip({turned}, [1]) => (1, 2)
torch.sort({odd}) => (3, 50, 1); (3, 50, 1)
torch.sort({pixels}, 0) => (3, 1, 3, 3); (3, 1, 3, 3)
torch.argsort({column}, 0) => (1, 3)
torch.abs({odd}) => (3, 3, 1)
torch.abs({odd_turned}) => (1, 50, 3)
{odd} + {odd} => (3, 3, 1)
{pixels} + 1 => (3, 1, 3, 3)
{column} * 2 => (1, 3)
{odd} > 0 => (3, 6, 1)
2 ** {turned} => (3, 1)
F.logsigmoid({turned}) => (3, 1)
{repeated} + {turned}.double() => (3, 1)
{images}[t([1, 0])] => (12, 1, 6, 3)
{images}[t([0]), :, t([1])] => (6, 1, 3)
{turned}[t([[0], [1]])] => (3, 3, 1)
{turned}[:, t([0, 0])] => (2, 1)
{images}[..., t([1, 0])] => (12, 2, 6, 1)
{matrix}[t([1, 0])] => (3, 1)
{column}.view(3, 1) => (1, 3)
{column}.view(-1) => (1,)
{odd}.reshape(2, 1, 3) => (3, 3, 1)
{column}.unflatten(0, (1, 3)) => (3, 1, 3)
torch.rad2deg({odd}) => (3, 50, 1)
F.relu6({odd}) => (3, 50, 1)
torch.nan_to_num({odd}) => (3, 50, 1)
{odd} ** 3 => (3, 3, 1)
{nothing} + 1 => (1, 3)
{nothing}[:, None] > 0 => (1, 3, 3)
torch.outer(t([]), t([1.])) => (1, 0)
torch.isinf({odd}.int()) => (3, 50, 1)
t(1.).expand(2, 1) => (0, 0)
torch.diff({column}) => (1, 1)
torch.diff({odd}, n=0) => (3, 50, 1)
torch.roll({nothing}, 1, 0) => (1, 3)
"""

# Which elements are not zero is found dim by dim.
HOST = """
torch.nonzero({matrix}) => (1, 6)
torch.nonzero({turned} > 2) => (1, 4)
torch.argwhere({odd}) => (1, 6)
torch.nonzero({matrix} > 9) => (1, 0)
torch.nonzero(t(1.)) => (1, 1)
torch.where({matrix} > 1) => (1,); (1,)
torch.nonzero({matrix}, out=torch.empty(0, dtype=int64)) => (1, 6)
torch.nonzero({matrix}, out=torch.empty(6, 2, dtype=int64)) => (2, 1)
"""


def show(result):
    if isinstance(result, tuple):
        return "; ".join(show(each) for each in result)
    return str(result.stride())


def filled_in(table):
    for name, layout in LAYOUTS.items():
        table = table.replace(f"{{{name}}}", layout)
    return table


def test_strides(torch, mode):
    assert not wrong(torch, filled_in(TABLE + HOST), mode=mode, show=show)


def test_strides_on_npus(mode):
    assert not wrong_on_npu(filled_in(TABLE), mode, "tests.tensor.test_strides.show")


def test_torch_agrees(oracle):
    assert not wrong(oracle, filled_in(TABLE + HOST), show=show)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_picked_elements_lie_right(torch, layout):
    """Indexing writes the same values whatever the strides of its result."""
    from tests.support.answers import answer

    for index in ("[t([0, 0])]", "[:, t([0])]", "[..., t([0])]", "[..., t([[0], [0]])]"):
        if layout == "nothing":
            continue
        strided = answer(torch, LAYOUTS[layout] + index)
        plain = answer(
            torch, f"({LAYOUTS[layout]}).clone(memory_format=torch.contiguous_format){index}"
        )
        assert strided == plain
