"""Random numbers: torch's own for the same seed, generators and their state, distributions."""

import math
import pickle

import pytest

# (function, arguments, options, seed, torch's numbers). Uniform numbers and integers are exact.
EXACT = [
    (
        "rand",
        ((8,),),
        {},
        0,
        [
            0.49625658988952637,
            0.7682217955589294,
            0.08847743272781372,
            0.13203048706054688,
            0.30742281675338745,
            0.6340786814689636,
            0.4900934100151062,
            0.8964447379112244,
        ],
    ),
    (
        "rand",
        ((8,),),
        {},
        1234,
        [
            0.028979241847991943,
            0.4018985629081726,
            0.25984418392181396,
            0.3666413426399231,
            0.05830073356628418,
            0.7006447315216064,
            0.05179738998413086,
            0.4681392312049866,
        ],
    ),
    (
        "rand",
        ((4,),),
        {"dtype": "float64"},
        0,
        [0.9700530018065531, 0.707819864399788, 0.45938294312745087, 0.9207476841219603],
    ),
    (
        "rand",
        ((4,),),
        {"dtype": "float64"},
        1234,
        [0.2318341720884639, 0.07875386135027063, 0.46640616040796923, 0.41437948768611854],
    ),
    (
        "rand",
        ((6,),),
        {"dtype": "float16"},
        0,
        [
            0.496337890625,
            0.76806640625,
            0.0885009765625,
            0.132080078125,
            0.307373046875,
            0.63427734375,
        ],
    ),
    (
        "rand",
        ((6,),),
        {"dtype": "float16"},
        1234,
        [
            0.0289764404296875,
            0.40185546875,
            0.259765625,
            0.36669921875,
            0.05828857421875,
            0.70068359375,
        ],
    ),
    (
        "rand",
        ((6,),),
        {"dtype": "bfloat16"},
        0,
        [0.49609375, 0.76953125, 0.08837890625, 0.1318359375, 0.306640625, 0.6328125],
    ),
    (
        "rand",
        ((6,),),
        {"dtype": "bfloat16"},
        1234,
        [0.0289306640625, 0.40234375, 0.259765625, 0.3671875, 0.058349609375, 0.69921875],
    ),
    ("randint", (0, 100, (10,)), {}, 0, [44, 39, 33, 60, 63, 79, 27, 3, 97, 83]),
    ("randint", (0, 100, (10,)), {}, 1234, [75, 71, 6, 65, 16, 64, 32, 25, 75, 29]),
    ("randint", (-5, 5, (8,)), {"dtype": "int8"}, 0, [-1, 4, -2, -5, -2, 4, 2, -2]),
    ("randint", (-5, 5, (8,)), {"dtype": "int8"}, 1234, [0, -4, 1, 0, 1, -1, -3, 0]),
    ("randint", (0, 2**40, (4,)), {}, 0, [741280623151, 506137267392, 291447657211, 841157541223]),
    (
        "randint",
        (0, 2**40, (4,)),
        {},
        1234,
        [204000912083, 166721346613, 878802328948, 656147994617],
    ),
    ("randint", (7, (6,)), {}, 0, [4, 3, 0, 2, 1, 2]),
    ("randint", (7, (6,)), {}, 1234, [6, 4, 0, 5, 0, 1]),
    ("randint", (0, 9, (5,)), {"dtype": "float32"}, 0, [8.0, 0.0, 2.0, 6.0, 7.0]),
    ("randint", (0, 9, (5,)), {"dtype": "float32"}, 1234, [6.0, 3.0, 3.0, 2.0, 8.0]),
    ("randperm", (10,), {}, 0, [4, 1, 7, 5, 3, 9, 0, 8, 6, 2]),
    ("randperm", (10,), {}, 1234, [5, 4, 8, 2, 6, 9, 1, 7, 0, 3]),
    ("randperm", (6,), {"dtype": "int32"}, 0, [2, 5, 3, 0, 1, 4]),
    ("randperm", (6,), {"dtype": "int32"}, 1234, [3, 2, 4, 5, 1, 0]),
    (
        "randperm",
        (40,),
        {},
        0,
        [
            4,
            16,
            21,
            5,
            11,
            14,
            39,
            29,
            17,
            26,
            2,
            6,
            20,
            25,
            24,
            1,
            15,
            32,
            28,
            18,
            9,
            0,
            10,
            19,
            8,
            36,
            27,
            7,
            37,
            38,
            31,
            30,
            35,
            12,
            3,
            34,
            33,
            22,
            23,
            13,
        ],
    ),
    (
        "randperm",
        (40,),
        {},
        1234,
        [
            15,
            1,
            20,
            29,
            12,
            34,
            30,
            31,
            23,
            38,
            13,
            16,
            5,
            26,
            21,
            32,
            28,
            2,
            24,
            7,
            9,
            0,
            11,
            6,
            3,
            37,
            19,
            35,
            4,
            17,
            39,
            8,
            14,
            25,
            22,
            27,
            18,
            33,
            36,
            10,
        ],
    ),
]
# Normal numbers agree to rounding.
NORMAL = [
    (
        "randn",
        ((5,),),
        {},
        0,
        [
            1.5409960746765137,
            -0.293428897857666,
            -2.1787893772125244,
            0.5684312582015991,
            -1.0845223665237427,
        ],
    ),
    (
        "randn",
        ((5,),),
        {},
        1234,
        [
            0.0461304634809494,
            0.4024028182029724,
            -1.0115290880203247,
            0.2167382389307022,
            -0.612273097038269,
        ],
    ),
    (
        "randn",
        ((15,),),
        {},
        0,
        [
            1.5409960746765137,
            -0.293428897857666,
            -2.1787893772125244,
            0.5684312582015991,
            -1.0845223665237427,
            -1.3985954523086548,
            0.40334683656692505,
            0.8380263447761536,
            -0.7192575931549072,
            -0.40334352850914,
            -0.5966353416442871,
            0.18203648924827576,
            -0.8566746115684509,
            1.1006041765213013,
            -1.0711873769760132,
        ],
    ),
    (
        "randn",
        ((15,),),
        {},
        1234,
        [
            0.0461304634809494,
            0.4024028182029724,
            -1.0115290880203247,
            0.2167382389307022,
            -0.612273097038269,
            0.5036107301712036,
            0.23096680641174316,
            0.6930773258209229,
            -0.26686057448387146,
            2.1784658432006836,
            0.10213729739189148,
            -0.2590096890926361,
            -0.15490040183067322,
            -1.3705888986587524,
            -0.13192042708396912,
        ],
    ),
    (
        "randn",
        ((16,),),
        {},
        0,
        [
            -1.1258398294448853,
            -1.152360200881958,
            -0.2505785822868347,
            -0.4338788092136383,
            0.8487103581428528,
            0.6920091509819031,
            -0.31601276993751526,
            -2.1152193546295166,
            0.32227492332458496,
            -1.2633347511291504,
            0.34998318552970886,
            0.30813392996788025,
            0.11984150856733322,
            1.237657904624939,
            1.1167771816253662,
            -0.2472781538963318,
        ],
    ),
    (
        "randn",
        ((16,),),
        {},
        1234,
        [
            -0.1117185652256012,
            -0.49659010767936707,
            0.16307370364665985,
            -0.8816877603530884,
            0.05390019342303276,
            0.668373703956604,
            -0.05965760722756386,
            -0.46749794483184814,
            -0.21525293588638306,
            0.8839616179466248,
            -0.7584168910980225,
            -0.3688679039478302,
            -0.3423936069011688,
            -1.4019718170166016,
            0.3206479847431183,
            -1.021857500076294,
        ],
    ),
    (
        "randn",
        ((20,),),
        {},
        0,
        [
            -1.1258398294448853,
            -1.152360200881958,
            -0.2505785822868347,
            -0.4338788092136383,
            0.5988394618034363,
            -1.5550950765609741,
            -0.3413603901863098,
            1.85300612449646,
            0.46809640526771545,
            -0.1577124446630478,
            1.4436601400375366,
            0.26604941487312317,
            1.3893661499023438,
            1.586334228515625,
            0.946298360824585,
            -0.843676745891571,
            0.9318265914916992,
            1.2590092420578003,
            2.0049805641174316,
            0.05373690277338028,
        ],
    ),
    (
        "randn",
        ((20,),),
        {},
        1234,
        [
            -0.1117185652256012,
            -0.49659010767936707,
            0.16307370364665985,
            -0.8816877603530884,
            0.2890971899032593,
            0.4898708462715149,
            -0.38527461886405945,
            -0.7120345830917358,
            0.6369126439094543,
            -0.7140800952911377,
            -1.0831243991851807,
            -0.5547242164611816,
            -1.3248119354248047,
            0.6969805359840393,
            -0.6630538702011108,
            1.215756893157959,
            -2.5273351669311523,
            1.477784276008606,
            -0.16962362825870514,
            -0.9918573498725891,
        ],
    ),
    (
        "randn",
        ((5,),),
        {"dtype": "float64"},
        0,
        [
            1.5409961082440433,
            -0.2934289057609464,
            -2.1787893820745574,
            0.5684312772806678,
            -1.084522342424021,
        ],
    ),
    (
        "randn",
        ((5,),),
        {"dtype": "float64"},
        1234,
        [
            0.04613046189666927,
            0.4024028259218943,
            -1.0115290977852016,
            0.21673823500721034,
            -0.6122731137752989,
        ],
    ),
    (
        "randn",
        ((17,),),
        {"dtype": "float64"},
        0,
        [
            -2.310411800234176,
            -0.6332746088675096,
            -1.2609246557194385,
            -0.726951062065411,
            -0.019964750907762653,
            0.2102998901016947,
            0.17718935139366584,
            -0.830510051008449,
            0.23871805816817063,
            -0.2426793824588577,
            -0.7730112772958181,
            -1.5951814880783068,
            -0.6870036940435463,
            1.4880743158106724,
            -0.4484158047114511,
            -0.8910030351707375,
            0.6748575435940039,
        ],
    ),
    (
        "randn",
        ((17,),),
        {"dtype": "float64"},
        1234,
        [
            -0.0883100793877292,
            0.6573222788031756,
            -1.63476328432313,
            -0.6107716560720999,
            0.6002920138526922,
            -0.8768780416078871,
            0.964895913336925,
            -0.1925576631186533,
            0.11481509212436923,
            0.09326055867043671,
            0.3024866280394751,
            1.3121924040486361,
            -0.5610347730799743,
            0.1900124208030391,
            -0.165964817558905,
            0.9106620907519217,
            -0.3660114751930042,
        ],
    ),
]


def draw(torch, name, args, options, seed):
    torch.manual_seed(seed)
    options = {key: getattr(torch, value) for key, value in options.items()}
    return getattr(torch, name)(*args, **options)


def case_id(case):
    name, args, options, seed, _ = case
    return f"{name}{args}{options.get('dtype', '')}-{seed}"


@pytest.mark.parametrize("case", EXACT, ids=case_id)
def test_torch_numbers(torch, case):
    *call, expected = case
    assert draw(torch, *call).tolist() == expected


@pytest.mark.parametrize("case", NORMAL, ids=case_id)
def test_torch_normal_numbers(torch, case):
    *call, expected = case
    relative = 1e-12 if "dtype" in call[2] else 2e-6
    assert draw(torch, *call).tolist() == pytest.approx(expected, rel=relative, abs=1e-7)


def test_the_order_of_draws(torch):
    """One generator feeds all: what is drawn before decides what comes after."""
    torch.manual_seed(0)
    assert torch.rand(3).tolist() == [0.49625658988952637, 0.7682217955589294, 0.08847743272781372]
    assert torch.randn(3).tolist() == pytest.approx(
        [0.3643381893634796, 0.13439632952213287, 0.16421625018119812], rel=2e-6
    )
    assert torch.randint(10, (3,)).tolist() == [6, 6, 9]
    assert torch.rand(2).tolist() == [0.2938884496688843, 0.518521785736084]


def test_the_second_normal_number_is_kept(torch):
    torch.manual_seed(0)
    torch.rand(3)
    one, two = torch.randn(1).item(), torch.randn(1).item()
    assert [one, two] == pytest.approx([0.3643381893634796, 0.13439632952213287], rel=2e-6)
    assert torch.rand(1).item() == 0.8964447379112244


def test_bernoulli_and_multinomial_numbers(torch):
    torch.manual_seed(7)
    weights = torch.tensor([0.1, 0.2, 0.3, 0.4])
    assert torch.multinomial(weights, 8, replacement=True).tolist() == [1, 1, 3, 3, 3, 3, 1, 2]
    drawn = torch.bernoulli(torch.full((10,), 0.3))
    assert drawn.tolist() == [0, 1, 0, 1, 0, 0, 0, 0, 0, 0]
    torch.manual_seed(7)
    drawn = torch.bernoulli(torch.full((10,), 0.3, dtype=torch.float64))
    assert drawn.tolist() == [1, 1, 0, 0, 0, 0, 1, 0, 0, 0]


def test_in_place_numbers(torch):
    torch.manual_seed(0)
    found = torch.empty(3).uniform_(-1, 2).tolist()
    assert found == pytest.approx([0.4887697696685791, 1.3046653270721436, -0.7345677018165588])
    torch.manual_seed(0)
    found = torch.empty(3).normal_(2, 3).tolist()
    assert found == pytest.approx([6.622988224029541, 1.119713306427002, -4.536368370056152])
    torch.manual_seed(0)
    assert torch.empty(2, dtype=torch.int64).random_().tolist() == [
        900450186894289455,
        3969543146641149120,
    ]


def test_layouts(torch):
    """Elements are filled in the order in which they lie in memory."""
    torch.manual_seed(3)
    plain = torch.empty(4, 5).uniform_()
    torch.manual_seed(3)
    assert torch.equal(torch.empty(4, 5).t().uniform_(), plain.t())
    torch.manual_seed(3)
    assert torch.equal(torch.empty(4, 10)[:, ::2].uniform_(), plain)


# --- generators ---------------------------------------------------------------------------------


def test_generator(torch):
    g = torch.Generator()
    assert g.initial_seed() == 67280421310721
    assert g.device == torch.device("cpu")
    assert g.manual_seed(5) is g and g.initial_seed() == 5
    expected = [0.8302518725395203, 0.12611091136932373, 0.9074696898460388]
    assert torch.rand(3, generator=g).tolist() == expected
    torch.manual_seed(0)
    before = torch.get_rng_state()
    torch.rand(3, generator=g)
    torch.randn(3, generator=g)
    torch.randperm(5, generator=g)
    torch.randint(5, (3,), generator=g)
    torch.bernoulli(torch.full((3,), 0.5), generator=g)
    torch.empty(3).normal_(generator=g)
    torch.multinomial(torch.ones(3), 2, generator=g)
    assert torch.equal(before, torch.get_rng_state())


def test_state(torch):
    g = torch.Generator().manual_seed(11)
    torch.randn(3, generator=g)
    state = g.get_state()
    assert state.dtype == torch.uint8 and state.shape == (5056,)
    first = [
        torch.rand(4, generator=g),
        torch.randn(5, generator=g),
        torch.randperm(6, generator=g),
    ]
    g.set_state(state)
    again = [
        torch.rand(4, generator=g),
        torch.randn(5, generator=g),
        torch.randperm(6, generator=g),
    ]
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    other = torch.Generator()
    other.set_state(state)
    assert torch.equal(torch.rand(4, generator=other), first[0])


def test_global_state(torch):
    assert torch.manual_seed(42) is torch.default_generator
    assert torch.initial_seed() == 42
    state = torch.get_rng_state()
    a = torch.rand(3)
    torch.set_rng_state(state)
    assert torch.equal(torch.rand(3), a)
    with torch.random.fork_rng():
        torch.rand(10)
    torch.set_rng_state(state)
    with torch.random.fork_rng():
        inside = torch.rand(3)
    assert torch.equal(torch.rand(3), inside)
    assert isinstance(torch.seed(), int)
    assert torch.manual_seed(-5).initial_seed() == 2**64 - 5


@pytest.mark.parametrize(
    "call, exception, text",
    [
        (lambda t: t.manual_seed("a"), (ValueError, TypeError), None),
        (lambda t: t.manual_seed(2**64), (ValueError, RuntimeError, OverflowError), None),
        (lambda t: t.set_rng_state(t.zeros(5, dtype=t.uint8)), RuntimeError, "RNG state"),
        (
            lambda t: t.set_rng_state(t.zeros(5056)),
            TypeError,
            "RNG state must be a torch.ByteTensor",
        ),
        (lambda t: t.rand(2, generator=5), TypeError, None),
        (
            lambda t: t.randint(5, 5, (2,)),
            RuntimeError,
            "expects 'from' to be less than 'to', but got",
        ),
        (lambda t: t.randint(0, 300, (2,), dtype=t.uint8), RuntimeError, "out of bounds"),
        (
            lambda t: t.rand(2, dtype=t.int32),
            (RuntimeError, NotImplementedError),
            "not implemented for 'Int'",
        ),
        (
            lambda t: t.randn(2, dtype=t.int32),
            (RuntimeError, NotImplementedError),
            "not implemented for 'Int'",
        ),
        (
            lambda t: t.ones(2, dtype=t.int32).uniform_(),
            NotImplementedError,
            "not implemented for 'Int'",
        ),
        (
            lambda t: t.ones(2).bernoulli_(1.5),
            RuntimeError,
            r"bernoulli_ expects p to be in \[0, 1\], but got",
        ),
        (
            lambda t: t.multinomial(t.ones(2, dtype=t.int64), 1),
            RuntimeError,
            "only supports floating-point",
        ),
        (lambda t: t.multinomial(t.tensor([1.0, -1.0]), 1), RuntimeError, None),
        (
            lambda t: t.ones(2).normal_(0, -1),
            RuntimeError,
            "normal expects std >= 0.0, but found std -1",
        ),
        (lambda t: t.ones(2).uniform_(2, 1), RuntimeError, "uniform_ expects to return a"),
    ],
)
def test_bad_calls_draw_nothing(torch, call, exception, text):
    torch.manual_seed(0)
    before = torch.get_rng_state()
    with pytest.raises(exception, match=text):
        call(torch)
    assert torch.equal(before, torch.get_rng_state())


def test_pickled_generator(torch):
    g = torch.Generator().manual_seed(3)
    torch.rand(5, generator=g)
    copy = pickle.loads(pickle.dumps(g))
    assert torch.equal(torch.rand(5, generator=copy), torch.rand(5, generator=g))


# --- distributions ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
def test_uniform_range(torch, name):
    torch.manual_seed(1)
    x = torch.rand(20000, dtype=getattr(torch, name)).double()
    assert x.min().item() >= 0 and x.max().item() < 1
    assert x.mean().item() == pytest.approx(0.5, abs=0.01)
    assert x.var().item() == pytest.approx(1 / 12, abs=0.005)


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
def test_normal_moments(torch, name):
    torch.manual_seed(1)
    x = torch.randn(20000, dtype=getattr(torch, name)).double()
    assert x.mean().item() == pytest.approx(0, abs=0.03)
    assert x.std().item() == pytest.approx(1, abs=0.02)
    assert (x.abs() < 1).double().mean().item() == pytest.approx(0.6827, abs=0.02)


def test_randint_is_even(torch):
    torch.manual_seed(1)
    counts = torch.bincount(torch.randint(3, 9, (60000,)), minlength=9).tolist()
    assert counts[:3] == [0, 0, 0]
    assert all(abs(count - 10000) < 500 for count in counts[3:])


def test_randperm_is_a_permutation(torch):
    for n in (0, 1, 2, 17, 1000):
        assert sorted(torch.randperm(n).tolist()) == list(range(n))


def test_bernoulli_rate(torch):
    torch.manual_seed(1)
    assert torch.empty(20000).bernoulli_(0.3).mean().item() == pytest.approx(0.3, abs=0.02)
    assert torch.bernoulli(torch.full((20000,), 0.8)).mean().item() == pytest.approx(0.8, abs=0.02)
    assert torch.empty(100).bernoulli_(0.0).sum().item() == 0
    assert torch.empty(100).bernoulli_(1.0).sum().item() == 100


def test_multinomial_rate(torch):
    torch.manual_seed(1)
    weights = torch.tensor([1.0, 0.0, 3.0])
    drawn = torch.multinomial(weights, 20000, replacement=True)
    counts = torch.bincount(drawn, minlength=3).tolist()
    assert counts[1] == 0 and counts[2] / counts[0] == pytest.approx(3, rel=0.1)
    without = torch.multinomial(torch.ones(50, 5), 5)
    assert torch.equal(without.sort(1).values, torch.arange(5).expand(50, 5))
    firsts = torch.multinomial(torch.tensor([[1.0, 3.0]]).expand(20000, 2), 1).double().mean()
    assert firsts.item() == pytest.approx(0.75, abs=0.02)


def test_exponential_mean(torch):
    torch.manual_seed(1)
    x = torch.empty(20000).exponential_(2.0)
    assert x.min().item() >= 0 and x.mean().item() == pytest.approx(0.5, abs=0.02)
    assert not math.isinf(x.max().item())


def test_random_ops_on_meta(torch):
    state = torch.get_rng_state()
    assert torch.rand(2, 3, device="meta").shape == (2, 3)
    assert torch.empty(3, device="meta").normal_().shape == (3,)
    assert torch.equal(state, torch.get_rng_state())
