"""The commands for pairings by hand, as the page for organisers shows them, on a real server."""

from __future__ import annotations

import shlex
from pathlib import Path

import arbiter_client as arb
import pytest

from arbiter.cli import tournament_view as view
from tests.cli.command import Arbiter, Server
from tests.cli.test_tournament import SPEC
from tests.documents import block, commands

SWISS = SPEC.replace("round_robin", "swiss") + "\n[options]\nrounds = 3\n"


@pytest.mark.long
def test_the_commands_of_the_page(server: Server, arbiter: Arbiter, tmp_path: Path) -> None:
    file = tmp_path / "swiss.toml"
    file.write_text(SWISS)
    names = ("ann", "bob", "cid", "dan", "eve")
    for name in names:
        arbiter("token", "create", name, "--save")
    tournament_id = arbiter("tournament", "create", str(file)).out.strip()
    arbiter("tournament", "enter", tournament_id, *names)
    hold, *others = [shlex.split(line)[1:] for line in commands(block("deploy/CORRECTIONS.md", "tournament hold"))]
    assert arbiter(*hold).code == 0
    arbiter("tournament", "start", tournament_id)
    while not arbiter("tournament", "show", tournament_id).out.count("paused"):
        pass
    said = {}
    for words in others:
        ran = arbiter(*("1" if word == "3" else word for word in words))
        assert ran.code == 0, (words, ran.err)
        said[words[1], words[-1]] = ran.out
    assert "Round 1: " in said["pair-round", "3"]
    assert "bob–ann" in said["pair", "ann"]
    assert "eve" not in said["bye", "--half"].split("Round 1: ")[1]
    assert "bob–ann" not in said["pair-round", "--afresh"]
    shown = arbiter("tournament", "list").out
    assert "running" in shown
    assert "name two players for each" in arbiter("tournament", "pair", "last", "2", "ann").complaint
    arbiter("tournament", "hold", tournament_id, "--off")
    arbiter("tournament", "allow", tournament_id, "ann", "cid")
    again = arbiter("tournament", "pair", tournament_id, "2", "ann", "zoe").complaint
    assert "zoe does not play in it" in again
    arbiter("tournament", "cancel", tournament_id)
    watched = arbiter("tournament", "watch", tournament_id).out
    assert "round 1: bob–ann by hand; decided by admin" in watched
    assert "ann and cid are not paired any more; decided by admin: one author" in watched


def test_a_round_is_shown_in_a_line() -> None:
    pairs = (arb.PlayerPair("ann", "bob"), arb.PlayerPair("cid", "dan"))
    assert view.pairs_in_words(arb.RoundPairs(3, pairs, ("eve",))) == "Round 3: ann–bob, cid–dan; eve has a bye."
    assert view.pairs_in_words(arb.RoundPairs(3, (), ("eve", "fay"))) == "Round 3: eve, fay have byes."
    assert view.pairs_in_words(arb.RoundPairs(3, (), ())) == "Round 3: nobody."
