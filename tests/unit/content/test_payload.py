"""What is sent to the provider: payloads, and the callback data that comes back."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from waypost.model.ids import Fence, MessageId
from waypost.model.webhook import Echo
from waypost.rules.content import payload
from waypost.rules.sending import callback_data
from waypost_testing.contracts.examples import a_claim

OPAQUE = "biz_opaque_callback_data"


def sent(content: dict[str, Any] | None, template: str | None = None) -> dict[str, Any]:
    message = replace(
        a_claim(), id=MessageId(42), fence=Fence(3), payload=msgspec.json.encode(content).decode(), template=template
    )
    body: dict[str, Any] = msgspec.json.decode(payload.cloud_api_body(message))
    return body


class TestPayload:
    @pytest.mark.parametrize(
        ("content", "template"),
        [
            ({"text": "hello"}, None),
            ({"type": "text", "text": {"body": "hello"}}, None),
            ({"type": "text", "text": {"body": "x" * 4096, "preview_url": True}}, None),
            ({"type": "image", "image": {"id": "1"}}, None),
            ({"type": "reaction", "reaction": {"message_id": "w", "emoji": ""}}, None),
            ({"language": "en"}, "hello_world"),
            ({"language": {"code": "en_US"}, "components": []}, "hello_world"),
            ({"text": "hello", OPAQUE: "x" * 472}, None),
        ],
    )
    def test_what_can_be_sent_is_taken(self, content: dict[str, Any], template: str | None) -> None:
        assert payload.check(content, template) is None
        assert sent(content, template)["messaging_product"] == "whatsapp"

    @pytest.mark.parametrize(
        ("content", "template", "field"),
        [
            (None, None, "payloadJson"),
            ("hello", None, "payloadJson"),
            ([], None, "payloadJson"),
            ({}, None, "payloadJson.type"),
            ({"type": ""}, None, "payloadJson.type"),
            ({"type": 7}, None, "payloadJson.type"),
            ({"type": "image"}, None, "payloadJson.image"),
            ({"text": ""}, None, "payloadJson.text"),
            ({"text": " \n"}, None, "payloadJson.text"),
            ({"text": "x" * 4097}, None, "payloadJson.text"),
            ({"type": "text", "text": "hello"}, None, "payloadJson.text.body"),
            ({"type": "text", "text": {"body": None}}, None, "payloadJson.text.body"),
            ({"type": "text", "text": {"body": "x" * 4097}}, None, "payloadJson.text.body"),
            ({"text": "hello", OPAQUE: "x" * 473}, None, f"payloadJson.{OPAQUE}"),
            ({"text": "hello", OPAQUE: 7}, None, f"payloadJson.{OPAQUE}"),
            (None, "hello_world", "payloadJson.language"),
            ({}, "hello_world", "payloadJson.language"),
            ({"language": ""}, "hello_world", "payloadJson.language"),
            ({"language": {"code": 7}}, "hello_world", "payloadJson.language"),
            ({"language": "en", "components": {}}, "hello_world", "payloadJson.components"),
        ],
    )
    def test_what_cannot_be_sent_is_named(self, content: object, template: str | None, field: str) -> None:
        invalid = payload.check(content, template)
        assert invalid is not None
        assert invalid.field == field
        assert invalid.reason

    def test_who_forgot_the_type_is_shown_both_forms(self) -> None:
        invalid = payload.check({"txt": "hi"}, None)
        assert invalid is not None
        assert '{"type": "text", "text": {"body": "…"}}' in invalid.reason
        assert '{"text": "…"}' in invalid.reason

    def test_a_payload_may_be_only_so_deep_and_so_large(self) -> None:
        deep: dict[str, Any] = {}
        for _ in range(payload.DEEPEST):
            deep = {"inner": deep}
        assert payload.check({"type": "image", "image": deep}, None) is not None
        large = {"type": "image", "image": {"caption": "x" * payload.LARGEST_PAYLOAD}}
        assert payload.check(large, None) is not None

    def test_the_short_form_is_a_text_message(self) -> None:
        assert sent({"text": "hello"}) == {
            "messaging_product": "whatsapp",
            "recipient_type": "individual",
            "to": a_claim().recipient,
            "type": "text",
            "text": {"body": "hello"},
            OPAQUE: "wp1.42.3",
        }

    def test_a_user_id_is_named_as_the_recipient(self) -> None:
        message = replace(a_claim(), recipient="US.13491208655302741918", payload='{"text": "hello"}')
        body = msgspec.json.decode(payload.cloud_api_body(message))
        assert body["recipient"] == "US.13491208655302741918"
        assert "to" not in body

    def test_a_template_goes_with_its_language_and_components(self) -> None:
        components = [{"type": "body", "parameters": [{"type": "text", "text": "1"}]}]
        body = sent({"language": "en", "components": components}, "order_confirmation")
        expected = {"name": "order_confirmation", "language": {"code": "en"}, "components": components}
        assert (body["type"], body["template"]) == ("template", expected)

    def test_a_caller_cannot_say_where_it_goes_or_whose_it_is(self) -> None:
        forged = {"to": "+1", "recipient": "x", "messaging_product": "sms", "recipient_type": "group"}
        body = sent({"type": "text", "text": {"body": "hello"}, OPAQUE: "wp1.7.7", **forged})
        assert (body["to"], body["messaging_product"]) == (a_claim().recipient, "whatsapp")
        assert body["recipient_type"] == "individual"
        assert "recipient" not in body
        assert callback_data.read(body[OPAQUE]) == Echo(MessageId(42), Fence(3))

    def test_what_the_caller_put_beside_the_content_goes_along(self) -> None:
        context = {"message_id": "wamid.customer"}
        assert sent({"type": "text", "text": {"body": "hello"}, "context": context})["context"] == context


class TestStamp:
    @given(st.integers(1, 2**63 - 1), st.integers(1, 999_999_999), st.text(max_size=600))
    def test_what_was_stamped_is_read_back(self, message: int, fence: int, callers: str) -> None:
        text = callback_data.stamp(MessageId(message), Fence(fence), callers)
        assert callback_data.read(text) == Echo(MessageId(message), Fence(fence))
        assert len(text) <= callback_data.LONGEST

    def test_what_the_caller_put_there_follows_ours(self) -> None:
        assert callback_data.stamp(MessageId(7), Fence(1), "order-9") == "wp1.7.1;order-9"

    @pytest.mark.parametrize(
        "text",
        [
            None,
            "",
            "order-9",
            "wp1.7",
            "wp1.7.",
            "wp1.0.1",
            "wp1.7.0",
            "wp1.07.1",
            "wp1.-7.1",
            "wp1.7.1x",
            "wp1.7.1 ",
            "xwp1.7.1",
            "wp2.7.1",
            "wp1.\uff17.1",
            f"wp1.{2**63}.1",
            "wp1.99999999999999999999.1",
            "wp1.7.9999999999",
        ],
    )
    def test_what_is_not_ours_is_not_read(self, text: str | None) -> None:
        assert callback_data.read(text) is None
