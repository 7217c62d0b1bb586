"""Singular vectors: their signs are the device's own, so what they make is compared."""

import numpy as np
import pytest

from . import acl
from .case import Arguments, In, Out, launch
from .values import random


@pytest.mark.parametrize("dtype", ["f32", "f64", "c64", "c128"])
@pytest.mark.parametrize("shape", [(4, 3), (3, 4), (2, 3, 3), (1, 5)])
@pytest.mark.parametrize("full", [False, True])
def test_singular_vectors_make_the_matrix(npu, dtype, shape, full):
    x = random(shape, dtype, 1)
    x[..., -1, :] = 0 if shape == (2, 3, 3) else x[..., -1, :]  # singular
    *batch, m, n = shape
    k = min(m, n)
    sizes = [(*batch, k), (*batch, m, m if full else k), (*batch, n, n if full else k)]
    outputs = [Out(np.zeros(size), dtype) for size in sizes]
    arguments = Arguments(npu, [In(x, dtype), full, True, *outputs], "contiguous")
    workspace = launch(npu, "aclnnSvd", arguments.handles)
    npu.synchronize()
    sigma, u, v = (buffer.read() for buffer in arguments.buffers[1:])
    close = {"rtol": 1e-4, "atol": 1e-4} if dtype in ("f32", "c64") else {"rtol": 1e-9}
    kept = sigma[..., None, :].real * u[..., :k] @ v[..., :k].conj().swapaxes(-1, -2)
    np.testing.assert_allclose(kept, x, **{"atol": 1e-9, **close})
    for vectors in (u, v):
        product = vectors.conj().swapaxes(-1, -2) @ vectors
        unit = np.broadcast_to(np.eye(product.shape[-1]), product.shape)
        np.testing.assert_allclose(product, unit, **{"atol": 1e-9, **close})
    if workspace:
        npu.free(workspace)
    arguments.close()


def test_a_matrix_that_is_not_positive_has_no_cholesky_factor(npu):
    out = Out(np.array([[1.0, 0], [2, np.nan]]), "f32")
    arguments = Arguments(npu, [In(np.array([[1.0, 2], [2, 1]]), "f32"), False, out], "contiguous")
    launch(npu, "aclnnLinalgCholesky", arguments.handles)
    npu.synchronize()
    arguments.verify()
    arguments.close()


def test_vectors_of_another_shape_are_refused(npu):
    sizes = [(3,), (4, 4), (3, 3)]
    outputs = [Out(np.zeros(size), "f32") for size in sizes]
    given = [In(np.zeros((4, 3)), "f32"), False, True, *outputs]
    arguments = Arguments(npu, given, "contiguous")
    with pytest.raises(acl.Error, match="u has shape") as caught:
        acl.phase_one("aclnnSvd", arguments.handles)
    assert caught.value.code == 161002
    arguments.close()
