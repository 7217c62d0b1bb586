"""Random ops. NumPy knows no answer here: torch's own numbers are in tests/functions, and where
torch is installed the runner compares with the same seed. `seeded=False` marks the ops for which
torch draws from a vendor library's generator; only their shape and dtype are compared."""

from tests.ops.case import (
    ALL,
    FLOATS,
    INTS,
    NUMBERS,
    Dtype,
    OpCase,
    S,
    T,
    V,
    bad,
    bad_on_cpu,
    loose,
)


def drawn(name, samples, dtypes, variant="", **more):
    settings = {"seeded": True, "tolerance": loose(4), "method": None, **more}
    return OpCase(name, None, samples, dtypes, variant=variant, **settings)


def by_dtype(name, dtypes, *arguments, **more):
    return [
        drawn(
            name,
            [S(*args, dtype=Dtype(dtype)) for args in arguments],
            (dtype,),
            dtype,
            creation=True,
            **more,
        )
        for dtype in dtypes
    ]


# Sixteen or more normal numbers are drawn another way than fewer.
SIZES = (((2, 3),), ((),), ((0,),), (7,), (16,), ((17, 31),), (2, 3))
NEGATIVE = bad(RuntimeError, "negative dimension -1", (2, -1))
LIKE = [S(T((2, 3))), S(T(())), S(T((0,))), S(T((17, 31)))]

CASES = [
    *by_dtype("rand", FLOATS, *SIZES, bad=(NEGATIVE,)),
    *by_dtype("randn", FLOATS, *SIZES, bad=(NEGATIVE,)),
    *by_dtype("randint", NUMBERS, (10, (2, 3)), (3, 9, (17, 31)), (0, 2, (0,)), (1, ())),
    drawn(
        "randint",
        [S(10, (2, 3)), S(-5, 5, (40,)), S(0, 2**40, (9,))],
        ("int64",),
        "default",
        creation=True,
        bad=(
            bad(RuntimeError, "from >= to|random_ expects 'from' to be less than 'to'", 5, 5, (2,)),
        ),
    ),
    *by_dtype("randperm", INTS, (0,), (1,), (10,), (100,)),
    drawn(
        "randperm",
        [S(0), S(1), S(10), S(1000)],
        ("int64",),
        "default",
        creation=True,
        bad=(bad(RuntimeError, "negative", -1),),
    ),
    drawn("rand_like", LIKE, FLOATS),
    drawn("randn_like", LIKE, FLOATS),
    drawn("randint_like", [S(T((2, 3)), 10), S(T((2, 3)), 3, 9)], NUMBERS),
    drawn(
        "bernoulli",
        [S(T((2, 3), 0, 1)), S(T((17, 31), 0, 1)), S(T((0,)))],
        FLOATS,
        strides=False,
        bad=(
            bad_on_cpu(RuntimeError, "Expected p_in >= 0 && p_in <= 1 to be true", T((3,), 2, 3)),
        ),
    ),
    drawn(
        "multinomial",
        [S(T((3, 5), 0.5, 1), 9, True), S(T((2, 40), 0.5, 1), 3, replacement=True)],
        FLOATS,
        "replacement",
        strides=False,
        bad=(
            bad(
                RuntimeError,
                "invalid multinomial distribution .encountering probability entry < 0",
                T((3,), -2, -1),
                2,
                True,
            ),
            bad(RuntimeError, "sum of probabilities <= 0", V((0.0, 0.0)), 2, True),
        ),
    ),
    drawn(
        "multinomial",
        [S(T((5,), 0.5, 1), 2), S(T((3, 5), 0.5, 1), 4), S(T((3, 5), 0.5, 1), 1)],
        FLOATS,
        seeded=False,
        strides=False,
        bad=(
            bad(RuntimeError, "cannot sample n_sample > prob_dist.size", T((3,), 0.5, 1), 4),
            bad(RuntimeError, "prob_dist must be 1 or 2 dim", T((2, 2, 2), 0.5, 1), 1),
            bad(RuntimeError, "cannot sample n_sample <= 0 samples", T((3,), 0.5, 1), 0),
        ),
    ),
    drawn(
        "normal",
        [S(0.0, 1.0, (2, 3)), S(1.0, 2.0, (17, 31)), S(0, 1, (0,))],
        ("float32",),
        "size",
        creation=True,
        bad=(bad(RuntimeError, "normal expects std >= 0.0, but found std -1", 0.0, -1.0, (2,)),),
    ),
    drawn(
        "normal",
        [S(T((3, 4)), 2.0), S(0.5, T((3, 4), 0.5, 1)), S(T((3, 4)), T((3, 4), 0.5, 1))],
        FLOATS,
    ),
    drawn(
        "normal_",
        [S(T((2, 3))), S(T((40,)), 1.0, 2.0), S(T(()), mean=3.0, std=0.5)],
        FLOATS,
        function=None,
        method="normal_",
        bad=(bad(RuntimeError, "normal expects std >= 0.0, but found std -1", T((3,)), 0.0, -1.0),),
    ),
    drawn(
        "uniform_",
        [S(T((2, 3))), S(T((40,)), 1.0, 2.0), S(T(()), -1)],
        FLOATS,
        function=None,
        method="uniform_",
        bad=(
            bad(
                RuntimeError,
                r"uniform_ expects to return a \[from, to\) range, but found from=2",
                T((3,)),
                2.0,
                1.0,
            ),
        ),
    ),
    drawn(
        "random_", [S(T((2, 3)), 10), S(T((40,)), 3, 9)], NUMBERS, function=None, method="random_"
    ),
    drawn(
        "bernoulli_",
        [S(T((2, 3)), 0.3), S(T((40,)), 0.7), S(T((2, 3)), T((2, 3), 0, 1, dtype="float32"))],
        ALL,
        function=None,
        method="bernoulli_",
        seeded=False,
    ),
    drawn(
        "exponential_",
        [S(T((2, 3))), S(T((40,)), 2.0)],
        FLOATS,
        function=None,
        method="exponential_",
        seeded=False,
    ),
    drawn(
        "cauchy_",
        [S(T((2, 3))), S(T((40,)), 1.0, 2.0)],
        FLOATS,
        function=None,
        method="cauchy_",
        tolerance=loose(100),
        bad=(
            bad(RuntimeError, "cauchy_ expects sigma > 0.0, but found sigma=0", T((3,)), 0.0, 0.0),
        ),
    ),
    drawn(
        "log_normal_",
        [S(T((2, 3))), S(T((40,)), 0.0, 0.25)],
        FLOATS,
        function=None,
        method="log_normal_",
        bad=(
            bad(RuntimeError, "log_normal_ expects std > 0.0, but found std=0", T((3,)), 0.0, 0.0),
        ),
    ),
    drawn(
        "geometric_",
        [S(T((2, 3)), 0.3), S(T((40,)), 0.7)],
        NUMBERS,
        function=None,
        method="geometric_",
        bad=(
            bad(RuntimeError, r"geometric_ expects p to be in \(0, 1\), but got p=1", T((3,)), 1.0),
        ),
    ),
    drawn(
        "dropout",
        [S(T((2, 3)), 0.5, False), S(T((2, 3)), 0.0, True), S(T((2, 3)), 1.0, True)],
        ALL,
        bad=(
            bad(
                RuntimeError,
                "dropout probability has to be between 0 and 1, but got 1.5",
                T((3,)),
                1.5,
                True,
            ),
        ),
    ),
]
