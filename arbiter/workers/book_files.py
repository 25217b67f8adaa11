"""Opening books as files in a folder: an index of where their entries are, and the entries as they are needed.

A file is read once from its beginning to its end, for its hash and its index of 24 bytes for each entry, and again when
its size or its time of change is another one.
"""

from __future__ import annotations

from array import array
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple

from arbiter.errors import Refusal, shortened
from arbiter.games import registry
from arbiter.matches.notation import NotationError
from arbiter.service.tournaments.books import (
    BookFacts,
    BookForm,
    BookProblem,
    Entry,
    WrongEntry,
    entries,
    form_of,
    read_entry,
    variant_of,
)
from arbiter.tournaments.book_order import Opening

MOST_ENTRIES: Final = 10_000_000  #: of a book, for one variant
KEPT: Final = 8  #: books whose index stays in memory


class _Index(NamedTuple):
    """The index of a file. state: its size and time of change. places: start, line and nth of each entry, by game."""

    state: tuple[int, int]
    digest: str
    places: dict[str, array[int]]


class BookFiles:
    """The opening books in a folder; see the port `arbiter.service.tournaments.books.Books`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: OrderedDict[str, _Index] = OrderedDict()

    def facts(self, name: str, game: str) -> BookFacts:
        index = self._index(name)
        return BookFacts(index.digest, len(self._places(name, index, game)) // 3)

    def opening(self, name: str, digest: str, game: str, number: int, plies: int) -> Opening:
        index = self._index(name)
        if index.digest != digest:
            raise BookProblem(f"{name} is another file than the tournament began with: its SHA-256 was {digest}")
        places = self._places(name, index, game)
        start, line, nth = places[3 * number - 3 : 3 * number]
        try:
            with (self._folder / name).open("rb") as file:
                file.seek(start)
                entry = Entry(game, line, start, nth)
                found = read_entry(file, form_of(name), entry, registry.game(game), plies)
        except NotationError as error:
            raise WrongEntry(f"{name}, {error}") from None
        except OSError as error:
            raise BookProblem(f"{name} can't be read: {error.strerror or error}") from None
        return found._replace(number=number)

    def _index(self, name: str) -> _Index:
        path = self._folder / name
        try:
            status = path.stat()
            state = status.st_size, status.st_mtime_ns
            known = self._known.pop(name, None)
            if known is None or known.state != state:
                with path.open("rb") as file:
                    known = _indexed(file, form_of(name), state)
        except NotationError as error:
            raise BookProblem(f"{name}, {error}") from None
        except OSError as error:
            raise BookProblem(f"there is no book {name} that can be read: {error.strerror or error}") from None
        self._known[name] = known
        if len(self._known) > KEPT:
            self._known.popitem(last=False)
        return known

    def _places(self, name: str, index: _Index, game: str) -> array[int]:
        """Return the places of the entries of a variant. Raises BookProblem if there are none, or too many."""
        found = index.places.get(game)
        if found is None:
            found = array("Q")
            for each, places in list(index.places.items()):
                try:
                    fits = variant_of(each, game, form_of(name))
                except Refusal as refusal:
                    raise BookProblem(f"{name}, line {places[1]}: {refusal.message}") from None
                if fits:
                    found.extend(places)
            index.places[game] = found
        if not found:
            raise BookProblem(f"{name} has no entries of {game}")
        return found


def _indexed(file: Iterable[bytes], form: BookForm, state: tuple[int, int]) -> _Index:
    digest = sha256()

    def read() -> Iterator[bytes]:
        for line in file:
            digest.update(line)
            yield line

    places: dict[str, array[int]] = {}
    for entry in entries(read(), form):
        found = places.setdefault(entry.game, array("Q"))
        found.extend((entry.start, entry.line, entry.nth))
        if len(found) > 3 * MOST_ENTRIES:
            raise NotationError(entry.line, f"a book has at most {MOST_ENTRIES:,} entries")
        if len(places) > 100:
            raise NotationError(entry.line, f"{shortened(entry.game)!r} is the 101st game of this book")
    return _Index(state, digest.hexdigest(), places)
