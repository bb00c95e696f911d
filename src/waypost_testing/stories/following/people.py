"""What users do while everything fails: write, read, delete, join, leave, and switch their devices off."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from waypost.client.rest import NoResponse, RestResponse
from waypost.client.types import Json
from waypost_testing.stories.following.device import SimulatedDevice, SimulatedRestClient, SimulatedUser, together
from waypost_testing.stories.following.record import FollowRecord, MembershipChange, SimulatedPost
from waypost_testing.stories.record import SimulationRecord
from waypost_testing.stories.talking.people import passed

EXPECTED = (200, 201, 204, 403, 404, 409)
"""Answers that a request that came too late must accept."""


@dataclass(frozen=True, kw_only=True)
class UserHabits:
    """What the seed decides about users."""

    pace: float
    """Mean seconds between two actions of one user."""
    away: tuple[float, ...]
    """The longest time for which a device is switched off."""
    on_for: float
    """Mean seconds."""
    weights: tuple[int, ...]
    """The relative frequency of each action."""

    @classmethod
    def drawn(cls, rng: random.Random) -> UserHabits:
        return cls(
            pace=rng.choice((5, 8, 12)),
            away=rng.choice(((1.0, 10.0, 60.0), (0.1, 3.0), (30.0, 120.0))),
            on_for=rng.choice((15, 40, 90)),
            weights=rng.choice(((10, 4, 2, 4, 2, 1, 1), (10, 2, 1, 12, 6, 1, 1), (20, 6, 3, 1, 0, 2, 2))),
        )


class SimulatedUsers:
    """Every user with a device; none begins anything new after `until`."""

    def __init__(
        self,
        devices: Sequence[SimulatedDevice],
        users: Sequence[SimulatedUser],
        habits: UserHabits,
        follow: FollowRecord,
        record: SimulationRecord,
        rng: random.Random,
        until: int,
    ) -> None:
        self._of = together(devices)
        self._users = users
        self._habits = habits
        self._follow = follow
        self._record = record
        self._rng = rng
        self._until = until
        self._written = 0
        self._errands: list[asyncio.Task[None]] = []

    async def live(self) -> None:
        lives = [self._person(devices) for devices in self._of.values()]
        switches = [self._switch(each) for devices in self._of.values() for each in devices[1:]]
        await asyncio.gather(*lives, *switches)
        await asyncio.gather(*self._errands)

    async def _switch(self, device: SimulatedDevice) -> None:
        """Every device of a user but the first is off now and then."""
        habits = self._habits
        while await passed(self._rng.expovariate(1 / habits.on_for), self._record, self._until):
            await device.switch_off()
            await asyncio.sleep(self._rng.choice(habits.away) * self._rng.random())
            await device.switch_on()

    async def _person(self, devices: Sequence[SimulatedDevice]) -> None:
        does: Sequence[Callable[[SimulatedDevice], Awaitable[None]]] = (
            self._write,
            self._read,
            self._take_back,
            self._change_members,
            self._swap,
            self._work,
            self._remove_device,
        )
        while await passed(self._rng.expovariate(1 / self._habits.pace), self._record, self._until):
            device = self._rng.choice(devices)
            if device.on and device.screen.conversations:
                action = self._rng.choices(does, self._habits.weights)[0]
                self._errands.append(asyncio.ensure_future(self._done(action, device)))

    async def _done(self, action: Callable[[SimulatedDevice], Awaitable[None]], device: SimulatedDevice) -> None:
        await action(device)

    # Writing

    async def _write(self, device: SimulatedDevice) -> None:
        """Sometimes the same message over two routes at once, or several messages in a row."""
        where = self._rng.choice(sorted(device.screen.conversations))
        for _ in range(self._rng.choice((1, 1, 1, 3))):
            self._written += 1
            name, text = f"said-{self._written}", f"{device.person.org} {device.person.id[-4:]} {self._written}"
            self._follow.posts[name] = SimulatedPost(device.person.id, where, text, self._record.now())
            self._errands.append(asyncio.ensure_future(device.say(name, where, text)))
            if self._rng.random() < 0.3:
                self._errands.append(asyncio.ensure_future(self._post_by_rest(device, name, where, text)))

    async def _post_by_rest(self, device: SimulatedDevice, name: str, where: str, text: str) -> None:
        body = {"client_message_id": name, "conversation_id": where, "content": {"type": "text", "text": text}}
        answer = await device.rest.insist("POST", "/messages", body)
        self._expect(answer)
        if answer.status in (200, 201):
            self._follow.posts[name].acked.add((answer.fields["message_id"], answer.fields["position"]))

    async def _take_back(self, device: SimulatedDevice) -> None:
        own = [
            line.message_id
            for conversation in device.screen.conversations.values()
            for line in conversation.lines.values()
            if line.sender == device.person.id
        ]
        if own:
            self._expect(await device.rest.insist("DELETE", f"/messages/{self._rng.choice(own)}"))

    async def _read(self, device: SimulatedDevice) -> None:
        where = self._rng.choice(sorted(device.screen.conversations))
        lines = device.screen.conversations[where].lines
        if lines:
            await device.mark_read(where, lines[max(lines)].message_id)

    # Joining and leaving

    async def _change_members(self, device: SimulatedDevice) -> None:
        where = self._a_group(device)
        if where is None:
            return
        ours = [each.id for each in self._users if each.org == device.person.org]
        chosen = self._rng.sample(ours, self._rng.choice((1, 1, 2)))
        if self._rng.random() < 0.6:
            await self._move(device.rest, where, add=chosen, remove=[])
        else:
            await self._move(device.rest, where, add=[], remove=chosen)

    async def _swap(self, device: SimulatedDevice) -> None:
        """Remove a member and add them again at once, so that both may fall into one commit."""
        where = self._a_group(device)
        with_devices = [id_ for id_ in self._of if id_ != device.person.id]
        ours = [each.id for each in self._users if each.org == device.person.org and each.id in with_devices]
        if where is None or not ours:
            return
        who = self._rng.choice(ours)
        await asyncio.gather(
            self._move(device.rest, where, add=[], remove=[who]),
            self._move(device.rest, where, add=[who], remove=[]),
        )

    def _a_group(self, device: SimulatedDevice) -> str | None:
        groups = sorted(
            where for where, conversation in device.screen.conversations.items() if conversation.kind == "group"
        )
        return self._rng.choice(groups) if groups else None

    async def _move(self, rest: SimulatedRestClient, where: str, add: list[str], remove: list[str]) -> None:
        now = self._record.now()
        moves = [
            MembershipChange(where, user, added, now)
            for added, users in ((True, add), (False, remove))
            for user in users
        ]
        self._follow.moves += moves
        answer = await rest.insist("POST", f"/conversations/{where}/members", {"add": add, "remove": remove})
        self._expect(answer)
        for move in moves:
            move.answered, move.done = self._record.now(), answer.status == 200

    # Other actions

    async def _work(self, device: SimulatedDevice) -> None:
        customers = sorted(
            where for where, conversation in device.screen.conversations.items() if conversation.kind == "customer"
        )
        if not customers:
            return
        where = self._rng.choice(customers)
        changes: tuple[Json, ...] = (
            {"assignee": device.person.id},
            {"assignee": None},
            {"state": "closed"},
            {"labels": [f"label-{self._rng.randrange(5)}"]},
        )
        if self._rng.random() < 0.3:
            self._expect(await device.rest.insist("POST", f"/conversations/{where}/notes", {"text": "look at this"}))
        else:
            self._expect(await device.rest.insist("PATCH", f"/conversations/{where}", self._rng.choice(changes)))

    async def _remove_device(self, device: SimulatedDevice) -> None:
        """Remove one of the user's own devices, on or off: it must read everything again when it returns."""
        other = self._rng.choice(self._of[device.person.id])
        answer = await device.rest.insist("DELETE", f"/devices/{other.id}")
        self._expect(answer)
        self._follow.removed_devices += answer.status == 204

    def _expect(self, answer: RestResponse) -> None:
        if answer.status not in EXPECTED:
            self._record.surprises.append(f"HTTP {answer.status}: {answer.body}")


async def opened(
    person: SimulatedUser, rest: SimulatedRestClient, kind: str, members: Sequence[SimulatedUser], history: str
) -> str:
    """Open a chat, before anything fails."""
    body: Json = {"kind": kind, "members": [each.id for each in members if each.id != person.id]}
    if kind == "group":
        body["history"] = history
    while True:
        try:
            answer = await rest.ask("POST", "/conversations", body)
        except NoResponse:
            continue
        if answer.status == 201:
            return str(answer.fields["conversation_id"])
        await asyncio.sleep(0.5)
