"""Windows that the tests of a module share: a page of one costs less than half of one in a new window."""

import httpx
from playwright.sync_api import Browser, Page, ViewportSize, expect
from served_pharmacy import Staff


class SharedWindow:
    """A window that the tests of a module use one after the other, emptied before each.

    Its process already runs and has loaded the scripts.
    """

    def __init__(self, browser: Browser, base: str) -> None:
        self.context = browser.new_context(reduced_motion="reduce")
        self._first = self.context.new_page()  # stays open, and with it the process
        self._first.goto(f"{base}/healthz")
        self._protocol = self.context.new_cdp_session(self._first)

    def new_page(self, base: str) -> Page:
        """A page of a window in which this site was never opened; those of a test that failed are closed."""
        self.close_pages()
        self.context.clear_cookies()
        self._protocol.send("Storage.clearDataForOrigin", {"origin": base, "storageTypes": "all"})
        return self.context.new_page()

    def close_pages(self) -> None:
        for page in self.context.pages:
            if page is not self._first:
                page.close()


class StaffWindows:
    """Windows of a site's staff. Each person signs in once for all tests of a module; test_staff_access.py tests signing in.

    What the site remembers of a session, such as a password that was typed again, stays from test to test.
    """

    def __init__(self, browser: Browser, url: str, password: str) -> None:
        self._browser, self._url, self._password = browser, url, password
        self._shared = SharedWindow(browser, url)
        self._sessions: dict[str, str] = {}
        self._pages: list[Page] = []
        self._problems: list[str] = []

    def open(self, path: str, name: str, lang: str, width: int) -> Page:
        """Open a page as one of the staff; a second one of the same test gets a window of its own."""
        page = (
            self._browser.new_context(reduced_motion="reduce").new_page()
            if self._pages
            else self._shared.new_page(self._url)
        )
        self._pages.append(page)
        cookies = {"django_language": lang, "sessionid": self._session(name)}
        page.context.add_cookies(
            [{"name": cookie, "value": value, "url": self._url} for cookie, value in cookies.items()]
        )
        page.set_viewport_size(ViewportSize(width=width, height=900))
        page.on("pageerror", lambda error: self._problems.append(str(error)))
        page.on(
            "console",
            lambda message: self._problems.append(message.text) if message.type == "error" else None,
        )
        page.goto(self._url + path)
        expect(page.locator(".desk, .refill")).to_be_visible(timeout=15_000)
        return page

    def leave(self) -> None:
        """Close the pages of a test, and fail it if one of them had a problem."""
        for page in self._pages:
            if page.context is not self._shared.context:
                page.context.close()
        self._shared.close_pages()
        problems, self._problems, self._pages = self._problems, [], []
        assert problems == []

    def _session(self, name: str) -> str:
        if name not in self._sessions:
            with httpx.Client(base_url=self._url, follow_redirects=True, timeout=30) as web:
                Staff(web, name, self._password)
                assert "sessionid" in web.cookies, f"{name} was not signed in"
                self._sessions[name] = web.cookies["sessionid"]
        return self._sessions[name]
