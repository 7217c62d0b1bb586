"""repr() of tensors, against texts that torch 2.13 printed."""

import random

import mindtorch_v2 as torch
import pytest
from mindtorch_v2 import _tensor_str

nan, inf = float("nan"), float("inf")

GOLDEN = [
    (lambda: torch.tensor(1.0), "tensor(1.)"),
    (lambda: torch.tensor(1 / 3), "tensor(0.3333)"),
    (lambda: torch.tensor(7), "tensor(7)"),
    (lambda: torch.tensor(True), "tensor(True)"),
    (lambda: torch.tensor(1e-5), "tensor(1.0000e-05)"),
    (lambda: torch.tensor(-0.0), "tensor(-0.)"),
    (lambda: torch.tensor(nan), "tensor(nan)"),
    (lambda: torch.tensor(2.5, dtype=torch.float16), "tensor(2.5000, dtype=torch.float16)"),
    (lambda: torch.tensor([1.0, 2.0, 3.0]), "tensor([1., 2., 3.])"),
    (lambda: torch.tensor([1.0, 2.5, -3.0]), "tensor([ 1.0000,  2.5000, -3.0000])"),
    (lambda: torch.tensor([0.0, 0.0]), "tensor([0., 0.])"),
    (lambda: torch.tensor([1.0, -10.0, 100.0]), "tensor([  1., -10., 100.])"),
    (lambda: torch.tensor([0.1, 200.0]), "tensor([1.0000e-01, 2.0000e+02])"),
    (lambda: torch.tensor([1.0, 1001.0]), "tensor([1.0000e+00, 1.0010e+03])"),
    (lambda: torch.tensor([1e9, 1e9]), "tensor([1.0000e+09, 1.0000e+09])"),
    (lambda: torch.tensor([0.00001, 0.5]), "tensor([1.0000e-05, 5.0000e-01])"),
    (lambda: torch.tensor([nan, inf, -inf, 0.0]), "tensor([nan, inf, -inf, 0.])"),
    (lambda: torch.tensor([nan, 1.5, -inf]), "tensor([   nan, 1.5000,   -inf])"),
    (lambda: torch.tensor([1.0, nan]), "tensor([1., nan])"),
    (lambda: torch.tensor([1e-4, 0.05]), "tensor([1.0000e-04, 5.0000e-02])"),
    (lambda: torch.tensor([123456.0, 123457.5]), "tensor([123456.0000, 123457.5000])"),
    (lambda: torch.tensor([1, -20, 300]), "tensor([  1, -20, 300])"),
    (lambda: torch.tensor([True, False]), "tensor([ True, False])"),
    (lambda: torch.tensor([1, 2], dtype=torch.int32), "tensor([1, 2], dtype=torch.int32)"),
    (lambda: torch.tensor([0, 255], dtype=torch.uint8), "tensor([  0, 255], dtype=torch.uint8)"),
    (lambda: torch.tensor([-128, 127], dtype=torch.int8), "tensor([-128,  127], dtype=torch.int8)"),
    (lambda: torch.tensor([-5, 5], dtype=torch.int16), "tensor([-5,  5], dtype=torch.int16)"),
    (
        lambda: torch.tensor([-(2**63), 2**63 - 1]),
        "tensor([-9223372036854775808,  9223372036854775807])",
    ),
    (
        lambda: torch.tensor([0.1, 0.2], dtype=torch.bfloat16),
        "tensor([0.1001, 0.2002], dtype=torch.bfloat16)",
    ),
    (
        lambda: torch.tensor([0.1, 65504.0], dtype=torch.float16),
        "tensor([9.9976e-02, 6.5504e+04], dtype=torch.float16)",
    ),
    (
        lambda: torch.tensor([0.1, 0.2], dtype=torch.float64),
        "tensor([0.1000, 0.2000], dtype=torch.float64)",
    ),
    (lambda: torch.tensor([]), "tensor([])"),
    (lambda: torch.tensor([], dtype=torch.int64), "tensor([], dtype=torch.int64)"),
    (lambda: torch.empty(0, 3), "tensor([], size=(0, 3))"),
    (lambda: torch.empty(2, 0, dtype=torch.bool), "tensor([], size=(2, 0), dtype=torch.bool)"),
    (
        lambda: torch.tensor([[1.0, 2.0], [3.0, 4.5]]),
        """\
tensor([[1.0000, 2.0000],
        [3.0000, 4.5000]])""",
    ),
    (
        lambda: torch.arange(8).reshape(2, 2, 2),
        """\
tensor([[[0, 1],
         [2, 3]],

        [[4, 5],
         [6, 7]]])""",
    ),
    (
        lambda: torch.arange(4).reshape(1, 2, 1, 2),
        """\
tensor([[[[0, 1]],

         [[2, 3]]]])""",
    ),
    (
        lambda: torch.arange(30),
        """\
tensor([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16, 17,
        18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29])""",
    ),
    (
        lambda: torch.arange(25) / 3,
        """\
tensor([0.0000, 0.3333, 0.6667, 1.0000, 1.3333, 1.6667, 2.0000, 2.3333, 2.6667,
        3.0000, 3.3333, 3.6667, 4.0000, 4.3333, 4.6667, 5.0000, 5.3333, 5.6667,
        6.0000, 6.3333, 6.6667, 7.0000, 7.3333, 7.6667, 8.0000])""",
    ),
    (lambda: torch.arange(1001), "tensor([   0,    1,    2,  ...,  998,  999, 1000])"),
    (
        lambda: torch.arange(1000.0 * 12).reshape(1000, 12),
        """\
tensor([[0.0000e+00, 1.0000e+00, 2.0000e+00,  ..., 9.0000e+00, 1.0000e+01,
         1.1000e+01],
        [1.2000e+01, 1.3000e+01, 1.4000e+01,  ..., 2.1000e+01, 2.2000e+01,
         2.3000e+01],
        [2.4000e+01, 2.5000e+01, 2.6000e+01,  ..., 3.3000e+01, 3.4000e+01,
         3.5000e+01],
        ...,
        [1.1964e+04, 1.1965e+04, 1.1966e+04,  ..., 1.1973e+04, 1.1974e+04,
         1.1975e+04],
        [1.1976e+04, 1.1977e+04, 1.1978e+04,  ..., 1.1985e+04, 1.1986e+04,
         1.1987e+04],
        [1.1988e+04, 1.1989e+04, 1.1990e+04,  ..., 1.1997e+04, 1.1998e+04,
         1.1999e+04]])""",
    ),
    (
        lambda: torch.arange(5000).reshape(10, 50, 10),
        """\
tensor([[[   0,    1,    2,  ...,    7,    8,    9],
         [  10,   11,   12,  ...,   17,   18,   19],
         [  20,   21,   22,  ...,   27,   28,   29],
         ...,
         [ 470,  471,  472,  ...,  477,  478,  479],
         [ 480,  481,  482,  ...,  487,  488,  489],
         [ 490,  491,  492,  ...,  497,  498,  499]],

        [[ 500,  501,  502,  ...,  507,  508,  509],
         [ 510,  511,  512,  ...,  517,  518,  519],
         [ 520,  521,  522,  ...,  527,  528,  529],
         ...,
         [ 970,  971,  972,  ...,  977,  978,  979],
         [ 980,  981,  982,  ...,  987,  988,  989],
         [ 990,  991,  992,  ...,  997,  998,  999]],

        [[1000, 1001, 1002,  ..., 1007, 1008, 1009],
         [1010, 1011, 1012,  ..., 1017, 1018, 1019],
         [1020, 1021, 1022,  ..., 1027, 1028, 1029],
         ...,
         [1470, 1471, 1472,  ..., 1477, 1478, 1479],
         [1480, 1481, 1482,  ..., 1487, 1488, 1489],
         [1490, 1491, 1492,  ..., 1497, 1498, 1499]],

        ...,

        [[3500, 3501, 3502,  ..., 3507, 3508, 3509],
         [3510, 3511, 3512,  ..., 3517, 3518, 3519],
         [3520, 3521, 3522,  ..., 3527, 3528, 3529],
         ...,
         [3970, 3971, 3972,  ..., 3977, 3978, 3979],
         [3980, 3981, 3982,  ..., 3987, 3988, 3989],
         [3990, 3991, 3992,  ..., 3997, 3998, 3999]],

        [[4000, 4001, 4002,  ..., 4007, 4008, 4009],
         [4010, 4011, 4012,  ..., 4017, 4018, 4019],
         [4020, 4021, 4022,  ..., 4027, 4028, 4029],
         ...,
         [4470, 4471, 4472,  ..., 4477, 4478, 4479],
         [4480, 4481, 4482,  ..., 4487, 4488, 4489],
         [4490, 4491, 4492,  ..., 4497, 4498, 4499]],

        [[4500, 4501, 4502,  ..., 4507, 4508, 4509],
         [4510, 4511, 4512,  ..., 4517, 4518, 4519],
         [4520, 4521, 4522,  ..., 4527, 4528, 4529],
         ...,
         [4970, 4971, 4972,  ..., 4977, 4978, 4979],
         [4980, 4981, 4982,  ..., 4987, 4988, 4989],
         [4990, 4991, 4992,  ..., 4997, 4998, 4999]]])""",
    ),
    (
        lambda: torch.arange(12 * 200).reshape(12, 200).t(),
        """\
tensor([[   0,  200,  400,  ..., 1800, 2000, 2200],
        [   1,  201,  401,  ..., 1801, 2001, 2201],
        [   2,  202,  402,  ..., 1802, 2002, 2202],
        ...,
        [ 197,  397,  597,  ..., 1997, 2197, 2397],
        [ 198,  398,  598,  ..., 1998, 2198, 2398],
        [ 199,  399,  599,  ..., 1999, 2199, 2399]])""",
    ),
    (
        lambda: torch.zeros(2000, dtype=torch.float64),
        "tensor([0., 0., 0.,  ..., 0., 0., 0.], dtype=torch.float64)",
    ),
    (
        lambda: torch.ones(3).expand(1000, 3),
        """\
tensor([[1., 1., 1.],
        [1., 1., 1.],
        [1., 1., 1.],
        ...,
        [1., 1., 1.],
        [1., 1., 1.],
        [1., 1., 1.]])""",
    ),
    (
        lambda: torch.arange(16, dtype=torch.float64),
        """\
tensor([ 0.,  1.,  2.,  3.,  4.,  5.,  6.,  7.,  8.,  9., 10., 11., 12., 13.,
        14., 15.], dtype=torch.float64)""",
    ),
    (lambda: torch.empty(2, 3, device="meta"), "tensor(..., device='meta', size=(2, 3))"),
    (
        lambda: torch.empty(2, dtype=torch.int64, device="meta"),
        "tensor(..., device='meta', size=(2,), dtype=torch.int64)",
    ),
]

GOLDEN_WITH_OPTIONS = [
    (dict(precision=2), lambda: torch.tensor([1.0, 2.5]), "tensor([1.00, 2.50])"),
    (dict(sci_mode=True), lambda: torch.tensor([1.0, 2.5]), "tensor([1.0000e+00, 2.5000e+00])"),
    (dict(sci_mode=False), lambda: torch.tensor([1e-6, 2.5]), "tensor([0.0000, 2.5000])"),
    (dict(sci_mode=True), lambda: torch.tensor([0.0, 1.0]), "tensor([0.0000e+00, 1.0000e+00])"),
    (
        dict(linewidth=30),
        lambda: torch.arange(20),
        """\
tensor([ 0,  1,  2,  3,  4,
         5,  6,  7,  8,  9,
        10, 11, 12, 13, 14,
        15, 16, 17, 18, 19])""",
    ),
    (dict(threshold=10), lambda: torch.arange(20), "tensor([ 0,  1,  2,  ..., 17, 18, 19])"),
    (dict(threshold=10, edgeitems=1), lambda: torch.arange(20), "tensor([ 0,  ..., 19])"),
    (
        dict(threshold=10, edgeitems=2),
        lambda: torch.arange(100).reshape(10, 10),
        """\
tensor([[ 0,  1,  ...,  8,  9],
        [10, 11,  ..., 18, 19],
        ...,
        [80, 81,  ..., 88, 89],
        [90, 91,  ..., 98, 99]])""",
    ),
    (dict(threshold=10, edgeitems=0), lambda: torch.arange(20), "tensor([...], size=(20,))"),
    (
        dict(threshold=50, profile="short"),
        lambda: torch.arange(100).reshape(10, 10) / 7,
        """\
tensor([[ 0.00,  0.14,  ...,  1.14,  1.29],
        [ 1.43,  1.57,  ...,  2.57,  2.71],
        ...,
        [11.43, 11.57,  ..., 12.57, 12.71],
        [12.86, 13.00,  ..., 14.00, 14.14]])""",
    ),
]


@pytest.fixture(autouse=True)
def default_options():
    torch.set_printoptions(profile="default")
    yield
    torch.set_printoptions(profile="default")


@pytest.mark.parametrize(("make", "text"), GOLDEN, ids=[text for _, text in GOLDEN])
def test_repr(make, text):
    assert repr(make()) == text


@pytest.mark.parametrize(("options", "make", "text"), GOLDEN_WITH_OPTIONS)
def test_repr_with_options(options, make, text):
    torch.set_printoptions(**options)
    assert repr(make()) == text


def test_str_is_repr():
    assert str(torch.tensor([1.0, 2.0])) == "tensor([1., 2.])"


def test_default_dtype_is_not_named(default_dtype):
    default_dtype(torch.float64)
    assert repr(torch.tensor([0.5])) == "tensor([0.5000])"
    assert repr(torch.ones(1, dtype=torch.float32)) == "tensor([1.], dtype=torch.float32)"
    assert repr(torch.empty(0, dtype=torch.float32)) == "tensor([], dtype=torch.float32)"


def test_dtype_wraps_where_torch_wraps_it():
    zeros = ", ".join("0" * 17)
    assert repr(torch.zeros(17, dtype=torch.int32)) == f"tensor([{zeros}], dtype=torch.int32)"
    zeros = ", ".join("0" * 18)
    assert repr(torch.zeros(18, dtype=torch.int32)) == (
        f"tensor([{zeros}],\n       dtype=torch.int32)"
    )


def test_summary_reads_the_corners_only():
    class Recorder:
        """Forwards to a tensor and notes how many elements tolist() was asked for."""

        def __init__(self, tensor, seen):
            self._tensor, self._seen = tensor, seen

        def __getattr__(self, name):
            return getattr(self._tensor, name)

        def as_strided(self, *args):
            return Recorder(self._tensor.as_strided(*args), self._seen)

        def tolist(self):
            self._seen.append(self._tensor.numel())
            return self._tensor.tolist()

    seen = []
    text = _tensor_str._values_text(Recorder(torch.zeros(100, 100), seen), 7)
    assert seen == [36]
    assert text.count("0.") == 36


def test_printoptions_values():
    assert _tensor_str.get_printoptions() == {
        "precision": 4,
        "threshold": 1000,
        "edgeitems": 3,
        "linewidth": 80,
        "sci_mode": None,
    }
    torch.set_printoptions(profile="full")
    assert _tensor_str.get_printoptions()["threshold"] == inf
    torch.set_printoptions(profile="short", precision=7)
    options = _tensor_str.get_printoptions()
    assert (options["precision"], options["edgeitems"]) == (7, 2)


def test_printoptions_block():
    with _tensor_str.printoptions(precision=1):
        assert repr(torch.tensor([0.25])) == "tensor([0.2])"
    assert repr(torch.tensor([0.25])) == "tensor([0.2500])"


DTYPES = "float16 bfloat16 float32 float64 uint8 int8 int16 int32 int64 bool".split()
SHAPES = [(), (1,), (7,), (0,), (0, 2), (3, 5), (2, 3, 4), (40,), (1200,), (30, 50), (2, 9, 70)]


def random_tensor(oracle, generator, dtype, shape):
    size = 1
    for n in shape:
        size *= n
    if dtype == "bool":
        values = [generator.random() < 0.5 for _ in range(size)]
    elif "float" not in dtype:
        largest = generator.choice([3, 100])
        values = [generator.randint(0, largest) for _ in range(size)]
    else:
        scale = 10.0 ** generator.randint(-6, 4)
        style = generator.choice(["any", "whole", "odd"])
        values = [generator.uniform(-1, 1) * scale for _ in range(size)]
        if style == "whole":
            values = [float(round(v)) for v in values]
        if style == "odd":
            odd = [nan, inf, -inf, 0.0, -0.0, 1.0]
            values = [generator.choice([v, *odd]) for v in values]
    return oracle.tensor(values, dtype=getattr(oracle, dtype)).reshape(shape)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_repr_equals_torch(torch_gives, dtype, shape):
    def texts(library):
        generator = random.Random(f"{dtype}{shape}")
        return [repr(random_tensor(library, generator, dtype, shape)) for _ in range(5)]

    assert texts(torch) == torch_gives(texts)
