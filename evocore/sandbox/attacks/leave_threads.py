"""Leave threads that never end."""

import threading
import time


def optimize(problem, start, seed, deadline, offer):
    for _ in range(4):
        threading.Thread(target=time.sleep, args=(60,)).start()
    return start
