"""Tables as pandas data frames and Parquet: the home of pandas and pyarrow, imported when needed."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from uncensoring_chinese_models.config import require_extra
from uncensoring_chinese_models.exports.rows import columns_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pandas import DataFrame as DataFrame  # noqa: PLC0414 -- typed elsewhere by this name

    from uncensoring_chinese_models.exports.rows import Row

_IN_PANDAS = {str: "string", int: "Int64", float: "Float64", bool: "boolean"}
"""Types with missing values, so that a column of integers stays one."""


class _Libraries(NamedTuple):
    pandas: Any
    pyarrow: Any
    parquet: Any


@cache
def _libraries() -> _Libraries:
    with require_extra("export", "Export to data frames or Parquet"):
        import pandas  # noqa: ICN001, PLC0415  # late: an optional dependency
        import pyarrow  # noqa: ICN001, PLC0415
        from pyarrow import parquet  # noqa: PLC0415
    return _Libraries(pandas, pyarrow, parquet)


def data_frame(table: type[Row], rows: Sequence[Row]) -> DataFrame:
    """Return rows as a data frame with the table's columns, even if there is no row.

    Raises:
        MissingExtraError: the extra `export` is not installed.
    """
    pandas = _libraries().pandas
    columns = {
        column.name: pandas.array(
            [getattr(each, column.name) for each in rows], dtype=_IN_PANDAS[column.kind]
        )
        for column in columns_of(table)
    }
    frame: DataFrame = pandas.DataFrame(columns)
    return frame


def check_parquet() -> None:
    """Raise an error before any work is done if Parquet cannot be written.

    Raises:
        MissingExtraError: the extra `export` is not installed.
    """
    _libraries()


def write_parquet(path: Path, table: type[Row], rows: Sequence[Row]) -> None:
    """Write rows with the table's schema, in which each column has a description."""
    pyarrow, parquet = _libraries()[1:]
    kinds = {
        str: pyarrow.string(),
        int: pyarrow.int64(),
        float: pyarrow.float64(),
        bool: pyarrow.bool_(),
    }
    fields = [
        pyarrow.field(
            column.name,
            kinds[column.kind],
            nullable=column.nullable,
            metadata={"description": column.says},
        )
        for column in columns_of(table)
    ]
    schema = pyarrow.schema(fields, metadata={"description": str(table.__doc__)})
    arrays = [
        pyarrow.array([getattr(each, field.name) for each in rows], type=field.type)
        for field in fields
    ]
    parquet.write_table(pyarrow.Table.from_arrays(arrays, schema=schema), path, compression="zstd")
