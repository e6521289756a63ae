"""Reads OpenMetrics text with the parser of Prometheus' client, which is strict, and says what is in it, as JSON."""

import json
import math
import sys

from prometheus_client.openmetrics.parser import text_string_to_metric_families

with open(sys.argv[1], encoding="utf-8") as file:
    families = list(text_string_to_metric_families(file.read()))


def number(value):
    # A first operation may take no time that the clock sees; JSON has no word for what it costs by then.
    return value if math.isfinite(value) else str(value)


print(
    json.dumps(
        {
            family.name: {
                "type": family.type,
                "unit": family.unit,
                "samples": [[sample.name, sample.labels, number(sample.value)] for sample in family.samples],
            }
            for family in families
        }
    )
)
