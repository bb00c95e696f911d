"""Real services in tests: started where the machine has them, else the test is skipped with the reason."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TypeVar

import pytest

from waypost_testing.services.processes import ServiceMissing

T = TypeVar("T")

WORKER = os.environ.get("PYTEST_XDIST_WORKER", "")
"""Which of the processes that share this run's tests this is; empty when there is only one."""


@contextmanager
def or_skip(service: AbstractContextManager[T]) -> Iterator[T]:
    """The service while it runs."""
    try:
        with service as running:
            yield running
    except ServiceMissing as missing:
        pytest.skip(str(missing))
