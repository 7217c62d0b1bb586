"""What the tests share that count graphs: programs, and the calls that each window makes."""

import itertools

FAILED = 507899
MEGABYTE = 1 << 20
REPLAY = "aclmdlRIExecuteAsync"
SIZES = itertools.count(4)


def program(torch, x, w):
    """Several kinds of ops, more than one result."""
    product = (x @ w).relu()
    total = (product * 2 + 1).sum(0)
    return product, torch.cat([total, total]).sort(0).values


def inputs(torch, seed=0, columns=None):
    """By default of a size that no test had before: its traces are new."""
    columns = columns or next(SIZES)
    torch.manual_seed(seed)
    return torch.randn(6, columns).npu(), torch.randn(columns, 3).npu()


class Log:
    """The calls of each flush."""

    def __init__(self, torch, simulator):
        self.torch = torch
        self.simulator = simulator

    def run(self, function, *arguments):
        """What the function returns, run as one trace, and the names of the calls."""
        with self.torch.pipeline() as pipe:
            result = function(*arguments)
            self.simulator.clear_calls()
            pipe.flush()
            names = [call.function for call in self.simulator.calls() if call.kind == "call"]
        return result, names


def ops_of(names):
    return [name for name in names if name.startswith("aclnn")]


def is_replay(names):
    return names.count(REPLAY) == 1 and not ops_of(names)


def is_capture(names):
    return "aclmdlRICaptureBegin" in names


def check_equal(torch, got, expected):
    for ours, theirs in zip(got, expected, strict=True):
        assert torch.equal(ours.cpu(), theirs.cpu())
