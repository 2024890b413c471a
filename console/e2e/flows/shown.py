"""What the console is looked at with: runs that end well, that fail, that wait, that say much and that show something."""

import asyncio
import pathlib
from dataclasses import dataclass
from datetime import datetime
from enum import Enum

import flyte
import flyte.io
import flyte.report

env = flyte.TaskEnvironment(name="shown", resources=flyte.Resources(cpu="100m", memory="200Mi"))

# Its tasks run in workers.
reused = flyte.TaskEnvironment(name="reused", resources=flyte.Resources(cpu="100m", memory="200Mi"), reusable=flyte.ReusePolicy(replicas=(1, 2), idle_ttl=600))


@dataclass
class Shape:
    """An input that is more than a number."""

    name: str
    sides: int


@env.task
async def square(x: int) -> int:
    return x * x


@env.task
async def squares(n: int = 4, words: str = "as they come", shape: Shape | None = None) -> int:
    """Sums the squares below n; every part is an action of its own."""
    print(f"squaring {n} numbers, {words}", flush=True)
    with flyte.group("parts"):
        return sum(await asyncio.gather(*(square(i) for i in range(n))))


@env.task
async def refuse(message: str) -> int:
    raise ValueError(message)


@env.task
async def failing(message: str = "the oven is cold") -> int:
    """Two steps end well, the third does not."""
    await square(2)
    await square(3)
    return await refuse(message)


@env.task
async def score_customers(shard: int, region: str, depth: int = 10, model: str = "large") -> int:
    return {"emea": 1, "apac": 2, "amer": 3}[region] * shard * depth


@env.task
def churn(shards: int = 40) -> int:
    """Scores shards, of which two are of a region that the table does not have. Returns how many failed."""
    regions = ["latam" if shard in (7, 23) else ("emea", "apac", "amer")[shard % 3] for shard in range(shards)]
    scores = list(flyte.map(score_customers, list(range(shards)), regions, return_exceptions=True))
    return sum(isinstance(score, Exception) for score in scores)


@env.task
async def asking(prompt: str = "Shall it go on?") -> str:
    """Waits until a person says yes or no."""
    condition = await flyte.new_condition.aio("go-on", prompt=prompt, data_type=bool)
    return "yes" if await condition.wait.aio() else "no"


@env.task
async def long(seconds: int = 600) -> int:
    """Runs until somebody has enough of it."""
    print("this takes long", flush=True)
    await asyncio.sleep(seconds)
    return seconds


@env.task
async def talking(lines: int = 3000) -> int:
    """Says much, in colour, and one thing that is an error."""
    for n in range(lines):
        if n == lines // 2:
            print("\x1b[31mERROR the needle is here\x1b[0m", flush=True)
        else:
            print(f"\x1b[32mline\x1b[0m {n} of the hay", flush=True)
    return lines


@env.task
async def training(words: str = "weights") -> flyte.io.File:
    """Leaves a file, which an app uses."""
    path = pathlib.Path("model.txt")
    path.write_text(words)
    return await flyte.io.File.from_local(str(path))


@env.task
async def packing(parts: int = 2) -> tuple[list[flyte.io.File], flyte.io.Dir]:
    """Returns files in a list and a directory."""
    folder = pathlib.Path("parts")
    (folder / "deep").mkdir(parents=True)
    for n in range(parts):
        (folder / "deep" / f"part-{n}.txt").write_text(f"part {n}")
    files = [await flyte.io.File.from_local(str(folder / "deep" / f"part-{n}.txt")) for n in range(parts)]
    return files, await flyte.io.Dir.from_local(str(folder))


@env.task(report=True)
async def drawing(title: str = "A small report") -> str:
    """Leaves a report whose script tries what it may not."""
    page = (
        f"<h1>{title}</h1><p id='verdict'>script did not run</p><script>let said = 'ran';"
        "try { said += ', storage ' + window.localStorage.length } catch { said += ', no storage' }"
        "try { said += ', parent ' + window.parent.document.title } catch { said += ', no parent' }"
        "document.getElementById('verdict').textContent = said</script>"
    )
    await flyte.report.replace.aio(page, do_flush=True)
    return title


@env.task(report=True)
async def growing(steps: int = 30) -> int:
    """Writes a long report again and again, with a second tab."""
    for step in range(1, steps + 1):
        rows = "".join(f"<p>row {n} of step {step}</p>" for n in range(200))
        flyte.report.get_tab("Second").replace(f"<p>second tab at step {step}</p>")
        await flyte.report.replace.aio(f"<h1>Step {step}</h1>{rows}", do_flush=True)
        await asyncio.sleep(1)
    return steps


PRYING = """<h1>Prying</h1><p id="verdict"></p><script>
const base = "BASE", found = {};
const pry = (what, look) => { try { found[what] = "read " + look(); } catch { found[what] = "refused"; } };
pry("storage", () => localStorage.length);
pry("session", () => sessionStorage.length);
pry("cookies", () => document.cookie);
pry("database", () => indexedDB.open("x"));
pry("parent", () => { if (parent === self) throw 0; return parent.document.title; });
pry("top", () => { if (top === self) throw 0; return top.document.title; });
pry("opener", () => opener.document.title);
pry("leading away", () => { if (top === self) throw 0; top.location = "about:blank"; return "led"; });
const call = (what, init) => fetch(base + "/flyteidl2.project.ProjectService/ListProjects", { method: "POST", credentials: "include", ...init })
  .then(async (r) => { found[what] = "read " + (await r.text()); }, () => { found[what] = "refused"; });
Promise.all([
  call("api", { headers: { "content-type": "application/json" }, body: "{}" }),
  call("simple call", { headers: { "content-type": "text/plain" }, body: "{}" }),
]).then(() => { document.getElementById("verdict").textContent = JSON.stringify(found); });
</script>"""


@env.task(report=True)
async def prying(base: str) -> None:
    """Leaves a report that tries to reach everything of the console."""
    await flyte.report.replace.aio(PRYING.replace("BASE", base), do_flush=True)


class Unit(Enum):
    """What lengths are told in."""

    BYTES = "bytes"
    LINES = "lines"


@env.task
async def measure(file: flyte.io.File, unit: Unit = Unit.BYTES, tags: list[str] | None = None, exact: bool = True, since: datetime | None = None) -> str:
    """Says how long a file is."""
    async with file.open("rb") as opened:
        content = bytes(await opened.read())
    length = len(content) if unit is Unit.BYTES else content.count(b"\n")
    return f"{length} {unit.value}, {' and '.join(tags or ['no tags'])}, {'exact' if exact else 'about'}"


@env.task
async def total(frame: flyte.io.DataFrame) -> int:
    """Adds up the numbers of a table."""
    import pandas  # not above: it is slow to load, and the others need it not

    return int((await frame.open(pandas.DataFrame).all())["n"].sum())


# What runs if a page takes it for HTML, and what the console's policy would report.
HOSTILE = """"'><img src="/x-canary" onerror="window.owned=1"><script>window.owned=1</script><a href="javascript:window.owned=1">link</a>"""
HOSTILE_LINK = "javascript:window.owned=1"


@env.task(report=True)
async def hostile(text: str = HOSTILE, link: str = HOSTILE_LINK) -> str:
    """Says [nothing](javascript:window.owned=1) good: <img src="/x-canary" onerror="window.owned=1">"""
    await flyte.report.replace.aio("<h1>Hostile</h1><script>for (const w of [self, parent, top]) try { w.owned = 1 } catch {}</script>", do_flush=True)
    print(text, flush=True)
    print(f"\x1b]8;;{link}\x1b\\link\x1b]8;;\x1b\\ \x1b[31m{text}\x1b[0m {link}", flush=True)
    with flyte.group(text):
        try:
            await refuse(text)
        except Exception:  # the client's own class
            pass
    condition = await flyte.new_condition.aio("go-on", prompt=f"{text} [{text}]({link})", prompt_type="markdown", data_type=bool, description=text)
    if await condition.wait.aio():
        raise ValueError(text)
    return link


@reused.task
async def half(x: int) -> int:
    print("half of", x)
    return x // 2


@reused.task
async def reusing(n: int = 3) -> int:
    return sum([await half(x) for x in range(n)])
