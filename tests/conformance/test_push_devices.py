"""The contract of the list of who is to be told, in memory."""

from __future__ import annotations

import pytest

from tests.conformance.push_devices import MemoryDevices
from waypost.testing.contracts.push_devices import DevicesContract, Ground


@pytest.fixture
def ground() -> Ground:
    return MemoryDevices()


class TestMemoryDevices(DevicesContract):
    pass
