"""The pauses between attempts, as the page describes them."""

from __future__ import annotations

from arbiter.config import WebHookSettings
from arbiter.service.tournaments.deliveries import pause_ms


def test_pauses_double_up_to_the_longest() -> None:
    settings = WebHookSettings()
    assert [pause_ms(settings, tries) for tries in (1, 2, 3, 10, 11, 39, 10_000)] == [
        *(5_000, 10_000, 20_000, 2_560_000),
        *(3_600_000, 3_600_000, 3_600_000),
    ]
    shorter = WebHookSettings(pause_ms=100, longest_pause_ms=300)
    assert [pause_ms(shorter, tries) for tries in (1, 2, 3, 4)] == [100, 200, 300, 300]


def test_a_web_hook_stops_after_the_time_that_the_page_names() -> None:
    settings = WebHookSettings()
    waited_ms = sum(pause_ms(settings, tries) for tries in range(1, settings.tries))
    assert round(waited_ms / 3_600_000) == 30
