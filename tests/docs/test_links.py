"""Links between the repository's pages lead to files and headings that are there."""

from pathlib import Path

import pytest

from tools.site import links


@pytest.mark.parametrize("page", links.pages(), ids=lambda page: str(page.relative_to(links.ROOT)))
def test_links_of_a_page_resolve(page: Path) -> None:
    assert links.broken(page) == []


def test_broken_links_are_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# One heading\n[here](#one-heading) [there](page.md#one-heading) `[code](a.md)` [web](https://a.org/b)\n"
        "[no](none.md) [nor](#two) [folder](./)\n```\n# no heading\n[x](y.md)\n```\n[last](#no-heading)\n"
    )
    assert links.broken(page) == ["none.md", "#two", "#no-heading"]
