"""Random programs, and that pipelines give what eager mode gives."""

import dataclasses

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from tests.pipeline.programs import machine
from tests.pipeline.programs.machine import Machine, Program, Step, Variant
from tests.pipeline.programs.steps import TABLE, WEIGHTS

QUICK = settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
LONG = settings(QUICK, max_examples=800)

KINDS = [kind.__name__ for kind, weight in WEIGHTS.items() for _ in range(weight)]
SMALL = st.integers(0, 59)
STEPS = st.builds(Step, st.sampled_from(KINDS), SMALL, SMALL, SMALL, SMALL)
# The same steps again: over other values, with other numbers, with numbers that are of another
# kind, with other results kept; and as at first. A plan that was kept must fit or not be used.
VARIANTS = (
    Variant(),
    Variant(seed=1),
    Variant(seed=2, numbers=1),
    Variant(keeps=True),
    Variant(numbers=2, swap=1),
    Variant(seed=3, keeps=True),
    Variant(),
)
CONFIGS = st.fixed_dictionaries(
    {},
    optional={
        "max_ops": st.integers(1, 12),
        "max_pending_bytes": st.sampled_from([1, 100, 4096, 1 << 20]),
        "min_defer_ops": st.integers(0, 6),
        "adaptive_defer": st.booleans(),
        "debug_enabled": st.booleans(),
    },
)


@st.composite
def programs(draw, longest):
    pairs = st.tuples(SMALL, SMALL)
    inputs = draw(st.lists(pairs, min_size=1, max_size=4))
    length = draw(st.integers(1, longest))
    return Program(tuple(inputs), tuple(draw(st.lists(STEPS, min_size=length, max_size=length))))


def difference(want, got):
    """The first thing that is not the same, or None."""
    for name, values in want.items():
        if name == "sums":
            pairs = zip(values, got[name], strict=True)
            wrong = [pair for pair in pairs if not is_close(*pair)]
        else:
            others = got[name]
            wrong = [pair for pair in zip(values, others, strict=False) if pair[0] != pair[1]]
            if len(values) != len(others):
                wrong.append((values, others))
        if wrong:
            return name, *wrong[0]
    return None


def is_close(want, got):
    """Sums of floats in two orders."""
    (dtype, *layout, ours), size = want
    (other, *same_layout, theirs), _ = got
    if (dtype, layout) != (other, same_layout):
        return False
    if ours == theirs or size is None or not np.isfinite(size):
        return True
    digits = {"torch.float16": 10, "torch.bfloat16": 7, "torch.float32": 23, "torch.float64": 52}
    a, b = (values(dtype, each) for each in (ours, theirs))
    both = np.isfinite(a) & np.isfinite(b)
    limit = machine.REDUCTION_ULPS * 2.0 ** -digits[dtype] * np.maximum(abs(a), size)
    return bool((np.where(both, abs(a - b) <= limit, (a == b) | (a != a) & (b != b))).all())


def values(dtype, data):
    if dtype == "torch.bfloat16":
        return (
            (np.frombuffer(data, np.uint16).astype(np.uint32) << 16).view(np.float32).astype(float)
        )
    return np.frombuffer(data, dtype.removeprefix("torch.")).astype(float)


def without_mistakes(torch, device, program, variants):
    """The steps that no variant refuses."""
    while True:
        refused = set()
        for variant in variants:
            eager = Machine(torch, device, program, variant, TABLE)
            eager.run()
            refused.update(map(id, eager.refused))
        if not refused:
            return program
        left = tuple(step for step in program.steps if id(step) not in refused)
        program = dataclasses.replace(program, steps=left)


def check(torch, device, program, config, variants=VARIANTS):
    """Every variant in a pipeline of its own, and in one for all, gives what eager mode gives."""
    if device != "cpu":  # dtypes that CANN does not take raise when ops run
        program = without_mistakes(torch, device, program, variants)

    def machines():
        return [Machine(torch, device, program, variant, TABLE) for variant in variants]

    def compare(variant, deferred, want):
        found = difference(want, deferred.outcome())
        assert found is None, f"{variant}: {found}"

    expected = []
    for eager in machines():
        eager.run()
        expected.append(eager.outcome())
    for run in zip(variants, machines(), expected, strict=True):
        with torch.pipeline(**config) as pipe:
            run[1].run(pipe)
        compare(*run)
    together = machines()
    with torch.pipeline(**config) as pipe:
        for run in zip(variants, together, expected, strict=True):
            run[1].run(pipe)
            pipe.flush()
            compare(*run)
