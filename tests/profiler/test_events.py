"""Which events a program leaves, by what names, and how they are nested."""

import threading

import pytest


def names(events):
    return [event.name for event in events]


def find(prof, name):
    found = [event for event in prof.events() if event.name == name]
    assert found, f"{name} is not among {names(prof.events())}"
    return found[0]


def test_ops_have_torchs_names(torch, profiled):
    x = torch.ones(2, 3)

    def program():
        x.add_(1)
        torch.mm(x, x.t())
        torch.relu(x)
        x[0]

    prof = profiled(program)
    assert [event.name for event in prof.events() if event.cpu_parent is None] == [
        "aten::add_",
        "aten::t",
        "aten::mm",
        "aten::relu",
        "aten::select",
    ]


def test_ops_made_of_others_have_them_as_children(torch, profiled):
    x, w, b = torch.ones(2, 3), torch.ones(4, 3), torch.ones(4)
    linear = find(profiled(lambda: torch.nn.functional.linear(x, w, b)), "aten::linear")
    assert names(linear.cpu_children) == ["aten::t", "aten::addmm"]
    assert all(child.cpu_parent is linear for child in linear.cpu_children)


def test_self_times_add_up_to_totals(torch, profiled):
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))

    def program():
        with torch.profiler.record_function("all"):
            model(torch.ones(4, 8)).sum().backward()

    prof = profiled(program)
    everything = find(prof, "all")

    def self_times(event):
        return event.self_cpu_time_total + sum(self_times(child) for child in event.cpu_children)

    assert self_times(everything) == pytest.approx(everything.cpu_time_total)
    for event in prof.events():
        assert event.self_cpu_time_total >= 0
        for child in event.cpu_children:
            assert event.time_range.start <= child.time_range.start
            assert child.time_range.end <= event.time_range.end
    assert prof.events().self_cpu_time_total == pytest.approx(everything.cpu_time_total)
    total = prof.events().total_average()
    assert total.key == "Total" and total.count == len(prof.events())
    assert total.self_cpu_time_total == pytest.approx(everything.cpu_time_total)


def test_backward_shows_each_node_and_what_it_runs(torch, profiled):
    x = torch.ones(2, 3, requires_grad=True)
    w = torch.ones(3, 4, requires_grad=True)
    prof = profiled(lambda: torch.mm(x, w).sum().backward())
    engine = find(prof, "autograd::engine::evaluate_function: MmBackward0")
    node = engine.cpu_children[0]
    assert node.name == "MmBackward0" and node.scope == 1
    assert "aten::mm" in names(node.cpu_children)
    leaf = find(prof, "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad")
    assert leaf.cpu_children[0].name == "torch::autograd::AccumulateGrad"
    # The op and the node that differentiates it have the same number.
    forward = [e for e in prof.events() if e.name == "aten::mm" and e.cpu_parent is None]
    assert forward[0].sequence_nr == node.sequence_nr >= 0


def test_python_functions_of_autograd_have_their_names(torch, profiled):
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    x = torch.ones(2, requires_grad=True)
    prof = profiled(lambda: Double.apply(x).sum().backward())
    node = find(prof, "DoubleBackward")
    assert "aten::mul" in names(node.cpu_children)


def test_ranges_are_blocks_and_decorators(torch, profiled):
    @torch.profiler.record_function("decorated")
    def double(x):
        return x * 2

    def program():
        with torch.autograd.profiler.record_function("block", "of code"):
            double(double(torch.ones(2)))

    prof = profiled(program)
    block = find(prof, "block")
    assert block.is_user_annotation and block.scope == 7
    assert names(block.cpu_children) == ["aten::ones", "decorated", "decorated"]
    assert names(block.cpu_children[1].cpu_children) == ["aten::mul"]
    with pytest.raises(RuntimeError, match="Expected a value of type 'str'"):
        torch.profiler.record_function(3).__enter__()


def test_a_range_ends_when_its_block_raises(torch, profiled):
    def program():
        with pytest.raises(ValueError), torch.profiler.record_function("fails"):
            torch.ones(2)
            raise ValueError
        torch.zeros(2)
        with pytest.raises(RuntimeError):
            torch.mm(torch.ones(2, 3), torch.ones(2, 3))
        torch.zeros(2)

    prof = profiled(program)
    assert names(find(prof, "fails").cpu_children) == ["aten::ones"]
    top = [event.name for event in prof.events() if event.cpu_parent is None]
    assert top == ["fails", "aten::zeros", "aten::ones", "aten::ones", "aten::mm", "aten::zeros"]


def test_a_range_outside_of_a_profiler_is_nothing(torch):
    with torch.profiler.record_function("nobody looks"):
        assert torch.ones(2).sum() == 2


def test_optimizers_and_loaders_are_ranges(torch, profiled):
    weight = torch.nn.Parameter(torch.ones(3))
    weight.grad = torch.ones(3)
    optimizer = torch.optim.SGD([weight], lr=0.1)
    loader = torch.utils.data.DataLoader(torch.arange(4), batch_size=2)

    def program():
        list(loader)
        optimizer.step()
        optimizer.zero_grad()

    prof = profiled(program)
    sums = {each.key: each for each in prof.key_averages()}
    assert sums["Optimizer.step#SGD.step"].count == 1
    assert sums["Optimizer.zero_grad#SGD.zero_grad"].count == 1
    # Two batches, and the end.
    assert sums["enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"].count == 3


def test_modules_are_ranges_if_asked_for(torch, profiled):
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU(), torch.nn.Linear(2, 2))
    prof = profiled(lambda: model(torch.ones(1, 2)), with_modules=True)
    outer = find(prof, "nn.Module: Sequential_0")
    assert names(outer.cpu_children) == [
        "nn.Module: Linear_0",
        "nn.Module: ReLU_0",
        "nn.Module: Linear_1",
    ]
    assert "nn.Module" not in str(profiled(lambda: model(torch.ones(1, 2))).key_averages())


def test_inputs_are_recorded_if_asked_for(torch, profiled):
    x = torch.ones(2, 3)

    def program():
        torch.add(x, 1, alpha=2)
        torch.cat([x, x], dim=1)
        x.sum(dim=[0], keepdim=True)

    prof = profiled(program, record_shapes=True)
    add = find(prof, "aten::add")
    assert add.input_shapes[0] == [2, 3] and add.input_dtypes[0] == "float"
    assert add.concrete_inputs[-1] == 2
    cat = find(prof, "aten::cat")
    assert cat.input_shapes == [[], []] and cat.input_dtypes == ["TensorList", "Scalar"]
    assert cat.structured_input_shapes[0] == [[2, 3], [2, 3]] and cat.concrete_inputs[1] == 1
    assert cat.structured_input_strides[0] == [[3, 1], [3, 1]]
    total = find(prof, "aten::sum")
    assert total.concrete_inputs[1] == [0] and total.concrete_inputs[2] is True
    assert find(profiled(program), "aten::add").input_shapes == []


def test_operations_are_counted_as_torch_does(torch, profiled):
    x, w = torch.ones(2, 3), torch.ones(3, 4)
    images, kernels = torch.ones(2, 4, 8, 8), torch.ones(6, 2, 3, 3)

    def program():
        torch.mm(x, w)
        torch.addmm(torch.ones(4), x, w)
        torch.bmm(torch.ones(5, 2, 3), torch.ones(5, 3, 4))
        torch.nn.functional.linear(x, w.t())
        torch.nn.functional.conv2d(images, kernels, stride=2, padding=1, groups=2)
        x * 2
        x + 2
        x - 2

    prof = profiled(program, with_flops=True)
    flops = {each.key: each.flops for each in prof.key_averages()}
    assert flops["aten::addmm"] == 2 * 2 * 3 * 4
    assert flops["aten::bmm"] == 5 * 2 * 2 * 3 * 4
    assert flops["aten::conv2d"] == 2 * (2 * 4 * 4) * (3 * 3) * 4 * 6 // 2
    assert flops["aten::mul"] == flops["aten::add"] == 6 and flops["aten::sub"] == 0
    # The product of linear() is counted once.
    assert flops["aten::mm"] + flops.get("aten::linear", 0) == 2 * (2 * 2 * 3 * 4)


def test_the_thread_that_starts_is_recorded(torch, profiled):
    def elsewhere():
        thread = threading.Thread(target=lambda: torch.ones(2).exp())
        thread.start()
        thread.join()
        torch.zeros(2)

    assert names(profiled(elsewhere).events()) == ["aten::zeros"]
    config = torch.profiler._ExperimentalConfig(profile_all_threads=True)
    prof = profiled(elsewhere, experimental_config=config)
    assert sorted(names(prof.events())) == ["aten::exp", "aten::ones", "aten::zeros"]
    assert find(prof, "aten::exp").thread != find(prof, "aten::zeros").thread


def test_threads_that_work_while_a_profiler_comes_and_goes(torch, profiled):
    """No crash, no event of another session."""
    stop = threading.Event()

    def work():
        while not stop.is_set():
            with torch.profiler.record_function("background"):
                torch.ones(8).mul(2).sum()

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    config = torch.profiler._ExperimentalConfig(profile_all_threads=True)
    for _ in range(20):
        prof = profiled(
            lambda: torch.ones(8).exp(),
            experimental_config=config,
            profile_memory=True,
            record_shapes=True,
            with_stack=True,
        )
        assert "aten::exp" in names(prof.events())
    stop.set()
    for thread in threads:
        thread.join()


def test_profilers_may_be_nested(torch, profiled):
    seen = []

    def outer():
        torch.ones(2)
        seen.append(profiled(lambda: torch.zeros(2)))
        torch.full((2,), 3.0)

    prof = profiled(outer)
    assert names(seen[0].events()) == ["aten::zeros"]
    assert names(prof.events()) == ["aten::ones", "aten::zeros", "aten::full"]


def test_overloads_are_told_apart_if_asked_for(torch, profiled):
    x = torch.ones(2)

    def program():
        x + 1
        torch.add(x, 1, out=torch.empty(2))

    config = torch.profiler._ExperimentalConfig(capture_overload_names=True)
    prof = profiled(program, experimental_config=config)
    sums = prof.key_averages(group_by_overload_name=True)
    assert {each.overload_name for each in sums if each.key == "aten::add"} == {
        "Tensor",
        "Tensor_out",
    }
    assert "Overload Name" in sums.table()
    assert [each.count for each in prof.key_averages() if each.key == "aten::add"] == [2]


def test_a_pipeline_shows_what_it_records_and_what_it_runs(torch, profiled):
    a, b = torch.ones(64), torch.ones(64)
    results = []

    def program():
        with torch.pipeline():
            results.append(((a + b) * 2).relu().exp())

    prof = profiled(program)
    top = [event.name for event in prof.events() if event.cpu_parent is None]
    assert top == ["aten::add", "aten::mul", "aten::relu", "aten::exp", "pipeline::flush"]
    flush = find(prof, "pipeline::flush")
    assert names(flush.cpu_children) == ["pipeline::plan", "pipeline::execute"]
    assert names(flush.cpu_children[1].cpu_children) == ["pipeline::fused(add, mul, relu, exp)"]


def test_profiling_inside_a_pipeline(torch, profiled):
    a = torch.ones(8)
    with torch.pipeline():
        before = a + 1
        prof = profiled(lambda: (before * 2).sum().item())
    assert "aten::mul" in names(prof.events()) and "pipeline::flush" in names(prof.events())
    assert find(prof, "pipeline::flush").cpu_parent.name == "aten::item"


def test_a_child_process_does_not_go_on_with_its_parents_profiler(torch):
    import os

    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as prof:
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            torch.ones(3)
            with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as own:
                torch.zeros(2)
            os.write(write, ",".join(names(own.events())).encode())
            os._exit(0)
        os.waitpid(child, 0)
        torch.ones(2)
    assert os.read(read, 100) == b"aten::zeros"
    assert names(prof.events()) == ["aten::ones"]
