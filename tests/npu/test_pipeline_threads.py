"""Pipelines on several threads: the tests of the CPU, on NPUs."""

from tests.contract.test_pipeline_threads import *  # noqa: F403
