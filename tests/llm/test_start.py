"""What a process loads before its first customer."""

import subprocess
import sys


def test_the_models_library_is_loaded_when_the_site_starts() -> None:
    program = "import sys, pharmacy_site.asgi; print('openai' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"
