"""The memory of a Neuron runtime in gdb, from this folder: `source layout/gdb/nrt.py`, then `help nrt`.

`cargo layout emit gdb` joins the same rooms into one file, with the offsets of whichever version is asked for.
"""

import os

for room in ("offsets", "reading", "walking", "tasks", "commands"):
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), room + ".py")
    with open(path, encoding="utf-8") as text:
        exec(compile(text.read(), path, "exec"), globals())
