"""Random numbers on simulated NPUs: generators, seeds, states, distributions."""

import pickle

import pytest

from tests.support.simulated import run


def draws(torch):
    x = torch.zeros(40, device="npu")
    return [
        torch.rand(3, 4, device="npu"),
        torch.randn(17, device="npu", dtype=torch.float64),
        torch.randint(3, 9, (5,), device="npu"),
        torch.randperm(10, device="npu"),
        torch.bernoulli(torch.full((20,), 0.3, device="npu")),
        torch.multinomial(torch.tensor([[0.1, 0.9], [0.5, 0.5]], device="npu"), 8, True),
        torch.dropout(torch.ones(30, device="npu"), 0.5, True),
        *(
            getattr(x.clone(), name)(*args)
            for name, args in (
                ("normal_", (1, 2)),
                ("uniform_", (-1, 1)),
                ("random_", ()),
                ("random_", (5,)),
                ("exponential_", ()),
                ("geometric_", (0.3,)),
                ("cauchy_", ()),
                ("log_normal_", ()),
            )
        ),
    ]


def same(torch, a, b):
    return all(torch.equal(x, y) for x, y in zip(a, b, strict=True))


def test_the_same_seed_gives_the_same_numbers(torch):
    torch.manual_seed(5)
    first, second = draws(torch), draws(torch)
    assert not any(torch.equal(a, b) for a, b in zip(first, second, strict=True))
    torch.manual_seed(5)
    assert same(torch, draws(torch), first) and same(torch, draws(torch), second)
    torch.manual_seed(6)
    assert not torch.equal(draws(torch)[0], first[0])


def test_the_same_seed_gives_the_same_numbers_in_every_process(torch):
    torch.manual_seed(5)
    here = [x.tolist() for x in draws(torch)]
    program = "from tests.npu.test_random import draws; torch.manual_seed(5)"
    there = run(f"{program}; print([x.tolist() for x in draws(torch)])")
    assert there == f"{here}\n"


@pytest.mark.parametrize(
    ("fill", "mean", "deviation"),
    [
        (("normal_", (2, 3)), 2, 3),
        (("uniform_", (-1, 3)), 1, 4 / 12**0.5),
        (("random_", (0, 11)), 5, 10**0.5),
        (("bernoulli_", (0.25,)), 0.25, 0.1875**0.5),
        (("exponential_", (0.5,)), 2, 2),
        (("geometric_", (0.4,)), 2.5, 0.6**0.5 / 0.4),
        (("log_normal_", (0, 0.5)), 1.1331, 0.6039),
    ],
)
def test_distributions(torch, fill, mean, deviation):
    torch.manual_seed(0)
    for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
        x = torch.zeros(40_000, device="npu", dtype=dtype)
        name, args = fill
        x = getattr(x, name)(*args).cpu().double()
        assert abs(x.mean().item() - mean) < 0.05 * max(1, deviation), dtype
        assert abs(x.std().item() - deviation) < 0.05 * deviation, dtype


def test_generators_of_a_device(torch):
    g = torch.Generator(device="npu")
    assert g.device == torch.device("npu:0") and repr(g) == "<torch.Generator on npu:0>"
    assert g.initial_seed() == torch.Generator().initial_seed()
    assert g.manual_seed(3) is g and g.initial_seed() == 3
    a = torch.rand(4, generator=g, device="npu")
    state = g.get_state()
    assert state.shape == (16,) and state.dtype == torch.uint8 and state.device.type == "cpu"
    b = torch.rand(4, generator=g, device="npu")
    twin, copy = g.set_state(state).clone_state(), pickle.loads(pickle.dumps(g))
    for each in (g, twin, copy):
        assert torch.equal(torch.rand(4, generator=each, device="npu"), b)
    assert not torch.equal(a, b)
    try:
        g.set_state(state[:8])
    except RuntimeError as error:
        assert str(error) == "RNG state is wrong size"
    for generator, device in ((torch.Generator(), "npu"), (g, "cpu")):
        try:
            torch.rand(2, generator=generator, device=device)
        except RuntimeError as error:
            found = generator.device.type
            assert f"Expected a '{device}' device type for generator but found '{found}'" in str(
                error
            )
        else:
            raise AssertionError("a generator of another device was taken")
    assert torch.Generator(device="npu:1").device == torch.device("npu:1")


def test_seeds_and_states_of_devices(torch):
    torch.manual_seed(7)
    assert torch.npu.initial_seed() == 7 and torch.initial_seed() == 7
    a = torch.rand(3, device="npu")
    assert torch.equal(a.cpu(), torch.rand(3, device="npu:1").cpu())  # one seed for all devices
    torch.npu.manual_seed(7)
    assert torch.equal(torch.rand(3, device="npu"), a)
    torch.npu.manual_seed_all(8)
    assert torch.initial_seed() == 7
    assert [g.initial_seed() for g in torch.npu.default_generators] == [
        8
    ] * torch.npu.device_count()
    state, states = torch.npu.get_rng_state(), torch.npu.get_rng_state_all()
    b = torch.rand(3, device="npu")
    torch.npu.set_rng_state(state, "npu:0")
    assert torch.equal(torch.rand(3, device="npu"), b)
    torch.npu.set_rng_state_all(states)
    assert torch.equal(torch.rand(3, device="npu"), b)
    with torch.random.fork_rng(device_type="npu"):
        inside = torch.rand(3, device="npu")
    assert torch.equal(torch.rand(3, device="npu"), inside)
    torch.npu.seed()
    torch.npu.seed_all()
    assert len({g.initial_seed() for g in torch.npu.default_generators}) == 1
    with torch.npu.device(1):
        torch.npu.manual_seed(9)
        assert torch.npu.initial_seed() == 9
    assert torch.npu.initial_seed() != 9


def test_ranges_of_whole_numbers(torch):
    def span(x):
        return x.min().item(), x.max().item()

    for dtype in (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64):
        low, high = span(torch.zeros(4000, dtype=dtype, device="npu").random_())
        assert 0 <= low and high > 0.9 * torch.iinfo(dtype).max
    low, high = span(torch.zeros(4000, dtype=torch.int64, device="npu").random_(-(2**63), None))
    assert low < -(2**62) and high > 2**62
    assert span(torch.zeros(400, dtype=torch.bool, device="npu").random_().to(torch.int64)) == (
        0,
        1,
    )
    assert span(torch.randint(-3, 4, (400,), device="npu")) == (-3, 3)
    assert span(torch.zeros(4000, dtype=torch.float16, device="npu").random_())[1] <= 2048
    assert sorted(torch.randperm(100, device="npu").tolist()) == list(range(100))


def test_no_plan_is_kept_for_numbers_that_do_not_come_again(torch, simulator):
    """Seed and offset are part of a call, so that no later call could use its plan."""
    simulator.set(log=True)

    def kept(function):
        simulator.clear_calls()
        function()
        return len(simulator.calls("aclSetAclOpExecutorRepeatable"))

    x = torch.zeros(3, 1, 5, 1, 7, device="npu")  # a shape that no other test has planned
    assert (
        kept(lambda: x.uniform_()) == kept(lambda: x.normal_()) == kept(lambda: x.random_(3)) == 0
    )
    assert kept(lambda: x + x) == 1
    assert [c.kind for c in simulator.calls("aclnnAdd")].count("call") == 1


def test_numbers_do_not_wait_for_the_device(torch, simulator):
    simulator.set(log=True)
    for name, args in (("uniform_", ()), ("exponential_", ()), ("bernoulli_", (0.5,))):
        getattr(torch.zeros(4, device="npu"), name)(*args)
    torch.randperm(5, device="npu")
    assert not [call for call in simulator.calls() if "Synchronize" in call.function]
