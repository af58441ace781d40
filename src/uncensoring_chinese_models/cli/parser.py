"""A strict command line over Fire: all words are checked before Fire calls the command.

By itself, Fire turns free text into numbers, tuples and None, runs a function before it reports an
unknown flag, applies extra words to the result, and shows its help in a pager. So this module
checks the words against the function's annotations, gives Fire only words that it cannot misread,
and writes the help itself. It knows nothing about what the commands do.
"""

from __future__ import annotations

import difflib
import inspect
import re
import sys
import textwrap
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from uncensoring_chinese_models.errors import UsageError
from uncensoring_chinese_models.text import preview

# The hyphen, and the characters that text editors and chat programs replace it with.
_DASHES = "-\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d"
_STDIN = "-"
"""The word for standard input."""
_NO_SEPARATOR = ["--", "--separator=\0"]
"""Tells Fire that a dash is a word like others; no word holds this character."""
_COMMON_ROWS = [("-h, --help", "show this help."), ("--version", "show the version.")]
_WIDTH = 80


class Group(NamedTuple):
    """Commands that share their first word."""

    about: str
    commands: Mapping[str, Callable[..., int | None]]


_Commands = Mapping[str, "Callable[..., int | None] | Group"]


def run_commands(
    commands: _Commands,
    argv: Sequence[str],
    *,
    program: str,
    about: str,
    version: str,
    default: str | None = None,
) -> int:
    """Run the command that the words name; return the exit code.

    A command is a plain function. Its positional parameters are ``str``; its options are
    keyword-only: ``str``, ``bool``, ``int`` or ``float``, with or without ``| None``.
    ``--help`` and ``--version`` work in any position. Without any word, the help is shown on
    stderr and the exit code is 2. Errors of a command are not caught.

    Args:
        commands: commands and groups of commands, by name; their docstrings are the help.
        argv: the words after the program's name.
        program: the program's name, for help and messages.
        about: paragraphs below every help; indented ones are not refilled.
        version: shown by ``--version`` after the program's name.
        default: the one command of a program that takes no command word.

    Raises:
        UsageError: a word is wrong, and nothing was run.
    """
    words, title = list(argv), program
    if words and isinstance(group := commands.get(words[0]), Group):
        commands, title = group.commands, f"{program} {words.pop(0)}"
    name = default or next((word for word in words[:1] if word in commands), None)
    command = None
    if name is not None:
        command = _read_command(commands[name], title if default else f"{title} {name}")
    if not words or not {"-h", "--help"}.isdisjoint(words):
        screen = _command_help(command) if command else _program_help(commands, title)
        print(f"{screen}\n\n{_fill(about)}".rstrip(), file=sys.stdout if words else sys.stderr)
        return 0 if words else 2
    if "--version" in words:
        print(program, version)
        return 0
    if command is None:
        known = f"the commands are {', '.join(commands)}"
        raise _wrong("unknown command", words[0], commands, known)
    return _call_through_fire(command, _check(command, words if default else words[1:]))


class _Kind(NamedTuple):
    """A type of value: its pattern, its conversion, its names in help and messages."""

    pattern: str
    convert: Callable[[str], object]
    placeholder: str
    wanted: str


# Narrower than int() and float(), which also take "1_000", " 5", "nan" and "1e999".
_TEXT = _Kind(r"(?s).*\S.*", str, "TEXT", "a value")
_BOOLEAN = _Kind("(?ai)true|false", lambda text: text.lower() == "true", "", "true or false")
_INTEGER = _Kind("[+-]?[0-9]{1,30}", int, "INTEGER", "a whole number")
_NUMBER = _Kind(
    r"[+-]?(?=\.?[0-9])[0-9]{0,30}\.?[0-9]{0,30}([eE][+-]?[0-9]{1,2})?", float, "NUMBER", "a number"
)
_TYPES = ((str, _TEXT), (bool, _BOOLEAN), (int, _INTEGER), (float, _NUMBER))
_KINDS = {hint: kind for base, kind in _TYPES for hint in (base, base | None)}


class _Parameter(NamedTuple):
    name: str
    kind: _Kind
    required: bool
    label: str
    line: str

    @property
    def takes_stdin(self) -> bool:
        """True where a dash may stand for standard input; the placeholder says so."""
        return self.label.endswith(f"|{_STDIN}")


class _Command(NamedTuple):
    function: Callable[..., int | None]
    title: str
    usage: str
    words: Sequence[_Parameter]
    takes_more: bool
    options: Mapping[str, _Parameter]


def _read_command(function: Callable[..., int | None] | Group, title: str) -> _Command:
    """Read a command's words and options from its signature and docstring."""
    if isinstance(function, Group):
        raise TypeError(f"a group within a group: {title}")
    # An entry of the docstring reads "name: line" or "name (PLACEHOLDER): line".
    section = (inspect.getdoc(function) or "").partition("\nArgs:\n")[2].partition("\n\n")[0]
    entries = re.findall(r"(?m)^ {4}\**(\w+)(?: \((.+?)\))?:(.*(?:\n {5}.*)*)", section)
    docs = {name: (placeholder, " ".join(line.split())) for name, placeholder, line in entries}
    words, options, takes_more = [], {}, False
    for parameter in inspect.signature(function, eval_str=True).parameters.values():
        read = _read_parameter(parameter, *docs.get(parameter.name, ("", "")))
        if parameter.kind is parameter.KEYWORD_ONLY:
            options[read.label.split()[0]] = read
        else:
            words.append(read)
            takes_more = parameter.kind is parameter.VAR_POSITIONAL
    usage = " ".join([title, *(word.label for word in words), "[OPTIONS]"])
    return _Command(function, title, usage, words, takes_more, options)


def _read_parameter(parameter: inspect.Parameter, placeholder: str, line: str) -> _Parameter:
    kind = _KINDS.get(parameter.annotation)
    is_option = parameter.kind is parameter.KEYWORD_ONLY
    if kind is None or parameter.kind is parameter.VAR_KEYWORD or not (is_option or kind is _TEXT):
        raise TypeError(f"a command line cannot set the parameter {parameter}")
    required = parameter.default is parameter.empty
    label = placeholder or (kind.placeholder if is_option else parameter.name.upper())
    if is_option:
        label = f"--{_flag_of(parameter.name)} {label}".rstrip()
    elif parameter.kind is parameter.VAR_POSITIONAL:
        required, label = False, f"[{label} ...]"
    elif not required:
        label = f"[{label}]"
    if kind is not _BOOLEAN and parameter.default not in (parameter.empty, None):
        line = f"{line} (default: {parameter.default})".lstrip()
    return _Parameter(parameter.name, kind, required, label, line)


def _flag_of(name: str) -> str:
    """Return the flag of a parameter; one that is named like a word of Python ends with ``_``."""
    return name.rstrip("_").replace("_", "-")


def _check(command: _Command, words: Sequence[str]) -> list[str]:
    """Return the words in a form that Fire cannot misread, or refuse them."""
    pending, plain, given = deque(words), list[str](), dict[str, str]()
    while pending:
        word = pending.popleft()
        takes_stdin = len(plain) < len(command.words) and command.words[len(plain)].takes_stdin
        if word.startswith(tuple(_DASHES)) and not (word == _STDIN and takes_stdin):
            flag, value = _take_option(command, word, pending)
            if flag in given:
                raise UsageError(f"{flag} is given twice")
            given[flag] = value
        elif not word.strip():
            raise UsageError("an argument is empty; was a shell variable not set?")
        elif len(plain) == len(command.words) and not command.takes_more:
            raise _wrong("one argument too many:", word, command.options, f"usage: {command.usage}")
        else:
            plain.append(word)
    unused = [option for flag, option in command.options.items() if flag not in given]
    for parameter in [*command.words[len(plain) :], *unused]:
        if parameter.required:
            raise UsageError(f"{parameter.label} is missing; usage: {command.usage}")
    return [*plain, *(f"{flag}={value}" for flag, value in given.items())]


def _take_option(command: _Command, word: str, pending: deque[str]) -> tuple[str, str]:
    """Read a flag and its value, which may be the next word."""
    flag, equals, value = word.partition("=")
    flag = flag.replace("_", "-")
    if flag not in command.options:
        right_words = [*command.options, *(each.label for each in command.words)]
        raise _wrong("unknown flag", word, right_words, f"{command.title} --help lists the flags")
    kind = command.options[flag].kind
    if not equals and kind is _BOOLEAN:
        value = "true"
    elif not equals:
        if not pending or pending[0].startswith("-"):
            dash = f"write a value that begins with a dash as {flag}=-…"
            raise UsageError(f"{flag} needs {kind.wanted} after it; {dash}")
        value = pending.popleft()
    if not re.fullmatch(kind.pattern, value):
        raise UsageError(f"{flag} takes {kind.wanted}, not '{preview(value, 40)}'")
    return flag, value


def _wrong(what: str, word: str, right_words: Iterable[str], otherwise: str) -> UsageError:
    """Return an error that names the nearest right word, if there is one."""
    word = word.partition("=")[0]  # the value of an unknown flag may be a key
    by_core = {each.strip("-[. ]").lower(): each for each in ("--help", "--version", *right_words)}
    core = word.strip(_DASHES).lower().replace("_", "-")[:40]
    near = difflib.get_close_matches(core, by_core, n=1)
    hint = f"did you mean {by_core[near[0]]}?" if near else otherwise
    return UsageError(f"{what} '{preview(word, 40)}'; {hint}")


def _call_through_fire(command: _Command, words: list[str]) -> int:
    """Let Fire convert the checked words and call the command."""
    import fire  # noqa: PLC0415  # late: help and errors do not need it

    # Fire takes the flag for the parameter's name.
    names = {_flag_of(each.name).replace("-", "_"): each.name for each in command.options.values()}

    def call(*words: str, **options: object) -> int | None:
        return command.function(*words, **{names[name]: each for name, each in options.items()})

    fire.decorators.SetParseFn(str)(call)
    for option in command.options.values():
        name = _flag_of(option.name).replace("-", "_")
        fire.decorators.SetParseFn(option.kind.convert, name)(call)
    try:
        code = fire.Fire(
            call, command=[*words, *_NO_SEPARATOR], name=command.title, serialize=lambda _: None
        )
    except fire.core.FireExit as error:
        raise UsageError(f"Fire did not accept the words of '{command.title}'") from error
    return 0 if code is None else int(code)


def _program_help(commands: _Commands, program: str) -> str:
    usage = f"Usage: {program} COMMAND [ARGUMENTS] [OPTIONS]"
    rows = [(name, _description(each).split("\n\n")[0]) for name, each in commands.items()]
    more = f"'{program} COMMAND --help' shows the arguments and options of a command."
    return "\n\n".join([usage, _table("Commands", rows), _table("Options", _COMMON_ROWS), more])


def _command_help(command: _Command) -> str:
    usage, description = _fill(f"Usage: {command.usage}"), _fill(_description(command.function))
    words = _table("Arguments", [(word.label, word.line) for word in command.words])
    rows = [(option.label, option.line) for option in command.options.values()]
    options = _table("Options", [*rows, *_COMMON_ROWS])
    return "\n\n".join(filter(None, [usage, description, words, options]))


def _description(function: Callable[..., int | None] | Group) -> str:
    """Return the docstring up to its first section."""
    if isinstance(function, Group):
        return function.about
    return re.split(r"\n+(?:Args|Raises|Returns):\n", inspect.getdoc(function) or "")[0]


def _table(title: str, rows: Sequence[tuple[str, str]]) -> str:
    """Return two columns below a title; empty without rows."""
    width = min(max((len(left) for left, _ in rows), default=0), 24)
    fill = textwrap.TextWrapper(_WIDTH, subsequent_indent=" " * (width + 4), break_on_hyphens=False)
    lines = [fill.fill(f"  {left:<{width}}  {right}") for left, right in rows]
    return "\n".join([f"{title}:", *lines]) if rows else ""


def _fill(text: str) -> str:
    """Refill each paragraph to the width of the help, except indented ones."""
    fill = textwrap.TextWrapper(_WIDTH, break_on_hyphens=False, break_long_words=False)
    paragraphs = inspect.cleandoc(text).split("\n\n")
    return "\n\n".join(each if each.startswith(" ") else fill.fill(each) for each in paragraphs)
