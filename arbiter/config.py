"""The operator's settings: a TOML file, environment variables (`ARBITER_…`), and the command line; the last one wins.

All limits of the server and their defaults are here. `GetServerInfo` publishes the limits that affect clients.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from difflib import get_close_matches
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeAlias, cast
from urllib.parse import quote

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
)

from arbiter.errors import OperatorError
from arbiter.text_files import text_of
from arbiter.toml_lines import places

LARGEST_FILE = 65_536  #: maximum bytes of a configuration file
OWN_POSTGRES = Path("arbiter.postgres")  #: default folder of a PostgreSQL that is started with the servers

Days: TypeAlias = Annotated[int, Field(ge=0, le=100_000)]
Count: TypeAlias = Annotated[int, Field(le=1_000_000_000)]


def _proxy(name: str) -> str:
    if name != "*":
        try:
            ip_network(name, strict=False)
        except ValueError:
            raise ValueError(f"{name!r} is no address and no network: write it as 10.0.0.1 or 10.0.0.0/8") from None
    return name


Proxy: TypeAlias = Annotated[str, AfterValidator(_proxy)]  # an address, a network, or * for all
Milliseconds: TypeAlias = Annotated[int, Field(le=604_800_000)]  # a week
Lifetime: TypeAlias = Annotated[int, Field(le=31_536_000_000)]  # milliseconds: a year


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Limits(_Section):
    """Limits on what clients send, hold open and request.

    The maximum lengths of texts are not settings: they are part of the protocol, which states them at each field.
    """

    message_bytes: int = Field(default=4_194_304, ge=1_024, le=268_435_456, description="largest message, either way")
    json_bytes: int = Field(
        default=65_536, ge=1_024, le=16_777_216, description="largest message as JSON, which takes long to read"
    )
    message_items: Count = Field(default=2_000, ge=1, description="acts or moves in one message of a stream")
    calls_a_second: Count = Field(
        default=50,
        ge=1,
        description="calls of one player, or of one address without a token, except moves and acts; twice that at once",
    )
    call_rows: Count = Field(
        default=10,
        ge=1,
        description="rows of an answer (matches, players, moves of an ended match) that count as one more call",
    )
    unknown_tokens_a_minute: Count = Field(
        default=60,
        ge=1,
        description="calls from one address with an unknown or revoked token; calls with valid tokens do not count",
    )
    registrations_a_minute: Count = Field(
        default=60, ge=1, description="attempts to register from one address; calls with scope admin do not count"
    )
    connections: Count = Field(default=10_000, ge=1, description="connections; further ones are closed at once")
    connection_streams: Count = Field(
        default=2_000, ge=1, description="calls under way on a connection; further ones wait in the client"
    )
    page_connections: Count = Field(
        default=2_000, ge=1, description="connections to the page; further ones are closed at once"
    )
    page_connections_of_address: Count = Field(
        default=100, ge=1, description="the same, from one address; those of `web_proxies` do not count"
    )
    metrics_connections: Count = Field(
        default=100, ge=1, description="connections that ask for metrics; further ones are closed at once"
    )
    page_requests_a_second: Count = Field(
        default=50,
        ge=1,
        description="requests to the page from one address; long ones count as several; twice that at once",
    )
    page_percent: int = Field(
        default=25,
        ge=1,
        le=100,
        description="the part of the server's time that requests to the page may take, in percent; further ones wait",
    )
    background_percent: int = Field(
        default=33,
        ge=1,
        le=100,
        description="the part of the server's time that all but play gets, in percent, if play needs the rest",
    )
    idle_connection_ms: Milliseconds = Field(
        default=600_000, ge=1_000, description="time after which a connection without calls is closed"
    )
    request_ms: Milliseconds = Field(
        default=20_000,
        ge=100,
        description="time in which a request to the page, or for metrics, must arrive, with its body",
    )
    streams_of_player: Count = Field(default=100, ge=1, description="open streams of one kind, of a player or address")
    tokens_of_player: Count = Field(default=100, ge=1, description="tokens of one player that are not revoked")
    sessions_of_player: Count = Field(
        default=20, ge=1, description="browsers in which one player is signed in; the longest unused is signed out"
    )
    session_idle_ms: Lifetime = Field(
        default=1_209_600_000, ge=1_000, description="time after which an unused browser is signed out"
    )
    session_ms: Lifetime = Field(
        default=7_776_000_000, ge=1_000, description="time after which any browser is signed out"
    )
    open_invitations: Count = Field(default=1_000, ge=1, description="invitations that are not used yet")
    page_size: Count = Field(default=100, ge=1, description="items on a page if the request sets no size")
    largest_page_size: int = Field(default=200, ge=1, le=500, description="the largest number of items on a page")
    line_moves: Count = Field(default=5_000, ge=1, description="moves in a line of play")
    rules_ms: Milliseconds = Field(
        default=5_000, ge=10, description="time for one request to the rules workers, and for one call of plug-in rules"
    )
    rules_wait_ms: Milliseconds = Field(
        default=100,
        ge=1,
        le=10_000,
        description="time for which a server stands still for one call of plug-in rules; later answers are awaited",
    )
    rules_memory_bytes: int = Field(
        default=1_073_741_824,
        ge=134_217_728,
        le=1_099_511_627_776,
        description="memory of a rules worker, and of the process of a package's games",
    )
    plugin_start_ms: Milliseconds = Field(
        default=20_000, ge=100, description="time for loading a plug-in game when a server starts"
    )
    rules_waiting: Count = Field(default=16, ge=1, description="waiting requests to the rules workers, of one caller")
    rules_waiting_in_all: Count = Field(
        default=2_000, ge=1, description="waiting requests to the rules workers, of all callers"
    )
    ruling_games: Count = Field(default=10_000, ge=1, le=20_000, description="matches of one ruling on ratings")
    ratings_waiting: Count = Field(default=16, ge=1, description="waiting calls of RatingService, of one player")
    rules_answer_moves: Count = Field(
        default=200_000,
        ge=1,
        description="legal moves in one answer; a position with more is refused with BUDGET_SPENT",
    )
    chunk_moves: Count = Field(default=2_000, ge=1, description="legal moves in one chunk")
    turn_moves: Count = Field(default=10_000, ge=0, description="legal moves in one turn")
    acts_a_second: Count = Field(
        default=2_000,
        ge=1,
        description="acts on a Play stream other than moves in live matches; more end the stream, and so do requests "
        "without an answer beyond this number and `open_matches_of_player` together",
    )
    play_streams_a_minute: Count = Field(
        default=300,
        ge=1,
        description="Play streams that one player opens; further ones are refused for a while",
    )
    prompt_play_streams_a_minute: Count = Field(
        default=10,
        ge=1,
        description="Play streams that one player opens without waiting; further ones take turns, as all but play does",
    )
    play_stream_ms: Milliseconds = Field(
        default=0,
        ge=0,
        description="age of a Play stream at which a bot without a match is asked to connect again; at twice that age, "
        "any bot, between two turns; 0: never",
    )
    open_matches: Count = Field(default=10_000, ge=1, description="matches that have not ended")
    open_matches_of_player: Count = Field(default=1_000, ge=1, description="matches of one player that have not ended")
    unacknowledged_results: Count = Field(
        default=1_000,
        ge=0,
        description="results that a bot has not acknowledged and is sent when it connects, beyond "
        "`open_matches_of_player`; of more, the older ones count as acknowledged",
    )
    series_tournaments: Count = Field(
        default=500, ge=1, description="tournaments of a series that are looked at for its table, the last ones"
    )
    open_tournaments: Count = Field(default=100, ge=1, description="tournaments that have not ended")
    tournament_games: Count = Field(
        default=10_000, ge=1, description="games under way in all tournaments together; further ones wait"
    )
    open_challenges_of_player: Count = Field(default=100, ge=1, description="open challenges and seeks by one player")
    seeks_a_minute: Count = Field(
        default=600, ge=1, description="seeks of one player; each one is sent to all bots that want seeks"
    )
    observers: Count = Field(default=5_000, ge=1, description="streams of events")
    observer_items: Count = Field(
        default=2_000,
        ge=10,
        description="unread events of one observer; beyond it, the stream ends with READER_TOO_SLOW",
    )
    observer_messages_a_second: int = Field(
        default=250,
        ge=10,
        le=1_000_000,
        description="messages to all gRPC event streams of one player; beyond it, messages have more events each",
    )
    page_updates_a_second: int = Field(
        default=5,
        ge=1,
        le=1_000,
        description="messages to a browser's event stream; beyond it, messages have more events each",
    )
    history_pages: Count = Field(
        default=200,
        ge=1,
        description="pages of past events that were sent and not read yet, of all players",
    )
    history_pages_of_player: Count = Field(default=8, ge=1, description="the same, of one player")
    history_pages_a_second: int = Field(
        default=400, ge=1, le=100_000, description="pages of past events that are read; fewer while matches are played"
    )
    session_items: Count = Field(
        default=20_000,
        ge=10,
        description="unread items on a Play stream; beyond it, the stream ends with READER_TOO_SLOW",
    )
    unread_bytes: int = Field(
        default=268_435_456,
        ge=1_048_576,
        le=1_099_511_627_776,
        description="unread answers of all callers, in bytes; beyond it the connection with most of them is closed",
    )
    move_answers: Count = Field(
        default=500,
        ge=1,
        description="unread answers of a SubmitMoves stream; beyond it, the server reads no more of its moves",
    )
    silence_ms: Milliseconds = Field(
        default=20_000, ge=1_000, description="silence after which a stream is taken for lost"
    )
    ping_ms: Milliseconds = Field(default=5_000, ge=100, description="time between two pings on a Play stream")
    stall_ms: Milliseconds = Field(
        default=2_000,
        ge=200,
        description="how long the event loop may be blocked, or a turn be late, before matches are interrupted",
    )
    stop_ms: Milliseconds = Field(
        default=25_000,
        ge=1_000,
        description="longest time for a stop; a server whose database does not answer then ends as if it was killed",
    )
    server_silence_ms: Milliseconds = Field(
        default=2_000,
        ge=2_000,
        description="silence after which another server of the store counts as gone; the same on all of them",
    )
    bookmark_ms: Milliseconds = Field(default=5_000, ge=100, description="time between two bookmarks on an idle stream")

    @model_validator(mode="after")
    def _in_proportion(self) -> Self:
        if self.page_size > self.largest_page_size:
            raise ValueError(f"page_size {self.page_size} is more than largest_page_size {self.largest_page_size}")
        if self.ping_ms >= self.silence_ms:
            raise ValueError(
                f"ping_ms {self.ping_ms} is not less than silence_ms {self.silence_ms}: a stream that only answers "
                "pings would be taken for lost"
            )
        return self


class Matches(_Section):
    """Defaults for fields that the creator of a match does not set; see `arbiter.matches.policy`."""

    time_control: str = Field(default="5m+3s", description="the default time control")
    illegal_moves: Count = Field(
        default=4, ge=1, description="the illegal or malformed move of a player that ends the match, counted from 1"
    )
    kept_refusals: Count = Field(
        default=100,
        ge=0,
        le=1_000,
        description="refusals of a player, other than strikes, that a match records",
    )
    no_show_ms: Milliseconds = Field(default=120_000, ge=1_000, description="how long a match waits for its players")
    abandon_ms: Milliseconds = Field(
        default=60_000, ge=0, description="how long a player may be absent; 0: as long as its clock allows"
    )
    move_cap_ms: Milliseconds = Field(default=3_600_000, ge=1_000, description="the longest time for one move")
    resume_ms: Milliseconds = Field(
        default=30_000, ge=0, description="how long a match waits for players after an outage"
    )
    ready_ms: Milliseconds = Field(
        default=10_000,
        ge=0,
        description="how long the first clock, also after an outage, waits for connected bots that are not ready yet",
    )


class Credit(_Section):
    """Time that clocks do not charge; see `arbiter.matches.clock`."""

    hand_over_most_ms: Milliseconds = Field(
        default=100, ge=0, description="largest credit for each move, for the server's own delay"
    )
    network_most_ms: Milliseconds = Field(
        default=300, ge=0, description="largest credit for each move, for the network"
    )
    bank_ms: Milliseconds = Field(
        default=10_000, ge=0, description="network credit at the start of a match, and its maximum"
    )
    refill_ms: Milliseconds = Field(default=250, ge=0, description="network credit that is regained with each move")


class Retention(_Section):
    """After how many days a server removes by itself what nobody needs, or moves it to the archive; 0: never."""

    matches_days: Days = Field(
        default=0, description="ended matches, which move to the archive of the store and stay readable and verifiable"
    )
    challenges_days: Days = Field(default=30, description="challenges that are not open, from when they were made")
    tokens_days: Days = Field(default=90, description="revoked tokens, from when they were made")
    sessions_days: Days = Field(
        default=30,
        description="sessions of browsers, from their last use; those that `limits.session_idle_ms` has not ended stay",
    )
    web_hooks_days: Days = Field(
        default=90, description="web hooks, from the end of their tournament, or the last delivery after that"
    )


class WebHookSettings(_Section):
    """Deliveries of the events of tournaments to addresses that organisers give; see deploy/WEBHOOKS.md."""

    of_tournament: Count = Field(default=5, ge=0, description="web hooks of one tournament; 0: there are none here")
    body_bytes: int = Field(
        default=65_536, ge=1_024, le=16_777_216, description="the largest body; a longer one goes without its record"
    )
    timeout_ms: Milliseconds = Field(
        default=10_000, ge=100, le=300_000, description="time in which a receiver must have answered"
    )
    tries: int = Field(
        default=40, ge=1, le=10_000, description="attempts at a delivery in vain, after which a web hook stops"
    )
    pause_ms: Milliseconds = Field(
        default=5_000, ge=1, description="pause after the first attempt in vain; it doubles with each further one"
    )
    longest_pause_ms: Milliseconds = Field(default=3_600_000, ge=1, description="the longest of these pauses")
    networks: tuple[Proxy, ...] = Field(
        default=(),
        description="an address or network inside that web hooks may reach, such as 10.1.0.0/16; `*` for all; without "
        "this, only public addresses",
    )


class RatingSettings(_Section):
    """How ratings are computed; see `arbiter.ratings.fit`."""

    anchors: dict[str, Annotated[float, Field(ge=-10_000, le=10_000)]] = Field(
        default={},
        description="fixed ratings in Elo, by player (NAME, for all its versions, or NAME@VERSION); they set the scale",
    )


class Settings(BaseSettings):
    """The server's settings."""

    model_config = SettingsConfigDict(env_prefix="ARBITER_", env_nested_delimiter="__", extra="forbid", frozen=True)

    listen: str = Field(
        default="127.0.0.1:7400",
        description="the address to listen on, as HOST:PORT; empty: this server has no players, but the page of those "
        "with which it shares a store",
    )
    listen_proxies: tuple[Proxy, ...] = Field(
        default=(), description="the address or network of a proxy for gRPC whose header X-Forwarded-For is trusted"
    )
    web: str = Field(default="", description="the address of a page for browsers, as HOST:PORT; empty: no page")
    web_process: bool = Field(
        default=False,
        description="let a process of its own have the page, beside those that have the players: they share a database "
        "of PostgreSQL, as with `processes`",
    )
    web_url: str = Field(
        default="",
        description="the address by which people reach the page where a proxy is before it, such as "
        "https://arbiter.example.org; cookies are for that address alone, and forms of other addresses are refused",
    )
    web_proxies: tuple[Proxy, ...] = Field(
        default=(), description="the address or network of a proxy of the page whose header X-Forwarded-For is trusted"
    )
    web_origins: tuple[str, ...] = Field(
        default=(),
        description="another site, such as https://example.org, whose pages may make calls here by Connect; `*` "
        "for all",
    )
    public: bool | None = Field(
        default=None,
        description="let everybody read without a token: matches, events, players, tournaments, ratings; without this "
        "setting, if there is a page",
    )
    metrics: str = Field(
        default="",
        description="the address of metrics for Prometheus, as HOST:PORT, for whoever reaches it; empty: no "
        "metrics. Of several processes the next one takes the next port",
    )
    traces: str = Field(
        default="",
        description="URL of an OpenTelemetry collector for traces of moves (OTLP over HTTP), such as "
        "http://127.0.0.1:4318; empty: no traces",
    )
    traces_share: float = Field(default=0.002, ge=0, le=1, description="the part of the moves that are traced")
    store: str = Field(
        default="sqlite:///arbiter.db",
        description="the database, as sqlite:///FILE or postgresql://USER@HOST/DATABASE",
    )
    processes: int = Field(
        default=1,
        ge=1,
        le=64,
        description="server processes on this machine; they share the address, and a database of PostgreSQL: "
        "`store`, or one that is started with them",
    )
    postgres: Path | None = Field(
        default=None,
        description="the folder of a PostgreSQL that is started with the servers, in place of `store`; "
        f"with several processes and no `store`: {OWN_POSTGRES}",
    )
    postgres_programs: Path | None = Field(
        default=None, description="folder of PostgreSQL's programs (initdb, postgres); default: they are looked for"
    )
    postgres_user: str = Field(
        default="", description="user of that PostgreSQL's processes, if the arbiter runs as root; empty: its own"
    )
    bus: str = Field(
        default="",
        description="the NATS by which servers that share a store hear of news early, as nats://HOST:PORT or "
        "tls://HOST:PORT, several with commas between; empty: they read the store for news, every 50 ms",
    )
    bus_credentials: Path | None = Field(default=None, description="file of credentials for the bus (NATS .creds)")
    bus_authority: Path | None = Field(
        default=None, description="PEM file of the authority of the bus, for tls://; default: those of the system"
    )
    books: Path | None = Field(
        default=None, description="folder of opening books, which tournaments name in openings.book; default: none"
    )
    syzygy: Path | None = Field(
        default=None,
        description="folder of Syzygy tables, for tournaments with adjudication.syzygy_pieces; it needs the extra "
        "`syzygy` of the package; default: none",
    )
    keys: Path | None = Field(
        default=None,
        description="the file of the signing keys; without this setting, beside an SQLite file, or DATABASE.keys "
        "in this folder",
    )
    registration: Literal["open", "invitation", "closed"] = Field(
        default="open", description="who may register: everybody (open), players with an invitation, or nobody (closed)"
    )
    insecure: bool = Field(
        default=False, description="listen beyond this machine without TLS: tokens are sent unencrypted"
    )
    tls_certificate: Path | None = Field(default=None, description="the file of the server's certificate chain (PEM)")
    tls_key: Path | None = Field(default=None, description="the file of the key of the server's certificate (PEM)")
    tls_client_authority: Path | None = Field(
        default=None, description="the file of an authority (PEM): clients must have a certificate that it has signed"
    )
    rules_workers: int = Field(
        default=2,
        ge=1,
        le=64,
        description="worker processes for requests about rules; one expensive request occupies one of them",
    )
    limits: Limits = Limits()
    matches: Matches = Matches()
    credit: Credit = Credit()
    retention: Retention = Retention()
    ratings: RatingSettings = RatingSettings()
    web_hooks: WebHookSettings = WebHookSettings()

    @property
    def has_page_alone(self) -> bool:
        """Whether this server has no players, but the page of servers that have them."""
        return not self.listen

    @property
    def reads_are_public(self) -> bool:
        """Whether calls that only read need no token."""
        return bool(self.web) if self.public is None else self.public

    @property
    def supervised(self) -> bool:
        """Whether a parent process starts the servers, which share one address."""
        return self.processes > 1 or self.web_process or self.postgres is not None

    @property
    def all_processes(self) -> int:
        """The number of server processes, with that of the page."""
        return self.processes + self.web_process

    @property
    def metrics_addresses(self) -> tuple[str, ...]:
        """HOST:PORT of the metrics of each server process: the next one takes the next port. None without `metrics`."""
        host, _, port = self.metrics.rpartition(":")
        if not (port.isdecimal() and int(port)):
            return (self.metrics,) * self.all_processes if self.metrics else ()
        return tuple(f"{host}:{int(port) + number}" for number in range(self.all_processes))

    @property
    def key_ring(self) -> Path:
        """The file of the signing keys.

        The default is `arbiter.keys` beside the file of `sqlite:///arbiter.db`. For a database server it is a file in
        the working directory, named after the database.
        """
        if self.keys is not None:
            return self.keys
        kind, _, rest = self.store.partition("://")
        place = rest.partition("?")[0].partition("/")[2]
        if not kind.startswith("sqlite"):
            place = Path(place).name
        return Path(place or "arbiter").with_suffix(".keys")

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Return the sources: arguments come before the environment; `load` adds the file."""
        return (init_settings, env_settings)


def load(file: Path | None = None, **given: Any) -> Settings:
    """Return the settings from a TOML file, the environment and the arguments (an argument of None is not set).

    Raises OperatorError, which names each invalid setting and its allowed values.
    """
    values = _read(file) if file is not None else {}

    class FromFile(Settings):
        @classmethod
        def settings_customise_sources(
            cls, settings_cls: type[BaseSettings], *args: Any, **sources: Any
        ) -> tuple[PydanticBaseSettingsSource, ...]:
            before = Settings.settings_customise_sources(settings_cls, *args, **sources)
            return (*before, InitSettingsSource(settings_cls, values))

    try:
        settings = FromFile(**{name: value for name, value in given.items() if value is not None})
        _check_page(settings)
        return _with_own_postgres(settings, given)
    except ValidationError as error:
        lines = places(text_of(file.read_bytes())) if file is not None else {}
        wrong = "; ".join(
            _wrong(item["type"], tuple(map(str, item["loc"])), item["msg"], lines) for item in error.errors()
        )
        raise OperatorError(f"the configuration is wrong: {wrong}") from None
    except (SettingsError, RecursionError) as error:  # a section in the environment that is not JSON
        raise OperatorError(f"the environment is wrong: {error}") from None


def load_private(**given: Any) -> Settings:
    """Return the settings of a server that is private to its command: what the environment says is for others."""

    class FromArguments(Settings):
        @classmethod
        def settings_customise_sources(
            cls,
            settings_cls: type[BaseSettings],
            init_settings: PydanticBaseSettingsSource,
            *args: Any,
            **sources: Any,
        ) -> tuple[PydanticBaseSettingsSource, ...]:
            return (init_settings,)

    return FromArguments(**given)


def _check_page(settings: Settings) -> None:
    """Raise OperatorError for a page that no process can have."""
    wrong = ""
    if settings.web_process and not (settings.web and settings.listen):
        missing = "web" if settings.listen else "listen"
        wrong = f"`web_process` is for servers with a page and players, but `{missing}` is empty: name its address"
    elif settings.has_page_alone and not settings.web:
        wrong = "`listen` and `web` are both empty: name the address of one"
    elif settings.has_page_alone and settings.supervised:
        wrong = "a server without `listen` has the page of others: leave out `processes` and `postgres`"
    if wrong:
        raise OperatorError(f"the configuration is wrong: {wrong}")


def _with_own_postgres(settings: Settings, given: Mapping[str, Any]) -> Settings:
    """Return the settings with the URL and the keys of a PostgreSQL that is started with the servers, if there is one.

    A `store` that is given as an argument comes before `postgres` of the environment or the file, and vice versa.
    Raises OperatorError if both are set equally.
    """
    named = [name for name in ("store", "postgres") if name in settings.model_fields_set]
    named = [name for name in named if given.get(name) is not None] or named
    if len(named) == 2:
        raise OperatorError(
            "the configuration is wrong: `postgres` starts a database and `store` names one: leave one of them out"
        )
    if named == ["store"]:
        if settings.all_processes > 1 and settings.store.startswith("sqlite"):
            raise OperatorError(
                f"{settings.all_processes} processes can't share an SQLite file: name a store of PostgreSQL "
                "(postgresql://USER@HOST/DATABASE), or name none: then one is started with the servers"
            )
        return settings.model_copy(update={"postgres": None})
    if not named and settings.all_processes == 1:
        return settings
    folder = (settings.postgres or OWN_POSTGRES).absolute()
    store = f"postgresql://arbiter@/arbiter?host={quote(str(folder))}"
    return settings.model_copy(
        update={"postgres": folder, "store": store, "keys": settings.keys or folder.with_suffix(".keys")}
    )


def _wrong(kind: str, path: tuple[str, ...], message: str, lines: Mapping[str, int]) -> str:
    """Return what is wrong with a setting: its line where a file has it, its name, and what is allowed."""
    name = ".".join(path)
    where = f"line {lines[name]}, {name}" if name in lines else name
    if kind != "extra_forbidden":
        return f"{where}: {_said(message)}"
    known: type[BaseModel] = Settings
    for part in path[:-1]:
        known = cast("type[BaseModel]", known.model_fields[part].annotation)
    near = get_close_matches(path[-1], known.model_fields, n=3)
    there = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(known.model_fields)}"
    return f"{where}: there is no such setting; {there}"


def _said(message: str) -> str:
    return " ".join(message.removeprefix("Value error, ").split())


def _read(file: Path) -> dict[str, Any]:
    """Return the content of a TOML file. Raises OperatorError."""
    if "\0" in str(file):
        raise OperatorError(f"the configuration file {str(file)!r} does not exist")
    try:
        data = file.read_bytes()
    except FileNotFoundError:
        raise OperatorError(f"the configuration file {file} does not exist") from None
    except OSError as error:
        raise OperatorError(f"can't read the configuration file {file}: {error.strerror or error}") from None
    if len(data) > LARGEST_FILE:
        raise OperatorError(f"the configuration file {file} has {len(data)} bytes: at most {LARGEST_FILE} are read")
    try:
        return tomllib.loads(text_of(data))
    except (ValueError, RecursionError) as error:
        raise OperatorError(f"the configuration file {file} is not TOML: {error}") from None
