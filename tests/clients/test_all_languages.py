"""Bots of all six clients play one tournament over TLS, with tokens: in `make soak` all games."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import arbiter_client as arb
import pytest

from arbiter.conformance.loopback_certificates import certificates
from arbiter.games import registry
from arbiter.keys.key_ring import holds
from arbiter.matches import transcript
from arbiter.matches.signing import checking, read_keys
from arbiter.runtime.loopback import free_port
from tests.clients.languages import Language, built, languages
from tests.clients.toolchains import require
from tests.e2e.processes import Server
from tests.processes import WAIT_S

PLIES = 60  #: longer games are drawn: a bot that plays the first legal move may repeat itself


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """Run a server that accepts only TLS connections, and lets nobody register."""
    made = certificates()
    names = {"root.pem": made.root, "server.pem": made.certificate, "server.key": made.key}
    for name, pem in names.items():
        (tmp_path / name).write_bytes(pem)
    running = Server(
        tmp_path,
        free_port(),
        options=[
            *("--tls-certificate", str(tmp_path / "server.pem"), "--tls-key", str(tmp_path / "server.key")),
            *("--registration", "closed"),
        ],
        surroundings={"ARBITER_ROOT_CERTIFICATE": str(tmp_path / "root.pem")},
    )
    running.start()
    yield running
    assert running.stop() == 0


@pytest.fixture
def everybody() -> Iterator[list[Language]]:
    """Build all clients."""
    found = list(languages().values())
    with ExitStack() as stack:
        for language in found:
            require(*language.missing, why=f"the client in {language.name} needs it, and the test needs all clients")
            stack.enter_context(built(language))
        yield found


@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("games", [("hop-it",), pytest.param(tuple(registry.SEED), marks=pytest.mark.soak)])
def test_a_bot_of_each_language_meets_every_other(
    server: Server, everybody: list[Language], games: tuple[str, ...]
) -> None:
    assert {language.name for language in everybody} == {"python", "typescript", "go", "rust", "java", "cpp"}
    tls = arb.Tls(root_certificate=server.folder / "root.pem")
    client = arb.BlockingClient(server.address, token=server.admin_token, tls=tls, patience_s=WAIT_S)
    with client as organiser, ExitStack() as bots:
        for language in everybody:
            token = organiser.create_token(language.name).secret
            surroundings = {"ARBITER_TOKEN": token, "ARBITER_NAME": language.name}
            bots.enter_context(server.running(language.bot, language.folder, surroundings))
        spec = arb.TournamentSpec(
            name="Six languages in one tournament",
            format=arb.TournamentFormat.ROUND_ROBIN,
            games=games,
            time="2m+1s",
            paired=False,
            at_once=3,
            openings=arb.Openings(plies=2, seed="six"),
            adjudication=arb.Adjudication(plies=PLIES),
        )
        tournament = organiser.create_tournament(spec).tournament_id
        for language in everybody:
            organiser.enter_tournament(tournament, language.name)
        organiser.start_tournament(tournament)
        assert any(
            isinstance(event.what, arb.TournamentEnded) for event in organiser.observe_tournament(tournament, "0")
        )
        matches = organiser.list_matches(label=tournament, most=1_000)
        rows = organiser.get_standings(tournament).rows
        transcripts = {match.match_id: organiser.transcript(match.match_id) for match in matches}
        server.arbiter(
            "key", "export", "--out", str(server.folder / "keys.json"), "--tls-root", str(tls.root_certificate)
        )
    pairs = {(frozenset(match.players), match.game) for match in matches}
    count = len(everybody) * (len(everybody) - 1) // 2
    assert len(pairs) == len(matches) == count * len(games)
    for match in matches:
        assert match.result is not None
        assert match.result.cause in (arb.Cause.RULES, arb.Cause.ORGANISER), match
        assert match.result.kind is not arb.ResultKind.VOID, match
    for row in rows:
        assert row.faults == arb.Faults(timeouts=0, crashes=0, violations=0, walkovers=0), row
    check = checking(read_keys((server.folder / "keys.json").read_bytes()), holds)
    for data in transcripts.values():
        transcript.verify(data, check)
