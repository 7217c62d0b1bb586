"""Padding, resizing, windows and bags are ops: by torch's names, with gradients, in any layout."""

import functools

import mindtorch_v2 as torch
import pytest

F = torch.nn.functional
aten = torch.ops.aten
NUMBERS = torch.arange(96, dtype=torch.float64)
NUMBERS = NUMBERS / 7 % 1 + NUMBERS / 512  # no two are the same
IMAGE = NUMBERS[:60].view(1, 3, 4, 5)
VOLUME = NUMBERS.view(1, 2, 3, 4, 4)
LINE = IMAGE[:, :, 0]
PLACES = torch.tensor([[[[0, 3], [8, 11]]]]).expand(1, 3, 2, 2)
DEEP_PLACES = torch.tensor([1, 6]).view(1, 1, 1, 2, 1).expand(1, 2, 1, 2, 1)
TABLE = torch.arange(12, dtype=torch.float64).view(4, 3) / 5 % 1


def samples(x, n):
    return torch.full((1, x.size(1), n), 0.4, dtype=x.dtype, device=x.device)


# By the op that runs: a call of a tensor.
CALLS = {
    "reflection_pad1d": (LINE, lambda x: F.pad(x, (2, 1), mode="reflect")),
    "reflection_pad2d": (IMAGE, lambda x: F.pad(x, (2, 1, 0, 3), mode="reflect")),
    "reflection_pad3d": (VOLUME, lambda x: F.pad(x, (2, 1, 0, 3, 1, -1), mode="reflect")),
    "replication_pad1d": (LINE, lambda x: F.pad(x, (2, 1), mode="replicate")),
    "replication_pad2d": (IMAGE, lambda x: F.pad(x, (2, -1, 0, 3), mode="replicate")),
    "replication_pad3d": (VOLUME, lambda x: F.pad(x, (2, 1, 0, 3, 1, 1), mode="replicate")),
    "_pad_circular": (IMAGE, lambda x: F.pad(x, (2, 1, 0, -1), mode="circular")),
    "upsample_nearest1d": (LINE, lambda x: F.interpolate(x, 7)),
    "upsample_nearest2d": (IMAGE, lambda x: F.interpolate(x, (7, 3))),
    "upsample_nearest3d": (VOLUME, lambda x: F.interpolate(x, scale_factor=1.7)),
    "_upsample_nearest_exact2d": (IMAGE, lambda x: F.interpolate(x, (7, 3), mode="nearest-exact")),
    "upsample_linear1d": (LINE, lambda x: F.interpolate(x, 7, mode="linear")),
    "upsample_bilinear2d": (IMAGE, lambda x: F.interpolate(x, (7, 3), mode="bilinear")),
    "upsample_bicubic2d": (IMAGE, lambda x: F.interpolate(x, (7, 3), mode="bicubic")),
    "upsample_trilinear3d": (VOLUME, lambda x: F.interpolate(x, 3, mode="trilinear")),
    "_upsample_bilinear2d_aa": (
        IMAGE,
        lambda x: F.interpolate(x, (3, 7), mode="bilinear", antialias=True),
    ),
    "_upsample_bicubic2d_aa": (
        IMAGE,
        lambda x: F.interpolate(x, (3, 7), mode="bicubic", antialias=True),
    ),
    "_upsample_lanczos2d_aa": (
        IMAGE,
        lambda x: F.interpolate(x, (3, 7), mode="lanczos", antialias=True),
    ),
    "im2col": (IMAGE, lambda x: F.unfold(x, (2, 3), (1, 2), (1, 0), (2, 1))),
    "col2im": (IMAGE[0, :, 0:4, 0:4].reshape(1, 12, 4), lambda x: F.fold(x, 3, 2)),
    "max_unpool2d": (IMAGE[:, :, :2, :2], lambda x: F.max_unpool2d(x, PLACES.to(x.device), 2)),
    "max_unpool3d": (
        VOLUME[:, :, :1, :2, :1],
        lambda x: F.max_unpool3d(x, DEEP_PLACES.to(x.device), 2),
    ),
    "fractional_max_pool2d": (
        IMAGE,
        lambda x: F.fractional_max_pool2d(x, 2, 2, _random_samples=samples(x, 2)),
    ),
    "fractional_max_pool3d": (
        VOLUME,
        lambda x: F.fractional_max_pool3d(x, 2, 2, _random_samples=samples(x, 3)),
    ),
    "rrelu": (LINE - 0.499, lambda x: torch.rrelu(x)),
}
IN_FLOAT32 = (
    "reflection_pad1d reflection_pad2d replication_pad1d replication_pad2d replication_pad3d "
    "max_unpool2d max_unpool3d fractional_max_pool2d fractional_max_pool3d"
).split()
# As torch's vmap: places of maxima of samples, random numbers.
NO_VMAP = {"rrelu"}


@pytest.mark.parametrize("name", CALLS)
def test_a_profile_names_it(name):
    start, call = CALLS[name]
    with torch.profiler.profile() as profile:
        call(start)
    assert f"aten::{name}" in {event.key for event in profile.key_averages()}
    assert hasattr(aten, name)


@pytest.mark.parametrize("name", CALLS)
def test_gradients_and_theirs(name):
    start, call = CALLS[name]
    x = start.clone().requires_grad_()
    assert torch.autograd.gradcheck(call, x)
    assert torch.autograd.gradgradcheck(call, x)


@pytest.mark.parametrize("name", IN_FLOAT32)
def test_autocast_computes_it_in_float32(name):
    start, call = CALLS[name]
    half = start.bfloat16()
    with torch.autocast("cpu"):
        assert call(half).dtype == torch.float32
    assert call(half).dtype == torch.bfloat16


@pytest.mark.parametrize("name", sorted(CALLS.keys() - NO_VMAP))
def test_samples_of_a_batch(name):
    start, call = CALLS[name]
    many = torch.stack([start, start * 2, start - 1])
    each = torch.stack([call(one) for one in many])
    torch.testing.assert_close(torch.func.vmap(call)(many), each)


@pytest.mark.parametrize("name", CALLS)
def test_meta_knows_the_shape(name):
    start, call = CALLS[name]
    wanted, given = call(start), call(start.to("meta"))
    assert given.is_meta
    assert given.shape == wanted.shape
    assert given.stride() == wanted.stride()


@pytest.mark.parametrize("name", CALLS)
def test_a_pipeline_gives_the_same(name):
    start, call = CALLS[name]
    with torch.pipeline():
        recorded = call(start)
    assert torch.equal(recorded, call(start))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("name", CALLS)
def test_other_floats(name, dtype):
    start, call = CALLS[name]
    near = dict.fromkeys(("rtol", "atol"), 1e-5 if dtype == torch.float32 else 2e-2)
    x = start.to(dtype).requires_grad_()
    result = call(x)
    assert result.dtype == dtype
    wide = start.to(dtype).double().requires_grad_()
    expected = call(wide)
    torch.testing.assert_close(result.double(), expected, check_dtype=False, **near)
    result.sum().backward()
    expected.sum().backward()
    torch.testing.assert_close(x.grad.double(), wide.grad, check_dtype=False, **near)


KEEPS_LAYOUT = [name for name in CALLS if CALLS[name][0].dim() > 3]
FORGETS_LAYOUT = {"_pad_circular", "im2col", "fractional_max_pool2d", "fractional_max_pool3d"}


@pytest.mark.parametrize("name", KEEPS_LAYOUT)
def test_channels_that_lie_side_by_side(name):
    start, call = CALLS[name]
    form = torch.channels_last if start.dim() == 4 else torch.channels_last_3d
    x = start.to(memory_format=form).requires_grad_()
    result = call(x)
    assert torch.equal(result, call(start))
    if name not in FORGETS_LAYOUT:
        assert result.is_contiguous(memory_format=form)
    grad = torch.arange(result.numel(), dtype=result.dtype).view(result.shape)
    result.backward(grad)
    plain = start.clone().requires_grad_()
    call(plain).backward(grad)
    torch.testing.assert_close(x.grad, plain.grad)


def test_complex_numbers_and_integers_have_borders():
    x = torch.complex(LINE, LINE + 1).requires_grad_()
    padded = F.pad(x, (2, 1), mode="reflect")
    assert torch.equal(padded.detach()[..., 2:-1], x.detach())
    padded.sum().abs().backward()
    assert x.grad.dtype == x.dtype
    whole = F.pad(torch.tensor([[1, 2, 3]]), (1, 2), mode="replicate")
    assert whole.tolist() == [[1, 1, 2, 3, 3, 3]]


def test_a_circle_of_what_is_left():
    x = torch.tensor([[0, 1, 2, 3]])
    assert F.pad(x, (-1, 2), mode="circular").tolist() == [[1, 2, 3, 1, 2]]
    assert F.pad(x, (2, -1), mode="circular").tolist() == [[1, 2, 0, 1, 2]]


def test_nothing_but_border_is_left():
    x = torch.tensor([[0.0, 1.0, 2.0]], requires_grad=True)
    border = F.pad(x, (3, -4), mode="replicate")
    assert border.tolist() == [[0, 0]]
    border.sum().backward()
    assert x.grad.tolist() == [[2, 0, 0]]
    assert F.pad(x, (2, -4), mode="reflect").tolist() == [[2]]


@pytest.mark.parametrize("kind", ["reflect", "replicate", "circular"])
def test_no_border_is_a_copy(kind):
    x = torch.rand(2, 3)
    same = F.pad(x, (0, 0), mode=kind)
    assert torch.equal(same, x) and same.data_ptr() != x.data_ptr()


@pytest.mark.parametrize("method", ["nearest", "bilinear"])
def test_the_same_size_is_a_copy(method):
    for x in (torch.rand(1, 2, 3, 4), torch.ones(1, 2, 3, 4, dtype=torch.uint8)):
        same = F.interpolate(x, (3, 4), mode=method)
        assert torch.equal(same, x) and same.data_ptr() != x.data_ptr()


def test_columns_of_large_images_add_up():
    x = torch.arange(2.0 * 3 * 33 * 41).view(2, 3, 33, 41)
    settings = {"kernel_size": (3, 2), "dilation": (2, 1), "padding": (1, 1), "stride": (2, 3)}
    columns = F.unfold(x, **settings)
    counts = F.fold(torch.ones_like(columns), (33, 41), **settings)
    assert torch.equal(F.fold(columns, (33, 41), **settings), x * counts)


def test_bags_tell_where_their_rows_are():
    places, offsets = torch.tensor([0, 1, 2]), torch.tensor([0, 0, 2])
    bags = functools.partial(torch.embedding_bag, TABLE, places, offsets)
    assert [x.tolist() for x in bags(mode=1)[1:]] == [[1, 1, 2], [0, 2, 1], [0, 2, 1]]
    assert [x.tolist() for x in bags()[1:]] == [[], [0, 0, 0], [0, 0, 0]]
    rows = bags(mode=2)
    best = TABLE[:2].argmax(0).tolist()
    assert rows[3].tolist() == [[0, 0, 0], best, [2, 2, 2]]


@pytest.mark.parametrize("kind", ["sum", "mean", "max"])
def test_gradients_of_bags(kind):
    places = torch.tensor([0, 3, 3, 1, 2])
    call = functools.partial(F.embedding_bag, places, offsets=torch.tensor([0, 2, 2]), mode=kind)
    x = TABLE.clone().requires_grad_()
    assert torch.autograd.gradcheck(call, x)
    assert torch.autograd.gradcheck(functools.partial(call, padding_idx=3), x)


def test_random_slopes_are_those_of_the_noise():
    x = torch.tensor([-2.0, 3.0, -1.0])
    noise = torch.zeros(3)
    result = aten.rrelu_with_noise(x, noise, 0.25, 0.5, True)
    assert noise[1] == 1
    assert ((noise[[0, 2]] >= 0.25) & (noise[[0, 2]] <= 0.5)).all()
    assert torch.equal(result, x * noise)
    torch.manual_seed(3)
    drawn = torch.rrelu(x, 0.25, 0.5, True)
    torch.manual_seed(3)
    assert torch.equal(F.rrelu_(x, 0.25, 0.5, True), drawn)
    assert torch.equal(x, drawn)


def test_windows_beyond_all_counting():
    image, columns = torch.ones(1, 1, 4, 4), torch.ones(1, 4, 9)
    for large in (2**32, 2**62):
        text = r"kernel_width and kernel_height overflowed|kernel size is too large"
        for call in (lambda size: F.unfold(image, size), lambda size: F.fold(columns, 4, size)):
            with pytest.raises(RuntimeError, match=text):
                call(large)
        for setting in ("dilation", "padding", "stride"):
            with pytest.raises(RuntimeError, match="too large"):
                F.unfold(image, 2, **{setting: large})
            with pytest.raises(RuntimeError, match="too large"):
                F.fold(columns, 4, 2, **{setting: large})
        with pytest.raises(RuntimeError, match="too large"):
            F.fold(columns, large, 2)
    with pytest.raises(RuntimeError, match="too many"):
        F.unfold(image, 2, padding=2**31)
    with pytest.raises(RuntimeError):  # as much memory as no machine has
        F.fold(torch.ones(1, 1, 4), 2**31, 1, stride=2**30)


# Torch's name for the node of a call; how many dims an image has is part of it.
NODES = {
    "ReflectionPad{n}DBackward0": (1, 2, 3, lambda x, n: F.pad(x, (1, 1) * n, "reflect")),
    "ReplicationPad{n}DBackward0": (1, 2, 3, lambda x, n: F.pad(x, (1, 1) * n, "replicate")),
    "UpsampleNearest{n}DBackward0": (1, 2, 3, lambda x, n: F.interpolate(x, scale_factor=2)),
    "UpsampleNearestExact{n}DBackward0": (
        *(1, 2, 3),
        lambda x, n: F.interpolate(x, scale_factor=2, mode="nearest-exact"),
    ),
    "UpsampleLinear1DBackward0": (1, lambda x, n: F.interpolate(x, 9, mode="linear")),
    "UpsampleBilinear2DBackward0": (2, lambda x, n: F.interpolate(x, (9, 9), mode="bilinear")),
    "UpsampleBicubic2DBackward0": (2, lambda x, n: F.interpolate(x, (9, 9), mode="bicubic")),
    "UpsampleTrilinear3DBackward0": (3, lambda x, n: F.interpolate(x, (9,) * 3, mode="trilinear")),
    "MaxUnpool{n}DBackward0": (
        *(2, 3),
        lambda x, n: getattr(F, f"max_unpool{n}d")(x, torch.zeros(x.shape, dtype=torch.int64), 2),
    ),
}


@pytest.mark.parametrize("name", NODES)
def test_the_node_of_a_call_has_torchs_name(name):
    *dims, call = NODES[name]
    for n in dims:
        x = torch.ones(1, 2, *(4,) * n, requires_grad=True)
        assert call(x, n).grad_fn.name() == name.format(n=n)
