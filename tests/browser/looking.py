"""Check a page in one of its states: axe finds nothing, and nothing is wider than the window."""

import os
import re
from collections.abc import Callable
from pathlib import Path
from zlib import crc32

import pytest
from axe_playwright_python.base import AxeResults
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page
from sampling import sampled

AXE = {
    "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
    "resultTypes": ["violations"],
}
NARROW, WIDE = 390, 1280
LOOKS = [("en", WIDE), ("he", NARROW), ("en", NARROW), ("he", WIDE)]
"""Languages and widths of the window."""
# An icon is shown as a word until its font is loaded.
_FONTS = "Promise.all([...document.fonts].map((font) => font.load())).then(() => true)"


def in_each_look(test: Callable[..., None]) -> Callable[..., None]:
    """Run a test in each language and width in CI, and elsewhere in one of them, which its name decides."""
    looks = sampled(LOOKS, one_in=len(LOOKS), start=crc32(test.__name__.encode()))
    mark: Callable[[Callable[..., None]], Callable[..., None]] = pytest.mark.parametrize(
        ("lang", "width"), looks
    )
    return mark(test)


def check_page(page: Page, state: str, *, full_page: bool = False) -> None:
    """Fail if the page has a problem in this state; screenshots go to the folder that LOOK names."""
    assert page.viewport_size
    width = page.viewport_size["width"]
    page.evaluate(_FONTS)
    if folder := os.environ.get("LOOK"):
        test = re.sub(r"\W+", "-", os.environ["PYTEST_CURRENT_TEST"].split("::")[-1].removesuffix(" (call)"))
        page.screenshot(path=Path(folder, f"{test}-{state}-{width}.png"), full_page=full_page)
    if page.evaluate("typeof axe") == "undefined":
        page.evaluate(Axe().axe_script)
    # The violations alone: with all that passed, an answer has 60 KB.
    found = AxeResults(
        page.evaluate("options => axe.run(options).then(({violations}) => ({violations}))", AXE)
    )
    assert found.violations_count == 0, f"{state}, {width}: {found.generate_report()}"
    assert page.evaluate("document.documentElement.scrollWidth") <= width, f"{state}, {width}"
