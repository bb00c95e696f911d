"""The roles of processes and how many there are of each; imports nothing that a role needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class ProcessRole(StrEnum):
    API = "api"
    WORKER = "worker"
    GATEWAY = "gateway"


ALL_ROLES = frozenset(ProcessRole)
LISTENING = frozenset({ProcessRole.API, ProcessRole.GATEWAY})
"""Roles that clients connect to."""
NO_SOCKET = -1
"""Stands for the socket of a process without one."""
MOST = 64
"""Most processes under one supervisor."""


class WrongRoles(Exception):
    """These processes cannot share one port; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class ProcessGroup:
    """A number of processes with the same roles."""

    roles: frozenset[ProcessRole]
    count: int
    listens: bool
    """Whether clients connect to them; a process without a client role gets no socket beside others that have one."""

    @property
    def written(self) -> str:
        return ",".join(sorted(self.roles))


def parse(texts: Sequence[str], count: int | None) -> list[ProcessGroup]:
    """`api,gateway=2` means two processes with both roles; without a number `count` processes, or one."""
    if count is not None and all("=" in text for text in texts):
        raise WrongRoles(f"--workers {count} and --roles {texts[0]} both give a number: remove one of them")
    wanted = [_one(text, count or 1) for text in texts]
    listening = {roles & LISTENING for roles, _ in wanted} - {frozenset()}
    if len(listening) > 1:
        raise WrongRoles(
            "--roles: all processes behind one port need the same listening roles, since a client may reach any: "
            "write api,gateway together, or start a `waypost serve` with its own --port for each"
        )
    if sum(number for _, number in wanted) > MOST:
        raise WrongRoles(f"--roles: at most {MOST} processes are started behind one port")
    return [ProcessGroup(roles, number, listens=not listening or bool(roles & LISTENING)) for roles, number in wanted]


def _one(text: str, count: int) -> tuple[frozenset[ProcessRole], int]:
    names, equals, number = text.partition("=")
    try:
        roles = frozenset(ProcessRole(name.strip()) for name in names.split(","))
    except ValueError:
        raise WrongRoles(f"--roles takes any of {', '.join(ProcessRole)}, not {text!r}") from None
    if equals and not (number.isdecimal() and 0 < int(number) <= MOST):
        raise WrongRoles(f"--roles {text}: behind = stands how many, 1 to {MOST}")
    return roles, int(number) if equals else count
