"""Checks of interactive messages: buttons, lists, links, flows and requests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Annotated, Any, Final, TypeAlias, TypeVar

from msgspec import Meta, Struct

from waypost.rules.text.json_validation import Filled, HttpUrl, InvalidField, read, repeated

MOST_ROWS: Final = 10
"""In all sections of a list together."""

Short: TypeAlias = Annotated[str, Meta(min_length=1, max_length=60)]
ButtonLabel: TypeAlias = Annotated[str, Meta(min_length=1, max_length=20)]
RowTitle: TypeAlias = Annotated[str, Meta(min_length=1, max_length=24)]


class InteractiveBody(Struct, frozen=True):
    text: Annotated[str, Meta(min_length=1, max_length=1024)]


class LongBody(Struct, frozen=True):
    text: Annotated[str, Meta(min_length=1, max_length=4096)]


class Footer(Struct, frozen=True):
    text: Short


class Picture(Struct, frozen=True):
    """A header's media, by the id of an upload or by link."""

    id: Filled | None = None
    link: HttpUrl | None = None


class TextHeader(Struct, frozen=True):
    type: Annotated[str, Meta(pattern=r"^(text)\Z")]
    text: Short


class InteractiveHeader(Struct, frozen=True):
    type: Annotated[str, Meta(pattern=r"^(text|image|video|document|gif)\Z")]
    text: Short | None = None
    image: Picture | None = None
    video: Picture | None = None
    document: Picture | None = None


class Framed(Struct, frozen=True, kw_only=True):
    """The parts around the action, in all kinds but the list."""

    body: InteractiveBody
    header: InteractiveHeader | None = None
    footer: Footer | None = None


class ButtonReply(Struct, frozen=True):
    id: Annotated[str, Meta(min_length=1, max_length=256)]
    title: ButtonLabel


class ReplyButton(Struct, frozen=True):
    type: Annotated[str, Meta(pattern=r"^(reply)\Z")]
    reply: ButtonReply


class ButtonAction(Struct, frozen=True):
    buttons: Annotated[list[ReplyButton], Meta(min_length=1, max_length=3)]


class Buttons(Framed, frozen=True, kw_only=True):
    action: ButtonAction


class ListRow(Struct, frozen=True):
    id: Annotated[str, Meta(min_length=1, max_length=200)]
    title: RowTitle
    description: Annotated[str, Meta(max_length=72)] | None = None


class Section(Struct, frozen=True):
    rows: Annotated[list[ListRow], Meta(min_length=1, max_length=MOST_ROWS)]
    title: Annotated[str, Meta(max_length=24)] | None = None


class ListAction(Struct, frozen=True):
    button: ButtonLabel
    sections: Annotated[list[Section], Meta(min_length=1, max_length=10)]


class ListMessage(Struct, frozen=True, kw_only=True):
    body: LongBody
    header: TextHeader | None = None
    footer: Footer | None = None
    action: ListAction


class LinkParameters(Struct, frozen=True):
    display_text: ButtonLabel
    url: HttpUrl


class LinkAction(Struct, frozen=True):
    name: Annotated[str, Meta(pattern=r"^(cta_url)\Z")]
    parameters: LinkParameters


class LinkButton(Framed, frozen=True, kw_only=True):
    action: LinkAction


class FlowParameters(Struct, frozen=True, kw_only=True):
    flow_message_version: Annotated[str, Meta(pattern=r"^(3)\Z")]
    flow_cta: Filled
    flow_id: Filled | None = None
    flow_name: Filled | None = None
    flow_token: str | None = None
    mode: Annotated[str, Meta(pattern=r"^(draft|published)\Z")] | None = None
    flow_action: Annotated[str, Meta(pattern=r"^(navigate|data_exchange)\Z")] | None = None
    flow_action_payload: dict[str, Any] | None = None


class FlowAction(Struct, frozen=True):
    name: Annotated[str, Meta(pattern=r"^(flow)\Z")]
    parameters: FlowParameters


class Flow(Framed, frozen=True, kw_only=True):
    action: FlowAction


class LocationAction(Struct, frozen=True):
    name: Annotated[str, Meta(pattern=r"^(send_location)\Z")]


class LocationRequest(Framed, frozen=True, kw_only=True):
    action: LocationAction


class ContactAction(Struct, frozen=True):
    name: Annotated[str, Meta(pattern=r"^(request_contact_info)\Z")]


class ContactRequest(Framed, frozen=True, kw_only=True):
    action: ContactAction


F = TypeVar("F", bound=Framed)
InteractiveCheck: TypeAlias = Callable[[object, str], InvalidField | None]


def check_interactive(content: object, where: str) -> InvalidField | None:
    """The first error; an unknown kind is not checked."""
    if not isinstance(content, dict):
        return InvalidField(where, "must be an object")
    kind = content.get("type")
    if not isinstance(kind, str) or not kind:
        return InvalidField(f"{where}.type", 'is required, e.g. "button"')
    rule = _CHECKS.get(kind)
    return rule(content, where) if rule else None


def _framed(wanted: type[F], check_action: Callable[[F, str], InvalidField | None] | None = None) -> InteractiveCheck:
    def check_framed(content: object, where: str) -> InvalidField | None:
        found = read(content, wanted, where)
        if isinstance(found, InvalidField):
            return found
        wrong = _check_header(found.header, f"{where}.header")
        if wrong or check_action is None:
            return wrong
        return check_action(found, f"{where}.action")

    return check_framed


def _check_header(header: InteractiveHeader | None, where: str) -> InvalidField | None:
    if header is None or header.type == "gif":  # its format is not documented
        return None
    shown = {"text": header.text, "image": header.image, "video": header.video, "document": header.document}
    content = shown[header.type]
    if content is None:
        return InvalidField(f"{where}.{header.type}", f'is required when "type" is "{header.type}"')
    if isinstance(content, Picture) and (content.id is None) == (content.link is None):
        return InvalidField(f"{where}.{header.type}", "must have either an id or a link")
    return None


def _check_buttons(message: Buttons, where: str) -> InvalidField | None:
    replies = [button.reply.id for button in message.action.buttons]
    return repeated(replies, [f"{where}.buttons[{index}].reply.id" for index in range(len(replies))])


def _check_flow(message: Flow, where: str) -> InvalidField | None:
    parameters = message.action.parameters
    if (parameters.flow_id is None) == (parameters.flow_name is None):
        return InvalidField(f"{where}.parameters", "must have either a flow_id or a flow_name")
    return None


def _check_list(content: object, where: str) -> InvalidField | None:
    found = read(content, ListMessage, where)
    return (
        found if isinstance(found, InvalidField) else _check_sections(found.action.sections, f"{where}.action.sections")
    )


def _check_sections(sections: list[Section], where: str) -> InvalidField | None:
    if len(sections) > 1:
        for index, section in enumerate(sections):
            if not section.title:
                return InvalidField(f"{where}[{index}].title", "is required when there are several sections")
    total = sum(len(section.rows) for section in sections)
    if total > MOST_ROWS:
        return InvalidField(where, f"have {total} rows together, at most {MOST_ROWS} are allowed")
    rows = [
        (row.id, f"{where}[{index}].rows[{position}].id")
        for index, section in enumerate(sections)
        for position, row in enumerate(section.rows)
    ]
    return repeated([row for row, _ in rows], [field for _, field in rows])


_CHECKS: Final[Mapping[str, InteractiveCheck]] = MappingProxyType(
    {
        "button": _framed(Buttons, _check_buttons),
        "list": _check_list,
        "cta_url": _framed(LinkButton),
        "flow": _framed(Flow, _check_flow),
        "location_request_message": _framed(LocationRequest),
        "request_contact_info": _framed(ContactRequest),
    }
)
