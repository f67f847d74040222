#!/usr/bin/env python3
"""What the generator must refuse, and that docs/api.md lists every operation of the contract."""
import copy
import pathlib
import re
import tempfile
import unittest

import yaml

import api_contract

ROOT = pathlib.Path(__file__).resolve().parent.parent
CONTRACT = ROOT / "api" / "openapi.yaml"
SMALL = yaml.safe_load("""
openapi: 3.1.0
security: [{bearer: []}]
paths:
  /things/{name}:
    parameters: [{name: name, in: path, required: true, description: A name, schema: {type: string, maxLength: 9}}]
    post:
      operationId: change_thing
      summary: Change it
      requestBody: {content: {application/json: {schema: {$ref: "#/components/schemas/Wish"}}}}
      responses:
        "200": {content: {application/json: {schema: {$ref: "#/components/schemas/Thing"}}}}
        default: {description: A problem}
components:
  schemas:
    Wish: {type: object, description: A wish, properties: {size: {type: integer, description: How large}}}
    Thing:
      type: object
      description: A thing
      required: [size]
      properties: {size: {type: integer, description: How large}}
""")


def load(document):
    text = document if isinstance(document, str) else yaml.safe_dump(document)
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(text)
        file.flush()
        return api_contract.load(file.name)


class Refusals(unittest.TestCase):
    def refuse(self, message, change):
        document = copy.deepcopy(SMALL)
        change(document)
        with self.assertRaisesRegex(api_contract.ContractError, message):
            load(document)

    @staticmethod
    def post(document):
        return document["paths"]["/things/{name}"]["post"]

    def wish(self, **properties):
        return lambda document: document["components"]["schemas"]["Wish"]["properties"].update(properties)

    def test_the_small_contract_is_accepted(self):
        self.assertEqual([one.id for one in load(SMALL).operations], ["change_thing"])

    def test_constraints_that_would_be_ignored(self):
        self.refuse("'pattern'", self.wish(a={"type": "string", "maxLength": 5, "description": "x", "pattern": "^a$"}))
        self.refuse("number needs a format", self.wish(a={"type": "number", "description": "x"}))
        self.refuse("unknown format", self.wish(a={"type": "string", "description": "x", "format": "email"}))

    def test_requests_without_bounds(self):
        self.refuse("maxLength", self.wish(a={"type": "string", "description": "x"}))
        self.refuse("maxItems", self.wish(a={"type": "array", "description": "x", "items": {"type": "integer"}}))

    def test_names_that_lead_nowhere(self):
        self.refuse("no schema is called 'Gone'", self.wish(a={"$ref": "#/components/schemas/Gone"}))
        self.refuse("is no property", lambda document:
                    document["components"]["schemas"]["Thing"].update(required=["b"]))
        self.refuse("path and its parameters", lambda document: document["paths"].update(
            {"/things/{other}": document["paths"].pop("/things/{name}")}))

    def test_one_schema_for_both_directions(self):
        self.refuse("a request and an answer share", lambda document: self.post(document).update(
            requestBody={"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Thing"}}}}))

    def test_what_is_missing(self):
        self.refuse("description is missing", self.wish(a={"type": "integer"}))
        self.refuse("default response", lambda document: self.post(document)["responses"].pop("default"))

    def test_a_key_twice(self):
        with self.assertRaisesRegex(api_contract.ContractError, "'a' is there twice"):
            load("a: 1\na: 2\n")


class Documents(unittest.TestCase):
    def test_every_operation_is_in_the_reference(self):
        listed = set(re.findall(r"`(GET|POST|PATCH|PUT|DELETE) (/[^`\s]*)`", (ROOT / "docs" / "api.md").read_text()))
        operations = api_contract.load(CONTRACT).operations
        contract = {(one.method.upper(), one.path.removeprefix("/api/v1")) for one in operations}
        listed = {(method, path.removeprefix("/api/v1")) for method, path in listed if "ID" not in path}
        self.assertEqual(contract - listed, set(), "missing from docs/api.md")
        self.assertEqual(listed - contract, set(), "in docs/api.md and not in the contract")


if __name__ == "__main__":
    unittest.main()
