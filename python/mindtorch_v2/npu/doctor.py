"""python -m mindtorch_v2.npu.doctor: is there an NPU, and if not, why; does every op work on it.

Prints what was looked for and found, versions, devices, missing functions, and a test of every op
on the device against the CPU, with advice. The exit status is 0 when all is well.

>>> torch.npu.doctor.examine(ops=["add", "matmul"]).healthy
True
"""

import argparse
import dataclasses
import doctest
import io
import sys

import mindtorch_v2 as torch
from mindtorch_v2 import _C
from mindtorch_v2.npu import _doctor_cases

_ADVICE = {
    "off": "MINDTORCH_NPU=off keeps torch.npu from looking. Unset it, or set it to auto.",
    "missing": (
        "Install CANN's runtime and kernels, and run `source <CANN>/set_env.sh` first, which sets "
        "ASCEND_HOME_PATH and LD_LIBRARY_PATH. To work without a card: MINDTORCH_NPU=sim."
    ),
    "no device": (
        "CANN is installed but finds no device: see `npu-smi info`, the driver, the rights on "
        "/dev/davinci*, and in a container whether the devices are passed in."
    ),
    "old": "This CANN lacks functions that are needed; version 8.0 or newer has them.",
    "ops": "Newer versions of CANN's op packages may have the missing ops; others work.",
}


@dataclasses.dataclass
class Diagnosis:
    """What was found out."""

    report: dict
    versions: dict
    devices: list
    missing_ops: list
    results: dict  # {op: "ok", or what is wrong}
    advice: list

    @property
    def healthy(self):
        """Whether there is a device and every op gives what the CPU gives."""
        return bool(self.devices) and all(map(_is_right, self.results.values()))


def _is_right(result):
    return result == "ok" or result.startswith("not ")


def _values(text, device):
    """What the expressions of an example give when tensors are made on a device."""
    names = {"torch": torch, "F": torch.nn.functional}
    found = []
    torch.manual_seed(0)
    before = torch.get_default_device()
    torch.set_default_device(device)
    try:
        for example in doctest.DocTestParser().get_examples(text):
            try:
                found.append(eval(compile(example.source, "<example>", "eval"), names))
            except SyntaxError:
                exec(compile(example.source, "<example>", "exec"), names)
    finally:
        torch.set_default_device(before)
    return found


def _differs(want, got, random):
    """What is wrong with a value, or None."""
    if isinstance(want, torch.Tensor):
        if (want.shape, want.dtype) != (got.shape, got.dtype):
            return f"gives {got.dtype}{list(got.shape)}, not {want.dtype}{list(want.shape)}"
        if random:
            return None
        try:
            torch.testing.assert_close(got.cpu(), want, rtol=2e-3, atol=2e-3, equal_nan=True)
        except AssertionError as error:
            return str(error).splitlines()[0]
        return None
    if isinstance(want, (tuple, list)):
        pairs = zip(want, got, strict=True)
        return next((wrong for a, b in pairs if (wrong := _differs(a, b, random))), None)
    free = random or isinstance(want, (str, torch.device))
    return None if free or want == got else f"gives {got}"


def check_op(op):
    """Runs an op's own example on the device and on the CPU: "ok", or what is wrong."""
    text = _doctor_cases.example(op)
    if not text:
        return "not tested: no example"
    if "npu" not in op["devices"] and op["kind"] not in ("view", "composite", "mutation"):
        return "not on npu"
    try:
        want = _values(text, "cpu")
    except Exception as error:
        return f"not tested: the example needs more than an op ({error})"
    try:
        got = _values(text, "npu")
        torch.npu.synchronize()
        return _differs(want, got, random="generator" in op["schema"]) or "ok"
    except Exception as error:
        what = str(error).splitlines()[0]
        # CANN's own answer where an op does not know a dtype.
        if isinstance(error, NotImplementedError) or "ACLNN_ERR_PARAM_INVALID" in what:
            return f"not supported: {what}"
        return f"{type(error).__name__}: {what}"


def _advice(report, devices, missing, results):
    if report["choice"] == "off":
        yield _ADVICE["off"]
    elif report["missing_required"]:
        yield _ADVICE["old"]
    elif "no device" in report["reason"]:
        yield _ADVICE["no device"]
    elif not report["usable"]:
        yield _ADVICE["missing"]
    elif missing:
        yield _ADVICE["ops"]
    wrong = [op for op, result in results.items() if not _is_right(result)]
    if wrong:
        yield (
            f"{len(wrong)} ops give something else than the CPU. Run again with "
            "ACL_LAUNCH_BLOCKING=1, and report it with this text."
        )


def examine(ops=None):
    """Looks at everything; `ops` are names of the ops to test, None for all."""
    report = _C._npu_load_report()
    devices = []
    if report["usable"]:
        devices = [torch.npu.get_device_properties(i) for i in range(torch.npu.device_count())]
    missing = _C._npu_missing_ops() if report["usable"] else []
    results = {}
    if devices:
        for op in _C._op_schemas():
            if op["form"] == "primary" and (ops is None or op["name"] in ops):
                results[op["full_name"]] = check_op(op)
    advice = list(_advice(report, devices, missing, results))
    return Diagnosis(report, _C._npu_versions(), devices, missing, results, advice)


def describe(diagnosis, verbose=False):
    """The diagnosis as text."""
    out = io.StringIO()

    def say(*words):
        print(*words, file=out)

    report = diagnosis.report
    say(f"MINDTORCH_NPU={report['choice']}")
    say("Looked for")
    for library, path, reason in report["attempts"]:
        if verbose or not reason:
            say(f"  {library}: {path}{': ' + reason if reason else ': found'}")
    tried = {library for library, _, reason in report["attempts"]}
    found = {library for library, _, reason in report["attempts"] if not reason}
    # Of the libraries of ops one set is enough.
    for library in sorted(tried - found) if verbose or not report["usable"] else ():
        places = [path for name, path, _ in report["attempts"] if name == library]
        say(f"  {library}: not found ({len(places)} places)")
    if report["reason"]:
        say(f"Nothing can be used: {report['reason']}")
    if report["simulated"] and report["usable"]:
        say("This is the simulator; there is no card.")
    for package, version in diagnosis.versions.items():
        say(f"Version of {package}: {version}")
    for name in report["missing_required"]:
        say(f"Missing, and needed: {name}")
    if report["missing_optional"]:
        say(f"Missing, not needed: {', '.join(report['missing_optional'])}")
    if report["usable"]:
        used = len(_C._npu_used_ops())
        say(f"ACLNN ops: {used - len(diagnosis.missing_ops)} of the {used} that are used are there")
        for name in diagnosis.missing_ops:
            say(f"  missing: {name}")
    for index, device in enumerate(diagnosis.devices):
        say(f"npu:{index}: {device.name}, {device.total_memory >> 20} MiB")
    _say_results(say, diagnosis.results, verbose)
    for text in diagnosis.advice:
        say(f"Advice: {text}")
    say("All is well." if diagnosis.healthy else "Not all is well.")
    return out.getvalue()


def _say_results(say, results, verbose):
    if not results:
        return
    right = sum(result == "ok" for result in results.values())
    untested = sum(result.startswith("not ") for result in results.values())
    say(f"Ops that agree with the CPU: {right}; not on the device or not tested: {untested}")
    for op, result in sorted(results.items()):
        if verbose or not _is_right(result):
            say(f"  {op}: {result}")


def main(arguments=None):
    """The command."""
    parser = argparse.ArgumentParser(
        prog="python -m mindtorch_v2.npu.doctor",
        description="Is there an NPU, and if not, why; does every op work on it.",
    )
    parser.add_argument("--verbose", action="store_true", help="every place and every op")
    parser.add_argument("--no-ops", action="store_true", help="leave the test of the ops out")
    chosen = parser.parse_args(arguments)
    diagnosis = examine(ops=[] if chosen.no_ops else None)
    print(describe(diagnosis, chosen.verbose), end="")
    return 0 if diagnosis.healthy else 1


if __name__ == "__main__":
    sys.exit(main())
