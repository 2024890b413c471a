"""Makes tasks of the demo treat its object store as what it stands for: a store on another machine.

The store of the demo is a directory. The SDK takes paths for files of the task's own machine and then copies nothing: what
`from_local` returns would be the very file that the task goes on to change or that vanishes with a temporary directory, and
`download` would hand out the store's own file to write to. Here both copy at once, as they do with a remote store.

The SDK loads this module through its entry points for plugins (flyte.plugins.types), in tasks of the demo only.
"""

import asyncio
import functools
import inspect
import os
import shutil
from pathlib import Path

#: Names the directory of the object store.
STORE = "FLYTE_BINARY_DEMO_STORE"

#: The request with which Linux lets two files share their blocks until one changes.
FICLONE = 0x40049409


def install() -> None:
    """Changes the SDK's File and Dir. Does nothing outside of the demo."""
    if not os.environ.get(STORE):
        return
    from flyte.io import Dir, File

    for kind, copy in ((File, copy_file), (Dir, copy_tree)):
        for name in ("from_local", "from_local_sync"):
            setattr(kind, name, classmethod(keeping(getattr(kind, name).__func__, copy)))
        for name in ("download", "download_sync"):
            setattr(kind, name, separating(getattr(kind, name), copy))


def keeping(original, copy):
    """from_local, with a copy in the store unless the caller names a destination."""
    signature = inspect.signature(original)

    def prepare(args, kwargs):
        call = signature.bind(*args, **kwargs)
        source = call.arguments.get("local_path")
        target = destination(source) if call.arguments.get("remote_destination") is None else None
        if target is None:
            return call, None
        if call.arguments.get("hash_method") is None or isinstance(call.arguments["hash_method"], str):
            call.arguments["local_path"] = target
            return call, functools.partial(copy, source, target)
        call.arguments["remote_destination"] = target  # the SDK copies while it computes the hash
        return call, None

    return either(original, prepare)


def separating(original, copy):
    """download, with a copy of what lies in the store."""
    signature = inspect.signature(original)

    def prepare(args, kwargs):
        call = signature.bind(*args, **kwargs)
        value, wanted = call.arguments["self"], call.arguments.get("local_path")
        source = value.path
        if not stored(source) or (wanted is not None and Path(wanted).absolute() == Path(source)):
            return call, None
        return None, functools.partial(copy, source, place(source, wanted, copy is copy_tree))

    return either(original, prepare)


def either(original, prepare):
    """Wraps a method that is a coroutine or not. prepare returns the call to make, or None, and the copy that precedes it."""
    if inspect.iscoroutinefunction(inspect.unwrap(original)):

        @functools.wraps(original)
        async def wrapper(*args, **kwargs):
            call, copy = prepare(args, kwargs)
            copied = await asyncio.to_thread(copy) if copy else None
            return copied if call is None else await original(*call.args, **call.kwargs)
    else:

        @functools.wraps(original)
        def wrapper(*args, **kwargs):
            call, copy = prepare(args, kwargs)
            copied = copy() if copy else None
            return copied if call is None else original(*call.args, **call.kwargs)

    return wrapper


def destination(source):
    """A new path in the store for a file or directory; None if the SDK is to decide, as outside of a task."""
    from flyte._context import internal_ctx

    context = internal_ctx()
    if source is None or not os.path.exists(source) or not context.has_raw_data or not stored(context.raw_data.path):
        return None
    return context.raw_data.get_random_remote_path(os.path.basename(os.path.normpath(source)))


def stored(path) -> bool:
    """Whether a path lies in the object store."""
    return str(path).startswith(os.environ[STORE].rstrip("/") + "/")


def place(source: str, wanted, tree: bool) -> str:
    """Where a download goes, by the SDK's rules."""
    import flyte.storage as storage

    name = Path(source).name
    if wanted is None:
        return str(Path(storage.get_random_local_path()) / name)
    if not tree and (str(wanted).endswith(os.sep) or os.path.isdir(wanted)):
        wanted = Path(wanted) / name
    return str(Path(wanted).absolute())


def copy_file(source, target: str) -> str:
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if not clone(source, target):
        shutil.copyfile(source, target)
    return target


def copy_tree(source, target: str) -> str:
    """Copies the files of a directory. Directories behind links are left out, as in uploads."""
    os.makedirs(target, exist_ok=True)
    for folder, _, names in os.walk(source):
        for name in names:
            path = os.path.join(folder, name)
            if os.path.isfile(path):
                copy_file(path, os.path.join(target, os.path.relpath(path, source)))
    return target


def clone(source, target: str) -> bool:
    """Lets the target share the source's blocks, where the file system can."""
    if not os.path.isfile(source):
        return False
    try:
        import fcntl

        with open(source, "rb") as read, open(target, "wb") as write:
            fcntl.ioctl(write.fileno(), FICLONE, read.fileno())
    except (ImportError, OSError):
        return False
    return True
