"""What torch answered, kept in files: comparisons with torch run where it is not installed.

A test asks the fixture `torch_gives`, with a program that takes the library:

    theirs = torch_gives(run, text)            # run(torch, text), in torch
    assert_same(run(mindtorch_v2, text), theirs)

Where torch is installed, the program runs in it. Elsewhere the answer comes from the folder
`torch_answers` beside the test, by the name of the test. To write these files, with torch:

    python -m pytest --record-torch tests/optim

Answers are plain objects, tensors and arrays, nested in lists, tuples and dicts. Tensors come back
as those of the package under test, whichever way they came. Of long ones, some elements are kept:
`Sample`.
"""

import builtins
import collections
import importlib
import importlib.util
import json
import lzma
import pathlib

import numpy
import pytest

TORCH_INSTALLED = importlib.util.find_spec("torch") is not None
FOLDER = "torch_answers"
AGAIN = "with torch installed, run this test with --record-torch (tests/README.md)"
LONG = 48  # elements of a tensor that are all kept
MANY = 300  # elements of an array of NumPy that are all kept
SHORT = 4  # elements that are written as numbers
READABLE = 50_000  # characters of a file that is not compressed


class Sample:
    """Some elements of a long tensor: at most LONG, evenly spread, and the last one."""

    def __init__(self, dtype, shape, values):
        self.dtype, self.shape, self.values = dtype, tuple(shape), values

    @staticmethod
    def of(array):
        flat = numpy.asarray(array).reshape(-1)
        return numpy.append(flat[:: -(-flat.size // LONG)], flat[-1:])


def name_of(dtype):
    return str(dtype).removeprefix("torch.")


def encode_tensor(tensor, torch):
    tensor = tensor.detach().resolve_conj().resolve_neg()
    about = {"tensor": name_of(tensor.dtype), "shape": list(tensor.shape)}
    count = tensor.numel()
    if count > LONG:
        flat = tensor.reshape(-1)
        step = -(-count // LONG)
        about["sample"] = encode_tensor(flat[::step], torch)
        about["last"] = encode_tensor(flat[-1:], torch)
        return about
    if not tensor.is_contiguous():
        about["stride"] = list(tensor.stride())
    if count <= SHORT and not tensor.is_complex():
        about["values"] = tensor.reshape(-1).tolist()
    elif count:
        data = tensor.contiguous().reshape(-1).view(torch.uint8)
        about["bytes"] = data.numpy().tobytes().hex()
    return about


def decode_tensor(about):
    import mindtorch_v2 as torch

    device = torch.get_default_device()
    with torch.device("cpu"):
        kept = decode_on_cpu(about, torch)
    return kept if isinstance(kept, Sample) else kept.to(device)


def decode_on_cpu(about, torch):
    dtype, shape = getattr(torch, about["tensor"]), about["shape"]
    if "sample" in about:
        values = [decode_on_cpu(about[key], torch).double().numpy() for key in ("sample", "last")]
        return Sample(dtype, shape, numpy.concatenate(values))
    if "values" in about:
        tensor = torch.tensor(about["values"], dtype=dtype).reshape(shape)
    elif "bytes" in about:
        data = bytearray(bytes.fromhex(about["bytes"]))
        tensor = torch.frombuffer(data, dtype=torch.uint8).view(dtype).reshape(shape)
    else:
        tensor = torch.empty(shape, dtype=dtype)
    if "stride" in about:
        tensor = torch.empty_strided(shape, about["stride"], dtype=dtype).copy_(tensor)
    return tensor


def encode(value, torch):
    """An answer of the library `torch` as JSON has it."""
    if isinstance(value, numpy.generic):
        return value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if type(value) is list:
        return [encode(each, torch) for each in value]
    if isinstance(value, tuple):
        return {"tuple": [encode(each, torch) for each in value]}
    if isinstance(value, dict):
        return {"dict": [[encode(key, torch), encode(each, torch)] for key, each in value.items()]}
    if isinstance(value, (set, frozenset)):
        return {"set": [encode(each, torch) for each in sorted(value)]}
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if isinstance(value, complex):
        return {"complex": [value.real, value.imag]}
    if isinstance(value, numpy.ndarray) and value.size > MANY:
        values = encode(Sample.of(value), torch)
        return {"few": values, "dtype": value.dtype.str, "shape": list(value.shape)}
    if isinstance(value, numpy.ndarray):
        return {
            "array": value.dtype.str,
            "shape": list(value.shape),
            "bytes": value.tobytes().hex(),
        }
    if isinstance(value, type) and getattr(builtins, value.__name__, None) is value:
        return {"class": value.__name__}
    if type(value).__name__ == "dtype":
        return {"dtype": name_of(value)}
    if hasattr(value, "detach") and not value.is_sparse:
        return encode_tensor(value, torch)
    raise TypeError(f"cannot keep {type(value)}: {value!r:.100}")


def decode(kept):
    if isinstance(kept, list):
        return [decode(each) for each in kept]
    if not isinstance(kept, dict):
        return kept
    if "tensor" in kept:
        return decode_tensor(kept)
    if "few" in kept:
        return Sample(numpy.dtype(kept["dtype"]), kept["shape"], decode(kept["few"]))
    if "array" in kept:
        data = numpy.frombuffer(bytes.fromhex(kept["bytes"]), dtype=kept["array"])
        return data.reshape(kept["shape"]).copy()
    ((kind, value),) = kept.items()
    if kind == "dtype":
        import mindtorch_v2

        return getattr(mindtorch_v2, value)
    return {
        "tuple": lambda: tuple(decode(each) for each in value),
        "dict": lambda: {decode(key): decode(each) for key, each in value},
        "set": lambda: {decode(each) for each in value},
        "bytes": lambda: bytes.fromhex(value),
        "complex": lambda: complex(*value),
        "class": lambda: getattr(builtins, value),
    }[kind]()


class Answers:
    """The answers for the tests of one module."""

    def __init__(self, module):
        folder = pathlib.Path(module).parent / FOLDER
        self.plain = folder / (pathlib.Path(module).stem + ".json")
        self.packed = self.plain.with_suffix(".json.xz")
        self.kept, self.changed = {}, False
        if self.plain.exists():
            self.kept = json.loads(self.plain.read_text())
        elif self.packed.exists():
            self.kept = json.loads(lzma.decompress(self.packed.read_bytes()))

    def keep(self, key, answer):
        self.kept[key] = answer
        self.changed = True

    def write(self):
        if not self.changed:
            return
        lines = [
            f"{json.dumps(key)}: {json.dumps(self.kept[key], separators=(',', ':'))}"
            for key in sorted(self.kept)
        ]
        text = "{\n" + ",\n".join(lines) + "\n}\n"
        for path in (self.plain, self.packed):
            path.unlink(missing_ok=True)
        self.plain.parent.mkdir(exist_ok=True)
        if len(text) <= READABLE:
            self.plain.write_text(text)
        else:
            self.packed.write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))


def pytest_addoption(parser):
    parser.addoption(
        "--record-torch", action="store_true", help="keep what torch answers; tests/support"
    )


def leave_out_the_oracle(config, items):
    """Tests of torch itself: what is written in a test is what torch does."""
    if TORCH_INSTALLED:
        return
    chosen = [item for item in items if "oracle" not in getattr(item, "fixturenames", ())]
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = chosen


@pytest.fixture
def oracle():
    """torch itself. Tests that take it are left out where it is not installed."""
    return importlib.import_module("torch")


@pytest.fixture(scope="module")
def torch_answers(request):
    answers = Answers(request.path)
    yield answers
    answers.write()


@pytest.fixture
def torch_gives(request, torch_answers):
    """What a program gives in torch; `key` where several tests ask the same."""
    times = collections.Counter()

    def ask(program, *arguments, key=None, **options):
        key = key or request.node.name
        times[key] += 1
        if times[key] > 1:
            key = f"{key} #{times[key]}"
        if TORCH_INSTALLED:
            torch = importlib.import_module("torch")
            answer = json.loads(json.dumps(encode(program(torch, *arguments, **options), torch)))
            if request.config.getoption("--record-torch"):
                torch_answers.keep(key, answer)
        else:
            assert key in torch_answers.kept, f"torch's answer to {key} is not kept: {AGAIN}"
            answer = torch_answers.kept[key]
        return decode(answer)

    return ask
