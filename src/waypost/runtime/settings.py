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
from waypost.model.conversation import Times
from waypost.model.policy import RequestRate
from waypost.model.push import Habits
from waypost.model.time import Span, days, minutes, seconds
from waypost.rules.delivery import Unsettled
from waypost.rules.media import MB
from waypost.rules.push_subscription import ANY, PUSH_SERVICES, Reach, is_contact, is_public_name
from waypost.rules.retry import Backoff

PREFIX = "WAYPOST_"
_YEAR = 525_600  # minutes
_ONE_OF = re.compile(r"\^\(([a-z|]+)\)\$")
FILE = Path("waypost.toml")


SECRET = ("secret_key", "secret_key_old", "database_url", "redis_url", "log_url", "bot_secret", "openai_api_key")
"""Never shown: an address of a database may hold a password."""


class SettingsError(Exception):
    """A setting is missing or cannot be read; the message says which and what to do."""


def _about(text: str, **limits: Any) -> Meta:
    return Meta(description=text, **limits)


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    env: Annotated[str, _about("`local` for a laptop, else `production`", pattern="^(local|production)$")] = (
        "production"
    )
    database_url: Annotated[str, _about("`sqlite:///file.db` or `postgresql://…`")] = "sqlite:///data/waypost.db"
    log_url: Annotated[
        str,
        _about(
            "Where messages are kept for ever: `cassandra://user:password@host1,host2:9042/keyspace`, with any of "
            "`?consistency=LOCAL_QUORUM&replication=3&dc=…&tls=off&ca=…&cert=…&key=…&timeout=5` (`tls` is off, cert "
            "or identity); none: in the database"
        ),
    ] = ""
    redis_url: Annotated[
        str,
        _about(
            "Wake-ups between machines: `redis://…`, `rediss://…`, `valkey://…`, `redis+sentinel://h1,h2/service/0`"
            " or `redis+cluster://h1,h2`; none: machines poll"
        ),
    ] = ""
    database_readers: Annotated[
        int, _about("Connections to PostgreSQL that read, per process; seven more at most write", ge=1, le=100)
    ] = 4
    log_days: Annotated[
        float, _about("How long messages stay there, of an org that has set nothing; 0 is for ever", ge=0, le=36_500)
    ] = 0.0
    log_grace_minutes: Annotated[
        float, _about("How long a message's body stays in the database after it is there", gt=0, le=_YEAR)
    ] = 60.0
    secret_key: Annotated[str, _about("Seals tokens and app secrets at rest; required in production")] = ""
    secret_key_old: Annotated[
        str, _about("The key before it, while `waypost admin rotate-secret-key` is not done: opens, never seals")
    ] = ""
    public_url: Annotated[
        str,
        _about("Where Meta reaches this server, e.g. `https://chat.example.com`: `waypost doctor` tries its webhook"),
    ] = ""
    graph_url: Annotated[str, _about("Where the Cloud API is")] = "https://graph.facebook.com/v25.0"
    smtp_timeout_sec: Annotated[float, _about("How long handing a letter to a mail server may take", gt=0, le=3600)] = (
        30.0
    )
    graph_timeout_sec: Annotated[float, _about("How long a send may take before it is unsure", gt=0, le=3600)] = 30.0
    message_status_sync_timeout_sec: Annotated[
        str,
        _about("How long `?wait=` waits: seconds, or `auto` for the 99.9th percentile of recent waits, at most 20 s"),
    ] = "20"
    outbound_worker_enabled: Annotated[bool, _about("Whether this process sends")] = True
    outbound_worker_poll_interval_ms: Annotated[
        int, _about("How often to look when no hint comes", ge=10, le=3_600_000)
    ] = 5000
    outbound_worker_batch_size: Annotated[int, _about("Messages claimed at once, at most", ge=1, le=1000)] = 100
    outbound_worker_slots: Annotated[int, _about("Sends under way at once, per process", ge=1, le=5000)] = 128
    outbound_backoff_minutes: Annotated[str, _about("Waits before the second, third, … try")] = "1,5,15,60,360"
    outbound_jitter: Annotated[float, _about("Upward jitter on those waits, as a fraction", ge=0, le=1)] = 0.1
    outbound_stale_minutes: Annotated[
        float, _about("How long an unsure send may wait for a status", gt=0, le=_YEAR)
    ] = 10.0
    outbound_unsure: Annotated[
        str, _about("What then: `requeue` it, or `park` it for a person", pattern="^(requeue|park)$")
    ] = "requeue"
    default_region: Annotated[
        str,
        _about(
            "Whose national phone numbers are understood, e.g. `DE`; none: international ones", pattern="^[A-Z]{0,2}$"
        ),
    ] = ""
    outbound_quota: Annotated[
        int, _about("Messages a new org may send in 24 hours; 0 is no limit", ge=0, le=1_000_000_000)
    ] = 1000
    outbound_pace: Annotated[int, _about("Messages per second of a newly connected number", ge=1, le=1000)] = 80
    outbound_pair_burst: Annotated[
        int, _about("Messages to one customer at once, before one in 6 s (Meta's limit is 45)", ge=1, le=1_000_000)
    ] = 45
    outbound_window: Annotated[
        str,
        _about(
            "Meta's 24-hour window: `enforce` it, or `ignore` it for a provider without one",
            pattern="^(enforce|ignore)$",
        ),
    ] = "enforce"
    api_requests_per_second: Annotated[
        int, _about("Requests that one process takes of an org, twice as many at once; 0 is no limit", ge=0, le=100_000)
    ] = 1000
    bot: Annotated[
        str,
        _about(
            "Who answers customers: `none`, `echo`, `openai`, `http` or `module:function`; unset, the demo has an echo"
        ),
    ] = ""
    bot_history: Annotated[int, _about("Earlier messages that a bot is shown, at most", ge=0, le=200)] = 30
    bot_timeout_sec: Annotated[float, _about("How long a service or a function may take to answer", gt=0, le=3600)] = (
        30.0
    )
    bot_url: Annotated[str, _about("Where the service of `WAYPOST_BOT=http` is")] = ""
    bot_secret: Annotated[str, _about("Signs what that service is asked; required with it")] = ""
    bot_tools: Annotated[
        str, _about("Functions that the model of `WAYPOST_BOT=openai` may call: `module:attribute`, a list")
    ] = ""
    openai_base_url: Annotated[str, _about("OpenAI's API, or any other that is compatible")] = (
        "https://api.openai.com/v1"
    )
    openai_api_key: Annotated[str, _about("Its key; a server of your own may need none")] = ""
    openai_model: Annotated[str, _about("Its model; required with `WAYPOST_BOT=openai`")] = ""
    openai_system_prompt: Annotated[str, _about("What the model is told before the conversation")] = (
        "You answer the customers of a business on WhatsApp. Be short, friendly and plain, in the customer's language. "
        "Never make up facts. When you cannot help, or the customer asks for a person, call hand_over."
    )
    openai_max_tokens: Annotated[int, _about("Tokens of one answer, at most", ge=1, le=1_000_000)] = 1000
    openai_history_tokens: Annotated[
        int, _about("Tokens of earlier messages that the model is shown, at most; estimated", ge=0, le=10_000_000)
    ] = 4000
    openai_timeout_sec: Annotated[
        float, _about("How long the model may take for a turn, its tools included", gt=0, le=3600)
    ] = 60.0
    openai_tools: Annotated[
        bool, _about("Whether the model is offered tools, `hand_over` among them; some models know none")
    ] = True
    turn_quiet_sec: Annotated[
        float, _about("A customer's burst is over when nothing came for so long", gt=0, le=3600)
    ] = 3.0
    turn_max_wait_sec: Annotated[
        float, _about("The longest that a burst's first message waits for the last", gt=0, le=86_400)
    ] = 65.0
    turn_lease_sec: Annotated[
        float, _about("A worker that says nothing for so long has lost its turns", ge=0.2, le=3600)
    ] = 6.0
    turn_limit_sec: Annotated[float, _about("A bot that takes longer is cut off", gt=0, le=86_400)] = 120.0
    turn_retry_sec: Annotated[
        str, _about("Waits before a turn that failed is tried again; after the last a person takes over")
    ] = "1,5,30"
    turn_supersede: Annotated[bool, _about("Whether a new message starts the bot's thinking anew")] = False
    turn_slots: Annotated[int, _about("Turns under way at once, per process", ge=1, le=5000)] = 64
    media_dir: Annotated[
        str, _about("Folder for customers' files, the same for all processes; none: `media` beside the database")
    ] = ""
    media_max_mb: Annotated[float, _about("The largest file of a customer's that is fetched", gt=0, le=1000)] = 100.0
    media_days: Annotated[float, _about("How long customers' files are kept; 0 is for ever", ge=0, le=36_500)] = 0.0
    journal_days: Annotated[
        int,
        _about("How long what webhooks brought stays in the journal (Meta repeats for 7)", ge=8, le=3650),
    ] = 30
    feed_days: Annotated[int, _about("How long what screens were told can be read again", ge=1, le=3650)] = 30
    search_days: Annotated[int, _about("How long what was said can be searched; 0 is for ever", ge=0, le=36_500)] = 365
    allowed_origins: Annotated[
        str, _about("Sites whose pages may open a WebSocket beside our own, e.g. `https://desk.example.com`; by commas")
    ] = ""
    cursor_ttl_sec: Annotated[
        float, _about("How long a cursor of a list works; 0 is for ever", ge=0, le=31_536_000)
    ] = 0.0
    push_contact: Annotated[
        str,
        _about("Who a push service may write to: `mailto:…` or `https://…`; none: nobody who is away is told"),
    ] = ""
    push_services: Annotated[
        str, _about("Domains of the push services that notices are sent to, a list; `*` is every public one")
    ] = ",".join(PUSH_SERVICES)
    push_preview: Annotated[bool, _about("Whether a notice says how the message begins")] = True
    push_grace_sec: Annotated[
        float, _about("So long after a message nobody is told: most are back by then", gt=0, le=3600)
    ] = 10.0
    push_again_sec: Annotated[
        float, _about("So long after a notice there is no second one of the same conversation", ge=0, le=86_400)
    ] = 600.0
    push_lease_sec: Annotated[
        float, _about("A worker that was to tell somebody and says nothing for so long has died", ge=0.2, le=3600)
    ] = 120.0
    log_format: Annotated[str, _about("`json` or `text`", pattern="^(json|text)$")] = "json"
    log_level: Annotated[
        str, _about("`debug`, `info`, `warning` or `error`", pattern="^(debug|info|warning|error)$")
    ] = "info"
    hints_dir: Annotated[str, _about("Folder for wake-ups between local processes; `serve --workers` sets it")] = ""
    worker_id: Annotated[
        str, _about("What this process holds its turns by, never used twice; `serve --workers` sets it")
    ] = ""
    predecessors: Annotated[
        str, _about("Workers that are gone, whose turns this process takes over at once; `serve --workers` sets it")
    ] = ""

    @property
    def local(self) -> bool:
        return self.env == "local"

    @property
    def database_kind(self) -> str:
        """What may be shown of an address that may hold a password."""
        scheme, found, _ = self.database_url.partition("://")
        return scheme if found else "unknown"

    def tuning(self) -> Tuning:
        """The settings as the steps take them."""
        stale = minutes(self.outbound_stale_minutes)
        waits = self.message_status_sync_timeout_sec.strip()
        return Tuning(
            backoff=Backoff(_spans(self.outbound_backoff_minutes), self.outbound_jitter),
            stale=stale,
            unsure=Unsettled(self.outbound_unsure),
            door_tick=min(seconds(5), type(stale)(max(20_000, stale // 4))),
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
            log_kept=days(self.log_days) if self.log_days else None,
            log_grace=minutes(self.log_grace_minutes),
            cursor_kept=seconds(self.cursor_ttl_sec) if self.cursor_ttl_sec else None,
            default_region=_region(self.default_region),
            request_rate=_request_rate(self.api_requests_per_second),
            turns=self._turns(),
            turn_slots=self.turn_slots,
            answering=self.bot not in ("", "none"),
            media_limit=round(self.media_max_mb * MB),
            media_kept=days(self.media_days) if self.media_days else None,
            push=self._push(),
            push_reach=Reach(local=self.local, services=_services(self.push_services)),
        )

    def _push(self) -> Habits:
        if self.push_contact and not is_contact(self.push_contact):
            raise SettingsError(
                f"{PREFIX}PUSH_CONTACT must be like mailto:ops@example.com or https://example.com, "
                f"not {self.push_contact!r}"
            )
        return Habits(
            grace=seconds(self.push_grace_sec),
            again=seconds(self.push_again_sec),
            lease=seconds(self.push_lease_sec),
            preview=self.push_preview,
            bot_answers=self.bot not in ("", "none"),
        )

    def _turns(self) -> Times:
        if self.turn_quiet_sec > self.turn_max_wait_sec:
            longest = f"{PREFIX}TURN_MAX_WAIT_SEC, which is {self.turn_max_wait_sec:g}"
            raise SettingsError(f"{PREFIX}TURN_QUIET_SEC must be at most {longest}, not {self.turn_quiet_sec:g}")
        return Times(
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
    from waypost.rules import national  # noqa: PLC0415  # 110 ms and 7 MB that nobody without a region should pay

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
    """One at a time, so that the error names the setting."""
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
    """Which of a few words it must be; empty: it is no such setting."""
    patterns = [each.pattern for each in hint.__metadata__ if isinstance(each, Meta) and each.pattern]
    found = _ONE_OF.fullmatch(patterns[0]) if patterns else None
    return f"it must be {' or '.join(found[1].split('|'))}" if found else ""
