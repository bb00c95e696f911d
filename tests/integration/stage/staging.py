"""Sets up a stage: two orgs, their numbers at the sandbox, a server with its own settings; and tears it down."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from tests.integration.stage.database import Database
from tests.integration.stage.harness import SWIFT, Stage
from tests.integration.stage.network import SANDBOX, AudibleHints, Network, SetDice, SharedTime
from tests.integration.stage.webhooks import Account, a_number
from waypost.adapters.local.clock import SystemIds
from waypost.flow.accounts import access
from waypost.model.ids import OrgId
from waypost.ports.conversations.bot import Bot
from waypost.ports.history.history import History
from waypost.ports.platform.clock import LedgerTime
from waypost.ports.platform.http_transport import HttpTransport
from waypost.ports.sending.mailer import Mailer
from waypost.runtime.process.server import ALL_ROLES, ProcessRole
from waypost.runtime.settings.definitions import Settings
from waypost.runtime.wiring.wiring import catalogues
from waypost.sandbox import Sandbox, SandboxTiming
from waypost_testing.clock import ManualClock


async def build_stage(
    database: Database,
    *,
    clock: LedgerTime | None = None,
    timing: SandboxTiming = SWIFT,
    wire: HttpTransport | None = None,
    mailer: Mailer | None = None,
    bot: Bot | None = None,
    log: History | None = None,
    roles: frozenset[ProcessRole] = ALL_ROLES,
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
    """Fast, and without a sending policy: a test about one chooses its own."""
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
    issued = await access.create_org(OrgId(account.org), stage.world)
    assert issued is not None
    account.key = issued.secret
    answer = await stage.call("POST", "/api/v1/numbers", account.as_connected, key=account.key)
    assert answer.status == 201, answer


@asynccontextmanager
async def open_stage(database: Database, **options: Any) -> AsyncIterator[Stage]:
    """A stage that is torn down at the end; a bug that only the log would show fails the test."""
    stage = await build_stage(database, **options)
    try:
        yield stage
    finally:
        await stage.close()
    if stage.bugs:
        raise AssertionError(f"bugs that only the log would tell: {stage.bugs}")
