"""`python -m arbiter`, and the command `arbiter`."""

from __future__ import annotations

import gc
import os
import sys

COLLECTED_AFTER = 200_000
"""New containers after which garbage is collected. With Python's 700 it is hundreds of times during the imports, which
leave almost no garbage; with 50,000 it still takes a tenth of the start of a server."""


def main() -> None:
    """Run the command line and exit with its code."""
    gc.set_threshold(COLLECTED_AFTER)
    # gRPC's own words about a taken port or a lost connection would stand beside our one clear line.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    from arbiter.cli.app import run
    from arbiter.runtime.loop import GRPC_ENVIRONMENT

    for name, value in GRPC_ENVIRONMENT.items():
        os.environ.setdefault(name, value)

    code = run()
    gc.freeze()  # else Python looks through all modules for garbage before it ends: a fifth of the time of their import
    sys.exit(code)


if __name__ == "__main__":
    main()
