"""What an operator can set: a TOML file, environment variables (`ARBITER_…`), and the command line, last one wins.

Every limit of the server stands here with its default; `GetServerInfo` publishes those that clients meet.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
    TomlConfigSettingsSource,
)

from arbiter.errors import OperatorError


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Limits(_Section):
    """What clients may send, hold open and ask for."""

    message_bytes: int = Field(default=4_194_304, ge=1_024, le=268_435_456, description="largest message, either way")
    page_size: int = Field(default=100, ge=1, description="items on a page where the request names no size")
    largest_page_size: int = Field(default=1_000, ge=1, description="most items on a page")
    line_moves: int = Field(default=5_000, ge=1, description="moves in a line of play")
    rules_ms: int = Field(default=5_000, ge=10, description="work on one request for rules")
    rules_memory_bytes: int = Field(default=1_073_741_824, ge=134_217_728, description="memory of a rules worker")
    rules_waiting: int = Field(default=16, ge=1, description="requests for rules that one caller may have waiting")
    rules_answer_moves: int = Field(
        default=200_000, ge=1, description="legal moves in one answer; a position with more gets none, but BUDGET_SPENT"
    )
    chunk_moves: int = Field(default=2_000, ge=1, description="legal moves in one chunk")
    turn_moves: int = Field(default=10_000, ge=0, description="legal moves that a turn may carry")
    acts_a_second: int = Field(
        default=2_000, ge=1, description="acts on a Play stream that are no moves in live matches; more end the stream"
    )
    open_matches: int = Field(default=10_000, ge=1, description="matches that have not ended")
    open_matches_of_player: int = Field(default=1_000, ge=1, description="matches of one player that have not ended")
    open_challenges_of_player: int = Field(default=100, ge=1, description="open challenges and seeks by one player")
    observers: int = Field(default=5_000, ge=1, description="streams of events")
    observer_items: int = Field(default=2_000, ge=10, description="events that wait for one observer before it is told")
    session_items: int = Field(default=20_000, ge=10, description="items that wait on a Play stream before it is told")
    silence_ms: int = Field(default=20_000, ge=1_000, description="silence after which a Play stream is taken for dead")
    ping_ms: int = Field(default=5_000, ge=100, description="time between two pings on a Play stream")
    bookmark_ms: int = Field(default=5_000, ge=100, description="time between two bookmarks on an idle stream")


class Matches(_Section):
    """What a match does where its maker says nothing; see `arbiter.matches.policy`."""

    time_control: str = Field(default="5m+3s", description="the default time control")
    illegal_moves: int = Field(default=4, ge=1, description="which illegal or malformed move of a player ends a match")
    kept_refusals: int = Field(
        default=100, ge=0, le=1_000, description="refusals of a player, other than strikes, that a match keeps on record"
    )
    no_show_ms: int = Field(default=120_000, ge=1_000, description="how long a match waits for its players")
    abandon_ms: int = Field(default=60_000, ge=0, description="how long a player may be away; 0: as its clock allows")
    move_cap_ms: int = Field(default=3_600_000, ge=1_000, description="the longest think on one move")
    resume_ms: int = Field(default=30_000, ge=0, description="how long a match waits for players after an outage")


class Credit(_Section):
    """What clocks do not charge; see `arbiter.matches.credit`."""

    hand_over_most_ms: int = Field(default=100, ge=0, description="most credit a move for the server's own delay")
    network_most_ms: int = Field(default=300, ge=0, description="most credit a move for the network")
    bank_ms: int = Field(default=10_000, ge=0, description="network credit that a match starts with, and its most")
    refill_ms: int = Field(default=250, ge=0, description="network credit that comes back with each move")


class Settings(BaseSettings):
    """The server's settings."""

    model_config = SettingsConfigDict(
        env_prefix="ARBITER_", env_nested_delimiter="__", extra="forbid", frozen=True, toml_file=None
    )

    listen: str = Field(default="127.0.0.1:7400", description="HOST:PORT")
    store: str = Field(default="sqlite:///arbiter.db", description="where the record is kept")
    keys: Path | None = Field(default=None, description="file of the signing keys; default: beside the record")
    registration: Literal["open", "invitation", "closed"] = Field(default="open", description="who may register")
    insecure: bool = Field(default=False, description="listen beyond loopback without TLS")
    tls_certificate: Path | None = Field(default=None, description="PEM file of the server's certificate chain")
    tls_key: Path | None = Field(default=None, description="PEM file of its private key")
    tls_client_authority: Path | None = Field(
        default=None, description="PEM file; clients must show a certificate by it"
    )
    rules_workers: int = Field(
        default=2,
        ge=1,
        le=64,
        description="processes for strangers' questions about rules; one heavy caller holds up one",
    )
    limits: Limits = Limits()
    matches: Matches = Matches()
    credit: Credit = Credit()

    @property
    def key_ring(self) -> Path:
        """The file of the signing keys: for `sqlite:///arbiter.db` by default `arbiter.keys` beside it."""
        if self.keys is not None:
            return self.keys
        kind, _, place = self.store.partition(":///")
        return Path(place.partition("?")[0] if kind.startswith("sqlite") and place else "arbiter").with_suffix(".keys")

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Return the sources: what is given wins over the environment, the environment over the file."""
        return (init_settings, env_settings, TomlConfigSettingsSource(settings_cls))


def load(file: Path | None = None, **given: Any) -> Settings:
    """Return the settings from a TOML file, the environment and what is given (values that are None say nothing).

    Raises OperatorError, naming each setting that is wrong and what may stand there.
    """

    class FromFile(Settings):
        model_config = SettingsConfigDict(**{**Settings.model_config, "toml_file": file})

    if file is not None and not file.is_file():
        raise OperatorError(f"the configuration file {file} does not exist")
    try:
        return FromFile(**{name: value for name, value in given.items() if value is not None})
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors())
        raise OperatorError(f"the configuration is wrong: {wrong}") from None
    except SettingsError as error:  # a section in the environment that is no JSON
        raise OperatorError(f"the environment is wrong: {error}") from None
    except ValueError as error:  # TOML that is none
        raise OperatorError(f"the configuration file {file} is not TOML: {error}") from None
