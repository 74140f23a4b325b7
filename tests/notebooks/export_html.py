"""Writes each executed notebook as one small HTML page; started by export_html.

Formulas become MathML, pictures stay what they are, and nothing is loaded from the network: a page
that somebody saves is complete.
"""

import argparse
import html
import itertools
import json
import pathlib
import re
import sys

import latex2mathml.converter
import mistune
import pygments
import pygments.formatters
import pygments.lexers

HERE = pathlib.Path(__file__).resolve().parent
PICTURES = ["text/html", "image/svg+xml"]  # the best first
THIN_SPACE = '<mspace width="0.17em" />'
FORMULA = re.compile(r"(```.*?```|`[^`\n]+`)|\$\$(.+?)\$\$|\$([^$\n]+(?:\n[^$\n]+)*?)\$", re.DOTALL)


def joined(text):
    return text if isinstance(text, str) else "".join(text)


def highlighted(code):
    lexer = pygments.lexers.get_lexer_by_name("cpp", stripnl=False)
    formatter = pygments.formatters.HtmlFormatter(nowrap=True)
    return f"<pre>{pygments.highlight(code.rstrip(), lexer, formatter).rstrip()}</pre>"


def mathml(formula, display):
    formula = re.sub(r"\\(begin|end)\{aligned\}", r"\\\1{align*}", formula)  # which it knows
    text = latex2mathml.converter.convert(formula, display=display)
    if re.search(r"<m\w+>(&<|\\)", text):
        sys.exit(f"cannot convert {formula}")
    # What the converter gets wrong for browsers: infinity, the curly d and max are no operators, a
    # minus after one is a sign, bars open and close in turn, and the letters of a name are one word.
    text = re.sub(r"<mo>(&#x0221E;|&#x02202;|max|min)</mo>", r"<mi>\1</mi>", text)
    bar = r"<mo[^>]*>(&#x0007C;|&#x02016;)</mo>"
    if len(re.findall(bar, text)) % 2 == 0:
        forms = itertools.cycle(["prefix", "postfix"])
        text = re.sub(bar, lambda bar: f'<mo form="{next(forms)}" stretchy="false">{bar[1]}</mo>', text)
    text = re.sub(r"(<mo[^>]*>(?!&#x0007C;|&#x00029;)[^<]*</mo>)<mo>(?=&#x02212;)",
                  r'\1<mo form="prefix">', text)
    text = re.sub(r'(?:<mi mathvariant="normal">\w</mi>){2,}',
                  lambda name: f"<mi>{re.sub('<.*?>', '', name[0])}</mi>", text)
    # A function's name stands off what is before it and an argument without brackets.
    name = r"<mi>(?:ln|log|exp|sin|cos|sinh|cosh|tanh)</mi>"
    name = rf"(?:<msup>{name}<mn>\d</mn></msup>|(?<!<msup>){name})"
    text = re.sub(rf"(</m(?:i|n|sub|sup|subsup)>)({name})", rf"\1{THIN_SPACE}\2", text)
    return re.sub(rf"({name})(?=<m(?:i|n|sub|sup|subsup)>(?!<mo))", rf"\1{THIN_SPACE}", text)


class Renderer(mistune.HTMLRenderer):
    def block_code(self, code, info=None):
        return f"{highlighted(code)}\n" if info == "cpp" else super().block_code(code, info)

    def codespan(self, text):
        kept = ' class="short"' if len(text) <= 14 else ""  # a shape does not break after a comma
        return f"<code{kept}>{mistune.escape(text)}</code>"

    def link(self, text, url, title=None):
        return super().link(text, re.sub(r"^([\w-]+)\.ipynb$", r"\1.html", url), title)


def text_cell(source):
    """Markdown to HTML; formulas are taken out first, as Jupyter does: Markdown would change them."""
    formulas = []

    def take_out(match):
        code, block, inline = match.groups()
        if code:
            return code
        formulas.append(mathml(block or inline, "block" if block else "inline"))
        return f"@@{len(formulas) - 1}@@"

    markdown = mistune.create_markdown(renderer=Renderer(escape=False), plugins=["table"])
    page = markdown(FORMULA.sub(take_out, source))
    return re.sub(r"@@(\d+)@@", lambda match: formulas[int(match[1])], page)


def output(one):
    if one["output_type"] == "stream":
        return f"<pre>{html.escape(joined(one['text']).rstrip())}</pre>"
    for mime in PICTURES:
        if mime in one["data"]:
            return f"<div>{joined(one['data'][mime])}</div>"
    return f"<pre>{html.escape(joined(one['data']['text/plain']))}</pre>"


def page(path):
    notebook = json.loads(path.read_text(encoding="utf-8"))
    body = []
    title = path.stem
    for cell in notebook["cells"]:
        source = joined(cell["source"])
        if cell["cell_type"] == "markdown":
            title = source.splitlines()[0].lstrip("# ") if source.startswith("# ") else title
            body.append(f'<div class="prose">\n{text_cell(source)}</div>')
            continue
        code = f'<div class="code">{highlighted(source)}</div>'
        if cell["metadata"].get("jupyter", {}).get("source_hidden"):
            code = f"<details>\n<summary>Code</summary>\n{code}\n</details>"
        body.append(code)
        outputs = [output(one) for one in cell["outputs"]]
        if outputs:
            body.append('<div class="output">\n' + "\n".join(outputs) + "\n</div>")
    style = (HERE / "lesson.css").read_text(encoding="utf-8")
    body = "\n".join(body)
    return (f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f"<title>{html.escape(title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n{body}\n"
            f"<footer>This page shows <code>notebooks/{path.name}</code> as it ran. To run and change "
            f"it yourself: <code>./scripts/notebook</code>.</footer>\n</body>\n</html>\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true",
                        help="write nothing; fail if a page is missing, outdated or of no notebook")
    parser.add_argument("folder", type=pathlib.Path, help="where the pages are, and nothing else")
    parser.add_argument("notebooks", nargs="+", type=pathlib.Path, metavar="NOTEBOOK")
    args = parser.parse_args()
    pages = {f"{path.stem}.html": page(path) for path in args.notebooks}
    stored = {path.name: path.read_text(encoding="utf-8") for path in args.folder.glob("*.html")}
    if not args.check:
        for name in stored.keys() - pages.keys():
            (args.folder / name).unlink()
        for name, text in pages.items():
            (args.folder / name).write_text(text, encoding="utf-8")
        return
    outdated = sorted(name for name in stored.keys() | pages.keys()
                      if stored.get(name) != pages.get(name))
    if outdated:
        sys.exit(f"not what the notebooks show: {', '.join(outdated)}; run tests/notebooks/export_html")


main()
