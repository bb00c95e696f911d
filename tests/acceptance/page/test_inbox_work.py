"""A day's work in the inbox, in a real browser: templates, failures, files, colleagues, hostile words, keys, widths."""

from __future__ import annotations

import base64
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import FilePayload, Page, expect

from tests.acceptance.conftest import Place
from tests.acceptance.stage.browser import DESKTOP, PHONE, Tab, browser, tab
from tests.acceptance.stage.clients import Api, Sandbox
from tests.acceptance.stage.harness import Site, until
from tests.acceptance.stage.laptop import demo
from tests.acceptance.stage.page_play import HOSTILE, bubble, is_indexed, picture, says, sends, signs_in, with_page
from tests.acceptance.stage.talking import Notes, think

ADA, GRACE, OLD = "15550001111", "15550002222", "15550003333"
LONG_NAME = "Wolfeschlegelsteinhausenbergerdorff-Featherstonehaugh the Third of Somewhere"
WIDTHS = (390, 820, 1280)


@pytest.fixture
def laptop(place: Place) -> Site:
    return with_page(place)


def with_file(kind: str, mime_type: str, content: bytes, **more: str) -> dict[str, Any]:
    return {"type": kind, kind: {"mime_type": mime_type, "data": base64.b64encode(content).decode(), **more}}


async def colleague(api: Api, name: str) -> str:
    made = await api.ask("POST", "/api/v1/users", {"name": name, "role": "agent"})
    assert made.status == 201, made
    return str(made.body["token"])


async def fits(opened: Tab) -> None:
    """At three widths no text is cut, and nothing has to be scrolled sideways."""
    for width in WIDTHS:
        await opened.page.set_viewport_size({"width": width, "height": 800})
        await opened.uncut()
    await opened.page.set_viewport_size({"width": DESKTOP[0], "height": DESKTOP[1]})


async def test_with_the_24_hours_over_a_template_goes_and_a_failed_one_is_sent_again(laptop: Site) -> None:
    async with demo(laptop) as (facts, _, sandbox), browser() as chromium, tab(chromium) as opened:
        page = opened.page
        yesterday = str(int((datetime.now(UTC) - timedelta(hours=25)).timestamp()))
        await says(sandbox, OLD, "Joan Late", {"type": "text", "text": {"body": "anybody?"}, "timestamp": yesterday})
        await page.goto(facts["login_url"])
        await page.get_by_role("button", name="More", exact=True).click()
        await page.get_by_role("menuitem", name="Window closed").click()
        await page.get_by_role("link", name="Joan Late").click()
        await expect(page.get_by_text("The 24-hour window has been closed since")).to_be_visible()
        await expect(
            page.get_by_role("log").get_by_text("24-hour window closed: only templates can be sent")
        ).to_be_visible()
        await expect(page.get_by_role("button", name="Attach files")).to_have_count(0)
        await opened.accessible()
        await opened.picture("inbox-window-closed")
        await sandbox.fault(to=OLD, error_code=131026, times=1)
        await expect(page.get_by_role("button", name="Send again")).to_have_count(0)
        await sends_template(opened, "Joan", HOSTILE)
        sent = bubble(page, f"Hello Joan, your order {HOSTILE} is confirmed.")
        await expect(sent).to_contain_text("The customer's WhatsApp cannot receive this message.")
        await expect(sent).to_contain_text("reach them another way")
        why = sent.get_by_role("link", name="View details")
        await expect(why).to_have_attribute("href", re.compile(r"^/console/outbox/\d+$"))
        await opened.accessible()
        await opened.picture("inbox-failed")
        await fits(opened)
        await sent.get_by_role("button", name="Send again").click()
        await expect(sent.get_by_label("Delivered")).to_be_visible()
        await expect(sent.get_by_role("button", name="Send again")).to_have_count(0)
        assert await page.locator("img[src=x]").count() == 0


async def sends_template(opened: Tab, first: str, second: str) -> None:
    page = opened.page
    await page.get_by_role("button", name="Template").click()
    dialog = page.get_by_role("dialog", name="Send a template")
    await dialog.get_by_role("button", name="order_confirmation").click()
    await expect(dialog.get_by_label("Text 1")).to_be_focused()
    await expect(dialog.get_by_role("button", name="Send")).to_be_disabled()
    await dialog.get_by_label("Text 1").fill(first)
    await dialog.get_by_label("Text 2").fill(second)
    await expect(dialog.get_by_text(f"Hello {first}, your order {second} is confirmed.")).to_be_visible()
    await opened.accessible()
    await opened.picture("inbox-template")
    await page.keyboard.press("Enter")
    await expect(dialog).to_have_count(0)


async def test_two_agents_see_what_the_other_does_and_stop_is_stop(laptop: Site) -> None:
    think(laptop)
    notes = Notes(laptop.folder)
    notes.hang()
    async with demo(laptop) as (facts, api, sandbox), browser() as chromium:
        token = await colleague(api, "Bea Colleague")
        await says(sandbox, GRACE, "Grace Hopper", "Where is my parcel?")
        async with tab(chromium) as one, tab(chromium, colours="dark") as other:
            mine, hers = one.page, other.page
            await mine.goto(facts["login_url"])
            await signs_in(hers, facts["url"], token)
            await see_the_bot_think((mine, hers), notes)
            await hers.get_by_role("button", name="Take over").click()
            await expect(mine.get_by_text("Handled by Bea Colleague")).to_be_visible()
            await expect(mine.get_by_role("log").get_by_text("Bea Colleague took over")).to_be_visible()
            await mine.get_by_role("button", name="Note").click()
            await sends(mine, "She is a good customer")
            await expect(bubble(hers, "She is a good customer")).to_contain_text("Demo agent · Internal note")
            await sends(hers, "It arrives tomorrow.")
            await expect(bubble(mine, "It arrives tomorrow.")).to_contain_text("Bea Colleague")
            await expect(bubble(mine, "It arrives tomorrow.").get_by_label("Delivered")).to_be_visible()
            await sandbox.read(GRACE)
            for page in (mine, hers):
                await expect(bubble(page, "It arrives tomorrow.").get_by_label("Read", exact=True)).to_be_visible()
            await works_on(api, one, other)
            await says(sandbox, GRACE, "Grace Hopper", "STOP")
            for page in (mine, hers):
                await expect(page.get_by_label("WhatsApp", exact=True)).to_have_value("REVOKED")
            await expect(hers.get_by_text("No messages can be sent.")).to_be_visible()
            await other.picture("inbox-two-agents-dark")
            await sends(hers, "One more thing")
            await expect(bubble(hers, "One more thing")).to_contain_text("The customer has opted out of messages.")
            await other.accessible()


async def see_the_bot_think(pages: tuple[Page, ...], notes: Notes) -> None:
    for page in pages:
        await page.get_by_role("link", name="Grace Hopper").click()
        await expect(page.get_by_text("The bot is thinking…")).to_be_visible()
    notes.go_on()
    for page in pages:
        await expect(bubble(page, "Where is my parcel?")).to_have_count(2)
        await expect(page.get_by_text("The bot is thinking…")).to_have_count(0)


async def share_quick_replies(api: Api, one: Tab, other: Tab) -> None:
    """What one of them keeps, the other is offered when she asks again; who has none begins with what is suggested."""
    mine, hers = one.page, other.page
    hers_to_write = hers.get_by_label("Your message")
    offered = hers.get_by_role("listbox", name="Quick replies").get_by_role("option")
    await hers_to_write.fill("/")
    await expect(offered).to_have_count(3)
    await hers_to_write.fill("")
    for name in ("hello", "moment", "thanks"):
        assert (await api.ask("DELETE", f"/api/v1/quick-replies/{name}")).status == 204
    await mine.get_by_role("button", name="Note", exact=True).click()
    await mine.get_by_label("Your message").fill("/")
    await mine.get_by_role("button", name="Add /thanks").click()
    await expect(mine.get_by_role("option", name="/thanks")).to_be_visible()
    await mine.get_by_role("button", name="Edit quick replies").click()
    await writes_a_quick_reply(one, "größe", f"{{name}}: {HOSTILE}")
    await mine.get_by_label("Your message").fill("")
    await hers_to_write.fill("/grösse")
    await expect(offered).to_have_count(1)
    await other.accessible()
    await other.picture("inbox-quick-replies-dark")
    await hers_to_write.press("Enter")
    await expect(hers_to_write).to_have_value(f"Grace Hopper: {HOSTILE}")
    await hers_to_write.fill("")


async def writes_a_quick_reply(opened: Tab, name: str, text: str) -> None:
    page = opened.page
    dialog = page.get_by_role("dialog", name="Quick replies")
    await dialog.get_by_role("button", name="Add quick reply").click()
    line = dialog.get_by_role("group").last
    await expect(line.get_by_label("Short name")).to_be_focused()
    await page.keyboard.type(f"your {name}")
    await line.get_by_label("Text").fill(text)
    await dialog.get_by_role("button", name="Done").click()
    await expect(line).to_contain_text("The name has white space: join its words with a dash")
    await opened.accessible()
    await opened.uncut()
    await opened.picture("inbox-quick-editor")
    for written in (name, name.replace("ß", "ss")):  # the server takes both for one name
        await line.get_by_label("Short name").fill(written)
        await line.get_by_label("Text").press("Tab")
        await dialog.get_by_role("button", name="Add quick reply").focus()
        await expect(line).to_contain_text("Saved")
    await page.keyboard.press("Escape")
    await expect(dialog).to_have_count(0)


async def works_on(api: Api, one: Tab, other: Tab) -> None:
    """What one of them changes beside the thread, the other sees there and in it."""
    await share_quick_replies(api, one, other)
    mine, hers = one.page, other.page
    await mine.get_by_label("Assigned to").select_option(label="Bea Colleague")
    await expect(hers.get_by_role("log").get_by_text("Demo agent assigned the conversation to you")).to_be_visible()
    await expect(hers.get_by_label("Assigned to")).to_have_value(await mine.get_by_label("Assigned to").input_value())
    await hers.get_by_label("Add label").fill(HOSTILE)
    await hers.get_by_label("Add label").press("Enter")
    await expect(mine.get_by_label("Labels").get_by_text(HOSTILE)).to_be_visible()
    await mine.get_by_label("Status").fill("VIP")
    await mine.get_by_role("button", name="Save", exact=True).click()
    await expect(mine.get_by_role("button", name="Save", exact=True)).to_have_count(0)
    await one.accessible()
    await one.picture("inbox-details-light")
    await mine.get_by_role("log").focus()
    await mine.keyboard.press("e")
    await expect(hers.get_by_role("log").get_by_text("Demo agent closed the conversation")).to_be_visible()
    await expect(hers.get_by_role("navigation", name="Conversations").get_by_role("link", name="Grace")).to_have_count(
        0
    )


async def test_files_come_and_go_and_whatever_people_write_is_text(laptop: Site, tmp_path: Path) -> None:
    async with demo(laptop) as (facts, _, sandbox), browser() as chromium, tab(chromium, colours="dark") as opened:
        page = opened.page
        await says(sandbox, GRACE, HOSTILE, HOSTILE)
        await page.goto(facts["login_url"])
        await page.get_by_role("link", name=HOSTILE).click()
        await page.get_by_role("button", name="Take over").click()
        await expect(bubble(page, HOSTILE)).to_have_count(2)
        await receives(opened, sandbox)
        await sends_files(opened, tmp_path)
        await page.get_by_role("button", name="Note").click()
        await sends(page, f"note {HOSTILE}")
        await expect(bubble(page, f"note {HOSTILE}")).to_have_count(1)
        await opened.accessible()
        await opened.picture("inbox-files-dark")
        await fits(opened)
        assert await page.locator("img[src=x]").count() == 0
        assert await page.locator("main b").count() == 0
        assert await page.title() == "Waypost"


async def receives(opened: Tab, sandbox: Sandbox) -> None:
    page = opened.page
    log = page.get_by_role("log")
    await says(sandbox, GRACE, HOSTILE, with_file("image", "image/png", picture(), caption=f"see {HOSTILE}"))
    await says(
        sandbox, GRACE, HOSTILE, with_file("document", "application/pdf", b"%PDF-1.4", filename=f"{HOSTILE}.pdf")
    )
    place = {"latitude": 52.52, "longitude": 13.405, "name": HOSTILE}
    await says(sandbox, GRACE, HOSTILE, {"type": "location", "location": place})
    card = {"name": {"formatted_name": HOSTILE, "first_name": "x"}, "phones": [{"phone": HOSTILE}]}
    await says(sandbox, GRACE, HOSTILE, {"type": "contacts", "contacts": [card]})
    answer = next(line for line in await sandbox.screen(GRACE) if line["from"] == "business")
    reaction = {"message_id": answer["wamid"], "emoji": "👍"}
    await says(sandbox, GRACE, HOSTILE, {"type": "reaction", "reaction": reaction})
    reply = {"type": "text", "text": {"body": "this one"}, "context": {"id": answer["wamid"]}}
    await says(sandbox, GRACE, HOSTILE, reply)
    await expect(bubble(page, "this one").get_by_role("button", name="Bot")).to_contain_text(HOSTILE)
    await expect(log.get_by_label(f"{HOSTILE}: 👍")).to_have_count(1)
    await expect(log.get_by_role("link", name=f"{HOSTILE}.pdf")).to_have_attribute("download", f"{HOSTILE}.pdf")
    there = log.get_by_role("link", name="Open in map")
    await expect(there).to_have_attribute("rel", "noopener noreferrer")
    await log.get_by_role("button", name="Enlarge photo").click()
    large = page.get_by_role("dialog").get_by_role("img")
    await expect(large).to_be_visible()
    assert await large.evaluate("image => image.decode().then(() => image.naturalWidth)") == 60
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("dialog")).to_have_count(0)


async def drops(page: Page, name: str, kind: str, content: bytes) -> None:
    """A file is dragged onto the thread."""
    handed = {"name": name, "kind": kind, "content": list(content)}
    dragged = await page.evaluate_handle(
        """({name, kind, content}) => {
          const dragged = new DataTransfer();
          dragged.items.add(new File([new Uint8Array(content)], name, {type: kind}));
          return dragged;
        }""",
        handed,
    )
    log = page.get_by_role("log")
    await log.dispatch_event("dragenter", {"dataTransfer": dragged})
    await expect(page.get_by_text("Drop files to attach them")).to_be_visible()
    await log.dispatch_event("drop", {"dataTransfer": dragged})
    await expect(page.get_by_text("Drop files to attach them")).to_have_count(0)


async def sends_files(opened: Tab, tmp_path: Path) -> None:
    page = opened.page
    chooser = page.locator("input[type=file]")
    too_large = tmp_path / "film.png"
    too_large.write_bytes(bytes(5_000_001))
    await chooser.set_input_files(too_large)
    await expect(page.get_by_text("Too large: the limit for a photo is 5 MB.")).to_be_visible()
    await page.get_by_role("button", name="Remove film.png").click()
    offer = FilePayload(name=f"{HOSTILE}.txt", mimeType="text/plain", buffer=b"our offer")
    await chooser.set_input_files([offer])
    await drops(page, "pic.png", "image/png", picture())
    await expect(page.get_by_text("Ready to send")).to_have_count(2)
    await opened.accessible()
    await sends(page, "as promised")
    await expect(bubble(page, "as promised").get_by_label("Delivered")).to_be_visible()
    await expect(bubble(page, "as promised")).to_contain_text(f"{HOSTILE}.txt")
    log = page.get_by_role("log")
    await expect(log.get_by_role("button", name="Enlarge photo: pic.png")).to_be_visible()
    await page.reload()  # what this browser had is gone: the server has it, for everybody
    kept = re.compile(r"^/api/v1/media/\d+$")
    await expect(log.get_by_role("link", name=f"{HOSTILE}.txt")).to_have_attribute("href", kept)
    await expect(log.get_by_role("button", name="Enlarge photo")).to_have_count(2)


async def test_the_keyboard_is_enough_and_a_search_finds_its_way_back(laptop: Site) -> None:
    async with demo(laptop) as (facts, api, sandbox), browser() as chromium, tab(chromium) as opened:
        page = opened.page
        await until(lambda: is_answered(sandbox, ADA), "Ada is answered, and so stands below whoever writes now")
        await says(sandbox, GRACE, LONG_NAME, "the needle in the haystack")
        lines = [{"type": "text", "text": {"body": f"straw {n}"}} for n in range(120)]
        burst = {"messages": lines, "together": True, "name": LONG_NAME}
        assert (await sandbox.ask("POST", f"/_sandbox/phones/{GRACE}/say", burst)).status == 200
        await page.goto(facts["login_url"])
        await answers_by_keys(opened)
        await is_indexed(api, "needle")
        await finds_by_keys(opened)
        await fits(opened)
        await fits_on_a_phone(opened)


async def is_answered(sandbox: Sandbox, phone: str) -> bool:
    return any(line["from"] == "business" for line in await sandbox.screen(phone))


async def answers_by_keys(opened: Tab) -> None:
    page = opened.page
    await expect(page.get_by_role("link", name="Ada")).to_contain_text("Bot:")
    await expect(page.get_by_role("link", name=LONG_NAME)).to_contain_text("Bot:")
    await page.keyboard.press("j")
    await expect(page.get_by_role("heading", name=LONG_NAME)).to_be_visible()
    await expect(bubble(page, "straw 119").first).to_be_visible()
    await page.keyboard.press("t")
    await expect(page.get_by_text("Handled by you")).to_be_visible()
    await leaves_one_thing_at_a_time(page)
    await looks_at_quick_replies(page)
    await page.keyboard.press("r")
    await page.keyboard.type("/tha")
    await expect(page.get_by_role("option")).to_have_count(1)
    await page.keyboard.press("Enter")
    await expect(page.get_by_label("Your message")).to_have_value("Thank you for your patience!")
    await page.keyboard.press("Enter")
    await expect(bubble(page, "Thank you for your patience!").get_by_label("Delivered")).to_be_visible()


async def looks_at_quick_replies(page: Page) -> None:
    """By the button; what it wrote to ask for them is not left behind, to be sent to the customer."""
    button, to_write = page.get_by_role("button", name="Quick replies", exact=True), page.get_by_label("Your message")
    for by_key in (True, False):
        await button.click()
        await expect(page.get_by_role("option")).to_have_count(3)
        await expect(to_write).to_have_value("/")
        if by_key:
            await page.keyboard.press("Escape")
        else:
            await page.get_by_role("log").click(position={"x": 2, "y": 2})
        await expect(page.get_by_role("option")).to_have_count(0)
        await expect(to_write).to_have_value("")
    await page.get_by_role("log").focus()


async def leaves_one_thing_at_a_time(page: Page) -> None:
    """Escape closes what lies on top; the conversation stays."""
    where, details = page.url, page.get_by_role("complementary", name="Details")
    await page.get_by_role("button", name="More", exact=True).click()
    await expect(page.get_by_role("menu")).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("menu")).to_have_count(0)
    await page.get_by_role("button", name="Emoji").click()
    await expect(page.get_by_role("button", name="👍")).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("button", name="👍")).to_have_count(0)
    await expect(details).to_be_visible()
    await page.get_by_role("log").focus()
    await page.keyboard.press("Escape")
    await expect(details).to_have_count(0)
    assert page.url == where
    await page.keyboard.press("i")
    await expect(details).to_be_visible()
    await page.keyboard.press("i")
    await expect(details).to_have_count(0)
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("log")).to_have_count(0)
    await page.go_back()
    await expect(page.get_by_role("log")).to_be_visible()


async def finds_by_keys(opened: Tab) -> None:
    page = opened.page
    await page.keyboard.press("Escape")
    await page.keyboard.press("?")
    await expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_contain_text(
        "Close or reopen the conversation"
    )
    await opened.accessible()
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("dialog")).to_have_count(0)
    await page.keyboard.press("/")
    await page.keyboard.type("ADA")
    await page.get_by_role("list", name="Customers").get_by_role("link", name="Ada").press("Enter")
    await expect(page.get_by_role("heading", name="Ada")).to_be_visible()
    await page.get_by_label("Search all conversations").fill("+1 555-000-2222")
    await expect(page.get_by_role("list", name="Customers").get_by_role("link")).to_contain_text(LONG_NAME)
    await opened.picture("inbox-people")
    await page.get_by_label("Search all conversations").fill("needle")
    found = page.get_by_role("list", name="Results").get_by_role("link").first
    await expect(found).to_contain_text("needle")
    await found.press("Enter")
    await expect(page.locator("[data-sought]")).to_contain_text("the needle in the haystack")
    await expect(page.locator("[data-sought]")).to_be_in_viewport()
    await opened.picture("inbox-jump")


async def fits_on_a_phone(opened: Tab) -> None:
    page = opened.page
    await page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
    await page.get_by_role("button", name="Details").click()
    await expect(page.get_by_role("complementary", name="Details")).to_be_in_viewport()
    await opened.accessible()
    await opened.uncut()
    await opened.picture("inbox-phone-details")
