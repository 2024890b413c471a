"""One API and two clusters: each has an API server with a node of its own and a controller, which reaches the API through a relay that
tests can cut. Database and object store are shared."""

from __future__ import annotations

import asyncio
import contextlib
import json
import pathlib
import re
import threading

from conftest import connect
from outside import Outside, Replica, slim
from server import eventually, free_port

INSTALLATION = "neighbours"
# A bucket that only the API and the controller of east are configured with.
EASTERN = "eastern"


class Relay:
    """Stands between a controller and the API. Connections that are there end when it is cut, and new ones are refused."""

    def __init__(self, behind: int):
        self.port, self.behind = free_port(), behind
        self._open = True
        self._writers: set[asyncio.StreamWriter] = set()
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()
        asyncio.run_coroutine_threadsafe(asyncio.start_server(self._serve, "127.0.0.1", self.port), self._loop).result()

    def cut(self) -> None:
        self._loop.call_soon_threadsafe(self._cut)

    def _cut(self) -> None:
        self._open = False
        for writer in self._writers:
            writer.transport.abort()

    def join(self) -> None:
        self._open = True

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if not self._open:
            writer.transport.abort()
            return
        with contextlib.suppress(OSError):
            there = await asyncio.open_connection("127.0.0.1", self.behind)
            pair = {writer, there[1]}
            self._writers |= pair
            await asyncio.gather(self._copy(reader, there[1]), self._copy(there[0], writer))
            self._writers -= pair

    @staticmethod
    async def _copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while chunk := await source.read(1 << 16):
                sink.write(chunk)
                await sink.drain()
        sink.close()


class Neighbour(Outside):
    """A cluster that shares database and object store with another one."""

    def __init__(self, first: Outside, folder: pathlib.Path):
        folder.mkdir()
        super().__init__(folder)
        self.buckets = first.buckets
        self.ports |= {name: first.ports[name] for name in ("postgres", "s3")}

    def start(self) -> None:
        self._kubernetes()
        self._node()


def rewrite(replica: Replica, *without: str, **keys: object) -> None:
    """Changes the configuration of a process."""
    config = {**json.loads(replica.config.read_text()), **keys}
    for key in without:
        config.pop(key, None)
    replica.config.write_text(json.dumps(config))


class Neighbours:
    """The API, and the controllers of east and west. The API and east, but not west, are configured with the bucket `eastern`."""

    def __init__(self, folder: pathlib.Path, **api: object):
        self.east = Outside(folder)
        (self.east.buckets / EASTERN).mkdir(parents=True)
        self.west = Neighbour(self.east, folder / "west")
        self.clusters = {"east": self.east, "west": self.west}
        self.api = Replica(self.east, "api")
        common = {"replicas": {"installation": INSTALLATION}}
        rewrite(self.api, "kubernetes", "actions", "executor", **common, target="api", auth={"internalToken": "of the API"}, **api)
        with_eastern = self.storage(self.api) | {"extraPrefixes": [f"s3://{EASTERN}"]}
        rewrite(self.api, storage=with_eastern)
        self.relays: dict[str, Relay] = {}
        self.controllers: dict[str, Replica] = {}
        for name, outside in self.clusters.items():
            relay = self.relays[name] = Relay(self.api.port)
            controller = self.controllers[name] = Replica(outside, f"controller-{name}")
            pod = json.loads(controller.config.read_text())["executor"]["pod"]
            pod |= {"endpoint": self.api.endpoint, "defaultEnv": [*pod["defaultEnv"], f"CLUSTER={name}"]}
            rewrite(controller, "database", **common, target="controller", cluster={"id": name, "labels": [f"side={name}"]},
                    controlPlane={"url": f"http://127.0.0.1:{relay.port}", "credentialFile": str(self.credential(name))}, executor={"pod": pod})
        rewrite(self.controllers["east"], storage=with_eastern)

    @staticmethod
    def storage(replica: Replica) -> dict:
        return json.loads(replica.config.read_text())["storage"]

    def credential(self, name: str) -> pathlib.Path:
        return self.east.folder / f"credential-{name}"

    def start(self) -> None:
        self.east.start()
        self.west.start()
        self.api.start()
        connect(self.api)
        for name, controller in self.controllers.items():
            added = slim("clusters", "add", name, "--config", str(self.api.config))
            assert added.returncode == 0, added.stdout
            self.credential(name).write_text(re.search(r"fbc_\w+", added.stdout)[0])
            controller.start()
        for name in self.clusters:
            self.wait_for(name, "CLUSTER_HEALTH_CONNECTED")

    def stop(self) -> None:
        for replica in (*self.controllers.values(), self.api):
            replica.stop()
        self.west.stop()
        self.east.stop()

    def listed(self, name: str) -> dict:
        """What the registry says about a cluster."""
        status, answer = self.api.call("flytebinary.clusters.v1.ClusterRegistryService/ListClusters", {})
        assert status == 200, answer
        return next(one for one in answer["clusters"] if one["name"] == name)

    def wait_for(self, name: str, health: str) -> None:
        eventually(lambda: self.listed(name).get("health") == health, what=f"{name} as {health}, and not {self.listed(name)},")

    def explain(self, run: str, action: str = "a0") -> dict:
        status, answer = self.api.call("flytebinary.insight.v1.InsightService/ExplainAction", {"actionId": self.action(run, action)})
        assert status == 200, answer
        return answer

    def details(self, run: str, action: str = "a0") -> dict:
        status, answer = self.api.call("flyteidl2.workflow.RunService/GetActionDetails", {"actionId": self.action(run, action)})
        assert status == 200, answer
        return answer["details"]

    def attempts(self, run: str, action: str = "a0") -> list[str]:
        """The cluster of each attempt."""
        return [one["cluster"] for one in self.details(run, action)["attempts"]]

    def error(self, run: str, attempt: int) -> dict:
        """The error of an attempt of a run's first action."""
        return self.details(run)["attempts"][attempt - 1]["errorInfo"]

    @staticmethod
    def action(run: str, name: str) -> dict:
        return {"run": {"org": "local", "project": "flytesnacks", "domain": "development", "name": run}, "name": name}

    def pods(self, name: str, run: str) -> list[str]:
        """The pods of a run that are in a cluster and are not being deleted."""
        answer = self.clusters[name].kube(f"/api/v1/namespaces/flytesnacks-development/pods?labelSelector=flyte.org/run={run}")
        assert answer is not None, name
        return [pod["metadata"]["name"] for pod in answer["items"] if "deletionTimestamp" not in pod["metadata"]]
