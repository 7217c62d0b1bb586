"""Tests of whole folders on another device than the CPU: `pytest tests/func --device npu`.

The device becomes the default one, so that a test which names none makes its tensors there. Two
lists say what such a run leaves to the CPU, and why; stale_rows.py finds what they need no longer
say.
"""

import fnmatch
import re

import pytest

from tests.ops.case import COMPLEX
from tests.ops.unsupported import MATRIX_PRODUCTS, NO_COMPLEX, NO_FLOAT64

FOLDERS = ("amp", "autograd", "distributions", "func", "memory", "nn", "optim", "sparse")

# Tests of the CPU itself, or of processes of their own, by file and test: they are not collected.
OF_THE_CPU = {
    "autograd/*printing": "the texts of tensors on the CPU",
    "autograd/test_checkpoint.py::test_gives[[]another_second_run": "a text that names the CPU",
    "optim/test_refused_options.py::test_capturable_needs": "it says so of the CPU",
    "memory/test_[!l]*": "the CPU's memory, and programs and drivers of their own",
    # Each device draws numbers of its own.
    **dict.fromkeys(
        [
            "nn/*[[]*Dropout",
            "nn/*[[]*dropout=",
            "nn/*[[]*RReLU",
            "nn/*[[]*FractionalMaxPool",
            "nn/*[[]*nn.Lazy",
            "nn/*[[]nn.Transformer",
            "nn/test_init.py",
            "nn/test_utils.py::test_parametrizations",
            "nn/test_utils.py::test_pruning",
            "nn/test_functional_like_torch.py*alpha_dropout",
            "nn/test_functional_like_torch.py*gumbel",
            "nn/test_functional_like_torch.py*fractional",
        ],
        "numbers that the CPU draws",
    ),
    "nn/test_layers_like_torch.py*[[]nn.Parameter": "texts that name the CPU's tensors",
    **dict.fromkeys(
        [
            "nn/test_embedding_bag.py::test_each_sample_has_bounds",
            "nn/test_embedding_bag.py::test_indices_of_no_row",
            "nn/test_fused_gradients.py::test_targets_are_checked",
            "nn/test_mistakes.py*F.embedding(",
            "nn/test_mistakes.py*CrossEntropyLoss()(f(2, 3), t",
            "nn/test_mistakes.py*NLLLoss()(f(2, 3), t",
            "nn/test_refused_arguments.py::test_binary_cross_entropy_takes",
        ],
        "a device looks at values later, and reports them as its own error",
    ),
    "nn/test_embedding_bag.py::test_mistakes": "texts that name the CPU's tensors",
    "nn/test_files_of_torch.py*[[]nn.Parameter": "texts that name the CPU's tensors",
    "nn/test_module.py::test_expected[[]error_texts": "texts that name the CPU's tensors",
    # CANN resizes by products of matrices, and its windows begin with the least finite number.
    "nn/test_interpolate.py::test_infinities": "where 0 times infinity is NaN",
    "nn/test_pooling.py::test_dilated_windows_beside": "where nothing is seen it gives that",
    "nn/test_recurrent_passes.py::test_bits_depend_neither_on_threads": "threads of the CPU",
    "nn/test_thread_counts.py": "threads of the CPU",
    "optim/test_optimizer.py::test_expected[[]mistakes": "a text that names the CPU's tensors",
    "sparse/test_like_torch.py::test_expression[[]repr(": "the texts of tensors on the CPU",
    "sparse/test_like_torch.py::test_expression[[]str(": "the texts of tensors on the CPU",
    "sparse/test_processes.py": "what processes share is the CPU's memory",
    "sparse/test_sparse.py::test_large": "threads of the CPU",
    "sparse/test_sparse.py::test_indices_out": "a device reports such an index later, as its own",
    "sparse/test_sparse.py::test_dense_tensors_check": "a device reports such an index later",
    "sparse/test_sparse_gradients.py::test_added_up": "torch merges sums on the CPU only",
    "sparse/test_sparse_gradients.py::test_sums": "torch merges sums on the CPU only",
    # The ops that autocast knows are other ones for each device: tests/npu/test_autocast.py.
    "amp/test_dtypes.py": "lists of ops for the CPU",
    "amp/test_autocast.py::test_losses": "tests/npu/test_autocast.py has those of NPUs",
}

LAYERS = {
    "adaptive_max_pool2d", "avg_pool2d", "avg_pool3d", "max_pool2d_with_indices",
    "max_pool3d_with_indices", "embedding_dense_backward",
    "_scaled_dot_product_flash_attention",
    "_adaptive_avg_pool2d", "_batch_norm", "_fused_rms_norm", "addmm", "convolution", "mm",
    "native_group_norm", "native_layer_norm", "nll_loss2d_forward", "nll_loss_forward",
}  # fmt: skip

FUSED_ADAM = {"_fused_adam_", "_fused_adamw_"}

ANY = {"float16", "bfloat16", "float32", "float64"}
DRAWN = {"_sample_dirichlet", "_standard_gamma", "binomial", "poisson"}
DECOMPOSED = {"_linalg_cholesky", "_linalg_svd"}

# What a device refuses: names of ops, the dtypes, and why. A test ends at such a call, as expected
# to fail; any other call that is refused fails.
REFUSED = {
    "npu": (
        (NO_COMPLEX | {"lerp_scalar"}, COMPLEX, "CANN has it for real numbers only"),
        ({"abs"}, {"complex128"}, "CANN has the length of complex64 only"),
        (DRAWN, ANY, "CANN has no op that draws these"),
        (DECOMPOSED, ANY, "CANN has no decompositions"),
        ({"i0", "i0e", "i1", "i1e", "igamma"}, ANY, "CANN has no such special function"),
        (NO_FLOAT64, {"float64"}, "CANN's op takes float16, bfloat16 and float32"),
        ({"randn"}, COMPLEX, "CANN draws real numbers only"),
        (LAYERS | MATRIX_PRODUCTS, {"float64"}, "CANN's op takes float16, bfloat16 and float32"),
        (FUSED_ADAM, {"float64"}, "CANN steps parameters of float16, bfloat16 and float32"),
        (MATRIX_PRODUCTS | {"dot"}, COMPLEX, "CANN's products are of real numbers"),
    ),
}

seen_refusals = set()  # (device, number of the row)

REFUSAL = re.compile(r"Could not run '([^'.]*)[^']*' on device ([a-z]+)(?::\d+)? for torch\.(\w+)")


def folder_of(item):
    return item.path.parent.name


def device_for(item):
    """The device of a test that names none; one for each run."""
    devices = item.config.getoption("--device") or ["cpu"]
    if folder_of(item) not in FOLDERS or devices == ["cpu"]:
        return None
    if len(devices) > 1:
        raise pytest.UsageError("tests of these folders run on one --device at a time")
    return devices[0]


def leave_to_the_cpu(config, items):
    """Takes the tests out that are about the CPU; or all others, with --left-to-the-cpu."""

    def row_of(item):
        if device_for(item) is None:
            return None
        name = item.nodeid.partition("tests/")[2]
        rows = [row for row in OF_THE_CPU if fnmatch.fnmatchcase(name, f"{row}*")]
        stale_rows.matched.update(rows)
        return rows[0] if rows else None

    stale_rows = config.pluginmanager.get_plugin("stale_rows")
    if stale_rows is None:
        return
    chosen, left = [], []
    for item in items:
        row = row_of(item)
        if row is not None and config.getoption("--left-to-the-cpu"):
            item.add_marker(pytest.mark.xfail(reason=OF_THE_CPU[row], strict=False))
            item.user_properties.append(("row", row))
        (left if row is not None else chosen).append(item)
    if config.getoption("--left-to-the-cpu"):
        chosen, left = left, chosen
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = chosen


def as_of_the_cpu(text):
    """A text about tensors of a device, as it is for those of the CPU."""
    text = re.sub(r",?\s*device='npu:0'", "", text)
    return text.replace("NPU", "CPU").replace("npu.", "")


def refusal(text):
    """Why the device refuses what raised an error with this text; None where it should not."""
    found = REFUSAL.search(text)
    if found is None:
        return None
    op, kind, dtype = found.groups()
    for number, (ops, dtypes, reason) in enumerate(REFUSED.get(kind, ())):
        if op in ops and dtype in dtypes:
            seen_refusals.add((kind, number))
            return f"{op} of {dtype}: {reason}"
    return None
