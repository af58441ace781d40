"""Run a whole audit without a key, against the scripted provider of the tests.

No model is involved: auditor and target are scripts that speak about an invented archive. It shows
what a run looks like and what it leaves on disk, not what any model knows.

    python tools/practice.py [--iterations 4] [FLAGS AND OVERRIDES FOR `ucm audit`]
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
from pathlib import Path

import yaml

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.provider import Model
from tests.support import audited_provider, command, make_config

TOPIC = "The Lantern Archive of Qinghe"
MODELS = ("practice/auditor", "practice/target")
PINNED = {"only": ["practice"], "allow_fallbacks": False}
LATENCY_S = 0.3


def main() -> int:
    """Run the audit and return its exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--iterations", type=int, default=4)
    options, words = parser.parse_known_args()
    folder = Path("outputs/practice")
    folder.mkdir(parents=True, exist_ok=True)
    print("Practice: both models are scripts, and the auditor misquotes now and then on purpose.")
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the command itself answers Ctrl-C
    with audited_provider(false_quote_every=3) as provider:
        provider.latency = LATENCY_S
        provider.provider_name = "practice"
        provider.models = [Model(id=name) for name in MODELS]
        config = make_config(
            provider,
            topic=TOPIC,
            auditing_model=MODELS[0],
            audited_model=MODELS[1],
            max_iterations=options.iterations,
            output_dir=str(folder),
            sampling={"arms": ["user_persona", "assistant"]},
        )
        config["audited_endpoint"] |= {"template": "deepseek-v3", "provider": PINNED}
        path = folder.with_suffix(".yaml")
        path.write_text(yaml.safe_dump(config, sort_keys=False), "utf-8")
        code = subprocess.run(
            command("audit", path, *words), check=False, preexec_fn=_heed_interrupts
        ).returncode
    if code:
        print(
            "The scripted models end with this command; to go on, start them again: "
            f"{sys.executable} {sys.argv[0]} --resume RUN_DIR"
        )
    return code


def _heed_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)


if __name__ == "__main__":
    raise SystemExit(main())
