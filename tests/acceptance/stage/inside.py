"""A site set up and examined without a process for each command: what a command costs is mostly its start."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.acceptance.stage.harness import GRAPH_VERSION, NUMBER, ORG, WABA, Site
from waypost.flow.accounts import access
from waypost.flow.operations import check_invariants
from waypost.flow.world import World
from waypost.model.ids import NumberId, OrgId
from waypost.ports.operations.invariants import InvariantFinding
from waypost.runtime.settings.definitions import Settings, load
from waypost.runtime.telemetry.telemetry import Telemetry
from waypost.runtime.wiring import wiring


def settings_of(here: Site) -> Settings:
    return load(here.environment, file=here.folder / "no file")


@asynccontextmanager
async def world_of(here: Site) -> AsyncIterator[World]:
    """The site's own database and settings, in this process."""
    settings = settings_of(here)
    ports = await wiring.system_ports(settings, serving=True)
    try:
        yield wiring.build_world(
            ports,
            settings.tuning(),
            Telemetry(),
            graph_url=settings.graph_url,
            graph_timeout=settings.graph_timeout_sec,
        )
    finally:
        await ports.ledger.close()


async def connect(here: Site) -> None:
    """As `Site.connect`: a schema, an org, and a number at a sandbox of its own."""
    await wiring.migrate(settings_of(here))
    secrets = {"token": here.token, "app_secret": here.app_secret, "verify_token": here.verify_token}
    graph = f"{here.sandbox_url}/{GRAPH_VERSION}"
    async with world_of(here) as world:
        issued = await access.create_org(OrgId(ORG), world)
        assert issued is not None
        here.api_key = issued.secret
        new = access.NewNumber(number=NumberId(NUMBER), waba_id=WABA, secrets=secrets, graph_url=graph)
        await access.connect_number(OrgId(ORG), new, world)
    here.start_sandbox()


async def violations(here: Site) -> list[InvariantFinding]:
    """What the loss detector finds, looking twice: some of it only shows in what has not changed."""
    async with world_of(here) as world:
        memory = check_invariants.DetectorState()
        return [*await check_invariants.detect(world, memory), *await check_invariants.detect(world, memory)]
