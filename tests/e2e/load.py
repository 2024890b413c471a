"""Requests at a steady rate, each of them recorded."""

from __future__ import annotations

import dataclasses
import http.client
import json
import threading
import time
import urllib.parse

from server import eventually


@dataclasses.dataclass
class Answer:
    """What became of one request. The status is 0 where there was no answer, and -1 where it was that of another request; the
    text says why."""

    method: str
    began: float
    ended: float
    status: int
    text: str
    content: dict


class Load:
    """GETs and POSTs to a URL, as long as the block lasts. Programs answer with a JSON object that repeats the body."""

    WORKERS = 8  # and so this many requests are in flight at most

    def __init__(self, url: str, rate: float = 100):
        """The rate is that of all workers together, in requests a second. It is less where the machine is too slow."""
        self.url, self.rate = urllib.parse.urlsplit(url), rate
        self.answers: list[Answer] = []
        self._over = threading.Event()
        self._workers = [threading.Thread(target=self._work, args=[turn]) for turn in range(self.WORKERS)]

    def __enter__(self) -> Load:
        for worker in self._workers:
            worker.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for worker in self._workers:
            worker.join()

    def more(self, count: int) -> None:
        """Waits until so many more requests have ended."""
        until = len(self.answers) + count
        eventually(lambda: len(self.answers) >= until, what=f"{count} more requests to {self.url.geturl()}")

    def broken(self) -> list[Answer]:
        return [answer for answer in list(self.answers) if answer.status != 200]

    def pids(self, since: float = 0) -> set[int]:
        """The processes that have answered requests which began after a moment."""
        return {answer.content["pid"] for answer in list(self.answers) if answer.status == 200 and answer.began > since}

    def _work(self, turn: int) -> None:
        connection = http.client.HTTPConnection(self.url.hostname, self.url.port, timeout=120)
        step = self.WORKERS / self.rate
        due, number = time.monotonic() + turn / self.rate, 0
        while not self._over.wait(max(0.0, due - time.monotonic())):
            due, number = max(due + step, time.monotonic()), number + 1
            self.answers.append(self._ask(connection, f"{turn}/{number}" if number % 2 else None))
        connection.close()

    def _ask(self, connection: http.client.HTTPConnection, body: str | None) -> Answer:
        method, began = "POST" if body else "GET", time.monotonic()
        try:
            connection.request(method, self.url.path, body)
            response = connection.getresponse()
            text = response.read().decode()
            content = json.loads(text) if response.status == 200 else {}
        except (OSError, http.client.HTTPException) as error:
            connection.close()  # the next request opens it again
            return Answer(method, began, time.monotonic(), 0, repr(error), {})
        if response.status == 200 and content["body"] != (body or ""):
            return Answer(method, began, time.monotonic(), -1, f"{body} was answered with {text}", {})
        return Answer(method, began, time.monotonic(), response.status, text, content)
