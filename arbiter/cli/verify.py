"""`arbiter verify`: checks the rules, the clocks, the hash chain and the signature of a transcript, offline."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Final

from cyclopts import Parameter

from arbiter.cli import words
from arbiter.cli.failure import Failure
from arbiter.cli.terminal import counted, instant, say
from arbiter.cli.transcript_files import SUFFIX, TOURNAMENT_FILE
from arbiter.event_json.canonical import MalformedRecordError
from arbiter.keys.key_ring import holds
from arbiter.matches import transcript
from arbiter.matches.commands import ResultKind
from arbiter.matches.events import Ended
from arbiter.matches.match import Match
from arbiter.matches.signing import PublicKey, checking, id_of_key, key_bytes, read_keys
from arbiter.matches.transcript import TranscriptError, Verified
from arbiter.tournaments.game_ends import ELSEWHERE

_ID: Final = re.compile("[A-Za-z0-9_-]{1,64}", re.ASCII)  #: ids name files here, and come from a file of others
LONGEST_LINE: Final = 1_000_000  #: bytes of the first line of a transcript that are read for its id
_HEX: Final = re.compile("[0-9a-fA-F]{64}", re.ASCII)


def verify(
    file: Path,
    /,
    *,
    key: Annotated[list[str], Parameter(negative=())],
) -> None:
    """Verify a transcript or a whole tournament, using only files and the arbiter's public keys.

    Every event is decided again by the rules of its game and the match's policy, clocks and ledgers are computed again,
    and the hash chain and the signature are checked. At the first error the command ends with exit code 1.

    Of a tournament, that `arbiter export --tournament` wrote, the pairings are checked by the rules of its format, each
    game by its transcript, and results, standings and ratings are computed again.

    :param file: The transcript, as `arbiter transcript` wrote it, or the folder of a tournament, as `arbiter export
        --tournament` or `arbiter tournament run --export` wrote it.
    :param key: A file of public keys, as `arbiter key export` wrote it, or a public key in 64 hexadecimal digits; may
        be given several times.
    """
    keys = [public for given in key for public in keys_of(given)]
    if file.is_dir():
        say(_verified_tournament(file, keys))
        return
    data = read_file(file)
    try:
        verified = transcript.verify(data, checking(keys, holds))
    except TranscriptError as error:
        raise Failure(f"{file}, {error}") from None
    say(_summary(file, verified))


def _verified_tournament(folder: Path, keys: Sequence[PublicKey]) -> str:
    """Return what the export of a tournament holds, in words. Raises Failure."""
    # imported here: numpy takes a while to load, and a transcript does not need it
    from arbiter.bootstrap.verifying import TournamentError, verify_tournament

    files = _transcripts_in(folder)

    def transcript_of(match_id: str) -> bytes | None:
        file = files.get(match_id)
        return None if file is None else read_file(file)

    file = folder / TOURNAMENT_FILE
    try:
        found = asyncio.run(verify_tournament(read_file(file), transcript_of, checking(keys, holds)))
    except TournamentError as error:
        raise Failure(f"{file}, {error}") from None
    tournament, rows, teams = found.tournament, found.table.rows, found.table.teams
    first = ", ".join(row.player for row in rows if row.place == 1) or "nobody"
    counts = counted(len(rows), "player")
    if teams is not None:
        first = ", ".join(row.team for row in teams.rows if row.place == 1)
        counts = f"{counted(len(teams.rows), 'team')} and {counts}"
    games, matches = counted(len(tournament.results), "game"), counted(len(found.matches), "transcript")
    elsewhere = sum(each.reason == ELSEWHERE for each in tournament.results.values())
    played = f" ({elsewhere} played elsewhere)" if elsewhere else ""
    rated = counted(sum(row.rating is not None for row in rows), "rating")
    broken = "".join(f" Paired by hand, against the rules: {each}." for each in found.broken)
    missing = ", ".join(found.unchecked)
    unchecked = (
        f" NOT CHECKED: moves, openings, clocks, credit and strikes in {missing}, whose rules are not installed here."
        if missing
        else ""
    )
    return (
        f"{folder} holds: tournament {tournament.id}, {tournament.spec.name}, {tournament.spec.format.value}; first: "
        f"{first}. {games}{played} with {matches} hold, the pairings are legal, the places of "
        f"{counts} and {rated} are as computed again; the chain is unbroken; signed by key "
        f"{found.key}.{broken}{unchecked}"
    )


def _transcripts_in(folder: Path) -> dict[str, Path]:
    """Return the file of each match in a folder and the folders in it, by the id in its first line."""
    found: dict[str, Path] = {}
    for file in sorted(folder.rglob(f"*{SUFFIX}")):
        with suppress(OSError, ValueError), file.open("rb") as lines:
            first = json.loads(lines.readline(LONGEST_LINE))
            if isinstance(first, dict) and _ID.fullmatch(str(first.get("match"))):
                found.setdefault(str(first["match"]), file)
    return found


def read_file(file: Path) -> bytes:
    """Return a file's bytes. Raises Failure."""
    try:
        return file.read_bytes()
    except OSError as error:
        raise Failure(f"can't read {file}: {error.strerror or error}") from None


def keys_of(given: str) -> tuple[PublicKey, ...]:
    """Return the public keys in a file, or the one given as text. Raises Failure."""
    if _HEX.fullmatch(given):
        key = key_bytes(given)
        return (PublicKey(id_of_key(key), key),)
    try:
        return read_keys(read_file(Path(given)))
    except MalformedRecordError as error:
        raise Failure(f"{given} is no file of public keys: {error}") from None


def _summary(file: Path, verified: Verified) -> str:
    match, ended = verified.match, verified.match.result
    assert ended is not None  # an unfinished match does not verify
    moves, events = counted(match.ply, "move"), counted(match.revision, "event")
    if match.created.opening:
        moves += f", {len(match.created.opening)} of them the opening,"
    checked = (
        "follow from the rules; clocks, credit and strikes are as reckoned again"
        if verified.rules_checked
        else "were NOT CHECKED, since the rules of the game are not installed here; nor were clocks, credit and strikes"
    )
    return (
        f"{file} holds: match {match.id}, {match.created.game}, {' against '.join(match.players)}, "
        f"{match.created.time}; {_result(ended, match)}, {instant(ended.at)}. {moves} in {events} {checked}; "
        f"the chain is unbroken; signed by key {verified.signature.statement.key}."
    )


def _result(ended: Ended, match: Match) -> str:
    reason = ended.reason.replace("_", " ")
    if ended.result is ResultKind.WIN:
        return f"{words.in_seat(match.players, ended.winner, match.created.game)} won ({reason})"
    return f"{'drawn' if ended.result is ResultKind.DRAW else 'void'} ({reason})"
