"""The rules of size, and no module that nobody uses.

A function has at most 60 lines, a module at most 400. A class of `arbiter` has at most 25 methods, and its constructor
takes at most 7 arguments, unless it is a dataclass, whose arguments are its fields. Each exception is listed here with
its reason. One that is no longer needed fails, too. `python -m tests.test_sizes` prints the figures.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from tests.documents import ROOT

MOST_OF_MODULE: Final = 400  #: lines
MOST_OF_FUNCTION: Final = 60  #: lines, from `def` on
MOST_ARGUMENTS: Final = 7  #: of a constructor
MOST_METHODS: Final = 25  #: of a class
SMALL: Final = 40  #: lines of a module that may be a part of another one

LONG_FUNCTIONS: Final[Mapping[str, str]] = {}
"""The functions that are longer, as PATH:NAME, and why."""

MANY_ARGUMENTS: Final[Mapping[str, str]] = {}
"""The classes whose constructors take more, as PATH:NAME, and why."""

A_PORT: Final = "an adapter: the methods of one port"

MANY_METHODS: Final[Mapping[str, str]] = {
    "arbiter/service/ports/journal.py:Journal": "a port: what a journal can do",
    "arbiter/store/directory.py:SqlDirectory": A_PORT,
    "arbiter/store/journal.py:SqlJournal": A_PORT,
    "arbiter/testing/memory/directory.py:MemoryDirectory": A_PORT,
    "arbiter/testing/memory/journal.py:MemoryJournal": A_PORT,
}
"""The classes that have more methods, and why."""

GAME: Final = "the rules of a game, in the order of its rule sheet"
TESTS_OF_GAME: Final = "tests of the rules of a game, in the order of its rule sheet"
ONE_CONTRACT: Final = "one contract, tried on every implementation by the same fixtures"
OF_THE_CLIENT: Final = "no test of the client can import from another module of tests: a part would repeat its bot"

LONG_MODULES: Final[Mapping[str, str]] = {
    "arbiter/config.py": "every setting and limit on one page",
    "arbiter/games/hop_it.py": GAME,
    "arbiter/games/pondlife.py": GAME,
    "arbiter/service/ports/journal.py": "a port: what is stored, what a journal can do, and its errors",
    "arbiter/store/journal.py": "an adapter: the methods of one port, most of them one query",
    "arbiter/testing/simulation/plan.py": "all that a seed draws; the order of the draws matters",
    "clients/python/tests/test_bot.py": OF_THE_CLIENT,
    "clients/python/tests/test_policies.py": OF_THE_CLIENT,
    "clients/python/tests/test_session.py": OF_THE_CLIENT,
    "tests/cli/test_doctor.py": "one command, on a machine of the tests without a fault; each test adds one",
    "tests/games/test_elevation.py": TESTS_OF_GAME,
    "tests/games/test_hop_it.py": TESTS_OF_GAME,
    "tests/games/test_pods.py": TESTS_OF_GAME,
    "tests/games/test_pondlife.py": TESTS_OF_GAME,
    "tests/rpc/test_rights.py": "the table of rights, and what makes the requests for its cells",
    "tests/rpc/test_tournaments.py": "the calls of one service, each tried on one server and on two",
    "tests/sandbox/escapes/attempts.py": "it runs as a single file, where nothing can be imported",
    "tests/simulation/test_invariants.py": "one recorded run, and each change of it that a check must find",
    "tests/store/test_journal.py": ONE_CONTRACT,
    "tests/store/test_replica_rows.py": ONE_CONTRACT,
    "tests/tournaments/test_tie_breaks.py": "published examples of every tie-break, with their tables",
}
"""The modules that are longer, and why each of them is one."""

STARTED: Final[Mapping[str, str]] = {
    "arbiter/store/migrations/env.py": "Alembic runs it",
    "clients/python/arbiter_client/bots/mcts.py": "`arbiter serve --bot` and others find bots by their files",
    "clients/python/arbiter_client/bots/wire.py": "`arbiter serve --bot` and others find bots by their files",
    "clients/python/arbiter_client/training.py": "users import it, whose players are trained",
    "tests/clients/flaky.py": "maintainers run it, as it says itself",
    "tests/sandbox/escapes/attempts.py": "it runs as a file in the sandbox, where there is no package",
}
"""The modules that no other module uses, and who runs them. Alembic's versions and what pytest collects are known."""

GENERATED: Final = {"arbiter_protos", "node_modules", "build", "target", ".venv"}
COLLECTED: Final = re.compile(r"(test_\w+|conftest|__init__|\d{4}_\w+)\.py")


def modules(*folders: str) -> dict[str, Path]:
    """Return the modules that people write, by their paths in the tree."""
    paths = {str(path.relative_to(ROOT)): path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))}
    return {place: path for place, path in paths.items() if GENERATED.isdisjoint(Path(place).parts)}


@cache
def everything() -> dict[str, Path]:
    """Return all of them."""
    return modules("arbiter", "clients", "protos", "tests") | {"hatch_build.py": ROOT / "hatch_build.py"}


def long_functions(place: str, nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Yield PATH:NAME of each function with too many lines."""
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            if node.end_lineno - node.lineno + 1 > MOST_OF_FUNCTION:
                yield f"{place}:{node.name}"


def name_of(place: str) -> str:
    """Return the name by which a module is imported."""
    path = place.removeprefix("clients/python/").removesuffix(".py")
    return path.removesuffix("/__init__").removesuffix("/__main__").replace("/", ".")


def used(place: str, nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Yield the names that a module imports or has as a word of a text, such as `arbiter.bench.echo`, and more."""
    package = name_of(str(Path(place).parent / "__init__.py"))
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{each.name}" for each in node.names)
            yield node.module or ""
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and "\n" not in node.value:
            for word in re.findall(r"[\w.]+", node.value):
                yield from (word, f"{package}.{word}")


def methods(node: ast.ClassDef) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Return the methods that a class has itself."""
    return [each for each in node.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)]


def arguments(node: ast.ClassDef) -> int:
    """Return how many arguments the constructor takes that a class has itself; 0 for a dataclass."""
    if any("dataclass" in ast.unparse(each) for each in node.decorator_list):
        return 0
    given = [each.args for each in methods(node) if each.name == "__init__"]
    return sum(len(each.posonlyargs) + len(each.args) + len(each.kwonlyargs) - 1 for each in given)


class Size(NamedTuple):
    """The size of a class. name: PATH:NAME."""

    name: str
    arguments: int
    methods: int


class Found(NamedTuple):
    """What is looked at of a module: its functions that are too long, the names that it uses, and its classes."""

    long_functions: list[str]
    names: set[str]
    classes: list[Size]


@cache
def found() -> dict[str, Found]:
    """Return this for every module. It takes seconds."""
    return {place: found_in(place, path.read_text(encoding="utf-8")) for place, path in everything().items()}


def found_in(place: str, text: str) -> Found:
    """Return this for a module."""
    nodes = list(ast.walk(ast.parse(text)))
    classes = [
        Size(f"{place}:{node.name}", arguments(node), len(methods(node)))
        for node in nodes
        if isinstance(node, ast.ClassDef)
    ]
    return Found(list(long_functions(place, nodes)), set(used(place, nodes)), classes)


def classes() -> list[Size]:
    """Return the classes of `arbiter`."""
    return [size for place, module in found().items() if place.startswith("arbiter/") for size in module.classes]


def unused(among: Mapping[str, Found], configuration: str = "") -> list[str]:
    """Return the modules that no other module uses. Use by a test counts for what is only for tests."""
    users: dict[str, set[str]] = {name_of(place): set() for place in among}
    for place, module in among.items():
        for name in module.names & users.keys():
            users[name].add(place)
    named = {name for word in re.findall(r"[\w.]+", configuration) for name in (word, word.rpartition(".")[0])}
    return [
        place
        for place in among
        if not COLLECTED.fullmatch(Path(place).name)
        and name_of(place) not in named
        and not any(counts(user, place) for user in users[name_of(place)] - {place})
    ]


def counts(user: str, place: str) -> bool:
    """Return whether the use of a module shows that it is needed."""
    return not is_for_tests(user) or is_for_tests(place)


def is_for_tests(place: str) -> bool:
    """Return whether a module is only for tests."""
    return place.startswith(("tests/", "clients/python/tests/", "arbiter/testing/"))


def check(names: Iterable[str], exceptions: Iterable[str], advice: str) -> None:
    """Fail if there is something that is no exception, or an exception that is not there."""
    there, listed = set(names), set(exceptions)
    assert there <= listed, f"{', '.join(sorted(there - listed))}: {advice}, or list it here with the reason"
    assert there >= listed, f"{', '.join(sorted(listed - there))}: no exception any more, remove it here"


@pytest.mark.long
def test_no_function_is_too_long() -> None:
    names = (name for module in found().values() for name in module.long_functions)
    check(names, LONG_FUNCTIONS, f"divide what has more than {MOST_OF_FUNCTION} lines")


@pytest.mark.long
def test_no_class_is_too_large() -> None:
    few = f"give what takes more than {MOST_ARGUMENTS} arguments parts that belong together"
    check((size.name for size in classes() if size.arguments > MOST_ARGUMENTS), MANY_ARGUMENTS, few)
    divide = f"divide what has more than {MOST_METHODS} methods"
    check((size.name for size in classes() if size.methods > MOST_METHODS), MANY_METHODS, divide)


def test_no_module_is_too_long() -> None:
    places = (place for place, path in everything().items() if len(path.read_bytes().splitlines()) > MOST_OF_MODULE)
    check(places, LONG_MODULES, f"divide by subject what has more than {MOST_OF_MODULE} lines")


@pytest.mark.long
def test_every_module_is_used() -> None:
    roots = ("arbiter/", "tests/", "clients/python/arbiter_client/", "clients/python/tests/")
    among = {place: module for place, module in found().items() if place.startswith(roots)}
    configuration = "".join((ROOT / name).read_text(encoding="utf-8") for name in ("Makefile", "pyproject.toml"))
    check(unused(among, configuration), STARTED, "remove what no module uses")


def test_an_exception_that_is_not_needed_fails() -> None:
    check(["a", "b"], ["b", "a"], "")
    with pytest.raises(AssertionError, match=r"a: divide, or list it"):
        check(["a", "b"], ["b"], "divide")
    with pytest.raises(AssertionError, match="b: no exception any more"):
        check(["a"], ["a", "b"], "divide")


@pytest.mark.parametrize("head", ["def f():", "class C:\n  async def f():"])
def test_long_functions_are_found(head: str) -> None:
    lines = ["    0"] * (MOST_OF_FUNCTION - 1)
    assert found_in("a.py", "\n".join([head, *lines])).long_functions == []
    assert found_in("a.py", "\n".join([head, *lines, "    0"])).long_functions == ["a.py:f"]


def test_the_size_of_a_class_is_found() -> None:
    text = "class C:\n  def __init__(self, a, *, b): 0\n  async def f(self): 0\n@dataclass(slots=True)\n"
    text += "class D:\n  def __init__(self, a): 0"
    assert found_in("a.py", text).classes == [Size("a.py:C", 2, 2), Size("a.py:D", 0, 1)]


@pytest.mark.parametrize(
    ("line", "is_used"),
    [
        ("import arbiter.games.odd", True),
        ("from arbiter.games import odd", True),
        ("from arbiter.games.odd import Odd", True),
        ("PLACE = 'arbiter.games.odd:Odd'", True),
        ("PLACE = 'odd:Odd'", True),
        ("import arbiter.games.even", False),
        ('"""See\narbiter.games.odd."""', False),
    ],
)
def test_unused_modules_are_found(line: str, is_used: bool) -> None:
    texts = {"arbiter/games/odd.py": "'arbiter.games.odd'", "arbiter/games/__init__.py": line}
    among = {place: found_in(place, text) for place, text in texts.items()}
    assert unused(among) == ([] if is_used else ["arbiter/games/odd.py"])


def test_use_by_a_test_alone_does_not_count() -> None:
    texts = dict.fromkeys(("arbiter/games/odd.py", "arbiter/testing/odd.py"), "")
    texts["tests/test_odd.py"] = "import arbiter.games.odd, arbiter.testing.odd"
    assert unused({place: found_in(place, text) for place, text in texts.items()}) == ["arbiter/games/odd.py"]


def figures() -> Iterator[str]:
    """Yield the figures of `arbiter`, for whoever makes it simpler."""
    lines = {place: len(path.read_bytes().splitlines()) for place, path in modules("arbiter").items()}
    small = sum(each <= SMALL for each in lines.values())
    yield f"{sum(lines.values())} lines in {len(lines)} modules, {small} of at most {SMALL} lines"
    longest = max(lines, key=lambda place: lines[place])
    yield f"the longest module: {longest}, {lines[longest]} lines"
    takes, has = max(classes(), key=attrgetter("arguments")), max(classes(), key=attrgetter("methods"))
    yield f"most arguments of a constructor: {takes.name}, {takes.arguments}"
    yield f"most methods: {has.name}, {has.methods}"


if __name__ == "__main__":
    print(*figures(), sep="\n")
