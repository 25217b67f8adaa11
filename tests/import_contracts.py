"""Two kinds of import contract that import-linter does not have; pyproject.toml uses and describes them.

Both look at direct imports, including those for types.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output
from importlinter.application.contract_utils import AlertLevel, remove_ignored_imports_and_report
from importlinter.domain.helpers import module_expressions_to_modules


class _Listing(Contract):
    """A contract that single imports break; it lists them."""

    ignore_imports: Any = fields.SetField(subfield=fields.ImportExpressionField(), required=False)

    def broken(self, graph: ImportGraph) -> Iterable[tuple[str, str]]:
        """Yield importer and imported of each import that breaks the contract."""
        raise NotImplementedError

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        """Return whether the contract is kept."""
        ignored = remove_ignored_imports_and_report(graph, self.ignore_imports, AlertLevel.ERROR)
        found = [
            f"{importer} -> {imported} (l.{detail['line_number']})"
            for importer, imported in sorted(self.broken(graph))
            for detail in graph.get_import_details(importer=importer, imported=imported)
        ]
        return ContractCheck(
            kept=not found,
            warnings=list(ignored.warnings),
            ignored_import_count=ignored.ignored_import_count,
            metadata={"found": found},
        )

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Print the imports that break it."""
        for line in check.metadata["found"]:
            output.print_error(f"-   {line}", bold=False)
        output.new_line()


class AllowedImports(_Listing):
    """Packages that may import only what is listed.

    source_modules: the packages.
    allowed_modules: what they may import, each with everything below it.
    ignore_imports: single imports that are allowed as well; one that does not exist is an error.
    """

    source_modules: Any = fields.ListField(subfield=fields.ModuleExpressionField())
    allowed_modules: Any = fields.SetField(subfield=fields.StringField())

    def broken(self, graph: ImportGraph) -> Iterator[tuple[str, str]]:
        """Yield the imports that are not allowed."""
        for source in module_expressions_to_modules(graph, self.source_modules):
            for importer in {source.name, *graph.find_descendants(source.name)}:
                for imported in graph.find_modules_directly_imported_by(importer):
                    if not any(_within(imported, allowed) for allowed in self.allowed_modules):
                        yield importer, imported


class Families(_Listing):
    """Modules of one package, each with its companions, that do not import each other.

    A module whose name continues the name of another (`pods_grid` and `pods`) belongs to that one's family. A family
    may import the package itself and its shared modules, and nothing else of the package.

    package: the package.
    shared: its modules that every family may import.
    outside: its modules that belong to no family, and may import any.
    """

    package: Any = fields.ModuleField()
    shared: Any = fields.SetField(subfield=fields.StringField())
    outside: Any = fields.SetField(subfield=fields.StringField())

    def broken(self, graph: ImportGraph) -> Iterator[tuple[str, str]]:
        """Yield the imports from one family to another, or to a module of no family."""
        package = self.package.name
        modules = {child.removeprefix(f"{package}."): child for child in graph.find_children(package)}
        family = {name: _family(name, modules) for name in modules}
        for name, importer in modules.items():
            if name in self.outside or name in self.shared:
                continue
            for imported in graph.find_modules_directly_imported_by(importer):
                other = imported.removeprefix(f"{package}.")
                if other in modules and other not in self.shared and family[other] != family[name]:
                    yield importer, imported


def _within(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")


def _family(name: str, names: Iterable[str]) -> str:
    """Return the shortest of some names that a name equals or continues."""
    return min((other for other in names if name == other or name.startswith(f"{other}_")), key=len)
