"""Start workers as a careless program does."""

import multiprocessing
from concurrent.futures import ProcessPoolExecutor


def optimize(problem, start, seed, deadline, offer):
    for way in ("fork", "spawn", "forkserver"):
        process = multiprocessing.get_context(way).Process(target=print, args=("here",))
        attempt(f"started a process with multiprocessing, by {way}", process.start)
        quietly(process.join, 2)
    attempt("ran something in a pool of processes", use_pool)
    return start


def use_pool():
    with ProcessPoolExecutor(2, multiprocessing.get_context("fork")) as pool:
        pool.submit(pow, 2, 2).result(2)
