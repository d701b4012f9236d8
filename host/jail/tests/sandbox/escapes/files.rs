//! Files, devices and `.git`.

use super::{Bash, Depends, Held, Leaks, Python, Root, Row};

pub(super) const ROWS: &[Row] = &[
    ("read a masked file", Bash("cat $OUTSIDE/secret"), Held, Held, Leaks),
    ("read in a masked directory", Bash("cat $OUTSIDE/private/key"), Held, Held, Leaks),
    ("list a masked directory", Bash("ls $OUTSIDE/private | grep key"), Held, Held, Leaks),
    ("write in a masked directory", Bash("echo > $OUTSIDE/private/new"), Held, Held, Leaks),
    ("read through a link", Bash("ln -s $OUTSIDE/secret in; cat in"), Held, Held, Leaks),
    ("read by another root", Bash("cat /proc/self/root$OUTSIDE/secret"), Held, Held, Leaks),
    ("hard-link a secret", Bash("ln $OUTSIDE/secret in && cat in"), Held, Held, Leaks),
    ("hard-link and write", Bash("ln $OUTSIDE/plain in && echo > in"), Held, Held, Leaks),
    ("write outside", Bash("echo > $OUTSIDE/plain"), Held, Held, Leaks),
    ("cut short outside", Python("os.truncate(the.OUTSIDE + '/plain', 0)"), Held, Held, Leaks),
    ("make a file outside", Bash("touch $OUTSIDE/new"), Held, Held, Leaks),
    ("make a directory outside", Bash("mkdir $OUTSIDE/new"), Held, Held, Leaks),
    ("make a link outside", Bash("ln -s x $OUTSIDE/new"), Held, Held, Leaks),
    ("make a FIFO outside", Bash("mkfifo $OUTSIDE/new"), Held, Held, Leaks),
    ("write into a FIFO outside", Bash("echo > $OUTSIDE/fifo"), Held, Held, Leaks),
    ("a temporary file of another program", Bash("cat /tmp/$ABSTRACT"), Held, Leaks, Leaks),
    (
        "change such a file",
        Bash("test -s /tmp/$ABSTRACT && echo >> /tmp/$ABSTRACT"),
        Held,
        Held,
        Leaks,
    ),
    ("remove outside", Bash("rm -f $OUTSIDE/plain"), Held, Held, Leaks),
    ("rename outside", Bash("mv $OUTSIDE/plain $OUTSIDE/new"), Held, Held, Leaks),
    ("move out", Bash("touch f; mv f $OUTSIDE/new"), Held, Held, Leaks),
    ("move in", Bash("mv $OUTSIDE/plain ."), Held, Held, Leaks),
    ("chmod outside", Bash("chmod 600 $OUTSIDE/plain"), Held, Leaks, Leaks),
    ("chown outside", Bash("chown 1 $OUTSIDE/plain"), Held, Held, Root),
    ("utime outside", Bash("touch -d @1 $OUTSIDE/plain"), Held, Leaks, Leaks),
    (
        "an attribute outside",
        Python("os.setxattr(the.OUTSIDE + '/plain', 'user.x', b'1')"),
        Held,
        Leaks,
        Leaks,
    ),
    (
        "open by a handle",
        Python(
            "
handle = ctypes.create_string_buffer(struct.pack('Ii', 128, 0), 136)
mount = ctypes.c_int()
assert libc.name_to_handle_at(-100, b'.', handle, ctypes.byref(mount), 0) == 0
assert libc.open_by_handle_at(os.open('.', os.O_RDONLY), handle, 0) >= 0",
        ),
        Held,
        Held,
        Root,
    ),
    (
        "read a raw disk",
        Python(
            "
nodes = [path for path in glob.glob('/dev/*') if stat.S_ISBLK(os.stat(path).st_mode)]
opened = 0
for path in nodes:
    try: opened += os.open(path, os.O_RDONLY) > 0
    except OSError: pass
assert opened",
        ),
        Held,
        Held,
        Depends,
    ),
    (
        "make a raw disk",
        Python(
            "
os.mknod('disk', stat.S_IFBLK | 0o600, os.stat(the.OUTSIDE).st_dev)
os.read(os.open('disk', os.O_RDONLY), 1)",
        ),
        Held,
        Held,
        Depends,
    ),
    (
        "make a program that runs as its owner",
        Bash("cp /bin/true f; chmod u+s f; test -u f"),
        Held,
        Held,
        Leaks,
    ),
    (
        "make such a program at once",
        Python(
            "os.umask(0); os.open('f', os.O_CREAT, 0o4755); assert os.stat('f').st_mode & 0o4000",
        ),
        Held,
        Held,
        Leaks,
    ),
    (
        "run a program as root",
        Bash("test $(id -u) != 0 && $ROOTED -u | grep -x 0"),
        Held,
        Held,
        Depends,
    ),
    ("move `.git` away", Bash("mv .git gone"), Held, Leaks, Leaks),
    ("plant a hook", Bash("echo > .git/hooks/pre-commit"), Held, Leaks, Leaks),
    ("plant a hook by a link", Bash("rmdir .git/hooks && ln -s .. .git/hooks"), Held, Leaks, Leaks),
    ("plant other hooks", Bash("mv .git/hooks .git/old && mkdir .git/hooks"), Held, Leaks, Leaks),
    ("an inherited handle", Python("os.pread(int(the.HANDLE), 1, 0)"), Held, Held, Held),
    (
        "any handle but three",
        Python("assert [fd for fd in range(3, 1024) if not call(72, fd, 1)[1]]"),
        Held,
        Held,
        Held,
    ),
];
