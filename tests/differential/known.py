"""Differences that are meant, or that no program can rely on; each with its reason."""

import re
from dataclasses import dataclass

from tests.differential.arguments import RANDOM


@dataclass(frozen=True)
class Known:
    """Differences of some kinds in the ops that `op` matches, where `text` is found in the call
    or in what differs. `example` is a call of `example_op` that shows it."""

    name: str
    op: str
    kinds: tuple
    reason: str
    example: str
    example_op: str
    text: str = ""
    device: str = ""  # where it occurs, if not everywhere

    def matches(self, row):
        if self.device and row.get("device", "cpu") != self.device:
            return False
        if row["kind"] not in self.kinds or not re.fullmatch(self.op, row["op"]):
            return False
        return not self.text or bool(re.search(self.text, f"{row['text']} ## {row['detail']}"))


RAISES = ("accepted", "refused")
KNOWN = (
    Known(
        "factors",
        ".*(qr|geqrf|pinv|slogdet|svd|eig|lu_|inverse|cholesky|lstsq|ormqr|householder).*",
        ("value", "strides"),
        "Factors that are not unique, or of nearly singular matrices, differ by sign and rounding.",
        "r = torch.tensor([[3.75, 0.5, 2.25, -0.5], [1.5, 1.75, -3.25, -0.5], "
        "[3.0, 3.75, 3.5, 0.5]], dtype=torch.float64).qr(False)",
        "Tensor.qr",
        "",
    ),
    Known(
        "special",
        ".*(airy_ai|bessel|binomial|erfcx|gammainc|igamma|ndtr|polynomial|zeta).*",
        ("accepted",),
        "Special functions are computed in 16-bit floats and of integers, too.",
        "r = torch.special.erfcx(torch.ones(1, dtype=torch.float16))",
        "special.erfcx",
        "",
    ),
    Known(
        "polynomials",
        ".*polynomial.*",
        ("value", "nan"),
        "Torch's recurrences of high degrees, and of degrees that are no integers, overflow and "
        "lose digits in other places.",
        "r = torch.special.chebyshev_polynomial_w(torch.tensor([2, 4]), 2**63 - 1)",
        "special.chebyshev_polynomial_w",
        "",
    ),
    Known(
        "memory",
        ".*",
        ("class", "text"),
        "Running out of memory has a text, and an error class, of each allocator's own.",
        "r = torch.ones(2**40)",
        "ones",
        r"DefaultCPUAllocator|can't allocate memory",
    ),
    Known(
        "names of out tuples",
        r".*\(out=\)",
        ("type name",),
        "The named tuple of a call with out= has the name of the one without, and torch's fields.",
        "r = torch.max(torch.ones(1), 0, out=(torch.ones(1), torch.ones(1).long()))",
        "max(out=)",
        r"torch: \w+_out\(",
    ),
    Known(
        "which of equal elements",
        r"(Tensor\.)?(kthvalue|topk|median|nanmedian|mode|sort|argsort)(\(out=\))?",
        ("ties",),
        "Which index stands for several equal elements is specified by neither.",
        "r = torch.tensor([2, 2]).kthvalue(2)",
        "Tensor.kthvalue",
    ),
    Known(
        "medians of repeated elements",
        r"(Tensor\.)?(nan)?median(\(out=\))?",
        ("value", "nan", "zero sign"),
        "Torch reads other memory where a dim has stride 0.",
        "r = torch.tensor([[1.0, 3.25, -2.75]], dtype=torch.float64).expand(2, 3).nanmedian(0)",
        "Tensor.nanmedian",
        r"expand|as_strided",
    ),
    Known(
        "scatter into overlapping elements",
        r"(Tensor\.)?(select|slice|diagonal|as_strided)_scatter(\(out=\))?",
        ("value", "nan", "zero sign"),
        "Torch writes to a copy whose elements share memory, as those of the argument do.",
        "a = torch.zeros(3).as_strided((2, 2), (1, 1)); "
        "r = torch.select_scatter(a, torch.ones(2), 0, 0)",
        "select_scatter",
        r"expand|as_strided",
    ),
    Known(
        "gelu to a strided out",
        r"nn\.functional\.gelu\(out=\)",
        ("value", "nan", "zero sign"),
        "Torch writes nothing to an out= with gaps between its elements.",
        "B = torch.ones(7); "
        "r = torch.nn.functional.gelu(torch.tensor([-1.0, 2.0, 3.0]), out=B[::3])",
        "nn.functional.gelu(out=)",
        r"::|as_strided|\[.*1:\]|permute",
    ),
    Known(
        "gcd of the smallest integer",
        r".*\b(gcd|lcm)_?(\(out=\))?",
        ("value",),
        "The magnitude of the smallest integer does not fit; ours has the right sign elsewhere.",
        "r = torch.gcd(torch.tensor([-2147483648], dtype=torch.int32), "
        "torch.tensor([6], dtype=torch.int32))",
        "gcd",
        r"-(9223372036854775808|2147483648|32768|128)\b",
    ),
    Known(
        "writes to elements that share memory",
        r".*_|.*\(out=\)|a\[i\].*=.*|a .*= b",
        ("value", "nan", "zero sign"),
        "What is written last to a place stays: neither specifies an order.",
        "A = torch.tensor([1, -2, 0, 0, -4, -4]); a = A.as_strided((3, 4), (1, 1)); "
        "r = a.copy_(torch.tensor([[-3, 1, -2, 0]]))",
        "Tensor.copy_",
        r"(\b\w) = \w+\.(?:as_strided|expand)\("
        r".*(?:\b\1\.\w+_\(|_\(\1\b|\b\1\[.*\] .?=|out=.*\b\1\b)",
    ),
    Known(
        "which zero",
        r".*\b(f?(min|max)(imum)?|a?minmax|a(min|max)|cum(min|max)|clamp(_min|_max)?|clip"
        r"|(m|arg)?sort|unique|softshrink)_?(\(out=\))?",
        ("zero sign",),
        "0.0 and -0.0 are equal; which one torch gives depends on where in a vector they lie.",
        "r = torch.tensor([2.0, -0.0, 0.0, 1.0]).reshape(4, 1).aminmax()",
        "Tensor.aminmax",
    ),
    Known(
        "products with infinities",
        r".*\b(addmm|addmv|addbmm|baddbmm|addr|matmul|mm|bmm|mv|linear|matrix_power|multi_dot"
        r"|bilinear|chain_matmul|scaled_dot_product_attention|einsum|tensordot)_?(\(out=\))?|a @ b",
        ("nan", "value"),
        "A factor or an infinity meets the sum of products before or after its end, as BLAS likes.",
        "a = torch.tensor([[-0.25, -1.0], [-inf, 2.5]]); r = torch.linalg.matrix_power(a, 3)",
        "linalg.matrix_power",
        r"inf|nan|e\+3|e40|alpha=0|2\*\*",
    ),
    Known(
        "running means of infinities",
        r"(Tensor\.)?(var|std)_mean",
        ("nan",),
        "Torch's running mean is NaN after an infinity; the mean is the infinity.",
        "r = torch.var_mean(torch.tensor([inf, 0.25]))",
        "var_mean",
        "inf",
    ),
    Known(
        "unique_consecutive by position",
        r"(Tensor\.)?unique_consecutive",
        ("shape", "value", "length", "type"),
        "Torch gives empty counts, not the inverse, where return_inverse is given by position.",
        "a = torch.tensor([1, 6, 9]); r = torch.unique_consecutive(a, True)",
        "unique_consecutive",
        r"unique_consecutive\(\w+, (True|False|1|0)\b",
    ),
    Known(
        "narrow_copy to a strided out",
        r"narrow_copy\(out=\)",
        ("value", "nan", "zero sign"),
        "Torch writes as if out= were contiguous.",
        "B = torch.zeros(3, 2); r = torch.narrow_copy(torch.arange(6.0).reshape(2, 3), 0, 0, 2, "
        "out=B.permute(1, 0))",
        "narrow_copy(out=)",
        r"::|as_strided|1:\]|permute",
    ),
    Known(
        "steps of 16-bit arithmetic",
        r".*\b(logit|xlogy|rsub|floor_divide|div|divide|special_xlogy|a // b)_?(\(out=\))?|a // b",
        ("value",),
        "Torch rounds between the steps of these, but not where a row's end fills no vector.",
        "a = torch.tensor([-0.63, 1.136, 0.08], dtype=torch.bfloat16); "
        "r = torch.rsub(a.reshape(3, 1)[1:], 3, alpha=3)",
        "rsub",
        r"float16",
    ),
    Known(
        "ranges with a fractional step",
        r"arange(\(out=\))?",
        ("value",),
        "Torch counts on from the first number of each vector, whose length is the processor's.",
        "r = torch.arange(0, 2, 0.1)",
        "arange",
        r"\.",
    ),
    Known(
        "addmv of nothing",
        r"(Tensor\.)?addmv_?(\(out=\))?",
        ("shape",),
        "Torch does not expand self where the matrix has no elements.",
        "r = torch.addmv(torch.ones(1), torch.empty(3, 0), torch.empty(0))",
        "addmv",
    ),
    Known(
        "remainders of quotients that overflow",
        r".*\b(remainder|fmod)_?(\(out=\))?|a % b",
        ("nan", "value"),
        "Torch's vectors give NaN where the quotient is infinite; the remainder is a number.",
        "r = torch.full((16,), 2.0).remainder(torch.full((16,), 1e-45))",
        "Tensor.remainder",
        r"e-4|e-3|e\+|e-08|5e-324",
    ),
    Known(
        "what CANN lacks",
        ".*",
        ("refused", "class", "text"),
        "CANN has no op for this dtype, and the error says so.",
        "r = torch.ones(2, 2, dtype=torch.int8, device=device) @ "
        "torch.ones(2, 2, dtype=torch.int8, device=device)",
        "a @ b",
        "NotImplementedError: .*CANN",
        "npu",
    ),
    Known(
        "division by zero",
        ".*",
        ("accepted",),
        "A device does not look at the numbers that it divides by.",
        "a = torch.zeros(1, dtype=torch.int16, device=device); r = a // a",
        "a // b",
        "ZeroDivisionError",
        "npu",
    ),
    Known(
        "random numbers of a device",
        r".*\b(" + "|".join(sorted(RANDOM)) + r")_?(\(out=\))?",
        ("value", "zero sign", "nan"),
        "Devices have random numbers of their own, as torch's have.",
        "r = torch.zeros(4, device=device).uniform_()",
        "Tensor.uniform_",
        "",
        "npu",
    ),
    Known(
        "numbers outside an integer's range",
        r"Tensor\.(to|type|int|long|short|char|byte|type_as|copy_)|a\[i\] = b|.*\(out=\)",
        ("value",),
        "Floats that no integer of the dtype stands for are converted as each processor does it.",
        "r = torch.tensor([inf], device=device).to(torch.int64)",
        "Tensor.to",
        r"inf|nan|e\+|-",
        "npu",
    ),
    Known(
        "names of the device",
        r"Tensor\.type|a\.numpy\(\)|.*repr.*|str.*",
        ("value", "refused"),
        "The result names the device, or has to be on the CPU.",
        "r = torch.zeros(1, device=device).type()",
        "Tensor.type",
        "",
        "npu",
    ),
)


def reason(row):
    """Why a difference is no mistake, or None."""
    return next((known.reason for known in KNOWN if known.matches(row)), None)
