"""The provider is away for ten hours, in simulated time: the real server, its clock and its network are simulated."""

from __future__ import annotations

import asyncio
import os
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import msgspec

from tests.acceptance.conftest import Report
from waypost.adapters.sql.ledger import SqlLedger
from waypost.flow.operations import check_invariants
from waypost.flow.world import Tuning
from waypost.model.time import Instant, as_seconds, hours, minutes, seconds, to_datetime
from waypost.runtime.telemetry.telemetry import Telemetry
from waypost.sandbox import Sandbox
from waypost_testing.simulation import START, Outage, Simulation, run_simulation
from waypost_testing.stories.cluster import GRAPH, SERVERS, Cluster, SharedLedger
from waypost_testing.stories.record import ObservedMessage, SimulationRecord
from waypost_testing.stories.sending.callers import MESSAGES, ApiClient, SimulatedOrg
from waypost_testing.stories.story import founded, sandbox_number
from waypost_testing.stories.wires import BalancedTransport

HOURS = float(os.environ.get("WAYPOST_TEST_PROVIDER_HOURS") or 10)
EVERY = minutes(20)
"""Between two bursts while the provider is away."""
BURST = 15
"""Enough to be seen by the breaker."""
HOW = (Outage.REFUSING, Outage.SILENT, Outage.ERRORS)
"""One third of the time each: no connection, no answer, the error page of a gateway."""


@dataclass
class Scene:
    """Two servers, one org, one number, and its provider."""

    sim: Simulation
    record: SimulationRecord = field(init=False)

    def __post_init__(self) -> None:
        sim = self.sim
        self.record = SimulationRecord(now=lambda: sim.loop.micros)
        self.ledger = SharedLedger(sim, self.record)
        tuning = Tuning(
            quota=None, enforce_window=False, indexing=False, figures=False, poll=seconds(30), webhook_tick=seconds(30)
        )
        self.cluster = Cluster(sim, self.record, tuning, self.ledger)
        self.client = ApiClient(sim, sim.node("callers"), self.record, sim.chance.stream("callers"))

    async def open(self) -> None:
        self.org: SimulatedOrg = await founded("north", 1, self.cluster.world(self.sim.node("operator"), Telemetry()))
        node = self.sim.node(GRAPH)
        wire = BalancedTransport(
            self.sim.network.transport(node), self.record, SERVERS, self.sim.chance.stream("balancer")
        )
        self.sandbox = Sandbox(node.clock, node.random, node.ids, wire, [sandbox_number(self.org)])
        self.sim.network.listen(GRAPH, node, self.sandbox)
        self.cluster.start()
        await asyncio.sleep(1)

    async def post(self, n: int, **more: Any) -> int:
        body = {"channel": "WHATSAPP", "to": f"+49151123{n:06}", "payloadJson": {"text": f"n {n}"}, **more}
        reply = await self.client.insist(self.org, "POST", MESSAGES, {**body, "idempotencyKey": f"key {n}"})
        assert reply.status == 201, reply
        return msgspec.json.decode(reply.body, type=ObservedMessage).id

    async def stand(self) -> Counter[str]:
        return Counter(view.status for view in await self.client.all(self.org))

    async def at_rest(self) -> float:
        """Simulated seconds until nothing waits any more, but for a person."""
        since = self.sim.loop.micros
        while (await self.stand()).keys() & {"QUEUED", "SENT"} or set(await self.sending()) - set(await self.parked()):
            assert self.sim.loop.micros - since < hours(8), await self.stand()
            await asyncio.sleep(20)
        return as_seconds(self.sim.loop.micros - since)

    async def sending(self) -> list[int]:
        return [view.id for view in await self.client.all(self.org, "SENDING")]

    async def parked(self) -> list[int]:
        """Their last try got no answer, and there is no further one."""
        replies = {
            n: await self.client.insist(self.org, "GET", f"{MESSAGES}/{n}/timeline") for n in await self.sending()
        }
        return [n for n, reply in replies.items() if b'"parked"' in reply.body]

    async def delivered(self, message: int) -> float:
        since = self.sim.loop.micros
        while (view := await self.client.show(self.org, message)) is None or view.status != "DELIVERED":  # noqa: ASYNC110  # simulated
            await asyncio.sleep(0.5)
        return as_seconds(self.sim.loop.micros - since)

    async def gates(self) -> list[str]:
        reply = await self.client.insist(self.org, "GET", "/api/v1/outbound/gates")
        return re.findall(r'"kind":"(\w+)"', reply.body.decode())

    async def figure(self, name: str) -> float:
        reply = await self.client.insist(self.org, "GET", "/metrics")
        return sum(float(v) for v in re.findall(rf"^{name}(?:{{.*}})? (\S+)$", reply.body.decode(), re.MULTILINE))

    def accepted(self) -> Counter[str]:
        return Counter(
            str(msgspec.json.decode(call.body)["text"]["body"]) for call in self.sandbox.calls.listed() if call.wamid
        )


async def the_provider_is_away(sim: Simulation) -> str:
    scene = Scene(sim)
    await scene.open()
    before = [await scene.post(n) for n in range(10)]
    await scene.at_rest()
    sim.node(SERVERS[1]).crash()  # one is enough, and ten hours of two take twice as long
    posted = await write_on(scene, len(before))
    during, gates = await scene.stand(), await scene.gates()
    unreachable = await scene.figure("outbound_provider_unreachable_total")
    sim.network.heal(GRAPH)
    fresh = await scene.delivered(await scene.post(len(before) + posted))
    took = await scene.at_rest()
    after = await scene.stand()
    replayed, retried = await a_person_looks(scene)
    await judge(scene, len(before) + posted + 1)
    return (
        f"{HOURS:.0f} h: {dict(during)}, gates closed {gates}, outbound_provider_unreachable_total {unreachable:.0f}; "
        f"back: a new message delivered after {fresh:.0f} simulated s, {dict(after)} after {took / 60:.0f} min; "
        f"dead letters replayed {replayed}, parked ones retried {retried}, then {dict(await scene.stand())}"
    )


async def write_on(scene: Scene, first: int) -> int:
    """While the provider is away in one way after the other; some have only an hour, some must keep their order."""
    bursts = round(HOURS * hours(1) / EVERY)
    for burst in range(bursts):
        scene.sim.network.fail(GRAPH, HOW[burst * len(HOW) // bursts])
        for n in range(first + burst * BURST, first + (burst + 1) * BURST):
            soon = Instant(START + scene.sim.loop.micros + hours(1))
            await scene.post(n, **({"expiresAt": to_datetime(soon)} if n % 5 == 0 else {"ordered": n % 5 == 1}))
        await asyncio.sleep(as_seconds(EVERY))
    return bursts * BURST


async def a_person_looks(scene: Scene) -> tuple[int, int]:
    """What was tried as often as it may be is a dead letter, or parked, and goes when somebody says so."""
    reply = await scene.client.insist(scene.org, "POST", "/api/v1/outbound/dead-letters/replay", {})
    parked = await scene.parked()
    for message in parked:
        await scene.client.insist(scene.org, "POST", f"{MESSAGES}/{message}/retry")
    await scene.at_rest()
    return int(msgspec.json.decode(reply.body)["replayed"]), len(parked)


async def judge(scene: Scene, count: int) -> None:
    views = {view.id: view for view in await scene.client.all(scene.org)}
    assert len(views) == count, "nothing acknowledged is lost"
    accepted = scene.accepted()
    assert set(accepted.values()) == {1}, "nothing is sent twice"
    ended = Counter((view.status, view.error_code) for view in views.values())
    assert ended.keys() <= {("DELIVERED", None), ("CANCELLED", "EXPIRED")}, ended
    assert ended["DELIVERED", None] == len(accepted)
    look = check_invariants.message_scan(scene.cluster.tuning, scene.ledger.clock.now(), 0, 2**40)
    engine = scene.ledger.engine(scene.sim.node("auditor"))
    assert not await SqlLedger(engine).invariants.look(look)


def test_the_provider_is_away_for_ten_hours(report: Report) -> None:
    report(run_simulation(7, the_provider_is_away, shuffle=True, trace_limit=100))
