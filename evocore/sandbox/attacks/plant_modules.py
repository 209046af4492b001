"""Put code where the next interpreter would load it, and open the files that it does load for writing."""

import os
import site
import sys


def optimize(problem, start, seed, deadline, offer):
    folders = {*sys.path, *site.getsitepackages(), site.getusersitepackages(), os.path.dirname(os.__file__)}
    for folder in sorted(filter(os.path.isabs, folders)):
        for ending in (".pth", ".py"):
            path = f"{folder}/{TARGETS['marker']}{ending}"
            file = attempt(f"made a file {ending} in {folder}", os.open, path, os.O_CREAT | os.O_WRONLY)
            if file is not None:
                os.close(file)
                quietly(os.unlink, path)
    loaded = [m for n, m in list(sys.modules.items()) if n.partition(".")[0] in ("evocore", "numpy", "site", "os")]
    for module in loaded:
        for path in (getattr(module, "__file__", None), getattr(module, "__cached__", None)):
            if path:
                file = attempt(f"opened {os.path.basename(path)} for writing", os.open, path, os.O_WRONLY)
                if file is not None:
                    os.close(file)
    return start
