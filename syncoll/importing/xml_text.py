"""XML as other tools write it: parsed without entities, and without opening other files."""

from xml.etree.ElementTree import Element, ParseError

import defusedxml.ElementTree
from defusedxml import DefusedXmlException

from syncoll.importing.description import TextError

MOST_ELEMENTS = 500_000
"""Largest number of elements in a file; dumps of large machines have a few thousand."""

_DEEPEST = 64


def parse_xml(text: str, *, doctype: bool = False) -> Element:
    """The root element of an XML text.

    Raises:
        ImportFormatError: if it is not XML, declares entities or (without `doctype`) a document
            type, refers to other files, or is larger or nests more deeply than any topology.
    """
    text = text.removeprefix("\ufeff")
    try:
        root: Element = defusedxml.ElementTree.fromstring(text, forbid_dtd=not doctype)
    except DefusedXmlException:
        raise TextError(
            "it declares a document type or entities; such files can read other files or grow "
            "without bounds, so they are refused",
            "XML without <!DOCTYPE …> and <!ENTITY …>",
        ) from None
    except ParseError as error:
        line, column = error.position
        lines = text.split("\n")
        start = max(0, column - 60)
        raise TextError(
            f"not XML: {str(error).partition(':')[0]} at column {column + 1}",
            line=line,
            text=lines[line - 1][start : start + 120] if line <= len(lines) else "",
            expected="a complete XML file",
        ) from None
    except (ValueError, LookupError) as error:
        # The parser's words for an unknown encoding, or for a character that XML cannot hold.
        raise TextError(f"not XML: {error}", "a complete XML file") from None
    level, depth, count = [root], 0, 0
    while level:
        depth += 1
        count += len(level)
        if depth > _DEEPEST or count > MOST_ELEMENTS:
            raise TextError(
                f"more than {_DEEPEST} elements in one another, or {MOST_ELEMENTS} in all; no "
                "description of a machine is like that"
            )
        level = [child for element in level for child in element]
    return root
