"""A match as an environment of PettingZoo (https://pettingzoo.farama.org), for players that are trained.

Needs the extra `game-arbiter-client[training]`. The rules are the arbiter's, and every game has a finite list of
actions, also those whose moves have many parts. An action is a part of a move's text: a cell, or a sign.

    Hop It!: a2xc3xe4 is the actions a2, x, c3, x, e4, or fewer, since a part that has no alternative is left out
    Connect Four: c is one action
    Chess: e2e4 is e2, e4

A turn begins with its first part, and goes on with the same agent until one legal move is left, which is then played.
The mask of an observation has the parts with which a legal move goes on.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from pettingzoo import AECEnv

from arbiter_client.engines import COLUMNS, Environment

FIRST_SIGN, LAST_SIGN = 32, 126  #: the printable characters of ASCII
BEGUN: Final = 64  #: parts of an unfinished move that an observation shows, the last ones if there are more

Observation = dict[str, NDArray[Any]]


class Parts:
    """The actions of a board: its cells in their order, then the signs from blank to `~`, then the end of a move.

    The end is an action only where a legal move is the beginning of another one, such as one hop of several.
    """

    def __init__(self, cells: Sequence[str]) -> None:
        self.names: Final = (*cells, *map(chr, range(FIRST_SIGN, LAST_SIGN + 1)), "")  #: by action; '' is the end
        self.end: Final = len(self.names) - 1
        self._numbers = {name: number for number, name in reversed([*enumerate(self.names)])}
        longest_first = sorted(cells, key=len, reverse=True)
        self._part = re.compile("|".join((*map(re.escape, longest_first), ".")), re.DOTALL)

    def of(self, move: str) -> tuple[int, ...]:
        """Return the actions that are a move, with the end. Raises ValueError for signs that are no printable ASCII."""
        try:
            return (*(self._numbers[part] for part in self._part.findall(move)), self.end)
        except KeyError as error:
            raise ValueError(f"{move!r} has {error.args[0]!r}, which is no printable character of ASCII") from None


class MatchEnv(AECEnv):  # type: ignore[misc]  # a class without types
    """A match between the agents `seat_1` and `seat_2`.

    An observation is a dictionary of three arrays:

    - observation: the board as the agent sees it, of shape (cells, 5): see `arbiter_client.engines.Standing.cells`
    - begun: the actions of the unfinished move, -1 after them, of shape (64,)
    - action_mask: 1 for each action with which a legal move goes on, of shape (actions,); only of the agent to act

    A win is rewarded with 1, a loss with -1, a draw with 0. `infos[agent]["position"]` is the text of the position.
    There is no chance in these games: a seed changes nothing but samples of the spaces.
    """

    metadata: ClassVar[dict[str, Any]] = {
        "name": "arbiter_match_v0",
        "render_modes": ["ansi"],
        "is_parallelizable": False,
    }

    def __init__(self, game: str, position: str = "", render_mode: str | None = None) -> None:
        """Make the environment of a game, such as `chess` or `pods(size=5)`.

        position: where matches start; '' for the initial position. render_mode: `ansi`, with which `render` returns the
        board as text; None. Raises arbiter.errors.Refusal for an unknown game or a wrong position.
        """
        super().__init__()
        self.match: Final = Environment(game, position)
        self.parts: Final = Parts(self.match.game.board.names)
        self.render_mode = render_mode
        self.possible_agents = ["seat_1", "seat_2"]
        size, board = len(self.parts.names), (self.match.game.board.size, len(COLUMNS))
        self.action_spaces = {agent: spaces.Discrete(size) for agent in self.possible_agents}
        self.observation_spaces = {
            agent: spaces.Dict(
                {
                    "observation": spaces.Box(0, np.iinfo(np.int32).max, board, np.int32),
                    "begun": spaces.Box(-1, size - 1, (BEGUN,), np.int32),
                    "action_mask": spaces.Box(0, 1, (size,), np.int8),
                }
            )
            for agent in self.possible_agents
        }

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """Return the space of an agent's observations."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """Return the space of an agent's actions."""
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: Mapping[str, Any] | None = None) -> None:
        """Begin again; there are no options."""
        self.match.reset()
        self.agents = list(self.possible_agents)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self._begin_turn()
        self._accumulate_rewards()  # of a start position with which the game is over

    def step(self, action: int | None) -> None:
        """Take an action of the agent whose turn it is. Raises ValueError for one that its mask excludes."""
        agent = self.agent_selection
        if self.terminations[agent]:
            self._was_dead_step(action)
            return
        ways = self._ways()
        if action not in ways:
            begun = "".join(self.parts.names[part] for part in self._begun)
            raise ValueError(f"action {action!r} goes on with no legal move after {begun!r}: see the action mask")
        self._cumulative_rewards[agent] = 0.0
        self._clear_rewards()
        self._begun.append(int(action))
        self._open = ways[action]
        while len(self._open) > 1 and len(ways := self._ways()) == 1:  # a part without an alternative
            self._begun += ways
        if len(self._open) == 1:
            self.match.step("".join(self.parts.names[part] for part in self._open[0]))
            self._begin_turn()
        self._accumulate_rewards()

    def observe(self, agent: str) -> Observation:
        """Return what an agent sees: see the class."""
        mask = np.zeros(len(self.parts.names), np.int8)
        begun = np.full(BEGUN, -1, np.int32)
        if agent == self.agent_selection and not self.terminations.get(agent, True):
            mask[list(self._ways())] = 1
            last = self._begun[-BEGUN:]
            begun[: len(last)] = last
        return {
            "observation": self.match.cells(1 + self.possible_agents.index(agent)),
            "begun": begun,
            "action_mask": mask,
        }

    def render(self) -> str | None:
        """Return the board as text in the mode `ansi`, else None."""
        return str(self.match) if self.render_mode == "ansi" else None

    def close(self) -> None:
        """Do nothing: there is nothing to close."""

    def _begin_turn(self) -> None:
        """List the moves of the seat to move; at the end of the game, reward both."""
        match = self.match
        self.agent_selection = self.possible_agents[match.turn - 1]
        self._begun: list[int] = []
        self._open = [self.parts.of(move) for move in match.legal_moves]  #: the moves that go on with what has begun
        self.infos = {agent: {"position": match.position} for agent in self.possible_agents}
        outcome = match.outcome
        if outcome is not None:
            self.terminations = dict.fromkeys(self.agents, True)
            for seat, agent in enumerate(self.possible_agents, 1):
                self.rewards[agent] = 0.0 if not outcome.winner else 1.0 if outcome.winner == seat else -1.0

    def _ways(self) -> dict[int, list[tuple[int, ...]]]:
        """Return the moves that are still open, by their next action."""
        ways: dict[int, list[tuple[int, ...]]] = {}
        for move in self._open:
            ways.setdefault(move[len(self._begun)], []).append(move)
        return ways
