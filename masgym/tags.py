"""The part of a reply that counts: what one pair of tags encloses, or a bare reply as a whole.

    reply := content | text with exactly one <tag>content</tag>

What a model writes is data; reading it never raises and takes time linear in the reply. Reasons never quote the
reply, because they go to shared memory, which holds no raw text.
"""

from masgym.types import value


@value
class Malformed:
    """Why a reply holds nothing that counts."""

    reason: str


def inside(reply: str, tag: str) -> str | Malformed:
    """The content, without the white space around it. Two pairs are malformed, not guessed; so is a single tag."""
    opening, closing = f"<{tag}>", f"</{tag}>"
    if not reply.strip():
        return Malformed(reason="the reply was empty")
    tags = reply.count(opening), reply.count(closing)
    if tags == (0, 0):
        return reply.strip()
    text, closed, _ = reply.partition(opening)[2].partition(closing)
    if tags != (1, 1) or not closed:
        return Malformed(reason=f"it has {tags[0]} {opening} and {tags[1]} {closing}; exactly one pair was expected")
    return text.strip()


def clean(reply: str) -> str:
    """`reply` with lone surrogates replaced by "?": no encoder takes them."""
    return reply if reply.isascii() else reply.encode("utf-8", "replace").decode("utf-8")


def printable(text: str, keep: str = "") -> str:
    """`text` with a space for each character that is not printed (control characters, marks that turn the direction of
    writing, ...), but for those in `keep`: what others are shown must not move their cursor."""
    return text if text.isprintable() else "".join(c if c.isprintable() or c in keep else " " for c in text)
