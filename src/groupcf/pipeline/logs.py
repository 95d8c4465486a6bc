"""Logs of workflow jobs: messages and tracebacks go to the rule's log file."""

from __future__ import annotations

import logging
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from groupcf.errors import GroupcfError


@contextmanager
def logged(path: str) -> Iterator[None]:
    """Log to a file; a failure ends the job with one line on stderr, details in the log."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    handler = logging.FileHandler(target, mode="w", encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    logger = logging.getLogger("groupcf")
    logger.setLevel(logging.INFO)
    logger.addHandler(handler)
    try:
        yield
    except Exception as error:
        logger.error("%s", traceback.format_exc())
        said = str(error) if isinstance(error, GroupcfError) else f"{type(error).__name__}: {error}"
        print(f"groupcf: {said} (log: {path})", file=sys.stderr)
        sys.exit(1)
    finally:
        logger.removeHandler(handler)
        handler.close()
