"""The tables of history. Everything of a Run goes with its row, by foreign key."""

from typing import Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
)

SCHEMA_VERSION: Final = 1

metadata: Final = MetaData()


def _run_key() -> Column[int]:
    return Column("run_id", Integer, ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True)


runs: Final = Table(
    "runs", metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("uid", String(64), nullable=False, unique=True),
    Column("namespace", String(63), nullable=False),
    Column("name", String(253), nullable=False),
    Column("created_at", String(32), nullable=False),
    Column("phase", String(20), nullable=False),
    Column("guild", String(253), nullable=False),
    Column("search", Text, nullable=False),
    Column("private", Boolean, nullable=False),
    Column("live", Boolean, nullable=False),
    Column("sealed", Boolean, nullable=False, default=False),
    Column("expires_at", Float, nullable=True),
    Column("summary", Text, nullable=False),
    Column("detail", Text, nullable=False),
    Column("last_seq", BigInteger, nullable=False, default=0),
    Column("unreadable", Integer, nullable=False, default=0),
    Column("intake", Text, nullable=False, default="{}"),
    Index("runs_by_time", "created_at", "uid"),
    Index("runs_by_name", "namespace", "name"),
    Index("runs_by_expiry", "expires_at"),
)  # fmt: skip

events: Final = Table(
    "events", metadata,
    _run_key(),
    Column("seq", BigInteger, primary_key=True),
    Column("op", String(11), nullable=True),
    Column("type", String(64), nullable=False),
    Column("line", LargeBinary, nullable=False),
    Index("events_by_op", "run_id", "op"),
)  # fmt: skip

unreadables: Final = Table(
    "unreadables", metadata,
    _run_key(),
    Column("ordinal", Integer, primary_key=True),
    Column("after", BigInteger, nullable=False),
    Column("reason", String(200), nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("text", Text, nullable=False),
)  # fmt: skip

blobs: Final = Table(
    "blobs", metadata,
    _run_key(),
    Column("sha256", String(64), primary_key=True),
    Column("size", Integer, nullable=False),
    Column("data", LargeBinary, nullable=False),
)  # fmt: skip

snapshots: Final = Table(
    "snapshots", metadata,
    _run_key(),
    Column("run", Text, nullable=False),
    Column("operations", Integer, nullable=False),
    Column("full", LargeBinary, nullable=False),
    Column("slim", LargeBinary, nullable=False),
)  # fmt: skip

versions: Final = Table("versions", metadata, Column("version", Integer, primary_key=True))
