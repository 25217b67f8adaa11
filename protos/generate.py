"""Generate the Python code of the protocol: `make gen`.

protoc names the generated package after the folder of the proto files, `arbiter.v1`; that name belongs to the service,
so the code goes to `arbiter_protos.v1` and its imports are turned accordingly. Messages keep their full names.
With `--check DIR` nothing is written: the committed code is compared with what would be generated.
"""

from __future__ import annotations

import re
import sys
import tempfile
from importlib.resources import files
from pathlib import Path

from grpc_tools import protoc

HERE = Path(__file__).resolve().parent
PROGRAMS = Path(sys.executable).parent
TARGET = HERE / "python" / "arbiter_protos" / "v1"


def generate() -> dict[str, str]:
    """Return the generated files, text by name. Raises SystemExit if protoc fails."""
    with tempfile.TemporaryDirectory() as scratch:
        arguments = [
            "protoc",
            f"--proto_path={HERE}",
            f"--proto_path={files('grpc_tools') / '_proto'}",
            f"--python_out={scratch}",
            f"--grpc_python_out={scratch}",
            f"--plugin=protoc-gen-mypy={PROGRAMS / 'protoc-gen-mypy'}",
            f"--plugin=protoc-gen-mypy_grpc={PROGRAMS / 'protoc-gen-mypy_grpc'}",
            f"--mypy_out={scratch}",
            f"--mypy_grpc_out={scratch}",
            *(str(path) for path in sorted((HERE / "arbiter" / "v1").glob("*.proto"))),
        ]
        if protoc.main(arguments) != 0:
            raise SystemExit("protoc failed; its own message stands above")
        made = sorted(Path(scratch, "arbiter", "v1").iterdir())
        return {path.name: _moved(path.read_text(encoding="utf-8")) for path in made}


def _moved(text: str) -> str:
    text = re.sub(r"\bfrom arbiter\.v1\b", "from arbiter_protos.v1", text)
    text = re.sub(r"\bimport arbiter\.v1\b", "import arbiter_protos.v1", text)
    # mypy-protobuf's stubs name types by the full path of the module.
    return re.sub(r"(?<![\w.\"'/])arbiter\.v1\.(\w+_pb2)", r"arbiter_protos.v1.\1", text)


def main() -> int:
    """Write the generated code, or with --check say whether the committed code is fresh."""
    made = generate()
    kept = {path.name: path.read_text(encoding="utf-8") for path in TARGET.glob("*_pb2*")}
    stale = sorted(name for name in made.keys() | kept.keys() if made.get(name) != kept.get(name))
    if "--check" in sys.argv[1:]:
        if stale:
            print(f"generated code is not fresh ({', '.join(stale)}): run make gen and commit the result")  # noqa: T201
        return 1 if stale else 0
    for name in kept.keys() - made.keys():
        (TARGET / name).unlink()
    for name, text in made.items():
        (TARGET / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
