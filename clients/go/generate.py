"""Generate the Go code of the protocol: `go generate`, or `python generate.py TARGET` for another folder.

protoc comes with the arbiter's own development tools (grpcio-tools); its plugins are tools of the module in
tools/, so that go.sum pins them.
"""

import subprocess
import sys
import tempfile
from importlib.resources import files
from pathlib import Path

from grpc_tools import protoc

HERE = Path(__file__).resolve().parent
PROTOS = HERE.parents[1] / "protos"
PACKAGE = "github.com/game-arbiter/arbiter/clients/go/arbiterpb"
PLUGINS = ("google.golang.org/protobuf/cmd/protoc-gen-go", "google.golang.org/grpc/cmd/protoc-gen-go-grpc")


def main() -> int:
    """Write the code; return the exit status."""
    target = Path(sys.argv[1]) if sys.argv[1:] else HERE / "arbiterpb"
    target.mkdir(parents=True, exist_ok=True)
    names = sorted(path.name for path in (PROTOS / "arbiter" / "v1").glob("*.proto"))
    with tempfile.TemporaryDirectory() as tools:
        subprocess.run(["go", "build", "-o", f"{tools}/", *PLUGINS], cwd=HERE / "tools", check=True)
        options = ["module=" + PACKAGE, *(f"Marbiter/v1/{name}={PACKAGE}" for name in names)]
        status: int = protoc.main(
            [
                "protoc",
                f"--proto_path={PROTOS}",
                f"--proto_path={files('grpc_tools') / '_proto'}",
                *(f"--plugin={tools}/{plugin.rpartition('/')[2]}" for plugin in PLUGINS),
                f"--go_out={target}",
                f"--go-grpc_out={target}",
                *(f"--go_opt={option}" for option in options),
                *(f"--go-grpc_opt={option}" for option in options),
                *(f"arbiter/v1/{name}" for name in names),
            ]
        )
    for path in target.glob("*.pb.go"):  # a file whose proto is gone is no longer wanted
        if not (PROTOS / "arbiter" / "v1" / f"{path.name.removesuffix('.pb.go').removesuffix('_grpc')}.proto").exists():
            path.unlink()
    return status


if __name__ == "__main__":
    sys.exit(main())
