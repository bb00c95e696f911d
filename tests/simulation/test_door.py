"""How long webhooks could reach us: the count by which a try goes stale."""

import asyncio

import pytest

from tests.simulation import mutations
from waypost.flow.world import Tuning
from waypost.model.time import Span, minutes, seconds
from waypost.runtime.telemetry.telemetry import Telemetry
from waypost.sandbox import Sandbox
from waypost_testing.simulation import Simulation, run_simulation
from waypost_testing.stories.cluster import GRAPH, SERVERS, Cluster, CustomiseParts, SharedLedger, unchanged_parts
from waypost_testing.stories.record import SimulationRecord
from waypost_testing.stories.sending.callers import MESSAGES, ApiClient, phone
from waypost_testing.stories.story import founded, sandbox_number
from waypost_testing.stories.wires import BalancedTransport

AWAY = seconds(30)


def test_a_server_that_keeps_dying_does_not_count_as_open() -> None:
    """Found by simulation (seed 601): short deaths were counted as open, so a try went stale before its time."""

    async def main(sim: Simulation) -> int:
        record = SimulationRecord(now=lambda: sim.loop.micros)
        ledger = SharedLedger(sim, record)
        cluster = Cluster(sim, record, Tuning(), ledger)
        for _ in range(60):
            await cluster.kill(SERVERS[0], 0, seconds(9))
            await asyncio.sleep(1)
        return int(ledger.store.read("door_total", ())[0][0])

    assert run_simulation(1, main) <= minutes(1)


@pytest.mark.parametrize(
    ("killed", "least", "most"), [(False, minutes(9), minutes(10)), (True, minutes(5), minutes(7.5))]
)
def test_what_a_server_counts_while_another_is_away(killed: bool, least: Span, most: Span) -> None:
    """One that stops says so. One that is killed may refuse webhooks for all we know: its silence does not count."""

    async def main(sim: Simulation) -> int:
        record = SimulationRecord(now=lambda: sim.loop.micros)
        ledger = SharedLedger(sim, record)
        cluster = Cluster(sim, record, Tuning(), ledger)
        cluster.start()
        for _ in range(10):
            await asyncio.sleep(30)
            await (cluster.kill(SERVERS[0], 0, AWAY) if killed else cluster.stop(SERVERS[0], AWAY))
        return int(ledger.store.read("door_total", ())[0][0])

    assert least <= run_simulation(1, main) <= most


def test_a_server_that_keeps_dying_is_soon_replaced_and_refuses_nothing() -> None:
    """Otherwise the limit would start anew with each of its deaths, and no attempt of any org would go stale."""

    async def main(sim: Simulation) -> tuple[int, int]:
        record = SimulationRecord(now=lambda: sim.loop.micros)
        ledger = SharedLedger(sim, record)
        cluster = Cluster(sim, record, Tuning(), ledger)
        cluster.start()
        for _ in range(30):
            await asyncio.sleep(10)
            await cluster.kill(SERVERS[0], 0, seconds(2))
        open_total, refused_total = ledger.store.read("door_total", ())[0]
        return open_total, refused_total

    open_total, refused_total = run_simulation(1, main)
    assert refused_total == 0
    assert open_total >= minutes(4)


def calls_of_one_message(dress: CustomiseParts, span: Span) -> int:
    """A server calls the provider, then has no connection to the Ledger, and every status comes to it."""

    async def main(sim: Simulation) -> int:
        record = SimulationRecord(now=lambda: sim.loop.micros)
        cluster = Cluster(sim, record, Tuning(figures=False, indexing=False), SharedLedger(sim, record), dress)
        org = await founded("north", 1, cluster.world(sim.node("operator"), Telemetry()))
        node, rng = sim.node(GRAPH), sim.chance.stream("callers")
        wire = BalancedTransport(sim.network.transport(node), record, cluster.balanced, rng)
        sim.network.listen(GRAPH, node, Sandbox(node.clock, node.random, node.ids, wire, [sandbox_number(org)]))
        cluster.start()
        words = [{"type": "text", "text": word} for word in ("north:k1", "A1")]
        content = {"language": "en", "components": [{"type": "body", "parameters": words}]}
        body = {"channel": "WHATSAPP", "to": phone(1), "templateCode": "order_confirmation", "payloadJson": content}
        client = ApiClient(sim, sim.node("callers"), record, rng)
        await client.insist(org, "POST", MESSAGES, body)
        while not record.sent:  # noqa: ASYNC110  # the provider tells nobody
            await asyncio.sleep(0.001)
        sender = record.sent[0].server
        cluster.balanced[:] = [sender]
        await cluster.ledger.starve(sender, span)
        cluster.balanced[:] = SERVERS
        await asyncio.sleep(1800)
        (shown,) = await client.all(org)
        assert shown.status == "DELIVERED"
        return len(record.sent)

    return run_simulation(1, main, shuffle=True)


@pytest.mark.parametrize("span", [minutes(1), minutes(14), minutes(19)])
def test_a_server_without_a_connection_causes_no_second_call(span: Span) -> None:
    """It refuses the statuses of a message, and another server counts: the message is not stale."""
    assert calls_of_one_message(unchanged_parts, span) == 1


def test_without_listeners_it_would(monkeypatch: pytest.MonkeyPatch) -> None:
    bug = mutations.webhook_uptime_that_counts_while_a_server_refuses_webhooks(monkeypatch)
    assert calls_of_one_message(bug, minutes(14)) == 2
