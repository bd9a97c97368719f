"""The gateway's own figures for `/metrics`; names and numbers, never a text of a Run."""

from prometheus_client import CollectorRegistry, Counter, Histogram

REGISTRY = CollectorRegistry()
REQUESTS = Counter("guildhall_gateway_requests", "Requests by route and status", ["route", "status"], registry=REGISTRY)
REFUSED = Counter("guildhall_gateway_unauthenticated", "Requests turned away before their body", registry=REGISTRY)
CALLS = Counter(
    "guildhall_gateway_model_calls", "Model calls by provider and outcome", ["provider", "outcome"], registry=REGISTRY
)
TOKENS = Counter("guildhall_gateway_tokens", "Tokens by provider and kind", ["provider", "kind"], registry=REGISTRY)
COST = Counter("guildhall_gateway_cost_micro_usd", "Settled cost in micro-USD", ["provider"], registry=REGISTRY)
SECONDS = Histogram(
    "guildhall_gateway_model_call_seconds",
    "From request to last line, provider included",
    buckets=(0.005, 0.02, 0.1, 0.5, 2, 10, 60, 600),
    registry=REGISTRY,
)
