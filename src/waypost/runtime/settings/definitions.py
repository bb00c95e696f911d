"""Every setting: its name, default and meaning. Environment first, then waypost.toml, then the default."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import msgspec
from msgspec import Meta

from waypost.flow.world import Tuning
from waypost.model.conversation import TurnTiming
from waypost.model.policy import RequestRate
from waypost.model.push import NotificationSettings
from waypost.model.time import Span, days, minutes, seconds
from waypost.rules.content.media import MB
from waypost.rules.live.push_subscription import ANY, PUSH_SERVICES, AllowedPushServices, is_contact, is_public_name
from waypost.rules.sending.delivery import Unsettled
from waypost.rules.sending.retry import Backoff

PREFIX = "WAYPOST_"
_YEAR = 525_600  # minutes
_ONE_OF = re.compile(r"\^\(([a-z|]+)\)\$")
FILE = Path("waypost.toml")


SECRET = ("secret_key", "secret_key_old", "database_url", "redis_url", "history_url", "bot_secret", "openai_api_key")
"""Never shown; a database address may hold a password."""


class SettingsError(Exception):
    """A setting is missing or invalid; the message names it and what to do."""


def _about(text: str, **limits: Any) -> Meta:
    return Meta(description=text, **limits)


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    env: Annotated[str, _about("`local` for a laptop, else `production`", pattern="^(local|production)$")] = (
        "production"
    )
    database_url: Annotated[str, _about("`sqlite:///file.db` or `postgresql://…`")] = "sqlite:///data/waypost.db"
    history_url: Annotated[
        str,
        _about(
            "History store for message bodies: `cassandra://user:password@host1,host2:9042/keyspace`, with any of "
            "`?consistency=LOCAL_QUORUM&replication=3&dc=…&tls=off&ca=…&cert=…&key=…&timeout=5` (`tls` is off, cert "
            "or identity); empty: the database keeps them"
        ),
    ] = ""
    redis_url: Annotated[
        str,
        _about(
            "Wake-ups between machines: `redis://…`, `rediss://…`, `valkey://…`, `redis+sentinel://h1,h2/service/0`"
            " or `redis+cluster://h1,h2`; empty: machines poll"
        ),
    ] = ""
    database_readers: Annotated[
        int, _about("Read connections to PostgreSQL per process; at most seven more write", ge=1, le=100)
    ] = 4
    history_days: Annotated[
        float,
        _about("Days the history store keeps messages of orgs without `historyDays`; 0: for ever", ge=0, le=36_500),
    ] = 0.0
    history_grace_minutes: Annotated[
        float, _about("How long a message's body stays in the database after it was archived", gt=0, le=_YEAR)
    ] = 60.0
    secret_key: Annotated[str, _about("Encrypts tokens and app secrets at rest; required in production")] = ""
    secret_key_old: Annotated[
        str, _about("The previous key, until `waypost admin rotate-secret-key` is done; only decrypts")
    ] = ""
    public_url: Annotated[
        str,
        _about(
            "The public address of this server, e.g. `https://chat.example.com`: `waypost doctor` checks its webhook"
        ),
    ] = ""
    graph_url: Annotated[str, _about("Base URL of the Cloud API")] = "https://graph.facebook.com/v25.0"
    smtp_timeout_sec: Annotated[
        float, _about("Timeout of an email to a mail server, at most half the stale limit", gt=0, le=3600)
    ] = 30.0
    graph_timeout_sec: Annotated[
        float, _about("Timeout of a send, at most half the stale limit; then the outcome is unsure", gt=0, le=3600)
    ] = 30.0
    message_status_sync_timeout_sec: Annotated[
        str,
        _about("Timeout of `?wait=`: seconds, or `auto` for the 99.9th percentile of recent waits, at most 20 s"),
    ] = "20"
    outbound_worker_enabled: Annotated[bool, _about("Whether this process sends messages")] = True
    outbound_worker_poll_interval_ms: Annotated[
        int, _about("How often to poll the outbox without a hint", ge=10, le=3_600_000)
    ] = 5000
    outbound_worker_batch_size: Annotated[int, _about("Most messages claimed at once", ge=1, le=1000)] = 100
    outbound_worker_slots: Annotated[int, _about("Concurrent sends per process", ge=1, le=5000)] = 128
    outbound_backoff_minutes: Annotated[str, _about("Delays before the second, third, … attempt")] = "1,5,15,60,360"
    outbound_jitter: Annotated[float, _about("Upward jitter of those delays, as a fraction", ge=0, le=1)] = 0.1
    outbound_stale_minutes: Annotated[
        float, _about("How long an unsure send waits for a status", ge=0.05, le=_YEAR)
    ] = 10.0
    outbound_unsure: Annotated[
        str, _about("What happens then: `requeue` it, or `park` it for an operator", pattern="^(requeue|park)$")
    ] = "requeue"
    default_region: Annotated[
        str,
        _about(
            "Country of national phone numbers, e.g. `DE`; empty: only international numbers", pattern="^[A-Z]{0,2}$"
        ),
    ] = ""
    outbound_quota: Annotated[
        int, _about("Messages a new org may send in 24 hours; 0: no limit", ge=0, le=1_000_000_000)
    ] = 1000
    outbound_pace: Annotated[int, _about("Messages per second of a newly connected number", ge=1, le=1000)] = 80
    outbound_pair_burst: Annotated[
        int, _about("Messages to one customer at once, then one every 6 s (Meta's limit is 45)", ge=1, le=1_000_000)
    ] = 45
    outbound_window: Annotated[
        str,
        _about(
            "Meta's 24-hour window: `enforce` it, or `ignore` it for a provider without one",
            pattern="^(enforce|ignore)$",
        ),
    ] = "enforce"
    api_requests_per_second: Annotated[
        int, _about("Requests per org and process; twice as many in a burst; 0: no limit", ge=0, le=100_000)
    ] = 1000
    bot: Annotated[
        str,
        _about(
            "Which bot answers customers: `none`, `echo`, `openai`, `http` or `module:function`; in the demo, `echo`"
        ),
    ] = ""
    bot_history: Annotated[int, _about("Most earlier messages that a bot gets", ge=0, le=200)] = 30
    bot_timeout_sec: Annotated[float, _about("Timeout of a bot service or function", gt=0, le=3600)] = 30.0
    bot_url: Annotated[str, _about("Address of the bot service for `WAYPOST_BOT=http`")] = ""
    bot_secret: Annotated[str, _about("Signs requests to that service; required with it")] = ""
    bot_tools: Annotated[
        str, _about("List of functions that the model of `WAYPOST_BOT=openai` may call: `module:attribute`")
    ] = ""
    openai_base_url: Annotated[str, _about("OpenAI's API, or a compatible one")] = "https://api.openai.com/v1"
    openai_api_key: Annotated[str, _about("API key; a server of your own may need none")] = ""
    openai_model: Annotated[str, _about("Model name; required with `WAYPOST_BOT=openai`")] = ""
    openai_system_prompt: Annotated[str, _about("The system prompt")] = (
        "You answer the customers of a business on WhatsApp. Be short, friendly and plain, in the customer's language. "
        "Never make up facts. When you cannot help, or the customer asks for a person, call hand_over."
    )
    openai_max_tokens: Annotated[int, _about("Most tokens of one answer", ge=1, le=1_000_000)] = 1000
    openai_history_tokens: Annotated[
        int, _about("Most tokens of earlier messages that the model gets; estimated", ge=0, le=10_000_000)
    ] = 4000
    openai_timeout_sec: Annotated[
        float, _about("Timeout of the model for a turn, including its tools", gt=0, le=3600)
    ] = 60.0
    openai_tools: Annotated[
        bool, _about("Whether the model gets tools, such as `hand_over`; some models do not support them")
    ] = True
    turn_quiet_sec: Annotated[float, _about("Quiet time after which a customer's burst is complete", gt=0, le=3600)] = (
        3.0
    )
    turn_max_wait_sec: Annotated[
        float, _about("The longest that a burst's first message waits for more", gt=0, le=86_400)
    ] = 65.0
    turn_lease_sec: Annotated[
        float, _about("Lease of a turn: a worker that does not renew it in time loses the turn", ge=0.2, le=3600)
    ] = 6.0
    turn_limit_sec: Annotated[float, _about("Time limit of a turn; a slower bot is stopped", gt=0, le=86_400)] = 120.0
    turn_retry_sec: Annotated[
        str, _about("Delays before a failed turn is retried; after the last one it is handed over to a human")
    ] = "1,5,30"
    turn_supersede: Annotated[bool, _about("Whether a new message restarts the bot's turn")] = False
    turn_slots: Annotated[int, _about("Concurrent turns per process", ge=1, le=5000)] = 64
    media_dir: Annotated[
        str, _about("Folder for customers' files, shared by all processes; empty: `media` beside the database")
    ] = ""
    media_max_mb: Annotated[float, _about("The largest customer file that is downloaded", gt=0, le=1000)] = 100.0
    media_days: Annotated[float, _about("How long customers' files are kept; 0: for ever", ge=0, le=36_500)] = 0.0
    journal_days: Annotated[
        int,
        _about("How long webhook items stay in the journal (Meta retries for 7 days)", ge=8, le=3650),
    ] = 30
    feed_days: Annotated[int, _about("How long feed items are kept for devices to catch up", ge=1, le=3650)] = 30
    search_days: Annotated[int, _about("How long messages can be searched; 0: for ever", ge=0, le=36_500)] = 365
    allowed_origins: Annotated[
        str, _about("Other origins that may open a WebSocket, comma-separated, e.g. `https://desk.example.com`")
    ] = ""
    cursor_ttl_sec: Annotated[float, _about("How long a list cursor is valid; 0: for ever", ge=0, le=31_536_000)] = 0.0
    push_contact: Annotated[
        str,
        _about("Contact for push services: `mailto:…` or `https://…`; empty: no push notifications"),
    ] = ""
    push_services: Annotated[str, _about("List of push service domains that may be used; `*`: every public one")] = (
        ",".join(PUSH_SERVICES)
    )
    push_preview: Annotated[bool, _about("Whether a push notification contains the start of the message")] = True
    push_grace_sec: Annotated[float, _about("Delay before a push notification is sent", gt=0, le=3600)] = 10.0
    push_again_sec: Annotated[
        float, _about("Least time between two push notifications of one conversation", ge=0, le=86_400)
    ] = 600.0
    push_lease_sec: Annotated[
        float, _about("Lease of a notification: after it, another worker sends it", ge=0.2, le=3600)
    ] = 120.0
    log_format: Annotated[str, _about("`json` or `text`", pattern="^(json|text)$")] = "json"
    log_level: Annotated[
        str, _about("`debug`, `info`, `warning` or `error`", pattern="^(debug|info|warning|error)$")
    ] = "info"
    hints_dir: Annotated[str, _about("Folder for wake-ups between local processes; `serve --workers` sets it")] = ""
    worker_id: Annotated[str, _about("Unique id under which this process holds turns; `serve --workers` sets it")] = ""
    predecessors: Annotated[
        str, _about("Ids of dead workers whose turns this process reclaims at once; `serve --workers` sets it")
    ] = ""

    @property
    def local(self) -> bool:
        return self.env == "local"

    @property
    def database_kind(self) -> str:
        """The parts of an address that may be shown, without a password."""
        scheme, found, _ = self.database_url.partition("://")
        return scheme if found else "unknown"

    def tuning(self) -> Tuning:
        """The settings as the steps use them."""
        stale = minutes(self.outbound_stale_minutes)
        waits = self.message_status_sync_timeout_sec.strip()
        return Tuning(
            backoff=Backoff(_spans(self.outbound_backoff_minutes), self.outbound_jitter),
            stale=stale,
            unsure=Unsettled(self.outbound_unsure),
            webhook_tick=min(seconds(5), type(stale)(max(20_000, stale // 4))),
            poll=seconds(self.outbound_worker_poll_interval_ms / 1000),
            slots=self.outbound_worker_slots,
            batch=self.outbound_worker_batch_size,
            sync_timeout=seconds(20.0 if waits == "auto" else _number(waits, "MESSAGE_STATUS_SYNC_TIMEOUT_SEC")),
            adaptive_wait=waits == "auto",
            never_wait=self.local,
            enforce_window=self.outbound_window == "enforce",
            quota=self.outbound_quota or None,
            pace=self.outbound_pace,
            pair_burst=self.outbound_pair_burst,
            journal_kept=days(self.journal_days),
            feed_kept=days(self.feed_days),
            search_kept=days(self.search_days) if self.search_days else None,
            history_retention=days(self.history_days) if self.history_days else None,
            archive_grace=minutes(self.history_grace_minutes),
            cursor_kept=seconds(self.cursor_ttl_sec) if self.cursor_ttl_sec else None,
            default_region=_region(self.default_region),
            request_rate=_request_rate(self.api_requests_per_second),
            turns=self._turns(),
            turn_slots=self.turn_slots,
            answering=self.bot not in ("", "none"),
            media_limit=round(self.media_max_mb * MB),
            media_kept=days(self.media_days) if self.media_days else None,
            push=self._push(),
            push_reach=AllowedPushServices(local=self.local, services=_services(self.push_services)),
        )

    def _push(self) -> NotificationSettings:
        if self.push_contact and not is_contact(self.push_contact):
            raise SettingsError(
                f"{PREFIX}PUSH_CONTACT must be like mailto:ops@example.com or https://example.com, "
                f"not {self.push_contact!r}"
            )
        return NotificationSettings(
            grace=seconds(self.push_grace_sec),
            again=seconds(self.push_again_sec),
            lease=seconds(self.push_lease_sec),
            preview=self.push_preview,
            bot_answers=self.bot not in ("", "none"),
        )

    def _turns(self) -> TurnTiming:
        if self.turn_quiet_sec > self.turn_max_wait_sec:
            longest = f"{PREFIX}TURN_MAX_WAIT_SEC, which is {self.turn_max_wait_sec:g}"
            raise SettingsError(f"{PREFIX}TURN_QUIET_SEC must be at most {longest}, not {self.turn_quiet_sec:g}")
        return TurnTiming(
            quiet=seconds(self.turn_quiet_sec),
            max_wait=seconds(self.turn_max_wait_sec),
            lease=seconds(self.turn_lease_sec),
            limit=seconds(self.turn_limit_sec),
            retries=_waits(self.turn_retry_sec),
            supersede=self.turn_supersede,
        )


def _services(text: str) -> tuple[str, ...]:
    names = tuple(part.strip().lower() for part in text.split(",") if part.strip())
    wrong = [name for name in names if name != ANY and not is_public_name(name)]
    if wrong or not names:
        raise SettingsError(f"{PREFIX}PUSH_SERVICES must be names like push.example.com, or *, not {text!r}")
    return names


def _waits(text: str) -> tuple[Span, ...]:
    try:
        waits = tuple(seconds(float(part)) for part in text.split(",") if part.strip())
    except (ValueError, OverflowError):
        waits = (Span(-1),)
    if waits and not 0 < min(waits) <= max(waits) <= minutes(_YEAR):
        raise SettingsError(f"{PREFIX}TURN_RETRY_SEC must be seconds like 1,5,30, not {text!r}")
    return waits


def _request_rate(per_second: int) -> RequestRate | None:
    return RequestRate(per_second=per_second, burst=2 * per_second) if per_second else None


def _region(code: str) -> str | None:
    if not code:
        return None
    from waypost.rules.content import national  # noqa: PLC0415  # 110 ms and 7 MB, needed only with a region

    if not national.known(code):
        raise SettingsError(f"{PREFIX}DEFAULT_REGION must be a country's two letters like DE or US, not {code!r}")
    return code


def _number(text: str, name: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise SettingsError(f"{PREFIX}{name} must be a number of seconds or `auto`, not {text!r}") from None
    if not 0 <= value <= 3600:
        raise SettingsError(f"{PREFIX}{name} must be between 0 and 3600, not {text}")
    return value


def _spans(text: str) -> tuple[Any, ...]:
    try:
        spans = tuple(minutes(float(part)) for part in text.split(","))
    except (ValueError, OverflowError):
        spans = ()
    if not spans or min(spans) < 0 or max(spans) > minutes(_YEAR):
        raise SettingsError(f"{PREFIX}OUTBOUND_BACKOFF_MINUTES must be minutes like 1,5,15,60,360, not {text!r}")
    return spans


def load(environment: Mapping[str, str] | None = None, file: Path = FILE) -> Settings:
    """The settings in force, checked; raises SettingsError with one clear line."""
    given = dict(os.environ if environment is None else environment)
    found: dict[str, Any] = {}
    written = written_in(file)
    for name in Settings.__struct_fields__:
        if (value := given.get(PREFIX + name.upper())) is not None:
            found[name] = value
        elif name in written:
            found[name] = written[name]
    settings = _converted(found)
    settings.tuning()
    return settings


def written_in(file: Path) -> dict[str, Any]:
    if not file.is_file():
        return {}
    try:
        written = tomllib.loads(file.read_text())
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{file} is not valid TOML: {error}") from error
    unknown = sorted(set(written) - set(Settings.__struct_fields__))
    if unknown:
        raise SettingsError(f"{file} has a setting that does not exist: {unknown[0]}")
    return written


def _converted(found: dict[str, Any]) -> Settings:
    """Converts one setting at a time, so that the error names it."""
    types = get_type_hints(Settings, include_extras=True)
    checked = {}
    for name, value in found.items():
        wanted = str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
        if isinstance(wanted, bool):
            wanted = str(wanted).lower()
        try:
            checked[name] = msgspec.convert(wanted, types[name], strict=False)
        except msgspec.ValidationError as error:
            shown = "what it is" if name in SECRET else repr(value)
            wrong = f"{PREFIX}{name.upper()} cannot be {shown}: {_words(types[name]) or error}"
            raise SettingsError(wrong) from None
    return Settings(**checked)


def _words(hint: Any) -> str:
    """The allowed words; empty if the setting is not limited to some."""
    patterns = [each.pattern for each in hint.__metadata__ if isinstance(each, Meta) and each.pattern]
    found = _ONE_OF.fullmatch(patterns[0]) if patterns else None
    return f"it must be {' or '.join(found[1].split('|'))}" if found else ""
