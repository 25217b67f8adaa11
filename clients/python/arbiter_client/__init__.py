"""Write a bot for an Arbiter server: one method, from a turn to a move.

    import arbiter_client as arb

    class MyBot(arb.Bot):
        name = "my-bot"
        extras = arb.Extras(legal_moves_up_to=1000)

        def choose(self, turn: arb.Turn) -> str:
            return turn.legal_moves[0].text

    arb.run(MyBot(), "127.0.0.1:7400", name="alice")

`Client` and `BlockingClient` make every other call of a server.
"""

from arbiter_client.blocking import BlockingClient
from arbiter_client.bot import Bot, Choice, ClaimDraw, Extras, Move, OfferDraw, Resign
from arbiter_client.channel import DEFAULT_SERVER, Tls
from arbiter_client.client import Client
from arbiter_client.errors import ArbiterError, BotFailed, ClientError, ConnectionFailed, CredentialsError, Reason
from arbiter_client.playing import play, run
from arbiter_client.runner import OnError
from arbiter_client.values.game import (
    Basis,
    Board,
    Cell,
    CellContent,
    CellLine,
    EndReason,
    Game,
    GameOutcome,
    GameSummary,
    LegalMove,
    Line,
    MatchPly,
    Parameter,
    PlayedLine,
    PlayedPosition,
    Ruling,
    Step,
    Tile,
)
from arbiter_client.values.match import (
    Cause,
    Clock,
    CommentedMove,
    Happening,
    Interrupted,
    Ledger,
    Match,
    MatchCreated,
    MatchEvent,
    MoveComment,
    MovePlayed,
    Party,
    Phase,
    Policy,
    Receipt,
    RequestRejected,
    Result,
    ResultKind,
    SeatEvent,
    StartRule,
    StrikeCounted,
    TurnStarted,
)
from arbiter_client.values.play import DrawOffer, FinishedMatch, LiveMatch, RecentMove, Turn
from arbiter_client.values.player import (
    Challenge,
    ChallengeClosed,
    Myself,
    NewToken,
    Player,
    Registered,
    Scope,
    Terms,
    Token,
)
from arbiter_client.values.server import PublicKey, ServerInfo

__all__ = [
    "DEFAULT_SERVER",
    "ArbiterError",
    "Basis",
    "BlockingClient",
    "Board",
    "Bot",
    "BotFailed",
    "Cause",
    "Cell",
    "CellContent",
    "CellLine",
    "Challenge",
    "ChallengeClosed",
    "Choice",
    "ClaimDraw",
    "Client",
    "ClientError",
    "Clock",
    "CommentedMove",
    "ConnectionFailed",
    "CredentialsError",
    "DrawOffer",
    "EndReason",
    "Extras",
    "FinishedMatch",
    "Game",
    "GameOutcome",
    "GameSummary",
    "Happening",
    "Interrupted",
    "Ledger",
    "LegalMove",
    "Line",
    "LiveMatch",
    "Match",
    "MatchCreated",
    "MatchEvent",
    "MatchPly",
    "Move",
    "MoveComment",
    "MovePlayed",
    "Myself",
    "NewToken",
    "OfferDraw",
    "OnError",
    "Parameter",
    "Party",
    "Phase",
    "PlayedLine",
    "PlayedPosition",
    "Player",
    "Policy",
    "PublicKey",
    "Reason",
    "Receipt",
    "RecentMove",
    "Registered",
    "RequestRejected",
    "Resign",
    "Result",
    "ResultKind",
    "Ruling",
    "Scope",
    "SeatEvent",
    "ServerInfo",
    "StartRule",
    "Step",
    "StrikeCounted",
    "Terms",
    "Tile",
    "Tls",
    "Token",
    "Turn",
    "TurnStarted",
    "play",
    "run",
]
