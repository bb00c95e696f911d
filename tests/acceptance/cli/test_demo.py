"""The demo as a newcomer meets it: one command, one curl, and the message's whole life."""

from __future__ import annotations

import asyncio
import json

import pytest

from tests.acceptance.conftest import Place
from tests.acceptance.stage.clients import clients
from tests.acceptance.stage.harness import Site, until
from tests.acceptance.stage.laptop import bare, demo, first_line, start

FIELDS = [
    "url",
    "sandbox_url",
    "org_id",
    "api_key",
    "user_id",
    "user_token",
    "phone_number_id",
    "waba_id",
    "access_token",
    "app_secret",
    "verify_token",
    "login_url",
]
SECRETS = ("api_key", "user_token", "access_token", "app_secret", "verify_token")
HELLO = {"to": "+15550001111", "payloadJson": {"text": "Hello"}}
PHONE = "15550001111"


@pytest.fixture
def laptop(place: Place) -> Site:
    """Nothing is set: the demo makes what it needs. Only the bot's answer to Ada would come in the middle of a test."""
    here = bare(place("sqlite"))
    here.settings["WAYPOST_TURN_QUIET_SEC"] = "60"
    return here


def local(here: Site) -> dict[str, str]:
    """How the other commands find the demo's database."""
    return {"WAYPOST_ENV": "local", "WAYPOST_DATABASE_URL": f"sqlite:///{here.folder / 'data' / 'waypost.db'}"}


async def test_a_message_is_delivered_read_and_explained(laptop: Site) -> None:
    async with demo(laptop) as (facts, api, sandbox):
        assert list(facts) == FIELDS
        assert all(facts.values())
        assert (facts["url"], facts["sandbox_url"]) == (laptop.url, laptop.sandbox_url)
        posted = await api.post(HELLO)
        assert (posted.status, posted.body["status"]) == (201, "QUEUED")
        message = posted.body["id"]
        delivered = await api.settled(message)
        assert delivered["readAt"] is None
        await sandbox.arrived(PHONE)
        await sandbox.read(PHONE)

        async def is_read() -> bool:
            return (await api.message(message))["readAt"] is not None

        await until(is_read, "the phone's reading is known")
        shown = [(line["from"], line["text"], line["status"]) for line in await sandbox.screen(PHONE)]
        assert shown == [("customer", "Where is my order?", "delivered"), ("business", "Hello", "read")]
        told = laptop.run("why", str(message), **local(laptop))
    assert told.code == 0
    head, *lines = told.out.splitlines()
    assert head == f"Message {message} of org demo, DELIVERED: read by the recipient"
    kinds = [line.split()[2] for line in lines if line.startswith("20")]
    assert [kind for kind in kinds if kind != "status"] == ["submitted", "claimed", "accepted"]
    assert kinds.count("status") == 3
    assert "wamid." in told.out


async def test_its_link_signs_in_once(laptop: Site) -> None:
    async with demo(laptop) as (facts, api, _):
        address, _, code = facts["login_url"].partition("#sign-in=")
        assert address == facts["url"] + "/"
        first = await api.ask("POST", "/api/v1/session", {"code": code})
        assert (first.status, first.body["user_id"]) == (200, facts["user_id"])
        assert (await api.ask("POST", "/api/v1/session", {"code": code})).status == 401


async def test_a_wait_is_answered_at_once_in_local_mode(laptop: Site) -> None:
    async with demo(laptop) as (_, api, sandbox):
        await sandbox.fault(delay_ms=5000)
        answer = await api.post(HELLO, "?wait=delivered")
        assert (answer.status, answer.body["status"]) == (201, "QUEUED")
        await sandbox.clear_faults()


async def test_a_restart_in_the_same_folder_keeps_keys_and_messages(laptop: Site) -> None:
    async with demo(laptop) as (before, api, _):
        message = (await api.post(HELLO)).body["id"]
        await api.settled(message)
    async with demo(laptop) as (after, api, sandbox):
        assert after.pop("login_url") != before.pop("login_url"), "each start has a link of its own"
        assert after == before
        assert (await api.message(message))["status"] == "DELIVERED"
        second = (await api.post(HELLO)).body["id"]
        assert second > message
        await api.settled(second)
        assert len(await sandbox.screen(PHONE)) == 2, "the phones of the sandbox are new, the ledger is not"


async def test_a_demo_whose_person_was_removed_has_a_new_one(laptop: Site) -> None:
    async with demo(laptop) as (before, api, _):
        removed = await api.ask("DELETE", f"/api/v1/users/{before['user_id']}")
        assert removed.status == 204, removed
    async with demo(laptop) as (after, api, _):
        assert after["api_key"] == before["api_key"]
        people = await api.get("/api/v1/users")
        assert [person["user_id"] for person in people] == [after["user_id"]] != [before["user_id"]]


async def test_what_holds_a_key_is_for_its_owner_only(laptop: Site) -> None:
    async with demo(laptop):
        modes = {file.name: file.stat().st_mode & 0o777 for file in (laptop.folder / "data").iterdir()}
    assert modes["demo.json"] == 0o600
    assert modes["waypost.key"] == 0o600


async def test_the_demo_migrates_a_postgresql_that_it_is_given(place: Place) -> None:
    here = place("postgres")
    async with demo(here) as (facts, api, _):
        message = (await api.post(HELLO)).body["id"]
        await api.settled(message)
    async with demo(here) as (again, api, _):
        assert again | {"login_url": ""} == facts | {"login_url": ""}
        assert (await api.message(message))["status"] == "DELIVERED"


async def test_free_ports_are_taken_when_asked(laptop: Site) -> None:
    running = laptop.start("demo", "--json", "--port", "0", "--sandbox-port", "0", "--data", "data")
    facts = await first_line(running)
    async with clients(laptop_at(laptop, facts), api_key=facts["api_key"]) as (api, _):
        await api.settled((await api.post(HELLO)).body["id"])


def laptop_at(here: Site, facts: dict[str, str]) -> Site:
    here.port, here.sandbox_port = (int(facts[name].rpartition(":")[2]) for name in ("url", "sandbox_url"))
    return here


async def test_a_person_is_shown_a_command_that_works(laptop: Site) -> None:
    running = start(laptop)

    async def shown() -> bool:
        return "Ctrl-C" in running.output

    await until(shown, "the demo says what to do")
    assert "Every key is in data/demo.json." in running.output
    assert (laptop.folder / "data" / "demo.json").exists()
    assert "Customers are answered by the bot echo.\nThe database is data/waypost.db.\n" in running.output
    command = running.output.partition("Send a message:")[2].partition("See it on the phone")[0]
    sent = await asyncio.create_subprocess_shell(command, stdout=asyncio.subprocess.PIPE)
    answer = json.loads((await sent.communicate())[0])
    async with clients(laptop) as (_, sandbox):

        async def on_the_phone() -> bool:
            return [shown["text"] for shown in await sandbox.screen(PHONE)][1:] == ["Hello"]

        await until(on_the_phone, "the message is on the phone")
    assert answer["status"] == "QUEUED"


async def test_the_doctor_is_content_with_a_demo_that_runs_and_says_what_is_wrong_with_one_that_does_not(
    laptop: Site,
) -> None:
    async with demo(laptop) as (facts, _, _):
        well = laptop.run("doctor", **local(laptop))
        assert well.code == 0, well.out
        assert "wrong" not in well.out
        assert "bot: none in these settings" in well.out, "the demo has one"
        assert "bot: echo, by these settings" in laptop.run("doctor", **local(laptop), WAYPOST_BOT="echo").out
        assert f"number {facts['phone_number_id']}: the provider knows it" in well.out
    ill = laptop.run("doctor", **local(laptop))
    assert ill.code == 1
    assert "the provider does not answer" in ill.out
    assert "→ is http" in ill.out
    sealed = laptop.run("doctor", **local(laptop), WAYPOST_SECRET_KEY="another")
    assert sealed.code == 1
    assert "its secrets cannot be opened" in sealed.out
    assert "WAYPOST_SECRET_KEY it was encrypted with" in sealed.out


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, "there is no org yet"),
        ({"WAYPOST_SECRET_KEY": ""}, "WAYPOST_SECRET_KEY is not set"),
        ({"WAYPOST_OUTBOUND_JITTER": "9"}, "WAYPOST_OUTBOUND_JITTER cannot be"),
        ({"WAYPOST_DATABASE_URL": "postgresql://me:hush@127.0.0.1:1/x"}, "PostgreSQL cannot be reached"),
        ({"WAYPOST_DATABASE_URL": "me:hush@127.0.0.1"}, "must start with sqlite:/// or postgresql://"),
    ],
)
def test_the_doctor_names_what_is_wrong_and_what_to_do(place: Place, settings: dict[str, str], said: str) -> None:
    here = place("sqlite")
    here.run("migrate")
    ran = here.run("doctor", **settings)
    assert ran.code == 1
    assert said in ran.out
    assert "→" in ran.out
    assert "Traceback" not in ran.err
    assert "hush" not in ran.out + ran.err


def test_the_doctor_makes_no_database(place: Place) -> None:
    here = place("sqlite")
    ran = here.run("doctor")
    assert ran.code == 1
    assert "there is no database at" in ran.out
    assert not (here.folder / "waypost.db").exists()


async def test_no_secret_is_in_a_log_an_answer_or_an_explanation(laptop: Site) -> None:
    """Also when things go wrong: refused calls, cut answers, wrong signatures, a bad key."""
    async with demo(laptop, WAYPOST_LOG_LEVEL="debug", WAYPOST_LOG_FORMAT="text") as (facts, api, sandbox):
        secrets = {name: facts[name] for name in SECRETS}
        secrets["seal"] = (laptop.folder / "data" / "waypost.key").read_text().strip()
        await sandbox.fault(times=1, error_code=131016)
        await sandbox.fault(times=1, raw_status=502)
        await sandbox.fault(times=1, drop_response=True)
        ids = [(await api.post({**HELLO, "maxAttempts": 0})).body["id"] for _ in range(4)]
        await api.settled(ids[-1])
        outbound = ["messages?limit=9", *(f"messages/{i}/attempts" for i in ids), *(f"messages/{i}" for i in ids)]
        paths = [f"/api/v1/outbound/{path}" for path in outbound]
        paths += ["/api/v1/numbers", "/api/v1/keys", "/api/v1/users", "/metrics", "/readyz"]
        seen = [str(await api.get(path)) for path in paths]
        door = await api.ask("POST", "/api/v1/webhooks/whatsapp/inbound", {"object": "x"}, authorization="Bearer no")
        unknown = await api.ask("GET", "/api/v1/numbers", authorization=f"Bearer {secrets['user_token']}x")
        assert (door.status // 100, unknown.status) == (4, 401)
        seen += [str(door), str(unknown)]
        for command in (["why", str(ids[0])], ["doctor"], ["admin", "numbers", "demo"], ["admin", "keys", "demo"]):
            ran = laptop.run(*command, **local(laptop))
            assert ran.code == 0, ran
            seen += [ran.out, ran.err]
    first, _, log = laptop.logs().partition("\n")
    assert secrets["api_key"] in first
    assert "[warning" in log
    assert "\x1b" not in log, "colours are for a terminal"
    found = [name for name, secret in secrets.items() for text in [log, *seen] if secret in text]
    assert not found
    everything = b"".join(file.read_bytes() for file in (laptop.folder / "data").glob("waypost.db*"))
    assert not [name for name, secret in secrets.items() if secret.encode() in everything], "sealed or hashed at rest"
