"""Numbers from the host in the graphs of pipelines: read anew, or part of what a graph is for."""

from tests.npu.graph_windows import check_equal, inputs, is_capture, is_replay


def test_other_numbers_are_not_replayed(torch, log):
    x, _ = inputs(torch)

    def scaled(factor):
        return (((x * factor + factor).relu() - 3) * factor).exp()

    for factor in (2.0,) * 5 + (3.0, 2.0, 0.5, 2.0, 2.0, 0.5, 0.5, 0.5, 0.5):
        result, _ = log.run(scaled, factor)
        assert torch.equal(result.cpu(), scaled(factor).cpu())
        del result


def test_numbers_in_cpu_tensors_are_read_anew(torch, log):
    x, _ = inputs(torch)
    factor = torch.tensor(1.0)
    for number in range(6):
        factor.fill_(number)
        result, names = log.run(lambda: ((x * factor).relu() + factor).exp())
        assert torch.equal(result.cpu(), ((x * number).relu() + number).exp().cpu())
        assert not is_capture(names)
        del result


def test_a_number_in_a_cpu_tensor_is_part_of_a_graph(torch, log):
    x, _ = inputs(torch)
    replays = 0
    for value in [2.0] * 5 + [3.0, 2.0, 3.0, 3.0, 3.0]:
        factor = torch.tensor(value)
        result, names = log.run(lambda factor: ((x * factor).relu() + factor).exp(), factor)
        assert torch.equal(result.cpu(), ((x * value).relu() + value).exp().cpu())
        replays += is_replay(names)
        del result
    assert replays >= 4


def test_a_number_that_is_written_in_the_window(torch, log):
    x, _ = inputs(torch)
    factor = torch.tensor(1.0)
    for _ in range(5):
        factor.add_(1)
        result, names = log.run(lambda: ((x * factor.mul_(2)).relu() + factor).exp())
        expected = factor.item()
        assert torch.equal(result.cpu(), ((x * expected).relu() + expected).exp().cpu())
        assert not is_capture(names)
        del result


def test_numbers_of_functions_are_part_of_a_graph(torch, log):
    """alpha= and limits of clamp change, and the plan stays: no graph serves them all."""
    x, _ = inputs(torch)

    def scaled(alpha, limit):
        y = torch.add(x, x, alpha=alpha).exp().clamp(max=limit)
        y.add_(x, alpha=alpha)
        return (y.neg().sub_(x, alpha=alpha + 1),)

    replays = 0
    for alpha, limit in [(1, 4.0)] * 4 + [(2, 4.0)] * 4 + [(2, 3.0), (1, 4.0), (1, 4.0), (2, 4.0)]:
        result, names = log.run(scaled, alpha, limit)
        replays += is_replay(names)
        check_equal(torch, result, scaled(alpha, limit))
        del result
    assert replays >= 2
