#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A header as Doxygen has to read it: its filter (docs/Doxyfile).  Usage: reference.py HEADER

Comments stay as they are written; this finds which of them belongs to what.  A comment above a declaration is that
declaration's, one behind it is of the same line, and lines below without a comment of their own share the one above, to
the next empty line.  What follows `private` in a structure is left out.  Lines keep their numbers.
"""
import re
import sys

# (These characters mean something to Doxygen.)
ESCAPED = re.compile(r'([\\@#<>%&"$])')


def escaped(text):
    return ESCAPED.sub(r"\\\1", text)


def sections(body):
    """The text of a comment: `Returns` and `Context` as sections."""
    body = escaped(body)
    body = re.sub(r"(^|\n)([ *]*)Returns:? ", r"\1\2@return ", body, count=1)
    body = re.sub(r"(^|\n|\.  ?)([ *]*)(Context:|Returns and context:)", lambda m: f"{m[1]}{m[2]}@pre {m[3]}", body, count=1)
    return body


def each_with(code, comment):
    """A declaration and its comment; of several names each gets it."""
    several = re.fullmatch(r"( +(?:const |volatile |struct )*\w+ )(\w+(?:, \w+)+);\s*", code)
    if several:
        return "".join(f"{several[1]}{name}; {comment}" for name in several[2].split(", "))
    return code + comment


class Header:
    """Lines for Doxygen, made one after the other."""

    def __init__(self, text, kind):
        self.kind = kind      # what its first comment is
        self.lines, self.made = text.split("\n"), []
        self.depth = 0        # of braces
        self.private = None   # the depth of a structure whose rest is private
        self.fresh = False    # that comment ended in the line before
        self.above = None     # the comment above, for all lines that follow it closely
        self.of_whole = ""    # the comment above the structure that we are in
        self.inside = False   # of a function
        self.numbers = False  # an enumeration's
        self.bare = []        # (line number, declaration) without any comment

    def comment(self, number):
        """(text before the comment that begins in this line, its inside, its last line)"""
        end = number
        while "*/" not in self.lines[end][self.lines[number].index("/*") if end == number else 0:]:
            end += 1
        block = "\n".join(self.lines[number:end + 1])
        at = block.index("/*")
        return block[:at], block[at + 2:block.rindex("*/")], end

    def block(self, number, body):
        """A comment that stands alone."""
        if "SPDX" in body:
            self.made.append("")
            return
        if re.match(r"\s*[Pp]rivate\b", body) and self.depth:
            self.made.append("" if self.private is not None else "/** @cond */")
            self.private = self.depth if self.private is None else self.private
            return
        self.fresh = number > 1
        self.above = None if number <= 1 else re.sub(r"\s*\n[ \t]*\*?[ \t]*", " ", body).strip()
        self.made += f"/**{self.kind if number <= 1 else ''}{sections(body)}*/".split("\n")

    def line(self, code, number):
        """One without a comment of its own."""
        self.inside = self.inside and code != "}" or code == "{"
        braces = 0 if code.startswith("extern") else code.count("{") - code.count("}")
        if self.private is not None and self.depth + braces < self.private:
            code, self.private = "/** @endcond */" + code, None
        names = re.findall(r"(\w+)(?:\[[^]]*\])*(?= *[;,)])|^#define (\w+)|^ +(\w+)$", code)
        declares = re.match(r"(struct|enum|union) \w+ \{", code) or (code.startswith("#define") and not code.endswith("\\") and len(code.split()) > 2) or \
            re.search(r"^(?!\}|.*\*/\};|struct \w+;|static inline ).*[;,]$", code) or re.match(r" +[A-Z]\w+( = .*)?$", code)
        if declares and self.private is None and not self.fresh:
            text = self.above
            if text is None and any(f"`{name}`" in self.of_whole for found in names for name in found if name):
                text = "See above."
            if text is None and self.numbers and self.depth:
                text = "See the enumeration."
            if text is None and not self.inside:
                self.bare.append((number + 1, code.strip()))
            code = each_with(code, f" /**< {sections(text)} */") if text and not self.inside else code
        if braces > 0:
            self.of_whole, self.above = self.above or "", None
            self.numbers = code.startswith("enum")
            if code.startswith("struct") and "rivate" in self.of_whole and self.private is None:
                code, self.private = code + " /** @cond */", self.depth + braces
        elif braces < 0 or not code.strip():
            self.above = None
        self.depth += braces
        self.fresh = False
        self.made.append(code)

    def whole(self):
        number = 0
        while number < len(self.lines):
            line = self.lines[number]
            if "/*" not in line:
                self.line(line, number)
            else:
                before, body, end = self.comment(number)
                if before.strip():
                    self.made += each_with(before, f"/**<{sections(body)}*/").split("\n")
                    self.depth += before.count("{") - before.count("}")
                    self.fresh = False
                else:
                    self.block(number, body)
                number = end
            number += 1
        return "\n".join(self.made)


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        print(Header(file.read(), " @mainpage" if sys.argv[1].endswith("upmu/upmu.h") else " @file").whole())
