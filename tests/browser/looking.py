"""Look at a page in one of its states: nothing that axe finds, and nothing wider than the window."""

import os
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
# A long way through the pages is gone in each language once and at each width once; each state is looked at at both widths.
WAYS = [("en", NARROW), ("he", WIDE)]
# Until its font is there, an icon is a word.
_FONTS = "Promise.all([...document.fonts].map((font) => font.load())).then(() => true)"


def looked_at(page: Page, state: str, *, widths: Sequence[int] = (), full_page: bool = False) -> None:
    """Fail if something is wrong with a page at its own width or one of these; the environment's LOOK is a folder for pictures."""
    own = page.viewport_size
    assert own
    page.evaluate(_FONTS)
    for width in [*(width for width in widths if width != own["width"]), own["width"]]:
        page.set_viewport_size(ViewportSize(width=width, height=own["height"]))
        if folder := os.environ.get("LOOK"):
            lang = page.evaluate("document.documentElement.lang")
            page.screenshot(path=Path(folder, f"{state}-{lang}-{width}.png"), full_page=full_page)
        result = Axe().run(page, options=AXE)
        assert result.violations_count == 0, f"{state}, {width}: {result.generate_report()}"
        assert page.evaluate("document.documentElement.scrollWidth") <= width, f"{state}, {width}"
