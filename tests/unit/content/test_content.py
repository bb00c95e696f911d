"""Every type of message: what may be queued, what is wrong with the rest, and that the sandbox agrees with both."""

from __future__ import annotations

import copy
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from waypost.rules.content import content, payload
from waypost.sandbox.content.message_checks import wrong_receipt
from waypost.sandbox.content.message_types import wrong_content, wrong_envelope

Json = dict[str, Any]


def message(kind: str, inner: object) -> Json:
    return {"type": kind, kind: inner}


def interactive(kind: str, action: object, **more: object) -> Json:
    return message("interactive", {"type": kind, "body": {"text": "Well?"}, "action": action, **more})


def button(number: int, title: str = "Yes") -> Json:
    return {"type": "reply", "reply": {"id": f"{number}", "title": title}}


def rows(*numbers: int) -> list[Json]:
    return [{"id": f"{number}", "title": "Row"} for number in numbers]


FLOW = {"flow_message_version": "3", "flow_id": "1", "flow_cta": "Book", "mode": "draft", "flow_action": "navigate"}
LINK = {"display_text": "Open", "url": "https://example.com/a b"}
GOOD: dict[str, Json] = {
    "text": message("text", {"body": "x" * 4096, "preview_url": True}),
    "image": message("image", {"link": "http://example.com/a.png", "caption": "x" * 1024}),
    "video": message("video", {"id": "1", "caption": ""}),
    "audio": message("audio", {"id": "1", "voice": True}),
    "document": message("document", {"link": "https://example.com/a", "filename": "a.pdf"}),
    "sticker": message("sticker", {"id": "1"}),
    "location": message("location", {"latitude": -90, "longitude": "180.0", "name": "Pole", "address": "None"}),
    "contacts": message("contacts", [{"name": {"formatted_name": "Ada L", "first_name": "Ada"}, "phones": [{}]}]),
    "reaction": message("reaction", {"message_id": "wamid.1", "emoji": "👍"}),
    "no reaction": message("reaction", {"message_id": "wamid.1", "emoji": ""}),
    "template": message("template", {"name": "hello", "language": {"code": "en"}, "components": [{}]}),
    "buttons": interactive("button", {"buttons": [button(1), button(2), button(3, "x" * 20)]}, footer={"text": "."}),
    "picture": interactive("button", {"buttons": [button(1)]}, header={"type": "image", "image": {"id": "1"}}),
    "heading": interactive("button", {"buttons": [button(1)]}, header={"type": "text", "text": "x" * 60}),
    "list": interactive("list", {"button": "Choose", "sections": [{"rows": rows(*range(10))}]}),
    "sections": interactive(
        "list", {"button": "Choose", "sections": [{"title": "A", "rows": rows(1)}, {"title": "B", "rows": rows(2)}]}
    ),
    "cta_url": interactive("cta_url", {"name": "cta_url", "parameters": LINK}),
    "flow": interactive("flow", {"name": "flow", "parameters": FLOW}),
    "location request": interactive("location_request_message", {"name": "send_location"}),
    "contact request": interactive("request_contact_info", {"name": "request_contact_info"}),
    "answer": {"type": "text", "text": {"body": "x"}, "context": {"message_id": "wamid.1"}},
    "product": interactive("product", {"catalog_id": "1", "product_retailer_id": "2"}),
}

WRONG: list[tuple[str, str, object, str]] = [
    ("text", "text.body", 5, "not empty"),
    ("text", "text.preview_url", "yes", "true or false"),
    ("text", "text.preview_url", 1, "true or false"),
    ("image", "image.caption", "x" * 1025, "at most 1024 characters"),
    ("image", "image.caption", 5, "must be a text, not a number"),
    ("image", "image.link", "ftp://example.com", "http or https"),
    ("image", "image.link", "https://", "http or https"),
    ("image", "image.link", "javascript:alert(1)", "http or https"),
    ("image", "image.link", True, "must be a text, not true or false"),
    ("video", "video.id", 5, "must be a text, not a number"),
    ("video", "video.id", "", "must not be empty"),
    ("audio", "audio.voice", "true", "true or false"),
    ("document", "document.filename", ["a"], "must be a text, not a list"),
    ("location", "location.latitude", 90.1, "from -90 to 90"),
    ("location", "location.longitude", "-181", "from -180 to 180"),
    ("location", "location.latitude", "north", "invalid format"),
    ("location", "location.latitude", True, "must be"),
    ("location", "location.latitude", 10**400, "out of range"),
    ("location", "location.name", 5, "must be a text"),
    ("contacts", "contacts", [], "must not be empty"),
    ("contacts", "contacts[0].name.formatted_name", "", "must not be empty"),
    ("contacts", "contacts[0].phones", {}, "must be a list"),
    ("reaction", "reaction.message_id", "", "must not be empty"),
    ("reaction", "reaction.emoji", None, "must be a text, not null"),
    ("template", "template.language", "en", "must be an object"),
    ("template", "template.name", "x" * 513, "at most 512"),
    ("template", "template.components", {}, "must be a list"),
    ("buttons", "interactive.type", 5, "is required"),
    ("buttons", "interactive.body.text", "x" * 1025, "at most 1024"),
    ("buttons", "interactive.footer.text", "x" * 61, "at most 60"),
    ("buttons", "interactive.action.buttons", [button(n) for n in range(4)], "at most 3 items"),
    ("buttons", "interactive.action.buttons[2].reply.title", "x" * 21, "at most 20"),
    ("buttons", "interactive.action.buttons[0].reply.id", "x" * 257, "at most 256"),
    ("buttons", "interactive.action.buttons[1].type", "url", "must be reply"),
    ("buttons", "interactive.action.buttons[2].reply.id", "1", "must differ from payloadJson.interactive"),
    ("heading", "interactive.header.text", "x" * 61, "at most 60"),
    ("heading", "interactive.header.type", "audio", "must be text or image or video or document or gif"),
    ("picture", "interactive.header.image.link", "gopher://x", "http or https"),
    ("list", "interactive.body.text", "x" * 4097, "at most 4096"),
    ("list", "interactive.action.button", "x" * 21, "at most 20"),
    ("list", "interactive.action.sections[0].rows[9].title", "x" * 25, "at most 24"),
    ("list", "interactive.action.sections[0].rows[3].description", "x" * 73, "at most 72"),
    ("list", "interactive.action.sections[0].rows[4].id", "x" * 201, "at most 200"),
    ("list", "interactive.action.sections[0].rows[4].id", "0", "must differ"),
    ("sections", "interactive.action.sections[1].title", "", "several sections"),
    ("cta_url", "interactive.action.parameters.display_text", "x" * 21, "at most 20"),
    ("cta_url", "interactive.action.parameters.url", "example.com", "http or https"),
    ("cta_url", "interactive.action.name", "url", "must be cta_url"),
    ("flow", "interactive.action.parameters.flow_message_version", "2", "must be 3"),
    ("flow", "interactive.action.parameters.mode", "live", "draft or published"),
    ("location request", "interactive.action.name", "x", "must be send_location"),
    ("answer", "context", "wamid.1", "must be an object"),
    ("answer", "context.message_id", "", "must not be empty"),
]  # fmt: skip
MISSING = [
    ("text", "text.body"), ("location", "location.longitude"), ("contacts", "contacts[0].name"),
    ("reaction", "reaction.emoji"), ("template", "template.language"), ("buttons", "interactive.type"),
    ("buttons", "interactive.body"), ("buttons", "interactive.action"),
    ("buttons", "interactive.action.buttons[1].reply.title"), ("list", "interactive.action.button"),
    ("list", "interactive.action.sections[0].rows"), ("cta_url", "interactive.action.parameters.url"),
    ("flow", "interactive.action.parameters.flow_cta"), ("heading", "interactive.header.text"),
    ("picture", "interactive.header.image"), ("answer", "context.message_id"),
]  # fmt: skip
TOO_MANY_ROWS = [{"title": "A", "rows": rows(*range(6))}, {"title": "B", "rows": rows(*range(6, 11))}]
AT_ODDS = [
    (message("image", {}), "image", "an id or a link"),
    (message("sticker", {"id": "1", "link": "http://x"}), "image or sticker", "not both"),
    (interactive("button", {"buttons": [button(1)]}, header={"type": "video", "video": {}}), "header", "id or a link"),
    (interactive("flow", {"name": "flow", "parameters": FLOW | {"flow_name": "x"}}), "flow", "flow_id or a flow_name"),
    (message("contacts", [{"name": {"formatted_name": "Ada"}}]), "contacts", "beside formatted_name"),
    (interactive("list", {"button": "B", "sections": TOO_MANY_ROWS}), "rows", "11 rows"),
]  # fmt: skip


def holder(whole: Json, path: str) -> tuple[Any, Any]:
    """The object that holds the last step of a path, and that step."""
    steps: list[Any] = []
    for part in path.split("."):
        name, *indexes = part.replace("]", "").split("[")
        steps += [name, *map(int, indexes)]
    found: Any = whole
    for step in steps[:-1]:
        found = found[step]
    return found, steps[-1]


class TestContent:
    @pytest.mark.parametrize("what", GOOD)
    def test_what_the_provider_takes_is_taken(self, what: str) -> None:
        assert payload.check(GOOD[what], None) is None
        assert wrong_in_sandbox(GOOD[what]) is None

    @pytest.mark.parametrize(("what", "path", "value", "reason"), WRONG)
    def test_a_wrong_value_is_named_with_what_is_wrong(self, what: str, path: str, value: object, reason: str) -> None:
        changed = copy.deepcopy(GOOD[what])
        inside, step = holder(changed, path)
        inside[step] = value
        invalid = payload.check(changed, None)
        assert invalid is not None
        assert invalid.field == f"payloadJson.{path}"
        assert reason in invalid.reason

    @pytest.mark.parametrize(("what", "path"), MISSING)
    def test_what_is_missing_is_named(self, what: str, path: str) -> None:
        changed = copy.deepcopy(GOOD[what])
        inside, step = holder(changed, path)
        del inside[step]
        invalid = payload.check(changed, None)
        assert invalid is not None
        assert invalid.field == f"payloadJson.{path}"

    @pytest.mark.parametrize(("wrong", "_", "reason"), AT_ODDS)
    def test_what_does_not_fit_together_is_told(self, wrong: Json, _: str, reason: str) -> None:
        invalid = payload.check(wrong, None)
        assert invalid is not None
        assert reason in invalid.reason

    @pytest.mark.parametrize("what", GOOD)
    def test_fields_that_we_do_not_know_are_kept(self, what: str) -> None:
        extended = copy.deepcopy(GOOD[what])
        inner = extended[extended["type"]]
        (inner[0] if isinstance(inner, list) else inner)["new_in_2031"] = {"deep": [1]}
        assert payload.check(extended, None) is None

    def test_types_that_we_do_not_know_are_taken_as_they_are(self) -> None:
        for unknown in (message("poll", {"options": 5}), message("poll", 5), interactive("carousel", 7)):
            assert payload.check(unknown, None) is None

    def test_a_read_receipt_is_no_message(self) -> None:
        for name in ("status", "typing_indicator"):
            invalid = payload.check(GOOD["text"] | {name: "read"}, None)
            assert invalid is not None
            assert invalid.field == f"payloadJson.{name}"

    def test_a_long_wrong_value_is_not_sent_back_whole(self) -> None:
        invalid = payload.check(interactive("button", {"buttons": [{"type": "x" * 9000, "reply": {}}]}), None)
        assert invalid is not None
        assert len(invalid.field + invalid.reason) < 400

    def test_the_body_of_a_read_receipt(self) -> None:
        read, typing = (msgspec.json.decode(content.mark_read("wamid.1", typing=flag)) for flag in (False, True))
        assert read == {"messaging_product": "whatsapp", "status": "read", "message_id": "wamid.1"}
        assert typing == read | {"typing_indicator": {"type": "text"}}
        assert wrong_receipt(read) is None
        assert wrong_receipt(typing) is None


def wrong_in_sandbox(whole: Json) -> object:
    return wrong_envelope({"messaging_product": "whatsapp"} | whole) or wrong_content(whole["type"], whole)


JSON: SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec=None), max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
KINDS = [good["type"] for good in GOOD.values()]


@st.composite
def tampered(draw: st.DrawFn) -> Json:
    """A valid message with one or two changed values."""
    whole = copy.deepcopy(draw(st.sampled_from(list(GOOD.values()))))
    for _ in range(draw(st.integers(1, 2))):
        inside: Any = whole
        while True:
            step = draw(st.sampled_from(list(inside) if isinstance(inside, dict) else range(len(inside))))
            if not isinstance(inside[step], dict | list) or not inside[step] or draw(st.booleans()):
                break
            inside = inside[step]
        inside[step] = draw(JSON)
    return whole


@given(JSON | tampered() | st.builds(message, st.sampled_from(KINDS), JSON), st.sampled_from([None, "hello_world"]))
@settings(max_examples=500)
def test_the_check_never_raises(anything: Any, template: str | None) -> None:
    found = payload.check(anything, template)
    assert found is None or (found.field.startswith("payloadJson") and found.reason)


def texts(most: int) -> SearchStrategy[Any]:
    return st.sampled_from(["x", "x" * most, "ä" * most, "x" * (most + 1), ""])


def either(*values: Any) -> SearchStrategy[Any]:
    return st.sampled_from(values)


def some(required: Json, **optional: SearchStrategy[Any]) -> SearchStrategy[Json]:
    return st.fixed_dictionaries(required, optional=optional)


LINKS = either("https://example.com/a.png", "http://x", "ftp://x", "example.com", "")
SOURCE = {"id": either("1", "", 5), "link": LINKS}
DEGREES = either(0, -90, 90.0, 90.5, 180, -180.5, "12.5", "x", "", True)
MEDIA = some({}, **SOURCE)
REPLY = some({"id": texts(256) | either("1", "2", "3"), "title": texts(20)})
ROW = some({"id": either("1", "2", "3", "4", "x" * 201), "title": texts(24)}, description=texts(72))
PARTS = ("first_name", "last_name", "middle_name", "suffix", "prefix")
NAME = some({}, formatted_name=texts(9), **dict.fromkeys(PARTS, either("x", "")))
HEADER = st.one_of(
    some({"type": st.just("text")}, text=texts(60)),
    some({"type": st.just("image")}, image=some({}, id=either("1", "", 5)) | some({"link": LINKS})),
    some({"type": either("gif", "audio", 5)}),
)
ACTIONS: dict[str, SearchStrategy[Any]] = {
    "button": some({"buttons": st.lists(some({"type": either("reply", "reply", "url"), "reply": REPLY}), max_size=4)}),
    "list": some(
        {"sections": st.lists(some({"rows": st.lists(ROW, max_size=3)}, title=texts(24)), max_size=2)}, button=texts(20)
    ),
    "cta_url": some({"name": either("cta_url", "x"), "parameters": some({}, display_text=texts(20), url=LINKS)}),
    "flow": some(
        {
            "name": either("flow"),
            "parameters": some(
                {"flow_message_version": either("3", "3", "2", 3), "flow_cta": either("Go", "")},
                flow_id=either("1"),
                flow_name=either("x"),
                mode=either("draft", "published", "x"),
                flow_action=either("navigate", "x"),
            ),
        }
    ),
    "location_request_message": some({"name": either("send_location", "x")}),
    "request_contact_info": some({"name": either("request_contact_info", "x")}),
}
TYPED: dict[str, SearchStrategy[Any]] = {
    "text": some({"body": texts(4096)}, preview_url=either(True, False, 1)),
    "image": some({}, caption=texts(1024), **SOURCE),
    "video": some({}, caption=texts(1024), **SOURCE),
    "audio": some({}, voice=either(True, "x"), **SOURCE),
    "document": some({}, caption=texts(1024), filename=either("a.pdf", "", 5), **SOURCE),
    "sticker": MEDIA,
    "location": some({"latitude": DEGREES, "longitude": DEGREES}, name=texts(9), address=either("x", 5)),
    "contacts": st.lists(some({}, name=NAME), max_size=3),
    "reaction": some({}, message_id=either("wamid.1", "", 5), emoji=either("👍", "", 5)),
    "template": some(
        {"name": texts(512), "language": some({"code": either("en", "", 5)})},
        components=st.lists(either({}, 5), max_size=2),
    ),
    "interactive": st.one_of([
        some(
            {"type": st.just(kind), "action": action, "body": some({"text": texts(1024)})},
            header=HEADER,
            footer=some({"text": texts(60)}),
        )
        for kind, action in ACTIONS.items()
    ]),
}  # fmt: skip
CONTEXT = some({}, context=some({}, message_id=either("wamid.1", "", 5)))


@pytest.mark.parametrize("kind", TYPED)
def test_our_check_and_the_sandbox_agree(kind: str) -> None:
    """On the fields that both know. The sandbox accepts no unknown fields and no nulls; we do, as Meta adds some."""

    @given(TYPED[kind], CONTEXT)
    @settings(max_examples=150)
    def agree(inner: Any, context: Json) -> None:
        whole = message(kind, inner) | context
        ours, theirs = payload.check(whole, None), wrong_in_sandbox(whole)
        assert (ours is None) == (theirs is None), (ours, theirs)

    agree()
