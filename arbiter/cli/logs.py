"""Logging: readable lines on a terminal, otherwise one JSON object per line; always on standard error."""

from __future__ import annotations

import logging
import sys
from contextlib import suppress
from io import StringIO
from typing import Literal, TextIO, cast

import structlog
from structlog.typing import EventDict, ExcInfo, Processor

from arbiter.plain_text import plain


class _Stream:
    """A text stream that loses what it can't write, so that nobody who logs fails when its reader is gone."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write text, if that is possible."""
        with suppress(OSError, ValueError):  # a broken pipe, a full disk; a stream that was closed
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Write what is buffered, if that is possible."""
        with suppress(OSError, ValueError):
            self._stream.flush()


def _plain_values(_logger: object, _method: str, values: EventDict) -> EventDict:
    """Escape what can't be printed in all texts of an entry; a line of JSON has it escaped anyway."""
    return {name: plain(value) if isinstance(value, str) else value for name, value in values.items()}


def _traceback(stream: TextIO, error: ExcInfo) -> None:
    """Write a traceback without the values of variables, which could contain tokens."""
    text = StringIO()
    structlog.dev.plain_traceback(text, error)
    stream.write(plain(text.getvalue(), "\n"))


Level = Literal["debug", "info", "warning", "error"]


def configure(level: Level) -> None:
    """Write log entries of this level and above, the arbiter's and those of libraries, in one format."""
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    terminal, stream = sys.stderr.isatty(), cast(TextIO, _Stream(sys.stderr))
    last: list[Processor] = (
        [_plain_values, structlog.dev.ConsoleRenderer(colors=True, exception_formatter=_traceback)]
        if terminal
        # Without the values of variables: they could contain tokens.
        else [
            structlog.processors.ExceptionRenderer(structlog.tracebacks.ExceptionDictTransformer(show_locals=False)),
            structlog.processors.JSONRenderer(sort_keys=True),
        ]
    )
    structlog.configure(
        processors=[*shared, structlog.processors.StackInfoRenderer(), *last],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=structlog.PrintLoggerFactory(stream),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*shared, structlog.stdlib.add_logger_name],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *last],
        )
    )
    logging.root.handlers[:] = [handler]
    # Libraries log every step at level info; operators need only their warnings.
    logging.root.setLevel(logging.DEBUG if level == "debug" else max(logging.WARNING, logging.root.level))
