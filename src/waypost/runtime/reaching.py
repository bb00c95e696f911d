"""How wake-ups reach others: this process first, its neighbours by datagrams, other machines by Redis."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from waypost.adapters.local.hints import NeighbourPost, ProcessHints
from waypost.adapters.redis.address import Address, WrongAddress, parse
from waypost.runtime.addresses import ENCODE, is_cut
from waypost.runtime.settings import PREFIX, Settings, SettingsError

if TYPE_CHECKING:
    from waypost.adapters.redis.line import Line  # its library is there only where there is a Redis

LAST_WORDS = 1.0
_HOUSE = "house"
"""In the folder of a machine's sockets: what its processes are called together."""


def redis_address(settings: Settings) -> Address | None:
    if not settings.redis_url.strip():
        return None
    try:
        if is_cut(settings.redis_url, at="?"):  # what else ends an address may stand in it as it is
            raise WrongAddress(ENCODE)
        return parse(settings.redis_url)
    except WrongAddress as wrong:
        raise SettingsError(f"{PREFIX}REDIS_URL cannot be read: {wrong}") from None


def open_hints(settings: Settings) -> tuple[ProcessHints, Line | None]:
    """Call inside the loop that will use them; closing the hints closes the line, too."""
    address = redis_address(settings)
    ways: list[Callable[[Iterable[str]], None]] = []
    ends: list[Callable[[], None]] = []
    hints = ProcessHints(_all(ways), _all_of(ends))
    sender = secrets.token_hex(8)
    if settings.hints_dir:
        folder = Path(settings.hints_dir)
        neighbours = NeighbourPost(folder, sender)
        try:
            neighbours.open(hints.hear)
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


async def say_last_words(line: Line | None) -> None:
    """For a command that ends: what it gave still goes to the servers, if that is a matter of a moment."""
    if line is not None:
        with suppress(TimeoutError):
            async with asyncio.timeout(LAST_WORDS):
                await line.told()


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


def _line(address: Address, hints: ProcessHints, sender: str) -> Line:
    try:
        from waypost.adapters.redis.line import Line  # noqa: PLC0415  # only where there is one
    except ImportError:
        raise SettingsError(
            f"{PREFIX}REDIS_URL is set, and its library is missing: run `pip install '.[redis]'` in a clone of Waypost"
        ) from None
    line = Line(address, f"waypost:hints:{address.database}", hints.hear, sender)
    line.start()
    return line


def _house(folder: Path) -> str:
    """One name for all processes that share the folder: what they tell each other need not come by Redis as well."""
    file = folder / _HOUSE
    if not file.exists():
        fresh = folder / f"{_HOUSE}.{secrets.token_hex(4)}"
        fresh.write_text(secrets.token_hex(8))
        with suppress(FileExistsError):
            file.hardlink_to(fresh)  # whole or not at all, and the first one stays
        fresh.unlink()
    return file.read_text()
