"""Running the scenarios of a file, here and in torch."""

import warnings

import pytest


def run(library, scenario):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        library.manual_seed(0)
        return scenario(library)


def make_tests(scenario):
    """(a test with the expected values, a test that torch agrees) for the scenarios of a file."""

    @pytest.mark.parametrize(("function", "expected"), scenario.all)
    def test_gives(torch, function, expected):
        assert run(torch, function) == expected

    @pytest.mark.parametrize(("function", "expected"), scenario.all)
    def test_torch_agrees(oracle, function, expected):
        assert run(oracle, function) == expected

    return test_gives, test_torch_agrees
