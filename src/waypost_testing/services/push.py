"""A push service and the browsers behind it: it checks the sender, decrypts the body and answers as scripted.

It is an ASGI application, for a simulated network; `async with service.listening():` puts it on a socket.
"""

from __future__ import annotations

import asyncio
import base64
import re
import socket
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Literal

import msgspec
import uvicorn
from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from waypost.model.push import Notification, Subscription, Urgency
from waypost.model.time import Instant

LARGEST_BODY = 4096
LONGEST_TOKEN = 86_400
"""The longest validity of a signed token, in seconds."""
_VAPID = re.compile(r"vapid t=([\w-]+\.[\w-]+\.[\w-]+), ?k=([\w-]+)", re.ASCII)
_TOPIC = re.compile(r"[A-Za-z0-9_-]{1,32}", re.ASCII)
_CONTACT = re.compile(r"(mailto:.+@.+|https://.+)", re.ASCII)


class PushRejected(Exception):
    """The request is refused with this status."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


class ScriptedPushReply(msgspec.Struct, frozen=True):
    """A scripted reply in place of accepting the request."""

    status: int
    headers: Mapping[str, str] = {}
    body: bytes = b""
    hang: bool = False
    """Send no reply, until the caller gives up."""


class ReceivedPush(msgspec.Struct, frozen=True, kw_only=True):
    """A notification as the device reads it, and the headers that its service received with it."""

    subscription: Subscription
    notification: Notification
    plain: bytes
    ttl: int
    urgency: Urgency
    topic: str | None
    sealed: bytes
    authorization: str


class VapidClaims(msgspec.Struct, frozen=True):
    aud: str
    exp: int
    sub: str


class _Head(msgspec.Struct, frozen=True):
    alg: Literal["ES256"]
    typ: Literal["JWT"] = "JWT"


class Browser:
    """One subscription's private side."""

    def __init__(self, private: ec.EllipticCurvePrivateKey, auth: bytes, application_key: str | None = None) -> None:
        self._private = private
        self._auth = auth
        self.application_key = application_key
        """Only the holder of this key may send; None: any sender."""
        self.subscribed = True

    def subscription(self, endpoint: str) -> Subscription:
        return Subscription(endpoint, encoded(_point(self._private.public_key())), encoded(self._auth))

    def opened(self, body: bytes) -> bytes:
        """Decrypt a body and remove its padding; raise PushRejected for a body that a browser could not read."""
        if len(body) < 21:
            raise PushRejected(400, "the body has no header")
        salt, record, length = body[:16], int.from_bytes(body[16:20], "big"), body[20]
        sender, sealed = body[21 : 21 + length], body[21 + length :]
        if len(sealed) > record or record < 18:
            raise PushRejected(400, "the body must be one record")
        try:
            key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), sender)
            shared = self._private.exchange(ec.ECDH(), key)
            info = b"WebPush: info\0" + _point(self._private.public_key()) + sender
            secret = _expanded(shared, self._auth, info, 32)
            nonce = _expanded(secret, salt, b"Content-Encoding: nonce\0", 12)
            whole = AESGCM(_expanded(secret, salt, b"Content-Encoding: aes128gcm\0", 16)).decrypt(nonce, sealed, None)
        except (InvalidTag, ValueError) as error:
            raise PushRejected(400, "the device cannot decrypt it") from error
        plain, delimiter = whole.rstrip(b"\0")[:-1], whole.rstrip(b"\0")[-1:]
        if delimiter != b"\x02":
            raise PushRejected(400, "the last record must end in 2")
        return plain


class PushService:
    def __init__(self, now: Callable[[], Instant], origin: str = "https://push.example.net") -> None:
        self.origin = origin
        self.arrived: list[ReceivedPush] = []
        """Every accepted request, in order."""
        self.calls: list[int] = []
        """The status of every answer, in order."""
        self.woken = asyncio.Event()
        """Set with each call; a test that waits for the next one clears it."""
        self._now = now
        self._browsers: dict[str, Browser] = {}
        self._answers: defaultdict[str, deque[ScriptedPushReply]] = defaultdict(deque)

    # The browser's side

    def subscribe(self, application_key: str | None = None) -> Subscription:
        """Subscribe a device; with a key, only the holder of its private half may send."""
        name = f"device-{len(self._browsers) + 1}"
        auth = len(self._browsers).to_bytes(16, "big")
        self._browsers[name] = Browser(ec.generate_private_key(ec.SECP256R1()), auth, application_key)
        return self._browsers[name].subscription(f"{self.origin}/push/{name}")

    def unsubscribe(self, subscription: Subscription) -> None:
        """The user unsubscribes: 410 from now on."""
        self._browsers[_name(subscription.endpoint)].subscribed = False

    def waiting(self, subscription: Subscription) -> list[Notification]:
        """What a device receives after being off: the last notification of each topic."""
        found: dict[object, Notification] = {}
        for number, each in enumerate(self.arrived):
            if each.subscription == subscription:
                found.pop(each.topic or number, None)
                found[each.topic or number] = each.notification
        return list(found.values())

    def then(self, subscription: Subscription, *answers: ScriptedPushReply) -> None:
        """Script the next calls of this subscription, in order; after them it accepts notifications again."""
        self._answers[_name(subscription.endpoint)].extend(answers)

    # The sender's side

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            raise RuntimeError("only HTTP is supported")
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        answer = self._answered(scope["method"], scope["path"], headers, await _body(receive))
        self.calls.append(answer.status)
        self.woken.set()
        while answer.hang:
            if (await receive())["type"] == "http.disconnect":
                return
        named = [(name.encode(), value.encode()) for name, value in answer.headers.items()]
        await send({"type": "http.response.start", "status": answer.status, "headers": named})
        await send({"type": "http.response.body", "body": answer.body})

    def _answered(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> ScriptedPushReply:
        name = _name(path)
        if self._answers[name]:
            return self._answers[name].popleft()
        try:
            if method != "POST":
                raise PushRejected(405, "only POST")
            self.arrived.append(self._taken(name, headers, body))
        except PushRejected as refusal:
            return ScriptedPushReply(refusal.status, body=str(refusal).encode())
        return ScriptedPushReply(201, {"location": f"{self.origin}/message/{len(self.arrived)}"})

    def _taken(self, name: str, headers: Mapping[str, str], body: bytes) -> ReceivedPush:
        browser = self._browsers.get(name)
        if browser is None:
            raise PushRejected(404, "no such subscription")
        if not browser.subscribed:
            raise PushRejected(410, "unsubscribed")
        authorization = headers.get("authorization", "")
        self._check_sender(authorization, browser)
        _check_headers(headers)
        if len(body) > LARGEST_BODY:
            raise PushRejected(413, "at most 4096 bytes")
        plain = browser.opened(body)
        return ReceivedPush(
            subscription=browser.subscription(f"{self.origin}/push/{name}"),
            notification=msgspec.json.decode(plain, type=Notification),
            plain=plain,
            ttl=int(headers["ttl"]),
            urgency=Urgency(headers.get("urgency", "normal")),
            topic=headers.get("topic"),
            sealed=body,
            authorization=authorization,
        )

    def _check_sender(self, authorization: str, browser: Browser) -> None:
        claims, key = verified(authorization)
        now = self._now() // 1_000_000
        if claims.aud != self.origin:
            raise PushRejected(401, f"signed for {claims.aud}, this is {self.origin}")
        if not now < claims.exp <= now + LONGEST_TOKEN:
            raise PushRejected(401, "expired, or valid for more than a day")
        if not _CONTACT.fullmatch(claims.sub):
            raise PushRejected(401, "no contact")
        if browser.application_key not in (None, key):
            raise PushRejected(403, "the subscription was made with another key")

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[str]:
        """On a free port of this machine; subscriptions made from now on name it."""
        with socket.socket() as sock:
            sock.bind(("127.0.0.1", 0))
            self.origin = f"http://127.0.0.1:{sock.getsockname()[1]}"
            server = _Quiet(uvicorn.Config(self, lifespan="off", log_config=None, timeout_graceful_shutdown=1))
            sock.listen(128)
            serving = asyncio.ensure_future(server.serve(sockets=[sock]))
            try:
                yield self.origin
            finally:
                server.should_exit = True
                await serving


class _Quiet(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """No lifespan events are needed."""
        yield


def verified(authorization: str) -> tuple[VapidClaims, str]:
    """The claims and the public key of an `Authorization: vapid …`; raises PushRejected when they do not match."""
    found = _VAPID.fullmatch(authorization)
    if found is None:
        raise PushRejected(401, "no vapid authorization")
    signed, _, signature = found[1].rpartition(".")
    head, _, claims = signed.partition(".")
    try:
        msgspec.json.decode(decoded(head), type=_Head)
        _verify(decoded(found[2]), decoded(signature), signed.encode())
        return msgspec.json.decode(decoded(claims), type=VapidClaims), found[2]
    except (InvalidSignature, ValueError) as error:  # msgspec's errors are ValueErrors
        raise PushRejected(401, "the signature is not by this key") from error


def _verify(key: bytes, signature: bytes, signed: bytes) -> None:
    if len(signature) != 64:
        raise ValueError("a signature has 64 bytes")
    numbers = (int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:], "big"))
    public = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), key)
    public.verify(encode_dss_signature(*numbers), signed, ec.ECDSA(SHA256()))


def _check_headers(headers: Mapping[str, str]) -> None:
    if headers.get("content-encoding") != "aes128gcm":
        raise PushRejected(400, "only aes128gcm")
    if not headers.get("ttl", "").isdecimal():
        raise PushRejected(400, "TTL must be a number of seconds")
    if headers.get("urgency", "normal") not in set(Urgency):
        raise PushRejected(400, "no such urgency")
    if "topic" in headers and not _TOPIC.fullmatch(headers["topic"]):
        raise PushRejected(400, "a topic has at most 32 characters of base64url")


async def _body(receive: Any) -> bytes:
    pieces = []
    while True:
        message = await receive()
        pieces.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(pieces)


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _point(key: ec.EllipticCurvePublicKey) -> bytes:
    return key.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


def _expanded(secret: bytes, salt: bytes, info: bytes, length: int) -> bytes:
    return HKDF(algorithm=SHA256(), length=length, salt=salt, info=info).derive(secret)


def encoded(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
