import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.support.running import Service

EXPECTED = (
    "htmx:",
    "Response Status Error Code 4",
    "Failed to load resource: the server responded with a status of 4",
)
"""Messages in the console that can be ignored, because a request was cancelled or rejected."""
expect.set_options(timeout=20_000)
NO_BROWSER = "there is no Chromium here (apt-get install chromium)"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Start Chromium without a display. You cannot use another event loop at the same time."""
    if (path := shutil.which("chromium")) is None:
        pytest.skip(NO_BROWSER)
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield running
        running.close()


@pytest.fixture
def page(browser: Browser, service: Service) -> Iterator[Page]:
    """Yield a page. If there is an error in the console, the test fails."""
    context = browser.new_context(base_url=service.url, viewport={"width": 1280, "height": 900})
    opened, told = context.new_page(), list[str]()
    opened.on("console", lambda each: told.append(each.text) if each.type in {"error", "warning"} else None)
    opened.on("pageerror", lambda error: told.append(str(error)))
    yield opened
    context.close()
    assert [each for each in told if not each.startswith(EXPECTED)] == []
