"""Talk to the outside and to the machine's own services, over every kind of socket."""

import ctypes
import socket

FAMILIES = {"netlink": 16, "packet": 17, "alg": 38, "bluetooth": 31, "vsock": 40}


def optimize(problem, start, seed, deadline, offer):
    for family, number in FAMILIES.items():
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET):
            one = attempt(f"has a socket of the family {family}", socket.socket, number, kind)
            if one is not None:
                one.close()
    attempt("connected by TCP", socket.create_connection, ("127.0.0.1", TARGETS["tcp"]), 2)
    attempt("sent by UDP", send, socket.AF_INET, ("127.0.0.1", TARGETS["udp"]))
    attempt("sent to an abstract socket", send, socket.AF_UNIX, TARGETS["abstract"].encode())
    attempt("sent to a socket in a folder", send, socket.AF_UNIX, TARGETS["path"])
    attempt("reached the machine's metadata", socket.create_connection, ("169.254.169.254", 80), 0.2)
    attempt("resolved a name", resolve)
    attempt("listened", listen)
    attempt("has a pair of sockets by the old call", syscall, 53, 1, 1, 0, ctypes.create_string_buffer(8))
    return start


def send(family, address):
    with socket.socket(family, socket.SOCK_DGRAM) as one:
        one.sendto(b"leak", address)


def resolve():
    if not [found for found in socket.getaddrinfo("localhost", 80) if found[0] == socket.AF_INET]:
        raise LookupError
    socket.gethostbyname("evocore-attack.invalid")


def listen():
    with socket.socket() as one:
        one.bind(("0.0.0.0", 0))
        one.listen()
