"""The inbox in a real browser, on a real demo: a customer writes, the bot answers, a person takes over and is read."""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from playwright.async_api import expect

from tests.acceptance.conftest import Place
from tests.acceptance.stage.browser import PHONE, Tab, browser, tab
from tests.acceptance.stage.clients import Api, Sandbox, clients
from tests.acceptance.stage.harness import Site
from tests.acceptance.stage.laptop import demo, first_line, start
from tests.acceptance.stage.page_play import HOSTILE, bubble, connection, is_indexed, says, sends, signs_in, with_page

GRACE = "15550002222"


@pytest.fixture
def laptop(place: Place) -> Site:
    return with_page(place)


@asynccontextmanager
async def at_the_inbox(here: Site) -> AsyncIterator[tuple[Tab, Api, Sandbox, dict[str, str]]]:
    async with demo(here) as (facts, api, sandbox), browser() as chromium, tab(chromium) as opened:
        await opened.page.goto(facts["login_url"])
        await expect(connection(opened.page)).to_have_text("Live")
        yield opened, api, sandbox, facts


async def test_a_customer_writes_the_bot_answers_a_person_takes_over_and_is_read(laptop: Site) -> None:
    async with at_the_inbox(laptop) as (opened, api, sandbox, facts):
        page = opened.page
        assert page.url == f"{facts['url']}/", "the code has left the address"
        await says(sandbox, GRACE, "Grace Hopper", "Where is my parcel?")
        row = page.get_by_role("link", name="Grace Hopper")
        await expect(row).to_contain_text("Bot: Where is my parcel?")
        await expect(row.get_by_label("1 unread message")).to_be_visible()
        await opened.picture("inbox-list")
        await row.click()
        log = page.get_by_role("log")
        await expect(bubble(page, "Where is my parcel?")).to_have_count(2)
        await expect(row.get_by_label("1 unread message")).to_have_count(0)
        await page.get_by_role("button", name="Take over").click()
        await expect(page.get_by_text("Handled by you")).to_be_visible()
        await expect(log.get_by_text("You took over")).to_be_visible()
        await sends(page, "It arrives tomorrow.")
        await expect(bubble(page, "It arrives tomorrow.").get_by_label("Delivered")).to_be_visible()
        await sandbox.arrived(GRACE)
        await sandbox.read(GRACE)
        await expect(log.get_by_label("Read", exact=True)).to_have_count(2)
        await says(sandbox, GRACE, "Grace Hopper", "Thank you!")
        await expect(bubble(page, "Thank you!")).to_have_count(1)
        await opened.picture("inbox-desktop-light")
        await opened.accessible()
        await page.get_by_role("button", name="Hand back to the bot").click()
        await expect(page.get_by_role("button", name="Take over")).to_be_visible()
        shown = [(line["from"], line["text"]) for line in await sandbox.screen(GRACE)]
        assert ("business", "It arrives tomorrow.") in shown
        await is_indexed(api, "tomorrow")
        await finds(opened, "tomorrow", "It arrives tomorrow.")


async def finds(opened: Tab, words: str, sentence: str) -> None:
    """By keyboard, from wherever one is."""
    page = opened.page
    await page.get_by_role("log").focus()
    await page.keyboard.press("/")
    await page.keyboard.type(words)
    await expect(page.get_by_role("list", name="Results").get_by_role("link").first).to_contain_text(sentence)
    await opened.picture("inbox-search")
    await opened.accessible()


async def test_on_a_phone_list_and_thread_take_turns_and_what_customers_write_is_text(laptop: Site) -> None:
    async with demo(laptop) as (facts, _, sandbox), browser() as chromium, tab(chromium, PHONE, "dark") as opened:
        page = opened.page
        await says(sandbox, GRACE, HOSTILE, HOSTILE)
        await signs_in(page, facts["url"], facts["user_token"])
        await expect(page.get_by_role("link", name=HOSTILE)).to_contain_text(f"Bot: {HOSTILE}")
        await opened.accessible()
        await opened.picture("inbox-phone-list-dark")
        await page.get_by_role("link", name=HOSTILE).click()
        await expect(bubble(page, HOSTILE)).to_have_count(2)
        await expect(page.get_by_role("navigation", name="Conversations")).to_be_hidden()
        await expect(page.get_by_label("Your message")).to_be_in_viewport()
        await opened.picture("inbox-phone-thread-dark")
        await opened.accessible()
        assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "nothing is cut"
        assert await page.locator("img[src=x]").count() == 0
        assert await page.title() == "Waypost"
        await page.go_back()
        await expect(page.get_by_role("navigation", name="Conversations")).to_be_visible()


async def test_what_is_written_while_the_server_is_away_waits_and_goes_once(laptop: Site) -> None:
    running = start(laptop, "--json")
    facts = await first_line(running)
    async with browser() as chromium, tab(chromium) as opened:
        page = opened.page
        await page.goto(facts["login_url"])
        await page.get_by_role("link", name="Ada").click()
        await expect(connection(page)).to_have_text("Live")
        await page.get_by_role("button", name="Take over").click()
        await expect(page.get_by_text("Handled by you")).to_be_visible()
        running.signal(signal.SIGKILL)
        running.ended(15)
        await expect(connection(page)).to_have_text("Offline")
        await sends(page, "Are you still there?")
        await expect(connection(page)).to_have_text("Offline: 1 message queued")
        await expect(page.get_by_role("log").get_by_label("Waiting for a connection")).to_be_visible()
        await opened.picture("inbox-offline")
        again = start(laptop, "--json")
        await first_line(again)
        await expect(connection(page)).to_have_text("Live", timeout=60_000)
        await expect(bubble(page, "Are you still there?").get_by_label("Delivered")).to_be_visible()
        async with clients(laptop) as (_, sandbox):
            shown = [line["text"] for line in await sandbox.screen("15550001111")]
        assert shown.count("Are you still there?") == 1


async def test_a_token_signs_in_and_out_and_a_used_link_says_so(laptop: Site) -> None:
    async with demo(laptop) as (facts, _, _), browser() as chromium:
        async with tab(chromium) as opened:
            page = opened.page
            await page.goto(facts["url"])
            await page.get_by_label("Token").fill("nonsense")
            await page.get_by_role("button", name="Sign in").click()
            await expect(page.get_by_role("alert")).to_contain_text("This token is invalid or has expired.")
            await opened.accessible()
            await opened.picture("sign-in")
            await signs_in(page, facts["url"], facts["user_token"])
            await page.get_by_role("button", name="Account").click()
            await expect(page.get_by_text("Demo agent", exact=True)).to_be_visible()
            await page.get_by_role("menuitem", name="Sign out").click()
            await expect(page.get_by_label("Token")).to_be_visible()
            assert not await page.context.cookies()
            await page.goto(facts["login_url"])
            await expect(page.get_by_role("link", name="Ada")).to_be_visible()
        async with tab(chromium) as another:
            await another.page.goto(facts["login_url"])
            await expect(another.page.get_by_role("alert")).to_contain_text("already used")
