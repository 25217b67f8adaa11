"""Builds the thread that commits without the interpreter's lock, for tests of the interpreted modules."""

from __future__ import annotations

import importlib.util
import os
import shlex
import subprocess
import sys
import sysconfig
from pathlib import Path
from types import ModuleType

NAME = "arbiter.store._commit_thread"
SOURCE = Path(__file__).parents[2] / "arbiter" / "store" / "_commit_thread.c"  # which no installation has

EXPECTED = ("unused-parameter", "cast-function-type", "missing-field-initializers")  #: warnings about Python's own form


def built(folder: Path) -> ModuleType:
    """Compile the module into a folder, with every warning an error, and load it. Imports of it don't find it yet."""
    target = folder / f"_commit_thread{sysconfig.get_config_var('EXT_SUFFIX')}"
    compiler = shlex.split(os.environ.get("CC", "cc"))
    flags = [
        "-shared",
        "-fPIC",
        "-O2",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-Wno-unused-parameter",
        "-Wno-cast-function-type",
    ]
    flags += ["-Wno-missing-field-initializers"]
    include = f"-I{sysconfig.get_config_var('INCLUDEPY')}"
    subprocess.run([*compiler, *flags, include, str(SOURCE), "-o", str(target), "-lpthread", "-ldl"], check=True)
    spec = importlib.util.spec_from_file_location(NAME, target)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules.pop(NAME, None)  # where a module of this kind enters itself
    return module
