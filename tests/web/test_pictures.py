"""The pages look as in the pictures of the README. `make pictures` takes new ones; look at them before you commit."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final, NamedTuple

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page

from tests.web.gallery import Gallery, gallery, picture_browser, taken

pytestmark = [pytest.mark.toolchain, pytest.mark.long, pytest.mark.asyncio(loop_scope="module")]

PICTURES: Final = Path(__file__).parents[2] / "deploy" / "pictures" / "pages"
NAMES: Final = tuple(sorted(file.stem for file in PICTURES.glob("*.webp")))
IN_SHORT: Final = ("dark", "front", "match", "phone", "round-robin")  #: `make soak` compares the others
MOST: Final = 0.04  #: fraction of points that may differ, so that another version of a font or browser does not fail
LARGEST: Final = 120_000  #: bytes of a picture

COMPARE: Final = """async ([one, other]) => {
  const points = async (data) => {
    const image = new Image();
    image.src = `data:image/webp;base64,${data}`;
    await image.decode();
    const [width, height] = [image.width / 4 | 0, image.height / 4 | 0];
    const context = Object.assign(document.createElement("canvas"), { width, height }).getContext("2d");
    context.imageSmoothingQuality = "high";
    context.drawImage(image, 0, 0, width, height);
    return [width, height, context.getImageData(0, 0, width, height).data];
  };
  const [[width, height, first], [width2, height2, second]] = [await points(one), await points(other)];
  if (width !== width2 || height !== height2) return 1;
  let differ = 0;
  for (let n = 0; n < first.length; n += 4) {
    if ([0, 1, 2].some((part) => Math.abs(first[n + part] - second[n + part]) > 40)) differ += 1;
  }
  return differ / (width * height);
}"""
"""Returns the fraction of points that differ in two pictures, at a quarter of their size: letters may differ slightly.
"""


class PictureComparison(NamedTuple):
    """The pages, a browser for them, and a browser page that compares pictures."""

    shown: Gallery
    browser: Browser
    table: Page


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def comparison(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[PictureComparison]:
    folder = tmp_path_factory.mktemp("gallery")
    async with gallery(folder) as shown, picture_browser(folder) as browser:
        yield PictureComparison(shown, browser, await browser.new_page())


async def difference(comparison: PictureComparison, one: bytes, other: bytes) -> float:
    """Return the fraction of points that differ in two pictures."""
    return float(await comparison.table.evaluate(COMPARE, [base64.b64encode(each).decode() for each in (one, other)]))


async def test_every_page_has_its_picture(comparison: PictureComparison) -> None:
    assert {picture.name for picture in comparison.shown.pictures} == set(NAMES)
    assert all(file.stat().st_size <= LARGEST for file in PICTURES.iterdir())


@pytest.mark.parametrize(
    "name", [name if name in IN_SHORT else pytest.param(name, marks=pytest.mark.soak) for name in NAMES]
)
async def test_a_page_looks_as_in_its_picture(comparison: PictureComparison, name: str) -> None:
    (picture,) = [each for each in comparison.shown.pictures if each.name == name]
    now = await taken(comparison.browser, comparison.shown, picture)
    share = await difference(comparison, now, (PICTURES / f"{name}.webp").read_bytes())
    assert share <= MOST, f"{share:.1%} of {name} differ: look at it, and run make pictures if the change is wanted"


async def test_a_different_page_is_noticed(comparison: PictureComparison) -> None:
    (front,) = [each for each in comparison.shown.pictures if each.name == "front"]
    golden = (PICTURES / "front.webp").read_bytes()
    for changed in (front._replace(scheme="dark"), front._replace(path="/games")):
        assert await difference(comparison, await taken(comparison.browser, comparison.shown, changed), golden) > MOST
