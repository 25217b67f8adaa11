"""A benchmark process: a page of a live match in Chromium, and how long each update of it takes.

Plan: `page` (address of the pages), `match`. It sends an answer once the page has its stream. The answer to an order
has `updates`: for each event that has come, the milliseconds that the page's script was busy with it, and that the
browser then needed to style and lay out the page. Two figures each: how much time passed, and how much of it the page's
thread had a processor, both as Chromium's own trace says. The first is longer where the processors have other things to
do: the server, both players and the processes of Chromium that paint.
"""

from __future__ import annotations

import importlib.util
import json
import shutil
from typing import Any, Final

from arbiter.bench.processes import answer, order

CHROMIUM: Final = "chromium"
TIMELINE: Final = "devtools.timeline"  #: the part of Chromium's trace that has the calls of a page's functions
TIMED: Final = """
const made = Object.getOwnPropertyDescriptor(EventSource.prototype, "onmessage");
Object.defineProperty(EventSource.prototype, "onmessage", {
  set(handler) {
    made.set.call(this, function measuredUpdate(event) {
      handler(event);
      document.body.getBoundingClientRect();
    });
    this.addEventListener("open", () => { window.listens = true; });
  },
});
"""
"""Wraps what the page has done with each event. To ask for a size has the browser style and lay out at once."""


def lacking() -> str:
    """Return what a browser needs here and is not there, or ''."""
    if shutil.which(CHROMIUM) is None:
        return f"there is no {CHROMIUM}"
    return "" if importlib.util.find_spec("playwright") else "the Python package playwright is not installed"


def run(page: str, match: str) -> None:
    """Look at a match until there are no more orders."""
    from playwright.sync_api import sync_playwright  # a tool for developers, which an installed arbiter does without

    with sync_playwright() as tools:
        browser = tools.chromium.launch(executable_path=shutil.which(CHROMIUM), args=["--no-sandbox"])
        shown = browser.new_page(bypass_csp=True)  # to ask the page whether it listens is a script of ours
        shown.add_init_script(TIMED)
        shown.goto(f"{page}matches/{match}")
        shown.wait_for_function("window.listens")
        browser.start_tracing(page=shown, categories=[TIMELINE])
        answer()
        while order() is not None:
            calls = [each for each in json.loads(browser.stop_tracing())["traceEvents"] if _is_update(each)]
            answer(updates=[(each["dur"] / 1_000, each["tdur"] / 1_000) for each in calls])
            browser.start_tracing(page=shown, categories=[TIMELINE])
        browser.close()


def _is_update(traced: dict[str, Any]) -> bool:
    """Say whether an event of Chromium's trace is a whole call of what `TIMED` has put around the page's script."""
    called = traced.get("name") == "FunctionCall" and traced.get("ph") == "X"
    return called and traced["args"]["data"]["functionName"] == "measuredUpdate"


if __name__ == "__main__":
    plan = order()
    assert plan is not None
    run(**plan)
