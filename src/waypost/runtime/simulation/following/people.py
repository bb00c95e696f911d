"""What people do while everything goes wrong: they write, read, take back, come, go, and switch their devices off."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from waypost.client.nouns import Json
from waypost.client.rest import Answer, NoAnswer
from waypost.runtime.simulation.following.device import Device, Person, SimulatedRest, together
from waypost.runtime.simulation.following.record import FollowRecord, Moved, Post
from waypost.runtime.simulation.record import Record
from waypost.runtime.simulation.talking.people import passed

EXPECTED = (200, 201, 204, 403, 404, 409)
"""Answers that somebody who came too late must live with."""


@dataclass(frozen=True, kw_only=True)
class Habits:
    """What the seed makes of people."""

    pace: float
    """Mean seconds between two things that somebody does."""
    away: tuple[float, ...]
    """How long a device that was switched off stays so, at most."""
    on_for: float
    """Mean seconds."""
    weights: tuple[int, ...]
    """How often each of the things is done, compared with the rest."""

    @classmethod
    def drawn(cls, dice: random.Random) -> Habits:
        return cls(
            pace=dice.choice((5, 8, 12)),
            away=dice.choice(((1.0, 10.0, 60.0), (0.1, 3.0), (30.0, 120.0))),
            on_for=dice.choice((15, 40, 90)),
            weights=dice.choice(((10, 4, 2, 4, 2, 1, 1), (10, 2, 1, 12, 6, 1, 1), (20, 6, 3, 1, 0, 2, 2))),
        )


class Folk:
    """Everybody with a device; nobody begins anything new after `until`."""

    def __init__(
        self,
        devices: Sequence[Device],
        everybody: Sequence[Person],
        habits: Habits,
        follow: FollowRecord,
        record: Record,
        dice: random.Random,
        until: int,
    ) -> None:
        self._of = together(devices)
        self._everybody = everybody
        self._habits = habits
        self._follow = follow
        self._record = record
        self._dice = dice
        self._until = until
        self._said = 0
        self._errands: list[asyncio.Task[None]] = []

    async def live(self) -> None:
        lives = [self._person(devices) for devices in self._of.values()]
        switches = [self._switch(each) for devices in self._of.values() for each in devices[1:]]
        await asyncio.gather(*lives, *switches)
        await asyncio.gather(*self._errands)

    async def _switch(self, device: Device) -> None:
        """All but somebody's first device are off now and then."""
        habits = self._habits
        while await passed(self._dice.expovariate(1 / habits.on_for), self._record, self._until):
            await device.switch_off()
            await asyncio.sleep(self._dice.choice(habits.away) * self._dice.random())
            await device.switch_on()

    async def _person(self, devices: Sequence[Device]) -> None:
        does: Sequence[Callable[[Device], Awaitable[None]]] = (
            self._write,
            self._read,
            self._take_back,
            self._change_members,
            self._swap,
            self._work,
            self._remove_device,
        )
        while await passed(self._dice.expovariate(1 / self._habits.pace), self._record, self._until):
            device = self._dice.choice(devices)
            if device.on and device.screen.talks:
                deed = self._dice.choices(does, self._habits.weights)[0]
                self._errands.append(asyncio.ensure_future(self._done(deed, device)))

    async def _done(self, deed: Callable[[Device], Awaitable[None]], device: Device) -> None:
        await deed(device)

    # Saying

    async def _write(self, device: Device) -> None:
        """Now and then the same by two ways at once, or several lines in a row."""
        where = self._dice.choice(sorted(device.screen.talks))
        for _ in range(self._dice.choice((1, 1, 1, 3))):
            self._said += 1
            name, text = f"said-{self._said}", f"{device.person.org} {device.person.id[-4:]} {self._said}"
            self._follow.posts[name] = Post(device.person.id, where, text, self._record.now())
            self._errands.append(asyncio.ensure_future(device.say(name, where, text)))
            if self._dice.random() < 0.3:
                self._errands.append(asyncio.ensure_future(self._say_by_rest(device, name, where, text)))

    async def _say_by_rest(self, device: Device, name: str, where: str, text: str) -> None:
        body = {"client_message_id": name, "conversation_id": where, "content": {"type": "text", "text": text}}
        answer = await device.rest.insist("POST", "/messages", body)
        self._expect(answer)
        if answer.status in (200, 201):
            self._follow.posts[name].acked.add((answer.fields["message_id"], answer.fields["position"]))

    async def _take_back(self, device: Device) -> None:
        own = [
            line.message_id
            for talk in device.screen.talks.values()
            for line in talk.lines.values()
            if line.sender == device.person.id
        ]
        if own:
            self._expect(await device.rest.insist("DELETE", f"/messages/{self._dice.choice(own)}"))

    async def _read(self, device: Device) -> None:
        where = self._dice.choice(sorted(device.screen.talks))
        lines = device.screen.talks[where].lines
        if lines:
            await device.mark_read(where, lines[max(lines)].message_id)

    # Coming and going

    async def _change_members(self, device: Device) -> None:
        where = self._a_group(device)
        if where is None:
            return
        ours = [each.id for each in self._everybody if each.org == device.person.org]
        chosen = self._dice.sample(ours, self._dice.choice((1, 1, 2)))
        if self._dice.random() < 0.6:
            await self._move(device.rest, where, add=chosen, remove=[])
        else:
            await self._move(device.rest, where, add=[], remove=chosen)

    async def _swap(self, device: Device) -> None:
        """Somebody is sent away and called back at once, so that both may fall into one commit."""
        where = self._a_group(device)
        with_devices = [id_ for id_ in self._of if id_ != device.person.id]
        ours = [each.id for each in self._everybody if each.org == device.person.org and each.id in with_devices]
        if where is None or not ours:
            return
        who = self._dice.choice(ours)
        await asyncio.gather(
            self._move(device.rest, where, add=[], remove=[who]),
            self._move(device.rest, where, add=[who], remove=[]),
        )

    def _a_group(self, device: Device) -> str | None:
        groups = sorted(where for where, talk in device.screen.talks.items() if talk.kind == "group")
        return self._dice.choice(groups) if groups else None

    async def _move(self, rest: SimulatedRest, where: str, add: list[str], remove: list[str]) -> None:
        now = self._record.now()
        moves = [Moved(where, user, added, now) for added, users in ((True, add), (False, remove)) for user in users]
        self._follow.moves += moves
        answer = await rest.insist("POST", f"/conversations/{where}/members", {"add": add, "remove": remove})
        self._expect(answer)
        for move in moves:
            move.answered, move.done = self._record.now(), answer.status == 200

    # The rest

    async def _work(self, device: Device) -> None:
        customers = sorted(where for where, talk in device.screen.talks.items() if talk.kind == "customer")
        if not customers:
            return
        where = self._dice.choice(customers)
        changes: tuple[Json, ...] = (
            {"assignee": device.person.id},
            {"assignee": None},
            {"state": "closed"},
            {"labels": [f"label-{self._dice.randrange(5)}"]},
        )
        if self._dice.random() < 0.3:
            self._expect(await device.rest.insist("POST", f"/conversations/{where}/notes", {"text": "look at this"}))
        else:
            self._expect(await device.rest.insist("PATCH", f"/conversations/{where}", self._dice.choice(changes)))

    async def _remove_device(self, device: Device) -> None:
        """One of one's own, on or off: it must read everything anew when it comes back."""
        other = self._dice.choice(self._of[device.person.id])
        answer = await device.rest.insist("DELETE", f"/devices/{other.id}")
        self._expect(answer)
        self._follow.removed_devices += answer.status == 204

    def _expect(self, answer: Answer) -> None:
        if answer.status not in EXPECTED:
            self._record.surprises.append(f"HTTP {answer.status}: {answer.body}")


async def opened(person: Person, rest: SimulatedRest, kind: str, members: Sequence[Person], history: str) -> str:
    """A chat, before anything goes wrong."""
    body: Json = {"kind": kind, "members": [each.id for each in members if each.id != person.id]}
    if kind == "group":
        body["history"] = history
    while True:
        try:
            answer = await rest.ask("POST", "/conversations", body)
        except NoAnswer:
            continue
        if answer.status == 201:
            return str(answer.fields["conversation_id"])
        await asyncio.sleep(0.5)
