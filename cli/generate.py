"""Writes what is made from the table of options to standard output: generate.py OPTIONS man PAGE | bash | zsh | fish

OPTIONS is the output of options_json.  `man` copies a man page and writes anew what stands between a line
`.\\" options of COMMAND` (by its id) and the next line `.\\" end of options`.  The
others are files with which shells complete the command line of rfprof: commands, options, the words that options take, names of
files, and programs.
"""

import json
import re
import sys

COLUMNS = 78  # of the man page's source


def options_of(command):
    return [option for option in options if command["id"] in option["commands"]]


# ---- the man page ----

def roff(text):
    """`bold` and |italic| as escapes of roff; with the minus signs of options, which can be copied from the page."""
    text = re.sub(r"`([^`]*)`", lambda found: "\\fB" + found[1].replace("-", "\\-") + "\\fR", text)
    return re.sub(r"\|([^|]*)\|", r"\\fI\1\\fR", text)


def paragraph(text):
    """Broken to COLUMNS of `text`."""
    lines, column = [], 0
    for word in roff(text).split():
        if not column or column + 1 + len(word) > COLUMNS:
            lines.append("\\&" + word if word[0] in ".'" else word)  # else it were a request
            column = 0
        else:
            lines[-1] += " " + word
        column += 1 + len(word)
    return "\n".join(lines)


def man_option(option):
    name, argument = "\\-\\-" + option["name"].replace("-", "\\-"), option["argument"]
    if option["letter"]:
        head = f'.BR \\-{option["letter"]} ", " {name}' + (f"= \\fI{argument}\\fR" if argument else "")
    else:
        head = f".BI {name}= {argument}" if argument else f".B {name}"
    sentences = option["man"] or option["help"][0].upper() + option["help"][1:] + "."
    return f".TP\n{head}\n" + "\n.IP\n".join(map(paragraph, sentences.split("\n\n"))) + "\n"


def told_of(command):
    """Of the other commands those that `rfprof PROGRAM` has not got: its section tells of the others, too."""
    return [option for option in options_of(command) if command["id"] == "run" or "run" not in option["commands"]]


def man(page):
    with open(page, encoding="utf-8") as file:
        text = file.read()
    for command in commands:
        text = re.sub(rf'(?<=^\.\\" options of {command["id"]}\n).*?(?=^\.\\" end of options$)',
                      lambda _, of=command: "".join(map(man_option, told_of(of))), text, flags=re.M | re.S)
    return text


# ---- completion ----

def words_between(between):
    """The words of all commands but `rfprof PROGRAM`."""
    return between.join(command["word"] for command in commands if command["word"])


def ids():
    """What `rfprof help` takes."""
    return " ".join(command["id"] for command in commands)


def bash():
    names, values = "", ""
    for command in commands:
        offered = "".join(f' --{option["name"]}{"=" if option["argument"] else ""}' for option in options_of(command))
        names += f"\t{command['id']}) options='{offered[1:]}' ;;\n"
        for option in options_of(command):
            if option["argument"]:
                letter = f" | {command['id']}-{option['letter']}" if option["letter"] else ""
                takes = " ".join(option["words"]) or ("@file" if option["is_path"] else "@text")
                values += f"\t{command['id']}--{option['name']}{letter}) values='{takes}' ;;\n"
    return r"""# Completion of rfprof in bash; made from cli/options.def.
_rfprof_options() # COMMAND: its options
{
	case $1 in
@NAMES@	esac
}

_rfprof_values() # COMMAND OPTION: what it takes, if it takes anything
{
	values=
	case $1$2 in
@VALUES@	esac
	[ -n "$values" ]
}

_rfprof()
{
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
	local command=run options values i
	COMPREPLY=()
	case ${COMP_WORDS[1]} in
	@PATTERN@)
		[ "$COMP_CWORD" -gt 1 ] && command=${COMP_WORDS[1]} ;;
	esac
	if [ $command = run ]; then # what stands behind the program is the program's
		for ((i = 1; i < COMP_CWORD; i++)); do
			case ${COMP_WORDS[i]} in
			-*)
				if [ "${COMP_WORDS[i + 1]}" = = ]; then i=$((i + 2))
				elif _rfprof_values run "${COMP_WORDS[i]}"; then i=$((i + 1)); fi ;;
			*) return ;;
			esac
		done
	fi
	if [ "$word" = = ]; then word=
	elif [ "$before" = = ]; then before=${COMP_WORDS[COMP_CWORD - 2]}; fi
	if _rfprof_values $command "$before"; then
		case $values in
		@file) COMPREPLY=($(compgen -f -- "$word")) ;;
		@text) ;;
		*) COMPREPLY=($(compgen -W "$values" -- "$word")) ;;
		esac
		return
	fi
	case $word in
	-*)
		_rfprof_options $command
		COMPREPLY=($(compgen -W "$options" -- "$word"))
		case ${COMPREPLY[0]} in *=) compopt -o nospace 2>/dev/null ;; esac ;;
	*)
		case $command in
		run) COMPREPLY=($(compgen -c -- "$word"))
			[ "$COMP_CWORD" -gt 1 ] || COMPREPLY+=($(compgen -W '@WORDS@' -- "$word")) ;;
		report | diff) COMPREPLY=($(compgen -f -X '!*.rfp' -- "$word")) ;;
		help) COMPREPLY=($(compgen -W '@COMMANDS@' -- "$word")) ;;
		esac ;;
	esac
}
complete -o bashdefault -o default -F _rfprof rfprof
""".replace("@NAMES@", names).replace("@VALUES@", values).replace("@PATTERN@", words_between(" | ")) \
   .replace("@WORDS@", words_between(" ")).replace("@COMMANDS@", ids())


def zsh_option(option):
    takes = "=" if option["argument"] else ""
    if option["letter"]:
        name = f"{{-{option['letter']}{'+' if takes else ''},--{option['name']}{takes}}}"
    else:
        name = ("\\*" if option["is_list"] else "") + f"--{option['name']}{takes}"
    what = re.sub(r"([\[\]:\\])", r"\\\1", option["help"]).replace("'", "'\\''")
    argument = f":{option['argument']}:" if takes else ""
    values = f"({' '.join(option['words'])})" if option["words"] else "_files" if option["is_path"] else ""
    return f" \\\n\t\t{name}'[{what}]{argument}{values}'"


def zsh():
    rest = {
        "report": """ \\\n\t\t'1:profile:_files -g "*.rfp"'""",
        "diff": """ \\\n\t\t'*:profile:_files -g "*.rfp"'""",
        "help": f" \\\n\t\t'1:command:({ids()})'",
        "run": """ \\\n\t\t'1:program:_rfprof_program' '*::arguments:_normal'""",
    }
    listed = "".join(f"\t\t'{command['word']}:{command['summary']}'\n" for command in commands if command["word"])
    cases = "".join(f"\t{command['id']})\n\t\t_arguments -S" + "".join(map(zsh_option, options_of(command))) +
                    rest.get(command["id"], "") + " ;;\n" for command in commands)
    return r"""#compdef rfprof
# Completion of rfprof in zsh; made from cli/options.def.
_rfprof_program() {
	local -a commands=(
@LISTED@	)
	(( CURRENT == 2 )) && _describe command commands
	_alternative 'commands:program:_command_names -e' 'files:program:_files'
}

_rfprof() {
	local command=run
	if (( CURRENT > 2 )) && [[ $words[2] == (@PATTERN@) ]]; then
		command=$words[2]
		shift words
		(( CURRENT-- ))
	fi
	case $command in
@CASES@	esac
}

_rfprof "$@"
""".replace("@LISTED@", listed).replace("@PATTERN@", words_between("|")).replace("@CASES@", cases)


def fish_option(command, option):
    line = f"complete -c rfprof -n 'test (__rfprof_command) = {command['id']}' -l {option['name']}"
    line += f" -s {option['letter']}" if option["letter"] else ""
    line += " -r -F" if option["is_path"] else " -x" if option["argument"] else ""
    line += f" -a '{' '.join(option['words'])}'" if option["words"] else ""
    what = option["help"].replace("\\", "\\\\").replace("'", "\\'")
    return f"{line} -d '{what}'\n"


def fish():
    return f"""# Completion of rfprof in fish; made from cli/options.def.
function __rfprof_command
	set -l words (commandline -opc)
	if contains -- "$words[2]" {words_between(" ")}
		echo $words[2]
	else
		echo run
	end
end

""" + "".join(f"complete -c rfprof -n 'test (count (commandline -opc)) -eq 1' -a {command['word']} "
              f"-d '{command['summary']}'\n" for command in commands if command["word"]) \
        + f"complete -c rfprof -n 'test (__rfprof_command) = help' -x -a '{ids()}'\n" + "".join(fish_option(command, option) for command in commands for option in options_of(command))


with open(sys.argv[1], encoding="utf-8") as table:
    commands, options = json.load(table).values()
sys.stdout.reconfigure(encoding="utf-8")
sys.stdout.write({"man": man, "bash": bash, "zsh": zsh, "fish": fish}[sys.argv[2]](*sys.argv[3:]))
