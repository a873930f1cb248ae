"""Check a page in one of its states: axe finds nothing, and nothing is wider than the window."""

import os
import re
from pathlib import Path

import pytest
from axe_playwright_python.base import AxeResults
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page
from served_site import IN_CI

AXE = {
    "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
    "resultTypes": ["violations"],
}
NARROW, WIDE = 390, 1280
LOOKS = (
    [("en", WIDE), ("he", NARROW), ("en", NARROW), ("he", WIDE)] if IN_CI else [("en", WIDE), ("he", NARROW)]
)
"""Languages and widths of the window: all in CI, and elsewhere each language and each width once."""
in_each_look = pytest.mark.parametrize(("lang", "width"), LOOKS)
# An icon is shown as a word until its font is loaded.
_FONTS = "Promise.all([...document.fonts].map((font) => font.load())).then(() => true)"


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
