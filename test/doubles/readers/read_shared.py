# SPDX-License-Identifier: Apache-2.0
"""read_shared.py CLIENTS SOCKET MODE: reads shared frames. read: prints one line for each frame; hold: keeps the first frame for
ever; attack: tries to change the memory, and prints what the kernel answers."""
import mmap
import os
import sys
import time

clients, path, mode = sys.argv[1:]
sys.path.insert(0, clients)
import depthwatt_shared
from depthwatt_shared import SharedFrames


def answer(attempt):
    try:
        attempt()
        return "done"
    except (OSError, ValueError, TypeError) as error:
        return type(error).__name__


if mode == "attack":

    class Attacker(SharedFrames):
        def _map(self, descriptor):
            writable = f"/proc/self/fd/{descriptor}"
            print("write", answer(lambda: os.write(descriptor, b"x")))
            print("map", answer(lambda: mmap.mmap(descriptor, 4096)))
            print("shrink", answer(lambda: os.ftruncate(descriptor, 0)))
            print("reopen", answer(lambda: mmap.mmap(os.open(writable, os.O_RDWR), 4096)))
            print("rewrite", answer(lambda: os.write(os.open(writable, os.O_RDWR), b"x")))
            super()._map(descriptor)

    frame = Attacker(path, "left").wait(5)
    print("view", frame.counts.flags.writeable, frame.counts.base is not None, int(frame.counts[0, 0]), flush=True)
else:
    for frame in SharedFrames(path, "depth"):
        print(frame.header.frame_number, int(frame.counts.astype("u8").sum()), frame.is_intact(), flush=True)
        if mode == "hold":
            time.sleep(1000)
    print("end", flush=True)
