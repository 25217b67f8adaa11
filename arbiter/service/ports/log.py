"""The log as a port."""

from __future__ import annotations

from typing import Any, Protocol


class Logger(Protocol):
    """A structured log: each entry is an event name with named values.

    Each component gets its logger as an argument.
    """

    def bind(self, **values: Any) -> Logger:
        """Return a logger that adds these values to each line."""

    def info(self, event: str, **values: Any) -> Any:
        """Log what an operator may want to know."""

    def warning(self, event: str, **values: Any) -> Any:
        """Log what an operator should look at some time."""

    def error(self, event: str, **values: Any) -> Any:
        """Log what an operator should look at now."""

    def exception(self, event: str, **values: Any) -> Any:
        """Log an error with the traceback of the exception that is being handled."""
