"""The audit command as a script: `python src/uncensoring_chinese_models/search_censored.py CONFIG`."""

import sys
from pathlib import Path

if __name__ == "__main__":
    # Python puts this folder first on the path, where our modules could hide those of the
    # standard library. With its parent instead, the script also runs without an install.
    sys.path[0] = str(Path(__file__).resolve().parent.parent)
    try:
        from uncensoring_chinese_models.cli import main_script

        raise SystemExit(main_script(sys.argv[1:]))
    except ModuleNotFoundError as err:
        raise SystemExit(
            f"error: the library {err.name} is not installed for this Python; run `make install`, "
            "then use .venv/bin/python instead of python."
        ) from err
