"""The options of all commands that print a table: the form of the table for other programs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final

from cyclopts import Group, Parameter
from cyclopts.validators import MutuallyExclusive

from arbiter.table_text import TableForm

TABLE: Final = Group("Table", sort_key=9, validator=MutuallyExclusive())  # type: ignore[no-untyped-call]
"""The options of which one at most may be given. A command with a `--json` of its own puts it here."""

Json = Annotated[bool, Parameter(negative=(), group=TABLE, help="Print everything as JSON.")]


@Parameter(name="*")
@dataclass(frozen=True)
class TableOptions:
    """The form of a command's table. With one, the table alone goes to standard output."""

    csv: Annotated[bool, Parameter(negative=(), group=TABLE, help="Print the table as CSV, for spreadsheets.")] = False
    markdown: Annotated[bool, Parameter(negative=(), group=TABLE, help="Print the table as Markdown.")] = False

    def form(self) -> TableForm | None:
        """Return the form that is asked for; None for lines with tabs, or on a terminal a drawn table."""
        return TableForm.CSV if self.csv else TableForm.MARKDOWN if self.markdown else None


@Parameter(name="*")
@dataclass(frozen=True)
class AnyTableOptions(TableOptions):
    """The same, and JSON: for commands without a `--json` of their own."""

    json: Annotated[bool, Parameter(negative=(), group=TABLE, help="Print the table as JSON.")] = False

    def form(self) -> TableForm | None:
        """Return the form that is asked for; None for lines with tabs, or on a terminal a drawn table."""
        return TableForm.JSON if self.json else super().form()
