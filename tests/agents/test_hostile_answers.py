"""Whatever a server has from others, an agent reads as text without what a terminal obeys, or nobody sees."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import arbiter_client as arb
import pytest

from arbiter.agents.presence import Presence
from tests.agents.agents import in_process
from tests.cli.hostile_server import hostile_server as hostile_server
from tests.test_plain_text import HOSTILE

ARGUMENTS: dict[str, dict[str, Any]] = {
    "overview": {},
    "games": {},
    "rules": {"game": "pods"},
    "leaderboard": {},
    "challenge": {"opponent": "ann", "game": "pods"},
    "answer_challenge": {"challenge_id": "c", "accept": True},
    "tournaments": {"tournament_id": "t"},
    "enter_tournament": {"tournament_id": "t"},
    "wait": {"seconds": 0},
    "legal_moves": {"match_id": "m"},
    "play": {"match_id": "m", "ply": 1, "move": HOSTILE},
    "draw": {"match_id": "m", "action": "claim"},
    "resign": {"match_id": "m"},
    "position": {"match_id": "m", "picture": True},
}


def texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from texts(inner)


def seen(content: Any) -> Iterator[str]:
    """Yield the texts that an agent reads of a part of an answer, once its JSON is read."""
    try:
        yield from texts(json.loads(content.text))
    except ValueError:
        yield content.text


@pytest.mark.long
async def test_no_answer_has_a_text_that_is_not_printed(hostile_server: str) -> None:
    async with arb.Client(hostile_server, token="secret", tls=arb.NO_TLS) as client:
        presence = Presence(client)
        presence.gone = HOSTILE
        async with in_process(presence) as agent:
            assert {tool.name for tool in (await agent.list_tools()).tools} == ARGUMENTS.keys()
            for tool, arguments in ARGUMENTS.items():
                answer = await agent.call_tool(tool, arguments)
                read = [*texts(answer.structured_content), *(text for part in answer.content for text in seen(part))]
                for text in read:
                    assert text.replace("\n", "").isprintable(), (tool, text)
