#!/usr/bin/env python3
"""Works like a notebook: runs cells that are sent to it and remembers their variables.

    moulin run --detach --kind notebook --gpu 0.5 --name notes -- \\
        python3 examples/notebook/notebook.py --socket /tmp/notes.sock
    python3 examples/notebook/cell.py --socket /tmp/notes.sock 'x = 6 * 7' 'print(x)'

The socket belongs to its owner alone, who may run anything there. It lives until it is
stopped.
"""

import argparse
import contextlib
import io
import os
import signal
import socket
import sys
import traceback

CELL_BYTES_MAX = 1 << 20
CELL_SECONDS_MAX = 10  # for a client to send its cell


def run(cell, variables):
    """What the cell printed, the value of an expression included, or its traceback."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        try:
            try:
                value = eval(compile(cell, "<cell>", "eval"), variables)  # noqa: S307: that is what a notebook is for
                if value is not None:
                    print(repr(value))
            except SyntaxError:
                exec(compile(cell, "<cell>", "exec"), variables)  # noqa: S102
        except Exception:  # a bad cell does not end the notebook
            said.write(traceback.format_exc(limit=-1))
    return said.getvalue()


def read_cell(client):
    parts, total = [], 0
    while part := client.recv(65536):
        parts.append(part)
        total += len(part)
        if total > CELL_BYTES_MAX:
            raise ValueError("a cell is too long")
    return b"".join(parts).decode()


def main():
    parser = argparse.ArgumentParser(description="Runs cells that are sent to it.")
    parser.add_argument("--socket", required=True, metavar="PATH", help="where cells come in")
    path = parser.parse_args().socket
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    os.umask(0o177)  # the socket is for nobody else
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
    print(f"waits for cells at {path}", flush=True)
    variables, count = {"__name__": "__main__"}, 0
    while True:
        client, _ = listener.accept()
        with client:
            client.settimeout(CELL_SECONDS_MAX)
            try:
                cell = read_cell(client)
                said = run(cell, variables)
                count += 1
                print(f"[{count}] {cell}\n{said}", end="", flush=True)
                client.sendall(said.encode())
            except (OSError, ValueError) as error:  # the client's trouble, not ours
                print(f"a cell was not run: {error}", flush=True)


if __name__ == "__main__":
    main()
