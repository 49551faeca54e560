"""Pages for the tests: results that are written here, a parser of HTML, and a headless Chromium that runs a script."""

import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
NO_BROWSER = "no Chromium here: apt-get install chromium"
OPTIONS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--window-size=1200,800",
    "--host-resolver-rules=MAP * ~NOTFOUND", "--virtual-time-budget=10000",
)  # fmt: skip
AXE = Path(__file__).resolve().parents[2] / "node_modules" / "axe-core" / "axe.min.js"
NO_AXE = "no axe-core here: npm install --no-save axe-core"
POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*/>')
VOID = {"meta", "img", "input", "br"}  # in HTML; in SVG every element is closed


class Parsed(HTMLParser):
    """Elements with their attributes, texts by element name, and whether everything that opens is closed."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[tuple[str, str]] = []
        self.open: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append((self.open[-1] if self.open else "", data))


def in_browser(page: str, script: str, folder: Path, *options: str) -> Any:
    """Open a page in Chromium and run ``script``, the body of an async function; what it returns, through JSON.

    The page's own policy refuses foreign scripts, so it is left out here; ``test_the_policy`` looks at it.
    """
    if CHROMIUM is None:
        pytest.skip(NO_BROWSER)
    driver = (
        "addEventListener('load', () => (async () => {" + script + "})().catch(error => ({ error: String(error) }))"
        ".then(found => { const out = document.createElement('pre'); out.id = 'driven';"
        " out.textContent = JSON.stringify(found); document.body.append(out); }));"
    )
    written = folder / "driven.html"
    written.write_text(POLICY.sub("", page).replace("</body>", f"<script>{driver}</script></body>"))
    command = [CHROMIUM, *OPTIONS, *options, f"--user-data-dir={folder / 'profile'}", "--dump-dom", written.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    found = [text for element, text in texts_of(done.stdout) if element == "driven"]
    assert found, done.stderr[-2000:]
    answer = json.loads("".join(found))
    assert not (isinstance(answer, dict) and "error" in answer), answer
    return answer


def violations(page: str, folder: Path, scheme: str) -> list[Any]:
    """Violations that axe-core finds in a page, light or dark."""
    dark = ("--blink-settings=preferredColorScheme=0",) if scheme == "dark" else ()
    script = (
        AXE.read_text().replace("</script", "<\\/script")
        + """
    const found = await axe.run(document, { resultTypes: ['violations'] });
    return [matchMedia('(prefers-color-scheme: dark)').matches,
            found.violations.map(each => [each.id, each.nodes.slice(0, 3).map(node => node.html.slice(0, 200))])];
    """
    )
    is_dark, found = in_browser(page, script, folder, *dark)
    assert is_dark == (scheme == "dark")
    return list(found)


def texts_of(dom: str) -> list[tuple[str, str]]:
    """The text of the element that the driver appends."""
    from html import unescape

    found = re.search(r'<pre id="driven">(.*?)</pre>', dom, re.DOTALL)
    return [("driven", unescape(found.group(1)))] if found else []
