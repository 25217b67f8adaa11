"""The plug-ins of this folder as installed packages, for this process and for its children."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import DistributionFinder, EntryPoint, MetadataPathFinder
from pathlib import Path

import pytest

from arbiter.games import registry
from tests.documents import ROOT

GAMES = {
    "mischief": "tests.plugins.mischief:Mischief",
    "heap": "tests.matches.heap:Heap",
    "hanging": "tests.plugins.hanging:Hanging",
    "dying": "tests.plugins.dying:Dying",
    "raising": "tests.plugins.raising:Raising",
    "wrong": "tests.plugins.mischief:STONES",
    "misnamed": "tests.plugins.mischief:Mischief",
}


def forget_packages() -> None:
    """Have the registry look for packages of games again."""
    for lookup in (registry._added, registry._others, registry._load, registry._build):
        lookup.cache_clear()


def install(folder: Path, *packages: tuple[str, ...]) -> str:
    """Install packages in a folder, each with some games of `GAMES`; return the PYTHONPATH that has them."""
    for number, games in enumerate(packages):
        info = folder / f"plugin_{number}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: plugin-{number}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(
            "\n".join([f"[{registry.GROUP}]", *(f"{name} = {GAMES[name]}" for name in games)])
        )
    return os.pathsep.join(map(str, (folder, ROOT, os.environ.get("PYTHONPATH", ""))))


@contextmanager
def installed(folder: Path, *packages: tuple[str, ...]) -> Iterator[None]:
    """Have exactly these packages of games in this process, and these among others in its children."""
    path = install(folder, *packages)
    found = MetadataPathFinder.find_distributions(DistributionFinder.Context(path=[str(folder)]))
    entries: list[EntryPoint] = [entry for each in found for entry in each.entry_points]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", path)
        patch.setattr("importlib.metadata.entry_points", lambda *, group: entries)
        forget_packages()
        try:
            yield
        finally:
            patch.undo()
            forget_packages()
