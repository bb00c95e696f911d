"""What a process does; known without importing what it takes to do it."""

from __future__ import annotations

from enum import StrEnum


class Role(StrEnum):
    API = "api"
    WORKER = "worker"
    GATEWAY = "gateway"


ALL_ROLES = frozenset(Role)
