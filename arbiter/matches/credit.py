"""Credit: the part of a turn that was the server's delay or the network's, and is not charged to the player.

A turn starts at the instant stored in the event that made it a turn. From there to the hand-over of the turn on the
player's live stream the delay is the server's own: credited up to a limit. The way of the turn to the player and of
the move back is the network's: credited as the server measures it on that stream (a round trip), up to a limit a move,
and only as far as the player's bank for the match goes, which every move refills a little. So a player that delays
only its answers to pings gains no more than the refill in the long run.
"""

from __future__ import annotations

from typing import NamedTuple


class CreditRules(NamedTuple):
    """The limits of credit, all in milliseconds; part of a match's published policy.

    hand_over_most_ms: the most credited a move for the server's own delay.
    network_most_ms: the most credited a move for the network.
    bank_ms: network credit of a player at the start of a match, and the most that its bank holds.
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

    started, handed_over and arrived are instants (UTC epoch milliseconds): when the turn began, when it was handed to
    the player's live stream (None: there was no such stream, and there is no credit), and when the move arrived.
    round_trip_ms was measured by the server on that stream (None: not yet measured, no credit for the network).
    Never credits more than the time that passed, nor network time from before the hand-over.
    """
    credited = network = 0
    if handed_over is not None and arrived > started:
        sent = min(max(handed_over, started), arrived)
        credited = min(sent - started, rules.hand_over_most_ms)
        if round_trip_ms is not None:
            network = min(max(round_trip_ms, 0), rules.network_most_ms, bank, arrived - sent)
    return credited + network, min(bank - network + rules.refill_ms, rules.bank_ms)


def most_credit(rules: CreditRules, bank: int) -> int:
    """Return the most that a move can still be credited with this bank, in milliseconds."""
    return rules.hand_over_most_ms + min(rules.network_most_ms, bank)
