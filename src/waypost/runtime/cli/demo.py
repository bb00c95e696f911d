"""`waypost demo`: the server, the sandbox instead of Meta, an org, a number and an agent on one machine."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO

import msgspec
from msgspec.structs import replace
from rich.console import Console

from waypost.flow.accounts import sign_in
from waypost.http.edge.webhook_endpoint import PATH
from waypost.runtime.process import freeze_gc
from waypost.runtime.process.serve import build_server, listener_name
from waypost.runtime.process.server import Server
from waypost.runtime.process.uvicorn_runner import (
    address,
    listen,
    log_unhandled_errors,
    serve_until,
    stop_signal,
    web_server,
)
from waypost.runtime.settings.definitions import FILE, PREFIX, Settings, SettingsError
from waypost.runtime.settings.roles import ALL_ROLES
from waypost.runtime.wiring.demo_account import DemoAccount, connect_sandbox, demo_account
from waypost.runtime.wiring.wiring import DEMO_ACCOUNT, Ports, migrate, sqlite_path, system_ports
from waypost.sandbox import Sandbox, SandboxNumber, SayRequest

API_VERSION = "v25.0"
CUSTOMER = "15550001111"
FIRST_MESSAGE = "Where is my order?"


@dataclass(frozen=True, kw_only=True)
class DemoOptions:
    port: int
    sandbox_port: int
    data: Path
    as_json: bool


def demo_settings(settings: Settings, data: Path) -> Settings:
    """Local mode, with the database in the data folder unless one is set."""
    unnamed = settings.database_url == Settings().database_url
    url = f"sqlite:///{data / 'waypost.db'}" if unnamed else settings.database_url
    return replace(settings, env="local", database_url=url, bot=settings.bot or "echo")


def lock_demo_folder(data: Path) -> IO[str]:
    """Two demos in one folder would send to each other's sandbox."""
    lock = _in_folder(data)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        raise SettingsError(f"another demo runs in {data}: stop it, or choose another folder with --data") from None
    return lock


def _in_folder(data: Path) -> IO[str]:
    what = "made"
    try:
        data.mkdir(parents=True, exist_ok=True)
        what = "written to"
        return (data / "demo.lock").open("w")
    except OSError as error:
        why = "a file has that name" if isinstance(error, FileExistsError) else error.strerror
        raise SettingsError(f"the folder {data} cannot be {what}: {why}; choose another with --data") from error


async def demo(settings: Settings, place: DemoOptions) -> None:
    stop = stop_signal()
    log_unhandled_errors()
    alone = lock_demo_folder(place.data)
    if sqlite_path(settings.database_url) is None:
        await migrate(settings)
    front, back = listen("127.0.0.1", place.port), listen("127.0.0.1", place.sandbox_port, "--sandbox-port")
    url, sandbox_url = address(front), address(back)
    ports = await system_ports(settings, answering=True, serving=True)
    server = build_server(ports, settings, ALL_ROLES, listener_name(front))
    account = await demo_account(place.data / DEMO_ACCOUNT, server.world)
    await connect_sandbox(account, f"{sandbox_url}/{API_VERSION}", server.world)
    sandbox = server.phones = demo_sandbox(account, ports, url, sandbox_url)
    await server.start()
    freeze_gc.freeze_gc()
    login_url = f"{url}/#sign-in={sign_in.offer(account.user_token, server.world)}"
    shown = {"url": url, "sandbox_url": sandbox_url, **msgspec.structs.asdict(account), "login_url": login_url}
    welcome = asyncio.ensure_future(_welcome(account, sandbox, partial(_show, shown, settings, place)))
    webs = [(web_server(server.app, server.websockets), front), (web_server(sandbox), back)]
    try:
        await serve_until(stop, webs, lambda: _wind_down(sandbox, server))
    finally:
        welcome.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await welcome
        await sandbox.close()
        await server.stop()
        alone.close()


async def _wind_down(sandbox: Sandbox, server: Server) -> None:
    """A page that waits for a phone's messages would keep the server from stopping."""
    sandbox.dismiss()
    await server.wind_down()


def demo_sandbox(account: DemoAccount, ports: Ports, url: str, sandbox_url: str) -> Sandbox:
    number = SandboxNumber(
        phone_number_id=account.phone_number_id,
        waba_id=account.waba_id,
        token=account.access_token,
        app_secret=account.app_secret,
        verify_token=account.verify_token,
        webhook_url=url + PATH,
        verified_name="Demo shop",
    )
    return Sandbox(ports.clock, ports.random, ports.ids, ports.wire, [number], sandbox_url)


def demo_services(settings: Settings, data: Path, environment: Mapping[str, str] = os.environ) -> list[str]:
    """Shows settings from the environment that change the demo and could go unnoticed."""
    lines = [f"Customers are answered by the bot {settings.bot}."]
    if settings.bot == "none":
        lines = [f"No bot answers customers, since {_named('bot', environment)} is none."]
    path = sqlite_path(settings.database_url)
    shown = settings.database_kind if path is None else path  # another address may hold a password
    if path == data / "waypost.db":
        return [*lines, f"The database is {shown}."]
    setting = _named("database_url", environment)
    return [*lines, f"The database is {shown}, since {setting} goes before --data; {data} has only the demo's keys."]


def _named(setting: str, environment: Mapping[str, str]) -> str:
    name = PREFIX + setting.upper()
    return name if name in environment else f"{setting} in {FILE}"


async def _welcome(account: DemoAccount, sandbox: Sandbox, show: Callable[[], None]) -> None:
    """A customer writes first, which opens the 24-hour window for free-form answers."""
    number = sandbox.numbers.get(account.phone_number_id)
    if number is not None:
        await sandbox.phones.say(CUSTOMER, number, SayRequest(text=FIRST_MESSAGE, name="Ada"))
    show()


def _show(facts: dict[str, str], settings: Settings, place: DemoOptions) -> None:
    if place.as_json:
        sys.stdout.write(msgspec.json.encode(facts).decode() + "\n")
        sys.stdout.flush()
        return
    url, sandbox_url = facts["url"], facts["sandbox_url"]
    console = Console(highlight=False, soft_wrap=True)
    console.print(f"[bold]Waypost[/bold] is running at {url}, the sandbox phone network at {sandbox_url}\n")
    console.print("\n".join(demo_services(settings, place.data)) + "\n", markup=False)
    console.print("Open it, a phone beside the team's inbox (this link signs you in once, within ten minutes):\n")
    console.print(f"  {facts['login_url']}\n", markup=False)
    console.print(
        f'The phone +{CUSTOMER} has just written "{FIRST_MESSAGE}": for 24 hours you may answer with any text.'
    )
    console.print("(A phone that never wrote can only be sent a template.)\n", style="dim")
    console.print("Send a message:\n")
    console.print(
        f"  curl -s {url}/api/v1/outbound/messages -H 'Authorization: Bearer {facts['api_key']}' \\\n"
        "    -H 'Content-Type: application/json' \\\n"
        """    -d '{"channel": "WHATSAPP", "to": "+15550001111", "payloadJson": {"text": "Hello"}}'\n""",
        markup=False,
    )
    console.print("See it on the phone:\n")
    console.print(f"  curl -s {sandbox_url}/_sandbox/phones/15550001111/screen\n", markup=False)
    console.print(
        f"Ctrl-C stops it; the data stays. Every key is in {place.data / DEMO_ACCOUNT}.", style="dim", markup=False
    )
