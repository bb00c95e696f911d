"""A Python function of the user's that answers in this process."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import FrameType
from typing import TypeAlias

from waypost.model.turn import Answer, Turn
from waypost.ports.bot import BotFailed
from waypost.rules.redact import redact

_SHOWN = 300
"""Characters of an exception that an operator is shown."""
Function: TypeAlias = Callable[[Turn], Awaitable[Answer]]


class ModuleBot:
    """`timeout` is in seconds; a function that takes longer is cancelled where it waits."""

    thinks = True

    def __init__(self, function: Function, *, history: int, timeout: float) -> None:
        self._function = function
        self._timeout = timeout
        self.history = history

    async def answer(self, turn: Turn) -> Answer:
        limit = asyncio.timeout(self._timeout)
        try:
            async with limit:
                return await self._function(turn)
        except BotFailed:
            raise  # who knows our word for it knows better
        except (Exception, SystemExit) as error:  # a function that calls sys.exit() must not take the server along
            if limit.expired():
                raise BotFailed(f"no answer within {self._timeout:g} s") from error
            raise BotFailed(_where(error, self._function) + _told(error)) from error

    async def close(self) -> None:
        """What the function has open is its own."""


def _told(error: BaseException) -> str:
    words = redact(f"{type(error).__name__}: {error}")
    return " ".join(words.split())[:_SHOWN]


def _where(error: BaseException, function: Function) -> str:
    """The last line of the user's own code that it passed, without the rest of the way: `waiter.py:4: `."""
    package = str(function.__module__).partition(".")[0]
    frames = [step for step in traceback.walk_tb(error.__traceback__) if _is_of(step[0], package)]
    return "".join(f"{Path(frame.f_code.co_filename).name}:{line}: " for frame, line in frames[-1:])


def _is_of(frame: FrameType, package: str) -> bool:
    return str(frame.f_globals.get("__name__")).partition(".")[0] == package
