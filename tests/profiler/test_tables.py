"""Tables have torch's columns and texts; sums are grouped as asked."""

import re

import pytest


def columns(table):
    """The titles, which are at least two spaces apart."""
    title = next(line for line in table.splitlines() if line.strip().startswith("Name"))
    return re.split(r"\s{2,}", title.strip())


TIMES = ["Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg"]


@pytest.fixture
def program(torch):
    x = torch.ones(8, 8)

    def run():
        torch.mm(x, x)
        torch.mm(x, torch.ones(8, 2))
        x + 1

    return run


@pytest.mark.parametrize(
    "settings, more",
    [
        ({}, ["# of Calls"]),
        ({"profile_memory": True}, ["CPU Mem", "Self CPU Mem", "# of Calls"]),
        ({"with_flops": True}, ["# of Calls", "Total FLOPs"]),
    ],
)
def test_columns(profiled, program, settings, more):
    assert columns(profiled(program, **settings).key_averages().table()) == ["Name", *TIMES, *more]


def test_tables_of_events_and_of_sums(torch, profiled, program):
    prof = profiled(program, record_shapes=True)
    assert columns(prof.events().table())[-1] == "Input Shapes"
    assert columns(prof.key_averages().table())[-1] == "# of Calls"
    by_shape = prof.key_averages(group_by_input_shape=True)
    assert columns(by_shape.table())[-1] == "Input Shapes"
    shapes = [str(each.input_shapes) for each in by_shape if each.key == "aten::mm"]
    assert sorted(shapes) == ["[[8, 8], [8, 2]]", "[[8, 8], [8, 8]]"]
    assert [each.count for each in prof.key_averages() if each.key == "aten::mm"] == [2]
    assert str(prof.key_averages()) == prof.key_averages().table()


def test_rows_are_sorted_and_limited(profiled, program):
    sums = profiled(program).key_averages()
    table = sums.table(sort_by="count", row_limit=1, header="What it costs")
    lines = table.splitlines()
    assert lines[0] == "=" * len(lines[0]) and lines[1] == "What it costs"
    rows = [line for line in lines if "aten::" in line]
    assert len(rows) == 1 and "aten::mm" in rows[0] and rows[0].split()[-1] == "2"
    assert lines[-1].startswith("Self CPU time total: ")
    with pytest.raises(AttributeError, match="nonsense"):
        sums.table(sort_by="nonsense")
    for metric in ("cpu_time", "self_cpu_time_total", "cuda_time_total", "self_npu_time_total"):
        assert "aten::mm" in sums.table(sort_by=metric)


def test_only_the_top_level(torch, profiled):
    prof = profiled(lambda: torch.nn.functional.linear(torch.ones(2, 2), torch.ones(2, 2)))
    table = prof.key_averages().table(top_level_events_only=True)
    assert "This report only display top-level ops statistics" in table
    assert "aten::linear" in table and "aten::t" not in table


def test_units_of_time(profiled, program):
    sums = profiled(program).key_averages()
    in_seconds = sums.table(time_unit="s").splitlines()[-1]
    assert re.fullmatch(r"Self CPU time total: \d+\.\d{3}s", in_seconds)
    assert re.fullmatch(
        r"Self CPU time total: [\d.]+us", sums.table(time_unit="us").splitlines()[-1]
    )


def test_shares_add_up_to_a_hundred(profiled, program):
    rows = [line.split() for line in profiled(program).key_averages().table().splitlines()[3:-2]]
    assert sum(float(row[1].rstrip("%")) for row in rows) == pytest.approx(100, abs=0.05)


def test_long_names_are_shortened(torch, profiled):
    def program():
        with torch.profiler.record_function("x" * 70):
            torch.ones(2)

    sums = profiled(program).key_averages()
    assert "x" * 52 + "..." in sums.table() and "x" * 53 not in sums.table()
    assert "x" * 70 in sums.table(max_name_column_width=None)


def line_of_add(torch, x):
    return x + 1


def test_sums_by_line_of_the_program(torch, profiled):
    x = torch.ones(2)

    def program():
        line_of_add(torch, x)
        line_of_add(torch, x)
        x + 1

    prof = profiled(program, with_stack=True)
    adds = [each for each in prof.key_averages(group_by_stack_n=1) if each.key == "aten::add"]
    lines = {each.stack[0]: each.count for each in adds}
    here = line_of_add.__code__.co_firstlineno + 1
    [inner] = [line for line in lines if line.endswith(f"test_tables.py({here}): line_of_add")]
    assert lines[inner] == 2 and sorted(lines.values()) == [1, 2]
    table = prof.key_averages(group_by_stack_n=1).table()
    assert "Source Location" in columns(table) and f"({here}): line_of_add" in table
    # The same innermost line, two ways to it.
    adds = [each for each in prof.key_averages(group_by_stack_n=2) if each.key == "aten::add"]
    assert len(adds) == 3 and all(len(each.stack) == 2 for each in adds)


def test_backward_has_the_lines_of_forward(torch, profiled):
    x = torch.ones(2, requires_grad=True)

    def program():
        total = line_of_add(torch, x).sum()
        total.backward()

    prof = profiled(program, with_stack=True)
    [node] = [event for event in prof.events() if event.name == "AddBackward0"]
    assert node.stack[0].endswith("line_of_add")


def test_stacks_for_flame_graphs(torch, profiled, tmp_path):
    x = torch.ones(256, 256)
    prof = profiled(lambda: torch.mm(x, x), with_stack=True)
    path = tmp_path / "stacks.txt"
    prof.export_stacks(str(path))
    frames, weight = path.read_text().splitlines()[0].rsplit(" ", 1)
    assert int(weight) > 0 and "<lambda>" in frames.split(";")[-1] and " " not in frames
    with pytest.raises(ValueError, match="metric should be one of"):
        prof.export_stacks(str(path), "count")
    with pytest.raises(AssertionError, match="requires with_stack=True"):
        profiled(lambda: torch.ones(2)).export_stacks(str(path))


def test_nothing_happened(profiled):
    prof = profiled(lambda: None)
    assert len(prof.events()) == 0 and prof.key_averages().table() == ""


def test_texts_of_events_and_sums(torch, profiled):
    prof = profiled(lambda: torch.ones(2), record_shapes=True)
    [event] = prof.events()
    assert repr(event).startswith(f"<FunctionEvent id={event.id} name=aten::ones overload_name= ")
    assert "device_type=DeviceType.CPU node_id=-1" in repr(event)
    [sums] = prof.key_averages()
    assert repr(sums).startswith("<FunctionEventAvg key=aten::ones self_cpu_time=")
    assert event.key == "aten::ones" and event.count == 1
    assert event.cpu_time_str == sums.cpu_time_total_str
    assert event.time_range.elapsed_us() == event.cpu_time_total == event.cpu_time
