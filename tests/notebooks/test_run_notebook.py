"""Tests of the notebook runner itself, on the engines that are installed."""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import types
import unittest

import engines
import program
import run_notebook

HERE = pathlib.Path(__file__).resolve().parent
ARGUMENTS = types.SimpleNamespace(include=[], library=[], std="c++17")


def installed_engines():
    found = []
    for name in ("cling", "clang-repl-19", "clang-repl-22"):
        try:
            run_notebook.start(name, ARGUMENTS).close()
            found.append(name)
        except engines.Unavailable as reason:
            print(f"{name}: skipped, {reason}", file=sys.stderr)
    return found


ENGINES = installed_engines()


def run(engine, cells):
    """Runs cells, given as (source, expected output[, expected error]), and returns their failures,
    '' for none."""
    notebook = {"cells": [
        {"cell_type": "code", "metadata": {}, "source": source,
         "outputs": [{"output_type": "stream", "name": "stdout", "text": want},
                     *[{"output_type": "error", "evalue": text} for text in error]]}
        for source, want, *error in cells]}
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "test.ipynb")
        path.write_text(json.dumps(notebook), encoding="utf-8")
        process = subprocess.run(
            [sys.executable, HERE / "run_notebook.py", "--engine", engine, path],
            capture_output=True, text=True, check=False)
    failures = [""] * len(cells)
    for number, text in re.findall(r"cell (\d+): (.*?)\n\n", process.stdout, re.DOTALL):
        failures[int(number) - 1] = text
    failed = sum(map(bool, failures))
    last_line = process.stdout.splitlines()[-1]
    assert last_line == f"{len(cells) - failed} passed, {failed} failed", process.stdout
    assert process.returncode == bool(failed), process.stderr
    return failures


class Comparison(unittest.TestCase):
    def test_numbers_may_differ_by_a_millionth_and_text_may_not(self):
        self.assertTrue(run_notebook.same_text("x = 1.0000001\n", "x = 1\n"))
        self.assertTrue(run_notebook.same_text("{0.1, -2e-3}", "{0.10000001, -0.002}"))
        self.assertTrue(run_notebook.same_text("[ 3.  -0.]", "[3. 0.]"))
        self.assertFalse(run_notebook.same_text("x = 1.00001\n", "x = 1\n"))
        self.assertFalse(run_notebook.same_text("1000001", "1000000"))
        self.assertFalse(run_notebook.same_text("nan", "1"))
        self.assertFalse(run_notebook.same_text("y = 1\n", "x = 1\n"))
        self.assertFalse(run_notebook.same_text("1 2", "1 2 3"))
        self.assertFalse(run_notebook.same_text("1\n2", "1 2"))
        self.assertFalse(run_notebook.same_text("", "1"))


class Programs(unittest.TestCase):
    def test_cells_are_split_into_declarations_and_statements(self):
        items = [
            ("#include <vector>", True),
            ("const double r = 2;", True),
            ("std::vector<std::vector<int>> v({{1}, {2}});", True),
            ("std::vector<int> braces{1, 2};", True),
            ("unsigned n = 3;", True),
            ("const auto& w = v;", True),
            ("auto twice = [](int x) { return 2 * x; };", True),
            ("template <class T>\nT same(T x) {\n  if (x) { return x; }\n  return x;\n}", True),
            ("namespace a {\nint f() { return 1; }\nint g() { return 2; }\n}", True),
            ("struct Point { int x; };", True),
            ("v.push_back({3});", False),
            ("n = twice(n);", False),
            ("++n;", False),
            ("a::f();", False),
            ("std::cout << \"a; {\" << v.size() << '}' << R\"(\")\";", False),
            ("for (int i = 0; i < 3; ++i) n += i;", False),
            ("if (n) {\n  ++n;\n} else {\n  --n;\n}", False),
            ("if (n) ++n; else --n;", False),
            ("do { --n; } while (n);", False),
            ("try { throw 1; } catch (int) { n = 0; }", False),
            ("[] { std::cout << n; }();", False),
            ("{ int local = n; }", False),
        ]
        cell = "// a remark; with {\n" + "\n".join(item for item, _ in items)
        found = [item.strip() for item in program.split_items(cell)]
        found[0] = found[0].splitlines()[-1]
        self.assertEqual(found, [item for item, _ in items])
        self.assertEqual([program.is_declaration(item) for item in found],
                         [declaration for _, declaration in items])

    def test_cells_run_in_order_and_each_is_compared(self):
        failures = run("program", [
            ("int a = 1;", ""),
            ("std::cout << a;\nint b = ++a;\nstd::cout << b;", "12"),
            ("int twice(int x) {\n  return 2 * x;\n}\nstd::cout << twice(b);", "5"),
            ("std::cout << a + b;", "4"),
        ])
        self.assertEqual([bool(failure) for failure in failures], [False, False, True, False])

    def test_an_error_names_its_cell_and_line(self):
        failures = run("program", [("int a = 1;", ""), ("\nint b = missing;", "")])
        self.assertRegex(failures[0], r"cell_2:2:\d+: error: .*missing")

    def test_an_exception_that_leaves_a_cell_fails_it(self):
        failures = run("program", [("int a = 1;", ""), ("throw a;", ""), ("++a;", "")])
        self.assertEqual(failures[0], "")
        self.assertIn("the engine died", failures[1])
        self.assertIn("not run", failures[2])


class Notebooks(unittest.TestCase):
    def test_no_lambda_stands_in_a_top_level_statement(self):
        # clang-repl dies of it, but only now and then.
        self.assertTrue(program.has_lambda("check([](int x) { return x; });"))
        self.assertFalse(program.has_lambda("v[0] = f(1)[2];"))
        for path in (HERE / "../../notebooks").glob("*.ipynb"):
            for step in run_notebook.steps_of(run_notebook.load(path)):
                for item in program.split_items(step.source):
                    with self.subTest(notebook=path.name, cell=step.name, item=item):
                        self.assertTrue(program.is_declaration(item) or not program.has_lambda(item))


class Answers(unittest.TestCase):
    def test_an_answer_runs_in_its_place_and_must_be_right(self):
        text = ("<details><summary>Solution</summary>\n\nTwice:\n\n```cpp\nanswer({});\n```\n\n"
                "</details>\n\n```cpp\nnot code of the lesson\n```\n")
        notebook = {"cells": [
            {"cell_type": "code", "source": "int n = 2;"},
            {"cell_type": "markdown", "source": text},
            {"cell_type": "code", "source": ["int m = n;"]},
        ]}
        steps = run_notebook.steps_of(notebook)
        self.assertEqual([step.name for step in steps], ["1", "1, answer", "2"])
        self.assertEqual(steps[1].source, "answer({});\n")
        for printed, ok, failure in (("Right", True, "^$"), ("Not yet", True, "not right"),
                                     ("", False, "error")):
            outputs = [{"output_type": "stream", "name": "stdout", "text": printed}]
            result = engines.Result(ok, 0.0, outputs, "")
            self.assertRegex(run_notebook.failure_of(result, steps[1], True), failure)


class Engines(unittest.TestCase):
    def check(self, cells, patterns):
        for engine in ENGINES:
            with self.subTest(engine=engine):
                for failure, pattern in zip(run(engine, cells), patterns, strict=True):
                    self.assertRegex(failure, pattern or "^$")

    def test_at_least_one_engine_is_installed(self):
        self.assertTrue(ENGINES)

    def test_cells_share_state_and_keep_their_lines(self):
        self.check([
            ("#include <iostream>\n#include <string>", ""),
            ("// a comment\nint a = 1;  // another\nint b = 2;\nstd::cout << a + b << '\\n';", "3\n"),
            ("int twice(int x) {\n  return 2 * x;\n}", ""),
            ("for (int i = 0; i < 2; ++i) {\n  std::cout << twice(i) << ' ';\n}", "0 2 "),
        ], ["", "", "", ""])

    def test_wrong_output_fails(self):
        self.check([
            ("#include <iostream>", ""),
            ("std::cout << 0.5 << std::endl;", "0.6\n"),
            ("std::cout << \"text\" << std::endl;", "other\n"),
            ("std::cout << \"unexpected\" << std::endl;", ""),
            ("int silent = 1;", "expected\n"),
        ], ["", "differs", "differs", "differs", "differs"])

    def test_an_error_fails_and_the_next_cell_runs(self):
        self.check([
            ("#include <iostream>\n#include <stdexcept>", ""),
            ("int broken = ;", ""),
            ("throw std::runtime_error(\"escaped\");", ""),
            ("int missing();\nint unresolved = missing();", ""),
            ("try {\n  throw std::runtime_error(\"caught\");\n} catch (const std::exception& e) {\n"
             "  std::cout << e.what() << std::endl;\n}", "caught\n"),
        ], ["", "error", "escaped", "missing", ""])

    def test_a_cell_with_a_stored_error_must_fail_with_it(self):
        self.check([
            ("#include <iostream>\n#include <stdexcept>", ""),
            ("std::cout << \"before\\n\";\nthrow std::runtime_error(\"escaped\");", "before\n", "escaped"),
            ("throw std::runtime_error(\"escaped\");", "", "another"),
            ("int broken = missing;", "", "undeclared identifier 'missing'"),
            ("int fine = 1;", "", "an error"),
        ], ["", "", "expected: another", "", "no error, expected:\nan error"])

    def test_a_dead_engine_fails_its_cell_and_the_rest(self):
        self.check([
            ("#include <cstdlib>", ""),
            ("std::abort();", ""),
            ("int after = 1;", ""),
        ], ["", "the engine died", "not run: the engine died in cell 2"])

    @unittest.skipUnless("cling" in ENGINES, "--update asks Cling")
    def test_update_stores_the_output_that_a_cell_prints(self):
        cells = ["#include <iostream>", "std::cout << \"one\\ntwo\\n\";"]
        notebook = {"cells": [{"cell_type": "code", "metadata": {}, "source": source, "outputs": []}
                              for source in cells]}
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "test.ipynb")
            path.write_text(json.dumps(notebook), encoding="utf-8")
            subprocess.run([sys.executable, HERE / "run_notebook.py", "--update", path],
                           capture_output=True, check=True)
            stored = run_notebook.load(path)["cells"][1]["outputs"]
        self.assertEqual(
            stored, [{"output_type": "stream", "name": "stdout", "text": ["one\n", "two\n"]}])

    def test_a_display_is_compared_by_its_text_and_mime_types(self):
        display = ("namespace demo {\nstruct Picture {};\n"
                   "nl::json mime_bundle_repr(const Picture&) {\n"
                   "  return {{\"text/plain\", \"a picture\"}, {\"image/svg+xml\", \"<svg/>\"}};\n}\n}")
        want = "[display image/svg+xml text/plain]\na picture\n"
        for engine in ENGINES:
            with self.subTest(engine=engine):
                session = run_notebook.start(engine, ARGUMENTS)
                self.addCleanup(session.close)
                for cell in ("#include <xcpp/xdisplay.hpp>", display):
                    self.assertTrue(session.run(cell).ok)
                result = session.run("xcpp::display(demo::Picture{});")
                self.assertEqual(run_notebook.transcript(result.outputs), want)
                self.assertEqual(result.outputs[0]["data"]["image/svg+xml"], "<svg/>")


if __name__ == "__main__":
    unittest.main()
