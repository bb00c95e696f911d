"""A turn becomes a prompt that fits, in which roles take turns and images are shown."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.adapters.openai.prompt import IMAGE_TOKENS, MOST_IMAGES, PromptLimits, estimate, fitting, messages
from waypost.model.turn import Turn, TurnMessage
from waypost_testing.contracts.conversations.bot import a_line, a_turn

PNG = b"\x89PNG\r\n\x1a\n0000"
WEBP = b"RIFF\x10\0\0\0WEBPVP8 "


def bot(text: str) -> TurnMessage:
    return a_line(text, sender="bot")


def image(caption: str = "", media_id: str | None = "media_1", **change: Any) -> TurnMessage:
    return a_line(caption, type="image", media_id=media_id, **change)


async def prompt(
    turn: Turn, *, tokens: int = 1000, system: str = "Be kind.", files: Any = None
) -> list[dict[str, Any]]:
    async def media(_org: str, media_id: str) -> bytes | None:
        file: bytes | None = files.get(media_id)
        return file

    window = PromptLimits(system=system, history_tokens=tokens, media=None if files is None else media)
    return await messages(turn, window)


async def test_a_burst_is_one_message_of_the_user() -> None:
    assert await prompt(a_turn("one", "two")) == [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "one\ntwo"},
    ]


async def test_no_system_prompt_is_no_message() -> None:
    assert await prompt(a_turn("one"), system="") == [{"role": "user", "content": "one"}]


async def test_roles_take_turns_and_a_person_speaks_as_the_model() -> None:
    history = [a_line("a"), a_line("b"), bot("c"), a_line("d", sender="user_7"), a_line("e"), bot("f")]
    spoken = await prompt(a_turn("now", history=history))
    assert [(each["role"], each["content"]) for each in spoken[1:]] == [
        ("user", "a\nb"),
        ("assistant", "c\nd"),
        ("user", "e"),
        ("assistant", "f"),
        ("user", "now"),
    ]


async def test_what_was_never_answered_stands_apart_from_the_burst() -> None:
    assert (await prompt(a_turn("now", "then", history=[a_line("before")])))[1:] == [
        {"role": "user", "content": "before\n\nnow\nthen"}
    ]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (image(media_id=None), "[image]"),
        (image("our cat", media_id=None), "[image] our cat"),
        (a_line("", type="location"), "[location]"),
        (a_line("Yes", type="button"), "Yes"),
    ],
)
async def test_what_cannot_be_shown_is_described(line: TurnMessage, told: str) -> None:
    assert (await prompt(a_turn(line)))[1]["content"] == told


@pytest.mark.parametrize(
    ("file", "kind"), [(PNG, "png"), (b"\xff\xd8\xff\xe0", "jpeg"), (b"GIF89a", "gif"), (WEBP, "webp")]
)
async def test_an_image_is_shown_by_what_it_is(file: bytes, kind: str) -> None:
    (_, spoken) = await prompt(a_turn("look", image("our cat"), "nice?"), files={"media_1": file})
    url = f"data:image/{kind};base64,{base64.b64encode(file).decode()}"
    assert spoken["content"] == [
        {"type": "text", "text": "look"},
        {"type": "image_url", "image_url": {"url": url}},
        {"type": "text", "text": "our cat\nnice?"},
    ]


@pytest.mark.parametrize("file", [None, b"", b"<svg onload=alert(1)>"])
async def test_a_file_that_is_gone_or_no_image_is_described(file: bytes | None) -> None:
    assert (await prompt(a_turn(image()), files={"media_1": file}))[1]["content"] == "[image]"


async def test_an_image_that_we_sent_is_described() -> None:
    spoken = await prompt(a_turn("hm", history=[image(sender="bot")]), tokens=5000, files={"media_1": PNG})
    assert spoken[1] == {"role": "assistant", "content": "[image]"}


async def test_only_the_newest_images_are_shown() -> None:
    album = [image(str(number)) for number in range(8)]
    (_, spoken) = await prompt(a_turn(*album), files={"media_1": PNG})
    assert spoken["content"][0] == {"type": "text", "text": "[image] 0\n[image] 1\n[image] 2"}
    assert [part["type"] for part in spoken["content"][1:]] == ["image_url", "text"] * MOST_IMAGES


def test_the_newest_lines_fit_and_the_burst_is_always_whole() -> None:
    history = [a_line("x" * 40) for _ in range(10)]
    assert len(fitting(history, 3 * 14, with_images=False)) == 3
    assert len(fitting(history, 3 * 14 - 1, with_images=False)) == 2
    assert fitting(history, 0, with_images=False) == []
    assert fitting([], 100, with_images=False) == []


def test_an_image_costs_only_where_it_is_shown() -> None:
    assert len(fitting([image()], 100, with_images=False)) == 1
    assert len(fitting([image()], IMAGE_TOKENS, with_images=True)) == 0


@given(st.lists(st.text(max_size=30)), st.integers(min_value=0, max_value=100))
def test_what_fits_is_the_end_of_the_history_and_never_too_much(texts: list[str], tokens: int) -> None:
    history = [a_line(text) for text in texts]
    fits = fitting(history, tokens, with_images=False)
    assert list(fits) == history[len(history) - len(fits) :]
    assert sum(estimate(line.text) for line in fits) <= tokens


@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("你好", 2), ("\ud800", 1)])
def test_four_bytes_are_a_token(text: str, tokens: int) -> None:
    assert estimate(text) == tokens
