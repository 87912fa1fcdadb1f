"""Results: values that show themselves, as pages, JSON, tables and files."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from syncoll import documents
from syncoll.errors import UsageError
from syncoll.pages import Page

if TYPE_CHECKING:
    from pandas import DataFrame

_D = TypeVar("_D", bound="Displayable")

_NOT_PICKLED = {"session", "source"}

_KINDS: dict[str, type] = {"str": str, "int": int, "float": float}


class Displayable(ABC):
    """A frozen value with a page, which is its representation.

    A subclass adds them to the value that a search or a simulation returns, see `of`.
    """

    @classmethod
    def of(cls: type[_D], value: Any, **more: Any) -> _D:
        """A value as this subclass of its type, with the fields that the subclass adds."""
        return cls(**{field.name: getattr(value, field.name) for field in fields(value)}, **more)

    @abstractmethod
    def page(self) -> Page:
        """The text in a terminal, and the HTML in a notebook."""

    def __repr__(self) -> str:
        return str(self.page())

    def __str__(self) -> str:
        return str(self.page())

    def _repr_html_(self) -> str:
        return self.page().to_html()

    def __getstate__(self) -> dict[str, Any]:
        """The fields, without the session, and without a definition and its library."""
        own = {field.name for field in fields(self)}  # type: ignore[arg-type]
        inherited = super().__getstate__()
        state = inherited if isinstance(inherited, dict) else vars(self)
        return {k: None if k in _NOT_PICKLED else v for k, v in state.items() if k in own}


class Result(Displayable):
    """A value that also has a JSON document."""

    @abstractmethod
    def document(self) -> dict[str, Any]:
        """The JSON document, as ``--format json`` prints it."""

    def saved(self) -> dict[str, Any]:
        """The JSON document that `save` writes."""
        return self.document()

    def save(self, path: str | Path) -> None:
        """Writes a JSON file, which other commands read.

        Raises `UsageError` if the file cannot be written.
        """
        documents.write_document(Path(path), self.saved())


@dataclass(frozen=True, repr=False)
class Shown(Result):
    """A page, and a function that makes the document of the same values."""

    shown: Page
    content: Callable[[], dict[str, Any]]

    def page(self) -> Page:
        """The page."""
        return self.shown

    def document(self) -> dict[str, Any]:
        """The JSON document."""
        return self.content()


def columns_of(declared: str) -> dict[str, type]:
    """The types of columns by their names.

    >>> columns_of("str where, int steps, float bandwidth seconds")["seconds"]
    <class 'float'>
    """
    groups = (group.split() for group in declared.split(","))
    return {name: _KINDS[kind] for kind, *names in groups for name in names}


class Tabular(Result):
    """A result that is a table; each row has a value, or None, for every column.

    A column ``exact_NAME`` has the text of the value in the column NAME.
    """

    columns: ClassVar[Mapping[str, type]]

    @abstractmethod
    def records(self) -> Iterable[Any]:
        """The rows, by names or attributes, before their values get the types of the columns."""

    def rows(self) -> list[dict[str, Any]]:
        """The rows of the table."""
        return [
            {
                name: _converted(kind, _cell(record, name.removeprefix("exact_")))
                for name, kind in self.columns.items()
            }
            for record in self.records()
        ]

    def to_pandas(self) -> "DataFrame":
        """The table, for data analysis.  Raises `UsageError` if pandas is not installed."""
        rows = self.rows()
        return data_frame({name: [row[name] for row in rows] for name in self.columns})

    def save_table(self, path: str | Path) -> None:
        """Writes the table to a file whose name ends in ``.csv`` or ``.parquet``.

        Raises `UsageError` on another name, if pyarrow is missing, or if it cannot be written.
        """
        from syncoll.documents.tables import table_content, table_format

        content = table_content(self.columns, self.rows(), table_format(Path(path)))
        documents.write_atomically(Path(path), content)


def _cell(record: Any, name: str) -> Any:
    return record.get(name) if isinstance(record, Mapping) else getattr(record, name)


def _converted(kind: type, value: Any) -> Any:
    if value is None or value == "":
        return None
    if kind is int and value % 1:
        return float(value)  # rounds that are not whole
    return kind(Fraction(value) if kind is float and isinstance(value, str) else value)


def data_frame(columns: Mapping[str, Any]) -> "DataFrame":
    """A table of these columns for data analysis.

    Raises `UsageError` if pandas is not installed.
    """
    try:
        import pandas as pd
    except ImportError:
        raise UsageError("pandas is not installed; `pip install pandas`") from None
    return pd.DataFrame(dict(columns))
