"""/api/v1/outbound/templates: the accounts' templates, and previews of them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Any

import msgspec
from litestar import Router, get, post
from litestar.di import Provide
from litestar.params import JSONBody, PathParameter
from msgspec import Meta

from waypost.flow.sending import templates
from waypost.flow.sending.templates import AccountTemplates, TemplatePreview, TemplateRefused
from waypost.flow.world import World
from waypost.http.edge.context import CurrentCaller, CurrentWorld, reader, writer
from waypost.http.edge.problems import Problem
from waypost.http.edge.route_docs import problems
from waypost.http.sending.views import format_time
from waypost.model.ids import OrgId
from waypost.model.template import Template, TemplateText
from waypost.ports.accounts.templates import NotFetched, TemplateAccount

TemplateNamePath = Annotated[str, PathParameter(description="A template's name", max_length=512)]


class ParameterView(msgspec.Struct, kw_only=True):
    """A parameter of a template."""

    component: str
    """`header`, `body` or `button`."""
    index: int | None
    """The button's index, from 0."""
    kind: str
    """`text`; for a header also `image`, `video`, `document`, `location`; for a button `coupon_code`."""
    name: str
    """The parameter's name or number."""


class TemplateView(msgspec.Struct, rename="camel", kw_only=True):
    """A template in one language, as the account has it."""

    waba_id: str
    id: str
    name: str
    language: str
    status: str
    category: str
    parameter_format: str
    parameters: list[ParameterView]
    components: Any


class AccountView(msgspec.Struct, rename="camel", kw_only=True):
    """A WhatsApp account of the org. Without `syncedAt` its templates were never fetched, and are not enforced."""

    waba_id: str
    templates: int
    synced_at: datetime | None
    error: str | None


class TemplateList(msgspec.Struct, kw_only=True):
    content: list[TemplateView]
    accounts: list[AccountView]


class PreviewTemplate(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The parameters, as in a message's payloadJson."""

    language: Annotated[str, Meta(min_length=1, max_length=64, examples=["en_US"])] | dict[str, Any]
    components: Annotated[list[Any], Meta(max_length=100)] | None = None
    sender: Annotated[str, Meta(max_length=64)] | None = msgspec.field(default=None, name="from")


class ButtonView(msgspec.Struct):
    kind: str
    text: str
    value: str | None


class PreviewView(msgspec.Struct, kw_only=True):
    """The message as the customer will see it; `text` is the whole text."""

    name: str
    language: str
    status: str
    header: str | None
    body: str
    footer: str | None
    buttons: list[ButtonView]
    text: str


def _parameters(template: Template) -> Iterator[ParameterView]:
    header = template.header
    if header and header.format != "text":
        yield ParameterView(component="header", index=None, kind=header.format, name="1")
    elif header:
        yield from _places("header", header.words)
    yield from _places("body", template.body or TemplateText())
    for index, button in enumerate(template.buttons):
        yield from _places("button", button.value, index)
        if button.kind == "copy_code":
            yield ParameterView(component="button", index=index, kind="coupon_code", name="1")


def _places(component: str, text: TemplateText, index: int | None = None) -> Iterator[ParameterView]:
    for place in text.places:
        yield ParameterView(component=component, index=index, kind="text", name=place)


def _template(waba_id: str, template: Template) -> TemplateView:
    return TemplateView(
        waba_id=waba_id,
        id=template.id,
        name=template.name,
        language=template.language,
        status=template.status,
        category=template.category,
        parameter_format="NAMED" if template.named else "POSITIONAL",
        parameters=list(_parameters(template)),
        components=msgspec.json.decode(template.definition).get("components", []),
    )


def _account(listed: AccountTemplates) -> AccountView:
    return AccountView(
        waba_id=listed.waba_id,
        templates=len(listed.known.templates) if listed.known else 0,
        synced_at=format_time(listed.known.synced.at) if listed.known else None,
        error=listed.failure,
    )


@get("/templates", summary="The accounts' templates", responses=problems())
async def list_templates(caller: CurrentCaller, world: CurrentWorld) -> TemplateList:
    """With status, language, category and parameters. Fetches a list that was never fetched."""
    found = await templates.listed(caller.org_id, world)
    content = [_template(each.waba_id, one) for each in found if each.known for one in each.known.templates]
    return TemplateList(content=content, accounts=[_account(each) for each in found])


@post(
    "/templates/sync",
    status_code=200,
    dependencies={"caller": Provide(writer)},
    summary="Fetch the accounts' templates now",
    responses=problems(),
)
async def sync_templates(caller: CurrentCaller, world: CurrentWorld) -> list[AccountView]:
    """One result per account; with `error`, the old list stays."""
    return [_account(each) for each in await templates.sync_all(caller.org_id, world)]


@post(
    "/templates/{name:str}/preview",
    status_code=200,
    summary="Preview a template",
    responses=problems(400, 404, 413, 422),
)
async def preview_template(
    name: TemplateNamePath, data: JSONBody[PreviewTemplate], caller: CurrentCaller, world: CurrentWorld
) -> PreviewView:
    """Takes a message's payloadJson and refuses what sending it would refuse."""
    account = await _account_for(name, data.sender, caller.org_id, world)
    payload = {"language": data.language, "components": data.components}
    answer = await templates.preview(name, payload, account, caller.org_id, world)
    if isinstance(answer, NotFetched):
        detail = f"the account's templates could not be fetched yet: {answer.reason}"
        raise Problem(503, "templates_unavailable", detail, headers={"retry-after": "30"})
    if isinstance(answer, TemplateRefused):
        raise Problem(
            404 if answer.field == "name" else 422, answer.code, f"{answer.field}: {answer.reason}", field=answer.field
        )
    return _preview(answer)


async def _account_for(name: str, sender: str | None, org: OrgId, world: World) -> TemplateAccount:
    """The sender's account; without a sender, the first with a template of this name, else the first."""
    if sender is not None:
        for connected in await world.numbers.of_org(org):
            if connected.number.id == sender:
                return templates.account_of(connected)
        raise Problem(404, "unknown_number", "from: this org has no such connected number", field="from")
    accounts = await templates.accounts(org, world)
    if not accounts:
        raise Problem(404, "unknown_number", "this org has no connected number: POST /api/v1/numbers first")
    with_it = {
        each.waba_id
        for each in await templates.listed(org, world)
        if each.known and any(template.name == name for template in each.known.templates)
    }
    return next((account for account in accounts if account.waba_id in with_it), accounts[0])


def _preview(answer: TemplatePreview) -> PreviewView:
    preview = answer.preview
    return PreviewView(
        name=answer.template.name,
        language=answer.template.language,
        status=answer.template.status,
        header=preview.header,
        body=preview.body,
        footer=preview.footer,
        buttons=[ButtonView(each.kind, each.label, each.value) for each in preview.buttons],
        text=preview.text,
    )


router = Router(
    "/api/v1/outbound",
    dependencies={"caller": Provide(reader)},
    tags=["Templates"],
    route_handlers=[list_templates, sync_templates, preview_template],
)
