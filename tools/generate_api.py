#!/usr/bin/env python3
"""Makes the C++ wire types and operations from the OpenAPI document.

usage: generate_api.py api/openapi.yaml FOLDER

writes FOLDER/wire_types.{h,cc} (a struct or enum for each schema, with reader and writer)
and FOLDER/operations.{h,cc} (the table of routes and the parameters of each operation).
They lean on src/api/wire.h and src/api/route.h. Files that did not change keep their time.
"""
import pathlib
import re
import sys

from api_contract import FORMATS, ContractError, load, references, request_schemas

KEYWORDS = {"class", "default", "operator", "private", "public", "template", "namespace", "delete", "new", "this"}
SCALARS = {"string": "std::string", "integer": "int64_t", "boolean": "bool", "json": "Json"}
NOTICE = "// Made from api/openapi.yaml by tools/generate_api.py. Do not edit.\n"


# ---- names ----

def pascal(words):
    return "".join(part[:1].upper() + part[1:] for part in re.split(r"[_\-]", words))


def member_name(name):
    name = name.lower().replace("-", "_")
    return name + "_" if name in KEYWORDS else name


def quoted(text):
    return '"' + str(text).replace("\\", "\\\\").replace('"', '\\"') + '"'


def comment(text, indent=""):
    """The text as // lines of at most 110 columns."""
    lines, line = [], ""
    for word in text.split():
        if line and len(indent) + 3 + len(line) + 1 + len(word) > 110:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return "".join(f"{indent}// {one}\n" for one in [*lines, line] if one)


# ---- types ----

class Types:
    """How schemas are spelled in C++."""

    def __init__(self, contract):
        self.contract = contract
        self.strict = request_schemas(contract)

    def named(self, name):
        schema = self.contract.schemas[name]
        if schema.kind == "json":
            return "Json"
        return schema.model.get("type", name)

    def bare(self, schema):
        """Without regard to whether it may be absent."""
        if schema.kind == "ref":
            return self.named(schema.ref)
        if schema.format:
            return FORMATS[schema.format][0]
        if schema.kind == "array":
            return f"std::vector<{self.bare(schema.item)}>"
        if schema.kind == "map":
            return f"std::map<std::string, {self.bare(schema.item)}>"
        return SCALARS[schema.kind]

    def of(self, schema, required):
        if schema.kind in ("array", "map", "json") and not schema.nullable:
            return self.bare(schema)
        if (required or schema.default is not None) and not schema.nullable:
            return self.bare(schema)
        return f"std::optional<{self.bare(schema)}>"

    def limits(self, schema):
        """The expression that states them for read_value() in src/api/wire.h."""
        if schema.kind in ("array", "map"):
            parts = []
            if schema.low is not None:
                parts.append(f".count_min = {schema.low}")
            if schema.high is not None:
                parts.append(f".count_max = {schema.high}")
            item = self.limits(schema.item)
            return f"ListLimits<{self.limits_type(schema.item)}>{{{', '.join([*parts, '.item = ' + item])}}}"
        if schema.kind == "string" and not schema.format:
            if schema.high is None:
                return "kAnyText"
            low = f".bytes_min = {schema.low}, " if schema.low else ""
            return f"TextLimits{{{low}.bytes_max = {schema.high}}}"
        if schema.kind == "integer" and schema.format in ("", "int32"):
            return self._range(schema)
        return "NoLimit{}"

    def limits_type(self, schema):
        text = self.limits(schema)
        return "TextLimits" if text == "kAnyText" else text[:text.index("{")]

    @staticmethod
    def _range(schema):
        low = schema.low if schema.low is not None else "INT32_MIN" if schema.format == "int32" else "INT64_MIN"
        high = schema.high if schema.high is not None else "INT32_MAX" if schema.format == "int32" else "INT64_MAX"
        return f"IntegerRange{{.min = {low}, .max = {high}}}"

    def default(self, schema):
        """The initialiser of a member."""
        if schema.default is None:
            return "{}"
        if schema.kind == "ref":
            return f" = {self.named(schema.ref)}::k{pascal(schema.default)}"
        if schema.kind == "boolean":
            return f" = {'true' if schema.default else 'false'}"
        return f" = {quoted(schema.default)}" if schema.kind == "string" else f" = {schema.default}"

    def ordered(self):
        """Names of schemas, each after those that it is made of."""
        done, under_way = [], []

        def visit(name):
            if name in done:
                return
            if name in under_way:
                raise ContractError(f"{name}: a schema contains itself: {' > '.join(under_way)}")
            under_way.append(name)
            for ref in references(self.contract.schemas[name]):
                visit(ref)
            under_way.pop()
            done.append(name)

        for name in self.contract.schemas:
            visit(name)
        return done


# ---- wire_types ----

def enum_declaration(name, schema):
    words = ", ".join(quoted(word) for word in schema.words)
    if schema.model:
        return (f"static_assert(moulin::kWords<{schema.model['type']}> == std::to_array<std::string_view>(\n"
                f"                  {{{words}}}),\n"
                f"              \"{name} in api/openapi.yaml and {schema.model['header']} have the same words\");\n\n")
    values = ", ".join("k" + pascal(word) for word in schema.words)
    return (f"{comment(schema.description)}enum class {name} {{ {values} }};\n"
            f"}}  // namespace moulin::wire\n"
            f"template <>\ninline constexpr auto moulin::kWords<moulin::wire::{name}> =\n"
            f"    std::to_array<std::string_view>({{{words}}});\n"
            f"namespace moulin::wire {{\n\n")


def struct_declaration(types, name, schema):
    lines = [f"{comment(schema.description)}struct {name} {{\n"]
    for key, part in schema.properties.items():
        described = part.description or (types.contract.schemas[part.ref].description if part.ref else "")
        lines.append(comment(described, "  "))
        lines.append(f"  {types.of(part, key in schema.required)} {member_name(key)}{types.default(part)};\n")
    lines.append(f"  bool operator==(const {name}&) const = default;\n}};\n")
    lines.append(f"template <>\nstruct Codec<{name}> {{\n"
                 f"  static Result<{name}> read(const Json& value, std::string_view path);\n"
                 f"  static Json write(const {name}& value);\n}};\n\n")
    return "".join(lines)


def types_header(types):
    schemas = types.contract.schemas
    headers = {schema.model["header"] for schema in schemas.values() if schema.model}
    headers |= {"api/wall_time.h", "api/wire.h"}
    includes = "".join(f'#include "{one}"\n' for one in sorted(headers))
    text = (f"{NOTICE}#pragma once\n\n#include <array>\n#include <cstdint>\n#include <map>\n#include <optional>\n"
            f"#include <string>\n#include <string_view>\n#include <vector>\n\n{includes}\n"
            f"namespace moulin::wire {{\n\n")
    for name in types.ordered():
        schema = schemas[name]
        if schema.kind == "enum":
            text += enum_declaration(name, schema)
        elif schema.kind == "object":
            text += struct_declaration(types, name, schema)
    return text + "}  // namespace moulin::wire\n"


def reader_definition(types, name, schema):
    strict = name in types.strict
    nulls = any(part.nullable for part in schema.properties.values())
    lines = [f"Result<{name}> Codec<{name}>::read(const Json& value, std::string_view path) {{\n"]
    if strict:
        names = ", ".join(quoted(key) for key in schema.properties)
        if not nulls:
            lines.append("  TRY(refuse_nulls(value, path));\n")
        lines.append(f"  static constexpr auto kNames = std::to_array<std::string_view>({{{names}}});\n"
                     f"  const ObjectReader reader = TRY(ObjectReader::open(value, path, {{.known = kNames}}));\n")
    else:
        lines.append("  const AnswerReader reader = TRY(AnswerReader::open(value, path));\n")
    lines.append(f"  {name} result;\n")
    for key, part in schema.properties.items():
        required = key in schema.required and not part.nullable and part.kind != "json"
        verb = "read_required" if required else "read_optional"
        lines.append(f"  TRY({verb}(reader, {quoted(key)}, result.{member_name(key)}, {types.limits(part)}));\n")
    lines.append("  return result;\n}\n\n")
    return "".join(lines)


def writer_definition(name, schema):
    lines = [f"Json Codec<{name}>::write(const {name}& value) {{\n  JsonObject members;\n"
             f"  members.reserve({len(schema.properties)});\n"]
    for key, part in schema.properties.items():
        always = key in schema.required or part.nullable or part.default is not None
        verb = "write_member" if always else "write_if_any"
        lines.append(f"  {verb}(members, {quoted(key)}, value.{member_name(key)});\n")
    lines.append("  return members;\n}\n\n")
    return "".join(lines)


def types_source(types):
    text = f'{NOTICE}#include "api/wire_types.h"\n\nnamespace moulin::wire {{\n\n'
    for name, schema in types.contract.schemas.items():
        if schema.kind == "object":
            text += reader_definition(types, name, schema) + writer_definition(name, schema)
    return text + "}  // namespace moulin::wire\n"


# ---- operations ----

def operation_struct(types, operation):
    name = pascal(operation.id)
    lines = [comment(operation.summary), f"// {operation.method.upper()} {operation.path}\nstruct {name} {{\n",
             f"  static constexpr Operation kOperation = Operation::k{name};\n"]
    if operation.body:
        lines.append(f"  using Body = {types.named(operation.body)};\n")
    lines.append(f"  using Answer = {types.named(operation.answer) if operation.answer else 'Nothing'};\n")
    for one in operation.parameters:
        lines.append(comment(one.description, "  "))
        required = one.place == "path"
        lines.append(f"  {types.of(one.schema, required)} {member_name(one.name)}{types.default(one.schema)};\n")
    lines.append(f"}};\ntemplate <>\nstruct ParameterCodec<{name}> {{\n"
                 f"  static Result<{name}> read(const PathValues& path_values, const Request& request);\n"
                 f"  static HttpCall write(const {name}& operation);\n}};\n\n")
    return "".join(lines)


def operations_header(types):
    operations = types.contract.operations
    values = "".join(f"  k{pascal(one.id)},\n" for one in operations)
    words = "".join(f"    {quoted(one.id)},\n" for one in operations)
    return (f'{NOTICE}#pragma once\n\n#include <array>\n#include <cstdint>\n#include <optional>\n#include <span>\n'
            f'#include <string>\n#include <string_view>\n#include <vector>\n\n#include "api/route.h"\n'
            f'#include "api/wire_types.h"\n\nnamespace moulin::wire {{\n\n'
            f"// Everything that can be asked.\nenum class Operation {{\n{values}}};\n}}  // namespace moulin::wire\n"
            f"template <>\ninline constexpr auto moulin::kWords<moulin::wire::Operation> = "
            f"std::to_array<std::string_view>({{\n{words}}});\nnamespace moulin::wire {{\n\n"
            f"std::span<const Route<Operation>> routes();\n"
            f"// False for the few operations that anybody may ask.\nbool needs_token(Operation operation);\n\n"
            + "".join(operation_struct(types, one) for one in operations) + "}  // namespace moulin::wire\n")


def parameter_reader(types, operation):
    name = pascal(operation.id)
    used = any(one.place in ("path", "query", "header") for one in operation.parameters)
    lines = [f"Result<{name}> ParameterCodec<{name}>::read(const PathValues& path_values, const Request& request) {{\n",
             "  ParameterReader reader(path_values, request);\n",
             f"  {'' if used else '[[maybe_unused]] '}{name} result;\n"]
    for one in operation.parameters:
        lines.append(f"  TRY(reader.from_{one.place}({quoted(one.name)}, result.{member_name(one.name)}, "
                     f"{types.limits(one.schema)}));\n")
    lines.append("  TRY(reader.finish());\n  return result;\n}\n\n")
    return "".join(lines)


def parameter_writer(operation):
    name = pascal(operation.id)
    unused = "" if operation.parameters else "[[maybe_unused]] "
    lines = [f"HttpCall ParameterCodec<{name}>::write({unused}const {name}& operation) {{\n",
             f"  ParameterWriter writer(Method::k{operation.method.capitalize()}, {quoted(operation.path)});\n"]
    for one in operation.parameters:
        name_argument = "" if one.place == "path" else quoted(one.name) + ", "
        lines.append(f"  writer.to_{one.place}({name_argument}operation.{member_name(one.name)});\n")
    lines.append("  return writer.finish();\n}\n\n")
    return "".join(lines)


def operations_source(types):
    operations = types.contract.operations
    table = "".join(f"    {{Method::k{one.method.capitalize()}, {quoted(one.path)}, Operation::k{pascal(one.id)}}},\n"
                    for one in operations)
    free = [f"operation != Operation::k{pascal(one.id)}" for one in operations if not one.needs_token]
    return (f'{NOTICE}#include "api/operations.h"\n\nnamespace moulin::wire {{\n\n'
            f"std::span<const Route<Operation>> routes() {{\n  static constexpr Route<Operation> kRoutes[] = {{\n"
            f"{table}  }};\n  return kRoutes;\n}}\n\n"
            f"bool needs_token(Operation operation) {{ return {' && '.join(free) or 'true'}; }}\n\n"
            + "".join(parameter_reader(types, one) + parameter_writer(one) for one in operations)
            + "}  // namespace moulin::wire\n")


def main(arguments):
    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    source, folder = arguments
    try:
        types = Types(load(source))
        made = {"wire_types.h": types_header(types), "wire_types.cc": types_source(types),
                "operations.h": operations_header(types), "operations.cc": operations_source(types)}
    except ContractError as error:
        print(f"{source}: {error}", file=sys.stderr)
        return 1
    pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
    for name, text in made.items():
        path = pathlib.Path(folder) / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
