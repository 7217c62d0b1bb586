"""Settings of how exactly ops compute: each acts, or says once that it does not."""

import subprocess
import sys

import pytest

TRIALS = {
    "torch.set_float32_matmul_precision('high')": "every device here multiplies float32 matrices",
    "torch.backends.cuda.matmul.allow_tf32 = True": "every device here multiplies float32 matrices",
    "torch.backends.cuda.matmul.fp32_precision = 'tf32'": "every device here multiplies float32",
    "torch.backends.cuda.matmul.allow_fp16_accumulation = True": "no device here knows it",
    "torch.backends.cudnn.benchmark = True": "there is no cuDNN here",
    "torch.backends.cudnn.benchmark_limit = 3": "there is no cuDNN here",
    "torch.backends.cudnn.allow_tf32 = True": "convolutions of float32 are exact here",
    "torch.backends.cuda.preferred_linalg_library('magma')": "no library of NVIDIA's",
}
SILENT = [
    "torch.set_float32_matmul_precision('highest')",
    "torch.backends.cuda.matmul.allow_tf32 = False",
    "torch.backends.cuda.matmul.fp32_precision = 'ieee'",
    "torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False",
    "torch.backends.cudnn.benchmark = False",
    "torch.backends.cudnn.deterministic = True",
    "torch.backends.cudnn.enabled = False",
    "torch.backends.cuda.preferred_blas_library('default')",
    "torch.use_deterministic_algorithms(True)",
]


def run(*lines):
    """What a program warns of, on a machine without accelerators."""
    program = "\n".join(
        [
            "import os, warnings",
            "os.environ['MINDTORCH_NPU'] = 'off'",
            "import mindtorch_v2 as torch",
            "with warnings.catch_warnings(record=True) as caught:",
            "    warnings.simplefilter('always')",
            *(f"    {line}" for line in lines),
            "for warning in caught: print(warning.filename, warning.message)",
        ]
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("line", TRIALS)
def test_what_does_nothing_says_so_once(line):
    [warning] = run(line, line)
    assert warning.startswith("<string> torch."), warning
    assert f"has no effect: {TRIALS[line]}" in warning


def test_what_is_so_anyway_is_silent():
    assert run(*SILENT) == []


def test_every_setting_speaks_for_itself():
    assert len(run(*TRIALS, *TRIALS)) == len(TRIALS)


def test_one_precision_under_three_names(torch):
    import warnings

    matmul = torch.backends.cuda.matmul
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        matmul.allow_tf32 = True
        assert torch.get_float32_matmul_precision() == "high" and matmul.fp32_precision == "tf32"
        torch.set_float32_matmul_precision("highest")
        assert not matmul.allow_tf32 and matmul.fp32_precision == "ieee"
        with pytest.raises(AttributeError, match="Unknown attribute foo"):
            matmul.foo = 1
        with pytest.raises(RuntimeError, match="^Unknown precision: fast$"):
            matmul.fp32_precision = "fast"


def given_back(torch):
    """What settings of products are after they were set to this and that, or the error."""
    matmul, found = torch.backends.cuda.matmul, {}
    reduction = "allow_bf16_reduced_precision_reduction"
    trials = {
        "fp32_precision": ("tf32", "ieee", "none", "bf16", "bad", 1, None, True),
        "allow_tf32": (True, 1, "high", None, False),
        "allow_fp16_accumulation": (True, 0, [True], False),
        reduction: (False, True, 1, None, (True,), (True, False), (), [True] * 3, (1,), (True, 1)),
    }
    for name, values in trials.items():
        for value in values:
            try:
                setattr(matmul, name, value)
                found[f"{name} = {value!r}"] = str(getattr(matmul, name))
            except Exception as error:
                found[f"{name} = {value!r}"] = f"{type(error).__name__}: {error}"
    setattr(matmul, reduction, (False, False))
    found["parts"] = [getattr(matmul, reduction), getattr(matmul, f"{reduction}_split_k")]
    setattr(matmul, reduction, True)
    return found


def test_settings_of_products_like_torch(torch, torch_gives):
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert given_back(torch) == torch_gives(given_back)


def precisions(torch):
    """fp32_precision of each library and kind of op, as it was given back or refused, and what one
    setting makes of the others."""
    b, found = torch.backends, {}
    places = {
        "all": b,
        "cuda.matmul": b.cuda.matmul,
        "cudnn": b.cudnn,
        "cudnn.conv": b.cudnn.conv,
        "cudnn.rnn": b.cudnn.rnn,
        "mkldnn.matmul": b.mkldnn.matmul,
        "mkldnn.conv": b.mkldnn.conv,
        "mkldnn.rnn": b.mkldnn.rnn,
    }

    def all_of_them():
        return {name: place.fp32_precision for name, place in places.items()}

    def changed(place, name, value):
        before = getattr(place, name)
        try:
            setattr(place, name, value)
            return all_of_them()
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        finally:
            setattr(place, name, before)

    def reset():
        for place in places.values():
            place.fp32_precision = "none"

    reset()
    for name, place in places.items():
        for value in ("ieee", "tf32", "bf16", "none", "fast", 3):
            found[f"{name} = {value!r}"] = changed(place, "fp32_precision", value)
    for value in (False, True):
        b.cudnn.allow_tf32 = value
        found[f"cudnn.allow_tf32 = {value}"] = all_of_them()
    for value in ("high", "medium", "highest"):
        torch.set_float32_matmul_precision(value)
        found[value] = all_of_them()
    for name in ("cudnn.conv", "mkldnn.matmul"):
        for call in (getattr, setattr):
            try:
                call(places[name], "other", *([1] if call is setattr else []))
            except Exception as error:
                found[f"{call.__name__} {name}"] = f"{type(error).__name__}: {error}"
    reset()
    return found


def test_precisions_of_libraries_like_torch(torch, torch_gives):
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert precisions(torch) == torch_gives(precisions)
