"""Check a page in one of its states: axe finds nothing, and nothing is wider than the window."""

import os
import re
from collections.abc import Sequence
from pathlib import Path

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, ViewportSize

AXE = {
    "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
    "resultTypes": ["violations"],
}
NARROW, WIDE = 390, 1280
BOTH = (NARROW, WIDE)
# A long flow is clicked through twice, in English at 390 px and in Hebrew at 1280 px; its states are checked at both widths.
FLOWS = [("en", NARROW), ("he", WIDE)]
# An icon is shown as a word until its font is loaded.
_FONTS = "Promise.all([...document.fonts].map((font) => font.load())).then(() => true)"


def check_page(page: Page, state: str, *, widths: Sequence[int] = BOTH, full_page: bool = False) -> None:
    """Fail if the page has a problem at its own width or at one of `widths`; screenshots go to the folder that LOOK names."""
    own = page.viewport_size
    assert own
    page.evaluate(_FONTS)
    for width in [*(width for width in widths if width != own["width"]), own["width"]]:
        page.set_viewport_size(ViewportSize(width=width, height=own["height"]))
        if folder := os.environ.get("LOOK"):
            lang = page.evaluate("document.documentElement.lang")
            test = re.sub(
                r"\W+", "-", os.environ["PYTEST_CURRENT_TEST"].split("::")[-1].removesuffix(" (call)")
            )
            page.screenshot(path=Path(folder, f"{test}-{state}-{lang}-{width}.png"), full_page=full_page)
        result = Axe().run(page, options=AXE)
        assert result.violations_count == 0, f"{state}, {width}: {result.generate_report()}"
        assert page.evaluate("document.documentElement.scrollWidth") <= width, f"{state}, {width}"
