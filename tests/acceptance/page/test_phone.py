"""The demo's phone beside the inbox, in a real browser: a newcomer plays the customer, and makes trouble."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from playwright.async_api import Browser, FilePayload, Locator, Page, expect

from tests.acceptance.stage.browser import PHONE, Colours, Tab, browser, built_page, tab
from tests.acceptance.stage.clients import Api, Sandbox
from tests.acceptance.stage.harness import site, until
from tests.acceptance.stage.laptop import bare, demo
from tests.acceptance.stage.page_play import HOSTILE, connection, picture, says, sends

WIDE = (1440, 900)
GRACE, LIN, MARY, EDITH = (f"1555000{each}" for each in (2222, 4444, 5555, 6666))
SWIFT = {"WAYPOST_TURN_QUIET_SEC": "1", "WAYPOST_OUTBOUND_WORKER_POLL_INTERVAL_MS": "300"}
SLOW = 60_000
"""Milliseconds for what is tried again after a pause."""


@dataclass
class Show:
    """One demo and one browser for all: each test has a tab and a customer of its own."""

    facts: dict[str, str]
    api: Api
    sandbox: Sandbox
    chromium: Browser


@pytest.fixture(scope="module")
async def show(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Show]:
    built_page()
    with site(tmp_path_factory.mktemp("phone"), "", **SWIFT) as here:
        async with demo(bare(here)) as (facts, api, sandbox), browser() as chromium:
            yield Show(facts, api, sandbox, chromium)


@dataclass
class Play:
    """A newcomer's page: the phone at the left, the inbox at the right."""

    tab: Tab
    show: Show
    name: str

    @property
    def api(self) -> Api:
        return self.show.api

    @property
    def sandbox(self) -> Sandbox:
        return self.show.sandbox

    @property
    def page(self) -> Page:
        return self.tab.page

    @property
    def phone(self) -> Locator:
        return self.page.get_by_role("region", name="Phone of")

    def on_phone(self, text: str) -> Locator:
        return self.phone.get_by_role("log").locator("[data-from]").filter(has_text=text)

    def in_inbox(self, text: str, kind: str = "") -> Locator:
        lines = f"[data-kind='{kind}']" if kind else "[data-kind]"
        return self.page.get_by_role("log", name=f"Messages with {self.name}").locator(lines).filter(has_text=text)

    async def says(self, text: str) -> None:
        await self.phone.get_by_role("textbox").fill(text)
        await self.page.keyboard.press("Enter")

    async def takes_over(self) -> None:
        await self.page.get_by_role("button", name="Take over").click()
        await expect(self.page.get_by_text("Handled by you")).to_be_visible()


@asynccontextmanager
async def playing(
    show: Show, name: str, phone: str, size: tuple[int, int] = WIDE, colours: Colours = "light", path: str = "/"
) -> AsyncIterator[Play]:
    """Somebody who plays this customer; signed in by a token, since a link works once."""
    async with tab(show.chromium, size, colours, newcomer=True) as opened:
        page, url = opened.page, show.facts["url"]
        signed = await page.request.post(f"{url}/api/v1/session", data={"token": show.facts["user_token"]})
        assert signed.ok
        chosen = json.dumps({"chosen": phone, "added": [{"phone": phone, "name": name}]})
        await page.add_init_script(f"localStorage.setItem('waypost.phones', '{chosen}')")
        await page.goto(url + path)
        await expect(connection(page)).to_have_text("Live")
        try:
            yield Play(opened, show, name)
        finally:
            await show.sandbox.clear_faults()


async def test_a_newcomer_sees_both_sides_on_one_page(show: Show) -> None:
    async with tab(show.chromium, WIDE, newcomer=True) as opened:
        play = Play(opened, show, "Ada")
        page, steps = play.page, play.page.get_by_role("region", name="Getting started")
        await page.goto(show.facts["login_url"])
        await expect(page.get_by_role("heading", name="Demo shop")).to_be_visible()
        await expect(page.get_by_role("heading", name="Ada")).to_be_visible()
        await play.says("Hello!")
        await expect(play.on_phone("Hello!")).to_have_count(2)
        await expect(play.in_inbox("Hello!")).to_have_count(2)
        await expect(play.on_phone("Hello!").first.get_by_label("Delivered")).to_be_visible()
        await expect(steps.get_by_text("(done)")).to_have_count(2)
        await play.takes_over()
        await sends(page, "A person writes.")
        await expect(play.on_phone("A person writes.")).to_be_visible()
        await expect(play.in_inbox("A person writes.").get_by_label("Read", exact=True)).to_be_visible()
        await expect(steps.get_by_text("(done)")).to_have_count(3)
        await play.tab.picture("phone-desktop-light")
        await play.tab.accessible()
        await two_phones(play)
        await what_is_hidden_stays_hidden(play)


async def two_phones(play: Play) -> None:
    """Each has its own screen; what came to the other one is counted, and not read."""
    page, grace = play.page, play.page.get_by_role("button", name="Grace")
    await grace.click()
    await expect(play.phone).to_have_accessible_name("Phone of Grace")
    await play.says(HOSTILE)
    await expect(play.on_phone(HOSTILE)).to_have_count(2)
    await page.get_by_role("button", name="Ada", exact=True).click()
    await expect(play.on_phone("A person writes.")).to_be_visible()
    await says(play.sandbox, GRACE, "Grace", "Me again")
    await expect(grace.get_by_text("1 unread")).to_be_visible()
    await expect(page.get_by_role("link", name="Grace")).to_contain_text("Me again")
    await page.get_by_role("button", name="Add phone").click()
    form = page.get_by_role("dialog")
    await form.get_by_label("Name").fill(HOSTILE)
    await form.get_by_label("Number").fill("not a number")
    await form.get_by_role("button", name="Add").click()
    await expect(form.get_by_text("Invalid phone number")).to_be_visible()
    await form.get_by_label("Number").fill("+1 (555) 000-3333")
    await form.get_by_role("button", name="Add").click()
    await play.says("New here")
    await expect(page.get_by_role("link", name=HOSTILE)).to_contain_text("New here")
    await page.get_by_role("button", name="Show in inbox").click()
    await expect(page.get_by_role("heading", name=HOSTILE)).to_be_visible()
    assert await page.locator("img[src=x]").count() == 0
    assert await page.title() == "Waypost"


async def what_is_hidden_stays_hidden(play: Play) -> None:
    page = play.page
    await page.get_by_role("button", name="Dismiss").click()
    await page.get_by_role("button", name="Phone", exact=True).click()
    await expect(play.phone).to_have_count(0)
    await page.reload()
    await expect(connection(page)).to_have_text("Live")
    await expect(play.phone).to_have_count(0)
    await expect(page.get_by_role("region", name="Getting started")).to_have_count(0)
    await page.get_by_role("button", name="Phone", exact=True).click()
    await expect(play.phone).to_be_visible()


async def test_what_a_phone_sends_arrives_and_what_it_is_asked_can_be_tapped(show: Show) -> None:
    async with playing(show, "Lin", LIN, colours="dark") as play:
        await play.phone.get_by_role("button", name="Burst").click()
        await expect(play.on_phone("number A-1042")).to_have_count(2)
        answer = play.in_inbox("I ordered a lamp").last
        await expect(answer).to_contain_text("where is it?")
        await expect(play.in_inbox("where is it?")).to_have_count(2)
        await play.takes_over()
        await sends_files(play)
        await answers_by_taps(play)
        await play.tab.picture("phone-desktop-dark")
        await play.tab.accessible()
        await play.phone.get_by_role("button", name="STOP").click()
        await expect(play.on_phone("You are unsubscribed")).to_be_visible()
        await sends(play.page, "Are you sure?")
        await expect(play.in_inbox("Are you sure?").get_by_label("Not delivered")).to_be_visible()
        assert await play.on_phone("Are you sure?").count() == 0


async def sends_files(play: Play) -> None:
    """Our server fetches them from where the provider keeps them."""
    await play.phone.get_by_role("textbox").fill("the lamp")
    lamp: FilePayload = {"name": "lamp.png", "mimeType": "image/png", "buffer": picture(2, 1)}
    await play.phone.get_by_label("Image from your computer").set_input_files(lamp)
    shown = play.on_phone("the lamp").get_by_role("img", name="Photo")
    await expect(shown).to_be_visible()
    assert await shown.evaluate("image => image.decode().then(() => image.naturalWidth)") == 2, "it can be seen"
    await expect(play.in_inbox("the lamp")).to_have_count(1)
    await play.phone.get_by_role("button", name="Voice").click()
    await play.phone.get_by_role("button", name="Location").click()
    await expect(play.on_phone("Alexanderplatz")).to_be_visible()
    (talk,) = (await play.api.get(f"/api/v1/conversations?phone=%2B{LIN}"))["conversations"]
    talk_id = talk["conversation_id"]
    kept = await until(lambda: stored(play.api, talk_id, 2), "the files are on our shelf")
    assert {file["mimeType"] for file in kept} == {"image/png", "audio/mp4"}
    (image,) = (file for file in kept if file["mimeType"] == "image/png")
    await expect(play.in_inbox("Alexanderplatz")).to_have_count(1)
    history = await play.api.get(f"/api/v1/conversations/{talk_id}/messages")
    said = {message["content"]["type"]: message["position"] for message in history["messages"]}
    assert said["image"] == image["position"]
    assert {"image", "audio", "location"} <= said.keys()


async def stored(api: Api, talk_id: str, count: int) -> list[dict[str, Any]] | None:
    files: list[dict[str, Any]] = (await api.get("/api/v1/media?state=stored"))["content"]
    theirs = [file for file in files if file["conversationId"] == talk_id]
    return theirs if len(theirs) >= count else None


ASKED = {
    "type": "button",
    "header": {"type": "text", "text": HOSTILE},
    "body": {"text": "Is it broken?"},
    "action": {"buttons": [{"type": "reply", "reply": {"id": each, "title": each}} for each in ("Yes", "No")]},
}
LISTED = {
    "type": "list",
    "body": {"text": "Which lamp?"},
    "action": {
        "button": "Lamps",
        "sections": [{"rows": [{"id": "1", "title": "Crimson", "description": "as a brick"}]}],
    },
}
TRACK = {
    "name": "track_it",
    "language": "en",
    "category": "UTILITY",
    "components": [
        {"type": "BODY", "text": "It is on its way."},
        {"type": "BUTTONS", "buttons": [{"type": "QUICK_REPLY", "text": "Thank you"}]},
    ],
}


async def answers_by_taps(play: Play) -> None:
    for asked in (ASKED, LISTED):
        await play.api.post({"to": f"+{LIN}", "payloadJson": {"type": "interactive", "interactive": asked}})
    await play.phone.get_by_role("button", name="Yes", exact=True).click()
    await expect(play.phone.get_by_role("button", name="No", exact=True)).to_be_disabled()
    await play.phone.get_by_role("button", name="Lamps").click()
    await play.phone.get_by_role("button", name="Crimson").click()
    await expect(play.on_phone("Crimson").last.get_by_label("Delivered")).to_be_visible()
    await expect(play.in_inbox("Yes", "theirs")).to_have_count(1)
    await expect(play.in_inbox("Crimson", "theirs")).to_have_count(1)
    graph = {"authorization": f"Bearer {play.show.facts['access_token']}"}
    made = await play.sandbox.ask("POST", f"/v25.0/{play.show.facts['waba_id']}/message_templates", TRACK, **graph)
    assert made.status == 200, made
    await play.api.ask("POST", "/api/v1/outbound/templates/sync")
    template = {"templateCode": "track_it", "payloadJson": {"language": "en"}}
    sent = await play.api.post({"to": f"+{LIN}", **template})
    assert sent.status == 201, sent
    await expect(play.on_phone("It is on its way.")).to_be_visible()
    await play.phone.get_by_role("button", name="Thank you").click()
    await expect(play.in_inbox("Thank you", "theirs")).to_have_count(1)


async def test_trouble_at_one_click_and_every_message_ends_as_it_should(show: Show) -> None:
    async with playing(show, "Mary", MARY) as play:
        await play.says("Hello!")
        await expect(play.in_inbox("Hello!")).to_have_count(2)
        await play.takes_over()
        await play.page.get_by_role("button", name="Make trouble").click()
        for fault in ("Slow", "Duplicate statuses", "Lost responses", "Statuses out of order"):
            await switched(play, fault)
            await sends(play.page, f"Under {fault}")
            await is_read_once(play, f"Under {fault}")
            await switched(play, fault, on=False)
        await waits_until_calm(play)
        await fails_with_a_reason(play)
        await is_held_until_released(play)


def trouble(play: Play) -> Locator:
    return play.page.get_by_role("region", name="Make trouble")


async def switched(play: Play, fault: str, *, on: bool = True) -> None:
    """The page shows what the sandbox has."""
    switch = trouble(play).get_by_role("switch", name=fault)
    await switch.click()
    await expect(switch).to_be_checked(checked=on)
    await expect(trouble(play).get_by_text("1 on")).to_have_count(1 if on else 0)
    assert len((await play.sandbox.get("/_sandbox/faults"))["faults"]) == int(on)


async def is_read_once(play: Play, text: str, *, refused: int | None = None) -> None:
    await expect(play.in_inbox(text).get_by_label("Read", exact=True)).to_be_visible(timeout=SLOW)
    await expect(play.on_phone(text)).to_have_count(1)
    calls = [call for call in await play.sandbox.calls() if text in str(call["body"])]
    assert len([call for call in calls if call["wamid"]]) == 1
    assert refused in (None, len(calls) - 1)


async def waits_until_calm(play: Play) -> None:
    """A provider that is away, and rate limits: the message waits, and goes when it may."""
    await switched(play, "Provider unavailable")
    await sends(play.page, "Are you back?")
    await expect(play.in_inbox("Are you back?").get_by_label("Not sent yet")).to_be_visible()
    await play.tab.picture("phone-trouble")
    await trouble(play).get_by_role("button", name="Clear all").click()
    await expect(trouble(play).get_by_text("1 on")).to_have_count(0)
    await is_read_once(play, "Are you back?")
    for code in (131056, 130429):
        await trouble(play).get_by_label("Which error").select_option(str(code))
        await play.sandbox.fault(to=MARY, error_code=code, times=1)  # once: each refusal makes the next wait longer
        await sends(play.page, f"Limited by {code}")
        await is_read_once(play, f"Limited by {code}", refused=1)


async def fails_with_a_reason(play: Play) -> None:
    await trouble(play).get_by_label("Which error").select_option("131026")
    await switched(play, "Error code")
    await sends(play.page, "Nobody there")
    failed = play.in_inbox("Nobody there")
    await expect(failed.get_by_label("Not delivered")).to_be_visible()
    await expect(failed).to_contain_text("The customer's WhatsApp cannot receive this message.")
    assert await play.on_phone("Nobody there").count() == 0


async def is_held_until_released(play: Play) -> None:
    """Another code while the switch is on is on at once."""
    await trouble(play).get_by_label("Which error").select_option("190")

    async def is_armed() -> bool:
        faults = (await play.sandbox.get("/_sandbox/faults"))["faults"]
        return [fault["error_code"] for fault in faults] == [190]

    await until(is_armed, "the other code is on")
    await sends(play.page, "Held")

    async def closed() -> list[dict[str, Any]]:
        gates: Any = await play.api.get("/api/v1/outbound/gates")
        return [gate for gate in gates["content"] if gate["kind"] == "hold"]

    (gate,) = await until(closed, "the number is held")
    await switched(play, "Error code", on=False)
    await expect(play.in_inbox("Held").get_by_label("Not sent yet")).to_be_visible()
    released = await play.api.ask("POST", f"/api/v1/outbound/gates/{gate['id']}/release")
    assert released.status == 200, released
    await is_read_once(play, "Held")


async def test_on_a_narrow_screen_the_phone_is_a_page_of_its_own(show: Show) -> None:
    async with playing(show, "Edith", EDITH, PHONE, "dark", "/phones") as play:
        page = play.page
        await play.says(HOSTILE)
        await expect(play.on_phone(HOSTILE)).to_have_count(2)
        await page.get_by_role("switch", name="Read automatically").click()
        await says(play.sandbox, EDITH, "Edith", "Unread")
        await expect(play.on_phone("Unread")).to_have_count(2)
        await expect(page.get_by_role("textbox", name="Write as Edith")).to_be_in_viewport()
        await play.tab.picture("phone-narrow-dark")
        await play.tab.accessible()
        assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "nothing is cut"
        await page.get_by_role("link", name="Inbox").click()
        row = page.get_by_role("link", name="Edith")
        await expect(row.get_by_label("Delivered")).to_be_visible()
        await page.get_by_role("link", name="Phone", exact=True).click()
        await page.get_by_role("button", name="Mark as read").click()
        await page.get_by_role("link", name="Inbox").click()
        await expect(row.get_by_label("Read", exact=True)).to_be_visible()
        assert await page.locator("img[src=x]").count() == 0
