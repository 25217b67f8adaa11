"""Web hooks on the page of a tournament: made, shown with their state, tried again, removed."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.rpc.servers import ONE_OR_TWO
from tests.web.site import Site, site
from tests.web.test_organising import ORGANISER, make, post, sign_in


@pytest.fixture(params=ONE_OR_TWO)
async def page(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Site]:
    async with site(tmp_path, request.param) as served:
        yield served
        await served.server.arbiter.tournaments.stop()


@pytest.mark.long
async def test_an_organiser_makes_a_web_hook_sees_its_state_and_removes_it(page: Site) -> None:
    await sign_in(page, "org", *ORGANISER)
    where = await make(page)
    url = "https://example.org/hook?a=<b>"
    made = await post(page, where, act="create-hook", url=url, request="hook 1")
    assert (made.status_code, made.headers["cache-control"]) == (200, "no-store")
    assert re.search(r'class="secret">whsec_[\w+/=]+<', made.text)
    assert f'href="{where}"' in made.text
    shown = (await page.get(where)).text
    assert "https://example.org/hook?a=&lt;b&gt;" in shown
    assert "nothing delivered yet" in shown
    assert "whsec_" not in shown
    found = re.search(r'name="hook" value="(\w+)"', shown)
    assert found is not None
    wrong = await post(page, where, act="create-hook", url="http://10.0.0.1/", request="hook 2")
    assert (wrong.status_code, "the operator of the server allows others" in wrong.text) == (400, True)
    hook = found[1]
    assert (await post(page, where, act="retry-hook", hook=hook)).status_code == 303
    assert (await post(page, where, act="delete-hook", hook="none")).status_code == 400
    assert (await post(page, where, act="delete-hook", hook=hook)).status_code == 303
    assert hook not in (await page.get(where)).text


async def test_others_see_no_web_hooks(page: Site) -> None:
    await sign_in(page, "org", *ORGANISER)
    where = await make(page)
    await post(page, where, act="create-hook", url="https://example.org/hook", request="hook 1")
    page.browser.cookies.clear()
    assert "example.org" not in (await page.get(where)).text
