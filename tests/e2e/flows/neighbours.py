"""Two apps on the port that the SDK declares when a program names none. Each answers with what it knows of the request."""

import shlex

import flyte
import flyte.app

SMALL = flyte.Resources(cpu="100m", memory="200Mi")

# A plain WSGI program. It listens on all addresses, knows its port from nowhere but its own text, and asks itself by that port.
PROGRAM = """
import http.client, json, os, socketserver, wsgiref.simple_server
PORT = 8080
class Server(socketserver.ThreadingMixIn, wsgiref.simple_server.WSGIServer):
    daemon_threads = True
def serve(environ, respond):
    if environ["PATH_INFO"] == "/redirect":
        respond("302 Found", [("Location", "/search/100%")])
        return [b""]
    known = {name: value for name, value in environ.items() if isinstance(value, str)}
    known["NAME"], known["PID"] = os.environ["NAME"], os.getpid()
    if environ["PATH_INFO"] == "/itself":
        connection = http.client.HTTPConnection("localhost", PORT)
        connection.request("GET", "/")
        known = json.loads(connection.getresponse().read())
    respond("200 OK", [("Content-Type", "application/json")])
    return [json.dumps(known).encode()]
print("serving on", PORT, flush=True)
wsgiref.simple_server.make_server("", PORT, serve, Server).serve_forever()
"""


def program(text: str) -> list[str]:
    """The arguments of an app, which the SDK hands to a shell."""
    return ["python", "-u", "-c", shlex.quote(text)]


def neighbour(name: str, replicas: int = 1) -> flyte.app.AppEnvironment:
    """An app on port 8080."""
    return flyte.app.AppEnvironment(
        name=name, image=flyte.Image.from_debian_base(), args=program(PROGRAM), resources=SMALL, requires_auth=False,
        env_vars={"NAME": name}, scaling=flyte.app.Scaling(replicas=(replicas, replicas)),
    )


# It ends at each start, and says who it was.
broken = flyte.app.AppEnvironment(
    name="broken", image=flyte.Image.from_debian_base(), resources=SMALL, requires_auth=False,
    args=program("import os, sys; print('process', os.getpid(), 'breaks'); sys.exit(3)"),
    scaling=flyte.app.Scaling(replicas=(1, 1)),
)
