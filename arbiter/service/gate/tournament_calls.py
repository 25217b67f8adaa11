"""The calls that create, enter, run and show tournaments, for every API."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Final, NamedTuple

from arbiter.config import Limits
from arbiter.errors import Refusal, argument_invalid
from arbiter.matches.answers import LONGEST_NOTE
from arbiter.matches.match import Match
from arbiter.matches.requests import check_request_id
from arbiter.plain_text import check_plain
from arbiter.ratings.rulings import Command, Decision, Selection
from arbiter.service.gate.admission import Admission, Call
from arbiter.service.gate.entries import EntryCorrection, EntryRequest, byes_of, groups_of
from arbiter.service.gate.open_streams import OpenStreams
from arbiter.service.gate.paging import Page, PageRequest, number_of, page_of, size_of
from arbiter.service.gate.rights import Action, Relation, allowed, check_relation
from arbiter.service.gate.use_cases import UseCases
from arbiter.service.one_thread import OneThread
from arbiter.service.players.accounts import NO_TOKEN, Caller, check_plays
from arbiter.service.ports.journal import StoreFailed, TournamentFilter, TournamentSummary
from arbiter.service.tournaments.deciding import Decided, Deciding, with_seed
from arbiter.service.tournaments.game_matches import tournament_of
from arbiter.tournaments import commands as do
from arbiter.tournaments import formats
from arbiter.tournaments.commands import Correct, Rule
from arbiter.tournaments.corrections import Disqualify, DrawLots, Reinstate
from arbiter.tournaments.events import Entered, EntryChanged, Event
from arbiter.tournaments.game_rulings import change_in_words
from arbiter.tournaments.group_table import table_of
from arbiter.tournaments.spec import Spec
from arbiter.tournaments.standings import Table
from arbiter.tournaments.tournament import Entrant, Tournament, TournamentPhase

LONGEST_SEED: Final = 100  #: characters of the seed of a lot
HIGHEST_RATING: Final = 10_000
CAUTIONS_KEPT: Final = 100  #: tournaments whose cautions are remembered
AVERAGE_SEED: Final = 1_500  #: the seeding of a player with rating 0, since a seeding of 0 means unrated


class Change(NamedTuple):
    """The tournament that a request changes, and the request's id."""

    tournament_id: str
    request_id: str


class NewTournament(NamedTuple):
    """A tournament that has been created or started. cautions: what its organiser should know about it."""

    tournament: Tournament
    cautions: tuple[str, ...]


class Powers(NamedTuple):
    """What a caller may do with a tournament: run it; enter and withdraw other players; enter and withdraw itself."""

    runs: bool = False
    enters_others: bool = False
    enters_itself: bool = False


class TournamentQuery(NamedTuple):
    """The tournaments to list; '' and None let everything through, except that the format None is an unknown one."""

    format: str | None = ""
    creator: str = ""
    ended: bool | None = None


class TournamentGate:
    """The calls about tournaments. Each raises what `Admission.caller` raises, and what its own docstring says.

    Calls that change a tournament raise ARGUMENT_INVALID, TOURNAMENT_NOT_FOUND, SCOPE_MISSING for another caller's
    tournament, and the refusal of the tournament.
    """

    def __init__(self, admission: Admission, streams: OpenStreams, use_cases: UseCases, limits: Limits) -> None:
        self._admission = admission
        self._streams = streams
        self._tournaments = use_cases.tournaments
        self._files = use_cases.tournament_files
        self._history = use_cases.feed.history
        self._accounts = use_cases.accounts
        self._ratings = use_cases.ratings
        self._rulings = use_cases.rulings
        self._limits = limits
        self._tables = use_cases.tables
        self._deciding = Deciding(use_cases.tournaments, self._tables)
        self._reading = OneThread()
        self._cautions: OrderedDict[str, tuple[str, ...]] = OrderedDict()

    async def create(self, call: Call, request_id: str, read: Callable[[], Spec]) -> NewTournament:
        """Create a tournament. `read` returns its specification.

        `read` may take long, so it runs in a thread, one call at a time. Raises Refusal ARGUMENT_INVALID, and as
        `TournamentRegistry.create` and `read` do.
        """
        caller = await self._admission.caller(call, Action.CREATE_TOURNAMENT)
        check_request_id(request_id)
        spec = await self._reading.run(read)
        made = await self._tournaments.create(spec, caller.player, request_id)
        return NewTournament(made, await self.cautions(made))

    async def cautions(self, tournament: Tournament) -> tuple[str, ...]:
        """Return what the organiser of a tournament should know before its start."""
        spec = tournament.spec
        known = self._cautions.get(tournament.id)
        if known is None:  # looking for repeated openings takes long
            caution = await self._reading.run(formats.of(spec).caution, spec)
            self._cautions[tournament.id] = known = (caution,) if caution else ()
            if len(self._cautions) > CAUTIONS_KEPT:
                self._cautions.popitem(last=False)
        return (*known, *_of_field(tournament))

    # -- players -------------------------------------------------------------------------------------------------

    async def enter(self, call: Call, change: Change, entry: EntryRequest) -> Entrant:
        """Enter a player. Also raises Refusal PLAYER_NOT_FOUND, PLAYER_SUSPENDED."""
        action = Action.ENTER_TOURNAMENT
        caller, tournament, name = await self._of_entrant(call, action, change, entry.player)
        _check_rating(caller, tournament, action, entry.rating)
        organises = allowed(caller, action, relation_to(caller, tournament, Relation.OWN_TOURNAMENT))
        byes, (team, category) = byes_of(entry.byes), groups_of(entry, organises)
        known = tournament.requests.get((caller.player, change.request_id))
        if isinstance(known, Entered) and known.player == name:  # a repeated request: as at the first time
            version, seeding, badge = known.version, known.rating, True
        else:
            player = await self._accounts.player(name)
            check_plays(player)
            version, badge = player.bot_version, player.badged
            seeding = await self._seeding(name, tournament.spec.games)
        rating = entry.rating or seeding
        command = do.Enter(name, caller.player, change.request_id, version, rating, byes, badge, team, category)
        return (await self._tournaments.act(tournament.id, command)).entrants[name]

    async def _seeding(self, name: str, games: Sequence[str]) -> int:
        """Return the default seeding of a player: its rating at the games, on a scale above 0; 0 without a rating."""
        try:
            strength = (await self._ratings.strengths(games)).get(name)
        except StoreFailed:
            raise
        except Refusal:  # a player may enter without a rating
            return 0
        return max(1, AVERAGE_SEED + round(strength.rating)) if strength is not None else 0

    async def change_entry(self, call: Call, change: Change, wanted: EntryCorrection) -> Entrant:
        """Change the byes of a player, or the rating that it is seeded by.

        Before the start, the version of a bot that had not come when it was entered is noted too.
        """
        action = Action.CHANGE_ENTRY
        caller, tournament, name = await self._of_entrant(call, action, change, wanted.player)
        if wanted.rating is None and wanted.byes is None:
            raise argument_invalid("nothing", "byes", "byes or a rating: what is to change")
        rating = wanted.rating
        if rating is not None:
            _check_rating(caller, tournament, action, rating)
            known = tournament.requests.get((caller.player, change.request_id))
            if not rating and isinstance(known, EntryChanged):  # a repeated request: as at the first time
                rating = known.rating
            rating = rating or await self._seeding(name, tournament.spec.games)
        byes = None if wanted.byes is None else byes_of(wanted.byes)
        version = await self._late_version(
            tournament, name, tournament.requests.get((caller.player, change.request_id))
        )
        command = do.ChangeEntry(name, caller.player, change.request_id, rating, byes, version)
        return (await self._tournaments.act(tournament.id, command)).entrants[name]

    async def _late_version(self, tournament: Tournament, name: str, known: Event | None) -> str:
        """Return the version of a player's bot if it had none at its entry, and has said hello since; else ''.

        known: the event of the same request, if it is repeated.
        """
        if isinstance(known, EntryChanged):
            return known.version
        entrant = tournament.entrants.get(name)
        if entrant is None or entrant.version or tournament.phase is not TournamentPhase.ENTRY:
            return ""
        return (await self._accounts.player(name)).bot_version

    async def withdraw(self, call: Call, change: Change, player: str) -> Entrant:
        """Withdraw a player, '' for the caller."""
        caller, tournament, name = await self._of_entrant(call, Action.WITHDRAW_FROM_TOURNAMENT, change, player)
        command = do.Withdraw(name, caller.player, change.request_id)
        return (await self._tournaments.act(tournament.id, command)).entrants[name]

    async def _of_entrant(
        self, call: Call, action: Action, change: Change, player: str
    ) -> tuple[Caller, Tournament, str]:
        """Return the caller, the tournament, and the player ('' for the caller) whose entry the call is about.

        An organiser may change all entries, also its own. Any other player may change its own entry alone.
        """
        caller = await self._admission.caller(call, action)
        tournament = await self._tournament(change)
        name = self._accounts.names.key(player or caller.player)
        relation = relation_to(caller, tournament, Relation.OWN_TOURNAMENT)
        if name == caller.player and not allowed(caller, action, relation):
            relation = Relation.OWN
        check_organises(caller, action, relation, tournament)
        return caller, tournament, name

    # -- life ----------------------------------------------------------------------------------------------------

    async def start(self, call: Call, change: Change) -> NewTournament:
        """Start a tournament; return it with what its organiser should know about its field."""
        caller = await self._organiser(call, Action.START_TOURNAMENT, change)
        started = await self._tournaments.act(change.tournament_id, do.Start(caller.player, change.request_id))
        return NewTournament(started, _of_field(started))

    async def pause(self, call: Call, change: Change) -> Tournament:
        """Pause a tournament."""
        caller = await self._organiser(call, Action.PAUSE_TOURNAMENT, change)
        return await self._tournaments.act(change.tournament_id, do.Pause(caller.player, change.request_id))

    async def resume(self, call: Call, change: Change) -> Tournament:
        """Resume a tournament."""
        caller = await self._organiser(call, Action.RESUME_TOURNAMENT, change)
        return await self._tournaments.act(change.tournament_id, do.Continue(caller.player, change.request_id))

    async def cancel(self, call: Call, change: Change, note: str, *, series_goes_on: bool = False) -> Tournament:
        """Cancel a tournament. `note` says why. series_goes_on: the next one of its series takes place all the same."""
        caller = await self._organiser(call, Action.CANCEL_TOURNAMENT, change)
        check_plain(note, "note", LONGEST_NOTE)
        tournament = await self._tournaments.get(change.tournament_id)
        if series_goes_on and not tournament.spec.schedule.every:
            raise argument_invalid("true", "series_goes_on", "false for a tournament without schedule.every")
        command = do.Cancel(caller.player, change.request_id, note, series_goes_on)
        return await self._tournaments.act(tournament.id, command)

    async def rule(self, call: Call, change: Change, command: Callable[[str], Rule], preview: bool) -> Decided:
        """Rule on a game; return what that changes. preview: only what it would change.

        command: of the caller's name.
        """
        caller = await self._organiser(call, Action.RULE_ON_GAME, change)
        return await self._decide(caller, change, command(caller.player), preview)

    async def correct(
        self,
        call: Call,
        change: Change,
        command: Callable[[str], Correct],
        preview: bool,
        ratings_too: bool = False,
    ) -> Decided:
        """Correct a tournament; return what that changes. preview: only what it would change.

        command: of the caller's name; a lot without a seed gets one. ratings_too: a disqualification also makes the
        player's games of this tournament unrated, and a reinstatement takes that back; operators alone may do so.
        """
        caller = await self._organiser(call, Action.CORRECT_TOURNAMENT, change)
        wanted = command(caller.player)
        if ratings_too:
            await self._admission.caller(call, Action.RULE_ON_RATINGS)
            ruling = _ruling_with(wanted, change)
            decided = await self._decide(caller, change, wanted, preview)
            changed = await self._rulings.with_tournament(ruling, preview=preview)
            return decided._replace(ratings_changed=changed)
        if isinstance(wanted.what, DrawLots):
            check_plain(wanted.what.seed, "seed", LONGEST_SEED)
            wanted = with_seed(await self._tournaments.get(change.tournament_id), wanted, secrets.token_hex(8))
        return await self._decide(caller, change, wanted, preview)

    async def _decide(self, caller: Caller, change: Change, wanted: Rule | Correct, preview: bool) -> Decided:
        check_plain(wanted.note, "note", LONGEST_NOTE)
        tournament = await self._tournaments.get(change.tournament_id)
        self._admission.charge(caller, 2 * len(tournament.entrants))
        return await self._deciding.decide(tournament, wanted, preview=preview)

    async def ruling_on(self, call: Call, match: Match) -> str:
        """Return the newest ruling on a match of a tournament in words, '' without one."""
        made_by = tournament_of(match)
        if not made_by or match.result is None:
            return ""
        caller = await self._admission.caller(call, Action.GET_TOURNAMENT)
        try:
            tournament = await self._tournaments.get(made_by)
        except StoreFailed:
            raise
        except Refusal:  # its log is damaged: the match is shown all the same
            return ""
        self._admission.charge(caller, len(tournament.rulings))
        ruled = (number for number in tournament.rulings if tournament.results[number].match == match.id)
        return next((change_in_words(tournament, number) for number in ruled), "")

    async def _organiser(self, call: Call, action: Action, change: Change) -> Caller:
        """Return the caller, if it may run a tournament. Raises Refusal SCOPE_MISSING."""
        caller = await self._admission.caller(call, action)
        tournament = await self._tournament(change)
        check_organises(caller, action, relation_to(caller, tournament, Relation.OWN), tournament)
        return caller

    async def _tournament(self, change: Change) -> Tournament:
        """Return the tournament that a request changes. Raises Refusal TOURNAMENT_NOT_FOUND, ARGUMENT_INVALID."""
        check_request_id(change.request_id)
        return await self._tournaments.get(change.tournament_id)

    def powers(self, player: str, scopes: frozenset[str], tournament: Tournament) -> Powers:
        """Return what a player may do with a tournament, by a token with these scopes. A page offers it."""
        caller = Caller(player, NO_TOKEN, scopes)
        own, entry = (relation_to(caller, tournament, kind) for kind in (Relation.OWN, Relation.OWN_TOURNAMENT))
        return Powers(
            allowed(caller, Action.START_TOURNAMENT, own),
            allowed(caller, Action.ENTER_TOURNAMENT, entry),
            allowed(caller, Action.ENTER_TOURNAMENT, Relation.OWN),
        )

    # -- looking -------------------------------------------------------------------------------------------------

    async def get(self, call: Call, tournament_id: str, *, whole: bool = False) -> Tournament:
        """Return a tournament in its current state; whole: with the old games of a ladder.

        Raises Refusal TOURNAMENT_NOT_FOUND.
        """
        caller = await self._admission.caller(call, Action.GET_TOURNAMENT)
        tournament = await (self._tournaments.whole if whole else self._tournaments.get)(tournament_id)
        self._admission.charge(caller, len(tournament.entrants) + len(tournament.running))
        return tournament

    async def list(self, call: Call, wanted: TournamentQuery, page: PageRequest) -> Page[TournamentSummary]:
        """Return a page of tournaments, newest first. Raises Refusal ARGUMENT_INVALID."""
        caller = await self._admission.caller(call, Action.LIST_TOURNAMENTS)
        size = size_of(page, self._limits)
        if wanted.format is None:
            raise argument_invalid("another format", "format", "a format that this server knows")
        which = TournamentFilter(wanted.format, wanted.creator, wanted.ended)
        async with self._admission.turn(caller):
            rows = await self._tournaments.summaries(which, number_of(page.token), size + 1)
            self._admission.charge(caller, len(rows))
        return page_of(rows, size, lambda row: str(row.sequence))

    async def standings(self, call: Call, tournament_id: str, category: str = "") -> tuple[str, Table]:
        """Return the id of a tournament, and its standings, of one category unless this is ''.

        Raises Refusal TOURNAMENT_NOT_FOUND, ARGUMENT_INVALID (it has no such category).
        """
        caller = await self._admission.caller(call, Action.GET_STANDINGS)
        tournament = await self._tournaments.get(tournament_id)
        self._admission.charge(caller, len(tournament.entrants))
        return tournament.id, table_of(await self._tables.of(tournament), tournament.categories, category)

    @asynccontextmanager
    async def file(self, call: Call, tournament_id: str) -> AsyncIterator[AsyncIterator[bytes]]:
        """Open the file of a tournament; yields it in parts of whole lines. Raises Refusal TOURNAMENT_NOT_FOUND."""
        caller = await self._admission.caller(call, Action.EXPORT_TOURNAMENT)
        async with self._streams.held(caller, "transcripts"):
            with self._history.reader(caller.player) as page:
                yield page.each(self._files.parts(tournament_id))


def _check_rating(caller: Caller, tournament: Tournament, action: Action, rating: int) -> None:
    """Raise Refusal ARGUMENT_INVALID unless a caller may seed a player by a rating."""
    organises = allowed(caller, action, relation_to(caller, tournament, Relation.OWN_TOURNAMENT))
    if not 0 <= rating <= (HIGHEST_RATING if organises else 0):
        raise argument_invalid(
            rating, "rating", f"0; an organiser may also give whole Elo points up to {HIGHEST_RATING}"
        )


def _ruling_with(wanted: Correct, change: Change) -> Command:
    """Return the ruling on ratings that goes with a disqualification or a reinstatement. Raises ARGUMENT_INVALID."""
    what = wanted.what
    if not isinstance(what, Disqualify | Reinstate):
        raise argument_invalid("true", "ratings_too", "false, unless a player is disqualified or reinstated")
    decision = Decision.UNRATED if isinstance(what, Disqualify) else Decision.TAKEN_BACK
    games = Selection(players=(what.player,), label=change.tournament_id)
    return Command(wanted.caller, wanted.request, decision, games, 0, wanted.note)


def relation_to(caller: Caller, tournament: Tournament, own: Relation) -> Relation:
    """Return the relation of a caller to a tournament: `own` if the caller has created it."""
    return own if caller.player == tournament.created.creator else Relation.OTHERS


def check_organises(caller: Caller, action: Action, relation: Relation, tournament: Tournament) -> None:
    """Raise Refusal SCOPE_MISSING unless a caller may do something to a tournament."""
    creator = tournament.created.creator
    check_relation(caller, action, relation, f"tournament {tournament.id}", f"its creator ({creator})")


def _of_field(tournament: Tournament) -> tuple[str, ...]:
    """Return what an organiser should know about the field: the entrants, or as many as may enter before two have."""
    entry = tournament.spec.entry
    players = len(tournament.players)
    if players < 2:
        players = min((limit for limit in (entry.capacity, len(entry.invited)) if limit), default=0)
    caution = formats.of(tournament.spec).field_caution(tournament.spec, players)
    return (caution,) if caution else ()
