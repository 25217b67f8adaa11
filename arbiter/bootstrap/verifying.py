"""Verifies exported tournaments and rulings on ratings without a store and without a server."""

from __future__ import annotations

from arbiter.matches.signing import CheckSignature
from arbiter.service.ratings.rating_work import InProcessRating
from arbiter.service.ratings.ruling_on_ratings import RulingsError
from arbiter.service.ratings.ruling_on_ratings import read as read_rulings
from arbiter.service.tournaments.tournament_verification import TournamentError, Transcripts, VerifiedTournament, verify

__all__ = ["RulingsError", "TournamentError", "read_rulings", "verify_tournament"]


async def verify_tournament(
    data: bytes, transcripts: Transcripts, check_signature: CheckSignature
) -> VerifiedTournament:
    """Return what an exported tournament holds. Raises TournamentError for the first fault."""
    return await verify(data, transcripts, check_signature, InProcessRating())
