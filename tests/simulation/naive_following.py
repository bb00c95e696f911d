"""Delivery as one often meets it, in place of ours: a status per recipient, sessions asked before a message is stored.

Three phases: while a device syncs it gets whatever has the status `sent`; then *all* of its `sent` becomes `delivered`;
then its session is set, and what is stored from now on is pushed to it. Kind to the mechanism in everything else: the
status is each device's own, nothing is ever forgotten, and its keys and rows survive every crash.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from typing import Any

import msgspec
import pytest

from waypost.adapters.sql.kernel.commit_queues import Writer
from waypost.adapters.sql.kernel.kernel import Decided
from waypost.flow.accounts import access
from waypost.flow.live import devices
from waypost.http.live import frames
from waypost.http.live.gateway import Gateway
from waypost.model.chat import FeedName, LoadedItem
from waypost.model.ids import OrgId, UserId
from waypost.ports.live.live_connection import LiveConnection, alone
from waypost.ports.platform.failure import LedgerError, Unavailable
from waypost_testing.stories.cluster import CustomiseParts, ServerParts, unchanged_parts
from waypost_testing.stories.following.trouble import FollowFaultInjector

ROUND_TRIP = 0.002
"""Seconds to a Redis, or to a table."""


class Keys:
    """Redis and the messages' table, shared by every server."""

    def __init__(self) -> None:
        self.session: dict[str, StatusSession] = {}
        self.delivered: dict[str, set[tuple[str, int]]] = {}
        self.since: dict[str, dict[FeedName, int]] = {}
        self.pushed: dict[str, int] = {}


class StatusSession:
    """A visitor that numbers what it hands over by itself, so that nothing shows what is missing."""

    def __init__(self, link: LiveConnection, gateway: Gateway, keys: Keys) -> None:
        self._link, self._world, self._keys = link, gateway.world, keys
        self._work: list[asyncio.Task[None]] = []
        self._device = ""
        self._number = 0
        self.org, self.user = OrgId(""), UserId("")

    def received(self, text: bytes) -> None:
        frame = msgspec.json.decode(text)
        if frame["type"] == "hello":
            self._work.append(asyncio.ensure_future(self._hello(frame)))
        elif frame["type"] == "ping":
            self._say({"type": "pong", "heads": {}})

    def gone(self) -> None:
        for task in self._work:
            task.cancel()
        if self._keys.session.get(self._device) is self:
            del self._keys.session[self._device]

    async def _hello(self, frame: dict[str, Any]) -> None:
        token = (self._link.caller.authorization or "").removeprefix("Bearer ")
        try:
            caller = await access.caller(token, self._world)
            if caller is None or caller.user_id is None:
                return
            self.org, self.user, self._device = caller.org_id, caller.user_id, frame["device_id"]
            self._number = frame.get("cursors", {}).get(f"user:{self.user}", 0)
            await self._sync()
        except LedgerError:
            self._link.close(4000, "come back")

    async def _sync(self) -> None:
        keys, device, follows = self._keys, self._device, self._world.ledger.device_feeds
        feeds = [each.feed for each in await follows.feeds(self.org, self.user)]
        heads = dict(await follows.heads(feeds))
        keys.since.setdefault(device, heads)
        self._say({"type": "welcome", "epoch": "", "heads": {f"user:{self.user}": self._number}, "resumed": True})
        for told in await self.sent():
            self.show(told)
        await asyncio.sleep(ROUND_TRIP)
        keys.delivered.setdefault(device, set()).update(await self._everything())  # SET delivered WHERE status = sent
        await asyncio.sleep(ROUND_TRIP)
        keys.session[device] = self
        self._say({"type": "live"})

    async def sent(self) -> list[LoadedItem]:
        done = self._keys.delivered.setdefault(self._device, set())
        return [told for told in await self._rows() if (told.item.feed, told.item.seq) not in done]

    async def _everything(self) -> list[tuple[str, int]]:
        return [(told.item.feed, told.item.seq) for told in await self._rows()]

    async def _rows(self) -> Sequence[LoadedItem]:
        since = self._keys.since[self._device]
        for following in await self._world.ledger.device_feeds.feeds(self.org, self.user):
            since.setdefault(following.feed, following.since)
        return await self._world.ledger.device_feeds.items(since, 100_000)

    def show(self, told: LoadedItem) -> None:
        self._number = number = self._number + 1
        self._say({"type": "item", **frames.item(told), "feed": f"user:{self.user}", "seq": number, "prev": number - 1})

    def _say(self, frame: Mapping[str, Any]) -> None:
        self._link.send(alone(msgspec.json.encode(frame)))

    def take_over(self, told: LoadedItem) -> None:
        """Pushed, and delivered by that: the network will see to it."""
        self._keys.delivered.setdefault(self._device, set()).add((told.item.feed, told.item.seq))
        self.show(told)


def status_per_recipient(patch: pytest.MonkeyPatch) -> CustomiseParts:
    keys = Keys()

    async def publish_heads(_: Writer, running: Awaitable[Decided]) -> list[Any]:
        online = dict(keys.session)  # who is there is asked before anything is stored
        await asyncio.sleep(ROUND_TRIP)
        decided = await running
        if decided.heads:
            await _push(online, decided.heads, keys)
        return decided.answers

    async def no_poll(*_: Any) -> Any:
        raise Unavailable("there is no long poll")

    async def remember(_: FollowFaultInjector) -> None:
        """Nothing is forgotten."""

    patch.setattr(Writer, "_publish_heads", publish_heads)
    patch.setattr(Gateway, "welcome", lambda self, link: StatusSession(link, self, keys))
    patch.setattr(devices, "begin", no_poll)
    patch.setattr(FollowFaultInjector, "_feeds_forgotten", remember)

    def dress(parts: ServerParts) -> ServerParts:
        if parts.clock.monotonic() == 0:  # another seed, another Redis
            keys.__init__()  # type: ignore[misc]  # all of it anew
        return unchanged_parts(parts)

    return dress


async def _push(online: Mapping[str, StatusSession], heads: Mapping[str, int], keys: Keys) -> None:
    """To whoever had a session; who had none finds it when they sync."""
    for feed, head in heads.items():
        after, keys.pushed[feed] = keys.pushed.get(feed, 0), max(head, keys.pushed.get(feed, 0))
        for device, session in online.items():
            mine = feed in {each.feed for each in await _feeds(session)}
            done = keys.delivered.setdefault(device, set())
            for told in await _visible_items(session, feed, after, head) if mine else ():
                if (feed, told.item.seq) not in done:
                    session.take_over(told)


async def _feeds(session: StatusSession) -> Sequence[Any]:
    try:
        return await session._world.ledger.device_feeds.feeds(session.org, session.user)
    except LedgerError:
        return []


async def _visible_items(session: StatusSession, feed: str, after: int, head: int) -> list[LoadedItem]:
    try:
        found = await session._world.ledger.device_feeds.items({FeedName(feed): after}, 10_000)
    except LedgerError:
        return []
    return [told for told in found if told.item.seq <= head]
