"""What runs notebook cells: Cling, clang-repl, installed Jupyter kernels, and a plain C++ program.

An engine lives in a process of its own, so that one that dies takes nothing with it.
"""

import dataclasses
import json
import os
import pathlib
import re
import select
import shlex
import shutil
import subprocess
import tempfile
import time

try:
    import jupyter_client.kernelspec
    import nbclient
    import nbformat
except ImportError:
    nbclient = None

import program

HERE = pathlib.Path(__file__).resolve().parent
CACHE = pathlib.Path(os.environ.get("XGRAD_CACHE", pathlib.Path.home() / ".cache/xgrad"))
CELL_TIMEOUT = 120  # seconds


class EngineDied(Exception):
    pass


class Unavailable(Exception):
    pass


@dataclasses.dataclass
class Result:
    ok: bool
    seconds: float
    outputs: list  # as a notebook stores them: streams to stdout and display data
    errors: str  # compiler messages, escaped exceptions, and what the cell wrote to stderr


def environment(includes, libraries):
    """The process environment in which both Cling and clang-repl find headers and libraries."""
    env = dict(os.environ)
    for name, folders in (("CPLUS_INCLUDE_PATH", includes), ("LD_LIBRARY_PATH", libraries)):
        paths = [str(pathlib.Path(folder).resolve()) for folder in folders]
        if env.get(name):
            paths.append(env[name])
        env[name] = os.pathsep.join(paths)
    return env


def parse_outputs(text):
    """Splits captured stdout at the records of the display stand-in; drops the other records."""
    outputs = []
    for part in re.split(r"(\x1e[^\n]*\n)", text):
        if part.startswith("\x1emime "):
            data = json.loads(part.removeprefix("\x1emime "))
            outputs.append({"output_type": "display_data", "data": data, "metadata": {}})
        elif part and not part.startswith("\x1e"):
            if outputs and outputs[-1]["output_type"] == "stream":
                outputs[-1]["text"] += part
            else:
                outputs.append({"output_type": "stream", "name": "stdout", "text": part})
    return outputs


class _Process:
    """A child process that reads one cell file a line and marks the end of each cell's output."""

    shows_pictures = True

    def __init__(self, command, env):
        self._folder = tempfile.TemporaryDirectory(prefix="xgrad-notebook-")
        self._errors = open(pathlib.Path(self._folder.name, "stderr"), "w+b")
        self._errors_read = 0
        self._count = 0
        self._process = subprocess.Popen(
            command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors)

    def run(self, cell):
        if self._count == 0:
            self._wait_for_start()
        self._count += 1
        path = pathlib.Path(self._folder.name, f"cell_{self._count}.cpp")
        path.write_text(self._prepare(cell), encoding="utf-8")
        start = time.perf_counter()
        try:
            self._send(self._command(path))
            output = self._read_to_end()
        except EngineDied as death:
            raise EngineDied(f"{death}\n{self._new_errors()}") from None
        seconds = time.perf_counter() - start
        return Result("\x1edone\n" in output, seconds, parse_outputs(output), self._new_errors())

    def close(self):
        self._process.kill()
        self._process.wait()
        self._process.stdin.close()
        self._process.stdout.close()
        self._errors.close()
        self._folder.cleanup()

    def _wait_for_start(self):
        pass

    def _prepare(self, cell):
        return cell

    def _send(self, line):
        try:
            os.write(self._process.stdin.fileno(), f"{line}\n".encode())
        except BrokenPipeError:
            raise EngineDied("the engine has ended") from None

    def _read_to_end(self):
        output = b""
        deadline = time.monotonic() + CELL_TIMEOUT
        pipe = self._process.stdout.fileno()
        while not output.endswith(b"\x1eend\n"):
            ready, _, _ = select.select([pipe], [], [], max(0, deadline - time.monotonic()))
            if not ready:
                self._process.kill()
                raise EngineDied(f"no end after {CELL_TIMEOUT} s")
            chunk = os.read(pipe, 1 << 16)
            if not chunk:
                raise EngineDied(f"the engine died with status {self._process.wait()}")
            output += chunk
        return output.removesuffix(b"\x1eend\n").decode(errors="replace")

    def _new_errors(self):
        # The child writes through the same file offset: reading must not move it.
        size = os.fstat(self._errors.fileno()).st_size
        start, self._errors_read = self._errors_read, size
        return os.pread(self._errors.fileno(), size - start, start).decode(errors="replace")


class Cling(_Process):
    def __init__(self, includes, libraries, std):
        python = CACHE / "cling/bin/python"
        if not python.exists():
            raise Unavailable("not installed; run tests/notebooks/setup_engines")
        if std != "c++17":
            raise Unavailable(f"speaks C++17 only, not {std}")
        env = environment([HERE / "include", *includes], libraries)
        super().__init__([python, HERE / "cling_worker.py"], env)

    def _wait_for_start(self):
        self._read_to_end()

    def _command(self, path):
        return path


class ClangRepl(_Process):
    # Declared by hand: a header here would make the first cell's #include look cheaper than it is.
    _PRELUDE = r"""
struct _IO_FILE;
extern "C" int fflush(_IO_FILE*);
extern "C" long write(int, const void*, unsigned long);
void xgrad_runner_done() { fflush(nullptr); write(1, "\036done\n", 6); }
void xgrad_runner_end() { fflush(nullptr); write(1, "\036end\n", 5); }
"""

    def __init__(self, version, includes, libraries, std):
        interpreter = shutil.which(f"clang-repl-{version}")
        if not interpreter:
            raise Unavailable(f"not installed; apt-get install clang-tools-{version}")
        catch_exceptions = CACHE / "libcatch_exceptions.so"
        if not catch_exceptions.exists():
            raise Unavailable("not set up; run tests/notebooks/setup_engines")
        env = environment([HERE / "include", *includes], libraries)
        env["LD_PRELOAD"] = str(catch_exceptions)
        super().__init__([interpreter, f"--Xcc=-std={std}"], env)

    def _wait_for_start(self):
        prelude = pathlib.Path(self._folder.name, "prelude.cpp")
        prelude.write_text(self._PRELUDE, encoding="utf-8")
        self._send(self._command(prelude))
        self._read_to_end()

    # clang-repl joins the lines of a continued input, so that a // comment would swallow what
    # follows; as an #include, the cell keeps its lines and their numbers. After a cell that does not
    # link, clang-repl loses one more input: (void)0 is there to be lost.
    def _command(self, path):
        return f'#include "{path}"\n(void)0;\nxgrad_runner_end();'

    # Runs only if the whole cell compiled and no statement in it failed.
    def _prepare(self, cell):
        return f"{cell}\n;\nxgrad_runner_done();\n"


class Program(_Process):
    """All cells as one plain C++ program, which waits for a line before it goes on to each cell.

    The first cell's seconds are those of the compiler.
    """

    shows_pictures = False  # there is no kernel's display: `show` prints

    _PRELUDE = r"""
#include <cstdio>
#include <iostream>
namespace {
void xgrad_runner_wait() { while (std::getchar() != '\n') {} }
void xgrad_runner_done() { std::cout << "\036done\n\036end\n" << std::flush; }
}
"""

    def __init__(self, cells, includes, libraries, std):
        compiler = os.environ.get("CXX", "c++")
        if not shutil.which(compiler.split()[0]):
            raise Unavailable(f"there is no {compiler}")
        self._build = tempfile.TemporaryDirectory(prefix="xgrad-notebook-")
        source = pathlib.Path(self._build.name, "program.cpp")
        source.write_text(self._PRELUDE + program.to_program(
            cells, "xgrad_runner_wait();", "xgrad_runner_done();"), encoding="utf-8")
        env = environment(includes, libraries)
        folders = " ".join(f"-L{shlex.quote(folder)}" for folder in env["LD_LIBRARY_PATH"].split(":"))
        binary = source.with_suffix("")
        super().__init__(["/bin/sh", "-c", f"{compiler} -std={std} -O0 {source} {folders} -lxgrad "
                          f"-o {binary} && exec {binary}"], env)

    def close(self):
        super().close()
        self._build.cleanup()

    def _command(self, path):
        return ""


class JupyterKernel:
    shows_pictures = True

    def __init__(self, kernel, includes, libraries):
        self._notebook = nbformat.v4.new_notebook()
        self._client = nbclient.NotebookClient(
            self._notebook, kernel_name=kernel, timeout=CELL_TIMEOUT)
        self._log = tempfile.TemporaryFile()  # xeus-cpp greets with fifty lines
        self._context = self._client.setup_kernel(
            env=environment(includes, libraries), stdout=self._log, stderr=self._log)
        self._context.__enter__()
        self._greeting = os.fstat(self._log.fileno()).st_size

    def run(self, source):
        cell = nbformat.v4.new_code_cell(source)
        self._notebook.cells.append(cell)
        start = time.perf_counter()
        try:
            self._client.execute_cell(cell, len(self._notebook.cells) - 1)
            ok, errors = True, ""
        except nbclient.exceptions.CellExecutionError as error:
            # Not str(error), which has the cell's source in it.
            ok, errors = False, error.evalue or "exception without a message"
        except (nbclient.exceptions.DeadKernelError, TimeoutError) as error:
            self._log.seek(self._greeting)
            raise EngineDied(f"{error}\n{self._log.read().decode(errors='replace')}") from None
        seconds = time.perf_counter() - start
        outputs = []
        for output in cell.outputs:
            if output.get("name") == "stderr":
                errors += output["text"]
            elif output["output_type"] in ("stream", "display_data"):
                outputs.append(dict(output))
        return Result(ok, seconds, outputs, errors)

    def close(self):
        self._context.__exit__(None, None, None)
        self._log.close()


def installed_kernels():
    if nbclient is None:
        raise Unavailable("the Python package nbclient is not installed")
    specs = jupyter_client.kernelspec.find_kernel_specs()
    kernels = sorted(kernel for kernel in specs if kernel.startswith("xcpp"))
    if not kernels:
        raise Unavailable("no xcpp* kernel is installed")
    return kernels
