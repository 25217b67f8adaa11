"""Servicers only convert messages: each method makes one call of the gate, and has no branch and no refusal."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path
from types import ModuleType

import pytest

from arbiter.rpc import (
    game_service,
    match_service,
    play_service,
    player_service,
    rating_service,
    server_service,
    tournament_service,
)
from tests.rpc.methods import METHODS

MODULES = (
    game_service,
    match_service,
    play_service,
    player_service,
    rating_service,
    server_service,
    tournament_service,
)
DECISIONS = (
    ast.If,
    ast.IfExp,
    ast.Match,
    ast.While,
    ast.Raise,
    ast.Assert,
    ast.Try,
    ast.BoolOp,
    ast.Compare,
    ast.UnaryOp,
    ast.BinOp,
)


def tree_of(module: ModuleType) -> ast.Module:
    """Return the syntax tree of a module."""
    return ast.parse(Path(inspect.getfile(module)).read_text())


def decisions(tree: ast.AST) -> list[str]:
    """Return the lines of a tree with a decision; `A | B` of types is none."""
    found = [node for node in ast.walk(tree) if isinstance(node, DECISIONS)]
    found = [node for node in found if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr))]
    filtered = [node for node in ast.walk(tree) if isinstance(node, ast.comprehension) and node.ifs]
    return [f"{type(node).__name__}, line {getattr(node, 'lineno', '?')}" for node in (*found, *filtered)]


def methods(tree: ast.Module) -> dict[str, ast.AsyncFunctionDef]:
    """Return the methods of the servicer in a module."""
    (servicer,) = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    return {node.name: node for node in servicer.body if isinstance(node, ast.AsyncFunctionDef)}


def asked(method: ast.AST) -> list[str]:
    """Return what a method calls on the attributes of the servicer."""
    return [
        ast.unparse(node.func)
        for node in ast.walk(method)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Attribute)
        and ast.unparse(node.func.value.value) == "self"
    ]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__.rpartition(".")[2])
def test_a_servicer_decides_nothing(module: ModuleType) -> None:
    assert decisions(tree_of(module)) == []


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__.rpartition(".")[2])
def test_each_method_makes_one_call(module: ModuleType) -> None:
    for name, method in methods(tree_of(module)).items():
        assert len(asked(method)) == 1, (name, asked(method))


def test_each_rpc_has_a_method_that_is_checked() -> None:
    found = [name for module in MODULES for name in methods(tree_of(module))]
    assert sorted(found) == sorted(name.partition(".")[2] for name in METHODS)


@pytest.mark.parametrize(
    "line",
    [
        "if caller.may(scope): pass",
        "raise invalid(1, 'a', 'b')",
        "size = asked or 100",
        "size = 1 if asked else 2",
        "late = before + size",
        "late = before < size",
        "found = [row for row in rows if row.end]",
        "while True: pass",
    ],
)
def test_a_decision_is_found(line: str) -> None:
    assert decisions(ast.parse(line))
