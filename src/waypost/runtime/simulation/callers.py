"""The people and programs around the servers: they post, retry, poll, cancel, read, write, and one of them cheats."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from waypost.model.time import Instant, Span, hours, to_datetime
from waypost.ports.wire import Reply, WireError
from waypost.runtime.simulation.cluster import SERVERS
from waypost.runtime.simulation.record import Attempt, Record, Retried, Switched, View, Wish
from waypost.testing.simulation import START, Node, Simulation

MESSAGES = "/api/v1/outbound/messages"
ACCEPTED = (200, 201, 202)
TRY_LATER = (500, 503)
ENDED = ("DELIVERED", "FAILED", "CANCELLED")
WAITED_FOR = {
    "": (*ENDED, "QUEUED", "SENDING", "SENT"),
    "?wait=sent": (*ENDED, "SENT"),
    "?wait=delivered": ENDED,
}
PATIENCE = 12
"""Tries of a caller who may give up."""
ENDLESS: Span = hours(12)
TEMPLATES = 0.4
"""The share of messages that may go outside the window."""
LONGEST_ECHO = 120_000_000
"""A request may still arrive, late or doubled, this long after it was sent."""


class NobodyAnswers(Exception):
    """The servers are stuck: no storm lasts this long."""


@dataclass(frozen=True, kw_only=True)
class Org:
    """An org as its own people know it."""

    name: str
    key: str
    number: str
    waba: str
    token: str
    app_secret: str


class Client:
    """HTTP to any of the servers, as seen from one node."""

    def __init__(self, sim: Simulation, node: Node, record: Record, dice: random.Random) -> None:
        self._wire = sim.network.wire(node)
        self._record = record
        self._dice = dice

    async def ask(
        self, org: Org, method: str, path: str, body: object = None, headers: Mapping[str, str] | None = None
    ) -> Reply | None:
        """One try at one server; None when no whole answer came."""
        url = f"http://{self._dice.choice(SERVERS)}{path}"
        sent = {"authorization": f"Bearer {org.key}", "content-type": "application/json", **(headers or {})}
        content = b"" if body is None else msgspec.json.encode(body)
        try:
            return await self._wire.request(method, url, headers=sent, body=content, timeout=35)
        except WireError:
            return None

    async def post_raw(self, path: str, body: bytes, headers: Mapping[str, str]) -> Reply | None:
        url = f"http://{self._dice.choice(SERVERS)}{path}"
        try:
            return await self._wire.request("POST", url, headers=headers, body=body, timeout=35)
        except WireError:
            return None

    async def insist(self, org: Org, method: str, path: str, body: object = None) -> Reply:
        """The same request until somebody answers it."""
        since = self._record.now()
        while self._record.now() - since < ENDLESS:
            reply = await self.ask(org, method, path, body)
            if reply is not None and reply.status not in TRY_LATER:
                return reply
            await asyncio.sleep(0.5 + self._dice.random())
        raise NobodyAnswers(f"{method} {path} found no answer for hours")

    async def show(self, org: Org, message_id: int) -> View | None:
        asked = self._record.now()
        reply = await self.ask(org, "GET", f"{MESSAGES}/{message_id}")
        if reply is None or reply.status != 200:
            self.expected(reply, *TRY_LATER)
            return None
        view = msgspec.json.decode(reply.body, type=View)
        self._record.tell(org.name, asked, view)
        return view

    async def all(self, org: Org, *statuses: str) -> list[View]:
        """Every message of the org, or those that stand at one of these statuses."""
        found: list[View] = []
        for chosen in [f"&status={status}" for status in statuses] or [""]:
            reply = await self.insist(org, "GET", f"{MESSAGES}?limit=1000{chosen}")
            found += msgspec.json.decode(reply.body, type=list[View])
        return found

    async def attempts(self, org: Org, message_id: int) -> list[Attempt]:
        reply = await self.insist(org, "GET", f"{MESSAGES}/{message_id}/attempts")
        return msgspec.json.decode(reply.body, type=list[Attempt])

    def expected(self, reply: Reply | None, *statuses: int) -> None:
        if reply is not None and reply.status not in statuses:
            self._record.surprises.append(f"HTTP {reply.status}: {reply.body[:200].decode('utf-8', 'replace')}")


class Crowd:
    """Everyone who talks to the servers while the storm lasts; nobody begins anything new after `until`."""

    def __init__(self, sim: Simulation, orgs: list[Org], record: Record, until: int) -> None:
        self.node = sim.node("callers")
        self.dice = sim.chance.stream("callers")
        self.client = Client(sim, self.node, record, self.dice)
        self.orgs = orgs
        self.record = record
        self._until = until
        self._errands: list[asyncio.Task[None]] = []
        self._numbers = {org.name: 0 for org in orgs}

    # Beginning and ending

    def start(self, pace: float) -> None:
        for org in self.orgs:
            self.errand(self._post_now_and_then(org, pace))
            for stream in range(2):
                self.errand(self._post_in_order(org, stream, pace))
            self.errand(self._person(org))
            self.errand(self._operator(org))

    async def finish(self) -> None:
        """Return when every errand has come to its end."""
        while self._errands:
            errands, self._errands = self._errands, []
            await asyncio.gather(*errands)

    def errand(self, work: Coroutine[Any, Any, None]) -> None:
        self._errands.append(self.node.spawn(work))

    async def pause(self, mean: float) -> bool:
        """Some time goes by; False when the storm is over."""
        left = (self._until - self.record.now()) / 1_000_000
        await asyncio.sleep(min(self.dice.expovariate(1 / mean), max(0.0, left)))
        return self.record.now() < self._until

    # Posting

    async def _post_now_and_then(self, org: Org, pace: float) -> None:
        while await self.pause(pace):
            wish = self._wish(org, to=phone(self.dice.randrange(4)))
            body = self._body(wish, ordered=False)
            self.errand(self._see_to(org, wish, body))

    async def _post_in_order(self, org: Org, stream: int, pace: float) -> None:
        """A burst at a time; the next only after the one before was acknowledged, however long that takes."""
        name, place = f"{org.name}>{phone(stream)}", 0
        while await self.pause(pace * 4):
            for _ in range(self.dice.randint(1, 4)):
                wish = self._wish(org, to=phone(stream), stream=name, place=place)
                place += 1
                await self._submit(org, wish, self._body(wish, ordered=True), gives_up=False)
                await asyncio.sleep(self.dice.random() * 0.2)

    def _wish(self, org: Org, to: str, stream: str | None = None, place: int = 0) -> Wish:
        """Both orgs use the same keys and write to the same customers."""
        self._numbers[org.name] += 1
        template = self.dice.random() < TEMPLATES
        key = f"k{self._numbers[org.name]}"
        wish = Wish(org=org.name, key=key, to=to, stream=stream, place=place, template=template)
        self.record.wishes[org.name, wish.key] = wish
        return wish

    def _body(self, wish: Wish, ordered: bool) -> dict[str, Any]:
        dice = self.dice
        body: dict[str, Any] = {
            "channel": "WHATSAPP",
            "to": wish.to,
            **_content(wish),
            "idempotencyKey": wish.key,
            "ordered": ordered,
            "priority": dice.choice((0, 5, 5, 9)),
            "maxAttempts": dice.choice((0, 2, 3, 3, 3)),
        }
        now = START + self.record.now()
        if dice.random() < 0.1:
            body["scheduledAt"] = to_datetime(Instant(now + dice.randrange(300_000_000)))
        if dice.random() < 0.05:
            wish.expires_at = now + dice.randrange(300_000_000, 900_000_000)
            body["expiresAt"] = to_datetime(Instant(wish.expires_at))
        return body

    async def _see_to(self, org: Org, wish: Wish, body: dict[str, Any]) -> None:
        """Post it, look after it for a while, now and then change one's mind."""
        view = await self._submit(org, wish, body, gives_up=True)
        if view is None:
            return
        if self.dice.random() < 0.1:
            await self._try_other_content(org, body)
        if self.dice.random() < 0.15:
            await asyncio.sleep(self.dice.random() * 3)
            await self._cancel(org, view.id)
        for _ in range(self.dice.randint(0, 4)):
            await asyncio.sleep(self.dice.expovariate(1 / self.dice.choice((0.1, 1, 20))))
            await self.client.show(org, view.id)

    async def _submit(self, org: Org, wish: Wish, body: dict[str, Any], gives_up: bool) -> View | None:
        """The same key until somebody says that it is stored."""
        wait = self.dice.choice(("", "", "", "?wait=sent", "?wait=delivered"))
        tries, since = 0, self.record.now()
        while tries < PATIENCE if gives_up else self.record.now() - since < ENDLESS:
            tries += 1
            asked = self.record.now()
            reply = await self.client.ask(org, "POST", MESSAGES + wait, body)
            if reply is not None and reply.status in ACCEPTED:
                view = msgspec.json.decode(reply.body, type=View)
                self._compare(wait, reply.status, view)
                wish.ids.add(view.id)
                self.record.tell(org.name, asked, view)
                return view
            if reply is not None and reply.status == 422 and b'"consent_required"' in reply.body:
                return None  # the customer has said STOP
            self.client.expected(reply, *TRY_LATER)
            await asyncio.sleep(self.dice.uniform(0.2, min(60, 2**tries)))
        if not gives_up:
            raise NobodyAnswers(f"{wish.text} was not acknowledged for hours")
        return None

    def _compare(self, wait: str, status: int, view: View) -> None:
        """Who waited was told 200 or 201 when it happened, and 202 when it did not happen in time."""
        reached = view.status in WAITED_FOR[wait]
        if reached != (status != 202):
            self.record.surprises.append(f"HTTP {status} to {wait or 'a plain POST'} shows {view.status}")

    async def _try_other_content(self, org: Org, body: dict[str, Any]) -> None:
        other = {**body, "priority": 1}
        reply = await self.client.ask(org, "POST", MESSAGES, other)
        self.client.expected(reply, 409, 422, *TRY_LATER)

    # A person at work

    async def _person(self, org: Org) -> None:
        """Looks at the list now and then and retries something that did not work out."""
        while await self.pause(120):
            broken = await self.client.all(org, self.dice.choice(("FAILED", "CANCELLED", "SENDING")))
            if broken:
                await self._retry(org, self.dice.choice(broken).id)

    async def _operator(self, org: Org) -> None:
        """Switches the number off for a while, and always on again."""
        while await self.pause(900):
            await self._switch(org, on=False)
            await asyncio.sleep(self.dice.uniform(5, 120))
            await self._switch(org, on=True)

    async def _switch(self, org: Org, *, on: bool) -> None:
        await self.change_number(org, "on" if on else "off", {"enabled": on})

    async def change_number(self, org: Org, what: str, change: dict[str, Any]) -> None:
        asked = self.record.now()
        changes = self.record.switched.setdefault(org.number, [])
        reply = await self.client.insist(org, "PATCH", f"/api/v1/numbers/{org.number}", change)
        changes.append(Switched(asked, self.record.now(), what))
        self.client.expected(reply, 200)

    async def _retry(self, org: Org, message_id: int) -> None:
        asked = self.record.now()
        retried = Retried(asked, asked + LONGEST_ECHO)
        self.record.retried.setdefault((org.name, message_id), []).append(retried)
        reply = await self.client.ask(org, "POST", f"{MESSAGES}/{message_id}/retry")
        self.client.expected(reply, 200, 409, *TRY_LATER)
        if reply is not None and reply.status == 200:
            self.record.tell(org.name, asked, msgspec.json.decode(reply.body, type=View))

    async def _cancel(self, org: Org, message_id: int) -> None:
        asked = self.record.now()
        reply = await self.client.ask(org, "POST", f"{MESSAGES}/{message_id}/cancel")
        self.client.expected(reply, 200, 409, *TRY_LATER)
        if reply is not None and reply.status == 200:
            self.record.tell(org.name, asked, msgspec.json.decode(reply.body, type=View))
            self.record.cancelled[org.name, message_id] = self.record.now()


def _content(wish: Wish) -> dict[str, Any]:
    """Freeform text, or a template with the same words in it."""
    if not wish.template:
        return {"payloadJson": {"text": wish.text}}
    words = [{"type": "text", "text": word} for word in (wish.text, "A1")]
    components = [{"type": "body", "parameters": words}]
    return {"templateCode": "order_confirmation", "payloadJson": {"language": "en", "components": components}}


def phone(number: int) -> str:
    return f"+4915112345{number:02}"
