"""The report page: complete, self-contained, safe, and readable without its script."""

from __future__ import annotations

import base64
import hashlib
import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import pytest

from groupcf.report.figures import draw, save
from groupcf.report.page import render, write

VOID = {"meta", "link", "img", "br", "hr", "input"}
EVIL = "<script>alert('x')</script>"


class Page(HTMLParser):
    """What a browser would find, and whether every element is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs), f"attribute twice in <{tag}>"
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        for tag in set(self.open):
            self.texts.setdefault(tag, []).append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attrs for name, attrs in self.elements if name == tag]

    def text(self, tag: str = "body") -> str:
        return " ".join(" ".join(self.texts.get(tag, [])).split())


@pytest.fixture
def study():
    return {
        "fig-2.1": {"title": "Boston, ten instances", "chapter": 2, "figure": {"kind": "heatmap"}}
    }


@pytest.fixture
def report(tmp_path: Path, make, unsolved, instances, boston, study):
    """A page of two studies: one solved and drawn, one skipped, and one never run."""
    record = make(
        "k0", instances(10, boston, 1), published={"objective": 2.1264, "n_features": 3},
        note="Charged once.",
    )  # fmt: skip
    for name, figure in draw({"id": "fig-2.1", **study["fig-2.1"]}, [record]).items():
        save(figure, tmp_path / "figures" / "fig-2.1" / name)
    skipped = unsolved("k1", "skipped", study="fig-2.15", title="Students",
                       message="students: not bundled; set GROUPCF_DATA_MIRROR")  # fmt: skip
    never = {"fig-2.16": {"title": "Never run", "chapter": 2, "figure": {"kind": "heatmap"}}}
    return render([record, skipped], tmp_path / "figures", {"studies": study | never})


def test_page_asks_nothing_of_the_network(report: str) -> None:
    page = Page(report)
    for tag, attrs in page.elements:
        for name in ("src", "href", "srcset", "action", "data", "poster"):
            value = attrs.get(name)
            if value is not None:
                assert value.startswith(("data:", "#")), (tag, name, value[:80])
        assert "style" not in attrs  # the content security policy would refuse it
        assert not any(name.startswith("on") for name in attrs)
    style = page.text("style")
    assert "url(" not in style
    assert "@import" not in style


def test_policy_allows_exactly_the_style_and_script_that_are_inside(report: str) -> None:
    (policy,) = (
        m["content"] for m in Page(report).all("meta")
        if m.get("http-equiv") == "Content-Security-Policy"
    )  # fmt: skip
    assert policy is not None
    assert policy.startswith("default-src 'none'; img-src data:;")
    for tag in ("style", "script"):
        (inside,) = re.findall(f"<{tag}>(.*?)</{tag}>", report, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy


def test_every_link_leads_somewhere_and_no_id_repeats(report: str) -> None:
    page = Page(report)
    ids = Counter(a["id"] for _, a in page.elements if "id" in a)
    assert max(ids.values()) == 1
    for link in page.all("a"):
        assert (link["href"] or "")[1:] in ids
    for _, attrs in page.elements:
        if "aria-labelledby" in attrs:
            assert attrs["aria-labelledby"] in ids
    contents = {a["href"] for a in page.all("a")}
    assert {
        "#study-fig-2.1",
        "#study-fig-2.15",
        "#unsolved",
        "#glossary",
        "#machine",
        "#content",
    } <= contents


def test_figures_are_inside_with_caption_and_alternative_text(report: str) -> None:
    page = Page(report)
    (image,) = page.all("img")
    head, _, data = (image["src"] or "").partition(",")
    assert head == "data:image/svg+xml;base64"
    assert base64.b64decode(data).startswith(b"<?xml")
    assert (image["alt"] or "").startswith("Heat map, features down, instances across.")
    assert "of 9 " in (image["alt"] or "")
    assert "Changes, in encoded units" in page.text("figcaption")


def test_page_says_what_was_asked_and_found(report: str) -> None:
    text = Page(report).text("main")
    assert "For 10 instances of Boston housing, find the changes of least cost" in text
    assert "Model CEsep, method: feature search (a linear score)." in text
    for value in ("proven optimal", "2.126358", "0 %", "70 ms", "9 of 10", "✓ yes"):
        assert value in text
    assert "equal to the digits published" in text
    assert "+4 (133 %)" in text
    assert "Charged once." in text
    assert "lower" in Page(report).text("details")
    assert "a processor" in text
    assert "numpy 2.4.0" in text
    assert "abc123" in text
    assert "87.6 %" in text


def test_skipped_and_missing_studies_are_listed_with_reason(report: str) -> None:
    text = Page(report).text("main")
    tail = text[text.index("Skipped and failed") :]
    assert "fig-2.15 Students skipped (1 solve) students: not bundled" in tail
    assert "fig-2.16 Never run no record It has not been run." in tail


def test_a_difference_without_explanation_is_flagged(make, instances, boston, tmp_path) -> None:
    record = make("k", instances(3, boston), published={"n_features": 3}, note="")
    assert "has no recorded explanation" in render([record], tmp_path, {})
    agreeing = make("k", instances(3, boston), published={"objective": 2.1264}, note="")
    assert "has no recorded explanation" not in render([agreeing], tmp_path, {})


def test_long_feature_lists_are_written_once_and_remarks_stand_in_their_row(
    make, unsolved, instances, boston, tmp_path
) -> None:
    frame = instances(20, boston)
    records = [
        unsolved("k1", "infeasible", parameters={"f_max": 1}, message="two are needed"),
        make("k7", frame, parameters={"f_max": 7}, message="not to be repeated"),
        make("k8", frame, parameters={"f_max": 8}),
    ]
    text = Page(render(records, tmp_path, {})).text("table")
    assert text.count("CRIM, ZN, INDUS, CHAS, NOX, RM, AGE") == 1
    assert "7: as for F_max = 7" in text
    assert "two are needed" in text
    assert "not to be repeated" not in text


def test_a_failed_verification_is_an_alert(make, instances, boston, tmp_path) -> None:
    checks = [
        {"name": "valid points", "ok": True, "worst": 0.0, "detail": ""},
        {"name": "original classifier accepts", "ok": False, "worst": 0.2, "detail": "0.3 of 0.5"},
    ]
    record = make("k", instances(3, boston), verified=False,
                  verification={"ok": False, "checks": checks})  # fmt: skip
    page = render([record], tmp_path, {})
    said = "original classifier accepts (0.3 of 0.5)"
    assert page.count(said) == 2
    assert "Answers that failed their verification" in page
    assert "✗ no" in page


def test_texts_from_data_cannot_become_markup(make, unsolved, instances, tmp_path) -> None:
    frame = instances(4, [EVIL, "b\" onload='x'", "{{ 7 * 7 }}"],
                      categories={EVIL: [f"{EVIL}1", "</style><img src=x onerror=x>"]})  # fmt: skip
    records = [
        make(
            "k0", frame, title=EVIL, note=EVIL, message=EVIL, method=EVIL, why=EVIL, commit=EVIL,
            dataset={"name": EVIL, "variant": EVIL, "sha256": EVIL, "source": EVIL,
                     "notes": [EVIL], "rows": 4},
            parameters={EVIL: EVIL}, published={"features": [EVIL], "note": EVIL},
            host={EVIL: EVIL}, versions={EVIL: EVIL}, model=EVIL, status="feasible",
            classifier={"name": EVIL, "sha256": EVIL}, started=EVIL,
        ),
        unsolved("k1", "failed", study="fig-9", message=EVIL, title=EVIL),
    ]  # fmt: skip
    study = {"title": EVIL, "figure": {"kind": "heatmap", "caption": EVIL}}
    for name, figure in draw({"id": "fig-2.1", **study}, records[:1]).items():
        save(figure, tmp_path / "figures" / "fig-2.1" / name)
    text = render(records, tmp_path / "figures", {"studies": {"fig-2.1": study}})
    page = Page(text)
    assert text.count("<script>") == 1
    assert len(page.all("img")) == 1
    assert not any(k.startswith("on") for _, a in page.elements for k in a)
    assert "alert('x')" not in page.text("script")
    assert EVIL in page.text("main")
    assert "{{ 7 * 7 }}" in page.text("main")
    # a figure is markup too, and it holds feature names
    svg = (tmp_path / "figures" / "fig-2.1" / "fig-2.1.svg").read_text()
    assert "<script" not in svg


def test_the_same_records_give_the_same_page(make, instances, boston, tmp_path, study) -> None:
    record = make("k0", instances(10, boston))
    assert render([record], tmp_path, {"studies": study}) == render(
        [record], tmp_path, {"studies": study}
    )


def test_no_figures_and_no_records_make_a_page_all_the_same(
    make, instances, boston, tmp_path, study
) -> None:
    assert not Page(render([make("k0", instances(3, boston))], tmp_path / "no", {})).all("img")
    empty = Page(render([], tmp_path / "no", {"studies": study}))
    assert "It has not been run." in empty.text("main")
    assert "0 solves in 0 studies" in Page(render([], tmp_path / "no", {})).text("header")


def test_heavy_figures_are_shown_as_pixels(make, instances, boston, tmp_path, study) -> None:
    record = make("k0", instances(3, boston))
    home = tmp_path / "figures" / "fig-2.1"
    for name, figure in draw({"id": "fig-2.1", **study["fig-2.1"]}, [record]).items():
        save(figure, home / name)
    with (home / "fig-2.1.svg").open("a") as svg:
        svg.write(" " * 300_000)
    (image,) = Page(render([record], tmp_path / "figures", {"studies": study})).all("img")
    assert (image["src"] or "").startswith("data:image/png;base64,")


def test_write_replaces_the_page_in_one_step(make, instances, boston, tmp_path) -> None:
    out = tmp_path / "results" / "report.html"
    write([make("k0", instances(3, boston))], tmp_path, out, {})
    first = out.read_text(encoding="utf-8")
    assert first.startswith("<!doctype html>")
    write([], tmp_path, out, {})
    assert out.read_text(encoding="utf-8") != first
    assert [p.name for p in out.parent.iterdir()] == ["report.html"]
