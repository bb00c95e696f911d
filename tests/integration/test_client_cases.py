"""Every client does what docs/reference/client-behaviour.md says: the table of cases, through the hostile proxy."""

from __future__ import annotations

import asyncio
import json
import runpy
import sys
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import connect

from tests.acceptance.harness import ORG, site, until
from tests.integration.client_play import PATIENCE, Api, Device, Sending, Stage, Step, cleared, text_of
from waypost.adapters.reqwest.wire import ReqwestWire
from waypost.ports.wire import Cut, Refused
from waypost.testing.hostile_proxy import HostileProxy

ROOT = Path(__file__).parents[2]
TABLE: dict[str, Any] = json.loads((ROOT / "clients" / "cases.json").read_text())
CASES: list[dict[str, Any]] = TABLE["played"]


@dataclass(frozen=True)
class Served:
    url: str
    port: int
    admin_key: str


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One real server for all cases: each has users and conversations of its own."""
    folder = tmp_path_factory.mktemp("server")
    with site(folder, f"sqlite:///{folder / 'waypost.db'}") as here:
        assert here.run("migrate").code == 0
        key = here.run("admin", "create-org", ORG, "--json").fields["api_key"]
        here.serve()
        asyncio.run(until(lambda: _ready(here.url), "the server is ready"))
        yield Served(here.url, here.port, key)


async def _ready(url: str) -> bool:
    wire = ReqwestWire("cases")
    try:
        return (await wire.request("GET", f"{url}/readyz", headers={}, timeout=PATIENCE)).status == 200
    except (Refused, Cut):
        return False
    finally:
        await wire.close()


@pytest.fixture(scope="module", params=["python", "typescript"])
def command(request: pytest.FixtureRequest) -> list[str]:
    """Starts the client's driver."""
    if request.param == "python":
        return [sys.executable, "-m", "waypost.client.driver"]
    tool = ROOT / "tools" / "node.py"
    if not tool.exists():
        pytest.skip("clients/typescript is not here: there is no tools/node.py to build it")
    node = runpy.run_path(str(tool))
    try:
        found: list[str] = node["driver"]()
    except node["NodeMissing"] as missing:
        pytest.skip(str(missing))
    return found


@asynccontextmanager
async def a_stage(served: Served, command: list[str], case: dict[str, Any], folder: Path) -> AsyncIterator[Stage]:
    wire = ReqwestWire("cases")
    api = Api(served.url, wire)
    me, other = await api.person(served.admin_key, "me"), await api.person(served.admin_key, "other")
    rooms = {}
    for name, kind in (("room", "group"), ("side", "direct")):
        opening = {"kind": kind, "members": [me.user_id]} | ({"title": name} if kind == "group" else {})
        rooms[name] = (await api.ask("POST", "/conversations", other.token, opening))["conversation_id"]
    async with HostileProxy("127.0.0.1", served.port) as proxy:
        timing = {**TABLE["timing"], **case.get("timing", {})}
        stage = Stage(api, proxy, me, other, rooms, timing, command, folder)
        try:
            yield stage
        finally:
            await stage.end()
            await wire.close()


@pytest.mark.may_block("starts processes")
@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
async def test_a_case(served: Served, command: list[str], case: dict[str, Any], tmp_path: Path) -> None:
    async with a_stage(served, command, case, tmp_path) as stage:
        for n, step in enumerate(case["steps"]):
            verb = next(verb for verb in STEPS if verb in step)
            try:
                await STEPS[verb](stage, step)
            except AssertionError as failed:
                raise AssertionError(f"step {n}, {step}: {failed}") from failed


# What the client is told


async def do(stage: Stage, step: Step) -> None:
    device = stage.device(step)
    match step["do"]:
        case "connect":
            await stage.connect(device, step.get("token"))
        case "stop":
            await device.stop()
        case "send":
            await send(stage, device, step)
        case "read":
            room = stage.rooms["room"]
            newest = next(reversed(device.screen[room]))
            await device.say({"do": "read", "conversation_id": room, "message_id": newest})
        case "typing":
            await device.say({"do": "typing", "conversation_id": stage.rooms["room"]})
        case unknown:
            raise ValueError(unknown)


async def send(stage: Stage, device: Device, step: Step) -> None:
    count = step.get("count")
    texts = [step["text"]] if count is None else [f"{step['text']} {n + 1}" for n in range(count)]
    room = stage.rooms[step.get("to", "room")]
    for text in texts:
        name = step.get("id") or str(uuid.uuid4())
        device.sends.append(Sending(name, text, room))
        before = len(device.events)
        content = {"type": step.get("type", "text"), "text": text}
        await device.say({"do": "send", "client_message_id": name, "conversation_id": room, "content": content})
        await device.until(lambda: kept(device, name, before), f"a sign that {text!r} is kept")  # noqa: B023  # awaited here


def kept(device: Device, name: str, since: int) -> bool:
    return any(event.get("client_message_id") == name for event in device.events[since:])


async def restart(stage: Stage, step: Step) -> None:
    device = stage.device(step)
    if step.get("clean"):
        await device.stop()
    else:
        await device.kill()
    if step.get("store") == "cleared":
        cleared(device.store)
    await stage.connect(device)


async def edit(stage: Stage, step: Step) -> None:
    stage.device(step).epoch = step["epoch"]


# What the network does


async def proxy(stage: Stage, step: Step) -> None:
    network = stage.proxy
    match step:
        case {"proxy": "pass"}:
            await network.pass_all()
        case {"proxy": "refuse"}:
            await network.refuse()
        case {"proxy": "cut", "after": frames}:
            network.cut_after(frames)
        case {"proxy": "cut"}:
            network.cut(reset=step.get("reset", False))
        case {"proxy": "double" | "block_upgrades" | "stall" as order}:
            getattr(network, order)()
        case _:
            proxy_frames(network, step)


def proxy_frames(network: HostileProxy, step: Step) -> None:
    match step:
        case {"proxy": "delay", "ms": ms}:
            network.delay(ms / 1000)
        case {"proxy": "drop", "type": kind, "count": count}:
            network.drop(kind, count)
        case {"proxy": "swap", "type": kind}:
            network.swap(kind)
        case {"proxy": "inject", "frame": frame}:
            network.inject(frame)
        case {"proxy": "close", "code": code}:
            network.close(code)
        case _:
            raise ValueError(step)


# What the other user does


async def other(stage: Stage, step: Step) -> None:
    token, room = stage.other.token, stage.rooms[step.get("to", "room")]
    match step["other"]:
        case "posts":
            for _ in range(step.get("count", 1)):
                await posts(stage, room, step.get("text"))
        case "reads":
            newest = (await stage.api.log(room, token))[-1]["message_id"]
            await stage.api.ask("POST", f"/conversations/{room}/read", token, {"message_id": newest})
        case "deletes":
            mine = [m for m in await stage.api.log(room, token) if m["sender_id"] == stage.other.user_id and text_of(m)]
            await stage.api.ask("DELETE", f"/messages/{mine[-1]['message_id']}", token)
        case "types":
            await types(stage, room)
        case "removes_me" | "adds_me" as change:
            whom = {"remove" if change == "removes_me" else "add": [stage.me.user_id]}
            await stage.api.ask("POST", f"/conversations/{room}/members", token, whom)
        case unknown:
            raise ValueError(unknown)


async def posts(stage: Stage, room: str, text: str | None) -> None:
    stage.posted += 1
    content = {"type": "text", "text": text or f"other {stage.posted}"}
    body = {"client_message_id": str(uuid.uuid4()), "conversation_id": room, "content": content}
    await stage.api.ask("POST", "/messages", stage.other.token, body)


async def types(stage: Stage, room: str) -> None:
    address = stage.api.url.replace("http:", "ws:") + "/api/v1/ws"
    async with connect(address, proxy=None) as socket:
        await socket.send(json.dumps({"type": "hello", "device_id": "typist", "token": stage.other.token}))
        async for frame in socket:
            if json.loads(frame)["type"] == "live":
                break
        await socket.send(json.dumps({"type": "typing", "conversation_id": room}))
        await stage.device({}).until(lambda: any(map(is_typing, stage.device({}).events)), "typing")


# What must come true


async def expect(stage: Stage, step: Step) -> None:
    await EXPECTATIONS[step["expect"]](stage, stage.device(step), step)


async def state(_: Stage, device: Device, step: Step) -> None:
    def reached(event: dict[str, Any]) -> bool:
        return bool(event["event"] == "state" and event["is"] == step["is"])

    await device.until(lambda: device.since("state", reached), step)
    if device.reads_first and step["is"] in {"live", "polling"}:  # else what it is to be shown later, it might read now
        await device.until(lambda: device.was_reset, "the first reset")
        device.reads_first = False


async def resumed(_: Stage, device: Device, __: Step) -> None:
    assert not device.was_reset


async def stopped(_: Stage, device: Device, step: Step) -> None:
    def has(event: dict[str, Any]) -> bool:
        return bool(event["event"] == "state" and event["is"] == "stopped" and event.get("code", 0) == step["code"])

    await device.until(lambda: device.since("stopped", has), step)


async def reset(_: Stage, device: Device, step: Step) -> None:
    def came(event: dict[str, Any]) -> bool:
        return event["event"] == "reset" and step.get("reason") in {None, event["reason"]}

    await device.until(lambda: device.since("reset", came), step)


async def fetched(_: Stage, device: Device, step: Step) -> None:
    await device.until(lambda: device.since("fetch", lambda event: event["event"] == "fetch"), step)


async def kind(_: Stage, device: Device, step: Step) -> None:
    def applied(event: dict[str, Any]) -> bool:
        return bool(event["event"] == "item" and event["item"]["kind"] == step["is"])

    await device.until(lambda: device.since(f"kind {step['is']}", applied), step)


async def typing(_: Stage, device: Device, step: Step) -> None:
    await device.until(lambda: device.since("typing", is_typing), step)


def is_typing(event: dict[str, Any]) -> bool:
    return bool(event["event"] == "frame" and event["frame"]["type"] == "typing")


async def sent(_: Stage, device: Device, step: Step) -> None:
    wanted = [send.name for send in device.sends if step.get("text") in {None, send.text}]
    await device.until(lambda: all(device.told("sent", name) for name in wanted), step)


async def refused(_: Stage, device: Device, step: Step) -> None:
    newest = device.sends[-1].name
    await device.until(lambda: device.told("refused", newest), step)
    told = device.told("refused", newest)
    assert told is not None
    assert step.get("code") in {None, told["code"]}


async def went_by(_: Stage, device: Device, step: Step) -> None:
    name = next(send.name for send in device.sends if send.text == step["text"])

    def tried() -> bool:
        return any(
            event["event"] == "try" and event["client_message_id"] == name and event["path"] == step["path"]
            for event in device.events
        )

    await device.until(tried, step)


async def shown(stage: Stage, device: Device, step: Step) -> None:
    room = stage.rooms["room"]
    await device.until(lambda: step["text"] in device.screen.get(room, {}).values(), step)


async def screen_equals_log(stage: Stage, device: Device, step: Step) -> None:
    for room in step.get("of", ["room", "side"]):
        log = [(message["message_id"], text_of(message)) for message in await stage.log(room)]
        conversation = stage.rooms[room]

        def showing(conversation: str = conversation) -> list[tuple[str, str | None]]:
            return list(device.screen.get(conversation, {}).items())

        try:
            await device.until(lambda log=log: showing() == log, step)  # type: ignore[misc]  # bound here, on purpose
        except AssertionError as late:
            raise AssertionError(f"log {log}\nscreen {showing()}\n{late}") from None


async def each_once(stage: Stage, device: Device, _: Step) -> None:
    assert not device.twice
    texts = [text_of(message) for room in stage.rooms for message in await stage.log(room)]
    counts = {send.text: texts.count(send.text) for send in device.sends}
    assert set(counts.values()) <= {1}, counts


async def in_order(stage: Stage, device: Device, _: Step) -> None:
    for room, conversation in stage.rooms.items():
        asked = [send.text for send in device.sends if send.conversation == conversation]
        stored = [text for message in await stage.log(room) if (text := text_of(message)) in asked]
        assert stored == asked


async def unread(stage: Stage, device: Device, step: Step) -> None:
    """Asked again after each event, and each answer is one."""
    async with asyncio.timeout(PATIENCE):
        while True:
            before = len(device.events)
            await device.say({"do": "unread", "conversation_id": stage.rooms["room"]})
            await device.until(lambda: _answer(device, "unread", before), step)  # noqa: B023  # awaited here
            if (_answer(device, "unread", before) or {}).get("count") == step["is"]:
                return


async def history(stage: Stage, device: Device, step: Step) -> None:
    before = len(device.events)
    await device.say({"do": "history", "conversation_id": stage.rooms["room"], "limit": step["limit"]})
    await device.until(lambda: _answer(device, "history", before), step)
    told = _answer(device, "history", before)
    assert told is not None
    newest_first = [message["message_id"] for message in await stage.log("room")][::-1]
    assert [message["message_id"] for message in told["messages"]] == newest_first


def _answer(device: Device, name: str, since: int) -> dict[str, Any] | None:
    return next((event for event in device.events[since:] if event["event"] == name), None)


STEPS: dict[str, Callable[[Stage, Step], Any]] = {
    "do": do,
    "restart": restart,
    "edit": edit,
    "proxy": proxy,
    "other": other,
    "expect": expect,
}
EXPECTATIONS: dict[str, Callable[[Stage, Device, Step], Any]] = {
    "state": state,
    "stopped": stopped,
    "reset": reset,
    "resumed": resumed,
    "fetched": fetched,
    "kind": kind,
    "typing": typing,
    "sent": sent,
    "refused": refused,
    "went_by": went_by,
    "shown": shown,
    "screen_equals_log": screen_equals_log,
    "each_once": each_once,
    "in_order": in_order,
    "unread": unread,
    "history": history,
}
