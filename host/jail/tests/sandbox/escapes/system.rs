//! The kernel: rights, limits, mounts, calls that are shut.

use super::{Bash, Depends, Held, Leaks, Python, Root, Row, Untried};

pub(super) const ROWS: &[Row] = &[
    ("capabilities", Bash("grep -E '^CapEff:.*[1-9a-f]' /proc/self/status"), Held, Held, Root),
    ("become another user", Bash("setpriv --reuid 1 true"), Held, Held, Root),
    ("mount", Bash("mkdir m; mount -t tmpfs none m && umount m"), Held, Held, Root),
    ("mount again, writable", Bash("mount -o remount,rw,bind /"), Held, Held, Untried),
    ("take a mask away", Bash("umount $OUTSIDE/private"), Held, Held, Held),
    ("uncover hooks", Bash("umount .git/hooks"), Held, Held, Held),
    ("another root", Python("os.chroot('.')"), Held, Held, Root),
    ("turn the root round", Python("assert reaches(155, b'.', b'.')"), Held, Held, Root),
    ("a user namespace", Bash("unshare -Ur true"), Held, Held, Leaks),
    ("a mount namespace", Bash("unshare -m true"), Held, Held, Root),
    (
        "a user namespace by fork",
        Python("assert call(56, 0x10000000 | signal.SIGCHLD, 0, 0, 0, 0)[0] >= 0"),
        Held,
        Held,
        Leaks,
    ),
    ("rename the machine", Bash("hostname \"$(hostname)\""), Held, Held, Root),
    ("stop the machine", Python("assert reaches(169, 0, 0, 0, 0)"), Held, Held, Root),
    ("load a module", Python("assert reaches(175, 0, 0, 0)"), Held, Held, Depends),
    (
        "what runs at a crash",
        Python("os.open('/proc/sys/kernel/core_pattern', os.O_WRONLY)"),
        Held,
        Held,
        Root,
    ),
    (
        "settings of the system",
        Python("os.open('/sys/kernel/mm/transparent_hugepage/enabled', os.O_WRONLY)"),
        Held,
        Held,
        Depends,
    ),
    ("the magic key", Python("os.open('/proc/sysrq-trigger', os.O_WRONLY)"), Held, Held, Depends),
    ("the system's log", Python("os.open('/dev/kmsg', os.O_RDONLY)"), Held, Held, Depends),
    (
        "calls that are shut",
        Python(
            "
shut = dict(io_uring_setup=425, io_uring_enter=426, io_uring_register=427, bpf=321,
            perf_event_open=298, userfaultfd=323, keyctl=250, add_key=248, request_key=249,
            clone3=435)
reached = [name for name, number in shut.items() if reaches(number, 0, 0, 0, 0, 0)]
print(reached)
assert reached",
        ),
        Held,
        Held,
        Leaks,
    ),
    (
        "the same by another interface",
        Python(
            "assert [n for n in (425, 321, 250, 435) if reaches(n | 0x40000000, 0, 0, 0, 0, 0)]",
        ),
        Held,
        Held,
        Depends,
    ),
    (
        "a 32-bit call",
        Python(
            "
code = mmap.mmap(-1, 4096, prot=7)
# push rbx; mov eax, 359 (socket); mov ebx, 2; mov ecx, 1; xor edx, edx; int 0x80; pop rbx; ret
code.write(bytes.fromhex('53 b867010000 bb02000000 b901000000 31d2 cd80 5b c3'))
address = ctypes.addressof(ctypes.c_char.from_buffer(code))
assert ctypes.CFUNCTYPE(ctypes.c_int)(address)() >= 0",
        ),
        Held,
        Held,
        Depends,
    ),
    (
        "other families of sockets",
        Python(
            "
made = []
for family in range(3, 46):
    for kind in (1, 2, 3, 5):
        try: made.append(socket.socket(family, kind))
        except OSError: pass
print(made)
assert [it for it in made if it.family not in (socket.AF_INET6, socket.AF_NETLINK)]",
        ),
        Held,
        Held,
        Depends,
    ),
    ("a larger file", Bash("ulimit -f unlimited"), Held, Held, Depends),
    (
        "more processor time",
        Python("resource.setrlimit(resource.RLIMIT_CPU, (resource.RLIM_INFINITY,) * 2)"),
        Held,
        Held,
        Depends,
    ),
    (
        "leave the control group",
        Python(
            "
left = 0
for path in glob.glob('/sys/fs/cgroup/cgroup.procs') + glob.glob('/sys/fs/cgroup/*/cgroup.procs'):
    try: left += open(path, 'w').write(str(os.getpid()))
    except OSError: pass
assert left",
        ),
        Held,
        Held,
        Depends,
    ),
    ("be killed last", Bash("echo -500 > /proc/self/oom_score_adj"), Held, Held, Depends),
];
