"""A stage is set up: two orgs, their numbers at the sandbox, a server with settings of its own; and cleared away."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from tests.integration.database import Database
from tests.integration.harness import SWIFT, Stage
from tests.integration.surroundings import SANDBOX, AudibleHints, Network, SetDice, SharedTime
from tests.integration.webhooks import Account, a_number
from waypost.adapters.local.clock import SystemIds
from waypost.flow import admit
from waypost.model.ids import OrgId
from waypost.ports.bot import Bot
from waypost.ports.clock import Clock
from waypost.ports.log import Log
from waypost.ports.mailer import Mailer
from waypost.ports.wire import Wire
from waypost.runtime.server import ALL_ROLES, Role
from waypost.runtime.settings import Settings
from waypost.runtime.wiring import catalogues
from waypost.sandbox import Sandbox, Timing
from waypost.testing.clock import ManualClock


async def build_stage(
    database: Database,
    *,
    clock: Clock | None = None,
    timing: Timing = SWIFT,
    wire: Wire | None = None,
    mailer: Mailer | None = None,
    bot: Bot | None = None,
    log: Log | None = None,
    roles: frozenset[Role] = ALL_ROLES,
    **settings: Any,
) -> Stage:
    await asyncio.to_thread(catalogues)  # reads files, once
    time_ = clock or ManualClock()
    network, dice, hints = Network(), SetDice(), AudibleHints()
    numbers = [a_number("1001"), a_number("2001")]
    sandbox = Sandbox(SharedTime(time_), dice, SystemIds(), network, numbers, SANDBOX, timing=timing)
    stage = Stage(
        database=database,
        clock=time_,
        network=network,
        sandbox=sandbox,
        settings=_settings(database, {"bot": "echo" if bot else "none", **settings}),
        hints=hints,
        dice=dice,
        acme=Account("acme", "", numbers[0]),
        globex=Account("globex", "", numbers[1]),
        provider_wire=wire or network,
        mailer=mailer,
        bot=bot,
        log=log,
    )
    asyncio.get_running_loop().set_exception_handler(lambda _, context: stage.bugs.append(context))
    server = await stage.add_server(roles)
    network.hosts = {"sandbox.test": sandbox, "waypost.test": server.app}
    for account in (stage.acme, stage.globex):
        await settle_in(stage, account)
    if "outbound_pace" not in settings:
        await stage.without_pace()
    return stage


def _settings(database: Database, chosen: Mapping[str, Any]) -> Settings:
    """Swift, and without a sending policy: a test about one chooses its own."""
    usual: dict[str, Any] = {
        "outbound_jitter": 0.0,
        "outbound_window": "ignore",
        "outbound_quota": 0,
        "outbound_pace": 1000,
        "outbound_stale_minutes": 2.0,
        "outbound_worker_poll_interval_ms": 1000,
        "graph_timeout_sec": 5.0,
    }
    place = {"database_url": database.url, "secret_key": "for tests", "graph_url": f"{SANDBOX}/v25.0"}
    return Settings(**{**usual, **place, **chosen})


async def settle_in(stage: Stage, account: Account) -> None:
    """The account's org, with its number connected."""
    issued = await admit.create_org(OrgId(account.org), stage.world)
    assert issued is not None
    account.key = issued.secret
    answer = await stage.call("POST", "/api/v1/numbers", account.as_connected, key=account.key)
    assert answer.status == 201, answer


@asynccontextmanager
async def open_stage(database: Database, **options: Any) -> AsyncIterator[Stage]:
    """A stage that is cleared away at the end; a bug that only the log would tell fails the test."""
    stage = await build_stage(database, **options)
    try:
        yield stage
    finally:
        await stage.close()
    if stage.bugs:
        raise AssertionError(f"bugs that only the log would tell: {stage.bugs}")
