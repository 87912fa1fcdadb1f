"""Declarations: the verbs that there are, and their keywords with types, defaults and sentences."""

import importlib.util
import inspect
import pkgutil
import re
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import ModuleType
from typing import Any

from syncoll.session.settings import SettingsOptions, SolverOptions
from syncoll.verbs import keywords

_PACKAGE = "syncoll.verbs"

SWEEP = {
    "-b, --minbytes SIZE": "the first size, as nccl-tests reads it (default: 32MiB)",
    "-e, --maxbytes SIZE": "the last size (default: 32MiB)",
    "-f, --stepfactor N": "from each size to the next (default: sizes 1 MiB apart)",
}
"""Options of the shell for sizes, see `syncoll.values.swept_sizes`."""

POINT = {
    "--point POINT": "one algorithm: its number from 0, or S,R,C, of a member of a pipeline too "
    "(default: all but members)"
}

_ORDER = (
    "recommend pareto search solve bounds design repair forest verify check theorem run export "
    "plan report simulate ceiling calibrate import show spec explain plugins schema store"
)
"""The order of commands in the help; others come last."""

REQUIRED = inspect.Parameter.empty


@dataclass(frozen=True)
class Parameter:
    """A parameter of a verb.

    Args:
        type: the text of its annotation.
        text: its sentence in the docstring.
        is_keyword: whether it has to be given by name.
        is_setting: whether it is a field of `Settings`.
    """

    name: str
    type: str
    default: object
    text: str
    is_keyword: bool = True
    is_setting: bool = False

    @property
    def is_required(self) -> bool:
        """Whether it has no default."""
        return self.default is REQUIRED

    @property
    def choices(self) -> list[str]:
        """The values of a ``Literal``."""
        match = re.search(r"Literal\[([^\]]*)\]", self.type)
        return re.findall(r"[\w-]+", match[1]) if match else []


@dataclass(frozen=True)
class Shell:
    """The part of a declaration for the shell alone, as the module's ``SHELL``.

    Args:
        usages: by parameter a usage, or a usage and its help, in place of the usual ones; an empty
            one leaves the parameter out.  See `syncoll.cli.options`.
        options: the options of the shell by usage.
        groups: titles of groups in the help by their first argument.
        page: names of options, separated by spaces, that are arguments of the result's page.
        document: the same for the document.
        defaults: of arguments, in place of the parameters' own.
        formats: whether the result has a page and a document, for ``--format``.
    """

    usages: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    groups: Mapping[str, str] = field(default_factory=dict)
    page: str = ""
    document: str = ""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    formats: bool = True


@dataclass(frozen=True)
class Verb:
    """A verb, or a folder of verbs.

    Args:
        name: of the command.
        package: the folder, as a module.
    """

    name: str
    package: str

    @cached_property
    def module(self) -> ModuleType:
        """The module that declares it."""
        return importlib.import_module(self.package)

    @cached_property
    def function(self) -> Callable[..., Any]:
        """The function that the declaration is about, the first verb of the module."""
        found: Callable[..., Any] = getattr(self.module, self._declared[1].partition("(")[0])
        return found

    @cached_property
    def parts(self) -> "list[Verb]":
        """The commands of a folder of folders."""
        return [] if self._declared[1] else verbs(self.package)

    @cached_property
    def parameters(self) -> list[Parameter]:
        """The parameters of the function."""
        return parameters_of(self.function)

    @cached_property
    def _declared(self) -> tuple[str, str]:
        """The source before and from the name of the function; the help of all loads none."""
        spec: Any = importlib.util.find_spec(self.package)
        source = spec.loader.get_data(spec.origin).decode("utf-8")
        before, _, function = source.partition("\n@verb\ndef ")
        return before, function

    @property
    def summary(self) -> str:
        """The first line of the docstring of the function, or of a folder of folders."""
        before, function = self._declared
        text = (function or before).partition('"""')[2]
        line = re.split(r"\.?(?:\n|\"\"\")", text, maxsplit=1)[0]
        return line[:1].lower() + line[1:] if re.match(r"[A-Z](?:[a-z]| )", line) else line

    @property
    def shell(self) -> Shell:
        """The part of the declaration for the shell alone."""
        return getattr(self.module, "SHELL", Shell())

    @cached_property
    def actions(self) -> ModuleType | None:
        """The module ``shell`` of the folder, with functions for the shell alone."""
        name = f"{self.package}.shell"
        return importlib.import_module(name) if importlib.util.find_spec(name) else None


def verbs(package: str = _PACKAGE) -> list[Verb]:
    """The verbs of a folder, in the order of the help."""
    folders = importlib.import_module(package).__path__
    found = [
        Verb(one.name.rstrip("_"), f"{package}.{one.name}")
        for one in pkgutil.iter_modules(folders)
        if one.ispkg
    ]
    places = {name: place for place, name in enumerate(_ORDER.split())}
    return sorted(found, key=lambda one: (places.get(one.name, len(places)), one.name))


def parameters_of(function: Callable[..., Any]) -> list[Parameter]:
    """The parameters of a function, with the keys of a class in ``**options: Unpack[...]``."""
    texts, found = sentences(function.__doc__), list[Parameter]()
    for one in inspect.signature(function).parameters.values():
        if one.kind is not one.VAR_KEYWORD:
            is_keyword = one.kind is one.KEYWORD_ONLY
            about = one.name, str(one.annotation), one.default, texts.get(one.name, "")
            found.append(Parameter(*about, is_keyword))
        elif match := re.fullmatch(r"Unpack\[(\w+)\]", str(one.annotation)):
            module = sys.modules[function.__module__]
            found += _options(vars(module)[match[1]])
    return found


def _options(kind: type) -> Iterator[Parameter]:
    """The keys of a `TypedDict`, with the sentences of its docstring."""
    settings = SettingsOptions.__annotations__
    texts = dict[str, str]()
    for one in (keywords, SolverOptions, SettingsOptions, kind):
        texts |= sentences(one.__doc__)
    for name, annotation in kind.__annotations__.items():
        text = getattr(annotation, "__forward_arg__", str(annotation))
        default = 0 if text == "int" else None
        yield Parameter(name, text, default, texts.get(name, ""), is_setting=name in settings)


def sentences(docstring: str | None) -> dict[str, str]:
    """By name the texts under ``Args`` of a docstring."""
    rest = inspect.cleandoc(docstring or "").partition("\nArgs:\n")[2]
    block = re.split(r"\n(?=\S)", rest, maxsplit=1)[0]
    found = re.findall(r"^    (\w+): (.*(?:\n {8}.*)*)", block, re.MULTILINE)
    return {name: " ".join(text.split()) for name, text in found}


def described(function: Callable[..., Any]) -> str:
    """The docstring of a verb, with the sentences of `keywords` for parameters without one."""
    doc = inspect.cleandoc(function.__doc__ or "")
    before, head, rest = doc.partition("\nArgs:\n")
    texts = sentences(keywords.__doc__) | sentences(doc)
    known = [name for name in inspect.signature(function).parameters if name in texts]
    if not head or len(known) == len(sentences(doc)):
        return doc
    each = (textwrap.wrap(f"{one}: {texts[one]}", 92, subsequent_indent="    ") for one in known)
    block = textwrap.indent("\n".join(line for lines in each for line in lines), "    ")
    return "\n\n".join([f"{before}{head}{block}", *re.split(r"\n(?=\S)", rest, maxsplit=1)[1:]])
