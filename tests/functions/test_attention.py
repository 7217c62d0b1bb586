"""scaled_dot_product_attention: dropout, layout, gradients, memory, pipelines and threads."""

import subprocess
import sys

import numpy as np
import pytest

from tests.nn.compare import assert_same


def values(library, *shape, dtype="float32"):
    count = int(np.prod(shape))
    array = (np.arange(count) * 7 % 11 - 5) / 4
    return library.from_numpy(array.reshape(shape)).to(getattr(library, dtype))


def attend(library, *args, **kwargs):
    return library.nn.functional.scaled_dot_product_attention(*args, **kwargs)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("options", [{}, {"is_causal": True}, {"attn_mask": True}])
def test_dropout_draws_the_same_numbers(torch, torch_gives, dtype, options):
    """One seed drops the same weights in both libraries, and scales the others."""

    def dropped(library):
        mask = {"attn_mask": values(library, 4, 6) > -1} if "attn_mask" in options else {}
        q = values(library, 2, 3, 4, 5, dtype=dtype)
        k = values(library, 2, 3, 6, 5, dtype=dtype)
        library.manual_seed(3)
        return attend(library, q, k, k, dropout_p=0.5, **{**options, **mask}).double().numpy()

    near = 2e-3 if dtype == "float16" else 1e-5
    np.testing.assert_allclose(dropped(torch), torch_gives(dropped), near, near)


def test_dropout_keeps_the_mean(torch):
    torch.manual_seed(5)
    q, k = values(torch, 1, 1, 200, 8), values(torch, 1, 1, 300, 8)
    plain = attend(torch, q, k, torch.ones(1, 1, 300, 4))
    dropped = attend(torch, q, k, torch.ones(1, 1, 300, 4), dropout_p=0.25)
    assert torch.allclose(plain, torch.ones(()))
    assert not torch.allclose(dropped, plain)
    assert abs(dropped.mean().item() - 1) < 0.05


def layouts(library):
    q, k = values(library, 2, 4, 3, 5).transpose(1, 2), values(library, 2, 6, 3, 5).transpose(1, 2)
    yield q, k, k, {}
    yield q, k, k, {"is_causal": True}
    yield q, k.contiguous(), k, {"attn_mask": values(library, 4, 6)}
    yield q, k, k, {"attn_mask": values(library, 3, 4, 6)}
    yield q, k, values(library, 2, 6, 3, 7).transpose(1, 2), {}
    yield q[:, :, ::2], k, k, {}
    yield q[0], k[0], k[0], {}
    yield values(library, 2, 4, 3, 15).transpose(1, 2)[..., :5], k, k, {}
    yield q.transpose(2, 3).contiguous().transpose(2, 3), k, k, {}
    yield values(library, 1, 3, 4, 5).expand(2, 3, 4, 5), k, k, {}
    yield values(library, 2, 4, 4, 5).transpose(1, 2), k[:, :2], k[:, :2], {"enable_gqa": True}


def test_results_lie_as_the_query_where_torch_has_it_so(torch, torch_gives):
    """A transposed query gives a transposed result: it becomes rows of tokens without a copy."""

    def results(library):
        results = [attend(library, q, k, v, **options) for q, k, v, options in layouts(library)]
        numbers = np.array([value for r in results for value in r.flatten().tolist()])
        return [(r.stride(), tuple(r.shape)) for r in results], numbers

    found, expected = results(torch), torch_gives(results)
    assert found[0] == expected[0]
    assert_same(found[1], expected[1])
    assert found[0][0][0] == (60, 5, 15, 1)


def test_one_op_in_a_pipeline(torch):
    q, k = values(torch, 2, 3, 4, 5), values(torch, 2, 3, 6, 5)
    eager = attend(torch, q, k, k, is_causal=True)
    with torch.pipeline() as pipe:
        recorded = attend(torch, q, k, k, is_causal=True)
        assert recorded._pending
        assert recorded.shape == eager.shape
        assert recorded.stride() == eager.stride()
        with pytest.raises(RuntimeError, match="Expected size for first two dimensions"):
            attend(torch, q, k[..., :4], k)
        assert pipe.pending_count() >= 1
    assert torch.equal(recorded, eager)


def test_threads_change_nothing(torch):
    q, k = values(torch, 3, 2, 300, 16), values(torch, 3, 2, 200, 16)
    before = torch.get_num_threads()
    found = []
    for threads in (1, 4):
        torch.set_num_threads(threads)
        found.append([attend(torch, q, k, k), attend(torch, q, k, k, is_causal=True)])
    torch.set_num_threads(before)
    for one, four in zip(*found, strict=True):
        assert torch.allclose(one, four, 1e-6, 1e-6)


def random(library, *shape, seed=0, dtype="float32"):
    array = np.random.default_rng(seed + sum(shape)).standard_normal(shape)
    return library.from_numpy(array).to(getattr(library, dtype))


def gradients(library, shapes, dtype="float32", options=None, mask=None, layout=None):
    """The result, and the gradients of query, key and value."""
    operands = [random(library, *shape, seed=i, dtype=dtype) for i, shape in enumerate(shapes)]
    if layout is not None:
        operands = [layout(each) for each in operands]
    for each in operands:
        each.requires_grad_()
    if mask is not None:
        mask = library.from_numpy(mask)
    result = attend(library, *operands, attn_mask=mask, **(options or {}))
    result.backward(random(library, *result.shape, seed=7, dtype=dtype))
    return [each.double().numpy() for each in (result.detach(), *(x.grad for x in operands))]


def written_out(torch, shapes, dtype="float32", options=None, mask=None, layout=None):
    """The same by softmax and products, in float64."""
    options = dict(options or {})
    operands = [random(torch, *shape, seed=i, dtype=dtype) for i, shape in enumerate(shapes)]
    q, k, v = (each.double().requires_grad_() for each in operands)
    keys, values = k, v
    if options.get("enable_gqa"):
        keys, values = (x.repeat_interleave(q.size(-3) // x.size(-3), -3) for x in (k, v))
    scores = q @ keys.mT * options.get("scale", q.size(-1) ** -0.5)
    if options.get("is_causal"):
        seen = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
        scores = scores.masked_fill(~seen, -torch.inf)
    if mask is not None:
        mask = torch.from_numpy(mask)
        if mask.dtype == torch.bool:
            mask = torch.zeros(mask.shape).masked_fill(~mask, -torch.inf)
        scores = scores + mask
    nothing = (scores == -torch.inf).all(-1, keepdim=True)
    weights = scores.masked_fill(nothing, 0.0).softmax(-1).masked_fill(nothing, 0.0)
    result = weights @ values
    result.backward(random(torch, *result.shape, seed=7, dtype=dtype).double())
    return [each.numpy() for each in (result.detach(), q.grad, k.grad, v.grad)]


def shifts(*shape):
    return np.random.default_rng(3).standard_normal(shape).astype("float32")


def truths(*shape):
    found = np.random.default_rng(4).random(shape) < 0.4
    found[..., 0] = True
    return found


# Several blocks of queries and of keys, and all that leaves a last block, panel or vector partial.
GRADIENTS = {
    "plain": (((1, 2, 200, 64),) * 3, {}, None),
    "causal": (((1, 2, 200, 64),) * 3, {"is_causal": True}, None),
    "more keys": (((2, 1, 70, 33), (2, 1, 300, 33), (2, 1, 300, 20)), {}, None),
    "more keys, causal": (((1, 2, 70, 8), (1, 2, 300, 8), (1, 2, 300, 8)), {"is_causal": True},
                          None),
    "more queries, causal": (((1, 2, 300, 80), (1, 2, 70, 80), (1, 2, 70, 80)),
                             {"is_causal": True}, None),
    "one query": (((2, 2, 1, 16), (2, 2, 600, 16), (2, 2, 600, 16)), {}, None),
    "one key": (((2, 2, 5, 16), (2, 2, 1, 16), (2, 2, 1, 16)), {}, None),
    "no batch": (((40, 5), (50, 5), (50, 7)), {"scale": 0.3}, None),
    "five dims": (((2, 1, 2, 20, 5), (2, 1, 2, 30, 5), (2, 1, 2, 30, 5)), {}, None),
    "groups": (((2, 6, 100, 24), (2, 2, 90, 24), (2, 2, 90, 24)), {"enable_gqa": True}, None),
    "groups, causal": (((2, 4, 100, 24), (2, 1, 90, 24), (2, 1, 90, 24)),
                       {"enable_gqa": True, "is_causal": True}, None),
    "numbers": (((1, 2, 70, 16), (1, 2, 300, 16), (1, 2, 300, 16)), {}, shifts(70, 300)),
    "numbers by head": (((2, 2, 20, 16), (2, 2, 30, 16), (2, 2, 30, 16)), {}, shifts(2, 2, 20, 30)),
    "numbers by key": (((2, 2, 20, 16), (2, 2, 30, 16), (2, 2, 30, 16)), {}, shifts(2, 1, 1, 30)),
    "truths": (((1, 2, 70, 16), (1, 2, 300, 16), (1, 2, 300, 16)), {}, truths(70, 300)),
    "truths of groups": (((1, 4, 70, 16), (1, 2, 300, 16), (1, 2, 300, 16)), {"enable_gqa": True},
                         truths(1, 4, 70, 300)),
}  # fmt: skip
HIDDEN = {
    "all keys of some queries": np.arange(70)[:, None] % 7 + np.zeros((70, 300)) > 2,
    "the first keys": np.zeros((70, 300)) + np.arange(300) >= 270,
    "all": np.zeros((70, 300), dtype=bool),
}
NEAR = {"float16": 6e-3, "bfloat16": 5e-2, "float32": 2e-5, "float64": 1e-12}


@pytest.mark.parametrize("dtype", NEAR)
@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients(torch, name, dtype):
    shapes, options, mask = GRADIENTS[name]
    if mask is not None and mask.dtype != bool:
        mask = mask.astype("float64" if dtype == "float64" else "float32")
    found = gradients(torch, shapes, dtype, options, mask)
    for got, want in zip(found, written_out(torch, shapes, dtype, options, mask), strict=True):
        np.testing.assert_allclose(got, want, NEAR[dtype], NEAR[dtype])


@pytest.mark.parametrize("name", HIDDEN)
def test_gradients_of_hidden_keys(torch, name):
    shapes = ((1, 2, 70, 16), (1, 2, 300, 16), (1, 2, 300, 16))
    found = gradients(torch, shapes, mask=HIDDEN[name])
    for got, want in zip(found, written_out(torch, shapes, mask=HIDDEN[name]), strict=True):
        np.testing.assert_allclose(got, want, 2e-5, 2e-5)


@pytest.mark.parametrize("name", [*GRADIENTS, *HIDDEN])
def test_gradients_like_torch(torch, torch_gives, name):
    shapes, options, mask = GRADIENTS[name] if name in GRADIENTS else (
        ((1, 2, 70, 16), (1, 2, 300, 16), (1, 2, 300, 16)), {}, HIDDEN[name])  # fmt: skip
    found = gradients(torch, shapes, options=options, mask=mask)
    wanted = torch_gives(gradients, shapes, options=options, mask=mask)
    assert_same(found, wanted, 2e-5, 2e-5)


LAYOUTS = {
    "tokens first": lambda x: x.transpose(1, 2).contiguous().transpose(1, 2),
    "columns": lambda x: x.mT.contiguous().mT,
    "every other": lambda x: x.repeat_interleave(2, -1)[..., ::2],
    "in a wider row": lambda x: x.repeat(1, 1, 1, 3)[..., : x.size(-1)],
}


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("name", LAYOUTS)
def test_gradients_of_any_layout(torch, name, dtype):
    shapes = ((2, 3, 40, 16), (2, 3, 50, 16), (2, 3, 50, 16))
    found = gradients(torch, shapes, dtype, layout=lambda x: LAYOUTS[name](x).detach())
    for got, want in zip(found, gradients(torch, shapes, dtype), strict=True):
        np.testing.assert_allclose(got, want, NEAR[dtype], NEAR[dtype])


def test_gradient_of_the_mask(torch):
    mask = torch.from_numpy(shifts(2, 1, 20, 30)).double().requires_grad_()
    q, k, v = (random(torch, 2, 3, n, 8, dtype="float64").requires_grad_() for n in (20, 30, 30))
    assert torch.autograd.gradcheck(attend_with(torch), (q[:, :, :2], k, v, mask[:, :, :2]))


def attend_with(torch, **options):
    return lambda q, k, v, mask=None: attend(torch, q, k, v, mask, **options)


@pytest.mark.parametrize("options", [{}, {"is_causal": True}, {"enable_gqa": True}])
def test_gradients_of_gradients(torch, options):
    heads = 4 if "enable_gqa" in options else 2
    q, k, v = (
        random(torch, 1, count, n, 2, dtype="float64", seed=n).requires_grad_()
        for count, n in ((heads, 3), (2, 4), (2, 4))
    )
    assert torch.autograd.gradcheck(attend_with(torch, **options), (q, k, v))
    assert torch.autograd.gradgradcheck(attend_with(torch, **options), (q, k, v))


def test_the_result_is_saved(torch):
    """As in torch, whose op needs it for the gradients, too."""
    q = random(torch, 1, 1, 4, 4).requires_grad_()
    result = attend(torch, q, q, q)
    result.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        result.sum().backward()


def test_nan_and_infinity_stay_in_their_row(torch):
    for value in (float("nan"), float("inf")):
        q, k = random(torch, 1, 1, 100, 8), random(torch, 1, 1, 300, 8)
        plain = attend(torch, q, k, k)
        q[0, 0, 70, 3] = value
        found = attend(torch, q, k, k)
        assert found[0, 0, 70].isnan().all()
        found[0, 0, 70] = plain[0, 0, 70]
        assert torch.equal(found, plain)


def test_gradients_in_a_pipeline(torch):
    found = []
    for record in (False, True):
        operands = [random(torch, 2, 3, 40, 16, seed=i).requires_grad_() for i in range(3)]
        with torch.pipeline() if record else torch.enable_grad():
            attend(torch, *operands, is_causal=True).sum().backward()
        found.append([x.grad for x in operands])
    for eager, recorded in zip(*found, strict=True):
        assert torch.equal(eager, recorded)


def test_threads_change_no_gradient(torch):
    before = torch.get_num_threads()
    found = []
    for threads in (1, 4):
        torch.set_num_threads(threads)
        found.append(gradients(torch, ((3, 2, 200, 16),) * 3, options={"is_causal": True}))
    torch.set_num_threads(before)
    for one, four in zip(*found, strict=True):
        np.testing.assert_array_equal(one, four)


def test_meta(torch):
    q, k = (torch.empty(2, n, 4, 6, device="meta").transpose(1, 2) for n in (3, 5))
    result = attend(torch, q.requires_grad_(), k, k)
    assert (result.shape, result.stride(), result.device.type) == (q.shape, q.stride(), "meta")
    result.sum().backward()
    assert q.grad.shape == q.shape and q.grad.is_meta


MEMORY = """
import resource
import mindtorch_v2 as torch

def step(length):
    q = torch.rand(1, 1, length, 16, requires_grad=True)
    torch.nn.functional.scaled_dot_product_attention(q, q, q, is_causal=True).sum().backward()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

print(-step(512) + step(8192))
"""


def test_all_scores_are_never_held():
    """8,192 queries by as many keys would take 256 MiB."""
    done = subprocess.run(
        [sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) < 64 * 1024
