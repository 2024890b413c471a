"""Observes an import, so that what it does can be had by attempts that are forked after it.

Most imports read something of their process, or change something. Both are recorded here: what was read must be the same in an attempt, and
what was changed is done again in it. What can be neither compared nor repeated is refused, and attempts import the code themselves.
"""

import contextlib
import gc
import os
import random
import sys
import threading


class Refused(BaseException):
    """The code must be loaded after the fork. Not an Exception, which the code could catch."""


# ---------------------------------------------------------------- what is read


class Arguments(list):
    """sys.argv, which records what of it is read: the elements by their index, and the length by the name "count"."""

    recording = False

    def __init__(self, words):
        super().__init__(words)
        self.read = set()

    def _all(self):
        if self.recording:
            self.read.update(range(list.__len__(self)), ("count",))

    def __getitem__(self, index):
        if self.recording:
            length = list.__len__(self)
            if isinstance(index, slice):
                self.read.update(range(length)[index], () if within(index, length) else ("count",))
            else:
                self.read.update((index % length,) if -length <= index < length else (), () if 0 <= index < length else ("count",))
        return list.__getitem__(self, index)

    def __len__(self):
        if self.recording:
            self.read.add("count")
        return list.__len__(self)

    def __reduce_ex__(self, protocol):
        return list, (list(self),)

    def words(self) -> list:
        """All of it, which is not recorded."""
        return list.copy(self)


class Rest(Arguments):
    """Arguments that a parser does not know. Who reads one depends on all of sys.argv."""

    def __init__(self, words, of):
        super().__init__(words)
        self.of = of

    def _all(self):
        self.of._all()

    def __getitem__(self, index):
        self._all()
        return list.__getitem__(self, index)

    def __len__(self):
        self._all()
        return list.__len__(self)


class Parsers:
    """Parsers of argparse that read sys.argv during an import, and find in it what they find in each attempt: nothing that is theirs."""

    def __init__(self, arguments: Arguments):
        self.arguments, self.parsed, self.kind, self.plain = arguments, [], None, None

    def watch(self, argparse) -> None:
        """Watches the parsers of argparse. The module may be imported at any time: the SDK does without it."""
        self.kind, self.plain = argparse.ArgumentParser, argparse.ArgumentParser.parse_known_args
        plain, of = self.plain, self.arguments

        def parse_known_args(parser, args=None, namespace=None):
            if args is not None or namespace is not None or sys.argv is not of or not repeatable(parser):
                return plain(parser, args, namespace)
            words = of.words()
            found, rest = plain(parser, words[1:])
            if rest != words[1:]:
                of._all()
            rest = Rest(rest, of)
            self.parsed.append((parser, dict(vars(found)), rest))
            return found, rest

        self.kind.parse_known_args = parse_known_args

    def __enter__(self):
        if "argparse" in sys.modules:
            self.watch(sys.modules["argparse"])
        return self

    def __exit__(self, *_):
        if self.kind is not None:
            self.kind.parse_known_args = self.plain

    def resume(self) -> None:
        """Parses the arguments of an attempt. It is refused if they mean something else than those before."""
        words = self.arguments.words()
        for parser, found, rest in self.parsed:
            try:
                again, others = self.plain(parser, words[1:])
            except SystemExit as error:
                raise Refused("its parser refuses the arguments of the attempt") from error
            if vars(again) != found:
                raise Refused("its parser reads the arguments of the attempt")
            rest[:] = others


def repeatable(parser) -> bool:
    """Reports whether parsing again does nothing but parse again."""
    def plain(kind, name):
        return kind.__module__ == "argparse" and kind.__name__ == name

    return plain(type(parser), "ArgumentParser") and all(
        type(action).__module__ == "argparse" and not plain(type(action), "_SubParsersAction")
        and (action.type is None or action.type in (str, int, float, bool))
        for action in parser._actions
    )


def within(index: slice, length: int) -> bool:
    """Reports whether a slice gives the same of every longer list."""
    start, stop, step = index.start or 0, index.stop, 1 if index.step is None else index.step
    return stop is not None and 0 <= start and 0 <= stop <= length and step > 0


def whole(name: str):
    plain = getattr(list, name)

    def method(self, *arguments, **named):
        self._all()
        return plain(self, *arguments, **named)

    method.__name__ = name
    return method


for _name in ("__iter__", "__reversed__", "__contains__", "__eq__", "__ne__", "__lt__", "__gt__", "__le__", "__ge__", "__add__",
              "__mul__", "__rmul__", "__repr__", "copy", "index", "count"):  # fmt: skip
    setattr(Arguments, _name, whole(_name))
Arguments.__hash__ = None

#: What is recorded for a listing of all variables. No variable has such a name.
NAMES, ALL = "=", "*"

#: Packages that copy all variables and then look for some of them by name or by prefix, which is what counts.
LISTERS = {"pydantic_settings", "pydantic", "dotenv", "fsspec", "urllib.request"}


class Name(str):
    """The name of a variable in a listing. It records when code looks it up."""

    def __new__(cls, text, of, read):
        name = super().__new__(cls, text)
        name.of, name.read = of, read
        return name

    def found(self, answer):
        if answer is True:
            self.read.add(self.of)
        return answer

    __hash__ = str.__hash__

    def __eq__(self, other):
        return self.found(str.__eq__(self, other))

    def __ne__(self, other):
        return not self == other

    def startswith(self, *arguments):
        return self.found(str.startswith(self, *arguments))

    def endswith(self, *arguments):
        return self.found(str.endswith(self, *arguments))

    def __contains__(self, other):
        return self.found(str.__contains__(self, other))

    def __getitem__(self, index):
        return Name(str.__getitem__(self, index), self.of, self.read)

    def lower(self):
        return Name(str.lower(self), self.of, self.read)

    def upper(self):
        return Name(str.upper(self), self.of, self.read)

    def casefold(self):
        return Name(str.casefold(self), self.of, self.read)

    def __reduce__(self):
        self.read.add(self.of)
        return str, (str(self),)


class Variables(type(os.environ)):
    """os.environ, which records which variables are read. NAMES means that their names were listed, and ALL that it is not known which
    of the listed ones count."""

    names: set = set()

    def __getitem__(self, name):
        if not isinstance(name, Name):  # a listed name is recorded when code looks it up
            self.names.add(os.fsdecode(name))
        return super().__getitem__(name)

    def __iter__(self):
        # Which names there are counts, too: a program that finds none takes a default.
        self.names.add(NAMES if lister() in LISTERS else ALL)
        return (Name(name, name, self.names) for name in super().__iter__())


def lister() -> str:
    """The package of the code that lists the variables, or the module of the standard library that looks for some of them."""
    frame, package = sys._getframe(2), ""
    while frame is not None and (not package or package in sys.stdlib_module_names):
        name = str(frame.f_globals.get("__name__"))
        if name in LISTERS:
            return name
        package, frame = name.partition(".")[0], frame.f_back
    return package


# ---------------------------------------------------------------- what is started


class Threads:
    """Threads of Python that an import starts. They are held back until the fork, and then started in each attempt. Who waits for one
    before cannot be loaded before a fork."""

    def __init__(self):
        self.held = []
        self.plain = {"start": threading.Thread.start, "join": threading.Thread.join, "is_alive": threading.Thread.is_alive}
        self.wait = threading.Condition.wait

    def __enter__(self):
        held, plain, wait = self.held, self.plain, self.wait

        def start(thread):
            if thread in held:
                raise RuntimeError("threads can only be started once")
            held.append(thread)

        def used(method):
            def refuse(thread, *arguments, **named):
                if thread in held:
                    raise Refused("it waits for a thread that it starts")
                return method(thread, *arguments, **named)

            return refuse

        def waiting(condition, timeout=None):
            if held:
                raise Refused("it waits for a thread that it starts")
            return wait(condition, timeout)

        threading.Thread.start, threading.Thread.join, threading.Thread.is_alive = start, used(plain["join"]), used(plain["is_alive"])
        threading.Condition.wait = waiting
        return self

    def __exit__(self, *_):
        for name, method in self.plain.items():
            setattr(threading.Thread, name, method)
        threading.Condition.wait = self.wait

    def resume(self) -> None:
        for thread in self.held:
            # What a fork did to it is undone. A subclass may have other arguments, so it is not asked.
            threading.Thread.__init__(
                thread, name=thread.name, target=thread._target, args=thread._args, kwargs=thread._kwargs, daemon=thread.daemon
            )
            thread.start()


# ---------------------------------------------------------------- chance


class Chance:
    """Random numbers. Those that an import seeds with a value are the same in each process that imports the code, so they are kept for the
    attempts. All others would be the same in attempts only because these are forked."""

    def __init__(self):
        self.seeded, self.state, self.numbers = {}, None, None  # seeded keeps the objects alive: their ids must stay theirs
        self.fixed = self.fixed_numbers = False
        self.entropy, self.names = unseeded.Entropy(), unseeded.Names()
        self.plain, self.method, self.replaced = random.seed, random.Random.seed, {}
        self.first = random.getstate()

    def __enter__(self):
        def seed(a=None, version=2):
            if a is not None and not self.fixed:
                self._fresh(random.getstate() == self.first)
                self.fixed = True
            elif a is None:
                raise Refused("it seeds random numbers from the system, which would be the same in all attempts")
            return self.plain(a, version)

        def method(source, a=None, version=2):
            if source is not random._inst and a is not None:
                self.seeded[id(source)] = source
            return self.method(source, a, version)

        self.replaced = {seed: self.plain}
        random.seed, random.Random.seed = seed, method
        self.entropy.__enter__(), self.names.__enter__()
        return self

    def __exit__(self, *_):
        random.seed, random.Random.seed = self.plain, self.method
        self.entropy.__exit__(), self.names.__exit__()

    @staticmethod
    def _fresh(untouched: bool) -> None:
        if not untouched:
            raise Refused("it draws random numbers before it seeds them")

    def watch(self, module) -> None:
        """Watches numpy's own source, right after it was made."""
        self.entropy.forget()
        plain, own, first = module.seed, module._rand, repr_of(module._rand)

        def seed(seed=None):
            if seed is None:
                raise Refused("it seeds random numbers from the system, which would be the same in all attempts")
            if not self.fixed_numbers:
                self._fresh(repr_of(own) == first)
                self.fixed_numbers = True
            return plain(seed)

        self.numbers, self.first_numbers, self.replaced[seed] = own, first, plain
        module.seed = seed

    def finish(self, modules: dict, sources: set, found: set, drawn: int) -> None:
        """Keeps what is fixed, and refuses what is not. sources are those before the import, and found those after it."""
        for module in modules.values():
            for name, value in list(forkable.namespace(module).items()):
                for own, plain in self.replaced.items():
                    if value is own:
                        setattr(module, name, plain)
        # Those of numpy take an entropy from the system if they are not given one, and those of tempfile are drawn from for names.
        theirs = {id(one) for one in gc.get_objects() if str(type(one).__module__).startswith("numpy.random")}
        mine = found - sources - self.seeded.keys() - theirs - self.names.sources()
        touched = not self.fixed and random.getstate() != self.first
        touched |= self.numbers is not None and not self.fixed_numbers and repr_of(self.numbers) != self.first_numbers
        if mine or touched or drawn or self.names.taken:
            raise Refused(f"it {unseeded.WHY}")
        refused = self.entropy.finish(modules)
        if refused:
            raise Refused(refused)
        self.sources = found - sources
        if self.fixed:
            self.state = random.getstate()
        if self.fixed_numbers:
            self.numbers_state = self.numbers.get_state(legacy=False)

    def resume(self) -> None:
        """Gives an attempt what the import has seeded, and seeds of its own to what it has not."""
        if self.state is not None:
            random.setstate(self.state)
        if self.fixed_numbers:
            self.numbers.set_state(self.numbers_state)
        refused = self.entropy.resume()
        if refused:
            raise Refused(refused)


def repr_of(source) -> str:
    return repr(source.get_state(legacy=False)["state"])


# ---------------------------------------------------------------- all together


class Import:
    """What an import has read and done."""

    def __init__(self):
        self.arguments, self.threads, self.chance, self.changes = Arguments(sys.argv), Threads(), Chance(), {}
        self.parsers = Parsers(self.arguments)

    def read(self) -> dict:
        """What an attempt must have, too: the names of variables, and arguments by their index."""
        if self.arguments.words() != self.words or sys.argv is not self.arguments:
            raise Refused("it changes sys.argv")
        return {
            "variables": sorted(Variables.names), "count": "count" in self.arguments.read,
            "arguments": sorted(index for index in self.arguments.read if index not in ("count", 0)),
        }

    @contextlib.contextmanager
    def observed(self):
        plain, before = type(os.environ), dict(os.environ)
        Variables.names.clear()
        self.words, sys.argv = self.arguments.words(), self.arguments
        self.arguments.recording = True
        os.environ.__class__ = Variables
        try:
            with self.threads, self.chance, self.parsers:
                yield
        finally:
            os.environ.__class__ = plain
            self.arguments.recording = False
        after = dict(os.environ)
        self.changes = {name: after.get(name) for name in before.keys() | after.keys() if before.get(name) != after.get(name)}

    def resume(self) -> None:
        """Does in an attempt what the import did. It comes after the attempt has its own arguments and variables."""
        for name, value in self.changes.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        self.chance.resume()
        self.parsers.resume()

    def start(self) -> None:
        """Starts the threads of the import."""
        self.threads.resume()
