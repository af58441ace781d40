"""The command line passes words on exactly, or refuses them before anything runs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from uncensoring_chinese_models.cli import parser as command_line
from uncensoring_chinese_models.cli.parser import Group, run_commands
from uncensoring_chinese_models.errors import UsageError

ABOUT = """
For research on what models are trained to hide. Quote a finding only after checking it against
a source, and do not use the tool on people.

  ucm audit configs/search_censored.yaml --dry-run
  ucm show runs/latest
"""

CALLS: list[tuple[object, ...]] = []

DASHES = tuple("-\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d")

any_text = st.text(st.characters(exclude_categories=()), min_size=1).filter(str.strip)


@pytest.fixture(autouse=True)
def _forget_calls():
    CALLS.clear()


def audit(
    config: str,
    *overrides: str,
    resume: str | None = None,
    dry_run: bool = False,
    json: bool = False,
) -> int:
    """Search one model for what it knows but will not say.

    Nothing is sent before the whole config has been read.

    Args:
        config: the YAML file of the run.
        *overrides: words such as "topic=Hong Kong, 2019" that replace a setting
            of the file.
        resume (RUN_DIR): go on with an interrupted run.
        dry_run: show the plan and its price, and send nothing.
        json: print records for programs instead of text for people.

    Returns:
        The exit code.
    """
    CALLS.append(("audit", config, overrides, resume, dry_run, json))
    return 0


def show(run: str, *, turns: int = 3, cost: float | None = None, label: str | None = None) -> None:
    """Show a run."""
    CALLS.append(("show", run, turns, cost, label))


def prune(folder: str = "runs", *, before: str) -> int:
    """Delete old runs."""
    CALLS.append(("prune", folder, before))
    return 7


COMMANDS: dict[str, Callable[..., int | None]] = {"audit": audit, "show": show, "prune": prune}


def run(*argv: str, default: str | None = None) -> int:
    return run_commands(
        COMMANDS, argv, program="ucm", about=ABOUT, version="1.2.3", default=default
    )


def audited(config, *overrides, resume=None, dry_run=False, json=False):
    return ("audit", config, overrides, resume, dry_run, json)


def shown(run, turns=3, cost=None, label=None):
    return ("show", run, turns, cost, label)


ACCEPTED = [
    # words that Fire would turn into something else
    ("audit 1989", audited("1989")),
    ("audit 0x10", audited("0x10")),
    ("audit 1e5", audited("1e5")),
    ("audit None", audited("None")),
    ("audit True", audited("True")),
    ("audit {topic}", audited("{topic}")),
    ("audit [PAD]", audited("[PAD]")),
    ("audit a,1989", audited("a,1989")),
    ("audit (1,)", audited("(1,)")),
    ("audit 'quoted'", audited("'quoted'")),
    ("audit c.yaml 1989 None a,1989", audited("c.yaml", "1989", "None", "a,1989")),
    (["audit", "c", "topic=Tiananmen, 1989"], audited("c", "topic=Tiananmen, 1989")),
    (["audit", "c", "topic={'a': 1}"], audited("c", "topic={'a': 1}")),
    ("audit c --resume 1989", audited("c", resume="1989")),
    ("audit c --resume=None", audited("c", resume="None")),
    ("audit c --resume [PAD]", audited("c", resume="[PAD]")),
    # words in any script and with anything inside
    ("audit 六四.yaml topic=天安门", audited("六四.yaml", "topic=天安门")),
    (["audit", " a  b\n\tc "], audited(" a  b\n\tc ")),
    (["audit", "c\x1b[31m", "\u202e", "👩\u200d👧"], audited("c\x1b[31m", "\u202e", "👩\u200d👧")),
    (["audit", "not-utf8-\udcff"], audited("not-utf8-\udcff")),
    (["audit", "c", "a=--b", "x-", "="], audited("c", "a=--b", "x-", "=")),
    # words that name a command or an option without being one
    ("audit audit show", audited("audit", "show")),
    ("audit config resume", audited("config", "resume")),
    # where a flag stands, and how its value is written
    ("audit --dry-run c", audited("c", dry_run=True)),
    ("audit c --dry-run", audited("c", dry_run=True)),
    ("audit c --dry_run", audited("c", dry_run=True)),
    ("audit c --dry-run yes", audited("c", "yes", dry_run=True)),
    ("audit --dry-run c --json x=1", audited("c", "x=1", dry_run=True, json=True)),
    ("audit c --dry-run=true", audited("c", dry_run=True)),
    ("audit c --dry-run=True", audited("c", dry_run=True)),
    ("audit c --dry-run=false", audited("c", dry_run=False)),
    ("audit --resume d c", audited("c", resume="d")),
    ("audit c --resume d x=1", audited("c", "x=1", resume="d")),
    ("audit c --resume=d", audited("c", resume="d")),
    ("audit c --resume=a=b", audited("c", resume="a=b")),
    ("audit c --resume=-x", audited("c", resume="-x")),
    ("audit c --resume=--json", audited("c", resume="--json")),
    ("audit c --resume=--", audited("c", resume="--")),
    ("audit c --resume=-h", audited("c", resume="-h")),
    ("audit c --resume=-", audited("c", resume="-")),
    (["audit", "c", "--resume", "a b"], audited("c", resume="a b")),
    # numbers
    ("show r --turns 5", shown("r", turns=5)),
    ("show r --turns=-5", shown("r", turns=-5)),
    ("show r --turns 007", shown("r", turns=7)),
    ("show r --cost 5", shown("r", cost=5.0)),
    ("show r --cost=-.5e-3", shown("r", cost=-0.0005)),
    ("show 5 --label 5", shown("5", label="5")),
    # what may be left out
    ("show r", shown("r")),
    ("prune --before 2026", ("prune", "runs", "2026")),
    ("prune old --before 2026", ("prune", "old", "2026")),
]

REFUSED = [
    # commands
    ("adit c", "unknown command 'adit'; did you mean audit?"),
    ("AUDIT c", "unknown command 'AUDIT'; did you mean audit?"),
    ("help", "unknown command 'help'; did you mean --help?"),
    ("--verison", "unknown command '--verison'; did you mean --version?"),
    ("xyzzy", "unknown command 'xyzzy'; the commands are audit, show, prune"),
    ("--dry-run audit c", "unknown command '--dry-run'; the commands are"),
    ("- audit c", "unknown command '-'; the commands are"),
    ("-- audit c", "unknown command '--'; the commands are"),
    ([""], "unknown command ''; the commands are"),
    # flags
    ("audit c --dryrun", "unknown flag '--dryrun'; did you mean --dry-run?"),
    ("audit c --dry", "unknown flag '--dry'; did you mean --dry-run?"),
    ("audit c --DRY-RUN", "unknown flag '--DRY-RUN'; did you mean --dry-run?"),
    ("audit c --resum d", "unknown flag '--resum'; did you mean --resume?"),
    ("audit c --nosuch", "unknown flag '--nosuch'; ucm audit --help lists the flags"),
    ("audit c --no-dry-run", "unknown flag '--no-dry-run'; did you mean --dry-run?"),
    ("audit c --nodry_run", "unknown flag '--nodry_run'; did you mean --dry-run?"),
    ("audit --config c", "unknown flag '--config'; did you mean CONFIG?"),
    ("audit c --self", "unknown flag '--self'"),
    ("audit c --trace", "unknown flag '--trace'"),
    ("audit c ---dry-run", "unknown flag '---dry-run'; did you mean --dry-run?"),
    ("audit c -dry-run", "unknown flag '-dry-run'; did you mean --dry-run?"),
    ("audit c -d", "unknown flag '-d'; ucm audit --help lists the flags"),
    ("audit c -H", "unknown flag '-H'"),
    ("audit -1989", "unknown flag '-1989'"),
    ("audit c —dry-run", "unknown flag '—dry-run'; did you mean --dry-run?"),
    ("audit c \u2013resume=d", "unknown flag '\u2013resume'; did you mean --resume?"),
    (["audit", "c", "--\x1b[2J"], "unknown flag '--⟨U+001B⟩[2J'"),
    ("audit c --dry-run --dry-run", "--dry-run is given twice"),
    ("audit c --dry-run --dry_run=false", "--dry-run is given twice"),
    ("audit c --resume=a --resume a", "--resume is given twice"),
    # values
    ("audit c --resume", "--resume needs a value after it"),
    ("audit c --resume --dry-run", "--resume needs a value after it"),
    ("audit c --resume -x", "a dash as --resume=-…"),
    ("audit c --resume=", "--resume takes a value, not ''"),
    (["audit", "c", "--resume", ""], "--resume takes a value, not ''"),
    (["audit", "c", "--resume", " "], "--resume takes a value, not ' '"),
    ("audit c --dry-run=maybe", "--dry-run takes true or false, not 'maybe'"),
    ("audit c --dry-run=1", "--dry-run takes true or false, not '1'"),
    ("audit c --dry-run=", "--dry-run takes true or false, not ''"),
    ("show r --turns three", "--turns takes a whole number, not 'three'"),
    ("show r --turns 3.5", "--turns takes a whole number, not '3.5'"),
    ("show r --turns 0x10", "--turns takes a whole number, not '0x10'"),
    ("show r --turns 1_000", "--turns takes a whole number, not '1_000'"),
    ("show r --turns ５", "--turns takes a whole number, not '５'"),  # noqa: RUF001
    (["show", "r", "--turns", "5\n"], "--turns takes a whole number, not '5⏎ '"),
    (
        "show r --turns -5",
        "--turns needs a whole number after it; write a value that begins with a dash",
    ),
    ("show r --turns=" + "9" * 5000, "not '" + "9" * 39 + "…'"),
    ("show r --cost nan", "--cost takes a number, not 'nan'"),
    ("show r --cost inf", "--cost takes a number, not 'inf'"),
    ("show r --cost 1e999", "--cost takes a number, not '1e999'"),
    ("show r --cost .", "--cost takes a number, not '.'"),
    # words
    ("audit", "CONFIG is missing; usage: ucm audit CONFIG [OVERRIDES ...] [OPTIONS]"),
    ("audit --dry-run", "CONFIG is missing"),
    ("audit --resume c", "CONFIG is missing"),
    ("prune", "--before TEXT is missing; usage: ucm prune [FOLDER] [OPTIONS]"),
    (["audit", ""], "an argument is empty"),
    (["audit", "c", " \n"], "an argument is empty"),
    ("show r s", "one argument too many: 's'; usage: ucm show RUN [OPTIONS]"),
    ("show r label", "one argument too many: 'label'; did you mean --label?"),
    ("audit c - keys", "unknown flag '-'"),
    ("audit c -- --trace", "unknown flag '--'"),
    ("audit --", "unknown flag '--'"),
    ("show r -- s", "unknown flag '--'"),
]


def shorten(value: object) -> str:
    return repr(value)[:100]


def split(words: str | list[str]) -> list[str]:
    return words.split(" ") if isinstance(words, str) else words


@pytest.mark.parametrize(("words", "call"), ACCEPTED, ids=shorten)
def test_words_arrive_as_written(words, call, capsys):
    """The command is called once, with exactly these arguments and types, and prints nothing."""
    run(*split(words))

    assert [call] == CALLS
    assert list(map(type, call)) == list(map(type, CALLS[0]))
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(("words", "fragment"), REFUSED, ids=shorten)
def test_wrong_words_are_refused_before_anything_runs(words, fragment, capsys):
    """The refusal names what is wrong and what would be right, and no command is called."""
    with pytest.raises(UsageError) as refusal:
        run(*split(words))

    assert fragment in str(refusal.value)
    assert CALLS == []
    assert capsys.readouterr() == ("", "")


def test_value_of_an_unknown_flag_is_not_repeated():
    """A key given to a flag that does not exist stays out of the message."""
    with pytest.raises(UsageError) as refusal:
        run("audit", "c", "--api-key=sk-or-v1-0000")

    assert "sk-or" not in str(refusal.value)


@given(
    st.lists(any_text.filter(lambda word: not word.startswith(DASHES)), min_size=1),
    any_text,
)
def test_any_text_survives(words, value):
    """A word or value of any characters arrives unchanged."""
    CALLS.clear()

    run("audit", *words, f"--resume={value}")

    assert [audited(*words, resume=value)] == CALLS


@pytest.mark.parametrize(
    ("words", "code"), [("audit c", 0), ("show r", 0), ("prune --before 2026", 7)]
)
def test_what_a_command_returns_is_the_exit_code(words, code):
    """An int is the exit code, and None is success."""
    assert run(*split(words)) == code


def test_exceptions_of_a_command_fly_through():
    """What a command raises reaches the caller unchanged."""
    error = KeyError("mine")

    def fail() -> int:
        raise error

    with pytest.raises(KeyError) as raised:
        run_commands({"fail": fail}, ["fail"], program="ucm", about="", version="1")
    assert raised.value is error


def test_exit_of_a_command_flies_through():
    """A SystemExit of the command is not mistaken for one of Fire's."""

    def leave() -> int:
        sys.exit(9)

    with pytest.raises(SystemExit) as raised:
        run_commands({"leave": leave}, ["leave"], program="ucm", about="", version="1")
    assert raised.value.code == 9


def test_exit_of_fire_does_not_leak(capsys):
    """When Fire itself gives up, the caller sees a UsageError."""

    def give_up() -> int:
        from fire.core import FireError  # noqa: PLC0415

        raise FireError("no")

    with pytest.raises(UsageError, match="Fire did not accept"):
        run_commands({"give-up": give_up}, ["give-up"], program="ucm", about="", version="1")


def test_result_is_neither_called_nor_printed(capsys):
    """Fire does not go on into what a command returns, and leaves no mark on the function."""
    run("prune", "--before", "2026")

    assert capsys.readouterr() == ("", "")
    assert not hasattr(prune, "FIRE_METADATA")


def test_default_command_needs_no_command_word():
    """A program of one command takes its words directly, even one equal to a command's name."""
    run("audit", "--dry-run", default="audit")

    assert [audited("audit", dry_run=True)] == CALLS


def test_default_command_is_named_by_the_program_alone():
    """Messages of a program of one command show no command word."""
    with pytest.raises(UsageError, match=r"usage: ucm CONFIG \[OVERRIDES \.\.\.\] \[OPTIONS\]$"):
        run("--dry-run", default="audit")


AUDIT_HELP = """\
Usage: ucm audit CONFIG [OVERRIDES ...] [OPTIONS]

Search one model for what it knows but will not say.

Nothing is sent before the whole config has been read.

Arguments:
  CONFIG           the YAML file of the run.
  [OVERRIDES ...]  words such as "topic=Hong Kong, 2019" that replace a setting
                   of the file.

Options:
  --resume RUN_DIR  go on with an interrupted run.
  --dry-run         show the plan and its price, and send nothing.
  --json            print records for programs instead of text for people.
  -h, --help        show this help.
  --version         show the version.

For research on what models are trained to hide. Quote a finding only after
checking it against a source, and do not use the tool on people.

  ucm audit configs/search_censored.yaml --dry-run
  ucm show runs/latest
"""

PROGRAM_HELP = """\
Usage: ucm COMMAND [ARGUMENTS] [OPTIONS]

Commands:
  audit  Search one model for what it knows but will not say.
  show   Show a run.
  prune  Delete old runs.

Options:
  -h, --help  show this help.
  --version   show the version.

'ucm COMMAND --help' shows the arguments and options of a command.

For research on what models are trained to hide. Quote a finding only after
checking it against a source, and do not use the tool on people.

  ucm audit configs/search_censored.yaml --dry-run
  ucm show runs/latest
"""


@pytest.mark.parametrize(
    ("words", "screen"),
    [
        ("-h", PROGRAM_HELP),
        ("--help", PROGRAM_HELP),
        ("nosuch --help", PROGRAM_HELP),
        ("audit -h", AUDIT_HELP),
        ("audit --help", AUDIT_HELP),
        ("audit c --nosuch -- --help", AUDIT_HELP),
        ("audit c --resume -h", AUDIT_HELP),
        ("audit --help --version", AUDIT_HELP),
    ],
)
def test_help_is_answered_wherever_it_is_asked(words, screen, capsys):
    """Help goes to stdout as a success, and no command is called."""
    assert run(*split(words)) == 0
    assert capsys.readouterr() == (screen, "")
    assert CALLS == []


def test_help_of_a_default_command_shows_no_command_word(capsys):
    """The help of a program of one command is that command's."""
    run("--help", default="audit")

    assert capsys.readouterr().out == AUDIT_HELP.replace("ucm audit CONFIG", "ucm CONFIG")


@pytest.mark.parametrize(
    ("default", "screen"),
    [(None, PROGRAM_HELP), ("audit", AUDIT_HELP.replace("ucm audit CONFIG", "ucm CONFIG"))],
)
def test_no_words_at_all_are_a_mistake_with_help(default, screen, capsys):
    """Without words the help goes to stderr and the exit code is that of a usage error."""
    assert run(default=default) == 2
    assert capsys.readouterr() == ("", screen)


def test_help_shows_defaults_and_required_options(capsys):
    """A default other than None is shown, and an optional word stands in brackets."""
    run("show", "--help")
    run("prune", "--help")

    screens = capsys.readouterr().out
    assert "--turns INTEGER  (default: 3)\n" in screens
    assert "--cost NUMBER\n" in screens
    assert "[FOLDER]  (default: runs)\n" in screens


def test_help_fits_eighty_columns(capsys):
    """Long names, long lines and long paragraphs are wrapped, and flags are not torn."""

    def toil(first: str, *, a_rather_long_name_for_an_option: int = 1, b: str = "x") -> int:
        """Toil.

        Args:
            first: word word word word word word word word word word word --dry-run word word.
            a_rather_long_name_for_an_option: word word word word word word word word word.
            b: word --dry-run --dry-run --dry-run --dry-run --dry-run --dry-run --dry-run.
        """
        raise AssertionError("unreachable")

    def idle() -> None:
        raise AssertionError("unreachable")

    commands: dict[str, Callable[..., int | None]] = {"toil": toil, "idle": idle}
    run_commands(commands, ["toil", "-h"], program="p" * 50, about="w " * 99, version="1")
    run_commands(commands, ["idle", "-h"], program="p", about="", version="1")
    run_commands(commands, ["-h"], program="p", about="", version="1")

    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert [line for line in lines if line.endswith("-")] == []
    assert [line for line in lines if line != line.rstrip()] == []


@pytest.mark.parametrize("words", ["--version", "audit --version", "audit c --version"])
def test_version_names_program_and_version(words, capsys):
    """The version is one line on stdout, and no command is called."""
    assert run(*split(words)) == 0
    assert capsys.readouterr() == ("ucm 1.2.3\n", "")
    assert CALLS == []


def unsuitable_positional(number: int) -> None:
    """Take a number where only text can stand."""


def unsuitable_list(*, items: list[str]) -> None:
    """Take a list, which no one word is."""


def unsuitable_without_annotation(word) -> None:
    """Take a word without saying of which type."""


def unsuitable_keywords(**options: str) -> None:
    """Take any flag, so that no typo could be refused."""


@pytest.mark.parametrize(
    "function",
    [
        unsuitable_positional,
        unsuitable_list,
        unsuitable_without_annotation,
        unsuitable_keywords,
    ],
)
def test_function_no_command_line_can_call_is_a_mistake_of_ours(function):
    """A parameter that words cannot fill is reported to the programmer, not to the user."""
    with pytest.raises(TypeError, match="cannot set the parameter"):
        run_commands({"f": function}, ["f"], program="ucm", about="", version="1")


@pytest.mark.parametrize("word", ["--help", "--version", "--nosuch"])
def test_help_version_and_refusals_import_nothing_heavy(word):
    """Answers that need no command need no library either."""
    script = (
        "import sys\n"
        "from uncensoring_chinese_models.cli.parser import run_commands\n"
        "try:\n"
        "    run_commands({}, sys.argv[1:], program='ucm', about='', version='1')\n"
        "except Exception as error:\n"
        "    assert type(error).__name__ == 'UsageError', error\n"
        "print(sorted({name.partition('.')[0] for name in sys.modules}"
        " & {'fire', 'aiohttp', 'rich', 'pydantic', 'yaml', 'asyncio'}))"
    )
    source_folder = Path(command_line.__file__).parents[1]

    done = subprocess.run(
        [sys.executable, "-c", script, word],
        env={**os.environ, "PYTHONPATH": str(source_folder)},
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.splitlines()[-1] == "[]"


# --- groups -------------------------------------------------------------------------------------

GROUPED: dict[str, Callable[..., int | None] | Group] = {
    **COMMANDS,
    "runs": Group("Look after runs.", {"show": show, "prune": prune}),
}


def run_grouped(*argv):
    return run_commands(GROUPED, argv, program="ucm", about=ABOUT, version="1.2.3")


@pytest.mark.parametrize(
    ("words", "call"),
    [
        ("runs show r --turns 5", ("show", "r", 5, None, None)),
        ("runs prune old --before 1989", ("prune", "old", "1989")),
        ("runs show runs", ("show", "runs", 3, None, None)),
        ("runs show show", ("show", "show", 3, None, None)),
        ("show runs", ("show", "runs", 3, None, None)),
    ],
)
def test_second_word_chooses_within_a_group(words, call):
    """A command of a group is called like any other."""
    run_grouped(*words.split())

    assert [call] == CALLS


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("runs shwo r", "unknown command 'shwo'; did you mean show?"),
        ("runs zzz", "unknown command 'zzz'; the commands are show, prune"),
        ("runs audit c", "unknown command 'audit'; the commands are show, prune"),
        ("rnus show r", "unknown command 'rnus'; did you mean runs?"),
        ("runs runs show r", "unknown command 'runs'; did you mean prune?"),
        ("runs --turns 5", "unknown command '--turns'; the commands are show, prune"),
        ("runs show", "RUN is missing; usage: ucm runs show RUN [OPTIONS]"),
        ("runs show r --turn 5", "unknown flag '--turn'; did you mean --turns?"),
        ("runs show r s", "one argument too many: 's'; usage: ucm runs show RUN [OPTIONS]"),
    ],
)
def test_wrong_words_of_a_group_run_nothing(words, message):
    """A group is as strict as the whole, and its messages name the whole command."""
    with pytest.raises(UsageError) as caught:
        run_grouped(*words.split())

    assert str(caught.value) == message
    assert CALLS == []


def test_group_stands_in_the_help_with_what_it_is_for(capsys):
    """The program's help shows the group, and the group's help its commands."""
    assert run_grouped("--help") == 0
    assert "  runs   Look after runs." in capsys.readouterr().out
    assert run_grouped("runs", "--help") == 0
    screen = capsys.readouterr().out
    assert screen.startswith("Usage: ucm runs COMMAND [ARGUMENTS] [OPTIONS]")
    assert "  prune  Delete old runs." in screen
    assert run_grouped("runs", "show", "--help") == 0
    assert capsys.readouterr().out.startswith("Usage: ucm runs show RUN [OPTIONS]")


def test_group_alone_is_a_mistake_that_shows_its_help(capsys):
    """Without a second word nothing runs, and stdout stays empty."""
    assert run_grouped("runs") == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("Usage: ucm runs COMMAND")


def test_version_is_that_of_the_program_within_a_group_too(capsys):
    """The version belongs to the program, whatever words stand before the flag."""
    assert run_grouped("runs", "--version") == 0
    assert capsys.readouterr().out == "ucm 1.2.3\n"


def test_group_within_a_group_is_a_bug():
    """One level of groups is all there is."""
    inner: Any = Group("B.", {"show": show})
    nested = {"a": Group("A.", {"b": inner})}

    with pytest.raises(TypeError, match="a group within a group"):
        run_commands(nested, ["a", "b", "show"], program="ucm", about="", version="1")
