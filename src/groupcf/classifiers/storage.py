"""Keep fitted classifiers in files.

The format is joblib's, which *executes code* from the file when it is read. So a file is only
read when its SHA-256 is the one that :func:`save` returned, or when the caller vouches for it.
"""

from __future__ import annotations

import hashlib
import io
import os
from pathlib import Path

from groupcf.classifiers.classifier import Classifier
from groupcf.errors import ChecksumError, ClassifierError


def save(classifier: Classifier, path: str | Path) -> str:
    """Write a classifier atomically and return the SHA-256 of the file.

    Parameters
    ----------
    classifier : Classifier
    path : str or Path

    Returns
    -------
    str
        To be kept apart from the file, and given to :func:`load`.
    """
    import joblib

    buffer = io.BytesIO()
    joblib.dump(classifier, buffer)
    path = Path(path)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    part.write_bytes(buffer.getvalue())
    part.replace(path)
    return hashlib.sha256(buffer.getvalue()).hexdigest()


def load(path: str | Path, *, sha256: str | None = None, trusted: bool = False) -> Classifier:
    """Read a classifier that :func:`save` wrote.

    Parameters
    ----------
    path : str or Path
    sha256 : str, optional
        What :func:`save` returned.
    trusted : bool
        Read the file although nothing proves where it comes from.

    Raises
    ------
    ClassifierError
        When neither is given, the file is missing, or it holds no classifier.
    ChecksumError
        When the file is not the one that was saved.
    """
    path = Path(path)
    if sha256 is None and not trusted:
        raise ClassifierError(
            f"{path.name}: reading a joblib file executes code from it; give sha256= as returned "
            "by save(), or trusted=True if you know who wrote the file"
        )
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ClassifierError(f"{path.name}: cannot be read ({error.strerror})") from None
    found = hashlib.sha256(content).hexdigest()
    if sha256 is not None and found != sha256:
        raise ChecksumError(
            f"{path.name}: SHA-256 is {found}, expected {sha256}; train the classifier again"
        )
    import joblib

    classifier = joblib.load(io.BytesIO(content))
    if not isinstance(classifier, Classifier):
        raise ClassifierError(f"{path.name}: holds a {type(classifier).__name__}, no Classifier")
    return classifier
