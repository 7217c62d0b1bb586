"""What lies around ops that no graph can hold is replayed, each part by a graph of its own."""

from tests.npu.graph_windows import FAILED, REPLAY, check_equal, inputs, ops_of


def parted(torch, x, w):
    """In the middle what no graph may hold, and results of the first half that the second reads."""
    hidden = ((x @ w).relu() * 2 + 1).exp()
    total = hidden.sum(1, keepdim=True) + 1
    changed = (hidden + torch.empty_like(hidden).bernoulli_(0.5)) / total
    return (changed.t() @ hidden).relu().sum(0) * 3, changed


def seeded(torch, seed, function, *arguments):
    torch.manual_seed(seed)
    return function(*arguments)


def test_what_lies_around_ops_that_no_graph_holds_is_replayed(torch, log):
    x, w = inputs(torch)
    for seed in range(8):
        x.copy_(inputs(torch, seed, x.shape[1])[0])
        expected = [tensor.cpu() for tensor in seeded(torch, seed, parted, torch, x, w)]
        result, names = seeded(torch, seed, log.run, parted, torch, x, w)
        check_equal(torch, result, expected)
        del result
    assert names.count(REPLAY) == 2
    assert {name.replace("GetWorkspaceSize", "") for name in ops_of(names)} == {
        "aclnnInplaceBernoulli"
    }


def test_what_goes_wrong_in_a_capture_of_a_part_is_not_noticed(torch, log, simulator):
    x, w = inputs(torch)
    columns = x.shape[1]

    def run_until_captured(rows, fault=None):
        fresh = torch.zeros(rows, columns, device="npu") + x[:1]
        for seed in range(4):
            expected = [tensor.cpu() for tensor in seeded(torch, seed, parted, torch, fresh, w)]
            torch.npu.synchronize()
            if fault is None or seed != 2:
                result, names = seeded(torch, seed, log.run, parted, torch, fresh, w)
            else:
                with simulator.faults(fault):
                    result, names = seeded(torch, seed, log.run, parted, torch, fresh, w)
            check_equal(torch, result, expected)
            if fault is None and seed == 2:
                return names
            del result

    names = run_until_captured(7)
    assert names.count("aclmdlRICaptureBegin") == 2
    rows = 8
    for function in ("aclmdlRICaptureBegin", "aclmdlRICaptureEnd", REPLAY, "aclnnMatmul"):
        for number in range(1, names.count(function) + 1):
            run_until_captured(rows, f"call:{function}:{number}:{FAILED}")
            rows += 1


def test_an_optimizer_that_counts_its_steps_leaves_the_rest_to_graphs(torch, log, simulator):
    x, w = inputs(torch)

    def training():
        torch.manual_seed(3)
        model = torch.nn.Sequential(
            torch.nn.Linear(x.shape[1], 8), torch.nn.ReLU(), torch.nn.Linear(8, 3)
        ).npu()
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)

        def step():
            optimizer.zero_grad()
            loss = (model(x) - 1).pow(2).mean()
            loss.backward()
            optimizer.step()
            return loss.detach()

        return step, list(model.parameters())

    (step, weights), (eager_step, eager_weights) = training(), training()
    for _ in range(20):
        expected = [tensor.cpu() for tensor in (eager_step(), *eager_weights)]
        torch.npu.synchronize()
        simulator.clear_calls()
        with torch.pipeline(max_ops=512):
            loss = step()
        names = [call.function for call in simulator.calls() if call.kind == "call"]
        check_equal(torch, [loss, *weights], expected)
        del loss
    assert names.count(REPLAY) == 1
    assert set(ops_of(names)) <= {
        "aclnnApplyAdamWV2",
        "aclnnApplyAdamWV2GetWorkspaceSize",
        "aclnnInplaceFillScalar",  # the number of the step
        "aclnnInplaceFillScalarGetWorkspaceSize",
    }
