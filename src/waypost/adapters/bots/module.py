"""A bot that is a Python function in this process."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import FrameType
from typing import TypeAlias

from waypost.model.turn import Answer, Turn
from waypost.ports.conversations.bot import BotFailed
from waypost.rules.text.redact import redact

_SHOWN = 300
"""Characters of an exception that an operator sees."""
BotFunction: TypeAlias = Callable[[Turn], Awaitable[Answer]]


class ModuleBot:
    """`timeout` is in seconds; a function that takes longer is cancelled at its next await."""

    thinks = True

    def __init__(self, function: BotFunction, *, history: int, timeout: float) -> None:
        self._function = function
        self._timeout = timeout
        self.history = history

    async def answer(self, turn: Turn) -> Answer:
        limit = asyncio.timeout(self._timeout)
        try:
            async with limit:
                return await self._function(turn)
        except BotFailed:
            raise  # the function chose this error itself
        except (Exception, SystemExit) as error:  # a function that calls sys.exit() must not stop the server
            if limit.expired():
                raise BotFailed(f"no answer within {self._timeout:g} s") from error
            raise BotFailed(_where(error, self._function) + _description(error)) from error

    async def close(self) -> None:
        """Nothing to close."""


def _description(error: BaseException) -> str:
    words = redact(f"{type(error).__name__}: {error}")
    return " ".join(words.split())[:_SHOWN]


def _where(error: BaseException, function: BotFunction) -> str:
    """The last line of the user's own code in the traceback, such as `waiter.py:4: `."""
    package = str(function.__module__).partition(".")[0]
    frames = [step for step in traceback.walk_tb(error.__traceback__) if _is_of(step[0], package)]
    return "".join(f"{Path(frame.f_code.co_filename).name}:{line}: " for frame, line in frames[-1:])


def _is_of(frame: FrameType, package: str) -> bool:
    return str(frame.f_globals.get("__name__")).partition(".")[0] == package
