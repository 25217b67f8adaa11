"""A generic gRPC client plays a match: it knows the services only from reflection."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest

from tests.e2e.processes import BIN, Server

pytestmark = pytest.mark.long


def call(server: Server, method: str, token: str = "", **request: Any) -> dict[str, Any]:
    """Call a method with `buf curl` and return the last message of the answer, or the error."""
    command = [str(BIN / "buf"), "curl", "--http2-prior-knowledge", "--protocol", "grpc", "--data", json.dumps(request)]
    if token:
        command += ["--header", f"authorization: Bearer {token}"]
    run = subprocess.run(
        [*command, f"http://{server.address}/arbiter.v1.{method}"],
        capture_output=True,
        text=True,
        check=False,
        cwd=server.folder,  # in a folder without the proto files, so that only reflection describes the services
        timeout=240,
    )
    text, decoder = run.stdout or run.stderr, json.JSONDecoder()
    messages: list[dict[str, Any]] = []
    while text := text.strip():
        message, end = decoder.raw_decode(text)
        messages.append(message)
        text = text[end:]
    return messages[-1]


def test_it_lists_games_asks_for_moves_and_plays_a_match(server: Server) -> None:
    games = [game["id"] for game in call(server, "GameService/ListGames")["games"]]
    assert games[:5] == ["circle-of-life", "elevation", "hop-it", "pods", "pondlife"]
    game = "circle-of-life(target=1)"
    tokens = {name: call(server, "PlayerService/RegisterPlayer", name=name)["token"] for name in ("anna", "ben")}
    made = call(
        server,
        "MatchService/CreateMatch",
        server.admin_token,
        request_id="one",
        game=game,
        players=["anna", "ben"],
        time_control="5m",
        start="START_RULE_AT_ONCE",
    )
    match_id = made["match"]["matchId"]
    assert len(call(server, "GameService/LegalMoves", match={"match_id": match_id})["moves"]) == 61
    # A pair eats a singleton: three moves are a whole game with a target of one.
    for ply, (name, move) in enumerate((("anna", "e5"), ("ben", "e7"), ("anna", "e6"))):
        request = {"request_id": f"r{ply}", "match_id": match_id, "ply": ply, "move": move}
        receipt = call(server, "MatchService/SubmitMove", tokens[name], **request)["receipt"]
        again = call(server, "MatchService/SubmitMove", tokens[name], **request)["receipt"]
        assert again == receipt
        assert receipt["ply"] == ply + 1
    assert receipt["result"] == {
        "kind": "RESULT_KIND_WIN",
        "winner": 1,
        "reason": "target_eaten",
        "cause": "CAUSE_RULES",
        "party": "PARTY_PLAYER",
        "responsibleSeat": 1,
    }
    late = call(
        server, "MatchService/SubmitMove", tokens["ben"], request_id="late", match_id=match_id, ply=3, move="a1"
    )
    assert late["code"] == "failed_precondition"
    assert call(server, "GameService/GetGame", game="risk")["code"] == "invalid_argument"
