"""Faust comes without the web client whose type it names, and whoever wants the web client still gets it."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROBE = """
import sys
{first}
from operators.transports.faust_import import import_faust
import_faust()
import_faust()
import faust
app = faust.App("probe", broker="local://probe", HttpClient=object)
print("aiohttp" in sys.modules)
from aiohttp.client import ClientSession
print(ClientSession.__module__)
"""


@pytest.mark.parametrize(("first", "loaded"), [("", "False"), ("import aiohttp", "True"), ("import faust", "False")])
def test_the_web_client_is_imported_by_those_who_use_it(first: str, loaded: str) -> None:
    told = subprocess.run([sys.executable, "-c", PROBE.format(first=first)], capture_output=True, text=True, check=True)
    assert told.stdout.split() == [loaded, "aiohttp.client"]
