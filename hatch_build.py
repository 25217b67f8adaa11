"""A wheel whose busiest modules are compiled, for whoever asks: `HATCH_BUILD_HOOKS_ENABLE=1`.

Most are compiled by mypyc. On Linux there are also modules in C, without which the arbiter does the same more slowly.

Without it the wheel is pure Python, and an editable installation always is. The modules are named in `pyproject.toml`
and are the same ones that run interpreted elsewhere: nothing in them knows that it is compiled. None has coroutines: as
mypyc 2.4.1 compiles them, an exception that one handles while it waits is seen, and raised again, by another. And none
calls itself for values of any depth: compiled functions call each other without the interpreter's limit, so a value
that is nested 300,000 deep would end the process instead of being refused.
"""

from __future__ import annotations

import ast
import shutil
import sys
from collections.abc import Sequence
from contextlib import chdir
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

GROUP = "arbiter"  #: the extension that holds all of them is called after it; the others only lead there
PLACE = "build/compiled"  #: the compiler's folder. It has the same path in each clone, so that ccache knows its files.
TYPES = """\
[mypy]
follow_imports = skip
[mypy-arbiter.*]
follow_imports = normal
"""
"""Settings of mypy for the compiler: it reads the modules of the arbiter, but not those of libraries.

To the compiled code every object of a library is a Python object, whatever its type. To check the source of SQLAlchemy
and other libraries took two thirds of the compiler's time.
"""


class Compile(BuildHookInterface[Any]):
    """Compiles what the list `compiled` of the hook names: paths, or patterns of them, from the project's folder."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and put the extensions beside their modules in the wheel. Raises ValueError for a name of none."""
        if version == "editable":
            return
        self._remove()  # what a build that was broken off has left
        with chdir(self.root):  # mypyc names modules after their paths from here
            self._compile(self._modules())
        lib = Path(self.root, PLACE, "lib")
        made = (path for path in lib.rglob("*") if path.is_file())
        build_data["force_include"].update({str(path): str(path.relative_to(lib)) for path in made})
        build_data["pure_python"] = False
        build_data["infer_tag"] = True

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what the compiler left."""
        self._remove()

    def _remove(self) -> None:
        shutil.rmtree(Path(self.root, PLACE), ignore_errors=True)

    def _modules(self) -> list[str]:
        modules: list[str] = []
        for pattern in self.config["compiled"]:
            found = [str(path) for path in sorted(Path().glob(pattern))]
            if not found:
                raise ValueError(f"compiled = [..., {pattern!r}] in pyproject.toml names no module")
            modules += found
        for module in modules:
            if any(isinstance(node, ast.AsyncFunctionDef) for node in ast.walk(ast.parse(Path(module).read_text()))):
                raise ValueError(f"{module} has coroutines: it can't be compiled, take it out of pyproject.toml")
        return modules

    def _compile(self, modules: Sequence[str]) -> None:
        # Imported here: whoever builds the pure wheel needs neither.
        from mypyc.build import mypycify
        from setuptools import Distribution, Extension

        settings = Path(PLACE, "types.ini")
        settings.parent.mkdir(parents=True, exist_ok=True)
        settings.write_text(TYPES, encoding="utf-8")
        extensions = mypycify(
            # Its settings differ from those of `make check`, whose cache must not have what it knows of a module.
            [f"--config-file={settings}", f"--cache-dir={PLACE}/types", "--ignore-missing-imports", *modules],
            group_name=GROUP,
            multi_file=True,
            opt_level=self.config["opt-level"],
            debug_level="0",
            target_dir=f"{PLACE}/c",
        )
        if sys.platform == "linux":
            extensions += [Extension(path.removesuffix(".c").replace("/", "."), [path]) for path in self.config["c"]]
        build: Any = Distribution({"name": GROUP, "ext_modules": extensions}).get_command_obj("build_ext")
        build.build_lib, build.build_temp = f"{PLACE}/lib", f"{PLACE}/temp"
        build.ensure_finalized()
        build.run()
