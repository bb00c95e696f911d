"""What a process does, and how many of each kind there are; known without importing what it takes to do it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class Role(StrEnum):
    API = "api"
    WORKER = "worker"
    GATEWAY = "gateway"


ALL_ROLES = frozenset(Role)
DOORS = frozenset({Role.API, Role.GATEWAY})
"""What clients come in by."""
NO_SOCKET = -1
"""In place of the socket of a process that nobody comes to."""
MOST = 64
"""Processes under one supervisor."""


class WrongRoles(Exception):
    """Such processes cannot stand behind one port; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Group:
    """So many processes that all do the same."""

    roles: frozenset[Role]
    count: int
    listens: bool
    """Whether clients come to them: beside others that have a door, one without would only turn them away."""

    @property
    def written(self) -> str:
        return ",".join(sorted(self.roles))


def parse(texts: Sequence[str], count: int | None) -> list[Group]:
    """`api,gateway=2` is two processes that do both; without a number there are `count`, or one."""
    if count is not None and all("=" in text for text in texts):
        raise WrongRoles(f"--workers {count} and --roles {texts[0]} both say how many: leave one of them out")
    wanted = [_one(text, count or 1) for text in texts]
    doors = {roles & DOORS for roles, _ in wanted} - {frozenset()}
    if len(doors) > 1:
        raise WrongRoles(
            "--roles: all processes behind one port need the same doors, since a client may come to any of them: "
            "write api,gateway together, or start a `waypost serve` with its own --port for each"
        )
    if sum(number for _, number in wanted) > MOST:
        raise WrongRoles(f"--roles: at most {MOST} processes are started behind one port")
    return [Group(roles, number, listens=not doors or bool(roles & DOORS)) for roles, number in wanted]


def _one(text: str, count: int) -> tuple[frozenset[Role], int]:
    names, equals, number = text.partition("=")
    try:
        roles = frozenset(Role(name.strip()) for name in names.split(","))
    except ValueError:
        raise WrongRoles(f"--roles takes any of {', '.join(Role)}, not {text!r}") from None
    if equals and not (number.isdecimal() and 0 < int(number) <= MOST):
        raise WrongRoles(f"--roles {text}: behind = stands how many, 1 to {MOST}")
    return roles, int(number) if equals else count
