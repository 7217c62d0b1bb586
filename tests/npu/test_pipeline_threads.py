"""Pipelines on several threads: the tests of the CPU, on NPUs."""

from tests.pipeline.test_threads import *  # noqa: F403
