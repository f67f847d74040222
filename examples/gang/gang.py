#!/usr/bin/env python3
"""Trains one line through many points with several replicas that really talk.

    moulin run --gpu 0.25 --replicas 4 -- python3 examples/gang/gang.py

Each replica sees its own part of the points. In each step the gradients of all are
averaged over the rendezvous that Moulin gives a gang (MASTER_ADDR, MASTER_PORT, RANK,
WORLD_SIZE), as data-parallel training does. Needs Python alone.
"""

import argparse
import os
import random
import socket
import struct
import time

SLOPE, HEIGHT = 3.0, -2.0  # the line behind the points
CONNECT_SECONDS_MAX = 30
REPLY_SECONDS_MAX = 60
PAIR = struct.Struct("<2d")


def receive(peer):
    got = b""
    while len(got) < PAIR.size:
        part = peer.recv(PAIR.size - len(got))
        if not part:
            raise ConnectionError("another replica has left")
        got += part
    return PAIR.unpack(got)


class Team:
    """Rank 0 is in the middle: it adds up what the others send and sends back the mean."""

    def __init__(self, rank, size, address):
        self.rank, self.size = rank, size
        if rank == 0:
            listener = socket.create_server(address)
            listener.settimeout(CONNECT_SECONDS_MAX)
            self.peers = [listener.accept()[0] for _ in range(size - 1)]
        else:
            self.peers = [self._connect(address)]
        for peer in self.peers:
            peer.settimeout(REPLY_SECONDS_MAX)

    @staticmethod
    def _connect(address):
        deadline = time.monotonic() + CONNECT_SECONDS_MAX
        while True:
            try:
                return socket.create_connection(address, timeout=CONNECT_SECONDS_MAX)
            except ConnectionRefusedError:  # rank 0 is not there yet
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    def mean(self, mine):
        if self.rank != 0:
            self.peers[0].sendall(PAIR.pack(*mine))
            return receive(self.peers[0])
        all_of_us = [mine, *(receive(peer) for peer in self.peers)]
        mean = tuple(sum(column) / self.size for column in zip(*all_of_us))
        for peer in self.peers:
            peer.sendall(PAIR.pack(*mean))
        return mean


def gradient(points, slope, height):
    errors = [(slope * x + height - y, x) for x, y in points]
    return (sum(error * x for error, x in errors) / len(points), sum(error for error, _ in errors) / len(points))


def main():
    parser = argparse.ArgumentParser(description="A line through points, learnt by a gang.")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--pace", type=float, default=0.05, metavar="SECONDS", help="pause after each step")
    arguments = parser.parse_args()
    rank, size = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    address = (os.environ.get("MASTER_ADDR", "127.0.0.1"), int(os.environ.get("MASTER_PORT", "0")))
    team = Team(rank, size, address)
    print(f"rank {rank} of {size} has met the others", flush=True)

    dice = random.Random(rank)
    points = [(x, SLOPE * x + HEIGHT + dice.gauss(0, 0.1)) for x in (dice.uniform(-1, 1) for _ in range(500))]
    slope = height = 0.0
    for _ in range(arguments.steps):
        by_slope, by_height = team.mean(gradient(points, slope, height))
        slope, height = slope - by_slope, height - 0.5 * by_height
        time.sleep(arguments.pace)
    if abs(slope - SLOPE) > 0.05 or abs(height - HEIGHT) > 0.05:
        raise SystemExit(f"learnt a wrong line: {slope:.3f} x + {height:.3f}")
    print(f"rank {rank}: all agree on y = {slope:.3f} x + {height:.3f}", flush=True)


if __name__ == "__main__":
    main()
