"""The system calls that a program in the sandbox has no use for, as a filter for `bwrap --seccomp`.

Namespaces, limits and the empty file system already contain a program. The filter closes what they leave: memory that
no limit counts (System V segments, files in memory, message queues, attributes of files), what the whole machine shares
(asynchronous I/O, the kernel's log), sockets that no network namespace holds (AF_VSOCK), what others do with files that
the sandbox shows too, the memory and descriptors of other processes, namespaces of its own, and kernel interfaces with
a history of faults. A refused call answers EPERM; clone3, whose flags a filter cannot read, ENOSYS: C libraries then
use clone.

Formats: linux/bpf_common.h and linux/seccomp.h; numbers: asm/unistd_64.h (x86-64), asm-generic/unistd.h (the others).
"""

import errno
import platform
import struct

_NONE = 0xFFFFFFFF  # no call has this number
_REFUSED = {  # call -> (its number on x86_64, on aarch64)
    "add_key": (248, 217),
    "bpf": (321, 280),
    "chroot": (161, 51),
    "fanotify_init": (300, 262),
    "fsconfig": (431, 431),
    "fsetxattr": (190, 7),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "inotify_init": (253, _NONE),
    "inotify_init1": (294, 26),
    "io_setup": (206, 0),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "kcmp": (312, 272),
    "keyctl": (250, 219),
    "lsetxattr": (189, 6),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "modify_ldt": (154, _NONE),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "mq_open": (240, 180),
    "msgget": (68, 186),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "perf_event_open": (298, 241),
    "personality": (135, 92),
    "pidfd_getfd": (438, 438),
    "pidfd_open": (434, 434),
    "pivot_root": (155, 41),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "request_key": (249, 218),
    "semget": (64, 190),
    "setns": (308, 268),
    "setxattr": (188, 5),
    "setxattrat": (463, 463),
    "shmat": (30, 196),
    "shmget": (29, 194),
    "socket": (41, 198),
    "syslog": (103, 116),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "userfaultfd": (323, 282),
}
_MACHINES = {
    "x86_64": (0, 0xC000003E, 56),
    "aarch64": (1, 0xC00000B7, 220),
}  # (column, AUDIT_ARCH_..., number of clone)
_CLONE3 = 435
_FOREIGN = 0x40000000  # numbers from here on are of x86-64's second table (x32)
_NEW_NAMESPACES = 0x7E020000  # CLONE_NEWUSER, CLONE_NEWNS and the other five

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06  # BPF_LD|W|ABS, BPF_JMP|.., BPF_RET
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16  # offsets in struct seccomp_data
_ALLOW, _KILL = 0x7FFF0000, 0x80000000


def seccomp_filter() -> bytes:
    """The filter for this machine's processor: 8 bytes an instruction. b"" for a processor that is not listed."""
    if platform.machine() not in _MACHINES:
        return b""
    column, architecture, clone = _MACHINES[platform.machine()]
    program = [_step(_LOAD, _ARCHITECTURE), *_unless(_EQUAL, architecture, _KILL), _step(_LOAD, _NUMBER)]
    program += _when(_AT_LEAST, _FOREIGN, errno.EPERM)
    for numbers in _REFUSED.values():
        program += _when(_EQUAL, numbers[column], errno.EPERM)
    program += _when(_EQUAL, _CLONE3, errno.ENOSYS)
    program += [_step(_EQUAL, clone, 1, 0), _step(_RETURN, _ALLOW), _step(_LOAD, _FIRST_ARGUMENT)]
    program += [*_when(_ANY_BIT, _NEW_NAMESPACES, errno.EPERM), _step(_RETURN, _ALLOW)]
    return b"".join(program)


def _when(test: int, operand: int, error: int) -> list[bytes]:
    """If the test holds, the call fails with that error."""
    return [_step(test, operand, 0, 1), _step(_RETURN, 0x00050000 | error)]


def _unless(test: int, operand: int, action: int) -> list[bytes]:
    return [_step(test, operand, 1, 0), _step(_RETURN, action)]


def _step(code: int, operand: int, if_true: int = 0, if_false: int = 0) -> bytes:
    """struct sock_filter; the jumps count the instructions to skip."""
    return struct.pack("=HBBI", code, if_true, if_false, operand)
