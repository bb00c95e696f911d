"""A server: its application and its background work, started and stopped together."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import structlog

from waypost.flow.accounts import budgets
from waypost.flow.conversations import reclaim_turns
from waypost.flow.conversations.answer_turn import TurnWorker
from waypost.flow.conversations.search import indexer
from waypost.flow.history import archive, verify
from waypost.flow.live import notify
from waypost.flow.operations import check_invariants, maintenance
from waypost.flow.receiving.fetch_media import PRUNE_EVERY as PRUNE_MEDIA_EVERY
from waypost.flow.receiving.fetch_media import MediaFetcher, prune_media
from waypost.flow.sending import templates
from waypost.flow.sending.deliver import DeliveryWorker
from waypost.flow.sending.failover import EVERY as FAIL_OVER_EVERY
from waypost.flow.sending.failover import FailOver
from waypost.flow.world import World
from waypost.http.app import ServerApp
from waypost.http.edge.context import SandboxApp
from waypost.http.live.gateway import Gateway
from waypost.http.live.websocket import WebSocketServer
from waypost.http.live.websocket_handshake import same_host
from waypost.model.overview import Component, ComponentState
from waypost.model.setting import SettingInForce
from waypost.model.time import Span, seconds
from waypost.ports.live.push import Pusher
from waypost.ports.platform.failure import LedgerError
from waypost.ports.platform.hints import ACCOUNTS, FEED
from waypost.rules.operations import clock_offset
from waypost.runtime.process.role_app import RoleApp
from waypost.runtime.settings.roles import ALL_ROLES, LISTENING, ProcessRole
from waypost.runtime.telemetry.telemetry import Telemetry

__all__ = ["ALL_ROLES", "ProcessRole", "Server"]

log = structlog.get_logger("server")

GRACE: Span = seconds(5)
LEAVING_GRACE: Span = seconds(30)
"""When a successor is running: sends and turns under way are finished."""
AFTER_A_BUG: Span = seconds(1)
ENDING = 1.0
CLOSING = 2.0
"""Seconds for background work to end, and then for the Ledger and the history store to close, each."""


class Server:
    """Built from its world; several can run in one event loop."""

    def __init__(
        self,
        world: World,
        telemetry: Telemetry,
        roles: frozenset[ProcessRole] = ALL_ROLES,
        origins: Sequence[str] = (),
        settings: Callable[[], list[SettingInForce]] = list,
    ) -> None:
        self.world = world
        self._settings = settings
        self.app = ServerApp(self) if roles >= LISTENING else RoleApp(ServerApp(self), roles)
        self.gateway = Gateway(world)
        self.phones: SandboxApp | None = None
        """The sandbox of a demo, whose page simulates customers."""
        self._telemetry = telemetry
        self._roles = roles
        self.websockets = self._websocket_server(origins)
        """The WebSocket server, if this process has one."""
        self._courier = DeliveryWorker(world)
        self._converser = TurnWorker(world, world.bot) if world.bot is not None else None
        self._tasks: list[asyncio.Task[None]] = []
        self._seen = check_invariants.DetectorState()
        self._stopping = False
        self._followed = False

    async def start(self) -> None:
        world = self.world
        self._keep(self._follow_accounts)
        self._keep(lambda: maintenance.run_every(maintenance.MEASURE_CLOCK_EVERY, maintenance.measure_clock, world))
        for work in world.works:
            self._keep(work)
        world.ledger.feeds.on_moved(lambda heads: world.hints.give([f"{FEED}:{feed}" for feed in heads]))
        if world.history_separate:
            self._keep(lambda: maintenance.run_every(archive.LOOK_EVERY, archive.check_history, world))
        else:
            self._keep(
                lambda: maintenance.run_every(
                    archive.CHECK_CONFIGURED_EVERY, archive.check_history_not_configured, world
                )
            )
        if ProcessRole.API in self._roles:
            self._keep(lambda: maintenance.count_webhook_uptime(world))
        if ProcessRole.GATEWAY in self._roles:
            for work in self.gateway.works:
                self._keep(work)
        else:
            self._keep(lambda: notify.listen_to_presence(world))
        if ProcessRole.WORKER in self._roles:
            self._start_worker(world)

    def _start_worker(self, world: World) -> None:
        self._keep(self._courier.run)
        if self._converser is not None:
            self._answer(self._converser)
        self._keep(lambda: maintenance.run_every(maintenance.WORKER_SEEN_EVERY, maintenance.record_worker_seen, world))
        self._keep(lambda: maintenance.run_every(world.tuning.webhook_tick, maintenance.settle_unsure, world))
        self._keep(
            lambda: maintenance.run_every(maintenance.UNMATCHED_EVERY, maintenance.prune_unmatched_statuses, world)
        )
        self._keep(lambda: maintenance.run_every(check_invariants.LOOK_EVERY, self._detect, world))
        self._keep(lambda: maintenance.run_every(maintenance.EXPIRE_EVERY, maintenance.expire, world))
        self._start_pruning(world)
        if world.tuning.indexing:
            self._keep(indexer(world).run)
        if world.history_separate:
            self._keep(archive.archive_consumer(world).run)
            self._keep(lambda: maintenance.run_every(verify.prune_interval(world), verify.BodyPruner().round, world))
            self._keep(lambda: maintenance.run_every(archive.LOOK_EVERY, verify.append_lost_again, world))
        self._keep(lambda: maintenance.run_every(FAIL_OVER_EVERY, FailOver().round, world))
        self._keep(MediaFetcher(world).run)
        if world.pusher is not None:
            self._notify(world, world.pusher)
        self._keep(lambda: maintenance.run_every(PRUNE_MEDIA_EVERY, prune_media, world))
        if world.tuning.figures:
            self._keep(lambda: maintenance.survey(world))
        self._keep(lambda: maintenance.run_every(budgets.CHECK_EVERY, budgets.check_budgets, world))
        self._keep(lambda: maintenance.run_every(templates.LOOK_EVERY, templates.refresh, world))

    def _start_pruning(self, world: World) -> None:
        self._keep(lambda: maintenance.run_every(maintenance.PRUNE_EVERY, maintenance.prune_windows, world))
        self._keep(lambda: maintenance.run_every(maintenance.PRUNE_EVERY, maintenance.prune_inbound, world))
        self._keep(lambda: maintenance.run_every(maintenance.PRUNE_EVERY, maintenance.prune_journal, world))
        self._keep(lambda: maintenance.run_every(maintenance.PRUNE_EVERY, maintenance.prune_turns, world))
        self._keep(lambda: maintenance.run_every(maintenance.PRUNE_EVERY, maintenance.prune_feeds, world))
        self._keep(lambda: maintenance.run_every(maintenance.PRUNE_DEVICES_EVERY, maintenance.prune_devices, world))
        self._keep(lambda: maintenance.run_every(maintenance.PRUNE_EVERY, maintenance.prune_search, world))

    def _notify(self, world: World, pusher: Pusher) -> None:
        step = notify.of(world, pusher)
        self._keep(notify.Notifier(step).run)
        self._keep(lambda: maintenance.run_every(maintenance.PRUNE_EVERY, maintenance.prune_notifications, world))

    def _answer(self, converser: TurnWorker) -> None:
        async def from_the_start() -> None:
            await reclaim_turns.reclaim_at_start(self.world)
            await maintenance.count_stale(self.world)  # after it, since what a predecessor left is stale, too
            await converser.run()

        self._keep(from_the_start)
        self._keep(converser.keep)
        self._keep(lambda: reclaim_turns.follow_worker_exits(self.world))

    def _keep(self, work: Callable[[], Awaitable[None]]) -> None:
        self._tasks.append(asyncio.ensure_future(self._kept(work)))

    async def _kept(self, work: Callable[[], Awaitable[None]]) -> None:
        """Background work ends when the server stops; any other end is a bug, which is logged and survived."""
        while not self._stopping:
            try:
                await work()
            except Exception as bug:  # noqa: BLE001  # the server continues in any case
                asyncio.get_running_loop().call_exception_handler(
                    {"message": "background work failed", "exception": bug}
                )
                await self.world.clock.sleep(AFTER_A_BUG)

    async def _detect(self, world: World) -> None:
        await check_invariants.detect(world, self._seen)

    async def _follow_accounts(self) -> None:
        with self.world.hints.listen(ACCOUNTS) as listener:
            while True:
                if await listener.wait(seconds(60)):
                    self.world.numbers.invalidate()
                    self.world.mailboxes.invalidate()
                    self.world.policies.invalidate()

    def _websocket_server(self, origins: Sequence[str]) -> WebSocketServer | None:
        return WebSocketServer(self.gateway.welcome, same_host(origins)) if ProcessRole.GATEWAY in self._roles else None

    async def wind_down(self, grace: Span = GRACE, *, followed: bool = False) -> None:
        """Start nothing new and finish what is under way, while statuses can still come in.

        A send that the grace period is too short for stays unsure and is settled by its status. A process with a
        successor stays ready: a request over a remaining connection asks about the port, which is served.
        """
        self._stopping, self._followed = True, followed
        self.world.closing.set()
        self.gateway.close_all()
        began = self.world.clock.monotonic()
        if self._converser is not None:
            await self._converser.stop(Span(grace // 2))
        spent = seconds(self.world.clock.monotonic() - began)
        left = await self._courier.stop(Span(grace - min(spent, grace // 2)))
        if left:
            log.warning("stopped_with_sends_under_way", count=left)

    async def stop(self, grace: Span = GRACE) -> bool:
        """End everything; False when a part could not be ended or closed in time, which does not affect the others."""
        if not self._stopping:
            await self.wind_down(grace)
        for task in self._tasks:
            task.cancel()
        if ProcessRole.API in self._roles:
            await _in_time("uptime_did_not_end", ENDING, maintenance.leave_webhook_uptime(self.world))
        self.world.hints.close()
        await self.world.mailer.close()
        if self.world.bot is not None:
            await self.world.bot.close()
        ended = await _in_time("work_did_not_end", ENDING, asyncio.gather(*self._tasks, return_exceptions=True))
        closed = await asyncio.gather(
            _in_time("history_did_not_close", CLOSING, self.world.history.close()),
            _in_time("ledger_did_not_close", CLOSING, self.world.ledger.close()),
        )
        return ended and all(closed)

    def metrics(self) -> bytes:
        return self._telemetry.text()

    async def parts(self) -> list[Component]:
        troubles = await self.readiness()
        own = [
            Component(f"this process: {role}", _state(waits), "; ".join(waits) or "ready")
            for role, waits in troubles.items()
        ]
        return [_redis(self._telemetry.redis), *own, *(_clock(text) for text in self.warnings())]

    def warnings(self) -> list[str]:
        """What an operator should know although the process is ready."""
        return [text] if (text := clock_offset.warning(self._telemetry.clock_ahead)) else []

    async def violations(self) -> dict[str, int]:
        return await asyncio.to_thread(self._telemetry.violations_found)

    async def settings_in_force(self) -> list[SettingInForce]:
        return await asyncio.to_thread(self._settings)

    async def readiness(self) -> dict[str, list[str]]:
        """All roles need the Ledger; each needs more."""
        problems = ["stopping"] if self._stopping and not self._followed else []
        try:
            await self.world.ledger.ping()
        except LedgerError as failure:
            problems.append(f"ledger: {failure}")
        return {role: [*problems, *self._waits_for(role)] for role in sorted(self._roles)}

    def _waits_for(self, role: ProcessRole) -> list[str]:
        match role:
            case ProcessRole.API:
                return []
            case ProcessRole.WORKER:
                return [f"outbox: {trouble}"] if (trouble := self._courier.trouble) else []
            case ProcessRole.GATEWAY:
                full = (
                    ["the connection limit is reached"]
                    if self.websockets is not None and self.websockets.is_full
                    else []
                )
                return [f"feeds: {trouble}", *full] if (trouble := self.gateway.tails.trouble) else full


async def _in_time(failure: str, most: float, work: Awaitable[object]) -> bool:
    try:
        async with asyncio.timeout(most):
            await work
    except TimeoutError:
        log.warning(failure, seconds=most)
        return False
    return True


def _state(waits: Sequence[str]) -> ComponentState:
    return ComponentState.TROUBLE if waits else ComponentState.OK


def _clock(warning: str) -> Component:
    return Component("this process: clock", ComponentState.TROUBLE, warning)


def _redis(known: tuple[str, bool] | None) -> Component:
    match known:
        case None:
            return Component("redis", ComponentState.OFF, "none: machines poll")
        case (kind, True):
            return Component("redis", ComponentState.OK, f"{kind}, reachable")
        case (kind, _):
            return Component("redis", ComponentState.TROUBLE, f"{kind}, unreachable: machines poll, nothing is lost")
