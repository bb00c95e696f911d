"""Whether Meta would reach the webhook: its own question is asked at the public address."""

from __future__ import annotations

import time
from collections.abc import Sequence
from urllib.parse import urlencode, urlsplit

from waypost.flow.numbers import Connected
from waypost.http.webhook_door import PATH
from waypost.ports.wire import Reply, TimedOut, WireError
from waypost.rules.address import web_address
from waypost.runtime.doctor_findings import Finding, good, warning, wrong
from waypost.runtime.settings import Settings
from waypost.runtime.wiring import Ports

TIMEOUT = 10.0
MOST = 20
"""Numbers that are asked for: one tells about the way, each about its token."""
SLOW = 5.0
_HERE = ("127.0.0.1", "localhost", "::1")


async def check_webhook(settings: Settings, numbers: Sequence[Connected], ports: Ports) -> list[Finding]:
    url = settings.public_url.rstrip("/")
    if not url:
        missing = "set WAYPOST_PUBLIC_URL to the address that Meta is told, e.g. https://chat.example.com"
        told = "nobody has tried whether Meta reaches the webhook"
        return [] if settings.local or not numbers else [warning(told, missing)]
    if web_address(url) is None:
        return [wrong("WAYPOST_PUBLIC_URL is no address", "write it like https://chat.example.com")]
    parts = urlsplit(url)
    if parts.scheme != "https" and parts.hostname not in _HERE:  # a token must not cross the net in the open
        return [wrong(f"{url} is not https: Meta calls no other", "put a proxy with a certificate in front")]
    return [await _try(url, each, ports) for each in numbers[:MOST]]


async def _try(url: str, connected: Connected, ports: Ports) -> Finding:
    """What the network says against it may repeat the address, and the token in it: only its kind is shown."""
    challenge = ports.ids.token(9)
    query = {"hub.mode": "subscribe", "hub.verify_token": connected.verify_token, "hub.challenge": challenge}
    name, place, began = f"webhook of number {connected.number.id}", f"{url}{PATH}", time.perf_counter()
    try:
        reply = await ports.wire.request(
            "GET", f"{place}?{urlencode(query)}", headers={}, timeout=TIMEOUT, limit=64 * 1024
        )
    except TimedOut:
        return wrong(f"{name}: {place} does not answer within {TIMEOUT:.0f} s", "is the proxy's upstream this server?")
    except WireError:
        remedy = "does its name resolve, is the port open, is the certificate valid?"
        return wrong(f"{name}: {place} cannot be reached", remedy)
    return _judged(reply, challenge, f"{name}: {place}", time.perf_counter() - began)


def _judged(reply: Reply, challenge: str, told: str, took: float) -> Finding:
    if reply.status == 200 and reply.body == challenge.encode():
        answers = f"{told} answers in {took * 1000:.0f} ms"
        return warning(answers, "Meta gives up after a few seconds") if took > SLOW else good(answers)
    if reply.status == 200:
        return wrong(f"{told} answers 200, but not as Waypost does", f"forward {PATH} to this server, query included")
    if reply.status == 403:
        return wrong(f"{told} does not know the verify token", "does the server there use this database and key?")
    if reply.status in {404, 405}:
        return wrong(f"{told} answers {reply.status}", f"forward {PATH} to this server")
    if reply.status in {502, 503, 504}:
        return wrong(f"{told} answers {reply.status}", "start the server, and see its /readyz")
    return wrong(f"{told} answers {reply.status}", "let GET through to this server unchanged, without a login")
