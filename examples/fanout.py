"""A parent that fans out over two levels and returns a file and a report.

`main` splits the numbers below `limit` into blocks and starts one child per block. Each child starts a child of its own
that counts the primes in the block. The parent prints every block as it comes in, writes the table to a file, draws it
in its report and returns the total together with the file.

    flyte --config config.yaml run --follow fanout.py main --limit 120000 --blocks 12
"""

import asyncio
import html

import flyte
import flyte.io
import flyte.report

env = flyte.TaskEnvironment(name="fanout", resources=flyte.Resources(cpu="200m", memory="250Mi"))


@env.task
async def count_primes(start: int, stop: int) -> int:
    """Counts the primes in [start, stop) with a sieve of its own block."""
    sieve = bytearray([1]) * (stop - start)
    for factor in range(2, int(stop**0.5) + 1):
        first = max(factor * factor, (start + factor - 1) // factor * factor)
        for multiple in range(first, stop, factor):
            sieve[multiple - start] = 0
    return sum(sieve[max(0, 2 - start):])


@env.task
async def block(number: int, start: int, stop: int) -> tuple[int, int]:
    """One block: the work itself is a grandchild of the run's root."""
    return number, await count_primes(start, stop)


def table(counts: dict[int, int], width: int) -> str:
    """The report: one bar per block."""
    longest = max(counts.values(), default=1)
    rows = "".join(
        f"<tr><td>{html.escape(f'{n * width:,} – {(n + 1) * width:,}')}</td>"
        f"<td><div style='background:#5b5bd6;height:1em;width:{300 * found // longest}px'></div></td><td>{found:,}</td></tr>"
        for n, found in sorted(counts.items())
    )
    return f"<h2>Primes per block</h2><table>{rows}</table>"


@env.task(report=True)
async def main(limit: int = 80_000, blocks: int = 8) -> tuple[int, flyte.io.File]:
    """Counts the primes below limit, in parallel."""
    width = limit // blocks
    counts: dict[int, int] = {}
    with flyte.group("blocks"):
        pending = [asyncio.ensure_future(block(n, n * width, (n + 1) * width)) for n in range(blocks)]
        for done in asyncio.as_completed(pending):
            number, found = await done
            counts[number] = found
            print(f"block {number:2}: {found:6,} primes  ({len(counts)} of {blocks} blocks)", flush=True)
    await flyte.report.replace.aio(table(counts, width), do_flush=True)
    with open("primes.csv", "w", encoding="utf-8") as out:
        out.write("from,to,primes\n")
        out.writelines(f"{n * width},{(n + 1) * width},{found}\n" for n, found in sorted(counts.items()))
    print(f"total: {sum(counts.values()):,} primes below {width * blocks:,}", flush=True)
    return sum(counts.values()), await flyte.io.File.from_local("primes.csv")
