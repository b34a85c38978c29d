"""Places orders of one share each, every one of them exactly once, and says how it went.

    PYTHONPATH=clients/python/src python3 clients/python/examples/orders.py http://127.0.0.1:8080 40 ./intents

It can be ended at any moment and started again with the same arguments: what was ordered before is not ordered again.
"""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor

from nevertwice_client import Client, Done, Failed, FolderStore, Outcome, Retries


def main() -> None:
    base_url, orders, folder = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    retries = Retries(timeout_ms=500, deadline_ms=60_000, attempts_max=100, backoff_min_ms=10, backoff_max_ms=100)
    client = Client(base_url, headers={"Principal": "desk"}, retries=retries, store=FolderStore(folder))

    def place(number: int) -> Outcome:
        order = {"account": "ann", "instrument": "ARG-10", "side": "buy", "quantity": 1}
        # The name says what is meant, so that whoever comes again with it means the same.
        return client.send(client.intent("/v1/markets/cup/orders", order, name=f"order-{number}"))

    with ThreadPoolExecutor(max_workers=4) as workers:
        outcomes = list(workers.map(place, range(orders)))
    told = {
        "done": sum(isinstance(outcome, Done) for outcome in outcomes),
        "replayed": sum(isinstance(outcome, Done) and outcome.replayed for outcome in outcomes),
        "failed": sum(isinstance(outcome, Failed) for outcome in outcomes),
        "attempts": sum(outcome.attempts for outcome in outcomes),
    }
    told["unknown"] = orders - told["done"] - told["failed"]
    print(json.dumps(told))


if __name__ == "__main__":
    main()
