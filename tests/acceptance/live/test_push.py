"""Who is away is told, by real processes: a customer's message reaches a browser's push service, and opens there."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import pytest
from websockets.asyncio.client import connect

from tests.acceptance.conftest import ON_SQLITE
from tests.acceptance.stage.clients import Api, Http, Sandbox, clients
from tests.acceptance.stage.harness import Program, Site, until
from tests.acceptance.stage.talking import say
from waypost.adapters.local.clock import SystemClock
from waypost.model.push import Subscription
from waypost_testing.services.push import PushService, ReceivedPush, ScriptedPushReply

PHONE, OTHER_PHONE = "15550007777", "15550008888"
PUSH = {
    "WAYPOST_ENV": "local",  # a push service on this machine is taken
    "WAYPOST_BOT": "none",
    "WAYPOST_PUSH_CONTACT": "mailto:ops@acme.example",
    "WAYPOST_PUSH_GRACE_SEC": "2",
    "WAYPOST_PUSH_LEASE_SEC": "2",
}


@dataclass
class Office:
    """Agents with browsers, customers with phones, and a push service between them."""

    here: Site
    api: Api
    sandbox: Sandbox
    service: PushService
    running: Program
    key: str = ""
    agents: dict[str, Http] = field(default_factory=dict)
    at: dict[str, Subscription] = field(default_factory=dict)

    async def hire(self, name: str) -> None:
        """With a browser that was there once and lets itself be told."""
        made = await self.api.ask("POST", "/api/v1/users", {"name": name, "role": "agent"})
        token = {"Authorization": f"Bearer {made.body['token']}"}
        agent = self.agents[name] = Http(self.api.session, self.here.url, token)
        self.key = (await agent.get("/api/v1/push-key"))["public_key"]
        await agent.get("/api/v1/sync?device_id=web&wait=0")
        self.at[name] = self.service.subscribe(self.key)
        answer = await agent.ask("POST", "/api/v1/devices/web/push", as_a_browser_has_it(self.at[name]))
        assert answer.status == 204, answer

    async def pushes(self, name: str) -> bool:
        (device,) = (await self.agents[name].get("/api/v1/devices"))["devices"]
        return bool(device["pushes"])

    def pushes_to(self, name: str) -> list[ReceivedPush]:
        return [each for each in self.service.arrived if each.subscription == self.at[name]]

    async def is_told(self, name: str, times: int = 1) -> list[ReceivedPush]:
        async def found() -> list[ReceivedPush]:
            return self.pushes_to(name)[times - 1 :]

        await until(found, f"{name} is told {times} times")
        return self.pushes_to(name)


def as_a_browser_has_it(subscription: Subscription) -> dict[str, Any]:
    keys = {"p256dh": subscription.p256dh, "auth": subscription.auth}
    return {"endpoint": subscription.endpoint, "expirationTime": None, "keys": keys}


@asynccontextmanager
async def connected(office: Office, name: str) -> AsyncIterator[None]:
    """By WebSocket, caught up; what comes is not even acknowledged."""
    url = office.here.url.replace("http", "ws") + "/api/v1/ws"
    async with connect(url, additional_headers=office.agents[name].headers) as socket:
        await socket.send(json.dumps({"type": "hello", "device_id": "web"}))
        while json.loads(await socket.recv())["type"] != "live":
            pass
        yield


@pytest.fixture
async def office(here: Site) -> AsyncIterator[Office]:
    here.settings |= PUSH
    here.connect()
    running = here.serve()
    service = PushService(SystemClock().now)
    async with clients(here) as (api, sandbox), service.listening():
        await api.ready()
        yield Office(here, api, sandbox, service, running)


async def test_who_is_away_is_told_once_and_who_is_connected_is_not(office: Office) -> None:
    for name in ("Ann", "Bob"):
        await office.hire(name)
    async with connected(office, "Ann"):
        await say(office.sandbox, PHONE, text="Where is my parcel?", name="Maria")
        (arrived,) = await office.is_told("Bob")
    assert (arrived.notification.title, arrived.notification.text, arrived.notification.count) == (
        "Maria",
        "Where is my parcel?",
        1,
    )
    assert office.pushes_to("Ann") == []


@ON_SQLITE
async def test_a_burst_is_one_notice_that_counts(office: Office) -> None:
    await office.hire("Bob")
    await asyncio.gather(*(say(office.sandbox, PHONE, text="Hello?") for _ in range(10)))
    (arrived,) = await office.is_told("Bob")
    assert (arrived.notification.text, arrived.notification.count) == ("Hello?", 10)
    await say(office.sandbox, OTHER_PHONE, text="Me too")
    assert [each.notification.count for each in await office.is_told("Bob", 2)] == [10, 1]


@ON_SQLITE
async def test_a_subscription_that_ended_is_removed(office: Office) -> None:
    await office.hire("Bob")
    office.service.unsubscribe(office.at["Bob"])
    await say(office.sandbox, PHONE, text="Where is my parcel?")

    async def is_gone() -> bool:
        return not await office.pushes("Bob")

    await until(is_gone, "Bob's subscription is removed")
    assert office.service.calls == [410]


async def test_a_server_that_is_killed_in_the_middle_tells_once_more_at_most(office: Office) -> None:
    await office.hire("Bob")
    office.service.then(office.at["Bob"], ScriptedPushReply(0, hang=True))
    await say(office.sandbox, PHONE, text="Where is my parcel?")
    await office.service.woken.wait()
    office.running.kill()
    office.here.serve()
    await office.is_told("Bob")
    await say(office.sandbox, OTHER_PHONE, text="Me too")
    told = await office.is_told("Bob", 2)
    assert [each.notification.text for each in told] == ["Where is my parcel?", "Me too"]


@ON_SQLITE
async def test_who_lets_it_be_is_left_alone(office: Office) -> None:
    for name in ("Ann", "Bob"):
        await office.hire(name)
    assert (await office.agents["Ann"].ask("DELETE", "/api/v1/devices/web/push")).status == 204
    assert not await office.pushes("Ann")
    await say(office.sandbox, PHONE, text="Where is my parcel?")
    await office.is_told("Bob")
    assert office.pushes_to("Ann") == []


@ON_SQLITE
async def test_what_is_no_subscription_is_refused(office: Office) -> None:
    await office.hire("Bob")
    bob, given = office.agents["Bob"], as_a_browser_has_it(office.at["Bob"])
    for wrong, field_ in (({"endpoint": "nowhere"}, "endpoint"), ({"keys": {"p256dh": "x", "auth": "y"}}, "keys")):
        answer = await bob.ask("POST", "/api/v1/devices/web/push", given | wrong)
        assert (answer.status, answer.body["code"], answer.body["field"]) == (422, "invalid_payload", field_)
    assert (await bob.ask("POST", "/api/v1/devices/other/push", given)).status == 404
    async with aiohttp.ClientSession() as session:
        url = f"{office.here.url}/api/v1/devices/web/push"
        async with session.post(
            url, data=b"null", headers={**bob.headers, "content-type": "application/json"}
        ) as ended:
            assert ended.status == 204
    assert not await office.pushes("Bob")
