"""Compare pinned packages with security advisories in the OSV format (https://ossf.github.io/osv-schema/).

The advisories come as a file, since the machine that checks may reach no advisory service. What cannot be read is an error, and
what cannot be decided counts as affected: a version is passed only if the advisory says that it is not affected.
"""

import json
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from pharmacy_site.lib.errors import PharmacyError

ECOSYSTEM: Final = "PyPI"
_EVALUATED: Final = ("ECOSYSTEM", "SEMVER")
_HASH: Final = re.compile(r"\s+--hash=\S+")
_FIRST: Final = Version("0.dev0")
"""What "0" means as the beginning of a range: before every version."""


class Unreadable(PharmacyError):
    """A lock file or a list of advisories that cannot be read whole, or that is empty."""


@dataclass(frozen=True)
class Pin:
    """A package with the version that a lock file pins."""

    name: str
    version: Version


@dataclass(frozen=True)
class Finding:
    """An advisory that affects a pinned package; `fixed` is the first later version without the defect, "" if none is named."""

    pin: Pin
    advisory: str
    aliases: tuple[str, ...]
    fixed: str


@dataclass(frozen=True)
class Advisories:
    """Advisories of PyPI that are in force, by the normalised name of the package; `newest` is when one was last changed."""

    by_package: Mapping[str, list[Mapping[str, Any]]]
    count: int
    newest: str


# -- Lock files ---------------------------------------------------------------------------------------------
def pins_read(path: Path) -> list[Pin]:
    """Return what a lock file with hashes pins, also for other systems than this one. Raises Unreadable."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Unreadable(f"{path}: {error}") from None
    lines = re.sub(r"^\s*#.*$", "", text, flags=re.MULTILINE).replace("\\\n", " ").splitlines()
    found = [_pin(path, _HASH.sub("", line).strip()) for line in lines if line.strip()]
    if not found:
        raise Unreadable(f"{path}: pins no package")
    return found


def _pin(path: Path, line: str) -> Pin:
    try:
        read = Requirement(line)
        [pinned] = read.specifier
        if pinned.operator != "==" or pinned.version.endswith(".*"):
            raise ValueError(line)
        return Pin(canonicalize_name(read.name), Version(pinned.version))
    except (InvalidRequirement, InvalidVersion, ValueError):
        raise Unreadable(f"{path}: pins no version: {line}") from None


# -- Advisories ---------------------------------------------------------------------------------------------
def advisories_read(path: Path) -> Advisories:
    """Return the advisories of a file: a zip of OSV records, a JSON list of them, or one record in each line.

    Raises Unreadable when a part cannot be read, and when nothing in it is about PyPI.
    """
    by_package: dict[str, list[Mapping[str, Any]]] = {}
    count, newest = 0, ""
    try:
        for record in _records(path):
            names = _packages(record)
            if record.get("withdrawn") or not names:
                continue
            count += 1
            newest = max(newest, str(record.get("modified", "")))
            for name in names:
                by_package.setdefault(name, []).append(record)
    except (
        OSError,
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        RecursionError,
        zipfile.BadZipFile,
    ) as error:
        raise Unreadable(f"{path}: {type(error).__name__}: {error}") from None
    if not count:
        raise Unreadable(f"{path}: has no advisory about a package of {ECOSYSTEM}")
    return Advisories(by_package, count, newest)


def _records(path: Path) -> Iterator[Mapping[str, Any]]:
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                if name.endswith(".json"):
                    yield json.loads(archive.read(name))
        return
    text = path.read_text(encoding="utf-8")
    try:
        whole = json.loads(text)
    except ValueError:
        for line in filter(str.strip, text.splitlines()):
            yield json.loads(line)
        return
    yield from whole if isinstance(whole, list) else [whole]


def _packages(record: Mapping[str, Any]) -> set[str]:
    """Return the normalised names of the packages of PyPI that a record is about. Raises for what is no record."""
    if not isinstance(record["id"], str) or not record["id"]:
        raise TypeError("an advisory has no id")
    return {_package(affected) for affected in record.get("affected", [])} - {""}


def _package(affected: Mapping[str, Any]) -> str:
    # Git repositories are affected, too; they have no package.
    package = affected.get("package") or {"ecosystem": ""}
    if str(package["ecosystem"]).partition(":")[0] != ECOSYSTEM:
        return ""
    return canonicalize_name(package["name"])


# -- Comparison ---------------------------------------------------------------------------------------------
def findings(pins: Iterable[Pin], advisories: Advisories) -> list[Finding]:
    """Return each advisory that affects one of these packages, sorted by package."""
    found = [
        Finding(pin, record["id"], tuple(record.get("aliases") or ()), _fixed(pin, record))
        for pin in set(pins)
        for record in advisories.by_package.get(pin.name, ())
        if any(_is_affected(pin.version, part) for part in record["affected"] if _package(part) == pin.name)
    ]
    return sorted(found, key=lambda one: (one.pin.name, one.pin.version, one.advisory))


def _is_affected(version: Version, affected: Mapping[str, Any]) -> bool:
    """Return whether a version is among those that are affected, by the algorithm of the OSV schema."""
    try:
        listed = affected.get("versions") or []
        ranges = [one for one in affected.get("ranges") or [] if one["type"] in _EVALUATED]
        if not listed and not ranges:
            # Commits, or nothing: which versions are meant is not said.
            return True
        return any(_is_same(version, text) for text in listed) or any(
            _is_within(version, one["events"]) for one in ranges
        )
    except (InvalidVersion, KeyError, TypeError, AttributeError):
        return True


def _is_same(version: Version, text: str) -> bool:
    try:
        return Version(text) == version
    except InvalidVersion:
        return text == str(version)


def _is_within(version: Version, changes: Iterable[Mapping[str, str]]) -> bool:
    events = sorted((_bound(text), what) for event in changes for what, text in event.items())
    limits = [bound for bound, what in events if what == "limit"]
    if limits and not any(version < limit for limit in limits):
        return False
    within = False
    for bound, what in events:
        if what == "introduced" and version >= bound:
            within = True
        elif (what == "fixed" and version >= bound) or (what == "last_affected" and version > bound):
            within = False
    return within


def _bound(text: str) -> Version:
    return _FIRST if text == "0" else Version(text)


def _fixed(pin: Pin, record: Mapping[str, Any]) -> str:
    """Return the first version behind the pinned one that is named as fixed."""
    later: list[Version] = []
    for affected in record["affected"]:
        # It is only said to people: what cannot be read is not said.
        with suppress(InvalidVersion, KeyError, TypeError, AttributeError):
            ranges = affected["ranges"] if _package(affected) == pin.name else []
            events = [event for one in ranges if one["type"] in _EVALUATED for event in one["events"]]
            fixes = [Version(event["fixed"]) for event in events if "fixed" in event]
            later += [version for version in fixes if version > pin.version]
    return str(min(later)) if later else ""
