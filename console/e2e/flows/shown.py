"""What the console is looked at with: runs that end well, that fail, that wait, that say much and that show something."""

import asyncio
from dataclasses import dataclass

import flyte
import flyte.report

env = flyte.TaskEnvironment(name="shown", resources=flyte.Resources(cpu="100m", memory="200Mi"))


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
