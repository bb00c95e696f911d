"""The steps of a played case: commands to the client, network faults, and the other user's actions."""

from __future__ import annotations

import json
import random
import uuid
from collections.abc import Callable
from typing import Any

from websockets.asyncio.client import connect

from tests.integration.stage import client_storm
from tests.integration.stage.client_expect import expect, is_typing
from tests.integration.stage.client_play import Device, Sending, Stage, Step, cleared, text_of
from waypost_testing.services.hostile_proxy import HostileProxy

# Commands to the client


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
    text = step["text"] * step.get("repeat", 1)
    texts = [text] if count is None else [f"{text} {n + 1}" for n in range(count)]
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


async def storm(stage: Stage, step: Step) -> None:
    device, dice = stage.device(step), random.Random(step["seed"])

    async def write(n: int) -> None:
        where = {"to": dice.choice(list(stage.rooms))}
        await send(stage, device, {"text": f"storm {n}", "count": dice.randrange(1, 4), **where})
        await other(stage, {"other": "posts", "count": dice.randrange(3), **where})

    await client_storm.storm(stage, device, step["storm"], dice, write)


async def edit(stage: Stage, step: Step) -> None:
    stage.device(step).epoch = step["epoch"]


# Network faults


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
        case {"proxy": "cut_on", "type": kind}:
            network.cut_on(kind)
        case {"proxy": "swap", "type": kind}:
            network.swap(kind)
        case {"proxy": "inject", "frame": frame}:
            network.inject(frame)
        case {"proxy": "close", "code": code}:
            network.close(code)
        case _:
            raise ValueError(step)


# The other user's actions


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
        case "adds_many":
            crowd = [(await stage.api.person(stage.admin_key, "guest")).user_id for _ in range(step["count"])]
            await stage.api.ask("POST", f"/conversations/{room}/members", token, {"add": crowd})
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


STEPS: dict[str, Callable[[Stage, Step], Any]] = {
    "do": do,
    "restart": restart,
    "edit": edit,
    "storm": storm,
    "proxy": proxy,
    "other": other,
    "expect": expect,
}
