"""Makes a range of calls in this process and writes each difference as a line of JSON.

What is being called is written to a file first, so that the parent can name it after a crash.
"""

import argparse
import contextlib
import faulthandler
import json
import math
import mmap
import random
import resource
import struct
import sys
import warnings

from tests.differential import arguments, compare, expressions

NOTE_BYTES = 1 << 16
# The number of the call plus one, the length of its text, and in how many calls torch raised.
HEADER = struct.Struct("<qqq")
VALUE_KINDS = ("value", "nan", "zero sign", "dtype", "shape", "length", "type", "mutation")


def note_text(data):
    """What a worker noted last: number and text of a call, and how often torch raised. The number
    is -1 before the first call; there is no text while torch is asked for the shape of an out=."""
    number, length, raised = HEADER.unpack_from(data)
    text = bytes(data[HEADER.size : HEADER.size + length]).decode(errors="replace")
    return number - 1, text, raised


class Outcome:
    """What one library made of a call."""

    def __init__(self):
        self.error = None
        self.setup_error = None
        self.result = None
        self.after = {}
        self.identity = None


class Comparer:
    def __init__(self, seed, device="cpu", mode="eager", op=None):
        import mindtorch_v2 as ours
        import torch

        torch.set_num_threads(1)
        ours.set_num_threads(1)
        self.torch, self.ours = torch, ours
        self.seed, self.device, self.mode = seed, device, mode
        self.raised = 0
        self.calls = arguments.Calls(arguments.entries(ours, torch), device)
        self.by_name = {}
        for entry in self.calls.entries:
            if op is None or op in (entry.name, entry.path, entry.base):
                self.by_name.setdefault(entry.name, []).append(entry)
        self.names = sorted(self.by_name)
        self.expressions = [expressions.operator] * 2 + [expressions.indexing] * 3
        if op is not None:
            self.expressions = [f for f in self.expressions if f.__name__ == op]
        if not self.names and not self.expressions:
            raise SystemExit(f"no op is called {op}")

    # --- making calls ----------------------------------------------------------------------

    def write(self, number):
        """The call with this number."""
        picked = random.Random((self.seed << 44) ^ number)
        share = 0.0 if not self.expressions else 0.15 if self.names else 1.0
        if picked.random() < share:
            return picked.choice(self.expressions)(picked, self.device)[0]
        entry = picked.choice(self.by_name[picked.choice(self.names)])
        call, writer = self.calls.of(entry, picked)
        if call.needs_out:
            self.add_out(call, writer)
        return call

    def add_out(self, call, writer):
        # Asking torch first gives most calls an out= of the right shape and dtype.
        scope = self.scope(self.torch)
        try:
            exec("\n".join([*call.setup, call.action]), scope)
            result = scope["r"]
        except Exception:
            result = None
        if isinstance(result, self.torch.Tensor):
            result = (result,)
        specs = []
        if isinstance(result, (tuple, list)):
            for each in result:
                if isinstance(each, self.torch.Tensor):
                    specs.append((tuple(each.shape), str(each.dtype).removeprefix("torch.")))
        if not specs:
            specs = [(writer.shape(), writer.dtype) for _ in range(call.needs_out)]
        inputs = call.variables if call.may_overlap else []
        texts = arguments.out_statements(writer, specs, inputs)
        text = texts[0] if len(texts) == 1 else "(" + ", ".join(texts) + ")"
        if writer.chance(0.02):
            text = writer.pick("None", "5", "[a]" if "a" in writer.variables else "[]", "'a'")
        comma = "" if call.action.endswith("()") else ", "
        call.op += "(out=)"
        call.action = f"{call.action[:-1]}{comma}out={text})"
        call.variables = list(writer.variables)

    # --- running them ----------------------------------------------------------------------

    def scope(self, module):
        device = self.device if module is self.ours else "cpu"
        return {"torch": module, "inf": math.inf, "nan": math.nan, "device": device}

    def run(self, module, setup, action, is_random):
        outcome = Outcome()
        scope = self.scope(module)
        deferred = module is self.ours and self.mode == "pipeline"
        try:
            with module.pipeline() if deferred else contextlib.nullcontext():
                exec(setup, scope)
                if is_random:
                    module.manual_seed(7)
                try:
                    exec(action, scope)
                except Exception as error:
                    outcome.error = error
        except Exception as error:
            if not deferred:
                outcome.setup_error = error
            else:
                outcome.error = outcome.error or error
            return outcome, scope
        return outcome, scope

    def observe(self, outcome, scope, module, names):
        if outcome.error is None:
            outcome.result = compare.capture(scope.get("r"), module)
            result = scope.get("r")
            if isinstance(result, module.Tensor) and result.numel():
                where = result.untyped_storage().data_ptr()
                outcome.identity = [
                    (scope[n] is result, scope[n].untyped_storage().data_ptr() == where)
                    for n in names
                ]
        for name in names:
            outcome.after[name] = compare.Snapshot(scope[name], module)

    def differences(self, call):
        """[(kind, detail)] of one call."""
        setup = compile("\n".join(call.setup), "<setup>", "exec")
        try:
            action = compile(call.action, "<call>", "exec")
        except SyntaxError as error:
            return [("harness", f"{error}: {call.action}")]
        base = compare.plain_name(call.op.removesuffix("(out=)"))
        is_random = base in arguments.RANDOM
        want, want_scope = self.run(self.torch, setup, action, is_random)
        got, got_scope = self.run(self.ours, setup, action, is_random)
        if want.setup_error or got.setup_error:
            if bool(want.setup_error) != bool(got.setup_error):
                return [("setup", f"torch: {want.setup_error!r}; ours: {got.setup_error!r}")]
            return [("harness", repr(want.setup_error))]
        names = [n for n in want_scope if len(n) == 1 and n != "r" and n in got_scope]
        undefined = base in arguments.UNDEFINED or base + "_" in arguments.UNDEFINED
        try:
            self.observe(want, want_scope, self.torch, names)
        except Exception as error:
            return [("torch", f"its result cannot be read: {error!r}")]
        try:
            self.observe(got, got_scope, self.ours, names)
        except Exception as error:
            # What a failed flush was to write raises its error when it is read.
            if got.error is not None and self.mode != "pipeline":
                return [("value", f"reading afterwards: {error!r}")]
            got.error, names = got.error or error, []
        self.raised += want.error is not None
        if want.error is None and got.error is None:
            return self.values(call, want, got, undefined, setup)
        if want.error is None:
            return [("refused", f"{type(got.error).__name__}: {got.error}")]
        if got.error is None:
            return [("accepted", f"{type(want.error).__name__}: {want.error}")]
        return self.errors(want, got, setup, names)

    def ours_alone(self, call):
        """Makes a call without torch."""
        setup, action = ("\n".join(call.setup), call.action)
        outcome, scope = self.run(self.ours, setup, action, False)
        names = [n for n in scope if len(n) == 1 and n != "r"]
        with contextlib.suppress(Exception):
            self.observe(outcome, scope, self.ours, names)

    def values(self, call, want, got, undefined, setup):
        kind = compare.tolerance(call.op.removesuffix("(out=)"), call.action)
        base = compare.plain_name(call.op.removesuffix("(out=)"))
        if base in arguments.RANDOM:
            kind = kind or "few"
        # Integers are computed with as float32.
        limits = {
            s.dtype if s.dtype in compare.RELATIVE else "float32" for s in want.after.values()
        }
        scale = compare.scale_of(want.after.values()) if kind == "sum" else 1.0
        found = compare.results_differ(want.result, got.result, kind, scale, limits)
        if undefined:
            found = [f for f in found if f not in ("value", "nan", "zero sign")]
        if set(found) & {"value", "zero sign"} and base in compare.TIES:
            stable = "stable=True" in call.action
            if not stable and compare.differ_in_ties_only(want.result, got.result):
                found = ["ties"]
        if not set(found) & {*VALUE_KINDS, "ties"} and not undefined:
            for name, before in want.after.items():
                other = compare.results_differ(before, got.after[name], kind, scale, limits)
                if set(other) & set(VALUE_KINDS):
                    found.append("mutation")
                    break
        if want.identity != got.identity and not found:
            found.append("alias")
        detail = f"torch: {shown(want)}; ours: {shown(got)}"
        if "value" in found or "zero sign" in found or "nan" in found:
            detail = f"{compare.first_difference(want.result, got.result)}{detail}"
        return [(each, detail) for each in found]

    def errors(self, want, got, setup, names):
        found = []
        first, second = compare.first_line(want.error), compare.first_line(got.error)
        classes = type(want.error).__name__, type(got.error).__name__
        if classes[0] != classes[1]:
            found.append(("class", f"torch: {classes[0]}: {first}; ours: {classes[1]}: {second}"))
        elif first != second:
            found.append(("text", json.dumps([first, second])))
        scope = self.scope(self.torch)
        exec(setup, scope)
        for name in names:
            before = compare.Snapshot(scope[name], self.torch)
            kinds = compare.results_differ(before, got.after[name], "", 1.0, ())
            if kinds and not compare.results_differ(before, want.after[name], "", 1.0, ()):
                found.append(("mutation", f"after the error {name} has another {kinds[0]}"))
                break
        return found


def shown(outcome):
    result = outcome.result
    if isinstance(result, compare.Snapshot):
        return f"{result.text()} strides {result.stride} offset {result.offset}"
    if isinstance(result, list):
        parts = [r.text() if isinstance(r, compare.Snapshot) else str(r) for r in result[1]]
        return f"{result[0]}({', '.join(parts)})"[:600]
    return repr(result)[:300]


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--stop", type=int, default=1000)
    parser.add_argument("--op")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--mode", default="eager")
    parser.add_argument("--note", required=True)
    parser.add_argument("--only-ours", action="store_true", help="after a crash: whose was it?")
    options = parser.parse_args(argv)
    faulthandler.enable()
    warnings.simplefilter("ignore")
    comparer = Comparer(options.seed, options.device, options.mode, options.op)
    # Far more than any call needs: what asks for more is to fail here as it would on any machine.
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (3 << 30),) * 2)
    with open(options.note, "r+b") as file:
        note = mmap.mmap(file.fileno(), NOTE_BYTES)
    for number in range(options.start, options.stop):
        HEADER.pack_into(note, 0, number + 1, 0, comparer.raised)
        call = comparer.write(number)
        text = "; ".join(call.lines()).encode()[: NOTE_BYTES - HEADER.size]
        note[HEADER.size : HEADER.size + len(text)] = text
        HEADER.pack_into(note, 0, number + 1, len(text), comparer.raised)
        if options.only_ours:
            comparer.ours_alone(call)
            continue
        for kind, detail in comparer.differences(call):
            row = {"number": number, "op": call.op, "kind": kind, "detail": detail}
            print(json.dumps({**row, "text": text.decode()}), flush=True)
    print(json.dumps({"done": options.stop}), flush=True)


if __name__ == "__main__":
    sys.exit(main())
