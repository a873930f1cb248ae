"""Where the real files are that tests may run on: no part of this project, skipped where they are absent."""

import os
from pathlib import Path

from served_site import ROOT

FOLDER = Path(os.environ.get("PHARMACY_DATA") or ROOT.parent / "shared" / "data")
WHY = f"the real data is not in {FOLDER}; set PHARMACY_DATA to its folder"
