"""The OpenAPI document: valid, complete, and matching the server."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode, checks
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    ignored_auth,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)

from tests.fuzzing import TRIED, examples
from tests.integration.stage.database import Database
from tests.integration.stage.harness import HELLO, MESSAGES, ON_SQLITE, Stage, live_clock
from tests.integration.stage.staging import open_stage
from tests.integration.stage.webhooks import a_text, change, envelope
from waypost.adapters.sqlite.store import SqliteStore
from waypost.http.app import api
from waypost.http.openapi import completed
from waypost.runtime.process.uvicorn_runner import address, listen, web_server

DOCUMENT = "/api/v1/openapi.json"
PUBLIC = {"/healthz", "/readyz", "/metrics", "/api/v1/webhooks/whatsapp/inbound"}
SIGNING_IN = ("/api/v1/session", ("post", "delete"))
"""A user who signs in has no key yet, and one who signs out may have lost it."""
CHECKS = [
    checks.not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    response_headers_conformance,
    unsupported_method,
    ignored_auth,
]


@dataclass
class Served:
    url: str
    key: str


class ServedInAThread:
    """A whole server on a socket, in its own loop: the caller here is not a coroutine."""

    def __init__(self, path: Path) -> None:
        self._database = Database("sqlite", f"sqlite:///{path}")
        self._ready: Future[Served] = Future()
        self._stop = asyncio.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Served:
        self._thread.start()
        return self._ready.result(20)

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(20)

    def _run(self) -> None:
        try:
            self._loop.run_until_complete(self._serve())
        except BaseException as error:  # told to whoever waits
            if not self._ready.done():
                self._ready.set_exception(error)
            raise
        finally:
            self._loop.close()

    async def _serve(self) -> None:
        async with open_stage(self._database, clock=live_clock(), message_status_sync_timeout_sec="0.05") as stage:
            await _populate(stage)
            sock = listen("127.0.0.1", 0)
            server = web_server(_counted(stage.server.app), stage.server.websockets)
            serving = asyncio.ensure_future(server.serve(sockets=[sock]))
            self._ready.set_result(Served(address(sock), stage.acme.key))
            await self._stop.wait()
            server.should_exit = True
            await serving
            sock.close()


def _counted(app: Any) -> Any:
    """A case is more than one request: its checks ask again without a key, and by another method."""

    async def count(*request: Any) -> None:
        TRIED["API requests"] += 1
        await app(*request)

    return count


async def _hear_from_a_customer(stage: Stage) -> None:
    said = change(stage.acme, messages=[a_text("wamid.in")])
    assert (await stage.post(envelope((stage.acme, [said])))).status == 200


async def _populate(stage: Stage) -> None:
    """Something to be found under small ids, in every state that comes easily."""
    await _hear_from_a_customer(stage)
    for n in range(5):
        await stage.send(payloadJson={"text": f"{n}"})
    await stage.send(scheduledAt="2090-01-01T00:00:00Z")
    await stage.fault(error_code=131026, to="+16505550000")
    failed = await stage.send(to="+16505550000")
    await stage.becomes(failed["id"], "FAILED")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    path = tmp_path_factory.mktemp("openapi") / "waypost.db"
    store = SqliteStore(path)
    store.migrate()
    store.close()
    with ServedInAThread(path) as found:
        yield found


@pytest.fixture(scope="module")
def described(served: Served) -> Any:
    return schemathesis.openapi.from_url(served.url + DOCUMENT)


ROUTES = [
    (path, method)
    for path, item in completed(api().openapi_schema.to_schema())["paths"].items()  # type: ignore[attr-defined]  # Litestar's
    for method in item
]


@pytest.mark.parametrize(("path", "method"), ROUTES)
def test_the_server_does_what_its_document_says(described: Any, served: Served, path: str, method: str) -> None:
    strategy = st.one_of([described[path][method].as_strategy(generation_mode=mode) for mode in GenerationMode])

    @settings(max_examples=examples(10), deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(case=strategy)
    def holds(case: Any) -> None:
        case.call_and_validate(headers={"Authorization": f"Bearer {served.key}"}, checks=CHECKS)

    holds()


# The document itself


@pytest.fixture
async def document(stage: Stage) -> dict[str, Any]:
    answer = await stage.call("GET", DOCUMENT, key="")
    assert answer.status == 200
    found: dict[str, Any] = answer.json
    return found


def operations(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, item in document["paths"].items():
        for method, operation in item.items():
            yield path, method, operation


@ON_SQLITE
async def test_the_document_is_openapi_3_1(document: dict[str, Any]) -> None:
    assert document["openapi"].startswith("3.1")
    await asyncio.to_thread(lambda: schemathesis.openapi.from_dict(document).validate())


@ON_SQLITE
async def test_every_route_has_a_summary_a_tag_and_a_name_of_its_own(document: dict[str, Any]) -> None:
    listed = list(operations(document))
    assert len(listed) > 20
    for path, method, operation in listed:
        assert operation["summary"], (method, path)
        assert len(operation["tags"]) == 1, (method, path)
    names = [operation["operationId"] for _, _, operation in listed]
    assert len(set(names)) == len(names)


@ON_SQLITE
async def test_every_route_that_needs_a_key_says_so_and_how_it_refuses(document: dict[str, Any]) -> None:
    assert document["components"]["securitySchemes"]["key"]["scheme"] == "bearer"
    for path, method, operation in operations(document):
        needed = operation.get("security", document["security"])
        if path in PUBLIC or (path == SIGNING_IN[0] and method in SIGNING_IN[1]):
            assert needed in ([], [{}]), (method, path)
            continue
        assert needed == [{"key": []}], (method, path)
        assert {"401", "403", "503"} <= set(operation["responses"]), (method, path)
        for status, response in operation["responses"].items():
            if status >= "400":
                assert list(response["content"]) == ["application/problem+json"], (method, path, status)


@ON_SQLITE
async def test_bodies_have_examples_that_the_server_takes(stage: Stage, document: dict[str, Any]) -> None:
    with_body = [
        (p, m, o) for p, m, o in operations(document) if "requestBody" in o and p not in {*PUBLIC, SIGNING_IN[0]}
    ]
    assert len(with_body) >= 5
    mailbox = await stage.call("POST", "/api/v1/mailboxes", {"address": "a@example.com", "host": "mail.invalid"})
    assert mailbox.status == 201
    await _hear_from_a_customer(stage)
    people = [(await stage.call("POST", "/api/v1/users", {"name": name, "role": "agent"})).json for name in "abc"]
    for path, method, operation in with_body:
        content = operation["requestBody"]["content"]
        for example in content.get("application/json", {"schema": {}})["schema"].get("examples", []):
            text = json.dumps(example).replace("user_9fK2", people[0]["user_id"]).replace('"7"', '"1"')
            given = json.loads(text.replace("user_Qm71", people[1]["user_id"]))
            key = people[2]["token"] if path == "/api/v1/conversations" else None
            answer = await stage.call(method.upper(), path.replace("{conversation_id}", "1"), given, key=key)
            assert answer.status in (200, 201, 207), (path, answer)
    posted = document["paths"][MESSAGES]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert len(posted["examples"]) >= 2


@ON_SQLITE
async def test_examples_of_answers_look_like_the_answers(stage: Stage, document: dict[str, Any]) -> None:
    message = await stage.send()
    told = document["paths"][MESSAGES]["post"]["responses"]
    for status in ("200", "201", "202"):
        assert told[status]["content"]["application/json"]["example"].keys() == message.keys()
    timeline = document["paths"][MESSAGES + "/{message_id}/timeline"]["get"]["responses"]["200"]
    assert timeline["content"]["application/json"]["example"]["events"]


@ON_SQLITE
async def test_every_field_of_the_contract_is_in_a_message(document: dict[str, Any], stage: Stage) -> None:
    named = (
        "id orgId from dossierId channel direction to templateCode subject payloadJson status providerMessageId "
        "idempotencyKey attemptCount maxAttempts errorCode errorMessage nextRetryAt scheduledAt createdAt updatedAt "
        "sentAt deliveredAt readAt deferredBy"
    )
    properties = document["components"]["schemas"]["MessageView"]["properties"]
    assert set(named.split()) <= set(properties)
    answer = await stage.call("POST", MESSAGES, HELLO)
    assert set(msgspec.json.decode(answer.body)) == set(properties)
