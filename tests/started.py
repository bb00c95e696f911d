"""Real services in tests: started where the machine has them, else the test is skipped with the reason."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TypeVar

import pytest

from waypost.testing.services import ServiceMissing

T = TypeVar("T")


@contextmanager
def or_skip(service: AbstractContextManager[T]) -> Iterator[T]:
    """The service while it runs."""
    try:
        with service as running:
            yield running
    except ServiceMissing as missing:
        pytest.skip(str(missing))
