"""`python -m uncensoring_chinese_models` is `ucm`."""

from uncensoring_chinese_models.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
