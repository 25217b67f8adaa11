"""The available games: those that come with the arbiter, and those of installed packages.

A package adds a game through the entry point group `arbiter.games`: the name is the game's id, the object is a subclass
of `arbiter.games.contract.Game`. A server runs the rules of these games in processes of their own
(`arbiter.workers.plugin_games`), and has a stand-in here for each: `keep_apart`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from hashlib import sha256
from importlib import import_module
from importlib.util import find_spec
from pkgutil import get_data
from typing import TYPE_CHECKING

from arbiter.errors import Reason, Refusal, parameter_invalid, shortened
from arbiter.games.contract import AnyGame, Value
from arbiter.games.remote import RemoteGame
from arbiter.plain_text import plain

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

SEED = ("circle-of-life", "elevation", "hop-it", "pods", "pondlife")
"""The games that the arbiter was made for: those of its demo, its conformance kit, and the clients' shared vectors."""

BUNDLED = {
    "circle-of-life": "arbiter.games.circle_of_life:CircleOfLife",
    "elevation": "arbiter.games.elevation:Elevation",
    "hop-it": "arbiter.games.hop_it:HopIt",
    "pods": "arbiter.games.pods:Pods",
    "pondlife": "arbiter.games.pondlife:Pondlife",
    "othello": "arbiter.games.othello:Othello",
    "connect-four": "arbiter.games.connect_four:ConnectFour",
    "breakthrough": "arbiter.games.breakthrough:Breakthrough",
    "hex": "arbiter.games.hex:Hex",
    "chess": "arbiter.games.chess:Chess",
    "chess960": "arbiter.games.chess_960:Chess960",
    "go": "arbiter.games.go:Go",
    "checkers": "arbiter.games.checkers:Checkers",
    "amazons": "arbiter.games.amazons:Amazons",
}

GROUP = "arbiter.games"
OWN = "game-arbiter"  #: the distribution of the bundled games
LONGEST_VARIANT = 200  #: maximum characters of a variant's name

_NAME = re.compile(r"[a-z0-9_-]+", re.ASCII)
_CALL = re.compile(r"([a-z0-9_-]+)(?:\(([a-zA-Z0-9=,._-]*)\))?", re.ASCII)


@cache
def _added() -> dict[str, list[EntryPoint]]:
    """Return what installed packages add, by the game's id, in the order of the packages' names.

    To look through all packages takes 10 ms, and the library for it 30: a process that needs the arbiter's own games
    alone does without both.
    """
    from importlib.metadata import entry_points

    found: defaultdict[str, list[EntryPoint]] = defaultdict(list)
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: (entry.name, _package(entry))):
        found[entry.name].append(entry)
    return found


@cache
def _others() -> dict[str, EntryPoint]:
    """Return the games of installed packages, by id; a package cannot replace one of the arbiter's own."""
    return {name: entries[-1] for name, entries in _added().items() if name not in BUNDLED}


def _package(entry: EntryPoint) -> str:
    """Return the package that adds a game."""
    return entry.dist.name if entry.dist else entry.module.partition(".")[0]


def _adding(name: str) -> list[str]:
    """Return the packages that add a game, in the order of their names."""
    return list(dict.fromkeys(_package(entry) for entry in _added().get(name, ())))


def shadowed() -> dict[str, str]:
    """Return the ids of the arbiter's own games that packages add too, which is no use, each with the packages."""
    return {name: ", ".join(packages) for name in BUNDLED if (packages := _adding(name))}


_apart: dict[str, type[RemoteGame] | str] = {}  # the stand-ins of games whose rules run elsewhere, or why there is none


def plugins() -> dict[str, tuple[str, ...]]:
    """Return the ids of the games that are not the arbiter's own, by the package that adds them."""
    found = defaultdict[str, list[str]](list)
    for name, entry in _others().items():
        found[_package(entry)].append(name)
    return {package: tuple(games) for package, games in found.items()}


def keep_apart(games: Mapping[str, type[RemoteGame] | str]) -> None:
    """Load none of these games here, from now on: each has a stand-in, or the reason why there is none.

    With no games, everything is loaded here again.
    """
    _apart.clear()
    _apart.update(games)
    _load.cache_clear()
    _build.cache_clear()


def is_apart(variant: str) -> bool:
    """Return whether the rules of a variant run in a process of their own."""
    return not isinstance(_apart.get(variant.partition("(")[0], ""), str)


def faults() -> dict[str, str]:
    """Return the ids of the games whose rules can't be used, each with the reason."""
    found = dict[str, str]()
    for name in names():
        try:
            load(name)
        except Refusal as refusal:
            found[name] = refusal.message
    return found


@cache
def _load(name: str) -> type[AnyGame] | str:
    """Return the class of a game, or why a package's game can't be loaded."""
    if name in _apart:
        return _apart[name]
    if name in BUNDLED:
        module, _, kind_name = BUNDLED[name].partition(":")
        own: type[AnyGame] = getattr(import_module(module), kind_name)
        return own
    if len(packages := _adding(name)) > 1:
        return f"the packages {' and '.join(packages)} add games of the same name"
    if not _NAME.fullmatch(name):
        return "the name of a game has letters from a to z, digits, _ and - alone"
    try:
        kind: type[AnyGame] = _others()[name].load()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return kind


def load(name: str) -> type[AnyGame]:
    """Return the class of a game by its id. Raises Refusal GAME_UNKNOWN for one that can't be loaded."""
    found = _load(name)
    if isinstance(found, str):
        allowed = ", ".join(each for each in names() if each != name)
        message = f"the rules of {name} can't be used here: {shortened(plain(found), 300)}"
        raise Refusal(Reason.GAME_UNKNOWN, message, what=name, allowed=allowed)
    return found


def names() -> tuple[str, ...]:
    """Return the ids of all games, bundled ones first."""
    return (*BUNDLED, *_others())


def _is_known(name: str) -> bool:
    """Return whether there is a game, which need not load."""
    return name in BUNDLED or name in _others()


def classes() -> dict[str, type[AnyGame]]:
    """Return the game classes by id, bundled ones first; without the games of packages that can't be loaded."""
    return {name: kind for name in names() if not isinstance(kind := _load(name), str)}


def game(variant: str) -> AnyGame:
    """Return the game of a variant's name, such as `pods` or `pods(size=5)`.

    Parameters may be in any order, and may be given with their default value; `Game.variant` is the canonical name.
    Raises Refusal GAME_UNKNOWN (facts what, allowed) or PARAMETER_INVALID (facts what, where, allowed).
    """
    return _build(variant) if len(variant) <= LONGEST_VARIANT else _unknown(shortened(variant))


@lru_cache(maxsize=256)
def _build(variant: str) -> AnyGame:
    call = _CALL.fullmatch(variant)
    if call is None or not _is_known(call[1]):
        return _unknown(call[1] if call else variant)
    kind = load(call[1])
    if issubclass(kind, RemoteGame):
        return kind(variant)  # its own process reads the parameters
    parameters = {parameter.name: parameter for parameter in kind.facts.parameters}
    values: dict[str, Value] = {}
    for item in (call[2] or "").split(",") if call[2] else []:
        name, equals, word = item.partition("=")
        if not equals or name not in parameters or name in values:
            allowed = ", ".join(parameters) or "no parameters"
            raise parameter_invalid(item, variant, f"NAME=VALUE, once each, of {allowed}")
        try:
            values[name] = parameters[name].read(word)
        except ValueError:
            raise parameter_invalid(word, f"{call[1]}({name}=…)", parameters[name].allowed) from None
    return kind(**values)


def installed(variant: str) -> bool:
    """Return whether the rules of a variant's game can be used here."""
    name = variant.partition("(")[0]
    return _is_known(name) and not isinstance(_load(name), str)


def seats(variant: str) -> tuple[str, str]:
    """Return the names of the two seats by the rules of a variant; their numbers if its game is not installed."""
    try:
        return game(variant).facts.seats
    except Refusal:
        return "1", "2"


def rules_text(game: AnyGame) -> str:
    """Return the rules as Markdown: the file `texts/ID.md` beside the game's module, or '' if there is none."""
    return rules_text_of(type(game))


def rules_text_of(kind: type[AnyGame]) -> str:
    """Return the rules of a game by its class, as `rules_text` does."""
    if issubclass(kind, RemoteGame):
        return kind.rules_text
    try:
        return (get_data(kind.__module__, f"texts/{kind.facts.id}.md") or b"").decode()
    except FileNotFoundError:
        return ""


@dataclass(frozen=True, slots=True, order=True)
class Code:
    """The code of a game's rules: its package, its version, and the SHA-256 of its files, 64 hexadecimal digits."""

    package: str
    version: str
    sha256: str


@cache
def code(name: str) -> Code:
    """Return the code of a game's rules, by the game's id.

    The hash is that of the Python files in the folder of the game's module, or of this module alone if it is in no
    package: of each, in the order of their names, the name, a zero byte, the SHA-256 of its content. The version also
    names the libraries that the game stands on.
    Raises Refusal GAME_UNKNOWN.
    """
    from importlib.metadata import version

    if not _is_known(name):
        _unknown(name)
    kind = load(name)
    if issubclass(kind, RemoteGame):
        return Code(*kind.code)
    whole = sha256()
    for file, digest in _code_files(kind.__module__):
        whole.update(file.encode() + b"\0" + digest)
    stands_on = [f"{library} {version(library)}" for library in kind.libraries]
    if name in BUNDLED:
        package, number = OWN, version(OWN)
    else:
        dist = _others()[name].dist
        package, number = _package(_others()[name]), dist.version if dist else "unknown"
    return Code(package, ", ".join((number, *stands_on)), whole.hexdigest())


def _code_files(module: str) -> Sequence[tuple[str, bytes]]:
    """Return the Python files that are the code of a game's module, each as its name and SHA-256, by their names."""
    spec = find_spec(module)
    if spec is None or not spec.parent:  # the modules beside it do not belong to it
        file = f"{module}.py"
        return [(file, sha256(get_data(module, file) or b"").digest())]
    return _files(spec.parent)


@cache
def _files(package: str) -> Sequence[tuple[str, bytes]]:
    from importlib.resources import files

    found = sorted(files(package).iterdir(), key=lambda file: file.name)
    return [(file.name, sha256(file.read_bytes()).digest()) for file in found if file.name.endswith(".py")]


def _unknown(what: str) -> AnyGame:
    allowed = ", ".join(names())
    message = f"there is no game {what!r}: the games are {shortened(allowed, 300)}"
    raise Refusal(Reason.GAME_UNKNOWN, message, what=what, allowed=allowed)
