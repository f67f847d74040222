#!/usr/bin/env python3
"""Sends cells to examples/notebook/notebook.py and prints what they say."""

import argparse
import socket
import sys

CELL_SECONDS_MAX = 60


def send(path, cell):
    with socket.socket(socket.AF_UNIX) as notebook:
        notebook.settimeout(CELL_SECONDS_MAX)
        notebook.connect(path)
        notebook.sendall(cell.encode())
        notebook.shutdown(socket.SHUT_WR)
        parts = []
        while part := notebook.recv(65536):
            parts.append(part)
    return b"".join(parts).decode()


def main():
    parser = argparse.ArgumentParser(description="Runs cells in a notebook.")
    parser.add_argument("--socket", required=True, metavar="PATH")
    parser.add_argument("cells", nargs="+", metavar="CELL")
    arguments = parser.parse_args()
    for cell in arguments.cells:
        sys.stdout.write(send(arguments.socket, cell))


if __name__ == "__main__":
    main()
