"""Legal moves as picks: every move of every game is composed by exactly one sequence of picks."""

from __future__ import annotations

import random
from collections import defaultdict
from pathlib import Path

import orjson
import pytest

from arbiter.games import registry
from arbiter.web.choices import choices
from tests.web.site import played, site

MOST_BYTES = 250_000  #: bytes of the longest list, before compression


@pytest.mark.long
@pytest.mark.parametrize(
    "variant", [*registry.BUNDLED, "pondlife(handicap=3)", "pondlife(eel=true)", "elevation(tiles=0)", "pods(size=4)"]
)
def test_every_move_has_its_own_sequence_of_picks(variant: str) -> None:
    game, lots = registry.game(variant), random.Random(variant)
    position = game.initial()
    for _ in range(12):
        moves = game.moves(position)
        if not moves:
            break
        found = choices(game, ((move, game.steps(position, move)) for move in moves))
        by_picks = defaultdict(list)
        for text, numbers in found["moves"]:
            by_picks[tuple(numbers)].append(text)
        assert sorted(text for texts in by_picks.values() for text in texts) == sorted(moves)
        assert [texts for texts in by_picks.values() if len(texts) > 1] == []
        assert len({tuple(pick) for pick in found["picks"]}) == len(found["picks"])
        assert len(orjson.dumps(found)) <= MOST_BYTES
        position = game.play(position, lots.choice(moves))


async def test_the_legal_moves_of_any_ply_are_sent(tmp_path: Path) -> None:
    async with site(tmp_path) as page:
        match = await played(page.server, "hop-it", 4)
        position = match.game.initial()
        for ply in range(match.ply + 1):
            sent = (await page.get(f"/matches/{match.id}/choices?ply={ply}")).json()
            assert sorted(text for text, _ in sent["moves"]) == sorted(match.game.moves(position))
            assert sent["ply"] == ply
            if ply < match.ply:
                position = match.game.play(position, match.moves[ply])
        assert (await page.get("/matches/none/choices")).status_code == 404


async def test_a_line_is_explored(tmp_path: Path) -> None:
    async with site(tmp_path) as page:
        game = registry.game("pondlife")
        start = (await page.get("/games/pondlife/line")).json()
        assert {"board", "said", "numbers", "picks", "moves"} <= set(start)
        move = min(game.moves(game.initial()))
        on = (await page.get(f"/games/pondlife/line?moves={move}")).json()
        position = game.play(game.initial(), move)
        assert sorted(text for text, _ in on["moves"]) == sorted(game.moves(position))
        assert (await page.get("/games/pondlife/line?moves=x")).status_code == 400
        assert (await page.get("/games/none/line")).status_code == 400
