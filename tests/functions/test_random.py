"""Random numbers: torch's own for the same seed, generators and their state, distributions."""

import math
import pickle

import pytest

from tests.functions.random_numbers import EXACT, NORMAL


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


def test_multinomial_draws_in_the_order_of_memory(torch):
    weights = torch.arange(1.0, 13.0).reshape(4, 3).t()
    drawn = []
    for each in (weights, weights.contiguous()):
        torch.manual_seed(3)
        drawn.append(torch.multinomial(each, 3).tolist())
    by_columns = [[2, 0, 1], [3, 2, 0], [2, 3, 1]]
    by_rows = [[3, 0, 1], [2, 3, 1], [2, 3, 0]]
    assert drawn == [by_columns, by_rows]


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


@pytest.mark.parametrize("dtype", ("float32", "float64", "bfloat16"))
@pytest.mark.parametrize("samples", (3, 50))
def test_multinomial_rows_are_sampled_one_after_the_other(torch, dtype, samples):
    weights = torch.rand(11, 200).to(getattr(torch, dtype))
    weights[:, 3:9] = 0
    torch.manual_seed(5)
    together = torch.multinomial(weights, samples, replacement=True)
    torch.manual_seed(5)
    rows = [torch.multinomial(row, samples, replacement=True) for row in weights]
    assert torch.equal(together, torch.stack(rows))
    assert not torch.isin(together, torch.arange(3, 9)).any()
    for number, text in ((-1.0, "entry < 0"), (float("nan"), "entry"), (float("inf"), "infinity")):
        bad = weights.clone()
        bad[6, 100] = number
        with pytest.raises(RuntimeError, match=text):
            torch.multinomial(bad, samples, replacement=True)


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
