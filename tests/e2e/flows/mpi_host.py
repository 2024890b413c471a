"""What a worker of an MPIJob runs in place of an ssh server: it starts one program, which the launcher writes into the directory of the host."""

PROGRAM = """
import os, pathlib, socket, subprocess, sys, time
place = pathlib.Path("/tmp/mpi-hosts") / os.environ.get("HOSTNAME", socket.gethostname())
place.mkdir(parents=True)
(place / "new").write_text(str(os.getpid()))
(place / "new").rename(place / "host")
print("host", place.name, "is here", flush=True)
while not (place / "program").exists():
    time.sleep(0.1)
code = subprocess.run([sys.executable, "-c", (place / "program").read_text()]).returncode
(place / "end").write_text(str(code))
(place / "end").rename(place / "code")
while True:
    time.sleep(60)
"""
