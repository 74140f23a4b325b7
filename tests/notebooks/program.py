"""Turns the cells of a C++ notebook into one plain C++ program.

As in the kernels, what a cell declares lives as long as the notebook: variables and functions stay
at namespace scope, where variables are initialised in order, and each statement runs in the
initialiser of a constant of its own.
"""

import re

_TOKEN = re.compile(
    r"""//[^\n]* | /\*.*?\*/ | R"(\w*)\(.*?\)\1" | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*'
    | \#(?:\\\n|[^\n])* | \w+ | \s+ | :: | <<=? | >= | <= | == | . """,
    re.DOTALL | re.VERBOSE)
_BLOCK = {"for", "if", "while", "switch", "try", "do", "namespace", "template", "{"}
_STATEMENT = {"for", "if", "while", "switch", "try", "do", "throw", "delete", "{"}
_DECLARATION = {"namespace", "template", "struct", "class", "enum", "union", "using", "typedef",
                "static_assert", "extern"}
_SPECIFIER = {"const", "constexpr", "static", "inline", "volatile", "unsigned", "signed", "long"}


def _is_blank(token):
    return token.isspace() or token.startswith(("//", "/*"))


def _joined_with_previous(tokens, first):
    """Whether the block before these tokens goes on: if ... else, try ... catch, do ... while."""
    rest = next((token for token in tokens if not _is_blank(token)), "")
    return rest in ("else", "catch") or (first == "do" and rest == "while")


def split_items(cell):
    """The declarations, statements and preprocessor lines of a cell, in order."""
    tokens = [match.group() for match in _TOKEN.finditer(cell)]
    items, item, significant, depth, is_value = [], [], [], 0, False
    for i, token in enumerate(tokens):
        item.append(token)
        if _is_blank(token):
            continue
        if token.startswith("#") and not significant:
            items.append("".join(item))
            item = []
            continue
        significant.append(token)
        ends = False
        if token in ("(", "[", "{"):
            # A body follows its head; a value's braces follow a name or `=`.
            if token == "{" and depth == 0:
                head = significant[0] in _BLOCK or significant[-2] in (")", "const", "noexcept")
                is_value = is_value or not head
            depth += 1
        elif token in (")", "]", "}"):
            depth -= 1
            ends = (token == "}" and depth == 0 and not is_value
                    and not _joined_with_previous(tokens[i + 1:], significant[0]))
        elif token == "=" and depth == 0:
            is_value = True
        elif token == ";" and depth == 0:
            ends = not _joined_with_previous(tokens[i + 1:], significant[0])
        if ends:
            items.append("".join(item))
            item, significant, is_value = [], [], False
    return items + (["".join(item)] if significant else [])


def is_declaration(item):
    tokens = [match.group() for match in _TOKEN.finditer(item) if not _is_blank(match.group())]
    if not tokens or tokens[0].startswith("#") or tokens[0] in _DECLARATION:
        return True
    if tokens[0] in _STATEMENT:
        return False
    # A type, `::` between its names and `<...>` after them, and then the name that it declares.
    i = 0
    while tokens[i] in _SPECIFIER:
        i += 1
    has_type = i > 0 and not re.match(r"\w", tokens[i + 1])  # unsigned n
    while not has_type and i < len(tokens):
        if not re.match(r"[A-Za-z_]", tokens[i]):
            return False
        i += 1
        if i < len(tokens) and tokens[i] == "<":
            depth = 0
            while i < len(tokens):
                depth += (tokens[i] == "<") - (tokens[i] == ">")
                i += 1
                if depth == 0:
                    break
        if i >= len(tokens) or tokens[i] != "::":
            break
        i += 1
    while i < len(tokens) and tokens[i] in ("&", "*", "const"):
        i += 1
    return i + 1 < len(tokens) and bool(re.match(r"[A-Za-z_]", tokens[i]))


def has_lambda(item):
    tokens = [match.group() for match in _TOKEN.finditer(item) if not _is_blank(match.group())]
    for before, token in zip(["", *tokens], tokens):
        if token == "[" and not re.match(r"[\w)\]]", before):
            return True
    return False


def to_program(cells, before_cell="", after_cell=""):
    """The program's source; the two statements run before and after each cell."""
    parts = []

    def add(statement, line):
        if statement:
            parts.append(f"{line}static const int xgrad_statement_{len(parts)} = "
                         f"([] {{\n{line}{statement}\n}}(), 0);\n")

    for number, cell in enumerate(cells, 1):
        add(before_cell, "")
        line = 1
        for item in split_items(cell):
            place = f'#line {line} "cell_{number}"\n'
            if is_declaration(item):
                parts.append(f"{place}{item}\n")
            else:
                add(item, place)
            line += item.count("\n")
        add(after_cell, "")
    return "".join(parts) + "int main() {}\n"
