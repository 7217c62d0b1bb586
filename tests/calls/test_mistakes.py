"""Mistakes raise torch's errors, text included, whether ops run at once or are recorded."""

import contextlib
import pathlib

import pytest


def read():
    lines = (pathlib.Path(__file__).parent / "mistakes.txt").read_text().splitlines()
    lines = [line for line in lines if line and not line.startswith("#")]
    return [(code, text.strip()) for code, text in zip(lines[::2], lines[1::2], strict=True)]


MISTAKES = read()


def first_line(package, code, around=contextlib.nullcontext):
    try:
        with around():
            eval(code, {"t": package})
    except Exception as error:
        return f"{type(error).__name__}: {error}".split("\n")[0].strip()
    return "nothing was wrong"


@pytest.mark.parametrize(("code", "text"), MISTAKES, ids=[row[0] for row in MISTAKES])
def test_mistake(torch, code, text):
    assert first_line(torch, code) == text


def test_mistakes_in_a_pipeline(torch):
    wrong = {}
    for code, text in MISTAKES:
        # What an index holds is known at the flush, whose report follows in brackets.
        ours = first_line(torch, code, torch.pipeline).split(" (op ")[0]
        if ours != text:
            wrong[code] = ours
    assert wrong == {}


@pytest.mark.filterwarnings("ignore")
def test_torch_says_the_same(oracle):
    assert {code: text for code, text in MISTAKES if first_line(oracle, code) != text} == {}
