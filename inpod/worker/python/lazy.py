"""Makes two parts of the SDK when a task first uses them: its client, and the controller, which records children.

Both cost more than a small task, and most tasks of a reusable environment use neither. Where a release of the SDK does not have
the parts that are replaced here, it stays as it is.

The client of one trivial task takes 40 ms of CPU time, the controller 35 ms, all the rest 18 ms.
"""

import asyncio
import threading


class Controller:
    """The controller of an attempt. It stands for the SDK's own, and makes it at the first use."""

    def __init__(self, make):
        self._make, self._made, self._lock, self._waiting = make, None, threading.Lock(), []

    def __getattr__(self, name):
        return getattr(self._real(), name)

    def _real(self):
        with self._lock:
            if self._made is None:
                self._made = self._make()
                for loop, event in self._waiting:
                    loop.call_soon_threadsafe(event.set)
            return self._made

    async def watch_for_errors(self):
        event = asyncio.Event()
        with self._lock:
            if self._made is not None:
                event.set()
            self._waiting.append((asyncio.get_running_loop(), event))
        await event.wait()
        await self._made.watch_for_errors()

    async def finalize_parent_action(self, *args, **kwargs):
        if self._made is not None:
            await self._made.finalize_parent_action(*args, **kwargs)

    async def stop(self):
        if self._made is not None:
            await self._made.stop()


class Client:
    """The client of an attempt, likewise. The SDK makes it in a coroutine, so it is made in a thread that has a loop."""

    def __init__(self, make):
        self._make, self._made, self._lock = make, None, threading.Lock()

    def __getattr__(self, name):
        return getattr(self._real(), name)

    def _real(self):
        with self._lock:
            if self._made is None:
                made = []

                def run():
                    try:
                        made.append((asyncio.run(self._make()), None))
                    except BaseException as error:
                        made.append((None, error))

                thread = threading.Thread(target=run, name="client")
                thread.start()
                thread.join()
                self._made, error = made[0]
                if error is not None:
                    raise error
            return self._made


def find_plugins() -> None:
    """Looks for types that other packages define, once for all tasks if there are none. Some start threads when they are loaded."""
    import importlib.metadata

    import flyte.types as types

    find = getattr(types, "_load_custom_type_transformers", None)
    if find is not None and not importlib.metadata.entry_points(group="flyte.plugins.types"):
        find()


def install() -> None:
    import flyte._initialize as initialize
    import flyte._internal.controllers as controllers

    make, client = getattr(controllers, "create_controller", None), getattr(initialize, "_initialize_client", None)
    state = getattr(controllers, "_ControllerState", None)
    if make is not None and hasattr(state, "controller") and hasattr(state, "lock"):

        def create_controller(ct, **kwargs):
            if ct != "remote":
                return make(ct, **kwargs)

            def real():
                made = make(ct, **kwargs)
                with state.lock:
                    state.controller = one
                return made

            one = Controller(real)
            with state.lock:
                state.controller = one
            return one

        controllers.create_controller = create_controller
    if client is not None:

        async def initialize_client(*args, **kwargs):
            return Client(lambda: client(*args, **kwargs))

        initialize._initialize_client = initialize_client
