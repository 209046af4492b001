"""Write what is no frame into the offers pipe."""

import os
import time


def optimize(problem, start, seed, deadline, offer):
    os.write(3, b"garbage " * 1000)
    time.sleep(60)
