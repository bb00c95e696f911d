"""Transports of wake-ups: within the process, by datagrams on the machine, by Redis between machines."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from waypost.adapters.local.hints import LocalBroadcast, ProcessHints
from waypost.adapters.redis.address import InvalidRedisAddress, RedisAddress, parse
from waypost.runtime.settings.addresses import ENCODE, is_cut
from waypost.runtime.settings.definitions import PREFIX, Settings, SettingsError

if TYPE_CHECKING:
    from waypost.adapters.redis.connection import RedisConnection  # the library is optional

LAST_WORDS = 1.0
_HOUSE = "house"
"""File in the sockets' folder with the common name of the machine's processes."""


def redis_address(settings: Settings) -> RedisAddress | None:
    if not settings.redis_url.strip():
        return None
    try:
        if is_cut(settings.redis_url, at="?"):  # other delimiters may be part of the address
            raise InvalidRedisAddress(ENCODE)
        return parse(settings.redis_url)
    except InvalidRedisAddress as wrong:
        raise SettingsError(f"{PREFIX}REDIS_URL cannot be read: {wrong}") from None


def open_hints(settings: Settings) -> tuple[ProcessHints, RedisConnection | None]:
    """Call inside the event loop that will use them; closing the hints closes the Redis connection, too."""
    address = redis_address(settings)
    ways: list[Callable[[Iterable[str]], None]] = []
    ends: list[Callable[[], None]] = []
    hints = ProcessHints(_all(ways), _all_of(ends))
    sender = secrets.token_hex(8)
    if settings.hints_dir:
        folder = Path(settings.hints_dir)
        neighbours = LocalBroadcast(folder, sender)
        try:
            neighbours.open(hints.deliver)
            sender = _house(folder)
        except OSError as error:
            raise SettingsError(f"{PREFIX}HINTS_DIR cannot be used: {error}") from error
        ways.append(neighbours.post)
        ends.append(neighbours.close)
    line = _line(address, hints, sender) if address else None
    if line is not None:
        ways.append(line.post)
        ends.append(line.close)
    return hints, line


async def flush_hints(line: RedisConnection | None) -> None:
    """For a command that ends: sends its pending hints to the servers, if that is quick."""
    if line is not None:
        with suppress(TimeoutError):
            async with asyncio.timeout(LAST_WORDS):
                await line.flushed()


def _all(ways: list[Callable[[Iterable[str]], None]]) -> Callable[[Iterable[str]], None]:
    def forward(topics: Iterable[str]) -> None:
        for way in ways:
            way(topics)

    return forward


def _all_of(ends: list[Callable[[], None]]) -> Callable[[], None]:
    def hang_up() -> None:
        for end in ends:
            end()

    return hang_up


def _line(address: RedisAddress, hints: ProcessHints, sender: str) -> RedisConnection:
    try:
        from waypost.adapters.redis.connection import RedisConnection  # noqa: PLC0415  # only with Redis
    except ImportError:
        raise SettingsError(
            f"{PREFIX}REDIS_URL is set, but its library is missing: run `pip install '.[redis]'` in a clone of Waypost"
        ) from None
    line = RedisConnection(address, f"waypost:hints:{address.database}", hints.deliver, sender)
    line.start()
    return line


def _house(folder: Path) -> str:
    """One name for all processes that share the folder, so that their own hints are not delivered by Redis again."""
    file = folder / _HOUSE
    if not file.exists():
        fresh = folder / f"{_HOUSE}.{secrets.token_hex(4)}"
        fresh.write_text(secrets.token_hex(8))
        with suppress(FileExistsError):
            file.hardlink_to(fresh)  # atomic, and the first one stays
        fresh.unlink()
    return file.read_text()
