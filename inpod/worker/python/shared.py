"""Runs several attempts of async tasks in one process, through the interface that the SDK has for workers (rusty.py)."""

import asyncio
import contextvars
import datetime
import logging
import os
import sys
import traceback

#: Where the attempt of the current context writes its lines.
LOG = contextvars.ContextVar("flyte_worker_log", default=None)

#: Options of a0 that may come as variables of the attempt.
VARIABLES = {
    "--run-base-dir": "_U_RUN_BASE", "--name": "ACTION_NAME", "--run-name": "RUN_NAME", "--org": "_U_ORG_NAME",
    "--project": "FLYTE_INTERNAL_EXECUTION_PROJECT", "--domain": "FLYTE_INTERNAL_EXECUTION_DOMAIN",
}


class Routed:
    """A standard stream that writes to the log of the attempt in whose context it is used."""

    def __init__(self, plain):
        self.__dict__["plain"] = plain

    def __getattr__(self, name):
        return getattr(LOG.get() or self.plain, name)

    def write(self, text):
        stream = LOG.get() or self.plain
        try:
            return stream.write(text)
        except ValueError:  # the attempt has ended, and something of it still writes
            return self.plain.write(text)

    def flush(self):
        stream = LOG.get() or self.plain
        if not stream.closed:
            stream.flush()


def route() -> None:
    """Replaces the standard streams, and those that log handlers have kept."""
    routed = {sys.stdout: Routed(sys.stdout), sys.stderr: Routed(sys.stderr)}
    handlers = {id(handler): handler for handler in logging.root.handlers}
    for logger in list(logging.root.manager.loggerDict.values()):
        for handler in getattr(logger, "handlers", []):
            handlers[id(handler)] = handler
    for handler in handlers.values():
        stream = getattr(handler, "stream", None)
        if stream in (sys.stdout, sys.stderr):
            handler.stream = routed[stream]
    sys.stdout, sys.stderr = routed[sys.stdout], routed[sys.stderr]


class Worker:
    """The attempts of this process."""

    def __init__(self, control):
        self.control, self.tasks, self.controller = control, {}, None
        self.loading = asyncio.Lock()
        self.gone = asyncio.Event()

    def read(self) -> None:
        message, files = self.control.receive()
        if message is None:
            os._exit(0)
        if message["do"] == "run":
            task = asyncio.get_running_loop().create_task(self.run(message, files[0]))
            self.tasks[message["request"]] = task
        elif message["do"] == "cancel" and message["request"] in self.tasks:
            self.tasks[message["request"]].cancel()

    async def run(self, message: dict, log: int) -> None:
        request, code = message["request"], 1
        os.set_inheritable(log, False)  # programs that an attempt starts would hold the logs of its neighbours
        stream = open(log, "w", buffering=1, encoding="utf-8", errors="backslashreplace")
        LOG.set(stream)
        self.control.send(started=request, pid=os.getpid())
        try:
            await self.attempt(message)
            code = 0
        except asyncio.CancelledError:
            print("The task was cancelled.", file=sys.stderr)
        except SystemExit as error:
            if error.code is not None and not isinstance(error.code, int):
                print(error.code, file=sys.stderr)
            code = error.code if isinstance(error.code, int) else int(error.code is not None)
        except BaseException:
            traceback.print_exc(file=stream)
        finally:
            try:
                stream.close()
            except OSError:
                pass
            del self.tasks[request]
            self.control.send(ended=request, exited=True, code=code)

    async def attempt(self, message: dict) -> None:
        import flyte.errors
        from flyte._internal.runtime import rusty

        given = [word for option, name in VARIABLES.items() if message["env"].get(name) for word in (option, message["env"][name])]
        options = preload.parse(["a0", *given, *message["args"][1:]])
        for option, name in (("run_name", "RUN_NAME"), ("name", "ACTION_NAME")):
            if options[option].startswith("{{"):
                options[option] = message["env"].get(name, "")
        try:
            task, bundle = await self.load(rusty, options)
            await rusty.run_task(
                task, self.controller, options["org"], options["project"], options["domain"], options["run_name"], options["name"],
                options["raw_data_path"], options["outputs_path"], options["run_base_dir"], options["version"],
                image_cache=options["image_cache"], checkpoint_path=options["checkpoint_path"],
                prev_checkpoint=options["prev_checkpoint"], code_bundle=bundle, input_path=options["inputs"],
                run_start_time=start_time(options["run_start_time"]),
            )  # fmt: skip
        except (flyte.errors.RuntimeSystemError, flyte.errors.RuntimeUserError) as error:
            await report(error, options["outputs_path"])

    async def load(self, rusty, options: dict):
        """The task and its bundle. A failure is reported as a0 does it."""
        async with self.loading:
            if self.controller is None:
                endpoint = os.environ.get("_U_EP_OVERRIDE") or os.environ.get("FLYTE_ADMIN_ENDPOINT")
                self.controller = await rusty.create_controller(**({"endpoint": endpoint} if endpoint else {}))
            try:
                if options["pkl"]:
                    bundle, task = await rusty.download_load_pkl(options["dest"], options["version"], options["pkl"])
                    return task, bundle
                bundle = None
                if options["tgz"]:
                    bundle = await rusty.download_tgz(options["dest"], options["version"], options["tgz"])
                return rusty.load_task_from_code_bundle(options["resolver"], list(options["resolver_args"])), bundle
            except Exception as error:
                await report(error, options["outputs_path"])
                raise


async def report(error: Exception, path: str) -> None:
    from flyte._internal.runtime.convert import convert_from_native_to_error
    from flyte._internal.runtime.io import upload_error

    converted = convert_from_native_to_error(error)
    await upload_error(converted.err, path, recoverable=converted.recoverable)


def start_time(text):
    """As a0 reads it."""
    epoch = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
    if not text or text.startswith("{{"):
        return epoch
    try:
        text = text.rstrip()
        parsed = datetime.datetime.fromisoformat(text[:-1] + "+00:00" if text.endswith("Z") else text)
    except ValueError:
        return epoch
    return parsed.replace(tzinfo=parsed.tzinfo or datetime.timezone.utc).astimezone(datetime.timezone.utc)


def serve(control, message: dict) -> None:
    """Runs attempts until the worker hangs up."""
    sys.path.insert(0, ".")
    route()

    async def forever():
        worker = Worker(control)
        asyncio.get_running_loop().add_reader(control.connection.fileno(), worker.read)
        await worker.gone.wait()

    asyncio.run(forever())
