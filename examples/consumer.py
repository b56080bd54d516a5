"""Counts the vehicles of each kind that every stream has shown, from the results topic.

python consumer.py BROKER [PREFIX]: workers publish there, see docs/consume-results.md. Ctrl-C ends it; started again it
goes on where it was.
"""

import sys
from collections import Counter, defaultdict

import sluice

# By stream: what each track was said to be last. A capture that begins anew, a new run, numbers its tracks anew.
kinds: dict[str, dict[tuple[str, int], str]] = defaultdict(dict)

broker, *prefix = sys.argv[1:]

for result in sluice.watch(broker, group="vehicle-counts", from_beginning=True, prefix=prefix[0] if prefix else None):
    for found in result.objects:
        kind = found.answer("vehicle_type")
        if found.track_id is not None and kind not in (None, "unknown"):
            kinds[result.stream][result.run, found.track_id] = kind
            print(result.stream, dict(Counter(kinds[result.stream].values())), flush=True)
