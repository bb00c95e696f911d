"""Checks that Meta can reach the webhook, with Meta's own verification request to the public address."""

from __future__ import annotations

import time
from collections.abc import Sequence
from urllib.parse import urlencode, urlsplit

from waypost.flow.number_cache import ConnectedNumber
from waypost.http.edge.webhook_endpoint import PATH
from waypost.ports.platform.http_transport import HttpReply, ReplyTimedOut, TransportError
from waypost.rules.content.address import web_address
from waypost.runtime.doctor.findings import DoctorFinding, good, warning, wrong
from waypost.runtime.settings.definitions import Settings
from waypost.runtime.wiring.wiring import Ports

TIMEOUT = 10.0
MOST = 20
"""Numbers that are checked: one shows that the webhook is reachable, each that its token is known."""
SLOW = 5.0
_HERE = ("127.0.0.1", "localhost", "::1")


async def check_webhook(settings: Settings, numbers: Sequence[ConnectedNumber], ports: Ports) -> list[DoctorFinding]:
    url = settings.public_url.rstrip("/")
    if not url:
        missing = "set WAYPOST_PUBLIC_URL to the address configured at Meta, e.g. https://chat.example.com"
        text = "the webhook was not checked"
        return [] if settings.local or not numbers else [warning(text, missing)]
    if web_address(url) is None:
        return [wrong("WAYPOST_PUBLIC_URL is not an address", "write it like https://chat.example.com")]
    parts = urlsplit(url)
    if parts.scheme != "https" and parts.hostname not in _HERE:  # never send a token unencrypted
        return [wrong(f"{url} is not https: Meta calls only https", "put a proxy with a certificate in front")]
    return [await _try(url, each, ports) for each in numbers[:MOST]]


async def _try(url: str, connected: ConnectedNumber, ports: Ports) -> DoctorFinding:
    """Shows only the kind of a network error: its text may contain the address with the token."""
    challenge = ports.ids.token(9)
    query = {"hub.mode": "subscribe", "hub.verify_token": connected.verify_token, "hub.challenge": challenge}
    name, place, began = f"webhook of number {connected.number.id}", f"{url}{PATH}", time.perf_counter()
    try:
        reply = await ports.wire.request(
            "GET", f"{place}?{urlencode(query)}", headers={}, timeout=TIMEOUT, limit=64 * 1024
        )
    except ReplyTimedOut:
        return wrong(f"{name}: {place} does not answer within {TIMEOUT:.0f} s", "is the proxy's upstream this server?")
    except TransportError:
        remedy = "does its name resolve, is the port open, is the certificate valid?"
        return wrong(f"{name}: {place} cannot be reached", remedy)
    return _judged(reply, challenge, f"{name}: {place}", time.perf_counter() - began)


def _judged(reply: HttpReply, challenge: str, text: str, took: float) -> DoctorFinding:
    if reply.status == 200 and reply.body == challenge.encode():
        answers = f"{text} answers in {took * 1000:.0f} ms"
        return warning(answers, "Meta gives up after a few seconds") if took > SLOW else good(answers)
    if reply.status == 200:
        return wrong(f"{text} answers 200, but not as Waypost does", f"forward {PATH} to this server, query included")
    if reply.status == 403:
        return wrong(f"{text} does not know the verify token", "does the server there use this database and key?")
    if reply.status in {404, 405}:
        return wrong(f"{text} answers {reply.status}", f"forward {PATH} to this server")
    if reply.status in {502, 503, 504}:
        return wrong(f"{text} answers {reply.status}", "start the server, and see its /readyz")
    return wrong(f"{text} answers {reply.status}", "let GET through to this server unchanged, without a login")
