"""The call by which a tournament that was begun elsewhere goes on here, for every API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from arbiter.errors import Refusal, argument_invalid, shortened
from arbiter.matches.requests import check_request_id
from arbiter.plain_text import plain
from arbiter.service.gate.admission import Admission, Call
from arbiter.service.gate.rights import Action, Relation
from arbiter.service.gate.tournament_calls import Change, check_organises, relation_to
from arbiter.service.one_thread import OneThread
from arbiter.service.players.accounts import Accounts, check_plays
from arbiter.service.ports.journal import StoreFailed
from arbiter.service.tournaments.tournament_registry import TournamentRegistry
from arbiter.tournaments import commands as do
from arbiter.tournaments.report_history import history_of
from arbiter.tournaments.tournament import Tournament
from arbiter.tournaments.trf import ReadReport, Report, lines_of, read_with_lines, write
from arbiter.tournaments.trf_records import TrfError

MOST_REPORTED: Final = 1_000  #: players; with eleven rounds, their events take a third of a second
MOST_NAMED: Final = 10  #: players without an account that a refusal names


class Bot(NamedTuple):
    """A player of a report as it is known here: its name in records, and the version of its bot."""

    name: str
    version: str


class ReportGate:
    """The call about reports. It raises what `Admission.caller` raises, and what its own docstring says."""

    def __init__(self, admission: Admission, tournaments: TournamentRegistry, accounts: Accounts) -> None:
        self._admission = admission
        self._tournaments = tournaments
        self._accounts = accounts
        self._reading = OneThread()

    async def go_on(self, call: Call, change: Change, report: str, players: Mapping[str, str]) -> Tournament:
        """Start a tournament with what a report says. players: who is who here, by name or number in the report.

        Raises Refusal ARGUMENT_INVALID, whose message has the line and column of what is wrong, TOURNAMENT_NOT_FOUND,
        SCOPE_MISSING, PLAYER_SUSPENDED, and the refusal of the tournament.
        """
        caller = await self._admission.caller(call, Action.GO_ON_FROM_REPORT)
        check_request_id(change.request_id)
        tournament = await self._tournaments.get(change.tournament_id)
        check_organises(caller, Action.GO_ON_FROM_REPORT, relation_to(caller, tournament, Relation.OWN), tournament)
        read = await self._reading.run(_read, report)
        if len(read.report.players) > MOST_REPORTED:
            raise argument_invalid(len(read.report.players), "report", f"{MOST_REPORTED} players at most")
        self._admission.charge(caller, len(read.report.players))
        bots = await self._bots(read, players)
        numbers = sorted(bots)
        command = do.GoOn(
            caller.player,
            change.request_id,
            write(_without_names(read.report)),
            tuple(bots[number].name for number in numbers),
            tuple(bots[number].version for number in numbers),
        )
        return await self._tournaments.act(tournament.id, command)

    async def _bots(self, read: ReadReport, players: Mapping[str, str]) -> dict[int, Bot]:
        """Return who the players are here, by number. Raises Refusal ARGUMENT_INVALID, PLAYER_SUSPENDED."""
        known = {*(each.name for each in read.report.players), *(str(each.number) for each in read.report.players)}
        strange = sorted(players.keys() - known)
        if strange:
            raise argument_invalid(strange[0], "players", "names or numbers of players in the report")
        found: dict[int, Bot] = {}
        missing: list[str] = []
        whose: dict[str, int] = {}
        for each in read.report.players:
            name = players.get(str(each.number), players.get(each.name, each.name))
            line = read.lines[each.number]
            bot = await self._bot(name)
            if bot is None:
                missing.append(f"line {line}, {plain(shortened(name))}")
            elif bot.name in whose:
                twice = f"{plain(bot.name)} is in line {whose[bot.name]} and in line {line}: name another player"
                raise _wrong(name, twice)
            else:
                found[each.number], whose[bot.name] = bot, line
        if missing:
            more = f" and {len(missing) - MOST_NAMED} more" if len(missing) > MOST_NAMED else ""
            named = f"{'; '.join(missing[:MOST_NAMED])}{more}"
            raise _wrong(
                missing[0],
                f"players have no account here: {named}. Make accounts with these names, or say who plays for them: "
                '--player "NAME=PLAYER", in a call `players`',
            )
        return found

    async def _bot(self, name: str) -> Bot | None:
        try:
            player = await self._accounts.player(self._accounts.names.key(name))
        except StoreFailed:
            raise
        except Refusal:
            return None
        check_plays(player)
        return Bot(player.name, player.bot_version)


def _read(text: str) -> ReadReport:
    try:
        read = read_with_lines(text)
        history_of(read)
    except TrfError as error:
        raise _wrong(lines_of(text)[error.line - 1], str(error)) from None
    return read


def _without_names(report: Report) -> Report:
    """Return a report without what is about persons, for a record that stays."""
    return report._replace(name="", players=tuple(each._replace(name="") for each in report.players))


def _wrong(what: str, why: str) -> Refusal:
    return argument_invalid(what, "report", f"a tournament report (TRF) of players who have accounts here; {why}")
