"""Random numbers that an import takes from the system in a way that can be had again after a fork.

numpy gives a source that is made without a seed an entropy of 128 bits from the system. Where the source is still as this made it, and no
code can have seen what follows from it, an attempt gives it an entropy of its own: that is what it has in a process that imports the code
itself. tempfile makes names, from a source that it makes anew in each process. All else is refused.
"""

import functools
import gc
import os
import re
import sys

#: What makes a copy of a source, which then gets the state of its original.
COPY = ("numpy.random._pickle", "__bit_generator_ctor")

#: Code that takes a seed which no program depends on, by its module and function, and why.
HARMLESS = {
    ("scipy.stats._distribution_infrastructure", "_generate_example"): "examples in documentation, of which it says that they may vary",
}

#: Code that takes a name from tempfile and leaves nothing that has the name, and why.
PASSING = {
    ("tempfile", "_get_default_tempdir"): "a file that shows whether a directory can be written to",
    ("joblib._multiprocessing_helpers", "<module>"): "a semaphore that shows whether there are any",
}

#: Packages with compiled code that comes with its text, whose sources without a seed nothing reads while they are imported, and why.
KNOWN = {"sklearn": "they are default values of arguments, for calls after the import, as of 1.9.1"}

#: Words without which a program gets neither at the seed of numpy's sources nor at their state before the first number, which tells it.
INNER = re.compile(rb"bit_generator|seed_seq|SeedSequence|generate_state|get_state")

#: The same for packages that are not known, which may also copy a source with all that is in it.
INNER_OR_COPY = re.compile(INNER.pattern + rb"|pickle|getstate|__reduce")

WHY = "makes or draws random numbers, which would be the same in all attempts"


def references(only: list) -> int:
    """Counts who refers to the one element of a list, besides the list."""
    return sys.getrefcount(only[0]) - 2


def called(frame) -> tuple:
    return str(frame.f_globals.get("__name__")), frame.f_code.co_name


def stack(frame) -> list:
    """The modules and functions that are being run, the innermost first."""
    calls = []
    while frame is not None:
        calls.append(called(frame))
        frame = frame.f_back
    return calls


class Entropy:
    """What numpy takes from the system."""

    def __init__(self):
        # taken has an entropy, in a list of its own, and the packages that have asked for it. copied has those that copy sources.
        self.numpy, self.plain, self.urandom, self.taken, self.copied, self.sources = None, None, os.urandom, [], set(), []

    def watch(self, module) -> None:
        """Watches numpy.random.bit_generator, which makes all seeds."""
        if not hasattr(module, "randbits") or not hasattr(module.BitGenerator, "seed_seq"):  # numpy 1.24 and before
            return  # what it takes then counts as drawn

        def randbits(bits):
            entropy, calls = int.from_bytes(self.urandom(-(-bits // 8)), "big") >> (-bits % 8), stack(sys._getframe(1))
            if calls[0] == COPY:
                self.copied.add(asking(calls)[-1])
            elif not HARMLESS.keys() & calls:
                self.taken.append(([entropy], asking(calls)))
            return entropy

        self.numpy, self.plain, module.randbits = module, module.randbits, randbits

    def forget(self) -> None:
        """Forgets what numpy's own source has taken, which forkable.reseed gives another seed."""
        self.taken.clear()

    def __enter__(self):
        if "numpy.random.bit_generator" in sys.modules:
            self.watch(sys.modules["numpy.random.bit_generator"])
        return self

    def __exit__(self, *_):
        if self.numpy is not None:
            self.numpy.randbits = self.plain

    def finish(self, modules: dict) -> str:
        """Finds the sources that attempts give another entropy. Returns what is refused, if anything. modules are those of the import."""
        if not self.taken:
            return ""
        gc.collect()  # a source in a cycle may have been drawn from
        found, copied = Found(self.numpy), {part(package) for package in self.copied}
        seen = {package: who_looks(package, modules) for package in {name for _, packages in self.taken for name in packages}}
        for entropy, packages in self.taken:
            looks = next((seen[package] for package in packages if seen[package]), "")
            source = None if looks or part(packages[-1]) in copied else found.untouched(entropy)
            if source is None:
                return f"it {WHY}: in {', '.join(packages)}" + (f"; {looks}" if looks else "")
            self.sources.append(source)
        self.taken.clear()
        return ""

    def resume(self) -> str:
        """Gives the sources of an attempt entropies of their own. The objects stay the same: other objects have them. Returns what is
        refused, if anything."""
        for sequence, bits in self.sources:
            entropy = sequence.entropy
            sequence.__init__(pool_size=sequence.pool_size)
            if sequence.entropy == entropy:
                return "numpy gives a seed no other entropy"
            bits.state = type(bits)(sequence).state
        return ""


def asking(calls: list) -> list:
    """The packages of the code that asks for an entropy, up to the one whose import does so."""
    packages = {}
    for name, function in calls:
        package = name.partition(".")[0]
        if package not in sys.stdlib_module_names and package != "numpy":
            packages.pop(package, None)
            packages[package] = True
            if function == "<module>":
                return list(packages)
    return ["a thread"]


class Found:
    """The sources of numpy that are alive, by what they are made of."""

    def __init__(self, numpy):
        self.numpy, self.sequences, self.bits, self.users = numpy, {}, {}, {}
        self.kinds = kinds = sys.modules["numpy.random"]
        sequence, bits = numpy.SeedSequence, numpy.BitGenerator
        for one in gc.get_objects():
            kind = type(one)
            if issubclass(kind, sequence):  # of which a subclass may have attributes of its own
                self.sequences.setdefault(id(sequence.entropy.__get__(one)), []).append(one)
            elif issubclass(kind, bits):
                self.bits.setdefault(id(bits.seed_seq.__get__(one)), []).append(one)
            elif issubclass(kind, (kinds.Generator, kinds.RandomState)):
                self.users.setdefault(id(one._bit_generator), []).append(one)

    def untouched(self, entropy: list):
        """The seed and the bits of the one source that is made of an entropy, if all is as it was made. None otherwise: who refers to a
        part of it may have read it."""
        sequences = self.sequences.get(id(entropy[0]), [])
        if len(sequences) != 1 or references(entropy) != 1 or references(sequences) != 1:
            return None
        bits = self.bits.get(id(sequences[0]), [])
        if len(bits) != 1 or references(bits) != 1:
            return None
        users = self.users.get(id(bits[0]), [])
        return (sequences[0], bits[0]) if len(users) == 1 and self.made(users[0], bits[0], sequences[0]) else None

    def made(self, user, bits, sequence) -> bool:
        """Reports whether a source is as it was made, of numpy's own types."""
        if type(user) not in (self.kinds.Generator, self.kinds.RandomState) or not type(bits).__module__.startswith("numpy.random."):
            return False
        if type(sequence) is not self.numpy.SeedSequence or sequence.spawn_key or sequence.n_children_spawned:
            return False
        kept = user.get_state(legacy=False) if type(user) is self.kinds.RandomState else {}
        if kept.get("has_gauss") or kept.get("gauss"):
            return False
        return comparable(bits.state) == comparable(type(bits)(sequence).state)


def comparable(state):
    """A state without arrays, which do not compare as others do."""
    if isinstance(state, dict):
        return {key: comparable(value) for key, value in state.items()}
    return state.tobytes() if hasattr(state, "tobytes") else state


# ---------------------------------------------------------------- who can have read a seed


def of(package: str) -> dict:
    """The modules of a package that are loaded."""
    return {name: module for name, module in list(sys.modules.items()) if name.partition(".")[0] == package}


def known(package: str) -> bool:
    """Reports whether a package is one of KNOWN, and not the user's own of such a name."""
    return package in KNOWN and all(map(installed, of(package).values()))


def part(package: str) -> str:
    """What a package is a part of: itself if it is known, or the user's program."""
    return package if known(package) else ""


def who_looks(package: str, modules: dict) -> str:
    """What may have looked into the sources of a package; empty if nothing can have. Parts of a program use those of each other."""
    mine, trusted = of(package), known(package)
    if mine and not trusted:
        mine |= {name: module for name, module in modules.items() if not installed(module) and module is not sys.modules.get("__main__")}
    for name, module in mine.items():
        word = shown(INNER if trusted else INNER_OR_COPY, module, trusted)
        if word:
            return f"{name} has {word}"
    return "" if mine else f"{package} is no module"


def installed(module) -> bool:
    """Reports whether a module comes with the environment."""
    file = forkable.attribute(module, "__file__")
    return not isinstance(file, str) or os.path.normpath(file).startswith(folders())


@functools.cache
def folders() -> tuple:
    """Where the environment has its modules."""
    paths = [os.path.dirname(os.__file__)]
    if "site" in sys.modules:
        paths += sys.modules["site"].getsitepackages()
    return tuple({form(path) + os.sep for path in paths for form in (os.path.normpath, os.path.realpath)})


def shown(words: re.Pattern, module, trusted: bool) -> str:
    """One of the words that a module has, or that it cannot be read. The text of compiled code counts, and that of a trusted package may be
    missing: Cython adds modules that have none."""
    file = forkable.attribute(module, "__file__")
    if not isinstance(file, str):  # nothing runs in a directory, or before a module is used
        return "" if forkable.lazy(module) or forkable.attribute(module, "__path__") is not None else "no file"
    texts = [file]
    if not file.endswith(".py"):
        if not trusted or not file.endswith(".so"):
            return "a file that is no Python"
        stem = os.path.join(os.path.dirname(file), os.path.basename(file).partition(".")[0])
        texts = [stem + end for end in (".pyx", ".pyx.tp") if os.path.exists(stem + end)]
    for text in texts:
        try:
            with open(text, "rb") as opened:
                word = words.search(opened.read())
        except OSError as error:
            return f"no file: {error}"
        if word:
            return word.group().decode()
    return ""


# ---------------------------------------------------------------- names


class Names:
    """Random names that modules take from tempfile, and the sources that these come from."""

    def __init__(self):
        self.taken, self.kind, self.plain = 0, None, None

    def watch(self, tempfile) -> None:
        self.kind, self.plain = tempfile._RandomNameSequence, tempfile._RandomNameSequence.__next__

        def __next__(sequence):
            self.taken += called(sys._getframe(1)) not in PASSING
            return self.plain(sequence)

        self.kind.__next__ = __next__

    def __enter__(self):
        if "tempfile" in sys.modules:
            self.watch(sys.modules["tempfile"])
        return self

    def __exit__(self, *_):
        if self.kind is not None:
            self.kind.__next__ = self.plain

    def sources(self) -> set:
        """The sources that are made anew in another process."""
        if self.kind is None:
            return set()
        return {id(one._rng) for one in gc.get_objects() if type(one) is self.kind and getattr(one, "_rng_pid", None) == os.getpid()}
