"""The operator's console in a real browser: figures that move, a gate that is released, a turn that is replayed."""

from __future__ import annotations

import shutil

import pytest
from playwright.async_api import Locator, Page, expect

from tests.acceptance.conftest import Place
from tests.acceptance.stage import moody_bot
from tests.acceptance.stage.browser import PHONE, Tab, browser, tab
from tests.acceptance.stage.clients import Api, Sandbox
from tests.acceptance.stage.harness import Site, until
from tests.acceptance.stage.laptop import demo
from tests.acceptance.stage.page_play import says, signs_in, with_page

GRACE, SAM = "15550002222", "15550003333"
SECRET = "sk-only-the-server-knows"
PAGES = ["overview", "turns", "limits", "settings"]


@pytest.fixture
def laptop(place: Place) -> Site:
    here = with_page(place)
    shutil.copy(moody_bot.__file__, here.folder)
    here.settings |= {
        "WAYPOST_BOT": "moody_bot:answer",
        "WAYPOST_TURN_RETRY_SEC": "",
        "WAYPOST_OPENAI_API_KEY": SECRET,
    }
    return here


async def signs_in_there(page: Page, url: str, token: str) -> None:
    await signs_in(page, url, token)
    await page.get_by_role("link", name="Console").click()
    await expect(page.get_by_role("heading", name="Overview")).to_be_visible()


async def opens(page: Page, name: str) -> None:
    await page.get_by_role("navigation", name="Console pages").get_by_role("link", name=name).click()
    await expect(page.get_by_role("heading", name=name, exact=True)).to_be_visible()


def tile(page: Page, label: str) -> Locator:
    return page.locator("dl > div").filter(has=page.locator("dt", has_text=label)).locator("dd").first


async def does(page: Page, label: str) -> None:
    """Clicks an action, reads the dialog, and confirms."""
    await page.get_by_role("button", name=label).click()
    dialog = page.get_by_role("dialog")
    await expect(dialog).to_contain_text("Bearer $WAYPOST_KEY")
    await expect(dialog).to_contain_text("waypost admin")
    await dialog.get_by_role("button", name=label, exact=True).click()
    await expect(dialog).to_have_count(0)


async def test_an_operator_sees_what_goes_on_and_lets_go_what_waits(laptop: Site) -> None:
    async with demo(laptop) as (facts, api, sandbox), browser() as chromium, tab(chromium) as opened:
        page = opened.page
        await says(sandbox, GRACE, "Grace Hopper", "Where is my parcel?")
        await until(lambda: both_are_answered(api), "Ada and Grace have their answers")
        await page.goto(facts["login_url"])
        await page.get_by_role("link", name="Console").click()
        await sees_what_flows(opened)
        await releases_a_gate(opened, api, sandbox)
        await replays_a_turn(opened, sandbox)
        await reads_the_settings(opened)


async def both_are_answered(api: Api) -> bool:
    return len(await api.with_status("DELIVERED")) == 2


async def sees_what_flows(opened: Tab) -> None:
    page = opened.page
    await expect(tile(page, "Received")).to_have_text("2")
    await expect(tile(page, "Delivered")).to_have_text("2")
    await expect(page.get_by_role("region", name="Health").first).to_contain_text("All systems operational")
    await expect(page.get_by_role("figure", name="Messages per minute").locator("canvas")).to_be_visible()
    await expect(page.get_by_role("figure")).to_have_count(4)
    await page.get_by_role("button", name="Show cURL").first.click()
    await expect(page.get_by_role("dialog")).to_contain_text("/api/v1/overview?minutes=60")
    await page.keyboard.press("Escape")
    await expect(page).to_have_title("Overview · Waypost")
    await opened.accessible()
    await opened.picture("console-overview")


async def releases_a_gate(opened: Tab, api: Api, sandbox: Sandbox) -> None:
    page = opened.page
    await sandbox.ask("POST", "/_sandbox/faults", {"error_code": 190, "times": 1})
    await api.post({"to": GRACE, "payloadJson": {"text": "It comes tomorrow"}})
    await expect(page.get_by_role("region", name="Waiting messages").get_by_text("On hold")).to_be_visible()
    await expect(tile(page, "Waiting")).to_have_text("1")
    await opens(page, "Limits and holds")
    row = page.get_by_role("table", name="Closed gates").get_by_role("row").last
    await expect(row).to_contain_text("Hold")
    await expect(row).to_contain_text("waypost admin change-number demo")
    await opened.accessible()
    await opened.picture("console-limits")
    await does(page, "Release")
    await expect(page.get_by_text("Gate released. Waiting messages are being sent.")).to_be_visible()
    await expect(page.get_by_text("No closed gates.")).to_be_visible()
    await page.get_by_role("button", name="Change limit").click()
    await page.get_by_label("Messages per 24 hours").fill("77")
    await expect(page.get_by_role("dialog")).to_contain_text('{"quotaLimit":77}')
    await page.get_by_role("button", name="Save", exact=True).click()
    await expect(page.get_by_text("77 per 24 hours")).to_be_visible()
    await page.get_by_label("Phone number or user ID").fill(f"+{GRACE}")
    await page.get_by_role("button", name="Look up").click()
    await expect(page.get_by_text("Open", exact=True)).to_be_visible()


async def replays_a_turn(opened: Tab, sandbox: Sandbox) -> None:
    page = opened.page
    await says(sandbox, SAM, "Sam", "please stumble")
    await opens(page, "Bot turns")
    row = page.get_by_role("table", name="Failed turns").get_by_role("row").last
    await expect(row).to_contain_text("it stumbled")
    await opened.accessible()
    await opened.picture("console-turns")
    await does(page, "Answer now")
    await expect(page.get_by_text("No failed turns.")).to_be_visible()
    await page.goto(page.url.replace("/console/turns", "/inbox"))
    await page.get_by_role("link", name="Sam").click()
    await expect(page.get_by_role("log")).to_contain_text("Heard: please stumble")
    await page.get_by_role("link", name="Console").click()


async def reads_the_settings(opened: Tab) -> None:
    page = opened.page
    await opens(page, "Settings")
    settings = page.get_by_role("table", name="Server settings")
    key = settings.get_by_role("row").filter(has_text="WAYPOST_OPENAI_API_KEY")
    await expect(key).to_contain_text("set (hidden)")
    await expect(key).to_contain_text("Environment")
    await expect(settings.get_by_role("row").filter(has_text="WAYPOST_ENV")).to_contain_text("Command line")
    assert SECRET not in await page.content()
    await page.get_by_role("searchbox", name="Search settings").fill("turn_slots")
    await expect(settings.get_by_role("row")).to_have_count(2)
    await page.get_by_role("button", name="Change Unknown outcome").click()
    await page.get_by_label("Value (JSON)").fill('"nonsense"')
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_role("dialog").get_by_role("alert")).to_be_visible()
    await page.get_by_label("Value (JSON)").fill('"park"')
    await opened.accessible()
    await page.get_by_role("button", name="Save").click()
    await expect(
        page.get_by_role("table", name="Org policy").get_by_role("row").filter(has_text="park")
    ).to_contain_text("Custom")
    await opened.accessible()
    await opened.picture("console-settings")


async def is_whole(opened: Tab) -> None:
    """On a screen, a tablet, a phone."""
    for width in (1280, 768, PHONE[0]):
        await opened.page.set_viewport_size({"width": width, "height": PHONE[1]})
        await opened.uncut(dots=False)


async def test_on_a_phone_in_the_dark_nothing_is_cut_and_an_agent_sees_no_admins_pages(laptop: Site) -> None:
    async with demo(laptop) as (facts, api, sandbox), browser() as chromium, tab(chromium, PHONE, "dark") as opened:
        page = opened.page
        await says(sandbox, SAM, "Sam", "please stumble")
        await sandbox.ask("POST", "/_sandbox/faults", {"error_code": 190, "times": 1})
        await api.post({"to": GRACE, "templateCode": "hello_world", "payloadJson": {"language": "en_US"}})
        await signs_in_there(page, facts["url"], facts["user_token"])
        for name in PAGES:
            await page.get_by_label("Page", exact=True).select_option(name)
            await expect(page).to_have_url(f"{facts['url']}/console/{name}")
            await expect(page.get_by_role("region").first).to_be_visible()
            await expect(page.get_by_label("Loading…")).to_have_count(0)
            await is_whole(opened)
            await opened.accessible()
            await opened.picture(f"console-phone-{name}-dark")
        made = await api.ask("POST", "/api/v1/users", {"name": "Ann", "role": "agent"})
        async with tab(chromium) as anns:
            await signs_in_there(anns.page, facts["url"], made.body["token"])
            side = anns.page.get_by_role("navigation", name="Console pages")
            await expect(side.get_by_role("link", name="Outbox")).to_be_visible()
            await expect(side.get_by_role("link", name="Settings")).to_have_count(0)
            await anns.page.goto(f"{facts['url']}/console/settings")
            await expect(anns.page.get_by_text("Only admins can view this page.")).to_be_visible()
            await opens(anns.page, "Limits and holds")
            await expect(anns.page.get_by_role("button", name="Change limit")).to_have_count(0)
