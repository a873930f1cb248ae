"""The catalogue that the import reads: the real register where it is, else a generated file of its shape."""

import csv
import gzip
import os
import random
from pathlib import Path

from benchmarks.databases import ROOT
from benchmarks.measure import SEED

REAL = Path(os.environ.get("PHARMACY_DATA") or ROOT.parent / "shared" / "data") / "catalogue_ca.csv.gz"
MADE = ROOT / "var" / "bench" / f"catalogue_{SEED}.csv.gz"
HUMAN, OTHER = 16_580, 3_228  # as many as the register has

_SYLLABLES = "ra lo mi ven tor pra xi cel dro fen zu bal ta ne sol ril qua mon ty des ar vi pen ol".split()
_ENDINGS = ("ine", "ol", "ide", "ate", "azole", "pril", "statin", "mycin", "one", "am")
_FORMS = (
    ("TABLET", "ORAL"),
    ("CAPSULE", "ORAL"),
    ("SYRUP", "ORAL"),
    ("SOLUTION", "INTRAVENOUS"),
    ("CREAM", "TOPICAL"),
)
_COLUMNS = (
    "din", "class", "brand_name", "ingredients", "strengths", "forms", "routes", "rx_required", "controlled",
    "schedules", "atc", "company", "ingredients_canonical",
)  # fmt: skip


def catalogue_file() -> tuple[Path, str]:
    """Return the file to import and what it is; generates it once when the register is not here."""
    if REAL.exists():
        return REAL, f"the register {REAL.name}"
    if not MADE.exists():
        MADE.parent.mkdir(parents=True, exist_ok=True)
        part = MADE.with_suffix(".part")
        with gzip.open(part, "wt", encoding="utf-8", newline="") as file:
            catalogue_write(file)
        part.replace(MADE)
    return MADE, "generated rows of the register's shape (the register is not here: set PHARMACY_DATA)"


def catalogue_write(file: object) -> None:
    """Write the generated register: 2,400 ingredients, brands that occur several times, some combinations."""
    chance = random.Random(SEED)
    ingredients = sorted({_word(chance) + chance.choice(_ENDINGS) for _ in range(2_500)})
    brands = sorted({_word(chance) for _ in range(5_000)})
    companies = [f"{_word(chance)} pharma inc.".upper() for _ in range(400)]
    writer = csv.writer(file)  # type: ignore[arg-type]
    writer.writerow(_COLUMNS)
    for number in range(HUMAN + OTHER):
        parts = chance.sample(ingredients, chance.choices((1, 2, 3, 6), (80, 13, 5, 2))[0])
        strengths = [f"{chance.choice((1, 2.5, 5, 10, 20, 40, 100, 250, 500))} MG/N" for _ in parts]
        form, route = chance.choice(_FORMS)
        generic = chance.random() < 0.4
        maker = chance.choice(companies)
        brand = f"{maker.split()[0]}-{parts[0]}" if generic else chance.choice(brands)
        rx = chance.random() < 0.7
        row = (
            f"{number + 1:08}", "Human" if number < HUMAN else "Veterinary",
            f"{brand} {strengths[0].removesuffix('/N')}".upper() if chance.random() < 0.3 else brand.upper(),
            "; ".join(parts).upper(), "; ".join(strengths), form, route, str(rx), "",
            "PRESCRIPTION" if rx else "NON-PRESCRIPTION DRUGS",
            f"{chance.choice('ABCGHJLMNRSV')}{chance.randint(1, 16):02}", maker, "; ".join(parts),
        )  # fmt: skip
        writer.writerow(row)


def _word(chance: random.Random) -> str:
    return "".join(chance.choice(_SYLLABLES) for _ in range(chance.randint(2, 4)))
