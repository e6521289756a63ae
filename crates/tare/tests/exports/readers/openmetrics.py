"""Reads OpenMetrics text with the parser of Prometheus' client, which is strict, and says what is in it, as JSON."""

import json
import sys

from prometheus_client.openmetrics.parser import text_string_to_metric_families

with open(sys.argv[1], encoding="utf-8") as file:
    families = list(text_string_to_metric_families(file.read()))
print(
    json.dumps(
        {
            family.name: {
                "type": family.type,
                "unit": family.unit,
                "samples": [[sample.name, sample.labels, sample.value] for sample in family.samples],
            }
            for family in families
        }
    )
)
