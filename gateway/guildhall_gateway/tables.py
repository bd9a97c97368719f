"""The tables, each declared `server-only` or `public`; of public ones the api gets the named columns and no others.

Guards against prompts, replies, tokens and queues leaking through a read that was meant for counters.
"""

from typing import Final, Literal

from sqlalchemy import BigInteger, Column, Float, Integer, MetaData, String, Table, Text

Face = Literal["server-only", "public"]

METADATA: Final = MetaData()
SCHEMA_VERSION: Final = 5


def _table(name: str, face: Face, *columns: Column[object], public: tuple[str, ...] = ()) -> Table:
    return Table(name, METADATA, *columns, info={"face": face, "public": public})


META: Final = _table(
    "meta",
    "server-only",
    Column("key", String(64), primary_key=True),
    Column("value", Text, nullable=False),
)

INSTANCES: Final = _table(
    "instances",
    "server-only",
    Column("id", String(64), primary_key=True),
    Column("seen_at", Float, nullable=False),
)

RUNS: Final = _table(
    "runs",
    "server-only",
    Column("uid", String(64), primary_key=True),
    Column("namespace", String(63), nullable=False),
    Column("name", String(253), nullable=False),
    Column("budget", Text, nullable=False),
    Column("first_seen", Float, nullable=False),
    Column("raises", Integer, nullable=False, server_default="0"),
)

TOTALS: Final = _table(
    "totals",
    "public",
    Column("scope", String(160), primary_key=True),
    Column("calls", BigInteger, nullable=False),
    Column("calls_reserved", BigInteger, nullable=False),
    Column("tokens", BigInteger, nullable=False),
    Column("cached", BigInteger, nullable=False),
    Column("output", BigInteger, nullable=False),
    Column("tokens_reserved", BigInteger, nullable=False),
    Column("cost", BigInteger, nullable=False),
    Column("cost_reserved", BigInteger, nullable=False),
    Column("unpriced", BigInteger, nullable=False),
    public=("calls", "tokens", "cached", "output", "cost", "unpriced"),
)

CALLS: Final = _table(
    "calls",
    "public",
    Column("run", String(64), primary_key=True),
    Column("call_id", String(64), primary_key=True),
    Column("attempt", Integer, primary_key=True),
    Column("role", String(40), nullable=False),
    Column("model", String(128), nullable=False),
    Column("state", String(16), nullable=False),
    Column("lost", Integer, nullable=False),
    Column("request_sha256", String(64), nullable=False),
    Column("owner", String(64), nullable=False),
    Column("scopes", Text, nullable=False),
    Column("reserved_micro_usd", BigInteger, nullable=True),
    Column("reserved_tokens", BigInteger, nullable=False),
    Column("tokens", BigInteger, nullable=False),
    Column("cached", BigInteger, nullable=False),
    Column("output", BigInteger, nullable=False),
    Column("cost", BigInteger, nullable=True),
    Column("error_kind", String(32), nullable=True),
    Column("started_at", Float, nullable=False),
    Column("settled_at", Float, nullable=True),
    public=(
        "call_id",
        "role",
        "model",
        "state",
        "tokens",
        "cached",
        "output",
        "cost",
        "reserved_micro_usd",
        "error_kind",
        "started_at",
        "settled_at",
    ),
)

REPLIES: Final = _table(
    "replies",
    "server-only",
    Column("run", String(64), primary_key=True),
    Column("call_id", String(64), primary_key=True),
    Column("body", Text, nullable=False),
)

INBOX: Final = _table(
    "inbox",
    "server-only",
    Column("run", String(64), primary_key=True),
    Column("n", Integer, primary_key=True),
    Column("item", String(64), nullable=False, unique=True),
    Column("body", Text, nullable=False),
    Column("state", String(16), nullable=False),
)

QUESTIONS: Final = _table(
    "questions",
    "public",
    Column("run", String(64), primary_key=True),
    Column("id", String(64), primary_key=True),
    Column("role", String(40), nullable=False),
    Column("text", Text, nullable=False),
    Column("expires_at", Float, nullable=False),
    Column("state", String(16), nullable=False),
    Column("kind", String(16), nullable=False, server_default="question"),
    Column("context", Text, nullable=False, server_default=""),
    Column("options", Text, nullable=False, server_default="[]"),
    Column("asked_at", Float, nullable=False, server_default="0"),
    Column("author", String(256), nullable=False, server_default=""),
    public=("id", "kind", "role", "text", "context", "options", "state", "asked_at", "expires_at"),
)

APPROVALS: Final = _table(
    "approvals",
    "public",
    Column("run", String(64), primary_key=True),
    Column("approval_id", String(64), primary_key=True),
    Column("call_id", String(64), nullable=False),
    Column("role", String(40), nullable=False),
    Column("tool", String(64), nullable=False),
    Column("effect", String(16), nullable=False),
    Column("arguments_hash", String(64), nullable=False),
    Column("policy_version", Integer, nullable=False),
    Column("state", String(16), nullable=False),
    Column("author", String(256), nullable=False),
    Column("expires_at", Float, nullable=False),
    Column("arguments", Text, nullable=False, server_default="{}"),
    Column("arguments_bytes", Integer, nullable=False, server_default="2"),
    Column("asked_at", Float, nullable=False, server_default="0"),
    public=(
        "approval_id",
        "call_id",
        "role",
        "tool",
        "effect",
        "arguments",
        "arguments_bytes",
        "arguments_hash",
        "state",
        "asked_at",
        "expires_at",
    ),
)

BLOBS: Final = _table(
    "blobs",
    "public",
    Column("run", String(64), primary_key=True),
    Column("sha256", String(64), primary_key=True),
    Column("size", BigInteger, nullable=False),
    public=("sha256", "size"),
)

FROZEN_GUILDS: Final = _table(
    "frozen_guilds",
    "server-only",
    Column("run", String(64), primary_key=True),
    Column("body", Text, nullable=False),
)

CONNECTION_PINS: Final = _table(
    "connection_pins",
    "server-only",
    Column("connection", String(64), primary_key=True),
    Column("body", Text, nullable=False),
)

TOOL_CALLS: Final = _table(
    "tool_calls",
    "server-only",
    Column("run", String(64), primary_key=True),
    Column("call_id", String(64), primary_key=True),
    Column("request_sha256", String(64), nullable=False),
    Column("role", String(40), nullable=False),
    Column("tool", String(64), nullable=False),
    Column("approval_id", String(64), nullable=False),
    Column("state", String(16), nullable=False),
    Column("owner", String(64), nullable=False),
    Column("result", Text, nullable=False),
    Column("started_at", Float, nullable=False),
)

KEEPING: Final = _table(
    "keeping",
    "server-only",
    Column("run", String(64), primary_key=True),
    Column("private", Integer, nullable=False),
    Column("gone_at", Float, nullable=True),
)
