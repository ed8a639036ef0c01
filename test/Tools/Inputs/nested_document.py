"""Prints what an editor sends to a language server that opens a document nested N levels deep: nested_document.py N."""

import json
import sys

levels = int(sys.argv[1])
text = "module attributes {a.b = " + "[" * levels + "]" * levels + "} {}"
document = {"uri": "test:///nested.mlir", "languageId": "mlir", "version": 1, "text": text}
messages = [
    {
        "id": 0,
        "method": "initialize",
        "params": {"processId": 1, "rootPath": "mlir", "capabilities": {}, "trace": "off"},
    },
    {"method": "textDocument/didOpen", "params": {"textDocument": document}},
    {"id": 3, "method": "shutdown"},
    {"method": "exit"},
]
print("\n// -----\n".join(json.dumps({"jsonrpc": "2.0", **message}) for message in messages))
