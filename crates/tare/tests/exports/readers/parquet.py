"""Reads a Parquet file with DuckDB and with pyarrow, and a CSV file with DuckDB; says what is in them, as JSON."""

import json
import sys

import duckdb
import pyarrow.parquet

parquet, csv, probe = sys.argv[1:]
arrow = pyarrow.parquet.read_table(parquet)
query = """
    select environment, role, median(value), count(*), count(distinct round)
    from read_parquet(?) where probe = ? and headline and counted group by environment, role order by environment
"""
environments = duckdb.execute(query, [parquet, probe]).fetchall()
failed = duckdb.execute("select count(*) from read_parquet(?) where value is null", [parquet]).fetchone()[0]
cells = duckdb.execute(
    "select environment, answer, slowdown, median from read_csv(?) where probe = ? and headline", [csv, probe]
).fetchall()
print(
    json.dumps(
        {
            "rows": arrow.num_rows,
            "duckdb_rows": duckdb.execute("select count(*) from read_parquet(?)", [parquet]).fetchone()[0],
            "types": {field.name: str(field.type) for field in arrow.schema},
            "labels": sorted(set(arrow.column("label").to_pylist())),
            "environments": environments,
            "failed": failed,
            "cells": cells,
        }
    )
)
