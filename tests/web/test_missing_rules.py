"""The package of a game is gone, and its matches are still in the store: they wait, and everything else works."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from arbiter.bootstrap.store import Store
from arbiter.cli.verify import _summary
from arbiter.errors import Reason, Refusal
from arbiter.games import registry
from arbiter.games.contract import AnyGame
from arbiter.matches import transcript
from arbiter.matches.commands import Resign
from arbiter.matches.match import Phase
from arbiter.service.ports.journal import RulesMissing
from arbiter.testing.memory import MemoryDirectory, MemoryJournal
from tests.plugins.installed import forget_packages
from tests.testing.test_transcripts import CHECK, data
from tests.web.site import played, site


def install(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Have exactly these packages of games: only `row` is known."""
    entries = [EntryPoint(name, "tests.web.plug_in:Row", registry.GROUP) for name in names]
    monkeypatch.setattr("importlib.metadata.entry_points", lambda *, group: entries)
    forget_packages()


@pytest.mark.long
async def test_matches_without_rules_wait_and_the_rest_goes_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    install(monkeypatch, "row")
    store = Store(MemoryJournal(), MemoryDirectory())
    async with site(tmp_path, kept=store) as page:
        waits = await played(page.server, "row(stones=6)", 2)
        over = await played(page.server, "row(stones=6)", 2, resign=True)
        other = await played(page.server, "pondlife", 2)
    install(monkeypatch)
    async with site(tmp_path, kept=store) as page:
        await page.server.caller("alice")
        with capture_logs() as logs:
            assert await page.server.arbiter.matches.start() == 1
        assert page.server.arbiter.matches.without_rules == 1
        assert [(entry["event"], entry["log_level"]) for entry in logs] == [("match_rules_missing", "warning")]
        for path in ("/", "/matches", "/games", "/leaderboard", "/players/alice", f"/matches/{other.id}"):
            assert (await page.get(path)).status_code == 200, path
        game = waits.created.game
        for path in (f"/games/{game}", f"/matches?game={game}", f"/leaderboard?game={game}"):
            answer = await page.get(path)
            assert answer.status_code == 200, answer.text
            assert (await page.get(path.replace("row", "wor"))).status_code == 400, path
        for path in (f"/games/{game}", "/games/row"):  # without parameters: any variant of it
            shown = (await page.get(path)).text
            assert f"/matches/{waits.id}" in shown
            assert f"All matches of {game}" in shown
        assert (await page.get("/games/ro")).status_code == 400
        refused = await page.server.arbiter.matches.answer(waits.id, Resign(1, "r"))
        assert isinstance(refused, RulesMissing)
        assert (await page.server.arbiter.matches.match(waits.id)).phase is not Phase.ENDED
        for match in (waits, over):
            for path in ("", "?ply=1", "/picture.svg", "/plies?from=0"):
                answer = await page.get(f"/matches/{match.id}{path}")
                assert answer.status_code == 200, path
            shown = (await page.get(f"/matches/{match.id}")).text
            assert "The rules are not installed here" in shown
            assert match.moves[0] in shown
            assert "Show legal moves" not in shown
    install(monkeypatch, "row")
    async with site(tmp_path, kept=store) as page:
        assert await page.server.arbiter.matches.start() == 2
        match = await page.server.arbiter.matches.match(waits.id)
        assert (match.phase, match.moves, match.text) == (Phase.PAUSED, waits.moves, waits.text)
    install(monkeypatch)
    monkeypatch.undo()
    forget_packages()


def test_a_transcript_holds_but_for_the_rules(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def nothing(variant: str) -> AnyGame:
        raise Refusal(Reason.GAME_UNKNOWN, "there is no such game", what=variant, allowed="none")

    kept = registry.game
    monkeypatch.setattr(registry, "game", nothing)
    found = transcript.verify(data("opening"), CHECK, nothing)
    assert not found.rules_checked
    assert found.match.moves == transcript.verify(data("opening"), CHECK, kept).match.moves
    assert "were NOT CHECKED, since the rules of the game are not installed" in _summary(tmp_path, found)
    changed = data("opening").replace(b'"move":"', b'"move":"x', 1)
    with pytest.raises(transcript.TranscriptError, match="previous is"):
        transcript.verify(changed, CHECK, nothing)
