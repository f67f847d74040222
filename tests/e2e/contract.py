"""Holds every answer that the tests receive against api/openapi.yaml.

The document is read here as what it is, with a JSON schema library, so that a mistake of
our own generator or writers is found. Answers may have no field that it does not name.
"""

import functools
import json
import re
from pathlib import Path

import jsonschema
import yaml

DOCUMENT = Path(__file__).resolve().parent.parent.parent / "api/openapi.yaml"


@functools.cache
def document():
    text = yaml.safe_load(DOCUMENT.read_text())
    _close(text)
    return text


def _close(node):
    """Objects whose fields are listed have no others."""
    if isinstance(node, list):
        for item in node:
            _close(item)
    elif isinstance(node, dict):
        if "properties" in node and isinstance(node.get("properties"), dict) and node.get("type") == "object":
            node.setdefault("additionalProperties", False)
        for item in node.values():
            _close(item)


@functools.cache
def _paths():
    """(pattern, path) with the most literal first: "dry_run" before "{workload}"."""
    paths = sorted(document()["paths"], key=lambda path: path.count("{"))
    return [(re.compile("^" + re.sub(r"\{\w+\}", "[^/]+", path) + "$"), path) for path in paths]


def operation(method, target):
    """The operation that a request means, or nothing."""
    plain = target.split("?")[0]
    for pattern, path in _paths():
        if pattern.match(plain):
            return document()["paths"][path].get(method.lower())
    return None


@functools.cache
def _validator(text):
    schema = json.loads(text)
    return jsonschema.Draft202012Validator({"components": document()["components"], **schema})


def _schema_complaint(schema, value):
    error = jsonschema.exceptions.best_match(_validator(json.dumps(schema)).iter_errors(value))
    return f"{error.json_path}: {error.message}" if error else None


def _resolved(response):
    reference = response.get("$ref", "")
    return document()["components"]["responses"][reference.rsplit("/", 1)[1]] if reference else response


def complaint(method, target, status, content_type, body):
    """What of an answer is not as the document says; nothing when all is well."""
    meant = operation(method, target)
    if meant is None:
        responses = {"default": {"$ref": "#/components/responses/Problem"}}
    else:
        responses = meant["responses"]
    response = responses.get(str(status)) or (responses["default"] if status >= 400 else None)
    if response is None:
        return f"the status {status} is not in the document"
    content = _resolved(response).get("content", {})
    if not content:
        return "a body, and the document has none" if body else None
    kind = (content_type or "").split(";")[0].strip()
    if kind not in content:
        return f"the content type {content_type!r} is not one of {', '.join(content)}"
    if not kind.endswith("json"):
        return None
    try:
        value = json.loads(body)
    except ValueError as error:
        return f"no JSON: {error}"
    return _schema_complaint(content[kind]["schema"], value)


def event_complaint(schema, data):
    """The same for the data of a server-sent event."""
    return _schema_complaint({"$ref": f"#/components/schemas/{schema}"}, json.loads(data))
