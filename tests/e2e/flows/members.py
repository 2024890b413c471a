"""Tasks whose processes are several pods that talk to each other, with no more than the SDK (ClusteredTaskEnvironment)."""

import os
import pathlib
import signal
import socket
import time

import flyte
from flyte.clustered import ClusteredTaskEnvironment, ClusterFailurePolicy, JaxRun

small = flyte.Resources(cpu="100m", memory="250Mi")
pair = ClusteredTaskEnvironment(name="pair", replicas=2, nproc_per_node=1, runtime=JaxRun(), resources=small)
again = ClusteredTaskEnvironment(
    name="again", replicas=2, nproc_per_node=1, runtime=JaxRun(), resources=small, failure_policy=ClusterFailurePolicy(max_restarts=1),
)


def rank() -> int:
    return int(os.environ["RANK"])


def master() -> tuple[str, int]:
    return os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])


def connect() -> socket.socket:
    """A connection to the first member, which may not listen yet."""
    deadline = time.monotonic() + 300
    while True:
        try:
            return socket.create_connection(master(), timeout=300)
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


@pair.task
def talk(word: str) -> str:
    """The first member listens on the port that all first members have; the other one sends it a word, and its own name."""
    print(f"member {rank()} of {os.environ['WORLD_SIZE']} says {word}", flush=True)
    if rank():
        with connect() as to:
            to.sendall(f"{word} from {socket.gethostname()}".encode())
            return ""
    with socket.create_server(("", master()[1])) as server:
        peer, where = server.accept()
        with peer:
            text = b"".join(iter(lambda: peer.recv(1000), b"")).decode()
        own = socket.gethostbyname(master()[0])
        return f"{text.split(' from ')[0]} {where[0] != own} {own.startswith('127.') and own != '127.0.0.1'}"


@pair.task
def second_fails(folder: str) -> str:
    """The first member writes its output; the second one fails before."""
    if rank():
        raise ValueError("the second member fails")
    while not (pathlib.Path(folder) / "enough").exists():
        time.sleep(0.1)
    return "fine"


@pair.task
def waits(folder: str) -> str:
    """Each member says which process it is and waits for a file."""
    (pathlib.Path(folder) / f"pid-{rank()}").write_text(str(os.getpid()))
    print(f"member {rank()} waits", flush=True)
    while not (pathlib.Path(folder) / "enough").exists():
        time.sleep(0.1)
    return "done"


@again.task
def fails_once(folder: str) -> str:
    """The second member is killed on the first try of the cluster."""
    first = os.environ["JOBSET_RESTART_ATTEMPT"] == "0"
    if rank() and first:
        os.kill(os.getpid(), signal.SIGKILL)
    while first:
        time.sleep(0.1)  # until this member is started again
    return os.environ["JOBSET_RESTART_ATTEMPT"]
