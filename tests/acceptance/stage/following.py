"""The verdict of a live storm: every device's screen against the log, and every promise to those who wrote."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tests.acceptance.stage.crowd import Device, Post
from tests.acceptance.stage.screens import DELETED, Json, Line, line_of
from tests.acceptance.stage.talking import answers
from tests.acceptance.stage.town import Town

Shown = dict[str, dict[int, Line]]
"""Conversation -> position -> what is there."""


@dataclass
class Log:
    whole: Shown
    """Every conversation, from its beginning."""
    seen_by: dict[str, Shown]
    """Person -> what the API shows them."""
    repeated: list[str]
    """Positions that the API showed twice."""
    on_phones: list[str] = field(default_factory=list)
    """What customers' phones show of us."""


async def read_log(town: Town) -> Log:
    log = Log({}, {}, [])
    for phone in town.customers:
        log.on_phones += await answers(town.sandbox, phone)
    for talk in sorted(town.talks):
        log.whole[talk] = _lines(await town.rest.log(talk, town.people[0].token), log, with_customer=True)
    await asyncio.gather(*(_read_chat(town, chat.id, chat.owner.token, log) for chat in town.chats))
    limited = asyncio.Semaphore(8)

    async def read_own(person_id: str, token: str) -> None:
        async with limited:
            own: Shown = {}
            for each in await town.rest.conversations(token):
                where = each["conversation_id"]
                is_customers = each["kind"] == "customer"
                own[where] = log.whole[where] if is_customers else await _own(town, where, token, log)
            log.seen_by[person_id] = own

    await asyncio.gather(*(read_own(person.id, person.token) for person in town.people))
    return log


async def _read_chat(town: Town, where: str, token: str, log: Log) -> None:
    log.whole[where] = _lines(await town.rest.log(where, token), log, with_customer=False)


async def _own(town: Town, where: str, token: str, log: Log) -> dict[int, Line]:
    return _lines(await town.rest.log(where, token), log, with_customer=False)


def _lines(messages: list[Json], log: Log, *, with_customer: bool) -> dict[int, Line]:
    lines: dict[int, Line] = {}
    for message in messages:
        if message["position"] in lines:
            log.repeated.append(f"{message['conversation_id']} {message['position']}")
        lines[message["position"]] = line_of(message, with_customer=with_customer)
    return lines


def agrees(device: Device, log: Log) -> bool:
    """It shows what it should, no more and no less."""
    return _without_empty(device.screen.lines) == _without_empty(log.seen_by[device.person.id])


def _without_empty(shown: Mapping[str, dict[int, Line]]) -> Shown:
    return {where: lines for where, lines in shown.items() if lines}


@dataclass
class Verdict:
    town: Town
    log: Log
    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    reordered: list[str] = field(default_factory=list)
    gaps: list[str] = field(default_factory=list)
    strange: list[str] = field(default_factory=list)
    """Shown and not to be shown, or shown otherwise."""
    after_leaving: list[str] = field(default_factory=list)
    wrong_answers: list[str] = field(default_factory=list)
    """To those who wrote."""

    def __post_init__(self) -> None:
        self._judge_log()
        self._judge_phones()
        stored: dict[str, list[tuple[str, int, Line]]] = {}
        for where, lines in self.log.whole.items():
            for at, line in lines.items():
                if line.name:
                    stored.setdefault(line.name, []).append((where, at, line))
        for device in self.town.devices:
            self._judge_answers(device, stored)
            self._judge_order(device)
            self._judge_screen(device)
            self._judge_leaving(device)

    def _judge_log(self) -> None:
        self.doubled += [f"log {repeated}" for repeated in self.log.repeated]
        for where, lines in self.log.whole.items():
            if sorted(lines) != list(range(1, len(lines) + 1)):
                self.gaps.append(f"log of {where}: {sorted(lines)[:5]} … {max(lines)}, {len(lines)} messages")
        texts = Counter(line.content for talk in self.town.talks for line in self.log.whole[talk].values())
        self.lost += [f"said by a customer: {line}" for line in self.town.said if not texts[line]]
        self.doubled += [f"said by a customer: {line}" for line in self.town.said if texts[line] > 1]
        for person, own in self.log.seen_by.items():
            for where, lines in own.items():
                whole = self.log.whole[where]
                if any(whole.get(at) != line for at, line in lines.items()):
                    self.strange.append(f"the API shows {person} another {where} than its owner")

    def _judge_phones(self) -> None:
        """What an agent wrote to a customer is on the phone, once."""
        shown = Counter(self.log.on_phones)
        lines = [line for talk in self.town.talks for line in self.log.whole[talk].values()]
        ours = [line.content for line in lines if not line.sender.startswith("contact:")]
        self.lost += [f"not on the phone: {text}" for text in ours if not shown[text]]
        self.doubled += [f"on the phone: {text}" for text, count in shown.items() if count > 1]
        self.strange += [f"on the phone: {text}" for text in shown.keys() - set(ours)]

    def _judge_answers(self, device: Device, stored: dict[str, list[tuple[str, int, Line]]]) -> None:
        for post in device.posts.values():
            found = stored.get(post.name, [])
            if len(found) > 1:
                self.doubled.append(f"{post.name} is in the log at {found}")
            if post.is_open:
                self.wrong_answers.append(f"{post.name} was never answered")
            elif post.refused is not None:
                self._judge_refusal(device, post, found)
            elif not found:
                self.lost.append(f"{post.name} was acked and is not in the log")
            else:
                self._judge_ack(post, *found[0])

    def _judge_ack(self, post: Post, where: str, at: int, line: Line) -> None:
        told = (post.conversation, post.message_id, post.position or at)
        if told != (where, line.message_id, at):
            self.wrong_answers.append(f"{post.name} was acked as {told} and is {(where, line.message_id, at)}")
        if line.content != (DELETED if post.name in self.town.erased else post.text):
            self.strange.append(f"{post.name} is in the log as {line.content}")

    def _judge_refusal(self, device: Device, post: Post, found: list[tuple[str, int, Line]]) -> None:
        ever_out = {(absence.conversation, absence.person.id) for absence in self.town.absences}
        if found or (post.conversation, device.person.id) not in ever_out:
            self.wrong_answers.append(f"{post.name} was refused: {post.refused}; in the log: {found}")

    def _judge_order(self, device: Device) -> None:
        """In each conversation its posts stand in the order in which it wrote them."""
        last: dict[str, int] = {}
        for post in device.posts.values():
            if post.position is not None:
                if post.position <= last.get(post.conversation, 0):
                    self.reordered.append(f"{post.name} is before what was written before it")
                last[post.conversation] = post.position

    def _judge_screen(self, device: Device) -> None:
        screen, name = device.screen, device.name
        self.doubled += [f"{name} was given {seen}" for seen in screen.doubled]
        self.gaps += [f"{name} was given {seen}" for seen in screen.gaps]
        self.reordered += [f"{name} was given {seen}" for seen in screen.reordered]
        self.after_leaving += [f"{name} was given {seen}" for seen in screen.after_leaving]
        if device.stopped is not None:
            self.wrong_answers.append(f"{name} was told not to come back: {device.stopped}")
        shown, truth = screen.lines, self.log.seen_by[device.person.id]
        for where in shown.keys() | truth.keys():
            here, there = shown.get(where, {}), truth.get(where, {})
            self.lost += [f"{name} does not show {where} {at}: {there[at]}" for at in there.keys() - here.keys()]
            self.strange += [f"{name} shows {where} {at}: {here[at]}" for at in here.keys() - there.keys()]
            self.strange += list(_differences(name, where, here, there))

    def _judge_leaving(self, device: Device) -> None:
        out = {a.conversation: a for a in self.town.absences if a.person.id == device.person.id}
        posts = {name: post for each in self.town.devices for name, post in each.posts.items()} if out else {}
        for heard in device.screen.heard if out else ():
            absence, post = out.get(heard.conversation), posts[heard.name]
            # What was asked for meanwhile may have been stored when they were back.
            if absence and absence.since < post.asked_at and post.answered_at <= absence.until:
                self.after_leaving.append(f"{device.name} was given {heard.name}, written after it had left")

    def __str__(self) -> str:
        devices = self.town.devices
        node = sum(type(device).__name__ == "NodeDevice" for device in devices)
        messages = sum(map(len, self.log.whole.values()))
        acked = sum(post.message_id is not None for device in devices for post in device.posts.values())
        resets = [reason for device in devices for reason in device.resets if reason != "fresh"]
        agreeing = sum(agrees(device, self.log) for device in devices)
        return (
            f"people {len(self.town.people)}, devices {len(devices)} "
            f"(Python {len(devices) - node}, TypeScript {node}), "
            f"conversations {len(self.log.whole)}, messages {messages}, acked {acked}, "
            f"answers on phones {len(self.log.on_phones)}, "
            f"items {sum(device.screen.items for device in devices)}, "
            f"connections {sum(device.states['catching_up'] for device in devices)}, "
            f"polls {sum(device.states['polling'] for device in devices)}, resyncs {len(resets)}, "
            f"devices forgotten {self.town.forgotten}, "
            f"removed {len(self.town.absences)}, deleted {len(self.town.erased)}, "
            f"devices compared {len(devices)}, equal to the log {agreeing}, lost {len(self.lost)}, "
            f"doubled {len(self.doubled)}, reordered {len(self.reordered)}, gaps {len(self.gaps)}, "
            f"after leaving {len(self.after_leaving)}"
        )

    def check(self) -> None:
        for found in (self.lost, self.doubled, self.reordered, self.gaps, self.strange, self.after_leaving):
            assert not found, found[:10]
        assert not self.wrong_answers, self.wrong_answers[:10]


def _differences(name: str, where: str, here: dict[int, Line], there: dict[int, Line]) -> Iterator[str]:
    for at in here.keys() & there.keys():
        if here[at] != there[at]:
            yield f"{name} shows {where} {at} as {here[at]}, and it is {there[at]}"
