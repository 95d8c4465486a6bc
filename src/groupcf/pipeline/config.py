"""Configuration: validation, studies, and the solves that a study expands to."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any

import yaml

from groupcf.errors import ConfigError

SCHEMAS = Path("workflow/schemas")
TEST_SHARE = 0.33
"""Share of test rows in the published one-for-one studies."""
GROUPS = ("predicted_negative", "test_rows")
"""Groups of instances that need no list: all rows that the classifier rejects, and the test
rows as they come."""


def canonical(value: Any) -> str:
    """Return the canonical JSON text of a configuration value."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def digest(value: Any) -> str:
    """Return a short hash of a configuration value."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()[:12]


def validate(value: Any, schema: Mapping[str, Any], origin: str) -> None:
    """Check a configuration against its JSON schema.

    Raises
    ------
    ConfigError
        Naming the file, the key and what is wrong with it.
    """
    from jsonschema import Draft202012Validator

    errors = sorted(Draft202012Validator(schema).iter_errors(value), key=lambda e: list(e.path))
    if errors:
        first = errors[0]
        key = ".".join(map(str, first.absolute_path)) or "(top level)"
        raise ConfigError(f"{origin}, key {key}: {first.message}")


def read_yaml(path: Path) -> Any:
    """Read a YAML file.

    Raises
    ------
    ConfigError
        When the file is missing or is not YAML.
    """
    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such configuration file") from None
    except yaml.YAMLError as error:
        raise ConfigError(f"{path}: not valid YAML ({error})") from error


def load_studies(config: Mapping[str, Any], root: Path = Path()) -> dict[str, dict[str, Any]]:
    """Return all selected studies by id, defaults filled in, instance groups resolved.

    Parameters
    ----------
    config : mapping
        The main configuration (``config/config.yaml``).
    root : Path
        Directory that its paths are relative to.

    Raises
    ------
    ConfigError
        For an invalid study, a repeated id, or a selected id that does not exist.
    """
    schema = read_yaml(root / SCHEMAS / "study.schema.yaml")
    groups = read_yaml(root / config["instances"])
    studies: dict[str, dict[str, Any]] = {}
    for name in config["studies"]:
        for study in read_yaml(root / name) or []:
            label = study.get("id", "?") if isinstance(study, dict) else "?"
            validate(study, schema, f"{name}, study {label}")
            if study["id"] in studies:
                raise ConfigError(f"{name}: study id {study['id']!r} occurs twice")
            studies[study["id"]] = _completed(study, groups, name)
    selected = config.get("only") or list(studies)
    unknown = [s for s in selected if s not in studies]
    if unknown:
        raise ConfigError(f"only: no study {unknown}; studies are {sorted(studies)}")
    return {name: studies[name] for name in studies if name in selected}


def _completed(study: dict[str, Any], groups: Mapping[str, Any], origin: str) -> dict[str, Any]:
    out = {
        "variant": "published",
        "test_share": TEST_SHARE,
        "allocation": {},
        "cost": {},
        "nu": 0.5,
    } | study
    group = out.get("instances")
    if isinstance(group, str) and group not in GROUPS:
        if group not in groups:
            raise ConfigError(
                f"{origin}, study {study['id']}, key instances: {group!r} is none of "
                f"{', '.join([*GROUPS, *groups])}"
            )
        if groups[group]["dataset"] != out["dataset"]:
            raise ConfigError(
                f"{origin}, study {study['id']}, key instances: {group!r} belongs to data set "
                f"{groups[group]['dataset']!r}, not {out['dataset']!r}"
            )
        out["rows"] = groups[group]["rows"]
    elif isinstance(group, list):
        out["rows"] = group
    return out


def solves(study: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the parameters of each solve of a study: classifiers x swept values x methods.

    The classifier of a study without any is "".
    """
    sweep = study.get("sweep", {})
    names = list(sweep)
    for classifier in study.get("classifiers", [""]):
        for values in product(*(sweep[n] for n in names)):
            parameters = {
                **({"nu": study["nu"]} if classifier else {}),
                **study["cost"],
                **study["allocation"],
                **dict(zip(names, values, strict=True)),
            }
            for method in study.get("methods", [None]):
                named = {} if method is None else {"method": method}
                yield {"classifier": classifier, "parameters": parameters | named}


def published_value(study: Mapping[str, Any], solve: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what the dissertation reports for one solve, or None."""
    facts = {"classifier": solve["classifier"], **solve["parameters"]}
    for entry in study.get("published", []):
        when = entry.get("when", {})
        if all(facts.get(k) == v for k, v in when.items()):
            return {k: v for k, v in entry.items() if k != "when"}
    return None


def data_key(study: Mapping[str, Any]) -> str:
    """Return the file stem of a study's data set."""
    return f"{study['dataset']}-{study['variant']}"


def training_key(study: Mapping[str, Any], classifier: str) -> str:
    """Return the file stem of a study's classifier: its data, share of test rows, and name."""
    return f"{data_key(study)}-{round(100 * study['test_share'])}-{classifier}"


def solve_options(config: Mapping[str, Any], study: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a study's solves; timed ones have a limit of their own."""
    limit = config["timing" if study.get("timed") else "solve"]["time_limit"]
    return dict(config["solve"]) | {"time_limit": limit}


def fingerprint(*packages: str) -> str:
    """Return a hash of the source of some sub-packages of groupcf.

    Jobs carry it among their parameters, so that a change of the code that they run makes
    them run again, and no other change does.
    """
    base = Path(__file__).parents[1]
    out = hashlib.sha256()
    for package in sorted(packages):
        path = base / package
        inside = (f for f in path.rglob("*") if f.suffix in (".py", ".j2", ".css", ".js"))
        files = sorted(inside) if path.is_dir() else [path.with_suffix(".py")]
        for file in files:
            out.update(str(file.relative_to(base)).encode())
            out.update(file.read_bytes())
    return out.hexdigest()[:12]


DATA_CODE = ("datasets", "features", "pipeline/data")
CLASSIFIER_CODE = ("classifiers", "features", "pipeline/data", "pipeline/training")
SOLVE_CODE = (
    "classifiers",
    "constraints",
    "costs",
    "exact",
    "features",
    "formulations",
    "problems",
    "router",
    "solution",
    "solvers",
    "verify",
    "pipeline/solving",
    "pipeline/studies",
)
OWN_DATA = {
    "functional": (*SOLVE_CODE, "datasets", "functional"),
    "efficiency_targets": (*SOLVE_CODE, "datasets", "benchmarking"),
}
"""Kinds of studies that bring their own data -> the code that their solves run."""
REPORT_CODE = ("report", "records", "pipeline/reporting")
