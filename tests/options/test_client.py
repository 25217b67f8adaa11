"""What the Python client does with its arguments: each one changes the message that is sent."""

from __future__ import annotations

import dataclasses
import inspect
import logging
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from enum import Enum
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, NoReturn

import arbiter_client as arb
import pytest
from arbiter_client import credentials
from arbiter_client.outbox import Outbox
from arbiter_client.runner import BotRunner
from arbiter_client.session import hello_of
from arbiter_protos.v1 import match_pb2, play_pb2

from arbiter.testing.clock import settle, virtually
from tests.options.enumerated import arguments, calls


class Sent(Exception):
    """A call has sent a message: the name of the RPC, and the message."""

    def __init__(self, rpc: str, message: Any) -> None:
        super().__init__(rpc)
        self.message = rpc, message.SerializeToString(deterministic=True)


class Stubs:
    """The RPCs of a service, by name."""

    def __getattr__(self, rpc: str) -> Callable[..., NoReturn]:
        def call(message: Any, **more: Any) -> NoReturn:
            raise Sent(rpc, message)

        return call


class Recording:
    """A connection that shows the first message that is sent on it."""

    address, metadata, patience_s, greetings = "there", (), 1.0, 0
    games = matches = players = ratings = tournaments = server = Stubs()

    async def ask(self, rpc: Callable[..., NoReturn], message: Any, again: bool = True) -> NoReturn:
        rpc(message)
        raise AssertionError

    ask_all = ask

    def tries(self) -> None:
        """Return no tries: a test ends with the first."""


SPEC: Final = arb.TournamentSpec(
    "cup", arb.TournamentFormat.SWISS, ("pods",), "1s", series=arb.SeriesRules(place_points=(1,))
)
VALUES: Final[Mapping[str, tuple[Any, Any]]] = {
    "accept": (False, True),
    "at": (arb.Line("pods"), arb.MatchPly("m1", 3)),
    "byes": ((), (2,)),
    "what": (arb.Replay(1), arb.Replay(2)),
    "decision": (arb.RulingDecision.VOID, arb.RulingDecision.STANDS),
    "rule_on_ratings.decision": (arb.RatingDecision.UNRATED, arb.RatingDecision.RATED),
    "rule_on_ratings.games": (None, arb.GameSelection(label="cup")),
    "rule_on_ratings.revision": (None, 0),
    "half_points": ((), (1, 1)),
    "change_entry.rating": (None, 7),
    "evaluation": (None, 500),
    "format": (arb.TournamentFormat.UNSPECIFIED, arb.TournamentFormat.SWISS),
    "new_name": (None, "rook"),
    "retired": (None, False),
    "hidden": (None, False),
    "kind": (arb.ResultKind.WIN, arb.ResultKind.DRAW),
    "list_matches.phase": (arb.Phase.UNSPECIFIED, arb.Phase.ENDED),
    "list_tournaments.phase": (arb.TournamentPhase.UNSPECIFIED, arb.TournamentPhase.ENDED),
    "opening": ((), ("a1",)),
    "player_version": (None, "2"),
    "other_version": (None, "2"),
    "players": (("ann", "ben"), ("ben", "ann")),
    "go_on_from_report.players": (None, {"Carlsen, M": "stockfish"}),
    "play_moves.line": (arb.Line("pods"), arb.Line("hop-it")),
    "policy": (None, arb.Policy(illegal_moves=3)),
    "scopes": ((), (arb.Scope.ADMIN,)),
    "spec": (SPEC, dataclasses.replace(SPEC, time="2s")),
    "start": (arb.StartRule.UNSPECIFIED, arb.StartRule(1)),
    "submit_move.line": ((), ("a1",)),
    "terms": (arb.Terms("pods"), arb.Terms("hop-it")),
}
"""Two values of an argument, by its name, or by call and name; others follow from the argument's type."""

BY_TYPE: Final = {"str": ("a", "b"), "bool": (False, True), "int": (3, 7), "float": (1.0, 2.0)}

CALLS: Final = calls()


def values(call: str, argument: str) -> tuple[Any, Any]:
    """Return two values of an argument."""
    for name in (f"{call}.{argument}", argument):
        if name in VALUES:
            return VALUES[name]
    return BY_TYPE[str(inspect.signature(CALLS[call]).parameters[argument].annotation)]


async def sent(call: str, given: Mapping[str, Any]) -> tuple[str, bytes]:
    """Return the message that a call sends first."""
    client = arb.Client("127.0.0.1:9", token="t")
    client.connection = Recording()  # type: ignore[assignment]
    answer = getattr(client, call)(**given)
    with pytest.raises(Sent) as message:
        await (anext(answer) if isinstance(answer, AsyncIterator) else answer)
    return message.value.message


@pytest.mark.parametrize(
    ("call", "argument"), [(call, argument) for call in CALLS for argument in arguments(CALLS[call])]
)
async def test_each_argument_of_a_call_is_sent(call: str, argument: str) -> None:
    given = {each: values(call, each)[0] for each in arguments(CALLS[call])}
    changed = {**given, argument: values(call, argument)[1]}
    plain = await sent(call, given)
    assert plain == await sent(call, given), "it differs by this argument alone"
    assert plain != await sent(call, changed)


def changes(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield copies of a value in each of which one field has another value, with the field's name."""
    for each in dataclasses.fields(value):
        before = getattr(value, each.name)
        if dataclasses.is_dataclass(before):
            for name, inner in changes(before, f"{path}{each.name}."):
                yield name, dataclasses.replace(value, **{each.name: inner})
        else:
            yield path + each.name, dataclasses.replace(value, **{each.name: other(f"{path}{each.name}", before)})


def other(name: str, value: Any) -> Any:
    """Return another value of a field than a given one."""
    special = {
        "openings.lines": (arb.OpeningLine("pods", ("a1",)),),
        "entry.forbidden": (arb.PlayerPair("ann", "ben"),),
        "season.places": (arb.PlayerGroup("First", ("ann",)),),
        "season.moves": (arb.PlayerGroup("left", ("ann",)),),
        "groups.categories": (arb.PlayerGroup("rust", ("ann",)),),
        "groups.authors": (arb.PlayerGroup("Ada", ("ann", "ben")),),
        "tie_breaks": (arb.TieBreak.WINS,),
        "time_odds": {"ann": "1s"},
    }
    if name in special:
        return special[name]
    if value is None:
        return 7
    if isinstance(value, Enum):
        return type(value)(1 if value.value != 1 else 2)
    return (
        not value
        if isinstance(value, bool)
        else value + {int: 1, str: "x", tuple: value[:1] if isinstance(value, tuple) and value else ("x",)}[type(value)]
    )


FIELDS: Final = [
    ("create_tournament", "spec", SPEC),
    ("create_seek", "terms", arb.Terms("pods")),
    ("create_challenge", "terms", arb.Terms("pods")),
    ("create_match", "policy", arb.Policy()),
    ("play_moves", "line", arb.Line("pods")),
    ("legal_moves", "at", arb.MatchPly("m1", 3)),
    ("rule_on_ratings", "games", arb.GameSelection()),
]
"""Values of several fields that calls send."""


@pytest.mark.parametrize(("call", "argument", "value"), FIELDS, ids=lambda each: each if isinstance(each, str) else "")
async def test_each_field_of_a_value_is_sent(call: str, argument: str, value: Any) -> None:
    given = {each: values(call, each)[0] for each in arguments(CALLS[call])}
    plain = await sent(call, {**given, argument: value})
    for name, changed in changes(value):
        assert plain != await sent(call, {**given, argument: changed}), name


# -- clients and bots --------------------------------------------------------------------------------------------------

CONNECTING: Final[Mapping[str, Any]] = {
    "server": "there:1",
    "token": "secret",
    "name": "ann",
    "tls": arb.Tls(),
    "timeout_s": 7.0,
    "patience_s": 7.0,
}
"""A value of each argument of a client that is not its default."""


@pytest.mark.parametrize("argument", arguments(arb.Client.__init__))
def test_each_argument_of_a_client_is_one_of_its_connection(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, argument: str
) -> None:
    monkeypatch.setenv("ARBITER_CREDENTIALS", str(tmp_path / "credentials.json"))
    credentials.save(("127.0.0.1:7400",), "ann", "of ann")
    monkeypatch.setattr("arbiter_client.client.Connection", lambda addresses, *given: (addresses, given))
    plain, changed = arb.Client(), arb.Client(**{argument: CONNECTING[argument]})
    assert plain.connection != changed.connection


def test_a_blocking_client_passes_its_arguments_on(monkeypatch: pytest.MonkeyPatch) -> None:
    assert arguments(arb.BlockingClient.__init__) == arguments(arb.Client.__init__) == [*CONNECTING]
    monkeypatch.setattr("arbiter_client.blocking.Client", taking)
    with pytest.raises(Taken) as taken:
        arb.BlockingClient(**CONNECTING)
    assert taken.value.given == CONNECTING


class Taken(Exception):
    """Something was called with these arguments, by name."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        super().__init__("taken")
        self.given = given


def taking(first: Any, **given: Any) -> NoReturn:
    """Show the arguments of a call."""
    raise Taken({"server": first, **given})


class QuietBot(arb.Bot):
    """A bot that is never asked."""

    def choose(self, turn: arb.Turn) -> arb.Resign:
        return arb.Resign()


PLAYING: Final[Mapping[str, Any]] = {
    **{name: CONNECTING[name] for name in ("server", "token", "name", "tls", "patience_s")},
    "matches": 7,
    "thinkers": 7,
    "on_error": "wait",
    "hooks": arb.Hooks(connected=print),
    "invitation": "secret",
}
"""A value of each argument with which a bot is played, other than the bot, that is not its default."""


async def test_a_bot_is_played_by_a_client_of_its_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arbiter_client.playing.Client", taking)
    with pytest.raises(Taken) as taken:
        await arb.play(QuietBot(), **PLAYING)
    assert taken.value.given == {name: PLAYING[name] for name in ("server", "token", "name", "tls", "patience_s")}


async def test_a_bot_is_run_with_the_arguments_of_its_play(monkeypatch: pytest.MonkeyPatch) -> None:
    def runner(bot: arb.Bot, run: object, outbox: object, *more: Any) -> NoReturn:
        raise Taken({"bot": bot, **dict(zip(("hooks", "on_error", "thinkers", "matches"), more, strict=True))})

    monkeypatch.setattr("arbiter_client.playing.BotRunner", runner)
    given = {name: PLAYING[name] for name in ("hooks", "on_error", "thinkers", "matches")}
    bot = QuietBot()
    with pytest.raises(Taken) as taken:
        await arb.play(bot, "127.0.0.1:9", token="secret", name="ann", **given)
    assert taken.value.given == {"bot": bot, **given}


@pytest.mark.parametrize(("most", "over"), [(1, True), (2, False), (None, False)])
@virtually
async def test_a_run_is_over_after_as_many_matches_as_it_is_to_play(most: int | None, over: bool) -> None:
    run: Any = SimpleNamespace(client=SimpleNamespace(), playing=0, left=None)
    runner = BotRunner(QuietBot(), run, Outbox(), arb.Hooks(), "resign", 8, most)
    runner.greeted("ann")
    void = match_pb2.Result(kind=match_pb2.RESULT_KIND_VOID, reason="aborted", cause=match_pb2.CAUSE_ARBITER)
    runner.take(play_pb2.PlayItem(ended=play_pb2.MatchEnded(match_id="m1", seat=1, result=void, cursor="c1")))
    await settle()
    assert runner.outcome.done() is over
    runner.close()


@virtually
async def test_a_bot_seeks_opponents_for_each_of_its_terms() -> None:
    made: list[arb.Terms] = []

    async def create_seek(terms: arb.Terms) -> SimpleNamespace:
        made.append(terms)
        return SimpleNamespace(challenge_id=f"s{len(made)}")

    async def list_challenges(most: int) -> list[arb.Challenge]:
        return []

    bot = QuietBot()
    bot.seeks = (arb.Terms("pods"), arb.Terms("hop-it", "7s"))
    connection = SimpleNamespace(greetings=0)
    client = SimpleNamespace(create_seek=create_seek, list_challenges=list_challenges, connection=connection)
    run: Any = SimpleNamespace(client=client, playing=0, left=None)
    runner = BotRunner(bot, run, Outbox(), arb.Hooks(), "resign", 8, None)
    runner.greeted("ann")
    await settle()
    assert made == [*bot.seeks]
    runner.close()


async def test_a_bot_registers_with_its_invitation(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    async def register(client: arb.Client, name: str, invitation: str) -> NoReturn:
        raise Taken({"name": name, "invitation": invitation})

    monkeypatch.setenv("ARBITER_CREDENTIALS", str(tmp_path / "credentials.json"))
    monkeypatch.delenv("ARBITER_TOKEN", raising=False)
    monkeypatch.setattr("arbiter_client.playing._register", register)
    with pytest.raises(Taken) as taken:
        await arb.play(QuietBot(), "there:1", name="ann", invitation="secret")
    assert taken.value.given == {"name": "ann", "invitation": "secret"}


def test_run_passes_its_arguments_on(monkeypatch: pytest.MonkeyPatch) -> None:
    assert {*arguments(arb.run)} == {*arguments(arb.play), "quiet"} == {*PLAYING, "bot", "quiet"}
    shown: list[bool] = []

    def play(bot: arb.Bot, server: str, **given: Any) -> NoReturn:
        raise Taken({"bot": bot, "server": server, **given})

    monkeypatch.setattr("arbiter_client.playing.play", play)
    monkeypatch.setattr("arbiter_client.playing.run_until_told", lambda work: work())
    monkeypatch.setattr("arbiter_client.playing.log.show", shown.append)
    monkeypatch.setattr("arbiter_client.playing.log.end_with_a_line", lambda: None)
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    bot = QuietBot()
    with pytest.raises(Taken) as taken:
        arb.run(bot, quiet=True, **PLAYING)
    assert taken.value.given == {"bot": bot, **PLAYING}
    assert shown == [True]


HELLO: Final[Mapping[str, Any]] = {
    "name": "orca",
    "version": "7",
    "games": ("pods",),
    "most_matches": 7,
    "accept_seeks": True,
    "enter_tournaments": True,
    "capabilities": ("clocks",),
}
"""What a bot says of itself in its hello, with values that are not the defaults."""


@pytest.mark.parametrize("attribute", HELLO)
def test_a_bot_says_what_it_is(attribute: str) -> None:
    bot = QuietBot()
    before = hello_of(bot).SerializeToString(deterministic=True)
    setattr(bot, attribute, HELLO[attribute])
    assert hello_of(bot).SerializeToString(deterministic=True) != before


@pytest.mark.parametrize("extra", [each.name for each in dataclasses.fields(arb.Extras)])
def test_a_bot_asks_for_the_extras_of_its_turns(extra: str) -> None:
    bot = QuietBot()
    before = hello_of(bot).SerializeToString(deterministic=True)
    value: Any = 9 if extra == "legal_moves_up_to" else True
    bot.extras = arb.Extras(**{extra: value})
    assert hello_of(bot).SerializeToString(deterministic=True) != before
