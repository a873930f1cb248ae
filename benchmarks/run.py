"""`make bench`: every table on SQLite and on PostgreSQL; prints the tables and writes results/latest.json.

    python benchmarks/run.py [--data-only] [--only NAME] [--on DATABASE] [--connections N …] [--seconds S] [--ramp S]

Each table on each database runs in a process of its own, on databases of its own. Compare figures inside one table of
one run only: the ratios are against baselines that were measured between ours, on the same machine, minutes apart at most.
"""

import argparse
import importlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[0] = str(ROOT)  # run as a file: the project, not this folder

from benchmarks.catalogue_file import catalogue_file  # noqa: E402
from benchmarks.databases import VENDORS, Databases, databases, environment, postgres_absent  # noqa: E402
from benchmarks.measure import SEED, machine, table  # noqa: E402

TABLES = (
    *("tool_http", "chat_turn", "model_turn", "chat_load", "chat_page", "catalogue_import", "refills"),
    *("knowledge_retrieval", "knowledge_flow", "audit_log"),
)
RESULTS = ROOT / "benchmarks" / "results" / "latest.json"


def main() -> None:
    """Run what the arguments name."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-only", action="store_true", help="make the data that is generated, and stop")
    parser.add_argument("--only", choices=TABLES, help="one table")
    parser.add_argument("--on", choices=VENDORS, help="one database")
    load = parser.add_argument_group("chat_load")
    load.add_argument(
        "--connections", nargs="+", metavar="N", help="how many conversations are open at a time"
    )
    load.add_argument("--seconds", help="how long they talk")
    load.add_argument("--ramp", help="seconds in which they open")
    parser.add_argument("--measure", nargs=3, metavar=("VENDOR", "PREFIX", "FOLDER"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    sizes = {"BENCH_CONNECTIONS": options.connections and " ".join(options.connections),
             "BENCH_SECONDS": options.seconds, "BENCH_RAMP": options.ramp}  # fmt: skip
    os.environ.update({name: value for name, value in sizes.items() if value})
    if options.measure:
        vendor, prefix, folder = options.measure
        own = Databases(vendor, Path(folder), prefix)
        print(json.dumps(_module(options.only).measure(own)))
    elif options.data_only:
        path, what = catalogue_file()
        print(f"Catalogue: {what}, {path.stat().st_size:,} bytes")
    else:
        run([options.only] if options.only else list(TABLES), [options.on] if options.on else list(VENDORS))


def run(names: list[str], vendors: list[str]) -> None:
    """Measure and print these tables."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))  # the databases are dropped all the same
    began = time.monotonic()
    facts = machine()
    print("Machine: " + ", ".join(f"{name} {value}" for name, value in facts.items()))
    if facts["load"] > facts["cores"] / 2:
        print("The machine is busy with other work: take the figures as provisional.")
    found: dict[str, Any] = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "seed": SEED,
        "machine": facts,
    }
    found |= {"skipped": [], "tables": {name: [] for name in names}}
    absent = postgres_absent()
    if absent:
        print(absent)
        found["skipped"].append(absent)
    for vendor in vendors if not absent else VENDORS[:1]:
        with tempfile.TemporaryDirectory(prefix="bench") as folder, databases(vendor, Path(folder)) as own:
            for name in names:
                reason = _module(name).absent(vendor) if hasattr(_module(name), "absent") else ""
                if reason:
                    print(reason)
                    found["skipped"].append(f"{name} on {vendor}: {reason}")
                    continue
                print(f"measuring {name} on {vendor} …", file=sys.stderr)
                found["tables"][name] += _measured(name, own)
                RESULTS.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    for name in filter(found["tables"].get, names):
        module = _module(name)
        print(f"\n{module.TITLE}\n\n{table(found['tables'][name])}\n\n" + "\n".join(module.NOTES))
    print(f"\n{time.monotonic() - began:.0f} s; also in {RESULTS.relative_to(ROOT)}")


def _module(name: str) -> ModuleType:
    return importlib.import_module(f"benchmarks.{name}")


def _measured(name: str, own: Databases) -> list[dict[str, Any]]:
    """Measure one table on one database in a process of its own."""
    url = own.copy(name)
    command = [
        sys.executable,
        "-m",
        "benchmarks.run",
        "--only",
        name,
        "--measure",
        own.vendor,
        own.prefix,
        str(own.folder),
    ]
    done = subprocess.run(command, cwd=ROOT, env=environment(url), stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemExit(f"{name} failed on {own.vendor}")
    rows: list[dict[str, Any]] = json.loads(done.stdout)
    return rows


if __name__ == "__main__":
    main()
