"""Images in another size, against matrices that do the same along each dimension."""

import functools

import mindtorch_v2 as torch
import numpy as np
import pytest
from mindtorch_v2.nn import functional as F

MODES = {
    1: ("linear", "nearest", "nearest-exact"),
    2: ("bilinear", "bicubic", "nearest", "nearest-exact"),
    3: ("trilinear", "nearest", "nearest-exact"),
}
SIZES = {1: [(9,), (17,), (5,)], 2: [(9, 5), (4, 17), (1, 40)], 3: [(3, 9, 5), (7, 2, 33)]}
CLOSE = {"float64": 1e-12, "float32": 1e-5, "float16": 4e-3, "bfloat16": 3e-2}


def cubic(x):
    x = abs(x)
    if x < 1:
        return (1.25 * x - 2.25) * x * x + 1
    return ((-0.75 * x + 3.75) * x - 6) * x + 3


def matrix(mode, source, wanted, corners):
    """[wanted, source]: how much of each element there is in each of the result."""
    result = np.zeros((wanted, source))
    for i in range(wanted):
        if corners:
            at = i * (source - 1) / (wanted - 1) if wanted > 1 else 0.0
        else:
            at = (i + 0.5) * source / wanted - 0.5
        if mode == "nearest":
            taps = [(i * source // wanted, 1.0)]
        elif mode == "nearest-exact":
            taps = [((2 * i + 1) * source // (2 * wanted), 1.0)]
        elif mode == "bicubic":
            taps = [(int(np.floor(at)) + k, cubic(at - np.floor(at) - k)) for k in (-1, 0, 1, 2)]
        else:
            at = max(at, 0.0)
            below = int(np.floor(at))
            taps = [(below, 1 - (at - below)), (below + 1, at - below)]
        for place, weight in taps:
            result[i, min(max(place, 0), source - 1)] += weight
    return result


def along_each(values, matrices):
    for dim, weights in enumerate(matrices, 2):
        values = np.moveaxis(np.tensordot(weights, values, (1, dim)), 0, dim)
    return values


@pytest.mark.parametrize("dtype", CLOSE)
@pytest.mark.parametrize("dims", MODES)
def test_values_and_gradients(dims, dtype):
    rng = np.random.default_rng(0)
    for mode in MODES[dims]:
        for source in SIZES[dims]:
            for wanted in ((6, 7, 3)[:dims], tuple(2 * n for n in source), (1, 20, 11)[-dims:]):
                for corners in (None,) if mode.startswith("nearest") else (False, True):
                    x = torch.tensor(rng.standard_normal((2, 3, *source))).to(getattr(torch, dtype))
                    x.requires_grad_()
                    result = F.interpolate(x, wanted, mode=mode, align_corners=corners)
                    matrices = [
                        matrix(mode, a, b, corners) for a, b in zip(source, wanted, strict=True)
                    ]
                    expected = along_each(x.detach().double().cpu().numpy(), matrices)
                    near = {"rtol": CLOSE[dtype], "atol": 2 * CLOSE[dtype]}
                    np.testing.assert_allclose(
                        result.detach().double().cpu().numpy(), expected, **near
                    )
                    assert result.dtype == x.dtype
                    grad = rng.integers(-2, 3, result.shape).astype(np.float64)
                    result.backward(torch.tensor(grad).to(x.dtype))
                    expected = along_each(grad, [m.T for m in matrices])
                    near["atol"] *= 8
                    np.testing.assert_allclose(x.grad.double().cpu().numpy(), expected, **near)


@pytest.mark.parametrize("method", ["bilinear", "bicubic", "nearest"])
def test_second_derivatives_and_samples(method):
    x = torch.rand(2, 2, 3, 4, dtype=torch.float64, requires_grad=True)
    resize = functools.partial(F.interpolate, size=(5, 3), mode=method)
    assert torch.autograd.gradcheck(resize, (x,))
    assert torch.autograd.gradgradcheck(resize, (x,))
    many = torch.rand(3, 2, 2, 3, 4)
    each = torch.stack([resize(one) for one in many])
    torch.testing.assert_close(torch.func.vmap(resize)(many), each)


def test_layout_scales_and_integers():
    x = torch.rand(2, 3, 5, 6).to(memory_format=torch.channels_last)
    for mode in ("nearest", "bilinear"):
        wide = F.interpolate(x, scale_factor=2, mode=mode)
        assert wide.is_contiguous(memory_format=torch.channels_last)
        torch.testing.assert_close(wide, F.interpolate(x.contiguous(), scale_factor=2, mode=mode))
    cube = torch.rand(2, 3, 2, 3, 4).to(memory_format=torch.channels_last_3d)
    for mode in ("nearest", "trilinear"):
        wide = F.interpolate(cube, scale_factor=2, mode=mode)
        assert wide.is_contiguous(memory_format=torch.channels_last_3d)
    # The scale decides where elements are, not the sizes: 5 * 1.7 is 8.5.
    line = torch.arange(5.0).view(1, 1, 5)
    given = F.interpolate(line, scale_factor=1.7, mode="linear")
    sized = F.interpolate(line, 8, mode="linear")
    assert given.shape == sized.shape
    assert not torch.equal(given, sized)
    places = torch.arange(4, dtype=torch.uint8).view(1, 1, 2, 2)
    expected = [[0, 0, 1, 1], [0, 0, 1, 1], [2, 2, 3, 3], [2, 2, 3, 3]]
    assert F.interpolate(places, scale_factor=2)[0, 0].tolist() == expected


def test_infinities_stay_where_they_are():
    line = torch.tensor([[[float("inf"), 1.0, 1.0, 1.0]]])
    same = F.interpolate(line, 4, mode="linear")
    assert same.tolist() == line.tolist()
    x = torch.rand(1, 1, 4, requires_grad=True)
    grad = torch.tensor([[[float("inf"), 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]]])
    F.interpolate(x, 8, mode="linear").backward(grad)
    assert x.grad[0, 0, 0] == float("inf")
    assert torch.isfinite(x.grad[0, 0, 1:]).all()


def test_threads_change_nothing():
    x = torch.rand(1, 3, 61, 67)
    before = torch.get_num_threads()
    results = []
    try:
        for threads in (1, 4):
            torch.set_num_threads(threads)
            own = x.clone().requires_grad_()
            large = F.interpolate(own, scale_factor=3, mode="bilinear")
            large.backward(torch.ones_like(large))
            results.append((large.detach(), own.grad))
    finally:
        torch.set_num_threads(before)
    for one, four in zip(*results, strict=True):
        assert torch.equal(one, four)


def filtered(mode, source, wanted):
    """The weights of antialias=True: a filter as wide as what an element of the result covers."""
    reach, function = {
        "bilinear": (1, lambda x: max(1 - abs(x), 0.0)),
        "bicubic": (2, lambda x: cubic_half(abs(x))),
    }[mode]
    stretch = max(source / wanted, 1.0)
    result = np.zeros((wanted, source))
    for i in range(wanted):
        center = (i + 0.5) * source / wanted
        first = max(int(center - reach * stretch + 0.5), 0)
        for place in range(first, min(int(center + reach * stretch + 0.5), source)):
            result[i, place] = function((place - center + 0.5) / stretch)
    return result / result.sum(1, keepdims=True)


def cubic_half(x):
    if x < 1:
        return (1.5 * x - 2.5) * x * x + 1
    return ((-0.5 * x + 2.5) * x - 4) * x + 2 if x < 2 else 0.0


def in_whole_numbers(image, weights):
    """Along the width, then along the height, by weights of 16 bits, rounded to bytes each time."""
    for dim in (3, 2):
        matrix_ = weights[dim - 2]
        bits = 0
        while int(0.5 + matrix_.max() * 2 ** (bits + 1)) < 2**15:
            bits += 1
        whole = np.trunc(matrix_ * 2**bits + np.where(matrix_ < 0, -0.5, 0.5)).astype(np.int64)
        sums = np.moveaxis(np.tensordot(whole, image.astype(np.int64), (1, dim)), 0, dim)
        image = np.clip((sums + 2 ** (bits - 1)) >> bits, 0, 255)
    return image.astype(np.uint8)


@pytest.mark.parametrize("antialias", [True, False])
@pytest.mark.parametrize("method", ["bilinear", "bicubic"])
def test_bytes(method, antialias):
    rng = np.random.default_rng(1)
    for source, wanted in [((8, 9), (7, 10)), ((30, 5), (4, 21)), ((6, 6), (6, 3))]:
        image = rng.integers(0, 256, (2, 3, *source), dtype=np.uint8)
        make = filtered if antialias else functools.partial(matrix, corners=False)
        weights = [make(method, s, w) for s, w in zip(source, wanted, strict=True)]
        expected = in_whole_numbers(image, weights)
        for form in (torch.contiguous_format, torch.channels_last):
            x = torch.from_numpy(image).contiguous(memory_format=form)
            y = F.interpolate(x, size=wanted, mode=method, antialias=antialias)
            assert y.dtype == torch.uint8 and y.is_contiguous(memory_format=form)
            np.testing.assert_array_equal(y.cpu().numpy(), expected)


@pytest.mark.parametrize("dtype", [torch.int8, torch.int32, torch.int64, torch.bool])
def test_whole_numbers_have_nothing_in_between(dtype):
    for mode in ("bilinear", "bicubic"):
        for antialias in (True, False):
            with pytest.raises(NotImplementedError, match="not implemented for"):
                x = torch.ones(1, 1, 3, 3).to(dtype)
                F.interpolate(x, size=(2, 2), mode=mode, antialias=antialias)
    with pytest.raises(NotImplementedError, match="compute_indices_weights_linear.*'Byte'"):
        F.interpolate(torch.ones(1, 1, 3, dtype=torch.uint8), size=2, mode="linear")
