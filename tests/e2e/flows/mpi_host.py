"""What a worker of an MPIJob runs in place of an ssh server: it starts the program that the launcher writes into the directory of the
host. Another launcher, after the first was lost, brings its own, and the members of the first end, as those of mpirun do."""

PROGRAM = """
import os, pathlib, shutil, socket, subprocess, sys, time
place = pathlib.Path("/tmp/mpi-hosts") / os.environ.get("HOSTNAME", socket.gethostname())
shutil.rmtree(place, ignore_errors=True)
place.mkdir(parents=True)
(place / "new").write_text(str(os.getpid()))
(place / "new").rename(place / "host")
print("host", place.name, "is here", flush=True)
member = None
while True:
    if (place / "program").exists():
        if member is not None:
            member.kill()
            member.wait()
        (place / "code").unlink(missing_ok=True)
        (place / "program").rename(place / "running")
        member = subprocess.Popen([sys.executable, "-c", (place / "running").read_text()])
    if member is not None and member.poll() is not None:
        (place / "end").write_text(str(member.returncode))
        (place / "end").rename(place / "code")
        member = None
    time.sleep(0.1)
"""
