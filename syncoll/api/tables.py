"""Tables for data analysis."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from syncoll.errors import UsageError

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["data_frame"]


def data_frame(columns: Mapping[str, Any]) -> DataFrame:
    """A table of these columns.

    Raises:
        UsageError: when pandas is not installed.
    """
    try:
        import pandas as pd
    except ImportError:
        raise UsageError("pandas is not installed; `pip install pandas`") from None
    return pd.DataFrame(dict(columns))
