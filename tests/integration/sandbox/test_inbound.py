"""Everything that a customer can send, as Meta posts it; who they are, bursts, and a new number."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.sandbox.conftest import NUMBER, OTHER_NUMBER, PHONE, Rig, broken_copies
from waypost.sandbox import SandboxLimits

pytestmark = pytest.mark.anyio

NEW_PHONE = "16505559999"
WAMID = "wamid.HBgL"
FILE = {"mime_type": "image/jpeg", "sha256": "c2hh", "id": "4"}
REFERRAL = {"source_url": "https://fb.me/1", "source_id": "1", "source_type": "ad", "ctwa_clid": "x"}


def interactive(kind: str, **reply: Any) -> dict[str, Any]:
    return {"type": "interactive", "interactive": {"type": kind, kind: reply}}


def system(kind: str, **more: Any) -> dict[str, Any]:
    return {"type": "system", "system": {"type": kind, "body": "User A changed", **more}}


def text(body: str = "hi", **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": {"body": body}, **more}


KINDS: dict[str, tuple[dict[str, Any], str | None]] = {
    "text": (text(), "hi"),
    "image": ({"type": "image", "image": {**FILE, "caption": "cat", "url": "https://x.test/1"}}, "cat"),
    "video": ({"type": "video", "video": FILE}, None),
    "audio": ({"type": "audio", "audio": {**FILE, "voice": True}}, None),
    "document": ({"type": "document", "document": {**FILE, "filename": "a.pdf", "caption": "bill"}}, "bill"),
    "sticker": ({"type": "sticker", "sticker": {**FILE, "animated": False}}, None),
    "location": ({"type": "location", "location": {"latitude": 1.5, "longitude": -2, "name": "Café"}}, "Café"),
    "contacts": ({"type": "contacts", "contacts": [{"name": {"formatted_name": "Bo"}, "origin": "other"}]}, None),
    "reaction": ({"type": "reaction", "reaction": {"message_id": WAMID, "emoji": "\U0001f62e"}}, "\U0001f62e"),
    "reaction taken back": ({"type": "reaction", "reaction": {"message_id": WAMID}}, None),
    "button": ({"type": "button", "button": {"payload": "P", "text": "Yes"}}, "Yes"),
    "button_reply": (interactive("button_reply", id="1", title="Yes"), "Yes"),
    "list_reply": (interactive("list_reply", id="1", title="Tea", description="green"), "Tea"),
    "nfm_reply": (interactive("nfm_reply", name="flow", body="Sent", response_json='{"a":1}'), "Sent"),
    "order": ({"type": "order", "order": {"catalog_id": "1", "text": "soon", "product_items": []}}, "soon"),
    "identity": ({**system("customer_identity_changed"), "identity": {"hash": "h"}}, "User A changed"),
    "edit": ({"type": "edit", "edit": {"original_message_id": WAMID, "message": text("new")}}, "new"),
    "revoke": ({"type": "revoke", "revoke": {"original_message_id": WAMID}}, None),
    "referral": (text(referral=REFERRAL), "hi"),
    "forwarded": (text(context={"forwarded": True}), "hi"),
    "request_welcome": ({"type": "request_welcome"}, None),
    "unknown": ({"type": "hologram", "hologram": {"depth": 3}, "beside": [1]}, None),
}


@pytest.mark.parametrize(("message", "words"), KINDS.values(), ids=KINDS)
async def test_every_kind_is_posted_as_it_was_said(rig: Rig, message: dict[str, Any], words: str | None) -> None:
    heard = await rig.control("POST", f"phones/{PHONE}/say", {"message": message})
    (value,) = (post.value for post in rig.receiver.posts)
    (contact,), (told,) = value["contacts"], value["messages"]
    envelope = {"from": PHONE, "from_user_id": contact["user_id"], "id": heard.json["wamid"], "timestamp": "1760000000"}
    assert told == {**envelope, **message}
    assert contact["wa_id"] == PHONE
    (shown,) = await rig.screen()
    assert (shown["from"], shown["type"], shown["text"]) == ("customer", message["type"], words)


@pytest.mark.parametrize("kind", ["user_changed_number", "user_changed_user_id", "customer_changed_number"])
async def test_a_notice_of_another_number_comes_without_contacts(rig: Rig, kind: str) -> None:
    message = system(kind, user_id="US.2", previous_user_id="US.1")
    await rig.control("POST", f"phones/{PHONE}/say", {"message": message})
    value = rig.receiver.posts[0].value
    assert "contacts" not in value
    assert "from_user_id" not in value["messages"][0]
    assert value["messages"][0]["system"] == message["system"]


async def test_an_answer_names_the_business_whose_message_it_quotes(rig: Rig) -> None:
    await rig.control("POST", f"phones/{PHONE}/say", {"message": text(context={"id": WAMID})})
    product = {"id": WAMID, "from": "1", "referred_product": {"catalog_id": "1"}}
    await rig.control("POST", f"phones/{PHONE}/say", {"message": text(context=product)})
    told = [post.value["messages"][0]["context"] for post in rig.receiver.posts]
    assert told == [{"from": NUMBER.display_phone_number, "id": WAMID}, product]


async def test_what_meta_cannot_tell_comes_with_its_error(rig: Rig) -> None:
    await rig.control(
        "POST", f"phones/{PHONE}/say", {"message": {"type": "unsupported", "unsupported": {"type": "pin"}}}
    )
    own = {"type": "unsupported", "errors": [{"code": 131060}]}
    await rig.control("POST", f"phones/{PHONE}/say", {"message": own})
    first, second = (post.value["messages"][0] for post in rig.receiver.posts)
    assert (first["errors"][0]["code"], first["unsupported"]) == (131051, {"type": "pin"})
    assert second["errors"] == [{"code": 131060}]


async def test_an_interactive_message_without_its_object_comes_with_an_error_beside_it(rig: Rig) -> None:
    await rig.control("POST", f"phones/{PHONE}/say", {"message": {"type": "interactive"}})
    value = rig.receiver.posts[0].value
    assert value["errors"][0]["error_data"] == {"details": "Unsupported webhook payload"}
    assert "interactive" not in value["messages"][0]


@pytest.mark.parametrize("kind", KINDS)
async def test_nothing_that_is_said_makes_the_sandbox_fall_over(rig: Rig, kind: str) -> None:
    for broken in broken_copies(KINDS[kind][0]):
        heard = await rig.control("POST", f"phones/{PHONE}/say", {"message": broken})
        assert heard.status == (200 if isinstance(broken.get("type"), str) else 400), broken
    assert all(isinstance(shown["text"], str | None) for shown in await rig.screen())


# Who they are


async def test_what_a_customer_goes_by_is_remembered(rig: Rig) -> None:
    await rig.control("POST", f"phones/{PHONE}/say", {"text": "1", "name": "Ann", "username": "ann.b"})
    await rig.control("POST", f"phones/{PHONE}/say", {"text": "2"})
    await rig.control("POST", f"phones/{PHONE}/say", {"text": "3", "username": "", "name": "Anna"})
    profiles = [post.value["contacts"][0]["profile"] for post in rig.receiver.posts]
    assert profiles == [{"name": "Ann", "username": "ann.b"}, {"name": "Ann", "username": "ann.b"}, {"name": "Anna"}]


async def test_a_phone_has_the_same_user_id_for_ever_and_no_other_has_it(rig: Rig) -> None:
    for phone in (PHONE, NEW_PHONE, PHONE):
        await rig.control("POST", f"phones/{phone}/say", {"text": "hi"})
    first, other, again = (post.value["contacts"][0]["user_id"] for post in rig.receiver.posts)
    assert first == again != other


async def test_who_hides_the_phone_is_known_by_the_user_id_alone(rig: Rig) -> None:
    await rig.control("POST", f"phones/{PHONE}/say", {"text": "hi", "hide_phone": True, "username": "ann"})
    await rig.control("POST", f"phones/{PHONE}/say", {"text": "still me"})
    for post in rig.receiver.posts:
        (contact,), (message,) = post.value["contacts"], post.value["messages"]
        assert contact == {"profile": {"name": "Sandbox 1234", "username": "ann"}, "user_id": message["from_user_id"]}
        assert "from" not in message
        assert PHONE.encode() not in post.body.replace(contact["user_id"].encode(), b"")
    assert [shown["text"] for shown in await rig.screen()] == ["hi", "still me"]
    await rig.control("POST", f"phones/{PHONE}/say", {"text": "here I am", "hide_phone": False})
    assert rig.receiver.posts[-1].value["messages"][0]["from"] == PHONE


async def test_an_answer_to_a_user_id_reaches_the_hidden_phone(rig: Rig) -> None:
    await rig.control("POST", f"phones/{PHONE}/say", {"text": "hi", "hide_phone": True, "username": "ann"})
    user_id = rig.receiver.posts[0].value["messages"][0]["from_user_id"]
    heard = await rig.send(to="", recipient=user_id)
    assert heard.json["contacts"] == [{"input": user_id, "user_id": user_id}]
    await rig.sandbox.settled()
    assert [shown["text"] for shown in await rig.screen()] == ["hi", "hello"]
    sent, delivered = (post.value for post in rig.receiver.posts[1:])
    assert "username" not in sent["contacts"][0]["profile"]
    assert delivered["contacts"] == [{"profile": {"name": "Sandbox 1234", "username": "ann"}, "user_id": user_id}]
    assert delivered["statuses"][0]["recipient_user_id"] == user_id
    assert "recipient_id" not in delivered["statuses"][0]
    assert [call["to"] for call in await rig.calls(PHONE)] == [user_id]


# Bursts


async def test_a_burst_is_posted_one_by_one_in_its_order(rig: Rig) -> None:
    heard = await rig.control("POST", f"phones/{PHONE}/say", {"texts": ["a", "b", "c"], "name": "Ann"})
    told = [post.value["messages"] for post in rig.receiver.posts]
    assert [[message["text"]["body"] for message in messages] for messages in told] == [["a"], ["b"], ["c"]]
    assert [message["id"] for (message,) in told] == heard.json["wamids"]
    assert [(shown["text"], shown["status"]) for shown in await rig.screen()] == [
        ("a", "delivered"),
        ("b", "delivered"),
        ("c", "delivered"),
    ]


async def test_a_burst_together_is_one_webhook_with_one_contact(rig: Rig) -> None:
    messages = [text("old", id="wamid.1"), {"type": "edit", "edit": {"original_message_id": "wamid.1"}}]
    heard = await rig.control("POST", f"phones/{PHONE}/say", {"messages": messages, "together": True})
    (post,) = rig.receiver.posts
    assert [message["id"] for message in post.value["messages"]] == heard.json["wamids"]
    assert heard.json["wamids"][0] == "wamid.1"
    assert len(post.value["contacts"]) == 1


async def test_a_burst_together_is_tried_again_as_a_whole(rig: Rig) -> None:
    rig.receiver.answers = [500]
    await rig.control("POST", f"phones/{PHONE}/say", {"texts": ["a", "b"], "together": True})
    await rig.sandbox.settled()
    assert [len(post.value["messages"]) for post in rig.receiver.posts] == [2, 2]


@pytest.mark.parametrize(
    "said",
    [
        {"texts": []},
        {"messages": []},
        {"texts": ["a"] * 1001},
        {"texts": ["a"], "messages": [text()]},
        {"texts": ["a"], "text": "b"},
        {"texts": ["a"], "file_base64": "AAAA", "mime_type": "image/png"},
        {"texts": [5]},
        {"messages": [{"text": {"body": "no type"}}]},
    ],
)
async def test_what_is_no_burst_is_explained_and_nothing_is_posted(rig: Rig, said: dict[str, Any]) -> None:
    heard = await rig.control("POST", f"phones/{PHONE}/say", said)
    assert heard.status == 400
    assert heard.json["error"]
    assert (rig.receiver.posts, await rig.screen()) == ([], [])


# A new number


async def test_a_new_number_is_told_by_a_notice_and_has_the_screen(rig: Rig) -> None:
    await rig.control("POST", f"phones/{PHONE}/say", {"text": "hi", "name": "Ann"})
    await rig.control("POST", f"phones/{NEW_PHONE}/say", {"text": "from before"})
    await rig.send()
    await rig.sandbox.settled()
    old, new = (post.value["contacts"][0]["user_id"] for post in rig.receiver.posts[:2])
    heard = await rig.control("POST", f"phones/{PHONE}/number", {"new_phone": f"+{NEW_PHONE}"})
    value = rig.receiver.posts[-1].value
    assert "contacts" not in value
    assert value["messages"] == [
        {
            "from": PHONE,
            "id": heard.json["wamid"],
            "timestamp": str(rig.clock.now() // 1_000_000),
            "type": "system",
            "system": {
                "type": "user_changed_number",
                "body": f"User Ann changed from {PHONE} to {NEW_PHONE}",
                "wa_id": NEW_PHONE,
                "user_id": new,
                "previous_user_id": old,
            },
        }
    ]
    assert heard.json == {"wamid": heard.json["wamid"], "phone": NEW_PHONE, "user_id": new}
    assert await rig.screen(PHONE) == []
    assert [shown["text"] for shown in await rig.screen(NEW_PHONE)] == ["hi", "from before", "hello"]
    await rig.control("POST", f"phones/{NEW_PHONE}/say", {"text": "me again"})
    assert rig.receiver.posts[-1].value["contacts"][0]["profile"] == {"name": "Ann"}


async def test_a_hidden_phone_changes_its_user_id_only(rig: Rig) -> None:
    await rig.control("POST", f"phones/{PHONE}/say", {"text": "hi", "hide_phone": True})
    await rig.control("POST", f"phones/{PHONE}/number", {"new_phone": NEW_PHONE})
    (message,) = rig.receiver.posts[-1].value["messages"]
    assert message["system"]["type"] == "user_changed_user_id"
    assert not {"from", "from_user_id"} & message.keys()
    assert "wa_id" not in message["system"]
    assert message["system"]["previous_user_id"] == rig.receiver.posts[0].value["contacts"][0]["user_id"]
    await rig.control("POST", f"phones/{NEW_PHONE}/say", {"text": "still hidden"})
    assert rig.receiver.posts[-1].value["messages"][0]["from_user_id"] == message["system"]["user_id"]
    assert "from" not in rig.receiver.posts[-1].value["messages"][0]


async def test_what_moved_is_forgotten_and_read_as_everything_else() -> None:
    small = Rig(keep=SandboxLimits(message_bytes=4096))
    for number in range(3):
        await small.control("POST", f"phones/{PHONE}/say", {"text": str(number)})
    await small.control("POST", f"phones/{PHONE}/number", {"new_phone": NEW_PHONE})
    await small.send(to=NEW_PHONE)
    await small.sandbox.settled()
    assert [shown["text"] for shown in await small.screen(NEW_PHONE)] == ["1", "2", "hello"]
    assert (await small.control("POST", f"phones/{NEW_PHONE}/read")).json == {"read": 1}
    await small.sandbox.close()


@pytest.mark.parametrize("moved", [{}, {"new_phone": "Ann"}, {"new_phone": PHONE}, {"new_phone": NEW_PHONE, "x": 1}])
async def test_what_is_no_new_number_is_explained(rig: Rig, moved: dict[str, Any]) -> None:
    heard = await rig.control("POST", f"phones/{PHONE}/number", moved)
    assert heard.status == 400
    assert rig.receiver.posts == []


async def test_a_new_number_is_told_to_the_business_that_is_named(rig: Rig) -> None:
    moved = {"new_phone": NEW_PHONE, "phone_number_id": OTHER_NUMBER.phone_number_id}
    assert (await rig.control("POST", f"phones/{PHONE}/number", moved)).status == 200
    assert [post.url for post in rig.receiver.posts] == [OTHER_NUMBER.webhook_url]
    assert (await rig.control("POST", f"phones/{PHONE}/number", {**moved, "phone_number_id": "1"})).status == 404


async def test_a_notice_opens_no_window() -> None:
    strict = Rig(enforce_window=True)
    await strict.control("POST", f"phones/{PHONE}/say", {"message": system("customer_identity_changed")})
    await strict.send()
    await strict.sandbox.settled()
    assert strict.receiver.statuses() == ["failed"]
    await strict.sandbox.close()
