"""The command line: help, what is suggested, the man page, completion in shells; made from the table of options
(cli/options.def)."""

import fcntl
import os
import pty
import re
import select
import shutil
import struct
import subprocess
import sys
import termios
import time

import pytest

from harness import SOURCE, end_group, named, text

COMMANDS = ["run", "report", "diff", "join", "sweep", "machine", "doctor", "config", "help"]
OF_ALL = {"--help", "--no-config"}  # options of every command
MAN_PAGE = os.path.join(SOURCE, "docs", "rfprof.1")


def generated(t, *arguments):
    result = t.run([sys.executable, os.path.join(SOURCE, "cli", "generate.py"),
                    os.path.join(t.build_directory, "cli", "options.json"), *arguments])
    assert result.status == 0 and result.stderr == b"", str(result)
    return result.stdout.decode()


def options_in_help(t, command):
    result = t.rfprof("help", command)
    assert result.status == 0 and result.stderr == b"", str(result)
    return set(re.findall(r"^ .{4} (--[\w-]+)", result.stdout.decode(), re.M))


# ---- help ----

def test_alone_it_shows_five_examples(t):
    result = t.rfprof()
    examples = re.findall(r"^  (rfprof .*?)   ", result.stderr.decode(), re.M)
    assert result.status == 2 and result.stdout == b"" and len(examples) == 5, str(result)
    assert "--help" in result.stderr.decode(), str(result)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_fits_a_screen(t, command):
    words = [] if command == "run" else [command]
    result, short = t.rfprof(*words, "--help"), t.rfprof(*words, "-h")
    lines = result.stdout.decode().splitlines()
    assert result.status == 0 and result.stderr == b"" and lines[0].startswith("Usage: rfprof"), str(result)
    assert len(lines) < 24 and max(map(len, lines)) < 80, str(result)
    assert short.stdout == result.stdout, str(short)


def test_help_lists_the_commands(t):
    result = t.rfprof("--help")
    for command in COMMANDS[1:]:
        assert re.search(rf"^  {command} +\w", result.stdout.decode(), re.M), f"no {command}\n{result}"
    assert t.rfprof("help").stdout == result.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_help_command_is_all_of_it(t, command):
    """Each option of --help, and those that it leaves out; --help -v is the same."""
    words = [] if command == "run" else [command]
    first = set(re.findall(r"^ .{4} (--[\w-]+)", t.rfprof(*words, "--help").stdout.decode(), re.M))
    assert "--help" in first and first <= options_in_help(t, command)
    if command in ("run", "report"):
        assert t.rfprof(*words, "--help", "-v").stdout == t.rfprof("help", command).stdout


def test_version(t):
    said = t.rfprof("-V")
    assert said.status == 0 and re.fullmatch(rb"rfprof \d+\.\d+\.\d+\n", said.stdout), str(said)
    assert t.rfprof("--version").stdout == said.stdout


MISTYPED = {
    "command": (["reprot"], "did you mean rfprof report?"),
    "command_cut_short": (["mach"], "did you mean rfprof machine?"),
    "command_of_help": (["help", "docter"], "did you mean rfprof help doctor?"),
    "option": (["--trafic=trace", "/bin/true"], "did you mean --traffic?"),
    "option_with_letters_swapped": (["report", "--levles"], "did you mean --levels?"),
    "option_cut_short": (["--debug", "/bin/true"], "did you mean --debuginfod?"),
    "value": (["--traffic=trac", "/bin/true"], "did you mean trace?"),
    "value_in_any_case": (["report", "--sort", "TIME"], "did you mean time?"),
    "option_of_another_command": (["report", "--once"], "it is an option of rfprof;"),
    "option_of_a_later_command": (["doctor", "--refresh"], "it is an option of rfprof machine;"),
}


@pytest.mark.parametrize("words, expected", named(MISTYPED))
def test_what_may_have_been_meant(t, words, expected):
    said = t.rfprof(*words)
    assert said.status == 2 and said.stdout == b"" and expected in said.stderr.decode(), str(said)


@pytest.mark.parametrize("words", named({"program": ["zyxwv"], "option": ["--zyxwv", "/bin/true"], "value": ["--sort=zyxwv", "/bin/true"]}))
def test_nothing_is_suggested_that_is_far(t, words):
    said = t.rfprof(*words)
    assert said.status == 2 and b"zyxwv" in said.stderr and b"mean" not in said.stderr, str(said)


# ---- the man page ----

def test_man_page_is_made_from_the_table(t):
    """Else: ninja -C build man"""
    assert generated(t, "man", MAN_PAGE) == text(MAN_PAGE)


@pytest.mark.parametrize("command", [name for name in COMMANDS if name not in ("report", "config", "help")])
def test_man_page_has_the_options_of_help(t, command):
    """The report's, and those of all commands, stand with those of `rfprof PROGRAM`."""
    section = text(MAN_PAGE).split(f'.\\" options of {command}\n')[1].split('.\\" end of options')[0]
    heads = [line for line in section.splitlines() if re.match(r"\.B[IR]? ", line)]
    names = {re.search(r"\\-\\-[\w\\-]+", head)[0].replace("\\", "") for head in heads}
    assert names == options_in_help(t, command) - (set() if command == "run" else OF_ALL)


def test_man_page_is_well_formed(t):
    if not shutil.which("groff"):
        pytest.skip("groff is not installed")
    result = t.run(["groff", "-ww", "-man", "-Tutf8", MAN_PAGE])
    assert result.status == 0 and result.stderr == b"", str(result)


@pytest.mark.parametrize("command", named({"mandoc": ["mandoc", "-Tlint"], "man": ["man", "--warnings", "-E", "UTF-8", "-l"]}))
def test_man_page_is_lint_clean(t, command):
    need_program(t, command[0])
    result = t.run([*command, MAN_PAGE], env={"MANPAGER": "cat", "MANROFFSEQ": ""})
    told = result.stderr if command[0] == "man" else result.stdout + result.stderr
    assert result.status == 0 and told == b"", str(result)


def test_the_last_one_holds(t):
    """Texts, words and paths that are given several times; a sanitizer tells where one is left behind."""
    said = t.rfprof("--traffic=auto", "--save=a", "--no-children", "--traffic=none", "--save=b", "/bin/true")
    assert said.status == 0 and [name for name in os.listdir(t.work) if name in "ab"] == ["b"], str(said)
    shown = t.rfprof("report", "--by=loop", "-f", "x", "--by=module", "-f", "nothing", "b")
    assert shown.status == 2 and b"nothing" in shown.stderr, str(shown)


# ---- completion ----

def need_program(t, program):
    if not shutil.which(program, path=t.environment()["PATH"]):
        pytest.skip(f"{program} is not installed")


def completion_file(t, shell):
    path = os.path.join(t.directory, "completion")
    with open(path, "w", encoding="utf-8") as file:
        file.write(generated(t, shell))
    return path


def bash_completions(t, *words):
    """What bash offers for the last of the words, of which = is one."""
    script = 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _rfprof; printf "%s\\n" "${COMPREPLY[@]}"'
    result = t.run(["/bin/bash", "-c", script, "bash", completion_file(t, "bash"), "rfprof", *words])
    assert result.status == 0 and result.stderr == b"", str(result)
    return set(result.stdout.decode().split())


BASH = {
    "commands": (["rep"], {"report"}),
    "option": (["--sam"], {"--sampler="}),
    "flag": (["report", "--lev"], {"--level=", "--levels"}),
    "of_another_command": (["report", "--sam"], set()),
    "command_of_help": (["help", "ma"], {"machine"}),
    "word": (["report", "--sort", "=", "f"], {"flops"}),
    "all_words": (["report", "--sort", "="], {"headroom", "distance", "time", "flops", "bytes", "name"}),
    "word_without_equals_sign": (["--work", "b"], {"both"}),
    "word_after_options": (["-q", "--top", "=", "3", "--once", "--sampler", "="], {"auto", "perf", "timer"}),
    "of_diff": (["diff", "--"], {"--help", "--no-config", "--top=", "--fail-on=", "--svg=", "--json=", "--output="}),
    "the_program's": (["./app", "--so"], set()),
    "the_program's_after_a_value": (["--top", "3", "./app", "--so"], set()),
}


@pytest.mark.parametrize("words, expected", list(BASH.values()), ids=BASH)
def test_bash_completes(t, words, expected):
    assert bash_completions(t, *words) == expected


def test_bash_completes_files(t):
    for name in ("a.rfp", "ab.rfp", "ab.txt"):
        open(os.path.join(t.work, name), "w", encoding="utf-8").close()
    assert bash_completions(t, "report", "a") == {"a.rfp", "ab.rfp"}
    assert bash_completions(t, "--json", "=", "ab") == {"ab.rfp", "ab.txt"}
    assert bash_completions(t, "-o", "ab.t") == {"ab.txt"}


@pytest.mark.parametrize("command", COMMANDS)
def test_bash_has_the_options_of_help(t, command):
    offered = bash_completions(t, *([] if command == "run" else [command]), "--")
    assert {word.rstrip("=") for word in offered} == options_in_help(t, command)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shell_can_read_its_file(t, shell):
    need_program(t, shell)
    result = t.run([shell, "-n", completion_file(t, shell)])
    assert result.status == 0 and result.stderr == b"", str(result)


def zsh_completions(t, directory, line):
    """What zsh lists for a line, which is typed on a terminal of its own.  The list is told from the line that is
    shown again below it by a mark in the prompt."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 500, 500, 0, 0))
    setup = (f"RPS1= fpath=({directory} $fpath) LISTMAX=1000; autoload -Uz compinit; compinit -u -D; "
             "zstyle ':completion:*' verbose no; unsetopt beep; bindkey '^X' list-choices; PS1='%%''MARK%% '\n")
    shell = subprocess.Popen(["zsh", "-f", "-i"], cwd=t.work, env=t.environment({"TERM": "dumb", "PS1": "", "COLUMNS": None}),
                             stdin=slave, stdout=slave, stderr=slave, start_new_session=True)
    os.close(slave)

    def answer(typed, marks):
        """What is written until the prompt's mark has come that many times."""
        os.write(master, typed.encode())
        written, end = "", time.monotonic() + 10
        while written.count("%MARK%") < marks and time.monotonic() < end:
            if select.select([master], [], [], 0.2)[0]:
                written += os.read(master, 65536).decode()
        return written

    try:
        answer(setup, 1)
        return answer(line + "\x18", 1)
    finally:
        os.close(master)
        end_group(shell.pid)
        shell.wait()


def test_zsh_completes(t):
    need_program(t, "zsh")
    with open(os.path.join(t.directory, "_rfprof"), "w", encoding="utf-8") as file:
        file.write(generated(t, "zsh"))
    for line, expected in [("rfprof report --lev", {"--level", "--levels"}), ("rfprof --sampler=", {"auto", "perf", "timer"}),
                           ("rfprof help ", set(COMMANDS)), ("rfprof do", {"doctor"})]:
        listed = zsh_completions(t, t.directory, line)
        assert expected <= set(re.findall(r"[\w-]+", listed.replace(line, " "))), listed


def test_fish_completes(t):
    need_program(t, "fish")
    path = completion_file(t, "fish")
    for line, expected in [("rfprof --sampler=", {f"--sampler={word}" for word in ("auto", "perf", "timer")}),
                           ("rfprof report --lev", {"--level", "--levels"}), ("rfprof doc", {"doctor"}), ("rfprof help ", set(COMMANDS)),
                           ("rfprof diff --top", {"--top"})]:
        result = t.run(["fish", "--no-config", "-c", f"source {path}; complete -C '{line}'"])
        assert {offer.split("\t")[0] for offer in result.stdout.decode().splitlines()} == expected, str(result)
