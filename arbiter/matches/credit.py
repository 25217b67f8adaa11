"""Credit: the part of a turn that the server or the network delayed, and that the player is not charged for.

A turn starts at the instant in the event that began it. The delay from there until the turn is sent on the player's
live stream is the server's: it is credited up to a limit. The time that the turn and the move spend on the network is
credited as the round trip that the server measures on that stream, up to a limit for each move. It also cannot exceed
the player's credit bank for the match, which every move refills a little. So a player that delays only its answers to
pings gains, in the long run, no more than the refill.
"""

from __future__ import annotations

from typing import NamedTuple


class CreditRules(NamedTuple):
    """The limits of credit, all in milliseconds; part of a match's published policy.

    hand_over_most_ms: maximum credit for each move for the server's own delay.
    network_most_ms: maximum credit for each move for the network.
    bank_ms: a player's network credit at the start of a match, and the capacity of its bank.
    refill_ms: what every move of the player adds to its bank.
    """

    hand_over_most_ms: int = 100
    network_most_ms: int = 300
    bank_ms: int = 10_000
    refill_ms: int = 250


def credit(
    rules: CreditRules, bank: int, started: int, handed_over: int | None, arrived: int, round_trip_ms: int | None
) -> tuple[int, int]:
    """Return the milliseconds credited to a move, and the player's bank after it.

    started, handed_over and arrived are instants (UTC epoch milliseconds): when the turn began, when it was sent on the
    player's live stream (None: there was no such stream, so there is no credit), and when the move arrived.
    round_trip_ms was measured by the server on that stream (None: not measured yet, so no credit for the network).
    The credit never exceeds the time that passed. Time before the turn was sent gets no network credit.
    """
    credited = network = 0
    if handed_over is not None and arrived > started:
        sent = min(max(handed_over, started), arrived)
        credited = min(sent - started, rules.hand_over_most_ms)
        if round_trip_ms is not None:
            # Not one `min` of four: compiled, only that of two needs no call.
            most = min(rules.network_most_ms, min(bank, arrived - sent))
            network = min(max(round_trip_ms, 0), most)
    return credited + network, min(bank - network + rules.refill_ms, rules.bank_ms)


def most_credit(rules: CreditRules, bank: int) -> int:
    """Return the maximum credit that a move can still get with this bank, in milliseconds."""
    return rules.hand_over_most_ms + min(rules.network_most_ms, bank)
