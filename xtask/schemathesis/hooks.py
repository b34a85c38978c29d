"""What schemathesis has to know of the API beside its document."""

import json
import os
import re

import schemathesis

LEVELS = re.compile(r"(decided|replicated|journaled|ledgered)( *, *(decided|replicated|journaled|ledgered))*")


@schemathesis.serializer("application/x-ndjson")
def write_line(ctx, value):
    """A batch of one line."""
    return value if isinstance(value, bytes) else (json.dumps(value) + "\n").encode()


@schemathesis.deserializer("application/x-ndjson")
def read_line(ctx, response):
    """The first line of an answer; the answer to no line has none."""
    lines = response.content.splitlines()
    return json.loads(lines[0]) if lines else {"status": 200}


@schemathesis.hook
def filter_case(ctx, case):
    """A header that nobody knows is no wrong request: HTTP lets everybody add some."""
    return not any(name.lower().startswith("x-schemathesis") for name in case.headers or {})


@schemathesis.hook
def before_call(ctx, case, kwargs):
    """No schema knows which levels a backend offers, and how far an intent may reach. What is wrong by the schema stays so."""
    headers, query = case.headers or {}, case.query or {}
    left_out = getattr(getattr(case.meta, "phase", None), "data", None)
    if str(getattr(left_out, "parameter", "")).lower() == "authorization":
        # Otherwise the key of the command line would come back in.
        for carried in (headers, kwargs.get("headers") or {}):
            for name in [name for name in carried if name.lower() == "authorization"]:
                del carried[name]
    for name, value in list(headers.items()):
        if name.lower() == "idempotency-expires" and re.fullmatch(r"\d{1,16}", str(value)):
            headers[name] = os.environ["NVT_EXPIRES"]
        if name.lower() == "ack-level" and LEVELS.fullmatch(str(value)):
            headers[name] = "decided, journaled"
    if isinstance(query.get("level"), str) and LEVELS.fullmatch(query["level"]):
        query["level"] = "journaled"
