"""Pages behind a proxy that ends TLS: cookies are Secure, and forms must come from the public address."""

from __future__ import annotations

from pathlib import Path

import pytest

from arbiter.errors import OperatorError
from arbiter.web.proxied import PublicAddress
from tests.web.site import Elements, site


async def test_cookies_are_secure_and_forms_come_from_the_public_address(tmp_path: Path) -> None:
    async with site(tmp_path, web_url="https://arbiter.example.org") as page:
        form = await page.get("/sign-in")
        (cookie,) = form.headers.get_list("set-cookie")
        assert cookie.startswith("__Host-arbiter-visit=")
        assert "Secure" in cookie.split("; ")
        token = next(given["value"] for name, given in Elements(form.text).found if given.get("name") == "form")
        sent = {"form": str(token), "token": "x"}
        visit = {"cookie": cookie.partition(";")[0]}
        for origin, status in (
            ("https://arbiter.example.org", 401),
            ("http://page", 403),
            ("https://evil.example", 403),
        ):
            answer = await page.browser.post("/sign-in", data=sent, headers={"origin": origin, **visit})
            assert answer.status_code == status


@pytest.mark.parametrize(
    "url", ["arbiter.example.org", "ftp://a.example", "https://", "https://a.example/arbiter", "https://a:b@c"]
)
def test_a_malformed_public_address_is_refused(url: str) -> None:
    with pytest.raises(OperatorError, match=r"https://arbiter\.example\.org"):
        PublicAddress(None, url)  # type: ignore[arg-type]
