"""Colors are distinct, blocks are packed, and the page is one file."""

import base64
import hashlib
import json
import re

import numpy as np
from report_data import unpack

from textspectra.report.page import (
    appearances,
    color_distances,
    none_if_nan,
    pack_array,
    pack_json,
    palette,
    render_page,
    shares_as_u2,
)


def test_colors_can_be_told_apart():
    colors = np.array([[int(color[i : i + 2], 16) for i in (1, 3, 5)] for color in palette(120)], float)
    seen = appearances(colors)
    gaps = np.array([color_distances(seen, seen[:, i]) for i in range(120)])
    np.fill_diagonal(gaps, np.inf)
    assert gaps[:20, :20].min() > 0.05
    assert gaps.min() > 0.02
    assert palette(300)[:120] == palette(120)


def test_blocks_are_packed_for_the_browser():
    values = np.array([-1.0, 0.0, 1.0])
    assert np.frombuffer(unpack(pack_array(shares_as_u2(values), "u2")), "<u2").tolist() == [0, 32768, 65535]
    assert json.loads(unpack(pack_json({"half": "\ud800", "text": "ä</script>"}))) == {
        "half": "\ud800",
        "text": "ä</script>",
    }
    assert none_if_nan([0.123456, float("nan"), float("inf")]) == [0.12346, None, None]


def test_a_page_is_one_script_without_modules_and_allows_no_other():
    page = render_page({"meta": pack_json({})})
    script = page[page.index('<script type="module">') + len('<script type="module">') : page.rindex("</script>")]
    assert "\nimport " not in script
    assert "\nexport " not in script
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = re.search('http-equiv="Content-Security-Policy" content="([^"]*)"', page)[1].replace("&#39;", "'")
    assert f"script-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")
