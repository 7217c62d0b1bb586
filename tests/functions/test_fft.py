"""torch.fft, torch.stft, torch.istft: lengths, layouts, gradients, errors, meta, pipelines."""

import importlib

import mindtorch_v2 as torch
import numpy as np
import pytest
from mindtorch_v2 import fft

REAL = (torch.float32, torch.float64)
COMPLEX = (torch.complex64, torch.complex128)
NAMES = "fft ifft rfft irfft hfft ihfft".split()
# Lengths that are computed in other ways: by every radix, as matrices, with large primes.
LENGTHS = [*range(1, 70), 97, 101, 127, 128, 131, 225, 251, 256, 262, 343, 512, 625, 1000, 1009]
LENGTHS += [96, 112, 300, 336, 500, 560, 1024, 1155, 2000, 2042, 2048, 4096, 10007, 16384, 30030]
LENGTHS += [65536, 100003]


def make(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.uniform(-1, 1, size=shape)
    if dtype.is_complex:
        values = values + 1j * rng.uniform(-1, 1, size=shape)
    return torch.from_numpy(values).to(dtype)


def assert_close(found, wanted, factor=1):
    """By the largest of the wanted values, as errors of a transform are."""
    found = np.asarray(found)
    wanted = np.asarray(wanted)
    assert found.shape == wanted.shape
    near = factor * (1e-6 if found.dtype in (np.float32, np.complex64) else 1e-14)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=near * (1 + np.abs(wanted).max()))


def test_names():
    assert importlib.import_module("mindtorch_v2.fft") is torch.fft
    for name in NAMES:
        for suffix in ("", "2", "n"):
            assert callable(getattr(torch.fft, name + suffix))
    assert {"fftfreq", "rfftfreq", "fftshift", "ifftshift", "fft2"} <= set(fft.__all__)
    assert torch.fft.fft in torch.overrides.get_overridable_functions()[torch.fft]


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("dtype", ("complex64", "complex128"))
def test_lengths(length, dtype):
    dtype = getattr(torch, dtype)
    part = torch.float32 if dtype == torch.complex64 else torch.float64
    for batch in (1, 3, 17) if length < 5000 else (1, 2):
        z = make((batch, length), dtype, length)
        x = make((batch, length), part, length)
        spectrum = np.fft.fft(z.numpy().astype(np.complex128))
        half = np.fft.rfft(x.numpy().astype(np.float64))
        assert_close(torch.fft.fft(z), spectrum)
        assert_close(torch.fft.ifft(torch.from_numpy(spectrum).to(dtype)), z)
        assert_close(torch.fft.rfft(x), half)
        assert_close(torch.fft.fft(x), np.fft.fft(x.numpy().astype(np.float64)))
        assert_close(torch.fft.irfft(torch.from_numpy(half).to(dtype), length), x)


@pytest.mark.parametrize("dtype", COMPLEX)
@pytest.mark.parametrize(
    "layout",
    (
        lambda x: x,
        lambda x: x.transpose(0, 2),
        lambda x: x.permute(1, 2, 0),
        lambda x: x[:, ::2, 1:],
        lambda x: x[1:2].expand(20, -1, -1),
        lambda x: x.flip(1),
    ),
)
def test_layouts(dtype, layout):
    x = layout(make((20, 33, 18), dtype))
    values = x.numpy().astype(np.complex128)
    before = x.clone()
    for dim in (0, 1, 2):
        assert_close(torch.fft.fft(x, dim=dim), np.fft.fft(values, axis=dim))
        assert_close(torch.fft.rfft(x.real, dim=dim), np.fft.rfft(values.real, axis=dim))
        assert_close(torch.fft.irfft(x, dim=dim), np.fft.irfft(values, axis=dim))
    for dims in ((0, 1), (2, 0), (1, 2, 0)):
        assert_close(torch.fft.fftn(x, dim=dims), np.fft.fftn(values, axes=dims))
        assert_close(torch.fft.rfftn(x.real, dim=dims), np.fft.rfftn(values.real, axes=dims))
        assert_close(torch.fft.irfftn(x, dim=dims), np.fft.irfftn(values, axes=dims))
    assert torch.equal(x, before)


@pytest.mark.parametrize("dtype", COMPLEX)
def test_many_long_lines(dtype):
    z = make((20, 12000), dtype)
    values = z.numpy().astype(np.complex128)
    assert_close(torch.fft.fft(z), np.fft.fft(values))
    assert_close(torch.fft.rfft(z.real.contiguous()), np.fft.rfft(values.real))
    assert torch.equal(torch.fft.ifft(z, out=z.clone()), torch.fft.ifft(z))


def test_several_dims_of_symmetric_input():
    x = make((4, 3, 6), torch.float64)
    half = torch.fft.ihfftn(x)
    assert_close(torch.fft.hfftn(half, s=x.shape), x)
    assert_close(half, np.fft.ifftn(x.numpy())[..., :4])
    assert_close(torch.fft.ihfft2(x), np.fft.ifftn(x.numpy(), axes=(1, 2))[..., :4])
    assert_close(torch.fft.hfft2(torch.fft.ihfft2(x)), x)


def test_threads_give_the_same():
    x = make((70, 1000), torch.complex64)
    long = make((1 << 17,), torch.complex64)
    threads = torch.get_num_threads()
    found = []
    try:
        for count in (1, 4):
            torch.set_num_threads(count)
            parts = torch.fft.fft(x), torch.fft.fft2(x), torch.fft.rfft(x.real), torch.fft.fft(long)
            found.append(parts)
    finally:
        torch.set_num_threads(threads)
    assert all(torch.equal(a, b) for a, b in zip(*found, strict=True))


def test_dtypes():
    for dtype in (torch.int32, torch.uint8, torch.bool):
        assert torch.fft.fft(torch.ones(4, dtype=dtype)).dtype == torch.complex64
        assert torch.fft.irfft(torch.ones(4, dtype=dtype)).dtype == torch.float32
    assert torch.fft.rfft(torch.ones(4, dtype=torch.float64)).dtype == torch.complex128
    for dtype in (torch.float16, torch.bfloat16):
        for function in (torch.fft.fft, torch.fft.rfft, torch.fft.irfft, torch.fft.fftn):
            with pytest.raises(RuntimeError, match="Unsupported dtype"):
                function(torch.ones(4, dtype=dtype))


@pytest.mark.parametrize(
    "call, text",
    (
        (lambda x, z: torch.fft.rfft(z), "rfft expects a real input tensor, but got ComplexFloat"),
        (lambda x, z: torch.fft.ihfft(z), "ihfft expects a real input tensor"),
        (lambda x, z: torch.fft.rfftn(z), "rfftn expects a real-valued input tensor"),
        (lambda x, z: torch.fft.fft(x[:, :0]), r"Invalid number of data points \(0\) specified"),
        (lambda x, z: torch.fft.irfft(z[:, :1]), r"Invalid number of data points \(0\) specified"),
        (lambda x, z: torch.fft.rfftn(x, dim=()), "rfftn must transform at least one axis"),
        (lambda x, z: torch.fft.irfftn(z, dim=()), "irfftn must transform at least one axis"),
        (lambda x, z: torch.fft.fftn(x, s=(2, 2, 2)), "only has 2 dimensions"),
        (lambda x, z: torch.fft.fftfreq(4, dtype=torch.int32), "requires a floating point"),
    ),
)
def test_refusals(call, text):
    with pytest.raises(RuntimeError, match=text):
        call(torch.ones(4, 6), torch.ones(4, 6, dtype=torch.complex64))


def test_out():
    z = make((3, 8), torch.complex64)
    out = torch.empty(0, dtype=torch.complex64)
    assert torch.fft.fft(z, out=out) is out and torch.equal(out, torch.fft.fft(z))
    wide = torch.empty(3, 14, dtype=torch.float64)
    assert_close(torch.fft.irfft(z, out=wide), torch.fft.irfft(z), 1e9)
    assert torch.fft.fft(z, out=z) is z and torch.equal(z, out)
    with pytest.raises(RuntimeError):
        torch.fft.fft(z, out=torch.empty(3, 8))


def test_frequencies():
    for n in (0, 1, 4, 5):
        assert_close(torch.fft.fftfreq(n or 1, 0.5), np.fft.fftfreq(n or 1, 0.5))
        assert_close(torch.fft.rfftfreq(n or 1, 2), np.fft.rfftfreq(n or 1, 2))
    assert torch.fft.fftfreq(0).shape == (0,)
    assert torch.fft.fftfreq(4, dtype=torch.float64, requires_grad=True).requires_grad
    assert torch.fft.fftfreq(4, device="meta").device.type == "meta"
    out = torch.empty(4)
    assert torch.fft.fftfreq(4, out=out) is out and out.tolist() == [0, 0.25, -0.5, -0.25]


GRADIENTS = [
    (lambda x: torch.fft.fft(x, 5), torch.complex128),
    (lambda x: torch.fft.ifft(x, 3, 0), torch.complex128),
    (lambda x: torch.fft.fft(x, norm="ortho"), torch.float64),
    (lambda x: torch.fft.rfft(x), torch.float64),
    (lambda x: torch.fft.rfft(x, 5), torch.float64),
    (lambda x: torch.fft.irfft(x), torch.complex128),
    (lambda x: torch.fft.irfft(x, 5, norm="forward"), torch.complex128),
    (lambda x: torch.fft.hfft(x), torch.complex128),
    (lambda x: torch.fft.ihfft(x), torch.float64),
    (lambda x: torch.fft.fftn(x), torch.complex128),
    (lambda x: torch.fft.rfftn(x), torch.float64),
    (lambda x: torch.fft.irfft2(x), torch.complex128),
    (lambda x: torch.fft.hfftn(x), torch.complex128),
    (lambda x: torch.fft.fftshift(x), torch.complex128),
]


@pytest.mark.parametrize("call, dtype", GRADIENTS)
def test_gradients(call, dtype):
    x = make((3, 4), dtype).requires_grad_()
    assert torch.autograd.gradcheck(call, (x,))
    assert torch.autograd.gradgradcheck(call, (x,))


@pytest.mark.parametrize("call, dtype", GRADIENTS)
def test_samples_pipelines_and_meta(call, dtype):
    x = make((5, 3, 4), dtype)
    wanted = torch.stack([call(sample) for sample in x])
    assert_close(torch.func.vmap(call)(x), wanted)
    assert_close(torch.func.vmap(call, in_dims=2)(x.permute(1, 2, 0)), wanted)
    with torch.pipeline():
        recorded = call(x[0])
    assert torch.equal(recorded, call(x[0]))
    shown = call(x[0].to("meta"))
    assert (shown.shape, shown.stride(), shown.dtype) == (
        wanted[0].shape,
        call(x[0]).stride(),
        wanted.dtype,
    )


def test_one_threaded_names_of_nodes():
    x = make((4,), torch.float64).requires_grad_()
    assert torch.fft.rfft(x).grad_fn.name() == "FftR2CBackward0"
    assert torch.fft.fft(x + 0j).grad_fn.name() == "FftC2CBackward0"


# --- windows of signals ---


def windows(signal, n_fft, hop):
    count = 1 + (signal.shape[-1] - n_fft) // hop
    return np.stack([signal[..., i * hop : i * hop + n_fft] for i in range(count)], -1)


@pytest.mark.parametrize("n_fft, hop, length", ((8, 2, 8), (8, 3, 6), (7, 2, 5), (16, 16, 16)))
@pytest.mark.parametrize("dtype", (torch.float64, torch.complex128))
def test_stft(n_fft, hop, length, dtype):
    signal = make((2, 40), dtype)
    window = torch.hann_window(length, periodic=False, dtype=torch.float64) + 0.1
    left = (n_fft - length) // 2
    factors = np.zeros(n_fft)
    factors[left : left + length] = window.numpy()
    options = {"hop_length": hop, "win_length": length, "window": window, "return_complex": True}

    whole = np.fft.fft(windows(signal.numpy(), n_fft, hop) * factors[:, None], axis=1)
    wanted = whole if dtype.is_complex else whole[:, : n_fft // 2 + 1]
    found = torch.stft(signal, n_fft, center=False, **options)
    assert_close(found, wanted)
    assert_close(signal[0].stft(n_fft, center=False, **options), wanted[0])
    assert_close(torch.stft(signal, n_fft, center=False, onesided=False, **options), whole)
    scaled = torch.stft(signal, n_fft, center=False, normalized=True, **options)
    assert_close(scaled, wanted / np.sqrt(n_fft))
    reach = n_fft // 2
    for mode, name in (("reflect", "reflect"), ("constant", "constant"), ("replicate", "edge")):
        padded = np.pad(signal.numpy(), ((0, 0), (reach, reach)), name)
        whole = np.fft.fft(windows(padded, n_fft, hop) * factors[:, None], axis=1)
        wanted = whole if dtype.is_complex else whole[:, : n_fft // 2 + 1]
        assert_close(torch.stft(signal, n_fft, pad_mode=mode, **options), wanted)
    options["return_complex"] = False
    found = torch.stft(signal, n_fft, pad_mode="replicate", **options)
    assert_close(torch.view_as_complex(found.contiguous()), wanted)


@pytest.mark.parametrize("n_fft, hop, length", ((8, 2, 8), (8, 3, 6), (7, 2, 5), (16, 8, 16)))
@pytest.mark.parametrize("normalized", (False, True))
def test_istft(n_fft, hop, length, normalized):
    signal = make((2, 40), torch.float64)
    window = torch.hann_window(length, periodic=False, dtype=torch.float64) + 0.1
    options = {"hop_length": hop, "win_length": length, "window": window, "normalized": normalized}
    spectra = torch.stft(signal, n_fft, return_complex=True, **options)
    back = torch.istft(spectra, n_fft, **options)
    assert_close(back, signal[:, : back.shape[1]], 10)
    assert_close(torch.istft(spectra[0], n_fft, length=33, **options), signal[0, :33], 10)
    if length == n_fft:  # else no window reaches the end
        longer = torch.istft(spectra, n_fft, length=60, **options)
        assert longer.shape == (2, 60) and longer[:, 55:].abs().max() == 0
    both = torch.stft(signal, n_fft, onesided=False, return_complex=True, **options)
    assert_close(both.istft(n_fft, **options), back, 10)
    z = make((2, 40), torch.complex128)
    spectra = torch.stft(z, n_fft, **options)
    back = torch.istft(spectra, n_fft, return_complex=True, **options)
    assert_close(back, z[:, : back.shape[1]], 10)


def test_align_to_window():
    signal = make((20,), torch.float64)
    window = torch.ones(4, dtype=torch.float64)
    options = {"hop_length": 2, "win_length": 4, "window": window, "return_complex": True}
    found = torch.stft(signal, 8, center=False, align_to_window=True, **options)
    padded = np.pad(signal.numpy(), 2)
    factors = np.pad(np.ones(4), 2)
    assert_close(found, np.fft.rfft(windows(padded, 8, 2) * factors[:, None], axis=0))
    with pytest.raises(RuntimeError, match="should only be set when center = false"):
        torch.stft(signal, 8, align_to_window=True, **options)


def test_gradients_of_stft():
    signal = make((12,), torch.float64).requires_grad_()
    window = (torch.hann_window(4, dtype=torch.float64) + 0.5).requires_grad_()

    def spectra(x, w):
        return torch.stft(x, 4, 2, window=w, return_complex=True)

    assert torch.autograd.gradcheck(spectra, (signal, window))
    z = spectra(signal, window).detach().requires_grad_()
    assert torch.autograd.gradcheck(lambda z, w: torch.istft(z, 4, 2, window=w), (z, window))
    with torch.pipeline():
        recorded = spectra(signal, window)
        back = torch.istft(recorded, 4, 2, window=window)
    assert_close(back.detach(), signal.detach(), 10)


@pytest.mark.parametrize(
    "call, text",
    (
        (lambda x, z, w: torch.stft(x, 8), "requires the return_complex parameter"),
        (lambda x, z, w: torch.stft(x, 40, return_complex=True), "Padding size should be less"),
        (
            lambda x, z, w: torch.stft(x, 17, window=None, center=False, return_complex=True),
            r"stft\(torch.FloatTensor\[2, 16\], n_fft=17, hop_length=4, win_length=17, "
            r"window=None, normalized=0, onesided=None, return_complex=1, align_to_window=None\) : "
            r"expected 0 < n_fft < 16, but got n_fft=17",
        ),
        (lambda x, z, w: torch.stft(x, 8, 0, window=w, return_complex=True), "hop_length > 0"),
        (lambda x, z, w: torch.stft(x, 8, window=w[1:], return_complex=True), "a 1D window tensor"),
        (lambda x, z, w: torch.stft(x + 0j, 8, window=w, onesided=True), "Cannot have onesided"),
        (lambda x, z, w: torch.stft(x[None], 8, window=w, return_complex=True), "a 1D or 2D"),
        (lambda x, z, w: torch.istft(x, 8, window=w), "istft requires a complex-valued input"),
        (
            lambda x, z, w: torch.istft(z, 10),
            r"to match n_fft / 2 \+ 1 when onesided=True, but got",
        ),
        (lambda x, z, w: torch.istft(z, 8, 9, window=w), "expected 0 < hop_length <= win_length"),
        (lambda x, z, w: torch.istft(z[:0], 8, window=w), "input tensor cannot be empty"),
        (
            lambda x, z, w: torch.istft(z, 8, window=torch.hann_window(8), center=False),
            "window overlap add min: 1",
        ),
    ),
)
def test_refusals_of_stft(call, text):
    x, window = torch.ones(2, 16), torch.ones(8)
    spectra = torch.stft(x, 8, window=window, return_complex=True)
    with pytest.raises(RuntimeError, match=text):
        call(x, spectra, window)


@pytest.mark.parametrize("dtype", COMPLEX)
@pytest.mark.parametrize("length", (*range(2, 36), 64, 255, 300, 301))
def test_lines_that_lie_apart(length, dtype):
    """Several are transformed at once: none may see another, or what lies between them."""
    whole = make((53, length + 3), dtype, length)
    whole[:, length:] = float("nan")
    whole[7] = float("inf")
    x = whole[:, :length]
    rows = [i for i in range(53) if i != 7]
    wanted = np.fft.fft(x.numpy()[rows].astype(np.complex128))
    found = torch.fft.fft(x)
    assert_close(found[rows], wanted)
    assert not torch.isfinite(torch.view_as_real(found[7])).all()
    assert_close(torch.fft.ifft(found[rows]), x[rows])
    real = x.real.contiguous()
    assert_close(torch.fft.rfft(real)[rows], np.fft.rfft(real.numpy()[rows].astype(np.float64)))
    back = torch.fft.irfft(torch.fft.rfft(real), length)
    assert_close(back[rows], real[rows])
    # A result that has to be written between other elements.
    out = torch.zeros(53, length + 5, dtype=dtype)
    torch.fft.fft(x, out=out[:, :length])
    assert_close(out[rows, :length], wanted)
    assert not out[:, length:].any()


@pytest.mark.parametrize("dtype", COMPLEX)
@pytest.mark.parametrize("length", (2, 5, 6, 8, 16, 31, 32, 40))
def test_irfft_ignores_what_real_lines_do_not_have(length, dtype):
    half = make((20, length // 2 + 1), dtype)
    wanted = torch.fft.irfft(half, length)
    half.imag[:, 0] = float("inf")
    if length % 2 == 0:
        half.imag[:, -1] = float("nan")
    assert_close(torch.fft.irfft(half, length), wanted)
