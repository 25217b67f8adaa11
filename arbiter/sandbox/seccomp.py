"""The system calls that a sandboxed bot may make, as a kernel filter program (classic BPF).

Every call is allowed, except the ones listed here and those with a number above `NEWEST`. So calls that a later kernel
adds are refused until somebody has reviewed them. The filter is for one architecture; a call in the convention of
another one (32 bits, x32) kills the process. Sources: seccomp(2), <linux/filter.h>, and the system call tables of Linux
6.10 (arch/x86/entry/syscalls/syscall_64.tbl, include/uapi/asm-generic/unistd.h).
"""

from __future__ import annotations

import errno
import struct
from typing import Final, NamedTuple

NEWEST: Final = 462  #: mseal of Linux 6.10; from 424 on the numbers are the same on all architectures


class Architecture(NamedTuple):
    """The kernel's id of an architecture (AUDIT_ARCH_* of <linux/audit.h>), and its column in the table."""

    audit: int
    column: int


ARCHITECTURES: Final = {"x86_64": Architecture(0xC000003E, 0), "aarch64": Architecture(0xC00000B7, 1)}
"""By `os.uname().machine`. Both are little-endian: the low half of an argument comes first."""

_NONE: Final = -1

FORBIDDEN: Final[dict[str, tuple[int, int]]] = {
    # name: number on x86_64, number on aarch64; -1 where there is no such call
    # Other processes: read them, write to them, stop them, take their files
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "process_mrelease": (448, 448),
    "kcmp": (312, 272),
    "pidfd_getfd": (438, 438),
    # Namespaces and mounts: in its own namespace a process is root and reaches far more of the kernel
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "move_mount": (429, 429),
    "open_tree": (428, 428),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "statmount": (457, 457),
    "listmount": (458, 458),
    # Files by handle: this bypasses every hidden path
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "fanotify_init": (300, 262),
    # Parts of the kernel that no bot needs, and where vulnerabilities are found often
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "keyctl": (250, 219),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "lookup_dcookie": (212, 18),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "lsm_get_self_attr": (459, 459),
    "lsm_set_self_attr": (460, 460),
    "lsm_list_modules": (461, 461),
    "modify_ldt": (154, _NONE),
    "uselib": (134, _NONE),
    "ustat": (136, _NONE),
    "sysfs": (139, _NONE),
    "_sysctl": (156, _NONE),
    # The machine itself: kernel, modules, clock, ports, swap, name, log
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "create_module": (174, _NONE),
    "query_module": (178, _NONE),
    "get_kernel_syms": (177, _NONE),
    "reboot": (169, 142),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "acct": (163, 89),
    "syslog": (103, 116),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "clock_adjtime": (305, 266),
    "adjtimex": (159, 171),
    "iopl": (172, _NONE),
    "ioperm": (173, _NONE),
    "vhangup": (153, 58),
    "nfsservctl": (180, 42),
    # Memory that belongs to no process, or that moves: limits do not count it
    "shmget": (29, 194),
    "semget": (64, 190),
    "msgget": (68, 186),
    "migrate_pages": (256, 238),
    "move_pages": (279, 239),
}
"""Refused with EPERM."""

ABSENT: Final[dict[str, tuple[int, int]]] = {
    "clone3": (435, 435),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "userfaultfd": (323, 282),
    "memfd_secret": (447, 447),
    "memfd_create": (319, 279),
}
"""Refused with ENOSYS, as on a kernel without them: libraries try these calls and have a fallback.

clone3 has its flags in memory, where a filter cannot read them. The C library then uses clone, which is filtered below.
A file of memfd_create that is on its way from process to process belongs to none, so that limits would not count it.
"""

CLONE: Final = (56, 220)
SOCKET: Final = (41, 198)
IOCTL: Final = (16, 29)
PERSONALITY: Final = (135, 92)
FCNTL: Final = (72, 25)
SETSOCKOPT: Final = (54, 208)

NEW_NAMESPACES: Final = (
    0x7E020000  #: CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET of <linux/sched.h>
)
TERMINAL: Final = (0x5412, 0x541C, 0x5423)  #: TIOCSTI, TIOCLINUX, TIOCSETD: fake terminal input, line disciplines
INET: Final = (2, 10)  #: AF_INET, AF_INET6
NETLINK: Final = 16  #: AF_NETLINK: only NETLINK_ROUTE (0) is allowed, which lists the sandbox's own interfaces
PROTOCOLS: Final = (0, 6, 17)  #: default, TCP, UDP
SIZE_OF_PIPE: Final = 1_031  #: F_SETPIPE_SZ of <linux/fcntl.h>
SOCKET_LEVEL: Final = 1  #: SOL_SOCKET of <sys/socket.h>
BUFFERS: Final = (7, 8)  #: SO_SNDBUF, SO_RCVBUF of <sys/socket.h>
AS_USUAL: Final = (0, 0xFFFFFFFF)  #: PER_LINUX, and the query for the current personality

# <linux/bpf_common.h>, <linux/seccomp.h>
_LOAD: Final = 0x20  # BPF_LD | BPF_W | BPF_ABS
_EQUAL: Final = 0x15  # BPF_JMP | BPF_JEQ | BPF_K
_GREATER: Final = 0x25
_ANY_BIT: Final = 0x45
_RETURN: Final = 0x06
_ALLOW: Final = 0x7FFF0000
_ERROR: Final = 0x00050000
_KILL: Final = 0x80000000
_NUMBER_AT, _ARCHITECTURE_AT, _ARGUMENTS_AT = 0, 4, 16  # offsets in struct seccomp_data

Step = tuple[int, int, int, int]


def program(machine: str) -> bytes:
    """Return the filter for a machine, as `bwrap --seccomp` reads it. Raises LookupError for an unknown machine."""
    audit, column = ARCHITECTURES[machine]
    steps: list[Step] = [
        (_LOAD, 0, 0, _ARCHITECTURE_AT),
        (_EQUAL, 1, 0, audit),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER_AT),
        *_refused_if(_GREATER, NEWEST, errno.ENOSYS),
    ]
    for table, error in ((FORBIDDEN, errno.EPERM), (ABSENT, errno.ENOSYS)):
        for numbers in table.values():
            if numbers[column] != _NONE:
                steps += _refused_if(_EQUAL, numbers[column], error)
    steps += _where(CLONE[column], [_argument(0), *_refused_if(_ANY_BIT, NEW_NAMESPACES, errno.EPERM)])
    steps += _where(IOCTL[column], [_argument(1), *_refused_if_any(TERMINAL, errno.EPERM)])
    steps += _where(PERSONALITY[column], [_argument(0), *_only(AS_USUAL, errno.EPERM)])
    steps += _where(FCNTL[column], [_argument(1), *_refused_if(_EQUAL, SIZE_OF_PIPE, errno.EPERM)])
    steps += _where(SETSOCKOPT[column], _buffers())
    steps += _where(SOCKET[column], _sockets())
    steps.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("=HBBI", *step) for step in steps)


def _sockets() -> list[Step]:
    """Return the filter for `socket`: allow TCP and UDP over IP, and netlink to list interfaces; refuse all others."""
    route = [_argument(2), *_only((0,), errno.EAFNOSUPPORT)]
    internet = [_argument(2), *_only(PROTOCOLS, errno.EPROTONOSUPPORT)]
    # family 16: the steps of `route`, which allow or refuse; families 2 and 10: those of `internet`
    return [
        _argument(0),
        (_EQUAL, 0, len(route), NETLINK),
        *route,
        (_EQUAL, 2, 0, INET[0]),
        (_EQUAL, 1, 0, INET[1]),
        (_RETURN, 0, 0, _ERROR | errno.EAFNOSUPPORT),
        *internet,
    ]


def _buffers() -> list[Step]:
    """Return the filter for `setsockopt`: it says that a buffer has its new size, and leaves it as it is."""
    sizes = [_argument(2), *_refused_if_any(BUFFERS, 0)]
    return [_argument(1), (_EQUAL, 0, len(sizes), SOCKET_LEVEL), *sizes]


def _argument(index: int) -> Step:
    """Load the low half of an argument: the kernel also uses only 32 bits of flags, families and requests."""
    return (_LOAD, 0, 0, _ARGUMENTS_AT + 8 * index)


def _refused_if(test: int, value: int, error: int) -> list[Step]:
    return [(test, 0, 1, value), (_RETURN, 0, 0, _ERROR | error)]


def _refused_if_any(values: tuple[int, ...], error: int) -> list[Step]:
    return [step for value in values for step in _refused_if(_EQUAL, value, error)]


def _only(values: tuple[int, ...], error: int) -> list[Step]:
    """Allow these values; refuse all others."""
    allowed = [step for value in values for step in ((_EQUAL, 0, 1, value), (_RETURN, 0, 0, _ALLOW))]
    return [*allowed, (_RETURN, 0, 0, _ERROR | error)]


def _where(number: int, then: list[Step]) -> list[Step]:
    """Apply steps to one system call. If they do not decide, the call is allowed. Other calls skip the steps."""
    return [(_EQUAL, 0, len(then) + 1, number), *then, (_RETURN, 0, 0, _ALLOW)]
