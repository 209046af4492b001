"""Start threads without end."""

import threading
import time


def optimize(problem, start, seed, deadline, offer):
    threading.stack_size(64 << 10)
    for _ in range(5000):
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
    through("started 5000 threads")
    return start
