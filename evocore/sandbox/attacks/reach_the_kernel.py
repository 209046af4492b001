"""Make calls that no optimizer needs and that open holes in kernels: a filter has to stop them before they are read."""

import ctypes

CALLS = (
    ("io_uring_setup", 425, 1, ctypes.create_string_buffer(120)),
    ("userfaultfd", 323, 1),
    ("bpf", 321, 0, ctypes.create_string_buffer(128), 72),
    ("perf_event_open", 298, ctypes.create_string_buffer(128), 0, -1, -1, 0),
    ("open_by_handle_at", 304, -100, ctypes.create_string_buffer(16), 0),
    ("name_to_handle_at", 303, -100, b"/", ctypes.create_string_buffer(16), ctypes.create_string_buffer(8), 0),
    ("fanotify_init", 300, 0, 0),
    ("inotify_init1", 294, 0),
    ("kexec_load", 246, 0, 0, 0, 1 << 40),
    ("init_module", 175, 0, 0, b""),
    ("finit_module", 313, -1, b"", 0),
    ("delete_module", 176, b"evocore_no_such_module", 0),
    ("reboot", 169, 0, 0, 0),
    ("swapon", 167, b"/evocore/no/such/file", 0),
    ("acct", 163, b"/evocore/no/such/file"),
    ("syslog", 103, 3, 0, -1),
    ("iopl", 172, 7),
    ("ioperm", 173, 1 << 40, 1, 1),
    ("modify_ldt", 154, 99, 0, 0),
    ("quotactl", 179, 0, b"/", 0, 0),
    ("lookup_dcookie", 212, 0, 0, 0),
    ("vmsplice", 278, 1 << 20, 0, 0, 0),
    ("splice", 275, 1 << 20, 0, 1 << 20, 0, 1, 0),
    ("io_setup", 206, 0, 0),
    ("move_pages", 279, 0, 1 << 40, 0, 0, 0, 0),
    ("migrate_pages", 256, 0, 0, 0, 0),
    ("memfd_secret", 447, 1 << 20),
    ("personality", 135, 0x0400000),
    ("clock_settime", 227, 99, 0),
    ("settimeofday", 164, 1, 0),
    ("clock_adjtime", 305, 99, 0),
    ("sethostname", 170, 1, -1),
    ("setdomainname", 171, 1, -1),
    ("mount", 165, 0, b"/evocore/no/such/folder", b"tmpfs", 0, 0),
    ("umount2", 166, b"/evocore/no/such/folder", 0),
    ("pivot_root", 155, b"/evocore/no", b"/evocore/no"),
    ("chroot", 161, b"/evocore/no/such/folder"),
    ("open_tree", 428, -100, b"/evocore/no", 0),
    ("move_mount", 429, -1, b"", -1, b"", 0),
    ("fsopen", 430, b"evocore_no_such_type", 0),
    ("mount_setattr", 442, -1, b"", 0, 0, 0),
    ("setns", 308, -1, 0),
    ("landlock_create_ruleset", 444, 0, 1, 99),
    ("seccomp", 317, 99, 0, 0),
    ("process_mrelease", 448, -1, 0),
    ("a call of the future", 999),
)


def optimize(problem, start, seed, deadline, offer):
    for name, number, *arguments in CALLS:
        reach(name, number, *arguments)
    return start
