"""A bridge for programs that read and write lines: no gRPC, no protobuf, any language.

`run(["./mybot"])` plays a program on a server as `arbiter_client.run` plays a bot. The programs speak one of two
languages, lines of words (`Words`) or lines of JSON (`JsonLines`); clients/lines/README.md documents both.
Chess engines speak `Uci`, Go engines `Gtp`.
"""

from arbiter_client.bridge.bot import Limits, ProgramBot, introduce, run
from arbiter_client.bridge.gtp import Gtp
from arbiter_client.bridge.json_lines import JsonLines
from arbiter_client.bridge.language import AnswerMalformed, Introduction, Language, NotUnderstood, Question
from arbiter_client.bridge.program import ProgramFailed
from arbiter_client.bridge.uci import Concessions, Search, Uci
from arbiter_client.bridge.words import Words

__all__ = [
    "AnswerMalformed",
    "Concessions",
    "Gtp",
    "Introduction",
    "JsonLines",
    "Language",
    "Limits",
    "NotUnderstood",
    "ProgramBot",
    "ProgramFailed",
    "Question",
    "Search",
    "Uci",
    "Words",
    "introduce",
    "run",
]
