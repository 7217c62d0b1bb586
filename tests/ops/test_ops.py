"""The one runner of all op cases: every case, dtype and layout, on every device and in every mode.

Dtype or layout loops run inside a test where parameters would only multiply its number; a failure
names dtype, layout and sample.
"""

import warnings

import numpy as np
import pytest

from tests.ops import harness
from tests.ops.case import ALL, CLOSE, COMPLEX, FLOATS, Sample, result_dtype
from tests.ops.cases import all_cases
from tests.ops.harness import Array, Findings, Runtime, as_tuple
from tests.ops.unsupported import is_unsupported
from tests.support import library_devices
from tests.support.recorded import AGAIN

CASES = all_cases()

ALL_DTYPES = (*ALL, *COMPLEX)
CASTABLE = {"bool": 0, "uint8": 1, "int8": 1, "int16": 1, "int32": 1, "int64": 1}


def can_cast(source: str, target: str) -> bool:
    """Whether a result may be stored into a tensor of another dtype."""
    return CASTABLE.get(source, 2) <= CASTABLE.get(target, 2)


def name_of(case) -> str:
    return f"{case.family}-{case.label}"


def having(condition):
    return pytest.mark.parametrize("case", [c for c in CASES if condition(c)], ids=name_of)


def pairs(dtypes_of):
    params = [(case, dtype) for case in CASES for dtype in dtypes_of(case)]
    ids = [f"{name_of(case)}-{dtype}" for case, dtype in params]
    return pytest.mark.parametrize("case, dtype", params, ids=ids)


def calls(case, device, dtypes=None, layouts=None):
    """All (dtype, sample number, sample, layout) of a case that the device can run."""
    for dtype in dtypes or case.dtypes:
        for number, sample in harness.samples_for(case, dtype):
            if is_unsupported(case, dtype, sample, device):
                continue
            for layout in layouts or harness.layouts_for(case, sample):
                if layout in harness.layouts_for(case, sample):
                    yield dtype, number, sample, layout


def attempt(action, *args):
    """Runs a call that is expected to succeed; an exception becomes a finding."""
    try:
        return action(*args), None
    except Exception as error:
        return None, f"{type(error).__name__}: {str(error)[:300]}"


# --- values -------------------------------------------------------------------------------------


@pairs(lambda case: case.dtypes if case.oracle else ())
def test_values(torch, case, dtype, device, mode):
    """Values, dtype and shape are NumPy's; function and method agree; inputs stay as they were."""
    runtime = Runtime(torch, device, mode)
    check_unsupported(runtime, case, dtype)
    findings = Findings()
    for _, number, sample, layout in calls(case, device, [dtype]):
        where = {"dtype": dtype, "layout": layout, "sample": number}
        arrays = harness.build_arrays(case, sample, dtype, layout)
        expected = harness.oracle_results(case, sample, dtype, *arrays)
        args, kwargs = runtime.arguments(*arrays, layout)
        before = harness.snapshot(runtime, args, kwargs)
        result, problem = attempt(runtime.call, case, args, kwargs)
        if problem is None:
            problem = harness.check_results(runtime, case, sample, dtype, result, expected)
        findings.add(problem, **where)
        if problem is None and case.method_name and case.function_path and not case.creation:
            result, problem = attempt(runtime.call_method, case.method_name, args, kwargs)
            if problem is None:
                problem = harness.check_results(runtime, case, sample, dtype, result, expected)
            findings.add(problem, form="method", **where)
        findings.add(harness.changed(runtime, before), **where)
    findings.report()


def check_unsupported(runtime, case, dtype):
    """What the vendor's library lacks is refused: the error names device and dtype, or the dtype
    that the op computes in."""
    made = result_dtype("complex", dtype)  # what transforms of real numbers compute in
    for _, sample in harness.samples_for(case, dtype):
        arrays = harness.build_arrays(case, sample, dtype)
        if not is_unsupported(case, dtype, sample, runtime.device) or harness.any_empty(*arrays):
            continue
        lacking = (d for d in ALL_DTYPES if library_devices.lacks(runtime.device, d))
        names = "|".join({dtype, "float32", made, *lacking})
        with pytest.raises(
            NotImplementedError, match=f"on device {runtime.device}.* for torch.({names})"
        ):
            args, kwargs = runtime.arguments(*arrays)
            runtime.call(case, args, kwargs)


def viewed_dtype(case):
    return "float32" if "float32" in case.dtypes else case.dtypes[0]


@having(lambda case: case.view)
def test_views_share_memory(torch, case, device, mode):
    """The result of a view op lies in its input's storage and shares its version counter."""
    runtime = Runtime(torch, device, mode)
    findings = Findings()
    for dtype, number, sample, layout in calls(case, device, [viewed_dtype(case)]):
        arrays = harness.build_arrays(case, sample, dtype, layout)
        args, kwargs = runtime.arguments(*arrays, layout)
        source = args[0]
        for result in as_tuple(runtime.call(case, args, kwargs)):
            where = {"layout": layout, "sample": number}
            same = result.untyped_storage().data_ptr() == source.untyped_storage().data_ptr()
            findings.add(None if same else "does not share its input's storage", **where)
            version = source._version
            if result.numel() and not harness.overlaps_itself(result):
                result.zero_()
                grew = source._version > version and result._version > version
                findings.add(None if grew else "does not share its input's version", **where)
    findings.report()


# --- in place -----------------------------------------------------------------------------------


@having(lambda case: case.inplace)
def test_inplace(torch, case, device, mode):
    """`x.op_()` gives x itself, the right values, and one more version; or fails and changes
    nothing."""
    runtime = Runtime(torch, device, mode)
    name = (case.method_name or case.name) + "_"
    findings = Findings()
    for dtype, number, sample, layout in calls(
        case, device, layouts=("contiguous", "transposed", "sliced")
    ):
        if not sample.inplace:
            continue
        where = {"dtype": dtype, "layout": layout, "sample": number}
        arrays = harness.build_arrays(case, sample, dtype, layout)
        (expected,) = harness.oracle_results(case, sample, dtype, *arrays)
        (computed,) = harness.expected_dtypes(case, sample, dtype, 1)
        args, kwargs = runtime.arguments(*arrays, layout)
        target_dtype = arrays[0][0].dtype
        target, base = runtime.make(arrays[0][0], layout)
        args = (target, *args[1:])
        others = harness.snapshot(runtime, args[1:], kwargs)
        data, version = runtime.to_array(base), target._version
        legal = can_cast(computed, target_dtype) and expected.shape == tuple(target.shape)
        try:
            result = runtime.call_method(name, args, kwargs)
        except RuntimeError as error:
            if legal:
                findings.add(f"RuntimeError: {error}", **where)
            elif (runtime.to_array(base).tobytes(), target._version) != (data.tobytes(), version):
                findings.add("failed, yet changed its tensor", **where)
            continue
        except Exception as error:
            findings.add(f"{type(error).__name__}: {error}", **where)
            continue
        if not legal:
            findings.add("a result that does not fit was stored", **where)
            continue
        findings.add(None if result is target else "did not return its tensor", **where)
        grew = target._version == version + 1
        findings.add(None if grew else f"version {version} became {target._version}", **where)
        limits = harness.limits_for(case, computed)
        wanted = harness.cast(expected, target_dtype)
        findings.add(harness.differs(runtime.to_array(target), wanted, limits), **where)
        if layout == "sliced" and target.ndim:
            findings.add(stray_write(runtime.to_array(base)), **where)
        findings.add(harness.changed(runtime, others), **where)
    findings.report()


def stray_write(base: np.ndarray) -> str | None:
    """Checks the elements that a sliced tensor steps over."""
    between = np.ones(base.shape, bool)
    between[(slice(1, None, 2),) * base.ndim] = False
    filler = np.array(harness.FILLER).astype(base.dtype)
    return None if (base[between] == filler).all() else "wrote between its elements"


# --- out= ---------------------------------------------------------------------------------------

POINTWISE = ("unary", "binary", "ternary", "compare", "activation")
OUT_DTYPES = ("float32", "float16", "bfloat16", "int64", "uint8", "bool")


class OutCall:
    """One call of a case, ready to be given `out=`."""

    def __init__(self, runtime, case, dtype, sample):
        self.runtime, self.case = runtime, case
        arrays = harness.build_arrays(case, sample, dtype)
        self.expected = harness.oracle_results(case, sample, dtype, *arrays)
        self.dtypes = harness.expected_dtypes(case, sample, dtype, len(self.expected))
        self.args, self.kwargs = runtime.arguments(*arrays)

    def room(self, dtypes=None, shapes=None, layout="contiguous"):
        """Output tensors filled with something else than the answer."""
        made = []
        for number, expected in enumerate(self.expected):
            name = dtypes[number] if dtypes else self.dtypes[number]
            shape = shapes[number] if shapes else expected.shape
            filler = np.full(shape, 3).astype(harness.storage_dtype(name))
            out, base = self.runtime.make(Array(filler, name, False), layout)
            made.append((base.clone(),) * 2 if out is base else (out, base))
        return [out for out, _ in made], [base for _, base in made]

    def run(self, outs):
        out = outs[0] if len(outs) == 1 else tuple(outs)
        return self.runtime.call(self.case, self.args, {**self.kwargs, "out": out})

    def check(self, outs, result, dtypes=None) -> str | None:
        for out, got in zip(outs, as_tuple(result), strict=True):
            if got is not out:
                return "did not return out"
        for number, (out, expected) in enumerate(zip(outs, self.expected, strict=True)):
            computed = self.dtypes[number]
            name = dtypes[number] if dtypes else computed
            if self.runtime.dtype_name(out) != name:
                return f"dtype of out became {out.dtype}"
            limits = harness.limits_for(self.case, computed, name)
            if name != computed:  # the result may or may not be rounded to its own dtype first
                limits = max(limits, CLOSE.get(computed, limits))
            text = harness.differs(self.runtime.to_array(out), harness.cast(expected, name), limits)
            if text:
                return text
        return None


def out_calls(runtime, case):
    for dtype in OUT_DTYPES:
        if dtype in case.dtypes:
            for number, sample in harness.samples_for(case, dtype):
                if is_unsupported(case, dtype, sample, runtime.device):
                    continue
                yield {"dtype": dtype, "sample": number}, OutCall(runtime, case, dtype, sample)


@having(lambda case: case.out)
def test_out(torch, case, device, mode):
    """`out=` of the right shape and dtype, in every layout, is filled and returned."""
    runtime = Runtime(torch, device, mode)
    findings = Findings()
    for where, call in out_calls(runtime, case):
        for layout in ("contiguous", "transposed", "sliced"):
            outs, bases = call.room(layout=layout)
            strides = [out.stride() for out in outs]
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                result, problem = attempt(call.run, outs)
            problem = problem or call.check(outs, result)
            if problem is None and [out.stride() for out in outs] != strides:
                problem = "the strides of out changed"
            findings.add(problem, out=layout, **where)
            if layout == "sliced" and outs[0].ndim:
                findings.add(stray_write(runtime.to_array(bases[0])), out=layout, **where)
    findings.report()


@having(lambda case: case.out)
def test_out_is_resized(torch, case, device, mode):
    """An empty out is resized silently, a wrong-sized one with a warning."""
    runtime = Runtime(torch, device, mode)
    findings = Findings()
    for where, call in out_calls(runtime, case):
        outs = [runtime.empty(name) for name in call.dtypes]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            result, problem = attempt(call.run, outs)
        findings.add(problem or call.check(outs, result), out="empty", **where)

        outs, _ = call.room(shapes=[(*expected.shape, 2) for expected in call.expected])
        if any(out.numel() == 0 for out in outs):
            continue
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result, problem = attempt(call.run, outs)
        problem = problem or call.check(outs, result)
        if problem is None and not any("was resized" in str(w.message) for w in caught):
            problem = "no warning about the resize"
        findings.add(problem, out="too large", **where)
    findings.report()


@having(lambda case: case.out in ("cast", "any"))
def test_out_of_another_dtype(torch, case, device, mode):
    """A result is cast into out where that loses no kind of number, and refused elsewhere."""
    runtime = Runtime(torch, device, mode)
    findings = Findings()
    for where, call in out_calls(runtime, case):
        for other in ("float64", "float32", "int64", "int32", "bool"):
            names = [other] + call.dtypes[1:]
            if names == call.dtypes or library_devices.lacks(device, other):
                continue
            legal = can_cast(call.dtypes[0], other)
            outs, _ = call.room(dtypes=names)
            before = harness.snapshot(runtime, outs, {})
            try:
                result = call.run(outs)
            except (RuntimeError, TypeError) as error:
                if legal and case.out == "cast":
                    problem = f"{type(error).__name__}: {error}"
                else:
                    problem = harness.changed(runtime, before)
            except Exception as error:
                problem = f"{type(error).__name__}: {error}"
            else:
                problem = call.check(outs, result, names) if legal else "was accepted"
            findings.add(problem, out=other, **where)
    findings.report()


@having(lambda case: case.out and case.family in POINTWISE)
def test_out_with_overlap(torch, case, device, mode):
    """An out whose elements share memory is refused."""
    runtime = Runtime(torch, device, mode)
    findings = Findings()
    for where, call in out_calls(runtime, case):
        outs, bases = call.room(layout="expanded")
        if outs[0] is bases[0] or outs[0].numel() == 0:
            continue
        before = harness.snapshot(runtime, bases, {})
        try:
            call.run(outs)
            problem = "was accepted"
        except RuntimeError as error:
            text = "more than one element of the written-to tensor refers to a single memory"
            problem = None if text in str(error) else f"another error: {error}"
        findings.add(problem or harness.changed(runtime, before), **where)
    findings.report()


# --- meta ---------------------------------------------------------------------------------------


@having(lambda case: case.meta)
def test_meta(torch, case, device, mode):
    """On the meta device an op gives the shape, strides and dtype that it gives with data."""
    real, meta = Runtime(torch, device, mode), Runtime(torch, "meta", mode)
    findings = Findings()
    for dtype, number, sample, layout in calls(case, device):
        where = {"dtype": dtype, "layout": layout, "sample": number}
        arrays = harness.build_arrays(case, sample, dtype, layout)
        result, problem = attempt(real.call, case, *real.arguments(*arrays, layout))
        if problem:
            continue  # test_values reports it
        on_meta, problem = attempt(meta.call, case, *meta.arguments(*arrays, layout))
        if problem:
            findings.add(problem, **where)
            continue
        for one, other in zip(as_tuple(result), as_tuple(on_meta), strict=True):
            problem = None
            if other.device.type != "meta":
                problem = f"on {other.device}"
            elif (other.dtype, other.shape) != (one.dtype, one.shape):
                problem = f"{other.dtype} {tuple(other.shape)}, {one.dtype} {tuple(one.shape)}"
            elif harness.significant_strides(other) != harness.significant_strides(one):
                problem = f"strides {other.stride()}, with data {one.stride()}"
            elif case.view and other.storage_offset() != one.storage_offset():
                problem = f"offset {other.storage_offset()}, with data {one.storage_offset()}"
            findings.add(problem, **where)
    findings.report()


# --- errors -------------------------------------------------------------------------------------


def bad_call(case, wrong):
    sample = Sample(wrong.args, wrong.kwargs)
    return harness.build_arrays(case, sample, wrong.dtype)


@having(lambda case: case.bad)
def test_bad_input(torch, case, device, mode):
    """Bad calls raise torch's class with torch's words, and change nothing."""
    runtime = Runtime(torch, device, mode)
    for wrong in case.bad:
        if wrong.device not in (None, device):
            continue
        sample = Sample(wrong.args, wrong.kwargs)
        needed = harness.given_dtypes(sample, wrong.dtype)
        if case.family == "fft":  # which looks at spectra first
            needed.add("complex64")
        if library_devices.lacks(device, *needed):
            continue
        args, kwargs = runtime.arguments(*bad_call(case, wrong))
        before = harness.snapshot(runtime, args, kwargs)
        with pytest.raises(wrong.exception, match=wrong.match):
            runtime.call(case, args, kwargs)
        assert harness.changed(runtime, before) is None


@having(lambda case: set(case.dtypes) != set(ALL) and not case.creation)
def test_unsupported_dtype(torch, case, device, mode):
    """A dtype that the op does not take is refused, and nothing changes."""
    runtime = Runtime(torch, device, mode)
    findings = Findings()
    for dtype in ALL:
        samples = [s for s in case.samples if not s.only]
        if dtype in (*case.dtypes, *case.unchecked, *case.optional) or not samples:
            continue
        if library_devices.lacks(device, *harness.given_dtypes(samples[0], dtype)):
            continue
        arrays = harness.build_arrays(case, samples[0], dtype)
        args, kwargs = runtime.arguments(*arrays)
        before = harness.snapshot(runtime, args, kwargs)
        try:
            runtime.call(case, args, kwargs)
            findings.add("was accepted", dtype=dtype)
        except (RuntimeError, TypeError, ValueError):
            findings.add(harness.changed(runtime, before), dtype=dtype)
    findings.report()


# --- torch as the second oracle ------------------------------------------------------------------


def facts(runtime, case, arrays, layout):
    """What torch's answer is compared by: dtypes, shapes and strides, or the error's class. Values
    are NumPy's, but for random numbers, which are those of torch for the same seed.
    """
    try:
        results = as_tuple(runtime.call(case, *runtime.arguments(*arrays, layout)))
    except Exception as error:
        return type(error)
    found = []
    for result in results:
        strides = harness.significant_strides(result) if case.strides else ""
        found.append(f"{runtime.dtype_name(result)} {tuple(result.shape)} {strides}")
        if case.oracle is None and case.seeded:
            found.append(runtime.to_array(result).reshape(-1)[:4].tolist())
    return found


def all_facts(library, case, device="cpu"):
    """Of every call of a case, in all dtypes, also those that the op refuses."""
    runtime, found = Runtime(library, device), {}
    dtypes = case.dtypes
    if not case.creation:
        dtypes = [d for d in ALL if d not in case.optional]
        dtypes += [d for d in case.dtypes if d not in ALL]
    for dtype, number, sample, layout in calls(case, device, dtypes):
        arrays = harness.build_arrays(case, sample, dtype, layout)
        if dtype not in case.dtypes and harness.any_empty(*arrays):
            continue  # whether a dtype is looked at before the size is nobody's business
        found[f"{dtype}, {layout}, sample {number}"] = facts(runtime, case, arrays, layout)
    return found


def names_of_classes(library, case):
    return {
        call: found.__name__ if isinstance(found, type) else found
        for call, found in all_facts(library, case).items()
    }


def differs_from_torch(case, device, got, want) -> bool:
    if isinstance(want, str):
        # NotImplementedError is a RuntimeError: the narrower class is as good.
        return not isinstance(got, type) or want not in [base.__name__ for base in got.__mro__]
    if isinstance(got, type) or len(got) != len(want):
        return True
    for one, other in zip(got, want, strict=True):
        if isinstance(other, str):
            if one != other:
                return True
        elif device == "cpu":  # another device's random numbers are its own
            limits = harness.limits_for(case, got[0].split()[0])
            if harness.differs(np.array(one), np.array(other), limits):
                return True
    return False


@having(lambda case: True)
def test_same_as_torch(torch, torch_gives, case, device):
    theirs = torch_gives(names_of_classes, case, key=name_of(case))
    findings = Findings()
    for call, got in all_facts(torch, case, device).items():
        assert call in theirs, f"{call} is newer than torch's answers: {AGAIN}"
        if differs_from_torch(case, device, got, theirs[call]):
            findings.add(f"{got!r:.200}, torch {theirs[call]!r:.200}", call=call)
    findings.report()


@having(lambda case: case.bad)
def test_bad_input_of_torch(oracle, case):
    """The exceptions written in the case files are torch's."""
    runtime = Runtime(oracle)
    for wrong in case.bad:
        args, kwargs = runtime.arguments(*bad_call(case, wrong))
        with pytest.raises(wrong.exception, match=wrong.match):
            runtime.call(case, args, kwargs)


def test_every_dtype_is_known():
    """A dtype name in a case file is one of ours."""
    for case in CASES:
        assert set(case.dtypes) <= {*ALL, *COMPLEX}, case.label
        assert set(case.tolerance) <= {*FLOATS, *COMPLEX}, case.label
