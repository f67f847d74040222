"""What may include what."""

from tree import Problem

CHECKS = {}


def check(name):
    def register(function):
        CHECKS[name] = function
        return function
    return register


@check("layers")
def layers(tree):
    """Includes point down only, as src/LAYERS says, and are written from src/."""
    for file in tree.cpp():
        if file.layer is None:
            continue
        if file.layer not in tree.layers:
            yield Problem(file.path, 0, f"folder src/{file.layer} is not in src/LAYERS")
            continue
        for line, bracket, name in file.includes:
            first = name.split("/")[0]
            if bracket == "<":
                if first in tree.layers and tree.by_path("src/" + name):
                    yield Problem(file.path, line, f'write #include "{name}" for a header of ours')
            elif first not in tree.layers or "/" not in name:
                yield Problem(file.path, line, f'#include "{name}" does not begin with a layer (path from src/)')
            elif first not in tree.layers[file.layer]:
                yield Problem(file.path, line, f"{file.layer} may not use {first} (src/LAYERS)")
            elif not tree.by_path("src/" + name) and not _is_generated(tree, first, name):
                yield Problem(file.path, line, f'#include "{name}" names no file')


def _is_generated(tree, layer, name):
    recipe = tree.by_path(f"src/{layer}/CMakeLists.txt")
    return recipe is not None and name.split("/")[-1].rsplit(".", 1)[0] in recipe.text


@check("layer_order")
def layer_order(tree):
    """src/LAYERS names no layer before it stands, so there is no cycle of layers."""
    seen = set()
    for layer, allowed in tree.layers.items():
        for used in sorted(allowed - seen - {layer}):
            yield Problem("src/LAYERS", 0, f"{layer} uses {used}, which stands below it or nowhere")
        seen.add(layer)


@check("include_cycles")
def include_cycles(tree):
    """No header includes itself, however far round."""
    graph = {}
    for file in tree.cpp():
        if file.path.endswith(".h"):
            graph[file.path] = [(line, "src/" + name) for line, bracket, name in file.includes if bracket == '"']
    done, path = set(), []

    def visit(node):
        if node in path:
            return path[path.index(node):] + [node]
        if node in done or node not in graph:
            return None
        path.append(node)
        for _, name in graph[node]:
            cycle = visit(name)
            if cycle:
                return cycle
        path.pop()
        done.add(node)
        return None

    for node in sorted(graph):
        cycle = visit(node)
        if cycle:
            yield Problem(cycle[0], 0, "include cycle: " + " -> ".join(cycle))
            return


@check("own_header_first")
def own_header_first(tree):
    """foo.cc includes foo.h first, which proves that foo.h compiles alone."""
    for file in tree.cpp():
        own = file.path[:-3] + ".h"
        if not file.path.endswith(".cc") or not tree.by_path(own):
            continue
        if not file.includes or file.includes[0][2] != own[len("src/"):]:
            yield Problem(file.path, 0, f'the first include must be "{own[len("src/"):]}"')


@check("pragma_once")
def pragma_once(tree):
    """Headers are read once."""
    for file in tree.cpp():
        if file.path.endswith(".h") and "#pragma once" not in file.text:
            yield Problem(file.path, 0, "needs #pragma once")
