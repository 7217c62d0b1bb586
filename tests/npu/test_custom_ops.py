"""Operators of torch.library on an NPU."""

import mindtorch_v2 as torch
import pytest


def test_a_custom_op_runs_on_the_npu():
    @torch.library.custom_op("tests_npu::square", mutates_args=())
    def square(x: torch.Tensor) -> torch.Tensor:
        return x * x

    square.register_autograd(
        lambda ctx, grad: grad * 2 * ctx.saved_tensors[0],
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(inputs[0]),
    )
    x = torch.tensor([1.0, 3.0], device="npu", requires_grad=True)
    result = square(x)
    assert result.device.type == "npu" and result.tolist() == [1.0, 9.0]
    result.sum().backward()
    assert x.grad.tolist() == [2.0, 6.0]
    with torch.pipeline():
        again = square(x.detach()) + 1
    assert again.tolist() == [2.0, 10.0]


def test_kernels_are_chosen_by_device():
    with torch.library._scoped_library("tests_npu_scoped", "FRAGMENT") as lib:
        lib.define("where_am_i(Tensor x) -> Tensor")
        lib.impl("where_am_i", lambda x: x.new_zeros(1), "CPU")
        op = torch.ops.tests_npu_scoped.where_am_i
        x = torch.ones(1, device="npu")
        with pytest.raises(NotImplementedError, match="from the 'PrivateUse1' backend"):
            op(x)
        lib.impl("where_am_i", lambda x: x.new_ones(1), "NPU")
        assert op(x).tolist() == [1.0] and op(x.cpu()).tolist() == [0.0]


def test_subclasses_on_the_npu():
    class Sub(torch.Tensor):
        pass

    x = torch.ones(2, device="npu").as_subclass(Sub)
    assert type(x + 1) is Sub and (x + 1).device.type == "npu"
    assert type(x.cpu()) is Sub
