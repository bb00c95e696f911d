"""A server: its edge and its background work, started and stopped as one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import structlog

from waypost.flow import budgets, detect, hand_over, notify, take_over, templates, tend
from waypost.flow.converse import Converser
from waypost.flow.deliver import Courier
from waypost.flow.failover import EVERY as FAIL_OVER_EVERY
from waypost.flow.failover import FailOver
from waypost.flow.fetch_media import FORGET_EVERY as FORGET_MEDIA_EVERY
from waypost.flow.fetch_media import MediaFetcher, forget_media
from waypost.flow.search import indexer
from waypost.flow.world import World
from waypost.http.app import Edge
from waypost.http.context import Phones
from waypost.http.gateway import Gateway
from waypost.http.websocket import Door
from waypost.http.websocket_handshake import same_host
from waypost.model.overview import Part, PartState
from waypost.model.setting import SettingInForce
from waypost.model.time import Span, seconds
from waypost.ports.failure import LedgerError
from waypost.ports.hints import ACCOUNTS, FEED
from waypost.ports.push import Pusher
from waypost.runtime.role_edge import RoleEdge
from waypost.runtime.roles import ALL_ROLES, DOORS, Role
from waypost.runtime.telemetry import Telemetry

__all__ = ["ALL_ROLES", "Role", "Server"]

log = structlog.get_logger("server")

GRACE: Span = seconds(5)
LEAVING_GRACE: Span = seconds(30)
"""When a successor is at work: sends and turns under way are finished rather than left."""
AFTER_A_BUG: Span = seconds(1)
ENDING = 1.0
CLOSING = 2.0
"""Seconds that background work has to end, and then the Ledger and the Log to close, each for itself."""


class Server:
    """Built from its world; several can live in one loop."""

    def __init__(
        self,
        world: World,
        telemetry: Telemetry,
        roles: frozenset[Role] = ALL_ROLES,
        origins: Sequence[str] = (),
        settings: Callable[[], list[SettingInForce]] = list,
    ) -> None:
        self.world = world
        self._settings = settings
        self.app = Edge(self) if roles >= DOORS else RoleEdge(Edge(self), roles)
        self.gateway = Gateway(world)
        self.phones: Phones | None = None
        """The sandbox of a demo, which its page plays customers with."""
        self._telemetry = telemetry
        self._roles = roles
        self.door = self._make_door(origins)
        """Where WebSockets come in, if this process takes any."""
        self._courier = Courier(world)
        self._converser = Converser(world, world.bot) if world.bot is not None else None
        self._tasks: list[asyncio.Task[None]] = []
        self._seen = detect.Memory()
        self._stopping = False
        self._followed = False

    async def start(self) -> None:
        world = self.world
        self._keep(self._follow_accounts)
        for work in world.works:
            self._keep(work)
        world.ledger.feeds.on_moved(lambda heads: world.hints.give([f"{FEED}:{feed}" for feed in heads]))
        if world.log_apart:
            self._keep(lambda: tend.every(hand_over.LOOK_EVERY, hand_over.look_at_log, world))
        else:
            self._keep(lambda: tend.every(hand_over.LOOK_FOR_NO_LOG_EVERY, hand_over.look_for_no_log, world))
        if Role.API in self._roles:
            self._keep(lambda: tend.hold_door(world))
        if Role.GATEWAY in self._roles:
            for work in self.gateway.works:
                self._keep(work)
        else:
            self._keep(lambda: notify.hear_who_is_here(world))
        if Role.WORKER in self._roles:
            self._start_worker(world)

    def _start_worker(self, world: World) -> None:
        self._keep(self._courier.run)
        if self._converser is not None:
            self._answer(self._converser)
        self._keep(lambda: tend.every(tend.SHOW_LIFE_EVERY, tend.show_life, world))
        self._keep(lambda: tend.every(world.tuning.door_tick, tend.settle_unsure, world))
        self._keep(lambda: tend.every(tend.TIDY_EVERY, tend.tidy, world))
        self._keep(lambda: tend.every(detect.LOOK_EVERY, self._detect, world))
        self._keep(lambda: tend.every(tend.EXPIRE_EVERY, tend.expire, world))
        self._keep(lambda: tend.every(tend.FORGET_EVERY, tend.forget_windows, world))
        self._keep(lambda: tend.every(tend.FORGET_EVERY, tend.forget_arrivals, world))
        self._keep(lambda: tend.every(tend.FORGET_EVERY, tend.forget_journal, world))
        self._keep(lambda: tend.every(tend.FORGET_EVERY, tend.forget_turns, world))
        self._keep(lambda: tend.every(tend.FORGET_EVERY, tend.forget_feeds, world))
        self._keep(lambda: tend.every(tend.FORGET_DEVICES_EVERY, tend.forget_devices, world))
        self._keep(lambda: tend.every(tend.FORGET_EVERY, tend.forget_search, world))
        if world.tuning.indexing:
            self._keep(indexer(world).run)
        if world.log_apart:
            self._keep(hand_over.handing_over(world).run)
            self._keep(lambda: tend.every(hand_over.empty_every(world), hand_over.empty_bodies, world))
        self._keep(lambda: tend.every(FAIL_OVER_EVERY, FailOver().round, world))
        self._keep(MediaFetcher(world).run)
        if world.pusher is not None:
            self._notify(world, world.pusher)
        self._keep(lambda: tend.every(FORGET_MEDIA_EVERY, forget_media, world))
        if world.tuning.figures:
            self._keep(lambda: tend.survey(world))
        self._keep(lambda: tend.every(budgets.CHECK_EVERY, budgets.check_budgets, world))
        self._keep(lambda: tend.every(templates.LOOK_EVERY, templates.refresh, world))

    def _notify(self, world: World, pusher: Pusher) -> None:
        step = notify.of(world, pusher)
        self._keep(notify.Notifier(step).run)
        self._keep(lambda: tend.every(tend.FORGET_EVERY, tend.forget_notices, world))

    def _answer(self, converser: Converser) -> None:
        async def from_the_start() -> None:
            await take_over.at_start(self.world)
            await tend.count_stale(self.world)  # after it: what a predecessor left is stale, too
            await converser.run()

        self._keep(from_the_start)
        self._keep(converser.keep)
        self._keep(lambda: take_over.follow(self.world))

    def _keep(self, work: Callable[[], Awaitable[None]]) -> None:
        self._tasks.append(asyncio.ensure_future(self._kept(work)))

    async def _kept(self, work: Callable[[], Awaitable[None]]) -> None:
        """Background work ends when the server stops; anything else is a bug, to be seen and survived."""
        while not self._stopping:
            try:
                await work()
            except Exception as bug:  # noqa: BLE001  # whatever it is, the server goes on
                asyncio.get_running_loop().call_exception_handler(
                    {"message": "background work failed", "exception": bug}
                )
                await self.world.clock.sleep(AFTER_A_BUG)

    async def _detect(self, world: World) -> None:
        await detect.detect(world, self._seen)

    async def _follow_accounts(self) -> None:
        with self.world.hints.listen(ACCOUNTS) as ear:
            while True:
                if await ear.wait(seconds(60)):
                    self.world.numbers.forget()
                    self.world.mailboxes.forget()
                    self.world.policies.forget()

    def _make_door(self, origins: Sequence[str]) -> Door | None:
        return Door(self.gateway.welcome, same_host(origins)) if Role.GATEWAY in self._roles else None

    async def wind_down(self, grace: Span = GRACE, *, followed: bool = False) -> None:
        """Take nothing new and finish what is under way, while statuses can still come in.

        What the grace is too short for stays unsure, and is settled by its status. One that is followed by another
        stays ready: whoever asks over a connection that it still has is answered for the port, which is served.
        """
        self._stopping, self._followed = True, followed
        self.world.closing.set()
        self.gateway.say_goodbye()
        began = self.world.clock.monotonic()
        if self._converser is not None:
            await self._converser.stop(Span(grace // 2))
        spent = seconds(self.world.clock.monotonic() - began)
        left = await self._courier.stop(Span(grace - min(spent, grace // 2)))
        if left:
            log.warning("stopped_with_sends_under_way", count=left)

    async def stop(self, grace: Span = GRACE) -> bool:
        """End everything; False when something could not be ended or closed in time, which keeps nothing else open."""
        if not self._stopping:
            await self.wind_down(grace)
        for task in self._tasks:
            task.cancel()
        self.world.hints.close()
        await self.world.mailer.close()
        if self.world.bot is not None:
            await self.world.bot.close()
        ended = await _in_time("work_did_not_end", ENDING, asyncio.gather(*self._tasks, return_exceptions=True))
        closed = await asyncio.gather(
            _in_time("log_did_not_close", CLOSING, self.world.log.close()),
            _in_time("ledger_did_not_close", CLOSING, self.world.ledger.close()),
        )
        return ended and all(closed)

    def metrics(self) -> bytes:
        return self._telemetry.text()

    async def parts(self) -> list[Part]:
        troubles = await self.readiness()
        told = [
            Part(f"this process: {role}", _state(waits), "; ".join(waits) or "ready")
            for role, waits in troubles.items()
        ]
        return [_redis(self._telemetry.redis), *told]

    async def violations(self) -> dict[str, int]:
        return await asyncio.to_thread(self._telemetry.violations_found)

    async def settings_in_force(self) -> list[SettingInForce]:
        return await asyncio.to_thread(self._settings)

    async def readiness(self) -> dict[str, list[str]]:
        """All roles need the Ledger; each needs something more."""
        problems = ["stopping"] if self._stopping and not self._followed else []
        try:
            await self.world.ledger.ping()
        except LedgerError as failure:
            problems.append(f"ledger: {failure}")
        return {role: [*problems, *self._waits_for(role)] for role in sorted(self._roles)}

    def _waits_for(self, role: Role) -> list[str]:
        match role:
            case Role.API:
                return []
            case Role.WORKER:
                return [f"outbox: {trouble}"] if (trouble := self._courier.trouble) else []
            case Role.GATEWAY:
                full = ["as many are connected as may be"] if self.door is not None and self.door.is_full else []
                return [f"feeds: {trouble}", *full] if (trouble := self.gateway.tails.trouble) else full


async def _in_time(failure: str, most: float, work: Awaitable[object]) -> bool:
    try:
        async with asyncio.timeout(most):
            await work
    except TimeoutError:
        log.warning(failure, seconds=most)
        return False
    return True


def _state(waits: Sequence[str]) -> PartState:
    return PartState.TROUBLE if waits else PartState.OK


def _redis(known: tuple[str, bool] | None) -> Part:
    match known:
        case None:
            return Part("redis", PartState.OFF, "none: machines poll")
        case (kind, True):
            return Part("redis", PartState.OK, f"{kind}, reachable")
        case (kind, _):
            return Part("redis", PartState.TROUBLE, f"{kind}, away: machines poll, nothing is lost")
