"""A bot with a simple search and no rules of its own: it asks the server to play the moves.

It tries its own moves and the opponent's answers to the best of them, and counts pieces.

    python search.py --name NAME
"""

import asyncio
import random

import arbiter_client as arb
from arbiter_client import cli

WIDTH = 8  # own moves to try
DEPTH_WIDTH = 2  # of these, how many to try with the opponent's answers
ANSWERS = 4  # answers to try


class Search(arb.Bot):
    """Looks two moves ahead through `PlayMoves`, with many calls at once."""

    name = "search"
    version = "1"

    async def choose(self, turn: arb.Turn) -> str:
        """Return the move whose worst answer is the least bad."""
        legal = await self.client.legal_moves(turn.line)
        moves = random.sample([move.text for move in legal], min(WIDTH, len(legal)))
        worths = await asyncio.gather(*(self.worth(turn.line.then(move), turn.seat) for move in moves))
        best = sorted(zip(worths, moves, strict=True), reverse=True)[:DEPTH_WIDTH]
        if best[0][0] >= 100:
            return best[0][1]
        afterwards = await asyncio.gather(*(self.worst(turn.line.then(move), turn.seat) for _, move in best))
        return max(zip(afterwards, best, strict=True))[1][1]

    async def worst(self, line: arb.Line, seat: int) -> float:
        """Return the value of the end of a line after the opponent's best answer, of those that were tried."""
        legal = await self.client.legal_moves(line)
        answers = random.sample([move.text for move in legal], min(ANSWERS, len(legal)))
        if not answers:
            return await self.worth(line, seat)
        return min(await asyncio.gather(*(self.worth(line.then(answer), seat) for answer in answers)))

    async def worth(self, line: arb.Line, seat: int) -> float:
        """Return the value of the end of a line for a seat: ±100 for a win, or the difference in pieces."""
        played = await self.client.play_moves(line, from_ply=len(line.moves), with_board=True)
        if played.outcome is not None and played.outcome.winner:
            return 100 if played.outcome.winner == seat else -100
        return sum(1 if cell.owner == seat else -1 for cell in played.final.board if cell.owner)


if __name__ == "__main__":
    cli.main(Search())
