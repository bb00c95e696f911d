"""Validates each kind of interactive message, with Meta's limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from waypost.sandbox.content.json_checks import (
    Json,
    list_at,
    object_at,
    repeated,
    wrong_choice,
    wrong_link,
    wrong_optional_text,
    wrong_text,
)
from waypost.sandbox.edge.graph_errors import GraphError, invalid, missing

_ACTION: Final = "interactive.action."
_HEADERS: Final = ("text", "image", "video", "document", "gif")
_HEADER_MEDIA: Final = ("image", "video", "document")
_SHORT: Final = 60


def wrong_interactive(interactive: Json) -> GraphError | None:
    kind = interactive.get("type")
    if kind is None:
        return missing("interactive.type")
    if not isinstance(kind, str) or kind not in _ACTIONS:
        return invalid("interactive.type", f"must be one of {', '.join(_ACTIONS)}")
    action = object_at(interactive, "action", "interactive.")
    if isinstance(action, GraphError):
        return action
    return (
        _wrong_body(interactive, kind)
        or _wrong_header(interactive.get("header"), kind)
        or _wrong_footer(interactive.get("footer"))
        or _ACTIONS[kind](action)
    )


def _wrong_body(interactive: Json, kind: str) -> GraphError | None:
    if kind in ("product", "catalog_message") and interactive.get("body") is None:
        return None
    body = object_at(interactive, "body", "interactive.")
    if isinstance(body, GraphError):
        return body
    return wrong_text(body, "text", "interactive.body.", 4096 if kind == "list" else 1024)


def _wrong_header(header: object, kind: str) -> GraphError | None:
    if header is None:
        return None
    if not isinstance(header, dict):
        return invalid("interactive.header", "must be an object")
    where = "interactive.header."
    if wrong := wrong_choice(header, "type", where, ("text",) if kind == "list" else _HEADERS):
        return wrong
    if header["type"] == "text":
        return wrong_text(header, "text", where, _SHORT)
    return _wrong_header_media(header, header["type"]) if header["type"] in _HEADER_MEDIA else None


def _wrong_header_media(header: Json, kind: str) -> GraphError | None:
    media = object_at(header, kind, "interactive.header.")
    if isinstance(media, GraphError):
        return media
    where = f"interactive.header.{kind}."
    return wrong_link(media, "link", where) if "link" in media else wrong_text(media, "id", where)


def _wrong_footer(footer: object) -> GraphError | None:
    if footer is None:
        return None
    if not isinstance(footer, dict):
        return invalid("interactive.footer", "must be an object")
    return wrong_text(footer, "text", "interactive.footer.", _SHORT)


def _wrong_buttons(action: Json) -> GraphError | None:
    buttons = list_at(action, "buttons", _ACTION, 3)
    if isinstance(buttons, GraphError):
        return buttons
    if wrong := next(filter(None, map(_wrong_button, buttons)), None):
        return wrong
    return repeated([button["reply"]["id"] for button in buttons], f"{_ACTION}buttons.reply.id")


def _wrong_button(button: Json) -> GraphError | None:
    where = f"{_ACTION}buttons."
    reply = object_at(button, "reply", where)
    if isinstance(reply, GraphError):
        return reply
    return (
        wrong_choice(button, "type", where, ("reply",))
        or wrong_text(reply, "id", f"{where}reply.", 256)
        or wrong_text(reply, "title", f"{where}reply.", 20)
    )


def _wrong_list(action: Json) -> GraphError | None:
    sections = list_at(action, "sections", _ACTION, 10)
    if isinstance(sections, GraphError):
        return sections
    titled = wrong_text if len(sections) > 1 else wrong_optional_text
    rows: list[Json] = []
    for section in sections:
        if wrong := titled(section, "title", f"{_ACTION}sections.", 24):
            return wrong
        own = list_at(section, "rows", f"{_ACTION}sections.", 10)
        if isinstance(own, GraphError):
            return own
        rows += own
    return wrong_text(action, "button", _ACTION, 20) or _wrong_rows(rows)


def _wrong_rows(rows: list[Json]) -> GraphError | None:
    where = f"{_ACTION}sections.rows"
    if len(rows) > 10:
        return invalid(where, f"must be at most 10 in all sections together, not {len(rows)}")
    if wrong := next(filter(None, map(_wrong_row, rows)), None):
        return wrong
    return repeated([row["id"] for row in rows], f"{where}.id")


def _wrong_row(row: Json) -> GraphError | None:
    where = f"{_ACTION}sections.rows."
    return (
        wrong_text(row, "id", where, 200)
        or wrong_text(row, "title", where, 24)
        or wrong_optional_text(row, "description", where, 72)
    )


def _wrong_cta_url(action: Json) -> GraphError | None:
    parameters = object_at(action, "parameters", _ACTION)
    if isinstance(parameters, GraphError):
        return parameters
    where = f"{_ACTION}parameters."
    return (
        wrong_choice(action, "name", _ACTION, ("cta_url",))
        or wrong_text(parameters, "display_text", where, 20)
        or wrong_link(parameters, "url", where)
    )


def _wrong_flow(action: Json) -> GraphError | None:
    parameters = object_at(action, "parameters", _ACTION)
    if isinstance(parameters, GraphError):
        return parameters
    where = f"{_ACTION}parameters."
    named = [key for key in ("flow_id", "flow_name") if parameters.get(key) is not None]
    if len(named) != 1:
        return missing(f"{where}flow_id or {where}flow_name (one of them)")
    return (
        wrong_choice(action, "name", _ACTION, ("flow",))
        or wrong_choice(parameters, "flow_message_version", where, ("3",))
        or wrong_text(parameters, named[0], where)
        or wrong_text(parameters, "flow_cta", where)
        or _wrong_if_there(parameters, "mode", ("draft", "published"))
        or _wrong_if_there(parameters, "flow_action", ("navigate", "data_exchange"))
    )


def _wrong_if_there(parameters: Json, key: str, choices: tuple[str, ...]) -> GraphError | None:
    if parameters.get(key) is None:
        return None
    return wrong_choice(parameters, key, f"{_ACTION}parameters.", choices)


def _named(name: str) -> Callable[[Json], GraphError | None]:
    def wrong_name(action: Json) -> GraphError | None:
        return wrong_choice(action, "name", _ACTION, (name,))

    return wrong_name


def _anything(_: Json) -> GraphError | None:
    """For types whose action the sandbox does not validate."""
    return None


_ACTIONS: Final[Mapping[str, Callable[[Json], GraphError | None]]] = MappingProxyType(
    {
        "button": _wrong_buttons,
        "list": _wrong_list,
        "cta_url": _wrong_cta_url,
        "flow": _wrong_flow,
        "location_request_message": _named("send_location"),
        "request_contact_info": _named("request_contact_info"),
        **dict.fromkeys(
            (
                "address_message",
                "call_permission_request",
                "carousel",
                "catalog_message",
                "order_details",
                "order_status",
                "product",
                "product_list",
                "voice_call",
            ),
            _anything,
        ),
    }
)
