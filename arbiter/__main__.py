"""`python -m arbiter`, and the command `arbiter`."""

from __future__ import annotations

import gc
import os
import sys

COLLECTED_AFTER = 50_000  #: new containers; with Python's 700 the collector runs hundreds of times during the imports


def main() -> None:
    """Run the command line and exit with its code."""
    gc.set_threshold(COLLECTED_AFTER)
    # gRPC's own words about a taken port or a lost connection would stand beside our one clear line.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    from arbiter.cli.app import run
    from arbiter.runtime.loop import GRPC_ENVIRONMENT

    for name, value in GRPC_ENVIRONMENT.items():
        os.environ.setdefault(name, value)

    sys.exit(run())


if __name__ == "__main__":
    main()
