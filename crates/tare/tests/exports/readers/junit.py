"""Reads a JUnit XML file with junitparser and says what is in it, as JSON."""

import json
import sys

from junitparser import Failure, JUnitXml, Skipped

xml = JUnitXml.fromfile(sys.argv[1])
cases = [
    {
        "suite": suite.name,
        "environment": case.classname,
        "name": case.name,
        "failed": [result.message for result in case.result if isinstance(result, Failure)],
        "skipped": [result.message for result in case.result if isinstance(result, Skipped)],
        "out": case.system_out,
    }
    for suite in xml
    for case in suite
]
print(json.dumps({"tests": xml.tests, "failures": xml.failures, "skipped": xml.skipped, "cases": cases}))
