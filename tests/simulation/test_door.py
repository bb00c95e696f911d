"""How long webhooks could reach us: the count by which a try goes stale."""

import asyncio

from waypost.flow.world import Tuning
from waypost.model.time import minutes, seconds
from waypost_testing.simulation import Simulation, run_simulation
from waypost_testing.stories.cluster import SERVERS, Cluster, SharedLedger
from waypost_testing.stories.record import SimulationRecord


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


def test_a_server_that_lives_counts_as_open_whatever_the_other_does() -> None:
    async def main(sim: Simulation) -> int:
        record = SimulationRecord(now=lambda: sim.loop.micros)
        ledger = SharedLedger(sim, record)
        cluster = Cluster(sim, record, Tuning(), ledger)
        cluster.start()
        for _ in range(10):
            await asyncio.sleep(30)
            await cluster.kill(SERVERS[0], 0, seconds(30))
        return int(ledger.store.read("door_total", ())[0][0])

    assert minutes(9) <= run_simulation(1, main) <= minutes(10)
