"""A benchmark process: a page of a live match in Chromium, and how long each update of it takes.

Plan: `page` (address of the pages), `match`. It sends an answer once the page has its stream. The answer to an order
has `updates`: for each event that has come, the milliseconds that the page's script was busy with it, and that the
browser then needed to style and lay out the page, by the clock of the Performance API (whose steps are 0.1 ms).
"""

from __future__ import annotations

import importlib.util
import shutil
from typing import Final

from arbiter.bench.processes import answer, order

CHROMIUM: Final = "chromium"
TIMED: Final = """
const made = Object.getOwnPropertyDescriptor(EventSource.prototype, "onmessage");
window.updates = [];
Object.defineProperty(EventSource.prototype, "onmessage", {
  set(handler) {
    made.set.call(this, (event) => {
      const begin = performance.now();
      handler(event);
      document.body.getBoundingClientRect();
      window.updates.push(performance.now() - begin);
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
        answer()
        while order() is not None:
            answer(updates=shown.evaluate("window.updates"))
        browser.close()


if __name__ == "__main__":
    plan = order()
    assert plan is not None
    run(**plan)
