"""Webhook load: signed POSTs over keep-alive connections, each sending its next only after its answer came."""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import hmac
import json
import subprocess
import sys
import time
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit

import httptools
import uvloop

SECRET = "bench-app-secret"  # noqa: S105 — signs made-up load only
PHONE_NUMBER_ID = "106540352242922"
_WARM_UP = 500


def wamid(number: int) -> str:
    return f"wamid.HBgLMTY1MDU1NTEyMzQVAgARGBI{number:010d}"


def a_status(number: int, phone_number_id: str = PHONE_NUMBER_ID) -> bytes:
    """Message `number` was delivered."""
    status = {
        "id": wamid(number),
        "status": "delivered",
        "timestamp": "1750030073",
        "recipient_id": f"4915{number:08d}",
        "recipient_user_id": f"DE.1349120865{number:010d}",
        "biz_opaque_callback_data": f"m{number}:1",
        "pricing": {"billable": True, "pricing_model": "PMP", "type": "regular", "category": "utility"},
    }
    return webhook({"statuses": [status]}, phone_number_id)


def a_message(number: int, phone_number_id: str = PHONE_NUMBER_ID, customer: int | None = None) -> bytes:
    """A customer wrote line `number`: customer `number`, unless another one is named."""
    who = number if customer is None else customer
    sender = {"from": f"4915{who:08d}", "from_user_id": f"DE.1349120865{who:010d}"}
    text = {"type": "text", "text": {"body": f"Hello, where is my order {number}?"}}
    message = {**sender, "id": wamid(number), "timestamp": "1750030073", **text}
    contact = {"profile": {"name": "Sheena Nelson"}, "wa_id": sender["from"], "user_id": sender["from_user_id"]}
    return webhook({"contacts": [contact], "messages": [message]}, phone_number_id)


KINDS = {"status": a_status, "message": a_message}


def webhook(value: dict[str, object], phone_number_id: str) -> bytes:
    metadata = {"display_phone_number": "15550783881", "phone_number_id": phone_number_id}
    change = {"field": "messages", "value": {"messaging_product": "whatsapp", "metadata": metadata, **value}}
    whole = {"object": "whatsapp_business_account", "entry": [{"id": "102290129340398", "changes": [change]}]}
    return json.dumps(whole, separators=(",", ":")).encode()


def signature(body: bytes, secret: str) -> str:
    return "sha256=" + hmac.digest(secret.encode(), body, hashlib.sha256).hex()


def signed(body: bytes, host: str, path: str, secret: str) -> bytes:
    """The whole HTTP request, ready to be written to a socket."""
    head = (
        f"POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nUser-Agent: facebookexternalua\r\n"
        f"X-Hub-Signature-256: {signature(body, secret)}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


@dataclass(frozen=True)
class LoadResult:
    """Latencies in milliseconds; `cpu` is the load generator's own, in seconds."""

    count: int
    connections: int
    seconds: float
    p50: float
    p99: float
    refused: int
    cpu: float

    @property
    def per_second(self) -> float:
        return self.count / self.seconds

    def __str__(self) -> str:
        load = f"{self.per_second:,.0f} requests/s, p50 {self.p50:.2f} ms, p99 {self.p99:.2f} ms"
        own = f"{self.connections} connections, load itself {self.cpu / self.seconds:.0%} of a core"
        return f"{load} ({own})" + (f", {self.refused} not answered 200" if self.refused else "")


class _Aim:
    """What all connections share: the requests still to send, and what became of the sent ones."""

    def __init__(self, requests: Sequence[bytes], connections: int) -> None:
        self.requests: Iterator[bytes] = iter(requests)
        self.latencies = array("d")
        self.refused = 0
        self.open = connections
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def close(self, error: Exception | None) -> None:
        self.open -= 1
        if self.done.done():
            return
        if error:
            self.done.set_exception(error)
        elif not self.open:
            self.done.set_result(None)


class _Connection(asyncio.Protocol):
    def __init__(self, aim: _Aim) -> None:
        self._aim = aim
        self._parser = httptools.HttpResponseParser(self)
        self._finished = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is one without saying so

    def next(self) -> None:
        request = next(self._aim.requests, None)
        if request is None:
            self._finished = True
            self._transport.close()
            return
        self._sent = time.perf_counter()
        self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_message_complete(self) -> None:
        self._aim.latencies.append(time.perf_counter() - self._sent)
        self._aim.refused += self._parser.get_status_code() != 200
        self.next()

    def connection_lost(self, exc: Exception | None) -> None:
        self._aim.close(None if self._finished else ConnectionError(f"the server hung up: {exc}"))


async def fire(host: str, port: int, requests: Sequence[bytes], connections: int) -> LoadResult:
    """Write `requests` (see `signed`) from this very process; a server that hangs up is a ConnectionError."""
    aim = _Aim(requests, connections)
    loop = asyncio.get_running_loop()
    opened = [await loop.create_connection(lambda: _Connection(aim), host, port) for _ in range(connections)]
    cpu, started = time.process_time(), time.perf_counter()
    for _, connection in opened:
        connection.next()
    await aim.done
    seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    latencies = sorted(aim.latencies)
    p50, p99 = (latencies[int(len(latencies) * share)] * 1e3 for share in (0.50, 0.99))
    return LoadResult(len(latencies), connections, seconds, p50, p99, aim.refused, cpu)


def run(
    url: str,
    count: int,
    *,
    kind: str = "status",
    connections: int = 64,
    secret: str = SECRET,
    phone_number_id: str = PHONE_NUMBER_ID,
    bodies: Path | None = None,
) -> LoadResult:
    """`count` webhooks from a process of its own; `bodies`, a file of JSON lines, replaces the made-up ones."""
    command = [sys.executable, "-m", "bench.load", "--url", url, "--count", str(count), "--kind", kind, "--json"]
    command += ["--connections", str(connections), "--secret", secret, "--phone-number-id", phone_number_id]
    command += ["--bodies", str(bodies)] if bodies else []
    printed = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
    return LoadResult(**json.loads(printed))


def _bodies(arguments: argparse.Namespace) -> list[bytes]:
    if arguments.bodies:
        return Path(arguments.bodies).read_bytes().splitlines()[: arguments.count]
    return [KINDS[arguments.kind](number, arguments.phone_number_id) for number in range(arguments.count)]


async def _main(arguments: argparse.Namespace, bodies: list[bytes]) -> LoadResult:
    parts = urlsplit(arguments.url)
    host, port = parts.hostname or "127.0.0.1", parts.port or 80
    requests = [signed(body, f"{host}:{port}", parts.path or "/", arguments.secret) for body in bodies]
    warm_up = min(_WARM_UP, len(requests) // 10)
    if warm_up:
        await fire(host, port, requests[:warm_up], min(arguments.connections, warm_up))
    return await fire(host, port, requests[warm_up:], arguments.connections)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", required=True, help="where the webhooks go, http://127.0.0.1:PORT/path")
    parser.add_argument("--count", type=int, default=50_000, help="the first 500 warm up and are not measured")
    parser.add_argument("--kind", choices=KINDS, default="status")
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--secret", default=SECRET)
    parser.add_argument("--phone-number-id", default=PHONE_NUMBER_ID)
    parser.add_argument("--bodies", help="a file with one JSON body a line, instead of made-up ones")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    result = uvloop.run(_main(arguments, _bodies(arguments)))
    print(json.dumps(asdict(result)) if arguments.json else result)


if __name__ == "__main__":
    main()
