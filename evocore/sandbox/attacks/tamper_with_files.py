"""Change files outside: ledger, held-out data and archive of the harness."""

import fcntl
import os


def optimize(problem, start, seed, deadline, offer):
    tree = TARGETS["tree"]
    for path in (f"{tree}/run/ledger.jsonl", f"{tree}/held-out/secret.json", f"{tree}/open/notes.txt"):
        for action in (append, os_truncate, chmod, chown, touch, tag, mark, link, rename, replace, lock, os.unlink):
            attempt(f"{action.__name__} on {path.removeprefix(tree)}", action, path)
    for folder in (f"{tree}/run", f"{tree}/open", tree):
        attempt("made a file", os.open, f"{folder}/new", os.O_CREAT | os.O_WRONLY)
        attempt("made a folder", os.mkdir, f"{folder}/new-folder")
        attempt("made a link", os.symlink, "/", f"{folder}/new-link")
        attempt("made a pipe", os.mkfifo, f"{folder}/new-pipe")
        attempt("made a device", os.mknod, f"{folder}/new-device", 0o020666, os.makedev(1, 3))
        attempt("connected a socket", os.mknod, f"{folder}/new-socket", 0o140666)
    return start


def append(path):
    with open(path, "a") as file:
        file.write("forged\n")


def os_truncate(path):
    os.truncate(path, 0)


def chmod(path):
    os.chmod(path, 0o777)


def chown(path):
    os.chown(path, 12345, 12345)


def touch(path):
    os.utime(path, (0, 0))


def tag(path):
    os.setxattr(path, "user.evocore", b"forged")


def mark(path):
    file = os.open(path, os.O_RDONLY)
    fcntl.ioctl(file, 0x40086602, b"\0" * 8)  # FS_IOC_SETFLAGS
    os.close(file)


def link(path):
    os.link(path, f"hard-link-{os.path.basename(path)}")


def rename(path):
    os.rename(path, path + ".old")


def replace(path):
    with open("forged", "w"):
        pass
    os.replace("forged", path)


def lock(path):
    file = os.open(path, os.O_RDONLY)
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(file)
