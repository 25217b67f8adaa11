"""The report for people as one self-contained page: each clause with its sentence, situation and trace."""

from __future__ import annotations

from html import escape
from typing import Final

from arbiter.conformance.clauses import CHAPTERS
from arbiter.conformance.kit import ClauseResult, ClauseVerdict
from arbiter.conformance.report import Report, is_bad, shown_trace

STYLE: Final = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; }
details { border-top: 1px solid #8884; padding: .4rem 0; }
summary { cursor: pointer; }
summary code { font-weight: 600; }
blockquote { margin: .5rem 0; padding-left: .8rem; border-left: 3px solid #8888; font-style: italic; }
pre { overflow-x: auto; font-size: .8rem; line-height: 1.35; background: #8881; padding: .6rem; border-radius: .3rem; }
.verdict { display: inline-block; min-width: 7.5em; font-weight: 600; }
.passed { color: #18794e; } .failed, .not-judged { color: #c62a2f; } .not-applicable { color: #777; }
.why { margin: .3rem 0 .3rem 7.5em; }
@media (prefers-color-scheme: dark) { .passed { color: #4cc38a; } .failed, .not-judged { color: #ff6369; } }
"""


def page(report: Report) -> str:
    """Return a report as an HTML page."""
    counts = ", ".join(
        f"{report.counts[verdict]} {verdict.value}" for verdict in ClauseVerdict if report.counts[verdict]
    )
    title = "conforms" if report.passed else "does not conform"
    chapters: dict[str, list[ClauseResult]] = {}
    for outcome in report.outcomes:
        chapters.setdefault(outcome.clause.chapter, []).append(outcome)
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(report.bot or 'The bot')} {title}</title><style>{STYLE}</style></head><body>",
        f"<h1>{escape(report.bot or 'The bot')} {title}</h1>",
        f"<p>{escape(report.software or 'its client is unknown')}, <code>{escape(report.command)}</code>.",
        f"{escape(counts)}, in {report.seconds:.0f} seconds.</p>",
    ]
    for chapter, outcomes in chapters.items():
        parts.append(f"<h2>{escape(CHAPTERS[chapter].capitalize())}</h2>")
        parts += [_clause(report, outcome) for outcome in outcomes]
    parts.append("</body></html>\n")
    return "\n".join(parts)


def _clause(report: Report, outcome: ClauseResult) -> str:
    item = outcome.clause
    shown = " open" if is_bad(outcome) else ""
    kind = outcome.verdict.value.replace(" ", "-")
    words = report.words(outcome)
    parts = [
        f'<details{shown}><summary><span class="verdict {kind}">{outcome.verdict.value}</span> '
        f"<code>{escape(item.id)}</code> {escape(item.title)}</summary>",
        f'<p class="why">{escape(words)}</p>' if words else "",
        f"<blockquote>{escape(item.quote)} <cite>({escape(item.source)})</cite></blockquote>",
        f"<p>{escape(item.about)}</p>",
        f"<pre>{escape(shown_trace(outcome))}</pre>",
    ]
    if outcome.last_words:
        parts.append(f"<p>The last output of the bot:</p><pre>{escape(outcome.last_words)}</pre>")
    parts.append("</details>")
    return "\n".join(part for part in parts if part)
