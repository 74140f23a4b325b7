"""Runs notebook cells in Cling; started by engines.py with the Python that has the root wheel.

Reads the path of one cell file a line. On standard output, `\\x1edone` says that the cell ran to its
end and `\\x1eend` that its output is complete.
"""

import ctypes
import re
import signal
import sys
import warnings

warnings.simplefilter("ignore")

import ROOT  # noqa: E402


def split_from_includes(cell):
    """The blocks that xeus-cling hands to Cling one by one: runs of #include lines, runs of others.

    As in xeus-cling, empty lines are dropped and only an #include at the start of its line counts.
    """
    blocks = []
    previous = None
    for line in filter(None, cell.split("\n")):
        kind = bool(re.match(r"#include", line))
        if kind != previous:
            blocks.append("")
        blocks[-1] += line + "\n"
        previous = kind
    return blocks


def process(block):
    error = ctypes.c_uint(0)
    try:
        ROOT.gInterpreter.ProcessLine(block, error)
    except Exception as exception:  # a C++ exception that left the cell
        what = str(exception).split("=>\n")[-1].strip()
        print(f"exception: {what}", file=sys.stderr, flush=True)
        return False
    return error.value == 0


def main():
    libc = ctypes.CDLL(None)
    process("0;")
    # A crash must end the process at once: ROOT would have a debugger print every stack first.
    for name in ("SIGSEGV", "SIGILL", "SIGABRT", "SIGBUS", "SIGFPE"):
        signal.signal(getattr(signal, name), signal.SIG_DFL)
    print("\x1eend", flush=True)
    for path in sys.stdin:
        with open(path.strip(), encoding="utf-8") as file:
            done = all(map(process, split_from_includes(file.read())))
        libc.fflush(None)
        print("\x1edone\n\x1eend" if done else "\x1eend", flush=True)


main()
