"""Reads api/openapi.yaml into plain objects, and refuses what the generator would not honour.

Every keyword that is not known here is an error: a constraint that is written down and
then ignored would be a lie to those who read the contract.
"""
from dataclasses import dataclass, field

import yaml

# Formats that are types of ours in C++: type, header, JSON type.
FORMATS = {
    "share": ("Share", "base/share.h", "integer"),
    "cpu": ("CpuMilli", "base/share.h", "integer"),
    "bytes": ("Bytes", "base/share.h", "integer"),
    "int32": ("int32_t", "cstdint", "integer"),
    "seconds": ("Duration", "base/instant.h", "number"),
    "gpu-seconds": ("GpuTime", "model/workload.h", "number"),
    "date-time": ("WallTime", "api/wall_time.h", "string"),
    "workload-id": ("WorkloadId", "model/names.h", "string"),
    "token-id": ("TokenId", "model/names.h", "string"),
}
KNOWN = {"$ref", "additionalProperties", "anyOf", "default", "description", "enum", "format", "items", "maxItems",
         "maxLength", "maximum", "minItems", "minLength", "minimum", "properties", "required", "type", "x-json",
         "x-model"}
METHODS = ("get", "put", "post", "patch", "delete")
SCHEMA_PREFIX = "#/components/schemas/"


class ContractError(Exception):
    """The document says something that cannot be honoured."""


class _Loader(yaml.SafeLoader):
    """PyYAML accepts duplicate keys; the last one would silently win."""


def _unique_mapping(loader, node):
    keys = [loader.construct_object(key) for key, _ in node.value]
    for key in keys:
        if keys.count(key) > 1:
            raise ContractError(f"line {node.start_mark.line + 1}: the key '{key}' is there twice")
    return loader.construct_mapping(node, deep=True)


_Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _unique_mapping)


@dataclass
class Schema:
    """One schema: `kind` is string, integer, number, boolean, array, map, json, object, enum or ref."""
    kind: str
    description: str = ""
    format: str = ""
    ref: str = ""
    nullable: bool = False
    default: object = None
    low: int | None = None    # least length, count or value
    high: int | None = None   # largest
    item: "Schema | None" = None
    words: tuple = ()
    model: dict = field(default_factory=dict)
    properties: dict = field(default_factory=dict)
    required: tuple = ()


@dataclass
class Parameter:
    name: str
    place: str  # path, query or header
    description: str
    schema: Schema


@dataclass
class Operation:
    id: str
    method: str
    path: str
    summary: str
    needs_token: bool
    parameters: list
    body: str = ""    # name of a schema
    answer: str = ""  # name of a schema, "" for none or for what is no JSON


@dataclass
class Contract:
    schemas: dict
    operations: list


def _need(condition, where, message):
    if not condition:
        raise ContractError(f"{where}: {message}")


def _bounds(raw, kind):
    names = {"string": ("minLength", "maxLength"), "array": ("minItems", "maxItems"), "integer": ("minimum", "maximum")}
    low, high = names.get(kind, (None, None))
    return raw.get(low), raw.get(high)


def _parse_nullable(raw, where):
    """A type list with null, or anyOf of one schema and null; gives (raw without null, nullable)."""
    if "anyOf" in raw:
        others = [one for one in raw["anyOf"] if one != {"type": "null"}]
        _need(len(others) == 1 and len(raw["anyOf"]) == 2, where, "anyOf is only for one schema or null")
        return {**others[0], "description": raw.get("description", "")}, True
    if isinstance(raw.get("type"), list):
        others = [one for one in raw["type"] if one != "null"]
        if len(others) > 1:
            return {"x-json": "a union", "description": raw.get("description", "")}, False
        return {**raw, "type": others[0]}, True
    return raw, False


def parse_schema(raw, where):
    _need(isinstance(raw, dict), where, "a schema is an object")
    for key in raw:
        _need(key in KNOWN, where, f"the generator does not honour '{key}'")
    raw, nullable = _parse_nullable(raw, where)
    description = str(raw.get("description", "")).strip()
    common = {"description": description, "nullable": nullable, "default": raw.get("default")}
    if "$ref" in raw:
        _need(raw["$ref"].startswith(SCHEMA_PREFIX), where, f"'{raw['$ref']}' is no schema")
        return Schema("ref", ref=raw["$ref"].removeprefix(SCHEMA_PREFIX), **common)
    if "x-json" in raw:
        return Schema("json", **common)
    if "enum" in raw:
        return Schema("enum", words=tuple(raw["enum"]), model=raw.get("x-model", {}), **common)
    kind = raw.get("type")
    if kind == "object":
        return _parse_object(raw, where, common)
    _need(kind in ("string", "integer", "number", "boolean", "array"), where, f"unknown type '{kind}'")
    low, high = _bounds(raw, kind)
    form = raw.get("format", "")
    _need(not form or (form in FORMATS and FORMATS[form][2] == kind), where, f"unknown format '{form}' of {kind}")
    _need(kind != "number" or form, where, "a number needs a format: decimals never pass through a double")
    item = parse_schema(raw["items"], where + "[]") if kind == "array" else None
    return Schema(kind, format=form, low=low, high=high, item=item, **common)


def _parse_object(raw, where, common):
    if "properties" not in raw:
        extra = raw.get("additionalProperties")
        _need(isinstance(extra, dict), where, "an object has properties, or additionalProperties with a schema")
        return Schema("map", item=parse_schema(extra, where + ".*"), **common)
    properties = {name: parse_schema(one, f"{where}.{name}") for name, one in raw["properties"].items()}
    for name, one in properties.items():
        _need(one.description or one.kind == "ref", f"{where}.{name}", "the description is missing")
    for name in raw.get("required", ()):
        _need(name in properties, where, f"'{name}' is required and is no property")
    return Schema("object", properties=properties, required=tuple(raw.get("required", ())), **common)


def _json_schema(content, where):
    media = content.get("application/json")
    if media is None:
        return ""
    schema = parse_schema(media["schema"], where)
    _need(schema.kind == "ref", where, "a body or an answer is a named schema")
    return schema.ref


def _parse_parameter(raw, components, where):
    if "$ref" in raw:
        raw = components["parameters"][raw["$ref"].removeprefix("#/components/parameters/")]
    _need(raw["in"] in ("path", "query", "header"), where, f"unknown place '{raw['in']}'")
    _need(raw.get("description"), where, f"the description of '{raw['name']}' is missing")
    _need(bool(raw.get("required")) == (raw["in"] == "path"), where, "path parameters are required, others are not")
    return Parameter(raw["name"], raw["in"], raw["description"], parse_schema(raw["schema"], f"{where}({raw['name']})"))


def _parse_operation(document, path, method, item):
    raw = item[method]
    where = f"{method} {path}"
    _need(raw.get("operationId") and raw.get("summary"), where, "operationId and summary are needed")
    _need("default" in raw["responses"], where, "the default response (Problem) is missing")
    components = document["components"]
    parameters = [_parse_parameter(one, components, where)
                  for one in item.get("parameters", []) + raw.get("parameters", [])]
    braces = [part[1:-1] for part in path.split("/") if part.startswith("{")]
    _need(braces == [one.name for one in parameters if one.place == "path"], where, "path and its parameters differ")
    body = _json_schema(raw["requestBody"]["content"], where) if "requestBody" in raw else ""
    good = [code for code in raw["responses"] if code != "default"]
    answers = {_json_schema(raw["responses"][code].get("content", {}), where) for code in good}
    # 101: what follows is no HTTP any more.
    _need(good and all(code == "101" or code.startswith("2") for code in good), where, "a good response is needed")
    _need(len(answers) == 1, where, "all good responses have one schema")
    answer = answers.pop()
    needs_token = raw.get("security", document.get("security")) != []
    return Operation(raw["operationId"], method, path, raw["summary"], needs_token, parameters, body, answer)


def reachable(contract, names):
    """The names of all schemas that the named ones are made of, themselves included."""
    found, rest = set(), list(names)
    while rest:
        name = rest.pop()
        if name in found:
            continue
        if name not in contract.schemas:
            raise ContractError(f"no schema is called '{name}'")
        found.add(name)
        rest.extend(references(contract.schemas[name]))
    return found


def references(schema):
    parts = [*schema.properties.values(), *([schema.item] if schema.item else [])]
    return ([schema.ref] if schema.ref else []) + [ref for part in parts for ref in references(part)]


def _check_request_bounds(schema, where):
    """What comes from outside states how large it may be."""
    if schema.kind in ("string", "array") and not schema.format:
        _need(schema.high is not None, where, "a request's text or list needs maxLength or maxItems")
    for name, part in schema.properties.items():
        _check_request_bounds(part, f"{where}.{name}")
    if schema.item and schema.kind != "map":
        _check_request_bounds(schema.item, where + "[]")


def load(path):
    with open(path, encoding="utf-8") as stream:
        document = yaml.load(stream, Loader=_Loader)
    schemas = {name: parse_schema(raw, name) for name, raw in document["components"]["schemas"].items()}
    for name, schema in schemas.items():
        _need(schema.description, name, "the description is missing")
        _need(schema.kind in ("object", "enum", "json"), name, "a named schema is an object, an enum or x-json")
    operations = [_parse_operation(document, path, method, item)
                  for path, item in document["paths"].items() for method in METHODS if method in item]
    ids = [one.id for one in operations]
    for one in ids:
        _need(ids.count(one) == 1, one, "the operationId is there twice")
    contract = Contract(schemas, operations)
    requests = request_schemas(contract)
    for name in requests:
        _check_request_bounds(schemas[name], name)
    answers = reachable(contract, [one.answer for one in operations if one.answer])
    for name in requests & answers:
        _need(schemas[name].kind != "object", name, "a request and an answer share it: only one refuses unknown fields")
    reachable(contract, schemas)
    return contract


def request_schemas(contract):
    return reachable(contract, [one.body for one in contract.operations if one.body])
