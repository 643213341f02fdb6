"""Databases in which a query is run: in memory, or a PostgreSQL cluster of its own."""

from __future__ import annotations

import csv
import io
import os
import pwd
import shutil
import sqlite3
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

#: Seconds until PostgreSQL must have started.
PATIENCE = 60.0


class Absent(RuntimeError):
    """The database is not installed, or cannot run here."""


def named(text: str) -> str:
    """A name as an identifier of SQL."""
    return '"' + text.replace('"', '""') + '"'


class Sqlite:
    """SQLite in memory."""

    def __init__(self) -> None:
        self.base: Any = sqlite3.connect(":memory:")

    def run(self, query: str) -> list[Any]:
        """The rows that one statement gives."""
        return self.base.execute(query).fetchall()

    def close(self) -> None:
        """Free what the database holds."""
        self.base.close()


class Duckdb(Sqlite):
    """DuckDB in memory."""

    def __init__(self) -> None:
        try:
            import duckdb
        except ImportError as error:
            raise Absent("DuckDB is not installed") from error
        self.base = duckdb.connect()


class Postgres:
    """A cluster of its own on a Unix socket, run as another user where we are root."""

    def __init__(self) -> None:
        places = [os.environ["PATH"], *map(str, Path("/usr/lib/postgresql").glob("*/bin"))]
        self.tools = {}
        for name in ("initdb", "postgres", "psql"):
            tool = shutil.which(name, path=os.pathsep.join(places))
            if tool is None:
                raise Absent(f"PostgreSQL is not installed ({name})")
            self.tools[name] = tool
        self.user: dict[str, Any] = {}
        if os.geteuid() == 0:
            try:
                pwd.getpwnam("postgres")
            except KeyError as error:
                raise Absent("PostgreSQL refuses root, and there is no user postgres") from error
            self.user = {"user": "postgres", "group": "postgres"}
        self.home = tempfile.mkdtemp(prefix="pg")  # a socket's path is at most 107 characters
        if self.user:
            shutil.chown(self.home, **self.user)
        data = f"{self.home}/data"
        make = [self.tools["initdb"], "-D", data, "-A", "trust", "-U", "tests", "--no-sync"]
        self._tool([*make, "-E", "UTF8", "--locale=C"])
        serve = [self.tools["postgres"], "-D", data, "-k", self.home]
        options = ("listen_addresses=", "fsync=off", "shared_buffers=1MB", "max_connections=5")
        self.server = subprocess.Popen(
            [*serve, *(word for option in options for word in ("-c", option))],
            cwd=self.home,
            stderr=subprocess.DEVNULL,
            **self.user,
        )
        end = time.monotonic() + PATIENCE
        while not Path(f"{self.home}/.s.PGSQL.5432").exists():
            if time.monotonic() > end or self.server.poll() is not None:
                self.close()
                raise RuntimeError("PostgreSQL did not start")
            time.sleep(0.02)

    def _tool(self, words: list[str], **more: Any) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            words, cwd=self.home, check=True, capture_output=True, **self.user, **more
        )

    def run(self, query: str) -> list[list[str]]:
        """The rows that one statement gives, as text."""
        words = [self.tools["psql"], "-h", self.home, "-U", "tests", "-d", "postgres", "-X", "-q"]
        words += ["-t", "--csv", "-v", "ON_ERROR_STOP=1", "-f", "-"]
        done = self._tool(words, input=f"{query};".encode())
        return list(csv.reader(io.StringIO(done.stdout.decode(), newline="")))

    def close(self) -> None:
        """Stop the server and remove its files."""
        self.server.terminate()
        self.server.wait(30)
        shutil.rmtree(self.home)
