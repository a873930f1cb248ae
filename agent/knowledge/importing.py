"""Import entries of one role from a file and publish them; importing the same file again changes nothing.

CSV has the specification's columns: DEMUC, CHU_DE_CON or CHUDECON, MASO or STT, CAUHOI, CAUTRALOI, GIAITHICH, and if it likes
`source` and `language`. JSON lines may instead have id, question, answer, qtype, focus, source and url, as MedQuAD does. A row that
is blank or repeats an id is left out and named with its line; anything else that is wrong refuses the whole file. YAML is what
`fixtures/knowledge` has: entries in several languages, and other wordings of their questions in `wordings/`.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from django.core.exceptions import ValidationError
from django.db import transaction
from yaml import YAMLError

from agent.knowledge.languages import language_recognised
from agent.knowledge.roles import language_check, role_check
from agent.knowledge.services import entries_publish
from agent.models import KnowledgeEntry
from agent.models.knowledge import TEXT_FIELDS
from inventory.import_reading import Problem, Row, RowFile, rows_check
from pharmacy_site.lib.importing import ImportRefused, Progress, quiet
from pharmacy_site.lib.text import clean
from pharmacy_site.lib.yaml_files import yaml_read

ACTOR: Final = "system:import"
_BATCH: Final = 500
_SPELLINGS: Final[Mapping[str, tuple[str, ...]]] = {
    "demuc": ("DEMUC", "topic", "qtype"),
    "chu_de_con": ("CHU_DE_CON", "CHUDECON", "subtopic", "focus"),
    "entry_id": ("MASO", "STT", "id"),
    "question": ("CAUHOI", "question"),
    "asked_as": ("asked_as",),
    "answer": ("CAUTRALOI", "answer"),
    "explanation": ("GIAITHICH", "explanation"),
    "source": ("source", "NGUON"),
    "language": ("language",),
}
_NEEDED: Final = ("demuc", "entry_id", "question", "answer")


@dataclass
class ImportReport:
    """What an import did, and the rows that it left out, with their lines."""

    created: int = 0
    updated: int = 0
    unchanged: int = 0
    edited: int = 0
    """Entries that staff changed since; theirs stays."""
    left_out: list[Problem] = field(default_factory=list)

    def __str__(self) -> str:
        lines = [f"{self.created} created, {self.updated} updated, {self.unchanged} unchanged"]
        if self.edited:
            lines[0] += f", {self.edited} left as staff edited them"
        if self.left_out:
            lines[0] += f", {len(self.left_out)} left out:"
            lines += [str(problem) for problem in self.left_out]
        return "\n".join(lines)


def knowledge_import(
    path: Path,
    *,
    role: str,
    language: str = "",
    source: str = "",
    draft: bool = False,
    dry_run: bool = False,
    progress: Progress = quiet,
) -> ImportReport:
    """Create and update the entries of a role, and publish them unless they are to be drafts; ImportRefused if it cannot.

    `language` and `source` are for files without such a column; without them the language is recognised by the letters
    and the source is the file's name.
    """
    report = ImportReport()
    entries = _read(path, role, language, source, report, progress)
    with transaction.atomic():
        _write(entries, report, draft, progress)
        if dry_run:
            transaction.set_rollback(True)
    return report


def entries_read(path: Path, *, role: str, language: str = "", source: str = "") -> list[KnowledgeEntry]:
    """Return the entries of a file, unsaved. Raises ImportRefused."""
    return _read(path, role, language, source, ImportReport(), quiet)


def _read(
    path: Path, role: str, language: str, source: str, report: ImportReport, progress: Progress
) -> list[KnowledgeEntry]:
    """Return the file's entries; rows that are left out go into the report."""
    _check_name(role_check, role)
    if language:
        _check_name(language_check, language)
    if path.suffix in (".yaml", ".yml"):
        return list(_read_yaml(path, role))
    file = RowFile(path, ())
    entries: dict[tuple[str, str], KnowledgeEntry] = {}
    lines: dict[tuple[str, str], int] = {}
    guessed = language or _language_of_file(file)
    fallback = source or path.name.split(".")[0]

    def check(row: Row) -> Iterator[str]:
        if missing := [name for name in _NEEDED if not any(each in row.values for each in _SPELLINGS[name])]:
            yield f"missing column: {', '.join('/'.join(_SPELLINGS[name]) for name in missing)}"
            return
        values = _values(row.values, guessed, fallback)
        if blank := [name for name in _NEEDED if not values[name]]:
            report.left_out.append(Problem(row.line, f"blank: {', '.join(blank)}"))
            return
        key = values["language"], values["entry_id"]
        first = lines.setdefault(key, row.line)
        if first != row.line:
            report.left_out.append(Problem(row.line, f"the id {key[1]} stands on line {first} already"))
            return
        entries[key] = KnowledgeEntry(role=role, changed_by=ACTOR, **values)
        yield from _problems(entries[key])

    rows_check(file, check, progress)
    return list(entries.values())


def _read_yaml(path: Path, role: str) -> Iterator[KnowledgeEntry]:
    """Yield the entries of a YAML list of {id, topic, subtopic, source, en: {question, answer, explanation}, he: {…}}.

    Other wordings of the questions are in a file of the same name in the folder `wordings` beside it, if there is one.
    """
    try:
        items = yaml_read(path)
        asked_as = wordings_read(path)
        for place, item in enumerate(items, start=1):
            common = {
                "demuc": item["topic"],
                "chu_de_con": item.get("subtopic", ""),
                "source": item["source"],
            }
            for language, text in item.items():
                if not isinstance(text, dict):
                    continue
                entry = KnowledgeEntry(
                    role=role,
                    language=language,
                    entry_id=item["id"],
                    asked_as="\n".join(asked_as.get(item["id"], {}).get(language, ())),
                    changed_by=ACTOR,
                    **common,
                    **text,
                )
                if problems := list(_problems(entry)):
                    raise ImportRefused([f"entry {place}: {problem}" for problem in problems])
                yield entry
    except (OSError, UnicodeDecodeError, YAMLError) as error:
        raise ImportRefused([f"{path.name}: {error}"]) from None
    except (KeyError, TypeError, AttributeError) as error:
        raise ImportRefused([f"{path.name}: an entry lacks or has too much of something: {error}"]) from None


def wordings_read(path: Path) -> Mapping[str, Mapping[str, list[str]]]:
    """Return the other wordings of the questions of a YAML file of entries, by id and language."""
    beside = path.parent / "wordings" / path.name
    return yaml_read(beside) if beside.exists() else {}


def _problems(entry: KnowledgeEntry) -> Iterator[str]:
    try:
        entry.clean_fields(exclude=["live", "state"])
        language_check(entry.language)
    except ValidationError as error:
        yield "; ".join(error.messages)


def _write(entries: list[KnowledgeEntry], report: ImportReport, draft: bool, progress: Progress) -> None:
    """Create entries that are new, and change those whose text differs and that no member of staff has changed."""
    for start in range(0, len(entries), _BATCH):
        batch = entries[start : start + _BATCH]
        known = {
            (row.language, row.entry_id): row
            for row in KnowledgeEntry.objects.filter(
                role=batch[0].role, entry_id__in=[entry.entry_id for entry in batch]
            )
        }
        new = [entry for entry in batch if (entry.language, entry.entry_id) not in known]
        changed = []
        for entry in batch:
            row = known.get((entry.language, entry.entry_id))
            if row is None:
                continue
            if all(getattr(row, name) == clean(getattr(entry, name)) for name in TEXT_FIELDS):
                report.unchanged += 1
            elif row.changed_by.startswith("user:"):
                report.edited += 1
            else:
                for name in TEXT_FIELDS:
                    setattr(row, name, getattr(entry, name))
                row.state, row.changed_by = KnowledgeEntry.State.DRAFT, ACTOR
                changed.append(row)
        report.created += len(new)
        report.updated += len(changed)
        KnowledgeEntry.objects.bulk_create(new)
        KnowledgeEntry.objects.bulk_update(changed, [*TEXT_FIELDS, "state", "changed_by"], batch_size=100)
        if not draft:
            entries_publish(entries=[*new, *changed], actor=ACTOR)
        progress("writing", min(1.0, (start + _BATCH) / len(entries)))


def _values(row: Mapping[str, str], language: str, source: str) -> dict[str, Any]:
    """Return the fields of an entry, each from whichever column the file has for it."""
    values = {
        name: clean(next((row[spelling] for spelling in spellings if spelling in row), ""))
        for name, spellings in _SPELLINGS.items()
    }
    for name in ("demuc", "chu_de_con", "entry_id", "question", "source", "language"):
        values[name] = values[name].replace("\n", " ")
    # MedQuAD numbers the questions of each of its sources from the beginning.
    if values["source"] and row.get("url") and values["entry_id"]:
        values["entry_id"] = f"{values['source']}:{values['entry_id']}"
        values["source"] = f"{values['source']}: {row['url'].strip()}"
    values["source"] = values["source"] or source
    values["language"] = values["language"] or language
    return values


def _language_of_file(file: RowFile) -> str:
    """Return the language of most of the first questions: by Vietnamese and Hebrew letters, else English."""
    found: Counter[str] = Counter()
    for row in file:
        if isinstance(row, Row):
            text = _values(row.values, "", "")["question"]
            found[language_recognised(text)] += 1
        if found.total() >= 100:
            break
    return found.most_common(1)[0][0] if found else "en"


def _check_name(check: Any, value: str) -> None:
    try:
        check(value)
    except ValidationError as error:
        raise ImportRefused(error.messages) from None
