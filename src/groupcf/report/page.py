"""One self-contained HTML page of everything that was solved.

The page asks nothing of the network: style, script and figures are inside, and its content
security policy forbids the rest. Texts that come from data (feature names, categories) are
escaped by the template engine.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from groupcf.records import Record
from groupcf.report import panels, sentences, tables, wording
from groupcf.report.methods import cell_table
from groupcf.report.panel import Panel
from groupcf.report.parameters import drawn_with, is_number, label, name_of, varying
from groupcf.report.targets import use_table

TEMPLATES = Path(__file__).parent / "templates"

CHAPTERS = {
    1: "Costs and fairness",
    2: "Group counterfactuals of tabular data",
    3: "Counterfactuals of functional data",
    4: "Counterfactuals in benchmarking",
}
EACH = 40
"""Groups of up to so many instances are told instance by instance."""
SHORT = 3
"""A list of more features than this is not written twice in a table."""
HEAVY = 250_000
"""An SVG file of more bytes than this is shown as PNG."""


def write(
    records: Sequence[Record], figures_dir: Path, out: Path, context: Mapping[str, Any]
) -> None:
    """Write the report.

    Parameters
    ----------
    records : sequence of Record
    figures_dir : Path
        Figures as ``<study>/<name>.svg`` and ``.png``, drawn by
        :func:`groupcf.report.figures.draw`. A figure that is not there is left out.
    out : Path
        The HTML file; replaced in one step.
    context : mapping
        "studies": id -> study of the configuration (title, figure, ...). Studies that only
        occur in records are shown without figures; studies without records as not solved.
    """
    page = render(records, figures_dir, context)
    out.parent.mkdir(parents=True, exist_ok=True)
    part = out.with_name(f".{out.name}.part")
    part.write_text(page, encoding="utf-8")
    part.replace(out)


def render(records: Sequence[Record], figures_dir: Path, context: Mapping[str, Any]) -> str:
    """Return the report as HTML text; parameters as for :func:`write`."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    style = (TEMPLATES / "page.css").read_text(encoding="utf-8")
    script = (TEMPLATES / "page.js").read_text(encoding="utf-8")
    configured: Mapping[str, Mapping[str, Any]] = context.get("studies") or {}
    grouped: dict[str, list[Record]] = {name: [] for name in configured}
    for record in records:
        grouped.setdefault(record.study, []).append(record)
    names = sorted(grouped, key=tables.natural)
    studies = [_study(n, grouped, configured.get(n) or {}, figures_dir) for n in names]
    return environment.get_template("page.html.j2").render(
        style=style,
        script=script,
        style_hash=_hash(style),
        script_hash=_hash(script),
        overview=_overview(records, studies),
        chapters=_chapters(studies),
        unsolved=[u for s in studies for u in s["unsolved"]],
        machine=_machine(records),
        datasets=_datasets(records),
        classifiers=_classifiers(records),
    )


def _study(
    name: str,
    grouped: Mapping[str, Sequence[Record]],
    study: Mapping[str, Any],
    figures_dir: Path,
) -> dict[str, Any]:
    records = grouped[name]
    beside = [r for other in drawn_with(study) for r in grouped.get(other, ())]
    solved = [r for r in records if r.status not in ("skipped", "failed")]
    title = str(study.get("title") or next((r.title for r in records if r.title), name))
    chapter = int(study.get("chapter") or next((r.chapter for r in records if r.chapter), 0))
    shown = panels.plan({"id": name, **study}, [*records, *beside])
    compared = tables.comparison(solved).to_dict("records")
    return {
        "id": name,
        "title": title,
        "chapter": chapter,
        "question": sentences.question(solved or records),
        "method": sorted({_method(r) for r in solved if r.method}),
        "by_classifier": len({name_of(r.classifier) for r in solved}) > 1,
        "setting": _setting(solved),
        "checks": _distinct(
            check["name"] for r in solved for check in r.verification.get("checks", ())
        ),
        "rows": _rows(solved),
        "published": compared,
        "table": cell_table(solved) or use_table(solved),
        "figures": [f for p in shown if (f := _figure(p, figures_dir / name)) is not None],
        "words": [w for r in solved if (w := _words(r, solved)) is not None],
        "notes": _notes(solved, compared),
        "broken": [
            f"{label(r, solved)}: {check['name']} ({check['detail']})"
            for r in solved
            for check in r.verification.get("checks", ())
            if r.verified is False and not check["ok"]
        ],
        "unsolved": _unsolved(name, title, records),
    }


def _method(record: Record) -> str:
    model = f"Model {record.model}, method: " if record.model else "Method: "
    return f"{model}{record.method}{f' ({record.why})' if record.why else ''}."


def _notes(records: Sequence[Record], compared: Sequence[Mapping[Any, Any]]) -> list[str]:
    """Return the notes of a study, and say which differences have none."""
    notes = _distinct(
        text
        for r in records
        for text in (r.note, str((r.published or {}).get("note") or ""))
        if text
    )
    if any(row["agrees"] == "no" and not row["note"] for row in compared):
        notes.append("The difference from the published value has no recorded explanation.")
    return notes


def _setting(records: Sequence[Record]) -> str:
    """Return the head of the settings column; empty when nothing varies."""
    names = varying(records)
    return wording.symbol(names[0]) if len(names) == 1 else "setting" if names else ""


def _rows(records: Sequence[Record]) -> list[dict[str, Any]]:
    """Return the table of solves; a long list of features is written out once."""
    rows = []
    first: dict[tuple[str, ...], Record] = {}
    for record in records:
        features = tuple(record.changed_features)
        changed = ", ".join(features)
        if len(features) > SHORT and first.setdefault(features, record) is not record:
            twin = first[features]
            own = {name: twin.parameters.get(name) for name in varying(records)}
            alone = name_of(twin.classifier) == name_of(record.classifier) and own
            changed = f"as for {wording.settings(own) if alone else label(twin, records)}"
        rows.append(_row(record, records) | {"changed": changed})
    return rows


def _row(record: Record, among: Sequence[Record]) -> dict[str, Any]:
    own = {name: record.parameters.get(name) for name in varying(among)}
    single = next(iter(own.values())) if len(own) == 1 else None
    return {
        "classifier": wording.classifier(name_of(record.classifier)),
        "settings": wording.settings(own) if single is None else wording.value_of(single),
        "settings_order": _order(single) if is_number(single) else "",
        "status": record.status,
        "outcome": wording.status(record.status),
        "objective": wording.number(record.objective, 7),
        "objective_order": _order(record.objective),
        "bound": wording.number(record.bound, 7),
        "bound_order": _order(record.bound),
        "gap": wording.percent(record.gap),
        "gap_order": _order(record.gap),
        "seconds": wording.seconds(record.seconds),
        "seconds_order": _order(record.seconds),
        "n_changed": len(record.changed_features) if record.objective is not None else "",
        "message": "" if record.status == "optimal" else record.message,
        "accepted": "–"
        if record.n_flipped is None
        else f"{record.n_flipped} of {record.n_instances}",
        "verified": {None: "–", True: "✓ yes", False: "✗ no"}[record.verified],
    }


def _order(value: float | None) -> str:
    """Return a number as sort key for the script; empty sorts last."""
    return "" if value is None else repr(float(value))


def _figure(panel: Panel, directory: Path) -> dict[str, str] | None:
    vector, pixels = (directory / f"{panel.name}.{form}" for form in ("svg", "png"))
    if vector.is_file() and (vector.stat().st_size <= HEAVY or not pixels.is_file()):
        path, kind = vector, "image/svg+xml"
    elif pixels.is_file():
        path, kind = pixels, "image/png"
    else:
        return None
    data = base64.b64encode(path.read_bytes()).decode("ascii")
    return {
        "name": panel.name,
        "uri": f"data:{kind};base64,{data}",
        "title": panel.title,
        "caption": panel.caption,
        "alt": panel.alt,
    }


def _words(record: Record, among: Sequence[Record]) -> dict[str, Any] | None:
    curves = record.details.get("prototypes_used") is not None
    if record.n_instances is None or record.n_instances > EACH or curves:
        return None
    changes = panels.changes_of(record)
    if changes is None:
        return None
    return {
        "title": label(record, among),
        "instances": [
            (label, sentences.instance(changes, i)) for i, label in enumerate(changes.rows)
        ],
    }


def _unsolved(name: str, title: str, records: Sequence[Record]) -> list[dict[str, str]]:
    """Return what a study did not solve, one entry for each reason."""
    if not records:
        return [{"id": name, "title": title, "how": "no record", "why": "It has not been run."}]
    reasons: dict[tuple[str, str], int] = {}
    for r in records:
        if r.status in ("skipped", "failed", "crashed", "interrupted"):
            reasons[r.status, r.message] = reasons.get((r.status, r.message), 0) + 1
    return [
        {
            "id": name,
            "title": title,
            "how": f"{wording.status(status)} ({wording.count(n, 'solve')})",
            "why": why or "no reason given",
        }
        for (status, why), n in reasons.items()
    ]


def _overview(records: Sequence[Record], studies: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    checked = [r for r in records if r.verified is not None]
    compared = [row for s in studies for row in s["published"] if row["agrees"]]
    return {
        "studies": len(studies),
        "solves": len([r for r in records if r.status not in ("skipped", "failed")]),
        "proven": len([r for r in records if r.status in ("optimal", "infeasible")]),
        "stopped": len([r for r in records if r.status in ("feasible", "no_incumbent")]),
        "checked": len(checked),
        "verified": len([r for r in checked if r.verified]),
        "skipped": len({r.study for r in records if r.status == "skipped"}),
        "failed": len({r.study for r in records if r.status in ("failed", "crashed")}),
        "compared": len(compared),
        "agreeing": len([row for row in compared if row["agrees"] == "yes"]),
        "seconds": wording.seconds(sum(r.seconds or 0.0 for r in records)),
        "broken": [f"{s['id']}: {text}" for s in studies for text in s["broken"]],
    }


def _chapters(studies: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    numbers = sorted({s["chapter"] for s in studies})
    return [
        {
            "number": n,
            "title": CHAPTERS.get(n, ""),
            "studies": [s for s in studies if s["chapter"] == n],
        }
        for n in numbers
    ]


def _machine(records: Sequence[Record]) -> dict[str, Any]:
    started = sorted(r.started for r in records if r.started)
    versions: dict[str, list[str]] = {}
    for record in records:
        for package, version in record.versions.items():
            known = versions.setdefault(package, [])
            if version not in known:
                known.append(version)
    return {
        "hosts": _distinct(wording.value_of(r.host) for r in records if r.host),
        "commits": _distinct(r.commit for r in records if r.commit),
        "versions": sorted((k, ", ".join(v)) for k, v in versions.items()),
        "first": _moment(started[0]) if started else "",
        "last": _moment(started[-1]) if started else "",
    }


def _moment(started: str) -> str:
    """Write an ISO time to the minute: "2026-05-04 13:37 UTC"."""
    day, _, clock = started.partition("T")
    return f"{day} {clock[:5]} {'UTC' if clock.endswith('+00:00') else clock[8:]}".rstrip()


def _datasets(records: Sequence[Record]) -> list[dict[str, str]]:
    found = {}
    for r in records:
        if r.dataset and r.dataset.get("sha256"):
            d = r.dataset
            found[str(d["name"]), str(d.get("variant", ""))] = {
                "name": wording.dataset(str(d["name"])),
                "variant": str(d.get("variant", "")),
                "rows": wording.number(d.get("rows")),
                "source": str(d.get("source", "")),
                "notes": " ".join(str(n) for n in d.get("notes", ())),
                "sha256": str(d["sha256"])[:12],
            }
    return [found[k] for k in sorted(found)]


def _classifiers(records: Sequence[Record]) -> list[dict[str, str]]:
    found = {}
    for r in records:
        if r.dataset and r.classifier and r.classifier.get("sha256"):
            c = r.classifier
            found[str(r.dataset["name"]), str(c["name"]), str(c["sha256"])] = {
                "dataset": wording.dataset(str(r.dataset["name"])),
                "name": wording.classifier(str(c["name"])),
                "train": wording.percent(c.get("accuracy_train"), 3),
                "test": wording.percent(c.get("accuracy_test"), 3),
                "sha256": str(c["sha256"])[:12],
            }
    return [found[k] for k in sorted(found)]


def _distinct(values: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(values))


def _hash(text: str) -> str:
    """Return the source expression that a content security policy knows a text by."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")
