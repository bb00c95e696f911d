"""The console's pages of messages and accounts in a real browser: what failed is found, understood and sent again."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, FilePayload, Locator, Page, Route, expect

from tests.acceptance.conftest import Place
from tests.acceptance.stage.browser import DESKTOP, PHONE, Colours, Tab, browser, tab
from tests.acceptance.stage.clients import Api, Http, Sandbox
from tests.acceptance.stage.harness import Site, until
from tests.acceptance.stage.laptop import demo
from tests.acceptance.stage.page_play import HOSTILE, signs_in, with_page

UNREACHABLE = "+1555000131026"
"""The sandbox answers with the code that the number ends with."""
PAGES = {
    "outbox": "Outbox",
    "batch": "Batch",
    "dead-letters": "Dead letters",
    "templates": "Templates",
    "audit": "Audit log",
    "numbers": "Numbers",
    "keys": "API keys",
    "users": "Users",
    "templates?account=102290129340398&name=order_confirmation&language=en": "Templates",
}
"""Where they are, and their headings."""
TABLET = (800, 900)
GO = """(to) => {
  history.pushState(null, "", to);
  dispatchEvent(new PopStateEvent("popstate"));
}"""
"""As a link does: the page stays."""


@dataclass(frozen=True)
class Desk:
    """An admin at the console of a demo, and what stands behind it."""

    chromium: Browser
    url: str
    token: str
    api: Api
    sandbox: Sandbox


@pytest.fixture
def laptop(place: Place) -> Site:
    return with_page(place)


@asynccontextmanager
async def at_the_console(here: Site) -> AsyncIterator[Desk]:
    async with demo(here) as (facts, api, sandbox), browser() as chromium:
        made = await api.ask("POST", "/api/v1/users", {"name": "Olga", "role": "admin"})
        yield Desk(chromium, facts["url"], made.body["token"], api, sandbox)


@asynccontextmanager
async def signed_in(
    desk: Desk, path: str, size: tuple[int, int] = DESKTOP, colours: Colours = "light", token: str | None = None
) -> AsyncIterator[Tab]:
    async with tab(desk.chromium, size, colours) as opened:
        await signs_in(opened.page, desk.url + path, token or desk.token)
        await expect(opened.page.locator("main h2")).to_be_visible()
        yield opened


def greeting(to: str, name: str = "Ada") -> dict[str, Any]:
    """May be sent at any time."""
    values = [{"type": "text", "text": name}, {"type": "text", "text": "7"}]
    payload = {"language": "en", "components": [{"type": "body", "parameters": values}]}
    return {"to": to, "templateCode": "order_confirmation", "payloadJson": payload}


async def ended(desk: Desk, to: str, name: str = "Ada") -> int:
    """The id of a message that failed."""
    posted = await desk.api.post(greeting(to, name))
    message = await desk.api.settled(posted.body["id"], "FAILED")
    return int(message["id"])


def row(page: Page, text: str) -> Locator:
    return page.get_by_role("row").filter(has_text=text)


async def does(page: Page, label: str) -> None:
    """Once the button, once the same in the dialog that asks."""
    await page.get_by_role("button", name=label, exact=True).click()
    await expect(page.get_by_role("dialog")).to_contain_text("curl")
    await page.get_by_role("dialog").get_by_role("button", name=label, exact=True).click()
    await expect(page.get_by_role("dialog")).to_have_count(0)


async def test_a_failed_message_is_found_tells_why_and_is_sent_again(laptop: Site) -> None:
    async with at_the_console(laptop) as desk, signed_in(desk, "/console/outbox") as opened:
        page = opened.page
        await desk.sandbox.fault(to="15550009999", error_code=131026, times=1)
        failed = await ended(desk, "+15550009999")
        await ended(desk, UNREACHABLE)
        await page.get_by_role("link", name="Failed").click()
        await expect(page.get_by_role("row")).to_have_count(3)
        await page.get_by_label("To", exact=True).fill("+1 555 000 9999")
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("row")).to_have_count(2)
        assert "status=FAILED" in page.url, "what is shown is in the address"
        await opened.picture("console-outbox")
        await page.get_by_role("link", name=str(failed), exact=True).click()
        await expect(page.get_by_role("heading", name=f"Message {failed}")).to_be_visible()
        await expect(page.get_by_role("alert")).to_contain_text("What to do: The recipient has no WhatsApp")
        await expect(page.get_by_role("region", name="Timeline")).to_contain_text("Refused by the provider")
        await page.get_by_text("Show", exact=True).click()
        await expect(page.locator("details pre")).to_contain_text('"code": 131026')
        await opened.picture("console-message")
        await page.get_by_role("button", name="Show cURL").click()
        await expect(page.get_by_text(f"waypost why {failed}")).to_be_visible()
        await page.keyboard.press("Escape")
        await does(page, "Send again")
        await expect(page.get_by_role("region", name="Status")).to_contain_text("Delivered")
        await expect(page.get_by_role("button", name="Send again")).to_have_count(0)
        await page.get_by_role("link", name="← Outbox").click()
        await expect(page.get_by_text("No messages match these filters.")).to_be_visible()


async def test_dead_letters_are_sent_again_by_group_and_a_file_goes_out_once(laptop: Site) -> None:
    async with at_the_console(laptop) as desk, signed_in(desk, "/console/dead-letters") as opened:
        page = opened.page
        await expect(page.get_by_text("No dead letters.")).to_be_visible()
        await desk.sandbox.fault(to="15550007777", error_code=131026, times=2)
        for _ in range(2):
            await ended(desk, "+15550007777")
        await ended(desk, "+1555000131050")
        await page.reload()
        group = page.get_by_role("region", name="131026: Message undeliverable")
        await expect(group).to_contain_text("2 messages")
        await group.get_by_role("button", name="Send group again").click()
        await page.get_by_role("dialog").get_by_role("button", name="Send group again").click()
        became = page.get_by_role("region", name="Results")
        await expect(became).to_contain_text("Delivered2")
        await expect(group).to_have_count(0)
        await opened.picture("console-dead-letters")
        await page.get_by_role("link", name="Batch").click()
        await sends_a_file(opened)
        await expect(page.get_by_role("definition").first).to_have_text("3")
        async with page.expect_download() as saving:
            await page.get_by_role("button", name="Download rejected lines").click()
        saved = await asyncio.to_thread(Path(await (await saving.value).path()).read_text)
        assert saved.splitlines() == [
            "to,templateCode,body1,body2,line,reason",
            "12,order_confirmation,Ada,4,5,to: a phone number has 7 to 15 digits",
        ]
        await page.get_by_role("button", name="Choose another file").click()
        await sends_a_file(opened)
        await expect(page.get_by_text("Already stored: message")).to_have_count(3)
        await each_has_one(desk)


async def each_has_one(desk: Desk) -> None:
    """Everybody in the file: in the outbox, and at the provider."""
    people = ["15550004001", "15550004002", "15550004003"]
    kept = [message for message in await desk.api.everything() if message["to"].lstrip("+") in people]
    assert sorted(message["to"].lstrip("+") for message in kept) == people
    for message in kept:
        await desk.api.settled(message["id"])
    called = [call["to"].lstrip("+") for call in await desk.sandbox.calls()]
    assert sorted(to for to in called if to in people) == people


async def sends_a_file(opened: Tab) -> None:
    """Three lines can be sent, one cannot."""
    page = opened.page
    people = "".join(f"+1555000400{number},order_confirmation,{HOSTILE},{number}\n" for number in (1, 2, 3))
    content = f"to,templateCode,body1,body2\n{people}12,order_confirmation,Ada,4\n"
    file = FilePayload(name="orders.csv", mimeType="text/csv", buffer=content.encode())
    await page.locator("input[type=file]").set_input_files(file)
    await expect(row(page, "a phone number has 7 to 15 digits")).to_contain_text("5")
    await opened.picture("console-batch-checked")
    await page.get_by_role("button", name="Send 3 messages").click()
    await page.get_by_role("dialog").get_by_role("button", name="Send 3 messages").click()
    await expect(page.get_by_text("3 of 3. Finished.")).to_be_visible()
    await page.get_by_role("radiogroup", name="Show lines").get_by_text("All").click()
    await expect(row(page, "message")).to_have_count(3)
    await opened.picture("console-batch-sent")


async def test_a_number_is_connected_and_people_and_keys_come_and_go(laptop: Site) -> None:
    async with at_the_console(laptop) as desk, signed_in(desk, "/console/numbers") as opened:
        page = opened.page
        await connects_a_number(desk, opened)
        await connects_a_mailbox(page)
        await page.get_by_role("link", name="Users").click()
        await page.get_by_role("button", name="Add user").click()
        await page.get_by_label("Name").fill(HOSTILE)
        await page.get_by_role("dialog").get_by_role("button", name="Add user").click()
        token = await page.get_by_label("Token", exact=True).inner_text()
        await page.get_by_role("button", name="I have saved it").click()
        await expect(row(page, HOSTILE)).to_contain_text("Answer customers and send messages")
        async with signed_in(desk, "/console/outbox", token=token) as theirs:
            await expect(theirs.page.get_by_role("link", name="Batch")).to_be_visible()
            await expect(theirs.page.get_by_role("link", name="Users")).to_have_count(0)
        await page.get_by_role("link", name="API keys").click()
        await page.get_by_role("button", name="Create key").click()
        await page.get_by_label("Name").fill(HOSTILE)
        await page.get_by_role("dialog").get_by_role("button", name="Create key").click()
        key = await page.get_by_label("API key", exact=True).inner_text()
        await page.get_by_role("button", name="I have saved it").click()
        program = Http(desk.api.session, desk.url, {"authorization": f"Bearer {key}"})
        assert await program.answers("/api/v1/outbound/messages")
        await row(page, HOSTILE).get_by_role("button", name="Revoke").click()
        await page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
        await expect(row(page, HOSTILE)).to_have_count(0)
        await until(lambda: program.answers("/api/v1/outbound/messages", 401), "the key has ended")


async def connects_a_number(desk: Desk, opened: Tab) -> None:
    page = opened.page
    number = {"phone_number_id": "207", "waba_id": "777", "token": "its-token", "app_secret": "its-secret"}
    beside = {"verify_token": "chosen", "webhook_url": f"{desk.url}/api/v1/webhooks/whatsapp/inbound"}
    await desk.sandbox.ask("POST", "/_sandbox/numbers", number | beside)
    await page.get_by_role("button", name="Connect number").click()
    await page.get_by_label("Phone number ID").fill("207")
    await page.get_by_label("WhatsApp Business Account ID").fill("777")
    await page.get_by_label("Access token").fill("its-token")
    await page.get_by_label("App secret").fill("its-secret")
    await page.get_by_label("Verify token").fill("chosen")
    await page.get_by_text("Advanced", exact=True).click()
    await page.get_by_label("Cloud API URL").fill(f"{desk.sandbox.url}/v25.0")
    assert "its-token" not in await page.locator("main").inner_text(), "no secret is on the screen"
    await page.get_by_role("button", name="Connect", exact=True).click()
    await expect(page.get_by_text(f"{desk.url}/api/v1/webhooks/whatsapp/inbound")).to_be_visible()
    await opened.picture("console-connect")
    await page.get_by_role("button", name="Run checks").click()
    await expect(page.get_by_text("The webhook endpoint accepts this verify token")).to_be_visible()
    await expect(page.get_by_text("templates can be read: 2")).to_be_visible()
    connected = row(page, "207")
    frame = page.get_by_role("table", name="Numbers").locator("..")
    assert await frame.evaluate("frame => frame.scrollWidth <= frame.clientWidth"), "every button of a row can be seen"
    await tries_it(desk, opened, connected)
    await connected.get_by_role("button", name="Disable").click()
    await page.get_by_role("dialog").get_by_role("button", name="Disable").click()
    await expect(connected).to_contain_text("Disabled (messages wait)")
    await connected.get_by_role("button", name="Disconnect").click()
    await expect(page.get_by_role("dialog")).to_contain_text("NUMBER_DISCONNECTED")
    await page.get_by_role("dialog").get_by_role("button", name="Disconnect").click()
    await expect(connected).to_have_count(0)


async def tries_it(desk: Desk, opened: Tab, connected: Locator) -> None:
    """In the wizard, where it works; then from the list, with a token that does not."""
    page = opened.page
    await expect(connected).to_contain_text("not tried yet")
    await page.get_by_role("region", name="Connect number").get_by_role("button", name="Try it").click()
    await expect(page.get_by_text("It works: Meta recognizes the number and token")).to_be_visible()
    await expect(page.get_by_role("definition").filter(has_text="15550783881")).to_be_visible()
    await expect(connected).to_contain_text("Open (verified by Meta)")
    await opened.accessible()
    await opened.picture("console-try-works")
    await page.get_by_role("button", name="Done").click()
    await desk.api.ask("PATCH", "/api/v1/numbers/207", {"token": "a-wrong-token"})
    await connected.get_by_role("button", name="Try it").click()
    dialog = page.get_by_role("dialog")
    await expect(dialog).to_contain_text("The provider refuses the token: 190")
    await expect(dialog).to_contain_text("What to do: connect the number with a new token")
    await expect(dialog).to_contain_text("/api/v1/numbers/207/try")
    await expect(dialog).to_contain_text("waypost admin try-number demo 207")
    await expect(dialog).not_to_contain_text("a-wrong-token")
    await opened.accessible()
    await opened.picture("console-try-refused")
    await dialog.get_by_role("button", name="Close").last.click()
    await expect(connected).to_contain_text("The provider refuses the token: 190")


async def connects_a_mailbox(page: Page) -> None:
    await page.get_by_role("button", name="Connect mailbox").click()
    dialog = page.get_by_role("dialog")
    for name, value in (("Address", "shop@example.com"), ("SMTP server", "127.0.0.1"), ("Username", "shop")):
        await dialog.get_by_label(name).fill(value)
    await dialog.get_by_label("Password", exact=True).fill("its-password")
    await expect(dialog).not_to_contain_text("its-password")
    await dialog.get_by_role("button", name="Connect mailbox").click()
    await expect(row(page, "shop@example.com")).to_contain_text("Active")


async def test_whatever_others_write_is_text_and_fits_at_every_width(laptop: Site) -> None:
    async with at_the_console(laptop) as desk:
        failed = await ended(desk, UNREACHABLE, HOSTILE)
        posted = await desk.api.post({"to": "+15550001111", "payloadJson": {"text": HOSTILE}})
        await desk.api.settled(posted.body["id"])
        await desk.api.ask("POST", "/api/v1/keys", {"role": "readonly", "label": HOSTILE})
        await desk.api.ask("POST", "/api/v1/users", {"name": HOSTILE, "role": "agent"})
        await desk.api.ask("PATCH", "/api/v1/conversations/1", {"labels": [HOSTILE], "state": "closed"})
        pages = PAGES | {f"outbox/{failed}": f"Message {failed}"}
        looks: tuple[tuple[tuple[int, int], Colours], ...] = ((DESKTOP, "light"), (TABLET, "light"), (PHONE, "dark"))
        for size, colours in looks:
            async with signed_in(desk, "/console/outbox", size, colours) as opened:
                for path, heading in pages.items():
                    await is_well_drawn(opened, path, heading, thoroughly=size != TABLET)
        await reads_only(desk, failed)


async def is_well_drawn(opened: Tab, path: str, heading: str, *, thoroughly: bool) -> None:
    page = opened.page
    await page.evaluate(GO, f"/console/{path}")
    await expect(page.locator("main h2")).to_have_text(heading)
    await expect(page.get_by_label("Loading…")).to_have_count(0)
    if "name=" in path:
        await page.get_by_label("Body: {{1}}").fill(HOSTILE)
        await expect(page.get_by_text(f"Hello {HOSTILE}")).to_be_visible()
    if path == "audit":
        await expect(row(page, f"Closed; labels: {HOSTILE}").locator("summary").last).to_have_text("Details")
    width = await page.evaluate("innerWidth")
    await opened.uncut(dots=False)
    assert await page.locator("img[src=x], main b").count() == 0, path
    await opened.picture(f"console-{path.partition('?')[0].replace('/', '-')}-{width}")
    if thoroughly:
        await opened.accessible()


async def reads_only(desk: Desk, failed: int) -> None:
    """No person has this role so far; the page offers nothing that the server would refuse to one who had."""

    async def as_reader(route: Route) -> None:
        answer = await route.fetch()
        told = json.loads(await answer.text())
        await route.fulfill(response=answer, json=told | {"role": "readonly"})

    async with tab(desk.chromium) as opened:
        page = opened.page
        await page.route("**/api/v1/session", as_reader)
        await signs_in(page, f"{desk.url}/console/outbox/{failed}", desk.token)
        await expect(page.get_by_role("alert")).to_contain_text("What to do")
        await expect(page.get_by_role("button", name="Send again")).to_have_count(0)
        for path, shown in (("dead-letters", "131026"), ("templates", "hello_world")):
            await page.goto(f"{desk.url}/console/{path}")
            await expect(page.get_by_text(shown).first).to_be_visible()
            await expect(page.get_by_role("button", name="again")).to_have_count(0)
            await expect(page.get_by_role("button", name="Sync now")).to_have_count(0)
        await expect(page.get_by_role("link", name="Batch")).to_have_count(0)
        await expect(page.get_by_role("link", name="Numbers")).to_have_count(0)
