"""The console against the real api, in Chromium with the CSP on: sign-in, a live Run, its graph, result, history."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from guildhall_api.guard import SECURITY_HEADERS
from playwright.sync_api import Browser, Page, expect
from support.browser import browser_at, missing
from support.installation import ROOT, Installation, one_role_guild, run_manifest
from support.people import effect_of, may_approve, start, told

pytestmark = [pytest.mark.cluster, pytest.mark.browser, pytest.mark.skipif(bool(missing()), reason=missing() or "-")]

HOME = "http://localhost:8080"
SHOTS = ROOT / "artifacts" / "screenshots"


@pytest.fixture(scope="module")
def browser(installation: Installation, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser_at(installation.url, tmp_path_factory.mktemp("browser")) as running:
        yield running


class Watched:
    """What a page said on its console, and where it went."""

    def __init__(self, page: Page) -> None:
        self.said: list[str] = []
        self.went: list[str] = []
        page.on("console", lambda message: self.said.append(message.text))
        page.on("pageerror", lambda error: self.said.append(f"error: {error}"))
        page.on("request", lambda request: self.went.append(request.url))

    @property
    def violations(self) -> list[str]:
        return [text for text in self.said if re.search(r"Content Security Policy|Trusted|^error:", text)]

    @property
    def elsewhere(self) -> set[str]:
        return {url for url in self.went if not url.startswith((HOME, "blob:", "data:"))}


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page whose words and ways are checked at the end."""
    context = browser.new_context(viewport={"width": 1440, "height": 900}, color_scheme="dark", reduced_motion="reduce")
    opened = context.new_page()
    watched = Watched(opened)
    yield opened
    context.close()
    assert not watched.violations, watched.said
    assert watched.elsewhere == set()


def sign_in(page: Page, installation: Installation) -> None:
    """Signs in as a person would: pastes a token."""
    page.goto(f"{HOME}/")
    page.get_by_label(re.compile("token", re.IGNORECASE)).fill(installation.token)
    page.get_by_role("button", name=re.compile("sign in", re.IGNORECASE)).click()
    expect(page.get_by_role("link", name="Watch", exact=True)).to_be_visible()


# Each breaks the policy in one way; what is refused is told as a `securitypolicyviolation`.
BREAKS = """() => new Promise((done) => {
  const refused = [];
  addEventListener("securitypolicyviolation", (event) => {
    refused.push(event.effectiveDirective);
    if (new Set(refused).size === 5) done(refused);
  });
  const script = document.createElement("script");
  script.append("window.taken = true");
  document.body.append(script);
  const image = new Image();
  image.src = "http://192.0.2.1/beacon";
  fetch("http://192.0.2.1/").catch(() => {});
  document.body.setAttribute("style", "opacity: 0");
  try { document.createElement("div").innerHTML = "<b>x</b>"; } catch (error) { refused.push(error.name); }
  setTimeout(() => done(refused), 5000);
})"""
DIRECTIVES = {"require-trusted-types-for", "style-src-attr", "img-src", "connect-src"}


def test_the_policy_is_served_and_what_breaks_it_would_be_seen(browser: Browser, installation: Installation) -> None:
    """Control of what every other test here asserts at its end: that no such word was said."""
    context = browser.new_context()
    opened = context.new_page()
    watched = Watched(opened)
    answer = opened.goto(f"{HOME}/")
    assert answer is not None
    assert answer.header_value("content-security-policy") == SECURITY_HEADERS["Content-Security-Policy"]
    expect(opened.get_by_label(re.compile("token", re.IGNORECASE))).to_be_visible()
    assert not watched.violations
    refused = opened.evaluate(BREAKS)
    assert set(refused) >= DIRECTIVES | {"TypeError"}, refused
    assert opened.evaluate("window.taken") is None
    assert opened.evaluate("document.querySelector('b')") is None
    said = "\n".join(watched.violations)
    assert all(word in said for word in ("TrustedScript", "TrustedHTML", "img-src", "connect-src")), watched.said
    context.close()


def test_a_live_run_is_watched_to_its_result(page: Page, installation: Installation, tmp_path: Path) -> None:
    name = "watched"
    installation.delete("run", name)
    sign_in(page, installation)
    installation.apply(run_manifest(name, guild=one_role_guild("slow", "write_file", "run_shell")))
    installation.wait_run(name, lambda run: run.get("status", {}).get("phase") == "Running", 60)
    page.goto(f"{HOME}/#/runs/{installation.namespace}.{name}")
    graph = page.locator("svg .graph-node")
    expect(graph.first).to_be_visible(timeout=15_000)
    drawn_before = graph.count()
    assert drawn_before >= 4, "human, role and two tools are drawn before they act"
    expect(page.get_by_text("write five.txt").first).to_be_visible(timeout=30_000)
    SHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SHOTS / "watch-live.png")
    visible = page.locator("main").get_by_text
    expect(visible(re.compile("^Succeeded")).first).to_be_visible(timeout=30_000)
    result = page.get_by_role("dialog", name="Result")
    expect(result.get_by_text("Five files were asked for")).to_be_visible()
    expect(result.get_by_text("4 changed files")).to_be_visible()
    assert graph.count() == drawn_before, "nodes are drawn once and stay"
    page.screenshot(path=SHOTS / "watch-done.png")


def test_a_person_answers_and_approves_in_the_console(page: Page, installation: Installation) -> None:
    """What was typed and ticked takes effect; the console shows it when the Run says so."""
    name = "people-console"
    with may_approve(installation):
        start(installation, name)
        sign_in(page, installation)
        page.goto(f"{HOME}/#/runs/{installation.namespace}.{name}")
        page.get_by_role("button", name="Answer").click(timeout=90_000)
        sheet = page.get_by_role("dialog", name="Solo asks")
        expect(sheet.get_by_text("The file has both.")).to_be_visible()
        sheet.get_by_label("Or in your own words").fill("Yes, tabs")
        SHOTS.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=SHOTS / "question.png")
        sheet.get_by_role("button", name="Send").click()
        page.get_by_role("button", name="Review").click(timeout=60_000)
        sheet = page.get_by_role("dialog", name="Solo wants your approval")
        expect(sheet.get_by_text('"command": "echo done >> once.txt; cat once.txt"')).to_be_visible()
        expect(sheet.get_by_role("button", name="Approve once")).to_be_disabled()
        page.screenshot(path=SHOTS / "approval.png")
        sheet.get_by_label("I have read these arguments to the end").check()
        sheet.get_by_role("button", name="Approve once").click()
        expect(page.get_by_role("dialog", name="Result").get_by_text("Tabs it is.")).to_be_visible(timeout=60_000)
    assert effect_of(installation, name) == ["done"]
    assert [event["text"] for event in told(installation, name, "question.answered")] == ["Yes, tabs"]


def test_nothing_is_shown_without_a_sign_in(page: Page) -> None:
    page.goto(f"{HOME}/#/history")
    expect(page.get_by_label(re.compile("token", re.IGNORECASE))).to_be_visible()
    assert page.evaluate("fetch('/api/runs').then(r => r.status)") == 401


def test_a_wrong_token_is_refused_in_words(page: Page) -> None:
    page.goto(f"{HOME}/")
    page.get_by_label(re.compile("token", re.IGNORECASE)).fill("not-a-token")
    page.get_by_role("button", name=re.compile("sign in", re.IGNORECASE)).click()
    expect(page.get_by_role("alert")).to_be_visible()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_history_and_compose(page: Page, installation: Installation, theme: str) -> None:
    page.emulate_media(color_scheme="light" if theme == "light" else "dark")
    sign_in(page, installation)
    page.goto(f"{HOME}/#/history")
    rows = page.get_by_role("listitem").filter(has_text="Succeeded")
    expect(rows.first).to_be_visible(timeout=15_000)
    SHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SHOTS / f"history-{theme}.png")
    page.goto(f"{HOME}/#/compose")
    expect(page.get_by_text("kind: Run").first).to_be_visible(timeout=15_000)
    page.screenshot(path=SHOTS / f"compose-{theme}.png")
