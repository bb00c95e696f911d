"""Templates: how an account's list is read, what may be sent, and the resulting text."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from waypost.model.template import Preview, ShownButton, Template, TemplateStatusChange, TemplateText
from waypost.rules.content.template_parameters import WrongParameters, wrong_parameters
from waypost.rules.content.template_reading import filled, read, read_definition, status_change, words
from waypost.rules.content.templates import CANNOT_BE_SENT, UnknownTemplate, check, preview


def a_template(name: str = "order", *components: dict[str, Any], **fields: Any) -> Template:
    told = {"name": name, "language": "en", "status": "APPROVED", "category": "UTILITY", "id": "1"}
    found = read({**told, "components": list(components), **fields})
    assert found is not None
    return found


def body(text: str) -> dict[str, Any]:
    return {"type": "BODY", "text": text}


def header(format_: str, text: str = "") -> dict[str, Any]:
    return {"type": "HEADER", "format": format_, "text": text}


def buttons(*listed: dict[str, Any]) -> dict[str, Any]:
    return {"type": "BUTTONS", "buttons": list(listed)}


def sent(kind: str, *parameters: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": kind, "parameters": list(parameters), **more}


def text(value: str, name: str | None = None) -> dict[str, Any]:
    return {"type": "text", "text": value} | ({"parameter_name": name} if name else {})


def button(index: Any, sub_type: str, *parameters: dict[str, Any]) -> dict[str, Any]:
    return sent("button", *parameters, sub_type=sub_type, index=index)


PLAIN = a_template("plain", body("Hello."))
COUNTED = a_template("counted", body("Hello {{1}}, your order {{2}} is here."))
NAMED = a_template("named", body("Hello {{name}}, {{order_id}}."), parameter_format="NAMED")
TITLED = a_template("titled", header("TEXT", "For {{1}}"), body("Hello."))
IMAGE = a_template("image", header("IMAGE"), body("Look."))
PLACE = a_template("place", header("LOCATION"), body("Here."))
URL = {"type": "URL", "text": "Track", "url": "https://example.org/{{1}}"}
FIXED = {"type": "URL", "text": "Shop", "url": "https://example.org/"}
REPLY = {"type": "QUICK_REPLY", "text": "Stop"}
CODE = {"type": "COPY_CODE", "text": "Copy", "example": "X"}
FLOW = {"type": "FLOW", "text": "Book", "flow_id": "7"}
BUTTONS = a_template("buttons", body("Hello."), buttons(URL, REPLY, CODE, FLOW, FIXED))
TRACK = button("0", "url", text("7"))
COUPON = button(2, "copy_code", {"type": "coupon_code", "coupon_code": "SAVE"})


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["type", "text", "buttons", "format", "url", "parameters"]), inner)
        | st.fixed_dictionaries({"type": st.sampled_from(["BODY", "header", "Buttons", "button"])})
    ),
)


class TestReading:
    def test_everything_a_sender_needs_is_read(self) -> None:
        found = a_template("all", header("TEXT", "Hi {{1}}"), body("{{2}} and {{1}}"), buttons(URL, REPLY))
        assert (found.name, found.language, found.status, found.category) == ("all", "en", "APPROVED", "UTILITY")
        assert found.header is not None
        assert found.header.words == TemplateText("Hi {{1}}", ("1",))
        assert found.body == TemplateText("{{2}} and {{1}}", ("1", "2"))
        assert [(each.kind, each.label, each.value.places) for each in found.buttons] == [
            ("url", "Track", ("1",)),
            ("quick_reply", "Stop", ()),
        ]

    def test_a_kept_definition_is_the_same_template(self) -> None:
        for template in (PLAIN, COUNTED, NAMED, TITLED, IMAGE, BUTTONS):
            assert read_definition(template.definition) == template

    @pytest.mark.parametrize(
        ("format_", "places", "named"),
        [("NAMED", "{{a}}", True), ("positional", "{{1}}", False), (None, "{{a}}", True), (None, "{{1}}", False)],
    )
    def test_places_are_named_or_counted(self, format_: str | None, places: str, named: bool) -> None:
        assert a_template("t", body(places), parameter_format=format_).named is named

    @pytest.mark.parametrize(
        "item",
        [
            None,
            [],
            "x",
            {},
            {"name": "a", "language": "en"},
            {"name": "", "language": "en", "status": "A"},
            {"name": "a\0", "language": "en", "status": "A"},
            {"name": "x" * 513, "language": "en", "status": "A"},
        ],
    )
    def test_what_is_no_template_is_left_out(self, item: object) -> None:
        assert read(item) is None

    def test_ten_places_are_in_order_of_their_numbers(self) -> None:
        assert words(" ".join(f"{{{{{n}}}}}" for n in range(11, 0, -1))).places == tuple(map(str, range(1, 12)))

    @given(ANYTHING)
    def test_whatever_a_provider_lists_is_read_and_never_a_bug(self, components: Any) -> None:
        found = read({"name": "t", "language": "en", "status": "APPROVED", "components": components})
        assert found is not None
        assert read_definition(found.definition) == found
        preview(found, components)
        check([found], "t", "en", components)


class TestStatusChange:
    @pytest.mark.parametrize(
        ("event", "status"),
        [("APPROVED", "APPROVED"), ("REINSTATED", "APPROVED"), ("PAUSED", "PAUSED"), ("DISABLED", "DISABLED")],
    )
    def test_a_webhook_tells_the_new_status(self, event: str, status: str) -> None:
        value = {"event": event, "message_template_name": "order", "message_template_language": "en-US", "reason": None}
        assert status_change(value) == TemplateStatusChange("order", "en_US", status)

    @pytest.mark.parametrize("value", [None, [], {}, {"event": "PAUSED"}])
    def test_what_names_no_template_changes_none(self, value: object) -> None:
        assert status_change(value) is None

    @pytest.mark.parametrize("event", ["FLAGGED", "LOCKED"])
    def test_what_can_be_sent_as_before_is_no_change(self, event: str) -> None:
        assert status_change({"event": event, "message_template_name": "a", "message_template_language": "en"}) is None


class TestFinding:
    ALL = (COUNTED, a_template("counted", body("Hallo"), language="de"), PLAIN)

    def test_a_name_nobody_has_is_refused_with_what_is_near(self) -> None:
        wrong = check(self.ALL, "countd", "en", [])
        assert wrong == UnknownTemplate("name", "the account has no template 'countd'; did you mean counted?")

    def test_a_name_like_no_other_is_refused_without_a_guess(self) -> None:
        assert check(self.ALL, "zzz", "en", []) == UnknownTemplate("name", "the account has no template 'zzz'")
        assert isinstance(check([], "zzz", "en", []), UnknownTemplate)

    def test_another_language_is_refused_with_those_there_are(self) -> None:
        expected = UnknownTemplate("language", "template 'counted' is not in 'fr', it is in de, en")
        assert check(self.ALL, "counted", "fr", []) == expected

    @pytest.mark.parametrize("status", sorted(CANNOT_BE_SENT))
    def test_a_status_that_cannot_be_sent_is_named(self, status: str) -> None:
        wrong = check([replace(PLAIN, status=status)], "plain", "en", [])
        assert isinstance(wrong, UnknownTemplate)
        assert status in wrong.reason

    @pytest.mark.parametrize("status", ["APPROVED", "PAUSED", "OF_THE_FUTURE"])
    def test_what_may_yet_be_sent_is_taken(self, status: str) -> None:
        assert check([replace(PLAIN, status=status)], "plain", "en", None) is None

    def test_a_long_word_is_not_repeated_whole(self) -> None:
        for wrong in (check(self.ALL, "x" * 512, "en", []), check(self.ALL, "plain", "x" * 9999, [])):
            assert isinstance(wrong, UnknownTemplate)
            assert len(wrong.reason) < 300


FITS: list[tuple[Template, Any]] = [
    (PLAIN, None),
    (PLAIN, []),
    (PLAIN, [sent("body")]),
    (COUNTED, [sent("body", text("Ada"), text("7"))]),
    (COUNTED, [sent("BODY", text("Ada"), {"type": "currency", "currency": {"fallback_value": "7 €"}})]),
    (NAMED, [sent("body", text("7", "order_id"), text("Ada", "name"))]),
    (TITLED, [sent("header", text("Ada"))]),
    (IMAGE, [sent("header", {"type": "image", "image": {"link": "https://example.org/a.png"}})]),
    (PLACE, [sent("header", {"type": "location", "location": {"latitude": 0, "longitude": "1.5"}})]),
    (BUTTONS, [TRACK, COUPON]),
    (BUTTONS, [TRACK, COUPON, button("1", "quick_reply", {"type": "payload", "payload": "stop"})]),
    (BUTTONS, [TRACK, COUPON, button(3, "FLOW", {"type": "action", "action": {}})]),
    (PLAIN, [sent("carousel", cards=[])]),
    (a_template("secret", {"type": "BODY", "add_security_recommendation": True}), [sent("body", text("123"))]),
    (a_template("future", header("HOLOGRAM"), body("Hi")), [sent("header", {"type": "hologram"})]),
    (a_template("future", body("Hi"), buttons({"type": "BEAM", "text": "Up"})), [button(0, "beam", {"type": "x"})]),
]

WRONG: list[tuple[Template, Any, str, str]] = [
    (COUNTED, None, "components", "body: 2 parameters expected, 0 given: {{1}}, {{2}} without a value"),
    (COUNTED, [sent("body", text("Ada"))], "components[0].parameters", "2 parameters expected, 1 given: {{2}} without"),
    (COUNTED, [sent("body", *[text("x")] * 3)], "components[0].parameters", "body: 2 parameters expected, 3 given"),
    (PLAIN, [sent("body", text("x"))], "components[0].parameters", "body: 0 parameters expected, 1 given"),
    (PLAIN, [sent("header", text("x"))], "components[0].parameters", "header: 0 parameters expected, 1 given"),
    (PLAIN, [sent("footer", text("x"))], "components[0].parameters", "footer: 0 parameters expected, 1 given"),
    (
        COUNTED,
        [sent("body", text("a"), {"type": "image", "image": {}})],
        "components[0].parameters[1].type",
        "body: must be text, not 'image'",
    ),
    (COUNTED, [sent("body", text("a"), text(""))], "components[0].parameters[1].text", "a text that is not empty"),
    (
        COUNTED,
        [sent("body", text("a"), {"type": "currency", "currency": "7"})],
        "components[0].parameters[1].currency",
        "fallback_value",
    ),
    (
        COUNTED,
        [sent("body", text("a", "name"), text("b", "order_id"))],
        "components[0].parameters[0].parameter_name",
        "counts its parameters ({{1}}, {{2}})",
    ),
    (
        NAMED,
        [sent("body", text("a"), text("b"))],
        "components[0].parameters[0].parameter_name",
        "names its parameters: name, order_id",
    ),
    (NAMED, [sent("body", text("a", "name"))], "components[0].parameters", "2 parameters expected, 1 given: order_id"),
    (
        NAMED,
        [sent("body", text("a", "name"), text("b", "oder_id"))],
        "components[0].parameters[1].parameter_name",
        "no parameter 'oder_id', only name, order_id",
    ),
    (
        NAMED,
        [sent("body", text("a", "name"), text("b", "name"))],
        "components[0].parameters[1].parameter_name",
        "'name' is given twice",
    ),
    (TITLED, [], "components", "header: 1 parameter expected, 0 given: {{1}} without a value"),
    (IMAGE, [], "components", "header (image): 1 parameter expected, 0 given"),
    (IMAGE, [sent("header", text("x"))], "components[0].parameters[0].type", "header: must be image, not 'text'"),
    (
        IMAGE,
        [sent("header", {"type": "image", "image": {}})],
        "components[0].parameters[0].image",
        "the image needs an id or a link",
    ),
    (
        PLACE,
        [sent("header", {"type": "location", "location": {"latitude": 1}})],
        "components[0].parameters[0].location",
        "the location needs its coordinates",
    ),
    (BUTTONS, [COUPON], "components", "button 0 (url): 1 parameter expected, 0 given"),
    (BUTTONS, [TRACK], "components", "button 2 (copy_code): 1 parameter expected, 0 given"),
    (
        BUTTONS,
        [button(0, "quick_reply", text("7")), COUPON],
        "components[0].sub_type",
        "button 0 (url): must be url, not 'quick_reply'",
    ),
    (BUTTONS, [sent("button", text("7"), index=0)], "components[0].sub_type", "must be url, not nothing"),
    (
        BUTTONS,
        [TRACK, button(2, "copy_code", text("SAVE"))],
        "components[1].parameters[0].type",
        "button 2 (copy_code): must be coupon_code, not 'text'",
    ),
    (BUTTONS, [button(0, "url", text("")), COUPON], "components[0].parameters[0].text", "must not be empty"),
    (BUTTONS, [TRACK, COUPON, button(4, "url", text("x"))], "components[2].parameters", "(url): 0 parameters expected"),
    (BUTTONS, [button(5, "url", text("x"))], "components[0].index", "button 5: this template has 5 buttons"),
    (BUTTONS, [sent("button", text("x"), sub_type="url")], "components[0].index", "counted from 0"),
    (BUTTONS, [TRACK, TRACK], "components[1]", "button 0 is there twice"),
    (COUNTED, [sent("body"), sent("body")], "components[1]", "body is there twice"),
    (PLAIN, {}, "components", "must be a list"),
    (PLAIN, ["body"], "components[0]", "must be an object"),
    (PLAIN, [{"type": 7}], "components[0]", "must be an object"),
    (PLAIN, [{"type": "body", "parameters": ["x"]}], "components[0].parameters", "must be a list of objects"),
]


class TestParameters:
    @pytest.mark.parametrize(("template", "components"), FITS)
    def test_what_fits_is_taken(self, template: Template, components: Any) -> None:
        assert wrong_parameters(template, components) is None

    @pytest.mark.parametrize(("template", "components", "field", "reason"), WRONG)
    def test_what_does_not_fit_is_named(self, template: Template, components: Any, field: str, reason: str) -> None:
        wrong = wrong_parameters(template, components)
        assert isinstance(wrong, WrongParameters)
        assert wrong.field == field
        assert reason in wrong.reason

    @given(st.integers(0, 12), st.integers(0, 12))
    def test_counted_places_take_exactly_as_many_values(self, places: int, values: int) -> None:
        template = a_template("t", body(" ".join(f"{{{{{n + 1}}}}}" for n in range(places))))
        wrong = wrong_parameters(template, [sent("body", *[text("x")] * values)])
        assert (wrong is None) == (places == values)
        if wrong:
            assert f"{places} parameter" in wrong.reason
            assert f"{values} given" in wrong.reason

    @given(st.sets(st.sampled_from("abcdef")), st.lists(st.sampled_from("abcdef"), max_size=7))
    def test_named_places_take_each_name_once(self, places: set[str], names: list[str]) -> None:
        template = a_template("t", body(" ".join(f"{{{{{n}}}}}" for n in places)), parameter_format="NAMED")
        wrong = wrong_parameters(template, [sent("body", *(text("x", name) for name in names))])
        assert (wrong is None) == (sorted(names) == sorted(places))


class TestPreview:
    def test_values_stand_in_their_places(self) -> None:
        assert preview(COUNTED, [sent("body", text("Ada"), text("7"))]).body == "Hello Ada, your order 7 is here."
        assert preview(NAMED, [sent("body", text("7", "order_id"), text("Ada", "name"))]).body == "Hello Ada, 7."

    def test_a_place_without_a_value_stays(self) -> None:
        assert preview(COUNTED, []).body == "Hello {{1}}, your order {{2}} is here."

    def test_a_value_that_looks_like_a_place_is_not_filled_again(self) -> None:
        assert preview(COUNTED, [sent("body", text("{{2}}"), text("7"))]).body == "Hello {{2}}, your order 7 is here."

    def test_money_and_dates_show_the_words_that_stand_in_for_them(self) -> None:
        money = {"type": "currency", "currency": {"fallback_value": "7 €", "code": "EUR", "amount_1000": 7000}}
        assert preview(COUNTED, [sent("body", text("Ada"), money)]).body == "Hello Ada, your order 7 € is here."

    def test_header_footer_and_buttons_are_shown(self) -> None:
        template = a_template(
            "t",
            header("TEXT", "For {{1}}"),
            body("Hello."),
            {"type": "FOOTER", "text": "Bye"},
            buttons(URL, CODE, REPLY),
        )
        code = button(1, "copy_code", {"type": "coupon_code", "coupon_code": "SAVE"})
        assert preview(template, [sent("header", text("Ada")), TRACK, code]) == Preview(
            "For Ada",
            "Hello.",
            "Bye",
            (
                ShownButton("url", "Track", "https://example.org/7"),
                ShownButton("copy_code", "Copy", "SAVE"),
                ShownButton("quick_reply", "Stop", None),
            ),
        )
        assert preview(template, [sent("header", text("Ada"))]).text == "For Ada\nHello.\nBye"

    @pytest.mark.parametrize(
        ("parameter", "shown"),
        [
            ({"filename": "bill.pdf", "link": "l"}, "[document bill.pdf]"),
            ({"id": "7"}, "[document 7]"),
            ({}, "[document]"),
        ],
    )
    def test_a_header_that_is_no_text_is_told_in_words(self, parameter: dict[str, Any], shown: str) -> None:
        template = a_template("t", header("DOCUMENT"), body("Hello."))
        assert preview(template, [sent("header", {"type": "document", "document": parameter})]).header == shown

    @given(st.lists(st.text(min_size=1), min_size=1, max_size=9))
    def test_what_fits_leaves_no_place_empty(self, values: list[str]) -> None:
        template = a_template("t", body("|".join(f"{{{{{n + 1}}}}}" for n in range(len(values)))))
        components = [sent("body", *map(text, values))]
        assert wrong_parameters(template, components) is None
        assert preview(template, components).body == "|".join(values)


def test_filling_touches_nothing_but_places() -> None:
    assert filled(words("{1} {{ 1 }} {{2}} $1 \\1"), {"1": "\\g<0>"}) == "{1} \\g<0> {{2}} $1 \\1"


def test_a_definition_is_the_provider_s_own_words() -> None:
    assert json.loads(COUNTED.definition)["components"] == [body("Hello {{1}}, your order {{2}} is here.")]
