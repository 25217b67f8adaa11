"""The FIDE (Dutch) System: who meets whom in the next round of a Swiss, and in which seats.

Source: FIDE Handbook C.04.3, FIDE (Dutch) System, effective from 1 February 2026 (handbook.fide.com/chapter/C0403202602),
with C.04.1 (Basic Rules for Swiss Systems), C.04.2 (General Handling Rules) and C.04.7 (Baku Acceleration) of the same
edition. `pair_round` is the way in. Modules, in the order in which they import each other: `players` (what a history
means: scores, colour preferences, floats), `optimum` (maximum weight matchings with exact lexicographic weights),
`criteria` (what a pair costs), `bracket` (the pairing of one bracket), `rounds` (the round, from the top).

| rule | what it says | here |
| --- | --- | --- |
| 1.2 | players are ranked by score, then by pairing number | `players.ranked` |
| 1.3, 1.4.1 | scoregroups; a player that stays unpaired in a bracket moves down to the next (MDP) | `rounds`, from the top |
| 1.4.2 | "After two players with different scores have played each other in a round, the higher ranked player receives a downfloat, the lower one an upfloat" | `players._float` |
| 1.4.3 | "A player who, for whatever reason, scores without playing in a round more points than those rewarded for a loss, also receives a downfloat" | `players._float` |
| 1.5 | pairing-allocated bye (PAB): no opponent, no colour, the points of a win | the caller records it |
| 1.6, 1.7 | colour difference; absolute, strong and mild preferences, from the games played | `players.Player` |
| 1.8 | topscorers: more than half of the maximum, when the last round is paired | `criteria.Field` |
| 2.1.1 C1 | "Two participants shall not play against each other more than once": a forfeit is no game | absolute |
| 2.1.2 C2 | no PAB after a PAB, or after as many points as for a win in one round without playing | absolute |
| 2.1.3 C3 | "Non-topscorers with the same absolute colour preference shall not meet" | absolute |
| 2.2.1 C4 | "A pairing complying with all the absolute criteria shall always exist for all players not yet paired" | absolute |
| 2.2.2 C5 | "Minimise the score of the assignee of the pairing-allocated-bye" | decided before the first bracket |
| 2.4 C6, C7 | fewest downfloaters, then the lowest scores among them | `criteria`, in this order |
| 2.4 C8 | the downfloaters let the next bracket comply best with C1 to C7 | `criteria` |
| 2.4 C9 | "Minimise the number of unplayed games of the assignee of the pairing-allocated-bye", in a bracket that downfloats nobody else | `criteria` |
| 2.4 C10, C11 | topscorers and their opponents: colour differences above 2; a colour three times in a row | `criteria` |
| 2.4 C12, C13 | colour preferences, strong colour preferences that are not granted | `criteria` |
| 2.4 C14 to C17 | floats that repeat those of the last round, and of the round before it | `criteria` |
| 2.4 C18 to C21 | the score differences of such floats | `criteria` |
| 3, 4 | candidates in their order: S1 and Limbo, S2, exchanges, transpositions; the first of the best is chosen | `bracket` |
| 5 | allocation of colours, with the initial-colour by lot | `rounds.seated`; the first seed has seat 1 |
| C.04.2 | pairs are published by the higher score, the sum of scores, the higher ranked player | `rounds` |
| forbidden pairs | never meet, as if they had met before | `criteria.Field` |

Every candidate of a bracket is compared by all criteria at once, as one whole number a pair; a matching of maximum
weight finds the best value. Further matchings, each among the best ones alone, find the first candidate of that value
in the order of Article 4: so the result is that of trying all candidates one by one.

Not here: changed results and pairing numbers after a round (C.04.2), teams, other values of the PAB than a win.
"""  # noqa: E501 - a row of a table is one line

from arbiter.tournaments.dutch.players import Entry, Result
from arbiter.tournaments.dutch.rounds import Round, pair_round

__all__ = ["Entry", "Result", "Round", "pair_round"]
