"""A window that repeats starts while the rest of it is recorded: the device does not wait for the
host, and nothing else tells the difference to eager mode."""

import threading

import pytest

FAILED = 507899
WARM = 6  # runs until the windows of a program stay the same
STARTS_AFTER = 16


def chain(x, steps=12):
    """Two ops a step."""
    for _ in range(steps):
        x = (x * 0.5).sin()
    return x


def repeat(torch, function, *arguments, times=WARM):
    for _ in range(times):
        with torch.pipeline():
            result = function(*arguments)
    return result


@pytest.fixture
def x(torch):
    return torch.linspace(-2, 2, 24).npu()


def test_the_beginning_runs_while_the_rest_is_recorded(torch, simulator, x):
    expected = chain(x).cpu()
    starts = []
    for _ in range(WARM):
        with torch.pipeline() as pipe:
            simulator.clear_calls()
            y = chain(x)
            called = [call.function for call in simulator.calls() if call.kind == "call"]
            starts.append((pipe.flush_id, pipe.last_flush_reason, len(called) > 0))
            assert y._pending
        assert torch.equal(y.cpu(), expected)
    assert starts[0] == (0, "", False)
    assert starts[-1] == (1, "start", True)


def test_a_short_window_is_one(torch, x):
    repeat(torch, chain, x, STARTS_AFTER // 2)
    with torch.pipeline() as pipe:
        chain(x, STARTS_AFTER // 2)
        assert pipe.flush_id == 0 and pipe.pending_count() == STARTS_AFTER


@pytest.mark.parametrize("settings", [{"max_ops": 64}, {"debug_enabled": True}], ids=str)
def test_settings_say_when_to_flush(torch, x, settings):
    for _ in range(WARM):
        with torch.pipeline(**settings) as pipe:
            chain(x)
            assert pipe.flush_id == 0


@pytest.mark.parametrize("at", [1, 15, 16, 17, 23])
def test_a_program_that_goes_another_way(torch, x, at):
    def program(other):
        y = x
        for number in range(24):
            y = y.cos() if number == other else y.sin() if number % 2 else y * 0.5
        return y

    expected = {other: program(other).cpu() for other in (None, at)}
    repeat(torch, program, None)
    for other in (at, at, None, at, None, None):
        with torch.pipeline():
            y = program(other)
        assert torch.equal(y.cpu(), expected[other])


def test_values_that_only_the_beginning_can_see(torch, x):
    """What a name holds when the window starts, and no longer when it ends."""

    def program(keep):
        y = kept = chain(x, 6)
        for number in range(12):
            y = y.sin() + kept if number < 8 else y.sin()
            if number == 6 and not keep:
                kept = y
        return y, kept

    expected = {keep: [t.cpu() for t in program(keep)] for keep in (False, True)}
    for keep in [False] * WARM + [True, False, True]:
        with torch.pipeline():
            results = program(keep)
        for ours, theirs in zip(results, expected[keep], strict=True):
            assert torch.equal(ours.cpu(), theirs)


def test_views_and_writes_in_place(torch, x):
    def program(state):
        rows = state.view(4, 6)
        for number in range(10):
            rows[number % 4].mul_(0.5)
            state.add_(rows.sum(0)[0])
            rows = rows.flip(0) if number == 5 else rows
        return state * 2, rows.t()

    eager, deferred = x.clone(), x.clone()
    for _ in range(WARM):
        expected = program(eager)
        with torch.pipeline():
            got = program(deferred)
        for ours, theirs in zip((*got, deferred), (*expected, eager), strict=True):
            assert torch.equal(ours.cpu(), theirs.cpu())


def test_results_that_are_read_early(torch, x):
    def program():
        y = chain(x, 9)
        return y, y.sum().item(), chain(y, 9)

    first, total, last = program()
    for _ in range(WARM):
        with torch.pipeline():
            got = program()
        assert got[1] == total
        assert torch.equal(got[0].cpu(), first.cpu()) and torch.equal(got[2].cpu(), last.cpu())


def test_random_numbers_keep_their_order(torch, x):
    def program():
        y = x
        for _ in range(8):
            y = torch.dropout(y + torch.rand(24, device="npu"), 0.5, True) * 2
        return y

    torch.manual_seed(11)
    expected = [program().cpu() for _ in range(WARM)]
    torch.manual_seed(11)
    for want in expected:
        with torch.pipeline():
            y = program()
        assert torch.equal(y.cpu(), want)


@pytest.mark.parametrize("number", [1, 12])
def test_an_op_that_fails(torch, simulator, x, number):
    """In the beginning it is raised by the call that starts it; what was computed is there."""
    repeat(torch, chain, x)
    made = []

    def program():
        y = x
        for _ in range(12):
            y = (y * 0.5).sin()
            made.append(y)

    expected = chain(x).cpu()
    torch.npu.empty_cache()  # forgets graphs: each op is a call
    repeat(torch, program)
    made.clear()
    with (
        simulator.faults(f"call:aclnnSin:{number}:{FAILED}"),
        pytest.raises(RuntimeError, match=str(FAILED)),
        torch.pipeline() as pipe,
    ):
        program()
    assert pipe.last_error().op_name == "sin"
    for good in made[: number - 1]:
        assert good.isfinite().all().item()
    for bad in made[number - 1 :]:
        with pytest.raises(RuntimeError, match=str(FAILED)):
            bad.cpu()
    assert torch.equal(repeat(torch, chain, x, times=1).cpu(), expected)


def test_ops_that_run_as_one_stay_together(torch, called):
    """The product is the 16th op, and its bias the 17th."""
    x, w, bias = (torch.randn(*sizes).npu() for sizes in ((4, 4), (4, 4), (4,)))

    def program():
        y = x
        for _ in range(15):
            y = y.sin()
        return (y @ w + bias).exp().cos()

    expected = repeat(torch, program, times=1).cpu()
    torch.npu.empty_cache()
    for _ in range(WARM):
        names = called(lambda: repeat(torch, program, times=1))
        assert "aclnnMm" not in names
    assert torch.equal(repeat(torch, program, times=1).cpu(), expected)


def test_threads_that_read_and_record(torch, x):
    expected = chain(x).cpu()
    wrong = []

    def work():
        for _ in range(20):
            with torch.pipeline():
                y = chain(x)
                reader = threading.Thread(target=check, args=(y,))
                reader.start()
                z = chain(y)
                reader.join()
            check(y)
            del z

    def check(y):
        if not torch.equal(y.cpu(), expected):
            wrong.append(y.cpu())

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
