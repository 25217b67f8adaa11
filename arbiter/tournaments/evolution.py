"""Applies events to a tournament, and makes one from all its events.

Events are applied in place, each kind by a function of its own (`_STEPS`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any, Final

from arbiter.tournaments import corrections as cor
from arbiter.tournaments import events as ev
from arbiter.tournaments.by_hand import NOTHING
from arbiter.tournaments.counting_result import Disqualified, counting_result
from arbiter.tournaments.game_ends import ELSEWHERE, UNPLAYED, WALKOVER, WIN, GameResult
from arbiter.tournaments.meetings import Pair, ScheduledGame, make_meetings
from arbiter.tournaments.report_history import history_of
from arbiter.tournaments.spec import REARRANGED
from arbiter.tournaments.tournament import (
    Encounter,
    Entrant,
    MeetingEnd,
    OpenMeeting,
    RunningGame,
    Tournament,
    TournamentPhase,
)
from arbiter.tournaments.trf import read_with_lines
from arbiter.tournaments.waiting_games import WaitingGames


def replay(events: Iterable[ev.Event]) -> Tournament:
    """Return the tournament of a log. Raises ValueError if the log does not start with its creation."""
    stream = iter(events)
    created = next(stream, None)
    if not isinstance(created, ev.Created):
        raise ValueError("a tournament's log begins with its creation")
    tournament = Tournament(created)
    for event in stream:
        apply(tournament, event)
    return tournament


def apply(tournament: Tournament, event: ev.Event) -> None:
    """Apply the next event. Raises TypeError for a creation, and LookupError for a game or player that is not there."""
    step = _STEPS.get(type(event))
    if step is None:
        raise TypeError(f"{event!r} is no event that a tournament goes on with")
    step(tournament, event)
    tournament.revision += 1
    tournament.at = event.at
    request = getattr(event, "request", "")
    if request:
        tournament.requests[getattr(event, "caller", ""), request] = event


def _entered(tournament: Tournament, event: ev.Entered) -> None:
    joined = tournament.rounds + 1
    tournament.entrants[event.player] = Entrant(
        event.player, event.version, event.rating, joined, event.byes, team=event.team, category=event.category
    )
    if tournament.seeds and event.player not in tournament.seeds:  # a returning player keeps its place
        tournament.seeds.append(event.player)


def _withdrawn(tournament: Tournament, event: ev.Withdrawn) -> None:
    before = tournament.entrants[event.player]
    tournament.entrants[event.player] = before._replace(withdrawn=True, left=tournament.rounds)


def _entry_changed(tournament: Tournament, event: ev.EntryChanged) -> None:
    before = tournament.entrants[event.player]
    version = event.version or before.version
    tournament.entrants[event.player] = before._replace(rating=event.rating, byes=event.byes, version=version)


def _start_missed(tournament: Tournament, event: ev.StartMissed) -> None:
    tournament.missed = event


def _played_elsewhere(tournament: Tournament, event: ev.PlayedElsewhere) -> None:
    history = history_of(read_with_lines(event.report))
    names = {each.number: player for each, player in zip(history.players, event.players, strict=True)}
    tournament.initial = history.initial
    tournament.virtual = {names[each.number]: each.half_points for each in history.virtual}


def _started(tournament: Tournament, event: ev.Started) -> None:
    tournament.phase = TournamentPhase.RUNNING
    tournament.started_at = event.at
    tournament.seeds = list(event.seeds)
    tournament.rules = event.rules


def _paused(tournament: Tournament, event: ev.Paused) -> None:
    tournament.phase = TournamentPhase.PAUSED
    tournament.paused_at = event.at
    tournament.held_by = ""


def _continued(tournament: Tournament, event: ev.Continued) -> None:
    tournament.phase = TournamentPhase.RUNNING
    tournament.paused_ms += event.at - tournament.paused_at


def _paired(tournament: Tournament, event: ev.Paired) -> None:
    tournament.rounds = max(tournament.rounds, event.round)
    tournament.paired_at = tournament.revision + 1
    tournament.ordered = 0
    if event.byes:
        tournament.byes[event.round] = tournament.byes.get(event.round, ()) + event.byes
    for meeting in event.meetings:
        tournament.meetings.append(meeting)
        tournament.games.extend(meeting.games)
        tournament.open[meeting.number] = OpenMeeting(len(meeting.games), event.at)
        for player in {meeting.first, meeting.second}:
            tournament.meetings_of[player].append(meeting)
        _meet(tournament, Pair(meeting.first, meeting.second), meeting.number)
        for game in meeting.games:
            tournament.waiting.add(game)


def _meet(tournament: Tournament, pair: Pair, meeting: int) -> None:
    """Note that a meeting is of a pair."""
    players = frozenset(pair.players)
    encounter = Encounter(tournament.pairs.setdefault(players, len(tournament.pairs)), tournament.met[players])
    tournament.encounters[meeting - 1] = encounter
    tournament.met[players] += 1
    tournament.lead[pair.first] += 1
    tournament.lead[pair.second] -= 1


def _begun(tournament: Tournament, event: ev.Begun) -> None:
    tournament.waiting.remove(tournament.games[event.game - 1])
    tournament.attempts[event.game] = event.attempt
    tournament.running[event.game] = RunningGame(event.attempt, event.match)


def _ended_game(tournament: Tournament, event: ev.EndedGame) -> None:
    tournament.waiting.remove(tournament.games[event.game - 1])
    tournament.running.pop(event.game, None)
    how = (event.reason, event.cause, event.moves, event.versions)
    result = tournament.as_played[event.game] = GameResult(event.winner, event.match, *how)
    tournament.results[event.game] = _counting_result(tournament, event.game)
    tournament.changed[event.game] = tournament.revision + 1
    game = tournament.games[event.game - 1]
    for seat, player in ((1, game.seat1), (2, game.seat2)):
        if result.fault(seat) == "crashes":
            tournament.attended[player] = False
        elif result.reason not in (WALKOVER, UNPLAYED, ELSEWHERE):
            tournament.attended[player] = True
    games, since = tournament.open.pop(game.meeting)
    if games > 1:
        tournament.open[game.meeting] = OpenMeeting(games - 1, since)
    elif game.meeting not in tournament.ends:  # if it is, a game was played again: how long that took is no measure
        tournament.meetings_ms += event.at - since
        ended = len(tournament.ends) + tournament.old.meetings
        tournament.ends[game.meeting] = MeetingEnd(event.at, tournament.meetings_ms // (ended + 1))


def _voided(tournament: Tournament, event: ev.Voided) -> None:
    tournament.running.pop(event.game, None)
    tournament.waiting.add(tournament.games[event.game - 1])


def _ruled(tournament: Tournament, event: ev.Ruled) -> None:
    tournament.rulings[event.game].append(event)
    tournament.ruled_at[event.game] = tournament.revision + 1
    tournament.decided_at = tournament.revision + 1
    _recount(tournament, [event.game])


def _corrected(tournament: Tournament, event: ev.Corrected) -> None:
    tournament.corrections.append(event)
    tournament.decided_at = tournament.revision + 1
    match event.what:
        case cor.Disqualify(player):
            before = tournament.entries[player] = tournament.entrants[player]
            out = Disqualified(event.what, event.caller, event.note, tournament.revision + 1)
            tournament.disqualified[player] = out
            left = before.left if before.withdrawn else tournament.rounds
            tournament.entrants[player] = before._replace(withdrawn=True, left=left, disqualified=True)
            _recount(tournament, _games_of(tournament, player))
        case cor.Reinstate(player):
            del tournament.disqualified[player]
            tournament.entrants[player] = tournament.entries.pop(player)
            if tournament.seeds and player not in tournament.seeds:  # it was disqualified before the start
                tournament.entrants[player] = tournament.entrants[player]._replace(joined=tournament.rounds + 1)
                tournament.seeds.append(player)
            _recount(tournament, _games_of(tournament, player))
        case cor.Replay(game):
            _replay(tournament, game, event.at)
        case cor.Award(player, points):
            tournament.awarded[player] += points
        case cor.DrawLots():
            tournament.lots.append(event.what)
        case _:
            _pair_by_hand(tournament, event.what, event.caller)


def _pair_by_hand(tournament: Tournament, what: cor.OfPairing, caller: str) -> None:
    match what:
        case cor.Forbid(first, second, lifted):
            pair = frozenset({frozenset((first, second))})
            tournament.forbidden = tournament.forbidden - pair if lifted else tournament.forbidden | pair
        case cor.Hold(off):
            tournament.held_by = "" if off else caller
            is_between = tournament.phase is TournamentPhase.PAUSED and tournament.all_decided()  # two rounds
            tournament.held_after = tournament.rounds + 1 if is_between else tournament.rounds
        case cor.PairByHand(round_, pairs):
            if tournament.spec.format not in REARRANGED:
                kept = tournament.by_hand.get(round_, NOTHING).of_round(tournament.of_round(round_))
                tournament.by_hand[round_] = kept.with_pairs(pairs)
                _unpair(tournament, round_)
            else:
                _rearrange(tournament, round_, pairs)
        case cor.GiveBye(player, round_, points):
            asked = tournament.by_hand.get(round_, NOTHING).without({player})
            if points == WIN:
                asked = asked._replace(byes=(*asked.byes, player))
            else:
                entrant = tournament.entrants[player]
                tournament.entrants[player] = entrant._replace(byes=(*entrant.byes, round_))
            tournament.by_hand[round_] = asked
            _unpair(tournament, round_)
        case cor.PairRound(round_, afresh):
            if afresh:
                tournament.by_hand.pop(round_, None)
            _unpair(tournament, round_)
            tournament.ordered = round_


def _unpair(tournament: Tournament, round_: int) -> None:
    """Take back the pairing of the last round, of which no game has begun; walkovers in it do not count.

    The numbers of its games are used again. If a match is just being created for one of these, its attempt is over.
    """
    if round_ != tournament.rounds:
        return
    gone = tournament.of_round(round_)
    for meeting in gone:
        _give_up(tournament, meeting.games)
        tournament.ends.pop(meeting.number, None)
        tournament.open.pop(meeting.number, None)
        for player in meeting.players:
            tournament.meetings_of[player].pop()
    tournament.meetings.cut(len(gone))
    tournament.encounters.cut(len(gone))
    tournament.games.cut(sum(len(meeting.games) for meeting in gone))
    tournament.byes.pop(round_, None)
    tournament.rounds = round_ - 1
    tournament.ordered = round_ if tournament.phase is TournamentPhase.PAUSED else 0
    for player, each in tournament.entrants.items():
        left = min(each.left, tournament.rounds)
        tournament.entrants[player] = each._replace(joined=min(each.joined, round_), left=left)


def _rearrange(tournament: Tournament, round_: int, pairs: Collection[tuple[str, str]]) -> None:
    """Give the meetings of some players in a round, of which no game has begun, to other pairs of them."""
    named = {player for pair in pairs for player in pair}
    old = [meeting for meeting in tournament.of_round(round_) if not named.isdisjoint(meeting.players)]
    for before, pair in zip(old, (Pair(*each) for each in pairs), strict=True):
        first = before.games[0].number
        [meeting] = make_meetings(tournament.spec, [pair], round_, before.number - 1, first - 1)
        _give_up(tournament, before.games)
        tournament.meetings[meeting.number - 1] = meeting
        for game in meeting.games:
            tournament.games[game.number - 1] = game
        for player in before.players:
            tournament.meetings_of[player].remove(before)
        for player in pair.players:
            tournament.meetings_of[player] = sorted([*tournament.meetings_of[player], meeting])
        if set(pair.players) != set(before.players):
            _meet(tournament, pair, meeting.number)
        for game in meeting.games:
            tournament.waiting.add(game)


def _give_up(tournament: Tournament, games: Iterable[ScheduledGame]) -> None:
    results = (tournament.results, tournament.as_played, tournament.changed)
    for game in games:
        tournament.waiting.remove(game)
        for known in (*results, tournament.rulings, tournament.ruled_at):
            known.pop(game.number, None)
        tournament.attempts[game.number] += 1
        tournament.tries[game.number] = tournament.attempts[game.number]


def _games_of(tournament: Tournament, player: str) -> list[int]:
    games = (game.number for meeting in tournament.meetings_of[player] for game in meeting.games)
    return [number for number in games if number in tournament.results]


def _counting_result(tournament: Tournament, number: int) -> GameResult:
    game = tournament.games[number - 1]
    seats = [tournament.disqualified.get(player) for player in game.players] if game.seat1 != game.seat2 else []
    rulings = tournament.rulings.get(number, ())
    return counting_result(tournament.as_played[number], seats, rulings, tournament.ruled_at.get(number, 0))


def _recount(tournament: Tournament, numbers: Iterable[int]) -> None:
    """Set the results of some games to what counts after the decision that is applied now."""
    for number in numbers:
        if _bracket_has_gone_on(tournament, number):
            tournament.bracket_results.setdefault(number, tournament.results[number])
        tournament.results[number] = _counting_result(tournament, number)
        tournament.changed[number] = tournament.revision + 1


def _bracket_has_gone_on(tournament: Tournament, number: int) -> bool:
    """Return whether a player of a game of a bracket has been paired in another tie since."""
    game = tournament.games[number - 1]
    place = tournament.meetings[game.meeting - 1].place
    later = (tournament.meetings_of[player][-1] for player in game.players)
    return bool(place) and any(meeting.number > game.meeting and meeting.place != place for meeting in later)


def _replay(tournament: Tournament, number: int, at: int) -> None:
    """Let a game that has a result wait for being played again."""
    game = tournament.games[number - 1]
    del tournament.results[number], tournament.as_played[number]
    tournament.rulings.pop(number, None)
    tournament.changed[number] = tournament.revision + 1
    tournament.tries[number] = tournament.attempts[number]
    games, since = tournament.open.get(game.meeting, OpenMeeting(0, at))
    tournament.open[game.meeting] = OpenMeeting(games + 1, since)
    tournament.waiting.add(game)


def _ended(tournament: Tournament, event: ev.Ended) -> None:
    tournament.phase = TournamentPhase.ENDED
    tournament.end = event
    tournament.running.clear()
    tournament.waiting = WaitingGames()


_STEPS: Final[dict[type, Callable[[Tournament, Any], None]]] = {
    ev.Entered: _entered,
    ev.Withdrawn: _withdrawn,
    ev.EntryChanged: _entry_changed,
    ev.StartMissed: _start_missed,
    ev.PlayedElsewhere: _played_elsewhere,
    ev.Started: _started,
    ev.Paused: _paused,
    ev.Continued: _continued,
    ev.Paired: _paired,
    ev.Begun: _begun,
    ev.EndedGame: _ended_game,
    ev.Voided: _voided,
    ev.Ruled: _ruled,
    ev.Corrected: _corrected,
    ev.Ended: _ended,
}
