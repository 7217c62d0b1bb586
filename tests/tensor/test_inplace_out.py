"""In-place and out= forms: what they return and refuse, and that a refusal changes nothing."""

import contextlib
import warnings

import numpy as np
import pytest

INTERNAL = (
    "unsupported operation: more than one element of the written-to tensor refers to a single "
    r"memory location. Please clone\(\) the tensor before performing the operation."
)
PARTIAL = (
    "unsupported operation: some elements of the input tensor and the written-to tensor refer to a "
    r"single memory location. Please clone\(\) the tensor before performing the operation."
)


def expanded(torch):
    base = torch.zeros(1)
    return base, base.expand(3)


# --- in place -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call",
    [
        lambda t, x: x.add_(1),
        lambda t, x: x.mul_(t.ones(3)),
        lambda t, x: x.exp_(),
        lambda t, x: x.copy_(t.ones(3)),
        lambda t, x: x.clamp_(0, 1),
        lambda t, x: x.addcmul_(t.ones(3), t.ones(3)),
        lambda t, x: x.sub_(1),
        lambda t, x: x.div_(2),
        lambda t, x: x.pow_(2),
        lambda t, x: x.relu_(),
        lambda t, x: x.__iadd__(1),
    ],
)
def test_internal_overlap_is_refused(torch, call):
    base, x = expanded(torch)
    with pytest.raises(RuntimeError, match=INTERNAL):
        call(torch, x)
    assert base.tolist() == [0]
    assert base._version == 0


@pytest.mark.parametrize("shape", [(3, 4), (2, 3, 4)])
def test_internal_overlap_in_any_dimension(torch, shape):
    for dim in range(len(shape)):
        base = torch.zeros([1 if d == dim else n for d, n in enumerate(shape)])
        with pytest.raises(RuntimeError, match=INTERNAL):
            base.expand(shape).add_(1)
        assert base.sum().item() == 0


def test_filling_an_expanded_tensor_is_allowed(torch):
    base, x = expanded(torch)
    assert x.fill_(3).tolist() == [3, 3, 3]
    assert base.tolist() == [3]
    x.zero_()
    assert base.tolist() == [0]


def test_an_expanded_dimension_of_one_is_no_overlap(torch):
    x = torch.zeros(3).expand(1, 3)
    x.add_(1)
    assert x.tolist() == [[1, 1, 1]]


def test_partial_overlap_is_refused(torch):
    x = torch.arange(6.0)
    with pytest.raises(RuntimeError, match=PARTIAL):
        x[1:].add_(x[:-1])
    with pytest.raises(RuntimeError, match=PARTIAL):
        torch.add(x[:-1], 1, out=x[1:])
    with pytest.raises(RuntimeError, match=PARTIAL):
        torch.exp(x[:-1], out=x[1:])
    with pytest.raises(RuntimeError, match=PARTIAL):
        torch.cat([x[:3], x[3:]], out=x)
    assert x.tolist() == [0, 1, 2, 3, 4, 5]
    assert x._version == 0


def test_exact_overlap_is_fine(torch):
    x = torch.arange(4.0)
    x.add_(x)
    assert x.tolist() == [0, 2, 4, 6]
    torch.mul(x, x, out=x)
    assert x.tolist() == [0, 4, 16, 36]
    y = torch.arange(4.0).view(2, 2)
    torch.add(y.t(), 1, out=y.t())
    assert y.tolist() == [[1, 2], [3, 4]]


def test_disjoint_views_are_fine(torch):
    x = torch.arange(6.0)
    x[:3].add_(x[3:])
    assert x.tolist() == [3, 5, 7, 3, 4, 5]
    torch.add(x[0::2], 1, out=x[1::2])
    assert x.tolist() == [3, 4, 7, 8, 4, 5]


def test_shape_must_not_grow(torch):
    x = torch.zeros(3)
    text = r"output with shape \[3\] doesn't match the broadcast shape \[2, 3\]"
    with pytest.raises(RuntimeError, match=text):
        x.add_(torch.ones(2, 3))
    with pytest.raises(RuntimeError, match=r"output with shape \[\] doesn't match"):
        torch.zeros(()).mul_(torch.ones(2))
    with pytest.raises(RuntimeError, match="must match the size of tensor b"):
        x.add_(torch.ones(4))
    assert x.tolist() == [0, 0, 0] and x._version == 0
    torch.zeros(2, 3).add_(x)


def test_dtype_must_hold_the_result(torch):
    x = torch.ones(3, dtype=torch.int32)
    for call in (
        lambda: x.add_(1.5),
        lambda: x.mul_(torch.ones(3)),
        lambda: x.div_(2),
        lambda: x.sqrt_(),
        lambda: x.__itruediv__(2),
    ):
        text = "result type (Float|Double) can't be cast to the desired output type Int"
        with pytest.raises(RuntimeError, match=text):
            call()
    assert x.tolist() == [1, 1, 1] and x._version == 0
    x.add_(torch.ones(3, dtype=torch.int64))
    assert x.dtype == torch.int32 and x.tolist() == [2, 2, 2]


@pytest.mark.parametrize(
    "statement, expected",
    [
        ("x += 2", [5, 3, -2]),
        ("x -= 2", [1, -1, -6]),
        ("x *= 2", [6, 2, -8]),
        ("x //= 2", [1, 0, -2]),
        ("x %= 2", [1, 1, 0]),
        ("x **= 2", [9, 1, 16]),
        ("x &= 1", [1, 1, 0]),
        ("x |= 1", [3, 1, -3]),
        ("x ^= 1", [2, 0, -3]),
        ("x <<= 1", [6, 2, -8]),
        ("x >>= 1", [1, 0, -2]),
    ],
)
def test_augmented_statements(torch, statement, expected):
    x = torch.tensor([3, 1, -4])
    scope = {"x": x}
    exec(statement, scope)
    assert scope["x"] is x
    assert x.tolist() == expected
    assert x._version == 1


def test_augmented_true_division(torch):
    x = torch.tensor([3.0, 1.0])
    y = x
    x /= 2
    assert x is y and y.tolist() == [1.5, 0.5]


def test_in_place_on_every_layout(torch):
    base = torch.zeros(4, 6)
    for view in (
        base.t(),
        base[1:3],
        base[:, ::2],
        base[1, 2],
        base.unfold(1, 2, 2),
        base.view(24),
    ):
        before = base.clone()
        view.add_(1)
        assert (base - before).sum().item() == view.numel()
        view.sub_(1)
    assert base.sum().item() == 0


# --- copy_ --------------------------------------------------------------------------------------


def test_copy_between_layouts_and_dtypes(torch):
    source = torch.arange(6, dtype=torch.int64).view(2, 3)
    for make in (
        lambda d: torch.zeros(2, 3, dtype=d),
        lambda d: torch.zeros(3, 2, dtype=d).t(),
        lambda d: torch.zeros(2, 6, dtype=d)[:, ::2],
        lambda d: torch.zeros(4, 5, dtype=d)[1:3, 2:],
    ):
        for dtype in (
            torch.float16,
            torch.bfloat16,
            torch.float32,
            torch.float64,
            torch.int8,
            torch.uint8,
        ):
            target = make(dtype)
            assert target.copy_(source) is target
            assert target.tolist() == source.tolist()
            target.zero_()
            target.copy_(source.t().contiguous().t())
            assert target.tolist() == source.tolist()


def test_copy_broadcasts(torch):
    x = torch.zeros(2, 3)
    x.copy_(torch.tensor([1.0, 2.0, 3.0]))
    assert x.tolist() == [[1, 2, 3]] * 2
    x.copy_(torch.tensor(7.0))
    assert x.tolist() == [[7, 7, 7]] * 2
    with pytest.raises(RuntimeError, match="must match"):
        x.copy_(torch.zeros(2, 4))
    with pytest.raises(RuntimeError, match="must match|broadcast shape"):
        x.copy_(torch.zeros(2, 2, 3))
    assert x.tolist() == [[7, 7, 7]] * 2


def test_copy_of_a_transposed_self(torch):
    x = torch.arange(4.0).view(2, 2)
    x.copy_(x)
    assert x.tolist() == [[0, 1], [2, 3]]


# --- out= ---------------------------------------------------------------------------------------


def test_out_is_returned(torch):
    out = torch.empty(3)
    pointer = out.data_ptr()
    assert torch.add(torch.ones(3), 1, out=out) is out
    assert out.tolist() == [2, 2, 2] and out.data_ptr() == pointer
    assert torch.add(torch.ones(3), 1, out=None).tolist() == [2, 2, 2]


def test_out_of_wrong_size_warns(torch):
    out = torch.empty(2)
    text = r"An output with one or more elements was resized since it had shape \[2\], which does"
    with pytest.warns(UserWarning, match=text):
        torch.add(torch.ones(3), 1, out=out)
    assert out.tolist() == [2, 2, 2]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        out = torch.empty(0)
        torch.add(torch.ones(2, 3), 1, out=out)
        assert out.shape == (2, 3)
        out = torch.empty(0, 5, 2)
        torch.add(torch.ones(2, 3), 1, out=out)
        assert out.shape == (2, 3)
        torch.add(torch.ones(2, 3), 1, out=out)


@pytest.mark.parametrize("is_pipeline", [False, True])
@pytest.mark.parametrize(
    "refused",
    [
        lambda torch, out: torch.hypot(torch.ones(3, 3).long(), torch.ones(3, 3).long(), out=out),
        lambda torch, out: torch.logaddexp(torch.ones(3, 3).int(), torch.ones(3).int(), out=out),
        lambda torch, out: torch.bernoulli(torch.ones(3, 3).long(), out=out),
        lambda torch, out: torch.nextafter(out[:1].long(), torch.ones(3, 3).long(), out=out),
    ],
)
def test_a_refused_op_leaves_out_as_it_was(torch, refused, is_pipeline):
    """Found by a random program: the shape of the result around bytes that nobody had written."""
    out = torch.arange(8.0)[1::2]
    block = torch.pipeline() if is_pipeline else contextlib.nullcontext()
    with warnings.catch_warnings(), block:
        warnings.simplefilter("ignore")
        with pytest.raises(NotImplementedError):
            refused(torch, out)
    assert (out.shape, out.stride(), out._version) == ((4,), (2,), 0)
    assert out.tolist() == [1, 3, 5, 7]


def test_out_keeps_its_strides(torch):
    out = torch.empty(3, 2).t()
    torch.add(torch.ones(2, 3), 1, out=out)
    assert out.stride() == (1, 2)
    wide = torch.zeros(2, 6)
    torch.exp(torch.zeros(2, 3), out=wide[:, ::2])
    assert wide.tolist() == [[1, 0, 1, 0, 1, 0]] * 2


def test_out_of_several(torch):
    x = torch.tensor([[1.0, 3.0, 2.0]])
    values, indices = torch.empty(0), torch.empty(0, dtype=torch.int64)
    result = torch.max(x, 1, out=(values, indices))
    assert result[0] is values and result[1] is indices
    assert (values.tolist(), indices.tolist()) == ([3], [1])
    assert result.values is values and result.indices is indices
    with pytest.raises(TypeError):
        torch.max(x, 1, out=values)
    with pytest.raises(RuntimeError):
        torch.max(x, 1, out=(values, torch.empty(1)))


def test_out_casts_or_refuses(torch):
    out = torch.zeros(3, dtype=torch.float64)
    torch.add(torch.ones(3), 1, out=out)
    assert out.tolist() == [2, 2, 2] and out.dtype == torch.float64
    small = torch.zeros(3, dtype=torch.float16)
    torch.add(torch.ones(3), 1, out=small)
    assert small.tolist() == [2, 2, 2]
    whole = torch.zeros(3, dtype=torch.int64)
    text = "result type Float can't be cast to the desired output type Long"
    with pytest.raises(RuntimeError, match=text):
        torch.add(torch.ones(3), 1, out=whole)
    assert whole.tolist() == [0, 0, 0] and whole._version == 0
    truth = torch.zeros(3, dtype=torch.uint8)
    torch.eq(torch.ones(3), 1, out=truth)
    assert truth.tolist() == [1, 1, 1]


def test_out_must_be_a_tensor(torch):
    with pytest.raises(TypeError):
        torch.add(torch.ones(3), 1, out=np.zeros(3))
    with pytest.raises(TypeError):
        torch.add(torch.ones(3), 1, out="x")


def test_out_on_another_device(torch):
    with pytest.raises((RuntimeError, NotImplementedError)):
        torch.add(torch.ones(3), 1, out=torch.empty(3, device="meta"))


def test_version_of_out(torch):
    out = torch.empty(3)
    torch.add(torch.ones(3), 1, out=out)
    torch.sum(torch.ones(2, 3), 0, out=out)
    assert out._version == 2


# --- out= that shares memory with an input ------------------------------------------------------


@pytest.fixture(params=["eager", "pipeline"])
def block(torch, request):
    return torch.pipeline if request.param == "pipeline" else contextlib.nullcontext


MISMATCH = r"output with shape \[2, 2\] doesn't match the broadcast shape \[3, 2, 2\]"


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda t, x: t.add(x, t.ones(3, 2, 2), out=x), MISMATCH),
        (lambda t, x: t.where(t.ones(3, 2, 2).bool(), x, x, out=x), MISMATCH),
        (lambda t, x: t.add(x, t.ones(3, 2, 2), out=x[0]), PARTIAL),
        (lambda t, x: t.exp(x[1], out=x), PARTIAL),
        (lambda t, x: t.cat([x, x], out=x), PARTIAL),
        (lambda t, x: t.cat([x], out=x), PARTIAL),
        (lambda t, x: t.cat([x], out=x[:0]), PARTIAL),
        (lambda t, x: t.cat([x[1:], x[1:]], out=x[:1]), PARTIAL),
        (lambda t, x: t.cat([t.empty(0), x], out=x.view(4)[1:]), PARTIAL),
        (lambda t, x: t.stack([x, x], out=x), PARTIAL),
        (lambda t, x: t.stack([x], out=x.view(1, 2, 2)), PARTIAL),
        (lambda t, x: t.hstack([x, x], out=x), PARTIAL),
        (lambda t, x: t.vstack([x, x], out=x), PARTIAL),
        (lambda t, x: t.dstack([x, x], out=x), PARTIAL),
        (lambda t, x: t.column_stack([x, x], out=x), PARTIAL),
    ],
)
@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
def test_out_that_is_read_is_refused(torch, block, call, text):
    x = torch.arange(4.0).view(2, 2)
    with block(), pytest.raises(RuntimeError, match=text):
        call(torch, x)
    assert x.tolist() == [[0, 1], [2, 3]] and x._version == 0


@pytest.mark.parametrize(
    "call, expected",
    [
        (lambda t, x: t.sum(x, 0, out=x), [2, 4]),
        (lambda t, x: t.sum(x, 0, out=x[0, 1:]), [2, 4]),
        (lambda t, x: t.cumsum(x, 0, out=x[0]), [[0, 1], [2, 4]]),
        (lambda t, x: t.matmul(x, t.ones(2, 3), out=x), [[1, 1, 1], [5, 5, 5]]),
        (lambda t, x: t.mm(t.ones(3, 2), x, out=x[1:]), [[2, 4], [2, 4], [2, 4]]),
        (lambda t, x: t.index_select(x, 0, t.tensor([1, 1, 0]), out=x), [[2, 3], [2, 3], [0, 1]]),
        (lambda t, x: t.diag(x, out=x), [0, 3]),
        (lambda t, x: t.masked_select(x, x > 0, out=x), [1, 2, 3]),
        (lambda t, x: t.kron(x, t.ones(1, 2), out=x), [[0, 0, 1, 1], [2, 2, 3, 3]]),
        (lambda t, x: t.cat([x[1:]], out=x[:1, :0]), [[2, 3]]),
        # What is read begins where the result grows to.
        (lambda t, x: t.add(x[1], t.ones(2, 2), out=x[0]), [[3, 4], [3, 4]]),
        (lambda t, x: t.neg(x, out=x[0, 1:1]), [[0, -1], [-2, -3]]),
        (lambda t, x: t.neg(x, out=x.view(4)[::3]), [[0, -1], [-2, -3]]),
        (lambda t, x: t.add(x, t.ones(2, 2, 2), out=x.view(2, 2)), [[[1, 2], [3, 4]]] * 2),
    ],
)
@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
def test_out_grows_only_after_the_inputs_were_read(torch, block, call, expected):
    x = torch.arange(4.0).view(2, 2)
    with block():
        out = call(torch, x)
    assert out.tolist() == expected and out.is_contiguous()


@pytest.mark.parametrize(
    "name, args, expected",
    [
        ("fill_", (2,), [2, 2, 2]),
        ("zero_", (), [0, 0, 0]),
        ("neg_", (), [-1, 2, -3]),
        ("abs_", (), [1, 2, 3]),
        ("clamp_", (0, 2), [1, 0, 2]),
        ("clamp_min_", (0,), [1, 0, 3]),
        ("masked_fill_", ([True, False, False], 9), [9, -2, 3]),
        ("index_fill_", (0, [1], 9), [1, 9, 3]),
        ("sign_", (), [1, -1, 1]),
        ("square_", (), [1, 4, 9]),
        ("eq_", (1,), [1, 0, 0]),
        ("lt_", (2,), [1, 1, 0]),
        ("cumsum_", (0,), [1, -1, 2]),
        ("logical_not_", (), [0, 0, 0]),
        ("fmod_", (2,), [1, 0, 1]),
        ("remainder_", (2,), [1, 0, 1]),
        ("lerp_", ("ones", 0.5), [1, -0.5, 2]),
        ("addcdiv_", ("ones", "ones"), [2, -1, 4]),
        ("triu_", None, None),
    ],
)
def test_in_place_methods(torch, name, args, expected):
    if args is None:
        x = torch.ones(2, 2)
        assert getattr(x, name)() is x and x.sum().item() == 3
        return
    x = torch.tensor([1.0, -2.0, 3.0])
    args = [
        torch.ones(3) if a == "ones" else torch.tensor(a) if isinstance(a, list) else a
        for a in args
    ]
    assert getattr(x, name)(*args) is x
    assert x.tolist() == expected
    assert x._version == 1
