"""The commands about a model's endpoint: `doctor` tests it, `templates` shows its chat template."""

from __future__ import annotations

from typing import TYPE_CHECKING

from uncensoring_chinese_models.cli.output import Output, print_json, print_notice
from uncensoring_chinese_models.text import escape

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from uncensoring_chinese_models.models import ChatTemplate


def doctor(config: str, *overrides: str, json: bool = False) -> int:
    """Test with small requests whether both endpoints do what an audit relies on.

    Each request (a canary) asks for at most 16 tokens. The canaries use the same journal and
    budget as an audit, and are kept in a folder of their own in output_dir. Exits with 3 if a check
    fails, or if a model cannot be reached at all.

    Args:
        config: YAML file, such as configs/search_censored.yaml.
        overrides: settings to replace, such as audited_model=organism/hides.
        json: print the results as one JSON list on stdout, and all other text on stderr.
    """
    from uncensoring_chinese_models.measure import any_config  # noqa: PLC0415
    from uncensoring_chinese_models.models import conclusion, doctor_lines  # noqa: PLC0415
    from uncensoring_chinese_models.runner import run_checkup  # noqa: PLC0415

    with Output(as_json=json) as output:
        loaded = any_config(config, overrides)
        done = run_checkup(loaded, print_notice)
        if json:
            print_json([each.as_json() for each in done.diagnoses])
        else:
            print("\n".join(doctor_lines(done.diagnoses, done.rules)))
        file = [done.target_file.capitalize()] if done.target_file else []
        end = [*file, f"Kept in {done.folder}", *conclusion(done.diagnoses)]
        print(*end, sep="\n", file=output.stream)
    return done.exit_code


def templates(model: str | None = None, *, json: bool = False) -> int:
    """Show the known chat templates, or the template that a model gets.

    Args:
        model: model name, such as deepseek/deepseek-chat; without it, all families are shown.
        json: print JSON.
    """
    from uncensoring_chinese_models.models import choose_template, load_families  # noqa: PLC0415

    with Output(as_json=json, model=model) as output:
        chosen = list(load_families().values()) if model is None else [choose_template(model)]
        content = {template.family: template.as_json() for template in chosen}
        return output.listing(_template_lines(chosen, in_full=model is not None), content)


def _template_lines(chosen: Iterable[ChatTemplate], *, in_full: bool) -> Iterator[str]:
    for template in chosen:
        known = "verified" if template.verified and not template.assumed else "not verified"
        yield f"{template.family} ({known}): {template.source}"
        yield f"  user turn:  {escape(repr(template.user_open))}"
        yield f"  ends at:    {escape(' '.join(map(repr, template.stop)))}"
        if in_full:
            yield f"  user close: {template.user_close!r}"
            yield f"  assistant:  {template.assistant_open!r}"
            yield f"  no-think:   {template.assistant_open_no_think!r}"
            yield f"  note:       {template.note or '-'}"
