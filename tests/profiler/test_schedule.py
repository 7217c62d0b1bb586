"""Steps, cycles, handlers; starting and stopping in any order."""

import json

import pytest


def names(events):
    return [event.name for event in events]


@pytest.fixture
def cpu(torch):
    return {"activities": [torch.profiler.ProfilerActivity.CPU]}


def test_each_cycle_calls_the_handler(torch, cpu):
    seen = []

    def ready(prof):
        steps = [e.trace_name for e in prof.events() if e.trace_name.startswith("ProfilerStep")]
        seen.append((prof.step_num, steps, sum(e.name == "aten::ones" for e in prof.events())))

    plan = torch.profiler.schedule(wait=1, warmup=1, active=2, repeat=2)
    with pytest.warns(UserWarning, match="clears events at the end of each cycle"):
        with torch.profiler.profile(schedule=plan, on_trace_ready=ready, **cpu) as prof:
            for _ in range(10):
                torch.ones(2)
                prof.step()
    assert seen == [
        (4, ["ProfilerStep#2", "ProfilerStep#3"], 2),
        (8, ["ProfilerStep#6", "ProfilerStep#7"], 2),
    ]
    # Of the last cycle; steps are summed under one name.
    [steps] = [each for each in prof.key_averages() if each.key == "ProfilerStep*"]
    assert steps.count == 2


def test_events_of_all_cycles_can_be_kept(torch, cpu):
    plan = torch.profiler.schedule(wait=0, warmup=1, active=1, repeat=2)
    with torch.profiler.profile(schedule=plan, acc_events=True, **cpu) as prof:
        for _ in range(4):
            torch.ones(2)
            prof.step()
    assert names(prof.events()).count("aten::ones") == 2


def test_a_program_that_ends_early(torch, cpu):
    seen = []
    plan = torch.profiler.schedule(wait=1, warmup=1, active=3)
    with torch.profiler.profile(schedule=plan, on_trace_ready=seen.append, **cpu) as prof:
        for _ in range(3):
            torch.ones(2)
            prof.step()
    assert seen == [prof] and names(prof.events()).count("aten::ones") == 1


def test_handlers_for_tensorboard(torch, cpu, tmp_path):
    folder = tmp_path / "new" / "log"
    for compressed in (False, True):
        handler = torch.profiler.tensorboard_trace_handler(str(folder), "worker0", compressed)
        with torch.profiler.profile(on_trace_ready=handler, **cpu):
            torch.ones(2)
    plain, zipped = sorted(folder.iterdir(), key=lambda path: path.name.endswith(".gz"))
    assert plain.name.startswith("worker0.") and plain.name.endswith(".pt.trace.json")
    assert zipped.name.endswith(".pt.trace.json.gz")
    assert json.loads(plain.read_text())["traceEvents"]
    (tmp_path / "file").write_text("")
    handler = torch.profiler.tensorboard_trace_handler(str(tmp_path / "file" / "log"))
    with pytest.raises(RuntimeError, match="Can't create directory"):
        handler(None)


def test_start_stop_and_start_again(torch, cpu):
    prof = torch.profiler.profile(**cpu)
    for use, text in (
        (prof.stop, "stopping trace"),
        (prof.events, "accessing events"),
        (prof.key_averages, "getting key averages"),
        (lambda: prof.export_chrome_trace("x.json"), "exporting chrome trace"),
        (lambda: prof.export_stacks("x.txt"), "exporting stacks"),
    ):
        with pytest.raises(AssertionError, match=f"Profiler must be initialized before {text}"):
            use()
    prof.start()
    torch.ones(2)
    prof.stop()
    assert names(prof.events()) == ["aten::ones"]
    with pytest.warns(UserWarning, match="clears events"):
        prof.start()
    torch.zeros(2)
    prof.stop()
    assert names(prof.events()) == ["aten::zeros"]


def test_a_program_that_raises(torch, cpu):
    with pytest.raises(ValueError), torch.profiler.profile(**cpu) as prof:
        torch.ones(2)
        raise ValueError
    torch.zeros(2)
    assert names(prof.events()) == ["aten::ones"]


def test_a_profiler_that_is_never_stopped_ends_with_itself(torch, cpu):
    prof = torch.profiler.profile(with_modules=True, **cpu)
    prof.start()
    assert torch.autograd.profiler._is_profiler_enabled
    del prof
    import gc

    gc.collect()
    assert not torch.autograd.profiler._is_profiler_enabled
    assert torch.nn.ReLU()(torch.ones(1)) == 1


def test_ranges_that_are_open_when_it_stops(torch, cpu):
    with torch.profiler.record_function("begun before"):
        prof = torch.profiler.profile(**cpu)
        prof.start()
        with torch.profiler.record_function("ends after"):
            torch.ones(2)
            prof.stop()
            torch.zeros(2)
    outer, inner = prof.events()
    assert outer.name == "ends after" and inner.name == "aten::ones"
    assert inner.cpu_parent is outer and outer.cpu_time_total >= inner.cpu_time_total
    with torch.profiler.profile(**cpu) as after:
        torch.ones(2)
    assert [event.cpu_parent for event in after.events()] == [None]


def test_recording_can_pause(torch, cpu):
    activity = cpu["activities"]
    with torch.profiler.profile(**cpu) as prof:
        torch.ones(2)
        prof.toggle_collection_dynamic(False, activity)
        torch.zeros(2)
        prof.toggle_collection_dynamic(True, activity)
        torch.full((2,), 1.0)
    assert names(prof.events()) == ["aten::ones", "aten::full"]


def test_activities(torch):
    activity = torch.profiler.ProfilerActivity
    assert activity.CPU in torch.profiler.supported_activities()
    assert torch.profiler.kineto_available()
    with pytest.raises(AssertionError, match="No valid profiler activities found"):
        torch.profiler.profile(activities=[])
    with pytest.raises(ValueError, match="specified more than once"):
        torch.profiler.profile(activities=[activity.CPU, activity.CPU])
    with pytest.raises(TypeError):
        torch.profiler.profile(nonsense=True)
    with pytest.warns(UserWarning, match="XPU is not available, disabling XPU profiling"):
        with torch.profiler.profile(activities=[activity.CPU, activity.XPU]) as prof:
            torch.ones(2)
    assert names(prof.events()) == ["aten::ones"]
    with pytest.warns(FutureWarning, match="`use_cuda` is deprecated"):
        torch.profiler.profile(use_cuda=False)


def test_schedules_that_make_no_sense(torch, cpu):
    with pytest.warns(UserWarning, match="won't be using warmup"):
        torch.profiler.schedule(wait=0, warmup=0, active=1)
    action = torch.profiler.ProfilerAction
    odd = [action.RECORD, action.NONE, action.WARMUP, action.NONE].__getitem__
    prof = torch.profiler.profile(schedule=odd, **cpu)
    prof.start()
    with pytest.warns(UserWarning, match="Incorrect schedule: RECORD followed by NONE"):
        prof.step()
    with pytest.warns(UserWarning, match="clears events"):
        prof.step()
    with pytest.warns(UserWarning, match="Incorrect schedule: WARMUP followed by NONE"):
        prof.step()
    prof.stop()


def test_autograds_profiler(torch):
    profiler = torch.autograd.profiler
    with profiler.profile(record_shapes=True) as prof:
        torch.ones(2) + 1
    assert names(prof.function_events) == ["aten::ones", "aten::add"]
    assert prof.key_averages(group_by_input_shape=True)[1].input_shapes[0] == [2]
    assert "aten::add" in str(prof) and prof.self_cpu_time_total > 0
    assert prof.total_average().count == 2 and prof.table(row_limit=1).count("aten::") == 1
    with pytest.raises(RuntimeError, match="not reentrant"):
        prof.__enter__()
    off = profiler.profile(enabled=False)
    with off:
        torch.ones(2)
    assert str(off) == repr(off) == "<unfinished torch.autograd.profile>"
    assert str(profiler.profile()) == "<unfinished torch.autograd.profile>"
    with pytest.warns(FutureWarning, match="use_device = 'cuda'"):
        with pytest.warns(UserWarning, match="CUDA is not available"):
            profiler.profile(use_cuda=True)
    with pytest.raises(ValueError, match="not supported by profiler"):
        profiler.profile(use_device="tpu")


def test_tools_of_other_vendors_are_not_there(torch):
    profiler = torch.autograd.profiler
    for kind in (profiler.emit_nvtx, profiler.emit_itt):
        with kind(enabled=False):
            pass
        with pytest.raises(RuntimeError, match="not installed"):
            kind().__enter__()
    assert not torch.profiler.itt.is_available()
    with pytest.raises(RuntimeError, match="ITT functions not installed"):
        torch.profiler.itt.mark("here")


def test_names_of_torch_npu(torch, cpu, tmp_path):
    import mindtorch_v2.torch_npu as torch_npu

    npu_profiler = torch_npu.profiler
    assert npu_profiler.ProfilerActivity.NPU is torch.profiler.ProfilerActivity.PrivateUse1
    config = npu_profiler._ExperimentalConfig(
        export_type=npu_profiler.ExportType.Text,
        profiler_level=npu_profiler.ProfilerLevel.Level1,
        aic_metrics=npu_profiler.AiCMetrics.PipeUtilization,
        l2_cache=False,
    )
    with npu_profiler.profile(
        activities=[npu_profiler.ProfilerActivity.CPU],
        schedule=npu_profiler.schedule(wait=0, warmup=1, active=1, repeat=1),
        on_trace_ready=npu_profiler.tensorboard_trace_handler(str(tmp_path)),
        experimental_config=config,
    ) as prof:
        for _ in range(2):
            torch.ones(2)
            prof.step()
    assert len(list(tmp_path.iterdir())) == 1
