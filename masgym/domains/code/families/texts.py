"""Families of medium level on text."""

from typing import Any

import numpy as np

from masgym.domains.code.families.template import Family, letters, pick, whole

_WORDS = ("sun", "Rain", "sea", "rain", "Sun", "hill", "fog", "Sea", "river", "Hill")


def _sentence(rng: np.random.Generator) -> str:
    return " ".join(pick(rng, _WORDS) for _ in range(whole(rng, 1, 9)))


def _nested(rng: np.random.Generator) -> str:
    """Brackets, mostly in order."""
    made, open_ones = "", list[str]()
    for _ in range(whole(rng, 1, 12)):
        if open_ones and rng.random() < 0.5:
            made += open_ones.pop()
        else:
            kind = pick(rng, ("()", "[]", "{}", "<>"))
            made += kind[0] + pick(rng, ("", "", "x"))
            open_ones.append(kind[1])
    if rng.random() < 0.75:
        made += "".join(reversed(open_ones))
    if made and rng.random() < 0.25:
        place = whole(rng, 0, len(made) - 1)
        made = made[:place] + pick(rng, "()[]{}<>") + made[place + 1 :]
    return made


def _camel(rng: np.random.Generator) -> str:
    words = [letters(rng, 1, 4, "abcxyz") for _ in range(whole(rng, 1, 4))]
    start = pick(rng, (0, 0, 1))
    return "".join(word.capitalize() if i >= start else word for i, word in enumerate(words))


def _to_wrap(rng: np.random.Generator) -> list[Any]:
    return [" ".join(letters(rng, 1, 7, "abcde") for _ in range(whole(rng, 1, 9))), whole(rng, 7, 14)]


FAMILIES = (
    Family(
        name="run_lengths",
        level="medium",
        entry_point="pack",
        parameters=("s",),
        statement=(
            "Shorten a text s: each run of equal characters, as long as it can be, of length at least $least is "
            "written as $order; shorter runs stay as they are. Upper and lower case letters are different characters."
        ),
        program="""def pack(s):
    made, i = [], 0
    while i < len(s):
        j = i
        while j < len(s) and s[j] == s[i]:
            j += 1
        n = j - i
        made.append($piece if n >= $least else s[i] * n)
        i = j
    return "".join(made)
""",
        mistakes=(
            ("n >= $least", "n > $least"),
            ("s[j] == s[i]", "s[j].lower() == s[i].lower()"),
            ('"".join(made)', '"".join(made[:-1])'),
            ("$piece", "$other"),
            ("s[i] * n)", "s[i])"),
        ),
        variants=(
            {"least": "1", "order": "the character and the length", "piece": 'f"{s[i]}{n}"', "other": 'f"{n}{s[i]}"'},
            {"least": "2", "order": "the length and the character", "piece": 'f"{n}{s[i]}"', "other": 'f"{s[i]}{n}"'},
            {"least": "3", "order": "the character and the length", "piece": 'f"{s[i]}{n}"', "other": 'f"{s[i]}{n-1}"'},
            {"least": "3", "order": "the length, '*' and the character", "piece": 'f"{n}*{s[i]}"', "other": "s[i]"},
        ),
        draw=lambda rng: [letters(rng, 0, 12, "aaaAb")],
        edges=([""], ["aaa"], ["aabbb"]),
    ),
    Family(
        name="brackets",
        level="medium",
        entry_point="depth",
        parameters=("s",),
        statement=(
            "A text s holds brackets of the kinds $kinds and other characters, which do not matter (nor do brackets of "
            "other kinds). Return how deep the brackets are nested at most, 0 if there are none; or -1 if they do not "
            "match: each closing bracket must close the last open one, of its own kind, and none may stay open."
        ),
        program="""def depth(s):
    pairs, stack, deepest = $pairs, [], 0
    for c in s:
        if c in pairs.values():
            stack.append(c)
            deepest = max(deepest, len(stack))
        elif c in pairs:
            if not stack or stack.pop() != pairs[c]:
                return -1
    return -1 if stack else deepest
""",
        mistakes=(
            ("-1 if stack else deepest", "deepest"),
            ("stack.pop() != pairs[c]", "not stack.pop()"),
            ("max(deepest, len(stack))", "max(deepest, len(stack) - 1)"),
            ("max(deepest, len(stack))", "len(stack)"),
            ("                return -1", "                return 0"),
        ),
        variants=(
            {"kinds": "()", "pairs": '{")": "("}'},
            {"kinds": "() and []", "pairs": '{")": "(", "]": "["}'},
            {"kinds": "() and <>", "pairs": '{")": "(", ">": "<"}'},
            {"kinds": "(), [] and {}", "pairs": '{")": "(", "]": "[", "}": "{"}'},
        ),
        draw=lambda rng: [_nested(rng)],
        edges=([""], ["(()"], ["(]"], ["())"], ["((()))()"]),
    ),
    Family(
        name="shift_letters",
        level="medium",
        entry_point="shift",
        parameters=("s",),
        statement=(
            "Replace each letter of s by the one $count places $way it in the alphabet, going on from the other end "
            "where the alphabet ends. Case is kept. Only the 26 letters of the English alphabet change."
        ),
        program="""def shift(s):
    made = []
    for c in s:
        if "a" <= c <= "z":
            made.append(chr((ord(c) - 97 + $k) % 26 + 97))
        elif "A" <= c <= "Z":
            made.append(chr((ord(c) - 65 + $k) % 26 + 65))
        else:
            made.append(c)
    return "".join(made)
""",
        mistakes=(
            ('<= "z"', '< "z"'),
            ("+ $k) % 26 + 65", "+ $k) % 26 + 97"),
            ("+ $k) % 26 + 97", "- $k) % 26 + 97"),
            ('elif "A" <=', 'elif "A" <'),
            ("            made.append(c)", "            pass"),
        ),
        variants=(
            {"count": "3", "way": "after", "k": "3"},
            {"count": "5", "way": "before", "k": "-5"},
            {"count": "13", "way": "after", "k": "13"},
            {"count": "4", "way": "before", "k": "-4"},
        ),
        draw=lambda rng: [letters(rng, 0, 9, "abmyzABMYZ 1!")],
        edges=([""], ["xyz ABC"], ["zZaA"]),
    ),
    Family(
        name="favourite_word",
        level="medium",
        entry_point="favourite",
        parameters=("text",),
        statement=(
            "Return the word that occurs most often in a text, in lower case. Words are separated by spaces; case does "
            "not matter. Of words that occur equally often take $which."
        ),
        program="""def favourite(text):
    counts = {}
    for word in text.lower().split():
        counts[word] = counts.get(word, 0) + 1
    most = max(counts.values())
    tied = [word for word in counts if counts[word] == most]
    return $choice
""",
        mistakes=(
            ("text.lower().split()", "text.split()"),
            ("max(counts.values())", "min(counts.values())"),
            ("== most", ">= most - 1"),
            ("$choice", "$other"),
        ),
        variants=(
            {"which": "the first in alphabetical order", "choice": "min(tied)", "other": "tied[0]"},
            {"which": "the one that occurs first", "choice": "tied[0]", "other": "min(tied)"},
            {"which": "the last in alphabetical order", "choice": "max(tied)", "other": "tied[-1]"},
            {
                "which": "the longest, and of these the first in alphabetical order",
                "choice": "min(tied, key=lambda word: (-len(word), word))",
                "other": "max(tied, key=lambda word: (len(word), word))",
            },
        ),
        draw=lambda rng: [_sentence(rng)],
        edges=(["Sun"], ["sun rain rain sun"]),
    ),
    Family(
        name="rename",
        level="medium",
        entry_point="rename",
        parameters=("name",),
        statement=(
            "A name is made of words, each of which but perhaps the first begins with an upper case letter, as in "
            "maxRowCount or MaxRowCount. Return it as $form."
        ),
        program="""def rename(name):
    words, word = [], ""
    for c in name:
        if c.isupper() and word:
            words.append(word)
            word = ""
        word += c.lower()
    words.append(word)
    return $join
""",
        mistakes=(
            ("c.isupper() and word", "c.isupper()"),
            ("c.lower()", "c"),
            ("    words.append(word)\n    return", "    return"),
            ("$join", "$other"),
        ),
        variants=(
            {"form": "max_row_count", "join": '"_".join(words)', "other": '"-".join(words)'},
            {"form": "max-row-count", "join": '"-".join(words)', "other": '"_".join(words)'},
            {"form": "MAX_ROW_COUNT", "join": '"_".join(words).upper()', "other": '"_".join(words)'},
            {"form": "Max row count", "join": '" ".join(words).capitalize()', "other": '" ".join(words).title()'},
        ),
        draw=lambda rng: [_camel(rng)],
        edges=(["a"], ["A"], ["aBC"]),
    ),
    Family(
        name="wrap",
        level="medium",
        entry_point="wrap",
        parameters=("text", "width"),
        statement=(
            "Break a text into lines of at most width characters, between words; as many words as fit go into a line, "
            "joined by single spaces. No word is longer than width. Return the list of lines, each $fill."
        ),
        program="""def wrap(text, width):
    lines, line = [], ""
    for word in text.split():
        if line and len(line) + 1 + len(word) > width:
            lines.append($line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return lines + [$line]
""",
        mistakes=(
            ("> width", ">= width"),
            ("len(line) + 1 + len(word)", "len(line) + len(word)"),
            ("return lines + [$line]", "return lines"),
            ('f"{line} {word}" if line else word', 'f"{line} {word}"'),
        ),
        variants=(
            {"fill": "as it is", "line": "line"},
            {"fill": "filled with '.' on the left to width characters", "line": 'line.rjust(width, ".")'},
            {"fill": "filled with '_' on the right to width characters", "line": 'line.ljust(width, "_")'},
            {"fill": "between two '|', after spaces that fill it to width", "line": 'f"|{line.rjust(width)}|"'},
        ),
        draw=_to_wrap,
        edges=(["ab cd ef", 7], ["abcdefg", 7], ["abc def g", 7]),
    ),
)
