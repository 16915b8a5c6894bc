"""Decisions measured on this machine, kept where `ddl_runtime.devices.choice` looks for them."""

import json
from collections.abc import Mapping
from dataclasses import asdict

from ddl_runtime.devices import choice
from ddl_runtime.devices.choice import Table
from ddl_runtime.records.whole_file import write_whole


def keep_tables(tables: Mapping[bool, Table]) -> None:
    """Let messages on this machine's GPUs go by these: where the library reads their memory
    (True), and where it does not."""
    plain = {
        str(direct): {name: [asdict(reach) for reach in row] for name, row in table.items()}
        for direct, table in tables.items()
    }
    file = choice.KEPT_IN.expanduser()
    file.parent.mkdir(parents=True, exist_ok=True)
    write_whole(file, json.dumps(plain))
    choice.kept_table.cache_clear()
