"""The plan of a run, for people or programs: what `--dry-run` prints."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from uncensoring_chinese_models.cli.printing import print_json
from uncensoring_chinese_models.text import visible

if TYPE_CHECKING:
    from uncensoring_chinese_models.config import LoadedConfig
    from uncensoring_chinese_models.domain import Json


def show_plan(loaded: LoadedConfig, *, as_json: bool) -> int:
    """Show what would be done."""
    from uncensoring_chinese_models.runner import plan  # noqa: PLC0415

    planned = plan(loaded.settings, lambda notice: print(visible(notice.text), file=sys.stderr))
    print_json(planned) if as_json else _print_plan(planned)
    return 0


def _print_plan(plan: Json) -> None:
    """Print the plan for people."""
    calls, worst, target = plan["calls"], plan["worst_case"], plan["target"]
    cost = "price unknown" if worst["usd"] is None else f"at most ${worst['usd']:.2f}"
    print(f"Plan; no model was asked. Topic: {visible(plan['topic'])}")
    for role in ("auditor", "target"):
        side = plan[role]
        print(f"  {role}: {side['model']} at {side['address']}, key: {side['key'] or 'none'}")
    if target["template"]:
        known = "verified" if target["template_verified"] else "not verified"
        print(f"  template: {target['template']} ({known})")
    print(f"  arms: {', '.join(plan['arms'])}, {plan['samples_per_arm']} sample(s) each")
    print(
        f"  calls: at most {calls['auditor_at_most']} to the auditor, "
        f"{calls['target_at_most']} to the target, {calls['canaries_at_most']} canaries, "
        f"{calls['likelihood_at_most']} for likelihood"
    )
    print(f"  worst case without re-asks and retries: {worst['tokens']:,} tokens, {cost}")
    asks_a_model = not plan["auditor"]["model"].startswith("builtin/")
    for message in plan["first_messages"] if asks_a_model else ():
        print(f"\n--- to the auditor, {message['role']}:")
        print(visible(message["content"], newlines=True))
    for request in plan["first_requests"]:
        print(f"\n--- to the target, arm {request['arm']}, {plan['samples_per_arm']} sample(s):")
        sent = request["formatted_prompt"]
        print(visible(str(request["messages"]) if sent is None else sent, newlines=True))
        print(f"    stops at: {request['stop']}")
