"""Airflow's page as a person uses it: every click counts, and each step leaves a picture."""

import re
from collections.abc import Iterable
from pathlib import Path

from playwright.sync_api import Locator, Page, expect

PATIENCE_MS = 120_000
"""On two busy cores a page takes ten seconds and more."""
TICKS = ("force", "accept_unsafe", "accept_expired", "confirm_stopped")
"""Switches of the form, in the order of the tabulator."""
FORM = "streamops_ops"
_IS_IN_VIEW = """pattern => {
    const log = document.querySelector('[data-testid=virtualized-list]');
    const edge = log.parentElement.getBoundingClientRect().right;
    const wanted = new RegExp(pattern);
    const nodes = document.createTreeWalker(log, NodeFilter.SHOW_TEXT);
    while (nodes.nextNode()) {
        const found = wanted.exec(nodes.currentNode.data);
        if (!found) continue;
        const range = document.createRange();
        range.setStart(nodes.currentNode, found.index);
        range.setEnd(nodes.currentNode, found.index + found[0].length);
        if (range.getBoundingClientRect().right <= edge) return true;
    }
    return false;
}"""
"""Whether a text of the log, perhaps on several lines, ends before the right edge of its box."""


class AirflowPage:
    """One tab of a browser. `clicks` counts those of the mouse since the list of DAGs was opened."""

    def __init__(self, page: Page, *, url: str, pictures: Path) -> None:
        self._page = page
        self._url = url
        self._pictures = pictures
        self._pictures.mkdir(parents=True, exist_ok=True)
        self.clicks = 0
        page.set_default_timeout(PATIENCE_MS)
        expect.set_options(timeout=PATIENCE_MS)

    def log_in(self, user: str, password: str) -> None:
        """To the list of DAGs."""
        page = self._page
        page.goto(self._url)
        page.fill("input[name=username]", user)
        page.fill("input[name=password]", password)
        page.click("button[type=submit]")
        page.wait_for_url(lambda url: "/login" not in url)
        self.open_list()

    def open_list(self) -> None:
        """The list of DAGs, where everything begins."""
        self._page.goto(f"{self._url}/dags")
        expect(self._page.get_by_test_id("dag-card").first).to_be_visible()
        self.clicks = 0

    def listed_state(self, dag: str) -> str:
        """What the list shows for a DAG; empty where it has no run."""
        badge = self._card(dag).get_by_test_id("latest-run").get_by_test_id("state-badge")
        return (badge.get_attribute("aria-label") or "") if badge.count() else ""

    def await_listed(self, dag: str, state: str) -> None:
        """Until the list, which renews itself, shows a state."""
        badge = self._card(dag).get_by_test_id("latest-run").get_by_test_id("state-badge")
        expect(badge).to_have_attribute("aria-label", state)

    def open_latest_run(self, dag: str) -> None:
        """From the list to the newest run of a DAG."""
        self._click(self._card(dag).get_by_test_id("latest-run").get_by_role("link").first)

    def open_task(self, task: str) -> None:
        """From a run to one of its tasks, which shows its log."""
        self._click(self._page.locator(f"table a[href$='/tasks/{task}']").first)

    def log_lines(self, *, awaited: str) -> tuple[str, ...]:
        """The lines of the open log from the first one that holds the awaited text, as far as they are on the page."""
        lines = self._page.locator("[data-testid=virtualized-list] [data-index]")
        expect(lines.filter(has_text=awaited).first).to_be_visible()
        return tuple(text.strip() for text in lines.all_inner_texts())

    def is_in_view(self, text: str) -> bool:
        """Whether the open log shows a text without being moved sideways."""
        pattern = r"\s+".join(re.escape(word) for word in text.split())
        return bool(self._page.evaluate(_IS_IN_VIEW, pattern))

    def fill_form(self, *, stream: str, act: str, reason: str, ticks: Iterable[str] = ()) -> None:
        """The form of acts, by keyboard once its first field has the cursor, up to its being sent."""
        self._click(self._card(FORM).get_by_test_id("trigger-dag-button"))
        form = self._page.get_by_role("dialog")
        self._click(form.get_by_role("combobox").first)
        keyboard = self._page.keyboard
        for choice in (stream, act):
            keyboard.type(choice)
            keyboard.press("Enter")
            keyboard.press("Tab")
        keyboard.type(reason)
        for tick in TICKS:
            keyboard.press("Tab")
            if tick in ticks:
                keyboard.press("Space")
        self.picture(f"form {act} {stream}")
        self._click(form.get_by_test_id("trigger-dag-submit"))
        expect(form).to_be_hidden()

    def answer(self, option: str) -> str:
        """From a task that waits for an answer: what was asked, answered."""
        self._click(self._page.get_by_role("link", name="Required Action").first)
        button = self._page.get_by_role("button", name=option, exact=True)
        expect(button).to_be_visible()
        question = self._page.get_by_test_id("main-content").inner_text()
        self.picture(f"before {option}")
        # The buttons stay on the page, so that only Airflow's own answer tells that it has taken this one.
        with self._page.expect_response(
            lambda answer: "/hitlDetails" in answer.url and answer.request.method == "PATCH"
        ):
            self._click(button)
        return question

    def toggle_pause(self, dag: str) -> None:
        """The switch beside a DAG in the list, answered where it asks."""
        self._click(self._card(dag).get_by_test_id("toggle-pause"))
        dialog = self._page.get_by_role("alertdialog").or_(self._page.get_by_role("dialog"))
        if dialog.count():
            self._click(dialog.get_by_role("button", name="Confirm"))

    def picture(self, name: str) -> None:
        """Keep what is to be seen."""
        number = len(list(self._pictures.glob("*.png"))) + 1
        self._page.screenshot(path=self._pictures / f"{number:02d} {name}.png")

    def _card(self, dag: str) -> Locator:
        card = self._page.get_by_test_id("dag-card")
        return card.filter(has=self._page.locator(f'a[href="/dags/{dag}"]'))

    def _click(self, what: Locator) -> None:
        what.click()
        self.clicks += 1
