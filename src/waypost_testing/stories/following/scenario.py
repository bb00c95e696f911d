"""One seed, one world of users: two orgs, direct and group chats, customers, devices, a storm, calm, and checks."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from dataclasses import dataclass
from typing import Any

from waypost.flow.accounts import access
from waypost.flow.world import Tuning, World
from waypost.model.account import Role
from waypost.model.ids import OrgId
from waypost.model.time import Span, hours, minutes, seconds
from waypost_testing.simulation import Simulation
from waypost_testing.stories.cluster import (
    GRAPH,
    Cluster,
    CustomiseParts,
    HintFaults,
)
from waypost_testing.stories.following import lines as weather_of_lines
from waypost_testing.stories.following.device import (
    DeviceEnvironment,
    SimulatedDevice,
    SimulatedRestClient,
    SimulatedUser,
)
from waypost_testing.stories.following.lines import SimulatedSockets, SocketConditions
from waypost_testing.stories.following.log import LONGEST_UNSYNCED, SharedHistory
from waypost_testing.stories.following.people import SimulatedUsers, UserHabits, opened
from waypost_testing.stories.following.record import FollowRecord
from waypost_testing.stories.following.trouble import PEOPLE, FollowFaultInjector
from waypost_testing.stories.following.truth import KEEP_EVERYTHING, LedgerSnapshot, truth
from waypost_testing.stories.sending.trouble import Severity
from waypost_testing.stories.story import StoryPlan, StoryResult, StoryRun
from waypost_testing.stories.talking.people import SimulatedCustomers

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
class FollowScenarioPlan(StoryPlan):
    """What the seed decides before anything happens."""

    habits: UserHabits
    lines: SocketConditions
    grapevine: HintFaults
    history: str
    size: int
    """Of the group that grows."""
    archive_grace: Span | None
    """How long bodies stay after a separate history store has them; None: no separate store."""

    @classmethod
    def drawn(cls, rng: random.Random) -> FollowScenarioPlan:
        return cls(
            habits=UserHabits.drawn(rng),
            lines=weather_of_lines.drawn(rng),
            severity=Severity.drawn(rng),
            grapevine=HintFaults(
                lost=rng.choice((0.1, 0.5, 1.0)),
                doubled=rng.choice((0.0, 0.3)),
                late=rng.choice((0.01, 0.3, 3.0)),
            ),
            incidents=rng.choice((4, 8, 20)),
            history=rng.choice(("all", "joined")),
            size=rng.choice((29, 31, 32)),
            archive_grace=rng.choice((None, seconds(1), seconds(8), seconds(30))),
        )


@dataclass(frozen=True, kw_only=True)
class FollowScenarioResult(StoryResult):
    """The state when everything has come to rest: every device's screen, and the Ledger."""

    follow: FollowRecord
    devices: list[SimulatedDevice]
    truth: LedgerSnapshot
    served: dict[str, dict[str, int]]
    """Person -> conversation -> unread, as the API counts it."""
    read: dict[str, dict[str, dict[int, Any]]]
    """Person -> conversation -> position -> content, as the API reads it in the end; of a few."""
    kept: dict[tuple[int, int], str] | None
    """What a separate history store keeps: (conversation, time of the id) -> body."""
    unsettled: list[str]
    """Devices that did not come to rest, or the history store."""


class FollowingRun(StoryRun[FollowScenarioResult]):
    storm_hours = 0.03

    def __init__(self, sim: Simulation, dress: CustomiseParts) -> None:
        super().__init__(sim, dress)
        self.follow = FollowRecord()
        self.plan: FollowScenarioPlan = FollowScenarioPlan.drawn(sim.chance.stream("follow plan"))
        self.ledger.rows(KEEP_EVERYTHING)
        tuning = Tuning(
            figures=False,
            webhook_tick=seconds(20),
            poll=seconds(20),
            quota=None,
            pace=1000,
            pair_burst=1000,
            archive_grace=self.plan.archive_grace or hours(1),
        )
        self.log: SharedHistory | None = None
        if (grace := self.plan.archive_grace) is not None:
            self.log = SharedHistory(sim, Span(min(grace * 4 // 5, LONGEST_UNSYNCED)))
        history_of = self.log.of if self.log is not None else None
        self.cluster = Cluster(
            sim, self.record, tuning, self.ledger, dress, grapevine=self.plan.grapevine, history_of=history_of
        )
        self.lines = SimulatedSockets(sim, self.cluster.node, self.cluster.gateway)
        self.people: dict[str, list[SimulatedUser]] = {}
        self.devices: list[SimulatedDevice] = []

    def injector(self) -> FollowFaultInjector:
        return FollowFaultInjector(self.sim, self.cluster, self.sandbox, self.record, self.lines, self.log)

    def begin(self, until: int) -> None:
        self.lines.weather = self.plan.lines
        writers = SimulatedCustomers(self.sandbox, self.sim.chance.stream("customers"), self.record, until)
        chats = [(number, phone) for number in self.sandbox.numbers.all() for phone in PHONES]
        self.at_their_phones = self.sim.node(GRAPH).spawn(writers.write(chats, 25))
        self.about = self.sim.node(PEOPLE).spawn(self._folk(until).live())

    async def finish(self) -> None:
        await asyncio.gather(self.at_their_phones, self.about)

    async def settle_in(self, world: World) -> None:
        """Set up users, their chats and their devices, before the storm."""
        for org, count in PEOPLE_OF.items():
            issued = [await access.create_user(OrgId(org), f"{org} {n}", Role.AGENT, world) for n in range(count)]
            self.people[org] = [SimulatedUser(org=org, id=each.id, token=each.secret) for each in issued]
        await asyncio.sleep(1)
        await self.sim.node(PEOPLE).run(self._open_chats())
        for org, counts in DEVICES.items():
            few = list(zip(self.people[org], counts, strict=False))
            last = [(person, 1) for person in self.people[org][-NEWCOMERS:]] if org == "north" else []
            for person, count in [*few, *last]:
                self.devices += [SimulatedDevice(f"{person.id[-4:]}-{n}", person, self._around()) for n in range(count)]
        await self.sim.node(PEOPLE).run(self._switch_on())

    def _around(self) -> DeviceEnvironment:
        transport, rng = self.sim.network.transport(self.sim.node(PEOPLE)), self.sim.chance.stream("devices")
        return DeviceEnvironment(
            lines=self.lines, transport=transport, record=self.follow, now=self.record.now, rng=rng.random
        )

    async def _switch_on(self) -> None:
        for device in self.devices:
            await device.switch_on()

    async def _open_chats(self) -> None:
        north, south, history = self.people["north"], self.people["south"], self.plan.history
        rest = SimulatedRestClient(north[0], self._around(), 10)
        await opened(north[0], rest, "group", north[: self.plan.size], history)
        await opened(north[0], rest, "group", north[:-2], "all")
        await opened(north[0], rest, "group", north[:4], "all")
        await opened(north[0], rest, "group", [north[0], *north[3:6]], "joined")
        for other in north[1:4]:
            await opened(north[0], rest, "direct", [other], "all")
        there = SimulatedRestClient(south[0], self._around(), 10)
        await opened(south[0], there, "group", south, "all")
        await opened(south[0], there, "direct", [south[1]], "all")

    def _folk(self, until: int) -> SimulatedUsers:
        users = [person for people in self.people.values() for person in people]
        rng = self.sim.chance.stream("folk")
        return SimulatedUsers(self.devices, users, self.plan.habits, self.follow, self.record, rng, until)

    # Calm

    async def _come_to_rest(self) -> list[str]:
        """Wait until every device is live, has nothing to send, and is at its feeds' heads; the others are listed."""
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
        """A retry may be due much later: nothing here waits for it."""
        return bool(self.ledger.rows("SELECT 1 FROM delivery WHERE status = 'QUEUED' LIMIT 1"))

    def _restless(self) -> list[str]:
        heads = dict(self.ledger.rows("SELECT name, head FROM feed ORDER BY name"))
        found = [device.id for device in self.devices if not device.at_rest(_theirs(device, heads))]
        return found + (["the history store"] if self.log is not None and self.ledger.rows(_NOT_HANDED_OVER) else [])

    async def ending(self) -> FollowScenarioResult:
        unsettled = await self._come_to_rest()
        served = await self.sim.node(PEOPLE).run(self._served())
        read = await self.sim.node(PEOPLE).run(self._read(served))
        for device in self.devices:
            shown = {
                where: sorted(conversation.lines) for where, conversation in sorted(device.screen.conversations.items())
            }
            self.sim.trace.note("final", device=device.id, life=device.life, shown=repr(shown))
        posts = self.follow.posts.values()
        return FollowScenarioResult(
            follow=self.follow,
            devices=self.devices,
            truth=truth(self.ledger.rows),
            served=served,
            read=read,
            kept=self.log.bodies() if self.log is not None else None,
            unsettled=unsettled,
            messages=len(posts),
            accepted=sum(1 for sent in self.record.sent if sent.wamid is not None),
            standing=Counter(
                "acknowledged" if post.acked else "refused" if post.refused else "unknown" for post in posts
            )
            + Counter(resets=sum(len(why) for why in self.follow.resets.values())),
            **self.ended(),
        )

    async def _served(self) -> dict[str, dict[str, int]]:
        served: dict[str, dict[str, int]] = {}
        for person in {device.person.id: device.person for device in self.devices}.values():
            answer = await SimulatedRestClient(person, self._around(), 10).insist("GET", "/conversations?limit=200")
            listed: list[dict[str, Any]] = answer.fields["conversations"]
            served[person.id] = {each["conversation_id"]: each["unread"] for each in listed}
        return served

    async def _read(self, served: dict[str, dict[str, int]]) -> dict[str, dict[str, dict[int, Any]]]:
        """What the API shows to a new device, regardless of the screens."""
        if self.log is None:
            return {}
        read: dict[str, dict[str, dict[int, Any]]] = {}
        for person in (self.people["north"][0], self.people["south"][0]):
            rest = SimulatedRestClient(person, self._around(), 10)
            for where in served[person.id]:
                answer = await rest.insist("GET", f"/conversations/{where}/messages?limit=200")
                shown = {message["position"]: message["content"] for message in answer.fields["messages"]}
                read.setdefault(person.id, {})[where] = shown
        return read


_NOT_HANDED_OVER = """SELECT 1 FROM handed_over UNION ALL SELECT 1 FROM feed f WHERE f.head > coalesce((
    SELECT r.seq FROM feed_reader r WHERE r.reader = 'log' AND r.feed = f.name
), 0) LIMIT 1"""


def _theirs(device: SimulatedDevice, heads: dict[str, int]) -> dict[str, int]:
    """The heads of the feeds that the device follows, and of those that every device of its user has."""
    own = {f"user:{device.person.id}", f"team:{device.person.org}", *device.cursors}
    return {feed: head for feed, head in heads.items() if feed in own}
