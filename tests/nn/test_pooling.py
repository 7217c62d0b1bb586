"""Poolings of images of many widths, against windows cut out one by one."""

import itertools

import mindtorch_v2 as torch
import numpy as np
import pytest
from mindtorch_v2.nn import functional as F

# kernel, stride, padding, dilation
WINDOWS = [(2, 2, 0, 1), (3, 1, 1, 1), (3, 2, 1, 1), (2, 3, 0, 1), (3, 2, 1, 2), (5, 1, 2, 1)]
WIDTHS = (5, 8, 17, 33, 40, 67)
DTYPES = ("float32", "float64", "float16", "bfloat16")


def places(size, kernel, stride, padding, dilation):
    """Of each window along one dimension: the elements inside the image."""
    count = (size + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1
    return [
        [x for k in range(kernel) if 0 <= (x := i * stride - padding + k * dilation) < size]
        for i in range(count)
    ]


def each_window(shape, *window):
    for y, rows in enumerate(places(shape[0], *window)):
        for x, columns in enumerate(places(shape[1], *window)):
            yield y, x, rows, columns


def numbers(dtype, *shape):
    values = np.random.default_rng(0).integers(-60, 60, shape) / 4  # exact in every dtype
    return torch.tensor(values).to(getattr(torch, dtype))


@pytest.fixture(params=[1, 4])
def threads(request):
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


@pytest.mark.parametrize("dtype", DTYPES)
def test_largest_elements(dtype, threads):
    for width, window in itertools.product(WIDTHS, WINDOWS):
        x = numbers(dtype, 1, 2, 7, width)
        values, found = F.max_pool2d(x, *window, return_indices=True)
        image = x.double().cpu().numpy()[0]
        for y, column, rows, columns in each_window((7, width), *window):
            for channel, plane in enumerate(image):
                # The first of equals, row by row.
                where = max(itertools.product(rows, columns), key=plane.__getitem__)
                assert values[0, channel, y, column].item() == plane[where]
                assert found[0, channel, y, column].item() == where[0] * width + where[1]


@pytest.mark.parametrize("dtype", DTYPES)
def test_means_and_their_gradients(dtype, threads):
    near = {"float16": 2e-3, "bfloat16": 2e-2}.get(dtype, 1e-5)
    for width, (kernel, stride, padding, dilation) in itertools.product(WIDTHS, WINDOWS):
        if dilation != 1:
            continue
        x = numbers(dtype, 1, 2, 7, width).requires_grad_()
        result = F.avg_pool2d(x, kernel, stride, padding, count_include_pad=False)
        expected = np.zeros(result.shape)
        gradient = np.zeros(x.shape)
        weights = np.random.default_rng(1).integers(-3, 4, result.shape).astype(float)
        image = x.detach().double().cpu().numpy()
        for y, column, rows, columns in each_window((7, width), kernel, stride, padding, 1):
            inside = np.ix_([0], range(2), rows, columns)
            expected[0, :, y, column] = image[inside].mean((0, 2, 3))
            share = weights[0, :, y, column] / (len(rows) * len(columns))
            gradient[inside] += share[None, :, None, None]
        result.backward(torch.tensor(weights).to(x.dtype))
        np.testing.assert_allclose(result.detach().double().cpu().numpy(), expected, near, near)
        np.testing.assert_allclose(x.grad.double().cpu().numpy(), gradient, 2 * near, 8 * near)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("wanted", [1, 3, 5, (1, 4), (6, 1)])
def test_windows_of_several_sizes(dtype, wanted, threads):
    near = {"float16": 2e-3, "bfloat16": 2e-2}.get(dtype, 1e-5)
    x = numbers(dtype, 2, 3, 13, 22).requires_grad_()
    result = F.adaptive_avg_pool2d(x, wanted)
    largest, where = F.adaptive_max_pool2d(x, wanted, return_indices=True)
    image = x.detach().double().cpu().numpy()
    gradient = np.zeros(image.shape)
    height, width = result.shape[2:]
    for y, column in np.ndindex(height, width):
        rows = slice(y * 13 // height, -(-(y + 1) * 13 // height))
        columns = slice(column * 22 // width, -(-(column + 1) * 22 // width))
        part = image[:, :, rows, columns]
        mean = result.detach().double().cpu().numpy()[:, :, y, column]
        np.testing.assert_allclose(mean, part.mean((2, 3)), near, near)
        assert (largest.detach().double().cpu().numpy()[:, :, y, column] == part.max((2, 3))).all()
        gradient[:, :, rows, columns] += 1 / (part.shape[2] * part.shape[3])
    taken = x.detach().flatten(2).gather(2, where.flatten(2)).reshape(largest.shape)
    assert torch.equal(taken, largest)
    result.backward(torch.ones_like(result))
    np.testing.assert_allclose(x.grad.double().cpu().numpy(), gradient, 2 * near, near)


@pytest.mark.parametrize("pool", ["max", "whole"])
def test_the_last_nan_is_the_largest(pool):
    x = torch.arange(40.0).view(1, 1, 2, 20).clone()
    x[0, 0, 0, 6] = x[0, 0, 1, 7] = float("nan")
    if pool == "whole":
        values, where = F.adaptive_max_pool2d(x, 1, return_indices=True)
        assert values.isnan().all()
        assert where.item() == 27
    else:
        values, where = F.max_pool2d(x, 2, return_indices=True)
        assert values.isnan().flatten().tolist() == [i == 3 for i in range(10)]
        assert where.flatten().tolist() == [27 if i == 3 else 21 + 2 * i for i in range(10)]


def test_gradients_of_few_large_planes(threads):
    x = torch.rand(1, 1, 128, 300, requires_grad=True)
    pooled, where = F.max_pool2d(x, 2, return_indices=True)
    pooled.backward(torch.ones_like(pooled))
    expected = torch.zeros(128 * 300).index_fill_(0, where.flatten(), 1).view(1, 1, 128, 300)
    assert torch.equal(x.grad, expected)


CHANNELS_LAST = [
    lambda x: F.max_pool2d(x, 3, 2, 1),
    lambda x: F.max_pool2d(x, 2, ceil_mode=True),
    lambda x: F.max_pool2d(x, 3, 1, 1, 2),
    lambda x: F.avg_pool2d(x, 3, 2, 1),
    lambda x: F.avg_pool2d(x, 3, 1, 1, count_include_pad=False),
    lambda x: F.adaptive_avg_pool2d(x, 3),
    lambda x: F.adaptive_max_pool2d(x, (1, 4)),
]


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("shape", [(2, 4, 7, 9), (1, 19, 8, 8), (3, 33, 6, 5)])
@pytest.mark.parametrize("pool", CHANNELS_LAST)
def test_channels_may_lie_beside_each_other(pool, shape, dtype):
    rng = np.random.default_rng(0)
    x = torch.tensor(rng.integers(-8, 8, shape)).to(getattr(torch, dtype))
    x[0, 1, 2, 2] = float("nan")
    results = []
    for layout in (torch.contiguous_format, torch.channels_last):
        given = x.clone(memory_format=layout).requires_grad_()
        pooled = pool(given)
        assert pooled.is_contiguous(memory_format=layout)
        pooled.backward(torch.ones_like(pooled))
        results.append((pooled.detach().double(), given.grad.double()))
    (pooled, grad), (other, other_grad) = results
    np.testing.assert_allclose(
        other.cpu().numpy(), pooled.cpu().numpy(), rtol=1e-2 if "16" in dtype else 1e-6
    )
    np.testing.assert_allclose(other_grad.cpu().numpy(), grad.cpu().numpy(), atol=1e-2)


@pytest.mark.parametrize("memory_format", [torch.contiguous_format, torch.channels_last])
def test_dilated_windows_beside_the_plane(memory_format):
    # One row, and windows of the rows above and below it.
    x = torch.arange(20.0).reshape(1, 1, 1, 20).to(memory_format=memory_format)
    values, places = F.max_pool2d(x, (2, 1), 1, (1, 0), (2, 1), return_indices=True)
    assert (values == -torch.inf).all() and values.shape == (1, 1, 1, 20)
    assert ((places >= 0) & (places < 20)).all()
    alone = F.max_pool2d(x[..., :1], (2, 1), 1, (1, 0), (2, 1))
    assert alone.item() == -torch.inf


def test_a_dilated_window_as_wide_as_the_plane():
    for row, kernel, padding, wanted in (([1.0, 9, 2], 4, 2, 2), ([0.0, 9, 1, 8, 2], 3, 0, 4)):
        x = torch.tensor([[row]], requires_grad=True)
        values, places = F.max_pool1d(x, kernel, 1, padding, 2, return_indices=True)
        assert places.tolist() == [[[wanted]]] and values.item() == row[wanted]
        values.sum().backward()
        assert x.grad.nonzero().tolist() == [[0, 0, wanted]]


def test_sizes_from_numpy(torch):
    import numpy as np

    x = torch.arange(36.0).view(1, 1, 6, 6)
    pool = torch.nn.functional.adaptive_avg_pool2d
    assert torch.equal(pool(x, np.array((2, 3))), pool(x, (2, 3)))
    assert torch.equal(pool(x, np.int64(2)), pool(x, 2))
