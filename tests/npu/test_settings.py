"""Settings of how exactly ops compute, on devices that can do something about them."""

import warnings

import pytest


@pytest.fixture(autouse=True)
def settings(torch):
    """No setting warns, and all are as before at the end."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield
    torch.set_float32_matmul_precision("highest")
    torch.use_deterministic_algorithms(False)
    torch.backends.cudnn.deterministic = False


@pytest.mark.parametrize("precision, rows", [("high", 5), ("medium", 6)])
def test_products_are_planned_for_the_precision(torch, called, precision, rows):
    a, b = torch.ones(rows, 7, device="npu"), torch.ones(7, 3, device="npu")
    plan = "aclnnMmGetWorkspaceSize"
    a @ b
    assert plan not in called(lambda: a @ b)
    torch.set_float32_matmul_precision(precision)
    assert plan in called(lambda: a @ b)
    assert plan not in called(lambda: a @ b)
    torch.set_float32_matmul_precision("highest")
    assert plan not in called(lambda: a @ b)  # the first one is still there
    assert (a @ b).tolist() == [[7.0] * 3] * rows


def test_what_a_pipeline_has_recorded_keeps_its_precision(torch):
    a = torch.full((4, 4), 1.5, device="npu")
    with torch.pipeline():
        y = a @ a
        assert y._pending
        torch.set_float32_matmul_precision("high")
        assert not y._pending
        z = a @ a
    assert y.tolist() == z.tolist() == [[9.0] * 4] * 4


@pytest.mark.parametrize("name", ["use_deterministic_algorithms", "cudnn"])
def test_the_device_is_told_to_be_deterministic(torch, called, name):
    x = torch.ones(4, device="npu")
    x + 1

    def switch(on):
        if name == "cudnn":
            torch.backends.cudnn.deterministic = on
        else:
            torch.use_deterministic_algorithms(on)

    assert "aclrtSetSysParamOpt" in called(lambda: switch(True))
    assert "aclrtSetSysParamOpt" not in called(lambda: switch(True))
    # What was planned before is planned anew.
    assert "aclnnAddsGetWorkspaceSize" in called(lambda: x + 1)
    assert "aclnnAddsGetWorkspaceSize" not in called(lambda: x + 1)
    assert "aclrtSetSysParamOpt" in called(lambda: switch(False))


def test_one_wish_does_not_end_the_other(torch, called):
    torch.use_deterministic_algorithms(True)
    torch.backends.cudnn.deterministic = True
    assert "aclrtSetSysParamOpt" not in called(lambda: torch.use_deterministic_algorithms(False))
    assert "aclrtSetSysParamOpt" in called(
        lambda: setattr(torch.backends.cudnn, "deterministic", False)
    )


def test_settings_of_torch_npu(torch):
    npu = torch.npu
    npu.set_compile_mode(jit_compile=False)
    assert npu.is_jit_compile_false() and not npu.are_compatible_impl_enabled()
    npu.use_compatible_impl(True)
    assert npu.are_compatible_impl_enabled()
    npu.use_compatible_impl(False)
    with pytest.raises(TypeError, match="npu option must be a dict"):
        npu.set_option("ACL_PRECISION_MODE")
    with pytest.raises(ValueError, match=r"ACL_OP_DEBUG_LEVEL should be in .* but got 9"):
        npu.set_option({"ACL_OP_DEBUG_LEVEL": 9})
    with pytest.warns(UserWarning, match="jit_compile=True.* has no effect"):
        npu.set_compile_mode(jit_compile=True)
    assert not npu.is_jit_compile_false()
    npu.set_compile_mode()


def test_half_as_many_bits_by_their_name_on_npus(torch):
    matmul = torch.npu.matmul
    assert matmul.allow_hf32 is False
    matmul.allow_hf32 = True
    assert torch.get_float32_matmul_precision() == "high"
    matmul.allow_hf32 = False
    assert torch.get_float32_matmul_precision() == "highest"
    with pytest.raises(TypeError, match="expects a bool, but got int"):
        matmul.allow_hf32 = 1
    with pytest.raises(AttributeError, match="Unknown attribute other"):
        torch.npu.config.other = True
