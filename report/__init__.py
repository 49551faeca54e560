"""Results, and acceleration structures, as one page: a self-contained HTML file that makes no request.

Every text that comes from a file passes ``markup.tag``, which escapes it. The script and the style are constant.
"""

LAYERS = (
    "markup",
    "pictures",
    "run",
    "charts",
    "document",
    "tables",
    "memory",
    "cores",
    "rays",
    "program",
    "energy",
    "detail",
    "comparison",
    "forecast",
    "study",
    "page",
    "tree",
    "film",
)
