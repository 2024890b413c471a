"""The flyte command line without the cost of its imports, which are most of a call: a process imports it once and forks each call.

What is forked is the released command with the arguments, environment, directory and output of the call. test_cli.py runs the
command itself, cold.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

FORKABLE = pathlib.Path(__file__).resolve().parents[2] / "inpod" / "forkable" / "forkable.py"

# The command imports the others when it is called.
MODULES = ["flyte.cli.main", "flyte.io", "flyte.remote", "flyte.cli._run", "flyte.cli._get", "flyte.cli._create", "flyte.cli._deploy", "flyte.app"]


class WarmCommand:
    """Runs `flyte` in forks of one process, one call at a time."""

    def __init__(self, env: dict[str, str]):
        self._parent = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env, start_new_session=True,
        )

    def run(self, words: list[str], cwd: os.PathLike, env: dict[str, str], timeout: float) -> tuple[int, str]:
        """The exit code and the output of a call, standard output first; a negative code is a signal."""
        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
            files = [f"/proc/{os.getpid()}/fd/{file.fileno()}" for file in (out, errors)]
            request = {"words": words, "cwd": str(cwd), "env": env, "files": files, "timeout": timeout}
            self._parent.stdin.write(json.dumps(request) + "\n")
            self._parent.stdin.flush()
            code = int(self._parent.stdout.readline())
            out.seek(0)
            errors.seek(0)
            return code, out.read() + errors.read()

    def close(self) -> None:
        self._parent.stdin.close()
        self._parent.wait()


def call(request: dict, deferred) -> None:
    """Becomes the command. Does not return."""
    for number, path in enumerate(request["files"], start=1):
        os.dup2(os.open(path, os.O_WRONLY), number)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    sys.argv[:] = ["flyte", *request["words"]]
    sys.path[0] = os.path.dirname(sys.executable)  # where the command is
    deferred.resume()
    signal.alarm(int(request["timeout"]))  # a call that hangs ends by this signal
    from flyte.cli.main import main

    sys.exit(main())


def serve() -> None:
    spec = importlib.util.spec_from_file_location("forkable", FORKABLE)
    forkable = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(forkable)
    with forkable.Deferred() as deferred:  # the SDK starts a thread when it is imported
        for module in MODULES:
            importlib.import_module(module)
    forkable.check(set())
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            call(json.loads(line), deferred)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)
    os._exit(0)  # what the imports want done at the exit was for the calls


if __name__ == "__main__":
    serve()
