"""scaled_dot_product_attention: dropout, layout, pipelines and threads."""

import numpy as np
import pytest

from tests.conftest import TORCH_INSTALLED


def libraries():
    import mindtorch_v2

    yield mindtorch_v2
    if TORCH_INSTALLED:
        import torch

        yield torch


def values(library, *shape, dtype="float32"):
    count = int(np.prod(shape))
    array = (np.arange(count) * 7 % 11 - 5) / 4
    return library.from_numpy(array.reshape(shape)).to(getattr(library, dtype))


def attend(library, *args, **kwargs):
    return library.nn.functional.scaled_dot_product_attention(*args, **kwargs)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("options", [{}, {"is_causal": True}, {"attn_mask": True}])
def test_dropout_draws_the_same_numbers(dtype, options):
    """One seed drops the same weights in both libraries, and scales the others."""
    found = []
    for library in libraries():
        q = values(library, 2, 3, 4, 5, dtype=dtype)
        k = values(library, 2, 3, 6, 5, dtype=dtype)
        if "attn_mask" in options:
            options["attn_mask"] = values(library, 4, 6) > -1
        library.manual_seed(3)
        found.append(attend(library, q, k, k, dropout_p=0.5, **options).double().numpy())
    near = 2e-3 if dtype == "float16" else 1e-5
    np.testing.assert_allclose(found[-1], found[0], near, near)


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


def test_results_lie_as_the_query_where_torch_has_it_so():
    """A transposed query gives a transposed result: it becomes rows of tokens without a copy."""
    found, numbers = [], []
    for library in libraries():
        results = [attend(library, q, k, v, **options) for q, k, v, options in layouts(library)]
        found.append([(r.stride(), tuple(r.shape)) for r in results])
        numbers.append([value for r in results for value in r.flatten().tolist()])
    assert found[-1] == found[0]
    assert numbers[-1] == pytest.approx(numbers[0], rel=1e-5, abs=1e-6)
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
