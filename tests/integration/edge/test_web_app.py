"""The page as a browser gets it: compressed, cached or revalidated, under a strict policy, never the API."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from tests.integration.stage.harness import ON_SQLITE, Answer, Stage
from waypost.http import app
from waypost.http.edge.web_app import NOT_BUILT, WebApp

ROOT = Path(__file__).parents[3]
INDEX = b"<!doctype html><title>the page</title>" + b" " * 600
FORMS = {None: INDEX, "gzip": gzip.compress(INDEX, mtime=0), "br": b"as brotli has it"}
SCRIPT = b"console.log('the page')"


@pytest.fixture(autouse=True)
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small page in place of the real one, which may not have been built."""
    folder = tmp_path / "page"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_bytes(INDEX)
    (folder / "index.html.gz").write_bytes(FORMS["gzip"])
    (folder / "index.html.br").write_bytes(FORMS["br"])
    (folder / "assets" / "index-1a2b.js").write_bytes(SCRIPT)
    (folder / "secret.txt").write_bytes(b"not for everybody")
    monkeypatch.setattr(app, "page", lambda: WebApp(folder))
    return folder


async def get(stage: Stage, path: str, method: str = "GET", **headers: str) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return await stage.call(method, path, key="", headers=named)


@ON_SQLITE
@pytest.mark.parametrize("path", ["/", "/inbox", "/inbox/17", "/console/outbox", "/phones"])
async def test_every_view_of_the_page_is_the_page(stage: Stage, path: str) -> None:
    answer = await get(stage, path)
    assert (answer.status, answer.body) == (200, INDEX)
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["cache-control"] == "no-cache"


@ON_SQLITE
@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/healthz", 200),
        ("/readyz", 200),
        ("/metrics", 200),
        ("/api/v1/openapi.json", 200),
        ("/api/v1/conversations", 401),
        ("/api/v1/nothing", 404),
        ("/api/v1/webhooks/whatsapp/inbound", 403),
        ("/api", 404),
        ("/inboxes", 404),
        ("/secret.txt", 404),
        ("/index.html", 404),
        ("/assets/../secret.txt", 404),
        ("/assets/none.js", 404),
    ],
)
async def test_the_page_is_never_in_the_way(stage: Stage, path: str, status: int) -> None:
    answer = await get(stage, path)
    assert answer.status == status
    assert b"not for everybody" not in answer.body
    assert INDEX not in answer.body


@ON_SQLITE
async def test_only_reading_is_the_pages(stage: Stage) -> None:
    head = await get(stage, "/", "HEAD")
    assert (head.status, head.body) == (200, b"")
    assert head.headers["content-length"] == str(len(INDEX))
    assert (await get(stage, "/", "POST")).status in (404, 405)


@ON_SQLITE
async def test_an_asset_is_kept_for_ever_and_the_page_is_asked_for_again(stage: Stage) -> None:
    asset = await get(stage, "/assets/index-1a2b.js")
    assert asset.body == SCRIPT
    assert asset.headers["content-type"] == "text/javascript; charset=utf-8"
    assert asset.headers["cache-control"] == "public, max-age=31536000, immutable"
    page = await get(stage, "/")
    again = await get(stage, "/", if_none_match=page.headers["etag"])
    assert (again.status, again.body) == (304, b"")
    assert (await get(stage, "/", if_none_match='"another"')).status == 200


@ON_SQLITE
@pytest.mark.parametrize(
    ("accepted", "encoding"),
    [
        ("gzip, deflate, br, zstd", "br"),
        ("gzip", "gzip"),
        ("br;q=0, gzip;q=0.5", "gzip"),
        ("identity", None),
        ("", None),
    ],
)
async def test_it_comes_in_the_smallest_form_that_is_taken(stage: Stage, accepted: str, encoding: str | None) -> None:
    answer = await get(stage, "/", accept_encoding=accepted)
    assert answer.headers.get("content-encoding") == encoding
    assert answer.headers["vary"] == "accept-encoding"
    assert answer.body == FORMS[encoding]


@ON_SQLITE
async def test_a_page_may_load_nothing_from_elsewhere_and_be_framed_by_nobody(stage: Stage) -> None:
    for path in ("/", "/assets/index-1a2b.js", "/assets/none.js"):
        headers: Any = (await get(stage, path)).headers
        policy = dict(part.split(" ", 1) for part in headers["content-security-policy"].split("; "))
        assert policy["default-src"] == "'none'"
        assert policy["frame-ancestors"] == "'none'"
        assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
        assert "unsafe" not in headers["content-security-policy"]
        assert (headers["x-content-type-options"], headers["referrer-policy"]) == ("nosniff", "no-referrer")


@ON_SQLITE
async def test_without_a_page_the_server_says_how_to_build_it(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "page", lambda: WebApp(tmp_path / "nothing"))
    server = await stage.add_server()
    stage.network.hosts["bare.test"] = server.app
    answer = await stage.call("GET", "/", key="", host="bare.test")
    assert (answer.status, answer.body) == (200, NOT_BUILT)
    assert b"make page" in answer.body
    assert answer.headers["cache-control"] == "no-store"


def test_its_lock_names_no_registry() -> None:
    assert '"resolved"' not in (ROOT / "web" / "package-lock.json").read_text()
