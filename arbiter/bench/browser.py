"""A benchmark process: a page of a live match in Chromium, and how long each update of it takes.

Plan: `page` (address of the pages), `match`. It sends an answer once the page has its stream. The answer to an order
has `updates`: for each event that has come, the milliseconds that the page's script was busy with it, and that the
browser then needed to style and lay out the page. Two figures each: how much time passed, and how much of it the page's
thread had a processor, both as Chromium's own trace says. The first is longer where the processors have other things to
do: the server, both players and the processes of Chromium that paint. `pictures`: for each frame after an event, the
processor time that the page's thread needed to paint it. Events that come together share a frame. The wait for the next
frame (Chromium makes 60 a second) is in none of these figures.
"""

from __future__ import annotations

import importlib.util
import json
import shutil
from collections.abc import Iterator, Sequence
from math import inf
from typing import Any, Final, TypeAlias

from arbiter.bench.processes import answer, order

Traced: TypeAlias = dict[str, Any]  # an event of Chromium's trace: times are in µs

CHROMIUM: Final = ("chromium-headless-shell", "chromium")  #: programs, the first of which that is there is used
TIMELINE: Final = "devtools.timeline"  #: the part of Chromium's trace that has the calls of a page's functions
LAST_PART: Final = "Layerize"  #: of the work for a frame in the page's thread
PAINTING: Final = (
    "PrePaint",
    "Paint",
    LAST_PART,
)  #: the parts of this work; inside a Paint are the Paints of its parts
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
    if _program() is None:
        return f"there is no {' and no '.join(CHROMIUM)}"
    return "" if importlib.util.find_spec("playwright") else "the Python package playwright is not installed"


def _program() -> str | None:
    return next(filter(None, map(shutil.which, CHROMIUM)), None)


def run(page: str, match: str) -> None:
    """Look at a match until there are no more orders."""
    from playwright.sync_api import sync_playwright  # a tool for developers, which an installed arbiter does without

    with sync_playwright() as tools:
        browser = tools.chromium.launch(executable_path=_program(), args=["--no-sandbox"])
        shown = browser.new_page(bypass_csp=True)  # to ask the page whether it listens is a script of ours
        shown.add_init_script(TIMED)
        shown.goto(f"{page}matches/{match}")
        shown.wait_for_function("window.listens")
        browser.start_tracing(page=shown, categories=[TIMELINE])
        answer()
        while order() is not None:
            traced = json.loads(browser.stop_tracing())["traceEvents"]
            calls = sorted((each for each in traced if _is_update(each)), key=_begin)
            updates = [(each["dur"] / 1_000, each["tdur"] / 1_000) for each in calls]
            answer(updates=updates, pictures=list(_pictures(traced, calls)))
            browser.start_tracing(page=shown, categories=[TIMELINE])
        browser.close()


def _pictures(traced: Sequence[Traced], calls: Sequence[Traced]) -> Iterator[float]:
    """Yield the processor time, in ms, of painting the first frame after each update that has a frame of its own."""
    threads = {(each["pid"], each["tid"]) for each in calls}
    parts = [each for each in traced if _is_painting(each) and (each["pid"], each["tid"]) in threads]
    ends = [*map(_begin, calls[1:]), inf]
    for call, end in zip(calls, ends, strict=True):
        spent, painted_until = 0.0, _begin(call) + call["dur"]
        for part in sorted((each for each in parts if painted_until <= _begin(each) < end), key=_begin):
            if _begin(part) < painted_until:
                continue
            spent, painted_until = spent + part["tdur"] / 1_000, _begin(part) + part["dur"]
            if part["name"] == LAST_PART:
                yield spent
                break


def _begin(traced: Traced) -> float:
    return float(traced["ts"])


def _is_painting(traced: Traced) -> bool:
    return traced.get("name") in PAINTING and traced.get("ph") == "X"


def _is_update(traced: Traced) -> bool:
    """Say whether an event of Chromium's trace is a whole call of what `TIMED` has put around the page's script."""
    called = traced.get("name") == "FunctionCall" and traced.get("ph") == "X"
    return called and traced["args"]["data"]["functionName"] == "measuredUpdate"


if __name__ == "__main__":
    plan = order()
    assert plan is not None
    run(**plan)
