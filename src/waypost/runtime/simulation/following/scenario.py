"""One seed, one world of people: two orgs, chats of two and of many, customers, devices, a storm, calm, and a look."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass
from typing import Any

from waypost.flow import admit
from waypost.flow.world import Tuning, World
from waypost.model.account import Role
from waypost.model.ids import OrgId
from waypost.model.time import Span, hours, minutes, seconds
from waypost.runtime.simulation.callers import Org
from waypost.runtime.simulation.cluster import GRAPH, SERVERS, Cluster, Dress, Grapevine, SharedLedger, real
from waypost.runtime.simulation.following import lines as weather_of_lines
from waypost.runtime.simulation.following.device import Around, Device, Person, SimulatedRest
from waypost.runtime.simulation.following.lines import Lines, LineWeather
from waypost.runtime.simulation.following.log import SharedLog
from waypost.runtime.simulation.following.people import Folk, Habits, opened
from waypost.runtime.simulation.following.record import FollowRecord
from waypost.runtime.simulation.following.trouble import PEOPLE, FollowTrouble
from waypost.runtime.simulation.following.truth import KEEP_EVERYTHING, Truth, truth
from waypost.runtime.simulation.record import Record
from waypost.runtime.simulation.scenario import founded, sandbox_number
from waypost.runtime.simulation.talking.people import Writers
from waypost.runtime.simulation.trouble import Severity
from waypost.runtime.simulation.wires import BalancedWire
from waypost.runtime.telemetry import Telemetry
from waypost.sandbox import Sandbox
from waypost.testing.simulation import Complaint, Simulation, run_simulation

STORM = 0.03
"""Of the hours asked for."""
PHONES = ("+491511234501", "+491511234502")
LOOK_EVERY: Span = seconds(5)
LONGEST_CALM = minutes(8) // LOOK_EVERY
QUIET_LOOKS = 2
OUTBOX_LOOKS = 12
PEOPLE_OF = {"north": 37, "south": 4}
DEVICES = {"north": (3, 2, 2, 2, 1, 1, 1, 1), "south": (2, 1)}
"""Of the first few of each org; the last few of the north have one each, too: they are in no group at first."""
NEWCOMERS = 4


@dataclass(frozen=True, kw_only=True)
class FollowPlan:
    """What the seed decides before anything happens."""

    habits: Habits
    lines: LineWeather
    severity: Severity
    grapevine: Grapevine
    incidents: float
    history: str
    size: int
    """Of the group that grows."""
    log_grace: Span | None
    """How long bodies stay after a Log of its own has them; None: there is no such Log."""

    @classmethod
    def drawn(cls, dice: random.Random) -> FollowPlan:
        return cls(
            habits=Habits.drawn(dice),
            lines=weather_of_lines.drawn(dice),
            severity=Severity.drawn(dice),
            grapevine=Grapevine(
                lost=dice.choice((0.1, 0.5, 1.0)),
                doubled=dice.choice((0.0, 0.3)),
                late=dice.choice((0.01, 0.3, 3.0)),
            ),
            incidents=dice.choice((4, 8, 20)),
            history=dice.choice(("all", "joined")),
            size=dice.choice((29, 31, 32)),
            log_grace=dice.choice((None, seconds(1), seconds(8), seconds(30))),
        )


@dataclass(frozen=True, kw_only=True)
class FollowEnding:
    """What is left when everything has come to rest: every device's screen, and the truth."""

    seed: int
    record: Record
    follow: FollowRecord
    devices: list[Device]
    truth: Truth
    served: dict[str, dict[str, int]]
    """Person -> conversation -> unread, as the API counts it."""
    read: dict[str, dict[str, dict[int, Any]]]
    """Person -> conversation -> position -> content, as the API reads it in the end; of a few."""
    kept: dict[tuple[int, int], str] | None
    """What a Log of its own keeps: conversation and time of an id -> body."""
    unsettled: list[str]
    """Devices that did not come to rest, or the Log."""
    complaints: list[Complaint]
    crashes: int
    micros: int
    digest: str
    lines: list[str]


def run_follow(seed: int, length: float = 1.0, dress: Dress = real, trace_limit: int | None = 2_000) -> FollowEnding:
    """The whole run of one seed; `length` is in simulated hours, roughly."""

    async def main(sim: Simulation) -> FollowEnding:
        return await _Run(sim, dress).through(hours(length))

    return run_simulation(seed, main, shuffle=True, trace_limit=trace_limit, strict=False)


class _Run:
    def __init__(self, sim: Simulation, dress: Dress) -> None:
        self.sim = sim
        self.record = Record(now=lambda: sim.loop.micros)
        self.follow = FollowRecord()
        self.plan = FollowPlan.drawn(sim.chance.stream("follow plan"))
        self.ledger = SharedLedger(sim, self.record)
        self.ledger.rows(KEEP_EVERYTHING)
        tuning = Tuning(
            figures=False,
            door_tick=seconds(20),
            poll=seconds(20),
            quota=None,
            pace=1000,
            pair_burst=1000,
            log_grace=self.plan.log_grace or hours(1),
        )
        self.log = SharedLog(sim) if self.plan.log_grace is not None else None
        log_of = self.log.of if self.log is not None else None
        self.cluster = Cluster(
            sim, self.record, tuning, self.ledger, dress, grapevine=self.plan.grapevine, log_of=log_of
        )
        self.lines = Lines(sim, self.cluster.node, self.cluster.gateway)
        self.people: dict[str, list[Person]] = {}
        self.devices: list[Device] = []

    async def through(self, length: Span) -> FollowEnding:
        world = self.cluster.world(self.sim.node("operator"), Telemetry())
        orgs = [await founded(name, number, world) for number, name in enumerate(PEOPLE_OF, 1)]
        sandbox = self._provider(orgs)
        self.cluster.start()
        await self._settle_in(world)
        until = self.record.now() + round(length * STORM)
        trouble = FollowTrouble(self.sim, self.cluster, sandbox, self.record, self.lines, self.log)
        trouble.weather(self.plan.severity)
        self.lines.weather = self.plan.lines
        writers = Writers(sandbox, self.sim.chance.stream("customers"), self.record, until)
        chats = [(number, phone) for number in sandbox.numbers.all() for phone in PHONES]
        at_their_phones = self.sim.node(GRAPH).spawn(writers.write(chats, 25))
        about = self.sim.node(PEOPLE).spawn(self._folk(until).live())
        await trouble.brew(until, self.plan.incidents)
        trouble.calm()
        await asyncio.gather(at_their_phones, about)
        await sandbox.settled()
        return await self._ending(await self._come_to_rest())

    def _provider(self, orgs: list[Org]) -> Sandbox:
        node = self.sim.node(GRAPH)
        wire = BalancedWire(self.sim.network.wire(node), self.record, SERVERS, self.sim.chance.stream("balancer"))
        sandbox = Sandbox(node.clock, node.dice, node.ids, wire, [sandbox_number(org) for org in orgs])
        self.sim.network.listen(GRAPH, node, sandbox)
        return sandbox

    async def _settle_in(self, world: World) -> None:
        """People, their chats and their devices, in calm."""
        for org, count in PEOPLE_OF.items():
            issued = [await admit.create_user(OrgId(org), f"{org} {n}", Role.AGENT, world) for n in range(count)]
            self.people[org] = [Person(org=org, id=each.id, token=each.secret) for each in issued]
        await asyncio.sleep(1)
        await self.sim.node(PEOPLE).run(self._open_chats())
        for org, counts in DEVICES.items():
            few = list(zip(self.people[org], counts, strict=False))
            last = [(person, 1) for person in self.people[org][-NEWCOMERS:]] if org == "north" else []
            for person, count in [*few, *last]:
                self.devices += [Device(f"{person.id[-4:]}-{n}", person, self._around()) for n in range(count)]
        await self.sim.node(PEOPLE).run(self._switch_on())

    def _around(self) -> Around:
        wire, dice = self.sim.network.wire(self.sim.node(PEOPLE)), self.sim.chance.stream("devices")
        return Around(lines=self.lines, wire=wire, record=self.follow, now=self.record.now, dice=dice.random)

    async def _switch_on(self) -> None:
        for device in self.devices:
            await device.switch_on()

    async def _open_chats(self) -> None:
        north, south, history = self.people["north"], self.people["south"], self.plan.history
        rest = SimulatedRest(north[0], self._around(), 10)
        await opened(north[0], rest, "group", north[: self.plan.size], history)
        await opened(north[0], rest, "group", north[:-2], "all")
        await opened(north[0], rest, "group", north[:4], "all")
        await opened(north[0], rest, "group", [north[0], *north[3:6]], "joined")
        for other in north[1:4]:
            await opened(north[0], rest, "direct", [other], "all")
        there = SimulatedRest(south[0], self._around(), 10)
        await opened(south[0], there, "group", south, "all")
        await opened(south[0], there, "direct", [south[1]], "all")

    def _folk(self, until: int) -> Folk:
        everybody = [person for people in self.people.values() for person in people]
        dice = self.sim.chance.stream("folk")
        return Folk(self.devices, everybody, self.plan.habits, self.follow, self.record, dice, until)

    # Calm

    async def _come_to_rest(self) -> list[str]:
        """Until every device is live, has nothing to send, and stands where its feeds end; who does not, is named."""
        await self.sim.node(PEOPLE).run(self._switch_on())
        quiet = 0
        restless: list[str] = []
        for look in range(LONGEST_CALM):
            await asyncio.sleep(LOOK_EVERY / 1_000_000)
            restless = self._restless()
            quiet = 0 if restless or (look < OUTBOX_LOOKS and self._is_sending()) else quiet + 1
            if quiet >= QUIET_LOOKS:
                break
        return restless

    def _is_sending(self) -> bool:
        """What waits for its next try may wait for long: nobody here waits for that."""
        return bool(self.ledger.rows("SELECT 1 FROM delivery WHERE status = 'QUEUED' LIMIT 1"))

    def _restless(self) -> list[str]:
        heads = dict(self.ledger.rows("SELECT name, head FROM feed ORDER BY name"))
        found = [device.id for device in self.devices if not device.at_rest(_theirs(device, heads))]
        return found + (["the Log"] if self.log is not None and self.ledger.rows(_NOT_HANDED_OVER) else [])

    async def _ending(self, unsettled: list[str]) -> FollowEnding:
        served = await self.sim.node(PEOPLE).run(self._served())
        read = await self.sim.node(PEOPLE).run(self._read(served))
        for device in self.devices:
            shown = {where: sorted(talk.lines) for where, talk in sorted(device.screen.talks.items())}
            self.sim.trace.note("final", device=device.id, life=device.life, shown=repr(shown))
        return FollowEnding(
            seed=self.sim.seed,
            record=self.record,
            follow=self.follow,
            devices=self.devices,
            truth=truth(self.ledger.rows),
            served=served,
            read=read,
            kept=self.log.bodies() if self.log is not None else None,
            unsettled=unsettled,
            complaints=self.sim.complaints,
            crashes=self.cluster.crashes,
            micros=self.sim.loop.micros,
            digest=self.sim.trace.digest(),
            lines=self.sim.trace.lines(),
        )

    async def _served(self) -> dict[str, dict[str, int]]:
        served: dict[str, dict[str, int]] = {}
        for person in {device.person.id: device.person for device in self.devices}.values():
            answer = await SimulatedRest(person, self._around(), 10).insist("GET", "/conversations?limit=200")
            listed: list[dict[str, Any]] = answer.fields["conversations"]
            served[person.id] = {each["conversation_id"]: each["unread"] for each in listed}
        return served

    async def _read(self, served: dict[str, dict[str, int]]) -> dict[str, dict[str, dict[int, Any]]]:
        """Whatever the screens remember: as somebody finds it who comes anew."""
        if self.log is None:
            return {}
        read: dict[str, dict[str, dict[int, Any]]] = {}
        for person in (self.people["north"][0], self.people["south"][0]):
            rest = SimulatedRest(person, self._around(), 10)
            for where in served[person.id]:
                answer = await rest.insist("GET", f"/conversations/{where}/messages?limit=200")
                said = {message["position"]: message["content"] for message in answer.fields["messages"]}
                read.setdefault(person.id, {})[where] = said
        return read


_NOT_HANDED_OVER = """SELECT 1 FROM handed_over UNION ALL SELECT 1 FROM feed f WHERE f.head > coalesce((
    SELECT r.seq FROM feed_reader r WHERE r.reader = 'log' AND r.feed = f.name
), 0) LIMIT 1"""


def _theirs(device: Device, heads: dict[str, int]) -> dict[str, int]:
    """The heads of feeds that the device says it follows, and of those that every device of its person has."""
    own = {f"user:{device.person.id}", f"team:{device.person.org}", *device.cursors}
    return {feed: head for feed, head in heads.items() if feed in own}
