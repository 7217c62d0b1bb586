"""vmap of every op case gives what the samples give one by one."""

import warnings

import pytest

from tests.func.op_batches import batches
from tests.ops.harness import Runtime
from tests.ops.test_ops import CASES, name_of

# Results whose shape depends on values, or Python numbers made of them: refused, as in torch.
REFUSED = {
    "argwhere",
    "bincount",
    "masked_scatter",
    "masked_select",
    "nonzero",
    "repeat_interleave",
    "unique",
    "unique_consecutive",
}
# Drawn numbers differ between samples; uninitialised memory, and places counted from the start of
# a storage, too.
INCOMPARABLE = {
    "as_strided",
    "as_strided_scatter",
    "bernoulli_",
    "empty_like",
    "exponential_",
    "multinomial",
    "new_empty",
}
# One sample after the other.
SLOW = {
    "combinations",
    "conv_tbc",
    "ctc_loss",
    "histc",
    "searchsorted",
}
# Lengths of packed sequences are read.
READS = ("lstm.data", "gru.data", "rnn_tanh.data", "rnn_relu.data")

BATCHED = [
    case
    for case in CASES
    if not (case.creation or case.seeded or case.name in INCOMPARABLE or case.label in READS)
]


@pytest.mark.parametrize("case", BATCHED, ids=name_of)
def test_batches_give_what_samples_give(torch, case):
    runtime = Runtime(torch)
    checked = 0
    dtypes = [name for name in ("float64", "int64", "bool") if name in case.dtypes]
    # Others are computed the same way; few cases have none of those.
    for dtype in (*dtypes, *set(case.dtypes).difference(dtypes)):
        if checked and dtype not in dtypes:
            break
        exact = dtype in dtypes
        for where, batch in batches(runtime, case, dtype):
            try:
                want = batch.one_by_one()
            except Exception:  # the reverse order is not one that the op takes
                continue
            checked += 1
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                try:
                    got = batch.at_once()
                except RuntimeError as error:
                    assert case.name in REFUSED, (dtype, where, str(error))
                    assert "vmap: " in str(error)
                    continue
            slow = [str(w.message) for w in said if "performance drop" in str(w.message)]
            may_be_slow = case.name in SLOW or case.family == "recurrent"
            assert not slow or may_be_slow, (dtype, where, slow[0])
            for result, wanted in zip(got, want, strict=True):
                assert result.dtype == wanted.dtype, (dtype, where)
                assert result.shape == wanted.shape, (dtype, where)
                if not exact:
                    close = {"rtol": 1e-2, "atol": 1e-2}
                elif result.dtype == torch.float32:  # of integers: rows and columns add differently
                    close = {"rtol": 1e-6, "atol": 1e-7}
                else:
                    close = {"rtol": 1e-9, "atol": 1e-10}
                torch.testing.assert_close(
                    result, wanted, **close, equal_nan=True, msg=str((dtype, where))
                )
    assert checked or case.name in REFUSED
