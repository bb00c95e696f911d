"""No secret is logged, stored in the clear, or usable in another org's place."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
import structlog

from tests.integration.stage.database import Database
from tests.integration.stage.harness import HELLO, MESSAGES, ON_SQLITE, Stage
from tests.integration.stage.webhooks import a_number, status_post
from waypost.model.time import minutes
from waypost.ports.platform.failure import Unavailable
from waypost.runtime.process import server, uvicorn_runner
from waypost.runtime.telemetry.logs import configure_logs


async def make_secrets(stage: Stage) -> list[str]:
    """Everything that may be shown once or never."""
    second = a_number("1002", token="EAAverysecret", app_secret="hush-app", verify_token="hush-verify")
    connected = {name: getattr(second, name) for name in stage.acme.as_connected}
    assert (await stage.call("POST", "/api/v1/numbers", connected)).status == 201
    rotated = {"token": "EAArotated", "app_secret": "rotated-app", "verify_token": "rotated-verify"}
    assert (await stage.call("PATCH", "/api/v1/numbers/1002", rotated)).status == 200
    key = (await stage.call("POST", "/api/v1/keys", {"role": "sender"})).json["key"]
    user = (await stage.call("POST", "/api/v1/users", {"name": "Ada"})).json
    token = (await stage.call("POST", f"/api/v1/users/{user['user_id']}/token")).json["token"]
    own = [stage.acme.key, stage.acme.number.token, stage.acme.number.app_secret, stage.acme.number.verify_token]
    return [*own, second.token, second.app_secret, second.verify_token, *rotated.values(), key, user["token"], token]


async def at_rest(database: Database) -> bytes:
    """Every byte that the database keeps."""
    if database.kind == "sqlite":
        files = sorted(database.path.parent.glob(database.path.name + "*"))
        assert len(files) >= 2, "the file and its log"
        return b"".join(file.read_bytes() for file in files)
    tables = await database.run("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    rows = [await database.run(f"SELECT * FROM {table}") for (table,) in tables]
    return b"".join(
        value if isinstance(value, bytes) else str(value).encode() for table in rows for row in table for value in row
    )


@pytest.mark.may_block("it reads the database's own files")
async def test_keys_are_hashed_and_secrets_encrypted_at_rest(stage: Stage) -> None:
    hidden = await make_secrets(stage)
    posted = await stage.send()
    await stage.becomes(posted["id"], "DELIVERED")
    kept = await at_rest(stage.database)
    assert b"hello" in kept, "the reading finds what is there"
    assert [secret for secret in hidden if secret.encode() in kept] == []
    sealed = await stage.database.run("SELECT sealed_token, sealed_app_secret, sealed_verify_token FROM number")
    assert len({bytes(box) for row in sealed for box in row}) == 9, "each is sealed for itself"


async def test_a_sealed_secret_cannot_be_passed_off_as_another(stage: Stage) -> None:
    """An org with write access to the database would still not get another's token used for its own number."""
    await stage.database.run(
        "UPDATE number SET sealed_token = (SELECT sealed_token FROM number WHERE id = '1001') WHERE id = '2001'"
    )
    stage.world.numbers.invalidate()
    answer = await stage.call("POST", MESSAGES, HELLO, key=stage.globex.key)
    assert (answer.status, answer.code) == (404, "unknown_number")
    assert stage.sandbox.calls.listed() == []


@pytest.fixture
def logs(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Loggers that were never used, so that they write to where this test reads."""
    for module in (server, uvicorn_runner):
        monkeypatch.setattr(module, "log", structlog.get_logger("server"))
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    structlog.reset_defaults()
    root.handlers[:], root.level = handlers, level  # else a later test that logs an error would block its loop


@pytest.mark.may_block("the log is written where pytest reads it")
@ON_SQLITE
async def test_nothing_secret_is_logged(stage: Stage, logs: None, capfd: pytest.CaptureFixture[str]) -> None:
    configure_logs("debug", "json")
    uvicorn_runner.log_unhandled_errors()
    hidden = await make_secrets(stage)
    await stage.fault(error_code=190, times=1)
    await stage.fault(drop_response=True, times=1)
    answers = [await stage.call("POST", MESSAGES, HELLO) for _ in range(3)]
    await stage.becomes(answers[0].json["id"], "QUEUED", errorCode="190")  # behind the hold of its number
    answers.append(await stage.call("POST", "/api/v1/numbers", stage.acme.as_connected))
    answers.append(await stage.call("POST", "/api/v1/numbers", stage.acme.as_connected | {"extra": 1}))
    answers.append(await stage.call("PATCH", "/api/v1/numbers/1001", {"token": "EAA-bad\n"}))
    answers.append(await stage.post(status_post(stage.acme), signed="sha256=00"))
    answers.append(await stage.call("GET", "/api/v1/webhooks/whatsapp/inbound?hub.verify_token=x", key=""))
    context: dict[str, Any] = {"message": "made by the test", "exception": _with_secrets(stage)}
    asyncio.get_running_loop().call_exception_handler(context)
    out, err = capfd.readouterr()
    assert "made by the test" in out + err, "the reading finds what is there"
    written = out + err + json.dumps([answer.body.decode() for answer in answers])
    assert [secret for secret in hidden if secret in written] == []


def _with_secrets(stage: Stage) -> Exception:
    """A failure in the middle of things that hold secrets."""
    connected = stage.world.numbers.known(stage.acme.number.phone_number_id)  # type: ignore[arg-type]  # a plain text
    assert connected is not None
    try:
        raise LookupError(f"{connected} {connected.sender}")
    except LookupError as error:
        return error


async def test_a_rotated_key_works_beside_the_old_one_until_the_grace_is_over(stage: Stage) -> None:
    old = (await stage.call("POST", "/api/v1/keys", {"role": "readonly", "label": "dashboard"})).json
    new = await stage.call("POST", f"/api/v1/keys/{old['key_id']}/rotate", {"grace_minutes": 5})
    assert (new.status, new.json["role"], new.json["label"]) == (201, "readonly", "dashboard")
    for key in (old["key"], new.json["key"]):
        assert (await stage.call("GET", "/api/v1/outbound/quota", key=key)).status == 200
    stage.manual.advance(minutes(5))
    assert (await stage.call("GET", "/api/v1/outbound/quota", key=old["key"])).status == 401
    assert (await stage.call("GET", "/api/v1/outbound/quota", key=new.json["key"])).status == 200
    assert (await stage.call("POST", "/api/v1/keys/key_unknown/rotate", {})).status == 404
    (shown,) = [key for key in await stage.get("/api/v1/keys") if key["key_id"] == new.json["key_id"]]
    assert new.json == {**shown, "key": new.json["key"]}


@ON_SQLITE
@pytest.mark.parametrize(("write", "read"), [("renew_token", "users"), ("revoke_key", "keys")])
async def test_a_new_secret_is_shown_though_the_database_goes_away_right_after(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, write: str, read: str
) -> None:
    user = (await stage.call("POST", "/api/v1/users", {"name": "Ada"})).json
    key = (await stage.call("POST", "/api/v1/keys", {"role": "readonly"})).json
    accounts = stage.world.ledger.accounts
    written = getattr(accounts, write)

    async def away(*_: Any) -> None:
        raise Unavailable("it went away")

    async def writes_once(*arguments: Any) -> Any:
        done = await written(*arguments)
        monkeypatch.setattr(accounts, read, away)
        return done

    monkeypatch.setattr(accounts, write, writes_once)
    renewing = {"users": f"/api/v1/users/{user['user_id']}/token", "keys": f"/api/v1/keys/{key['key_id']}/rotate"}
    answer = await stage.call("POST", renewing[read], {} if read == "keys" else None)
    assert answer.status in (200, 201), answer
    shown = answer.json["token" if read == "users" else "key"]
    assert (await stage.call("GET", "/api/v1/outbound/quota", key=shown)).status == 200
