"""Formulas as MathML, which browsers draw without a script and screen readers read aloud.

Also from Python: the glossary writes a formula once, as an expression that is computed and drawn.
"""

from __future__ import annotations

import ast
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx

SYMBOLS = {
    "lambda_2": r"\lambda_2", "alpha": r"\alpha", "beta": r"\beta", "mu": r"\mu", "tau": r"\tau",
    "eta": r"\eta", "sigma": r"\sigma", "delta": r"\delta", "rho": r"\rho", "gamma": r"\gamma",
    "infinity": r"\infty", "pi": r"\pi",
}  # fmt: skip
FUNCTIONS = {
    "log2": r"\log_2 {0}",
    "log": r"\ln {0}",
    "cos": r"\cos {0}",
    "sin": r"\sin {0}",
    "exp": r"e^{{{0}}}",
    "ceil": r"\lceil {0} \rceil",
    "floor": r"\lfloor {0} \rfloor",
    "abs": r"|{0}|",
    "sqrt": r"\sqrt{{{0}}}",
    "max": r"\max({0})",
    "min": r"\min({0})",
}
BRACKETED = ("ceil", "floor", "abs", "sqrt", "max", "min", "exp")  # need no brackets of their own
STRENGTH = {ast.Add: 1, ast.Sub: 1, ast.Mult: 2, ast.Div: 2, ast.Pow: 4}


def setup(app: Sphinx) -> dict[str, Any]:
    """Make Sphinx draw formulas so."""
    app.add_html_math_renderer("mathml", inline_renderers=(_inline, None),
                               block_renderers=(_block, None))  # fmt: skip
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _inline(translator: Any, node: nodes.math) -> None:
    translator.body.append(convert(node.astext()))
    raise nodes.SkipNode


def _block(translator: Any, node: nodes.math_block) -> None:
    drawn = convert(node.astext(), display="block")
    translator.body.append(f'<div class="formula" tabindex="0">{drawn}</div>')
    raise nodes.SkipNode


def latex(expression: str) -> str:
    """A Python expression as a formula, its terms in the order in which they stand.

    >>> latex("2 * (P - 1) / P * n * G")
    '2 \\\\frac{P - 1}{P} n G'
    """
    return _drawn(ast.parse(expression, mode="eval").body)


def _drawn(node: ast.expr, strength: int = 0) -> str:
    """`strength` is that of the sign around it: what binds less needs brackets."""
    if isinstance(node, ast.Name):
        return SYMBOLS.get(node.id, node.id)
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return f"-{_drawn(node.operand, 2)}"
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return _call(node)
    if isinstance(node, ast.BinOp):
        own = STRENGTH[type(node.op)]
        text = _operation(node, own)
        # A fraction is held together by its line, also where it is a factor.
        loose = own < strength and not (isinstance(node.op, ast.Div) and strength < 4)
        return rf"\left({text}\right)" if loose else text
    raise ValueError(f"no formula is drawn for {ast.unparse(node)!r}: see book/formulas.py")


def _call(node: ast.Call) -> str:
    name = node.func.id
    inner = [_drawn(one, 0 if name in BRACKETED else 3) for one in node.args]
    return FUNCTIONS[name].format(", ".join(inner))


def _operation(node: ast.BinOp, own: int) -> str:
    if isinstance(node.op, ast.Div):
        # a / b * c is drawn as a fraction and c, so what is over the line is only what it is.
        return rf"\frac{{{_drawn(node.left)}}}{{{_drawn(node.right)}}}"
    if isinstance(node.op, ast.Pow):
        return f"{_drawn(node.left, 5)}^{{{_drawn(node.right)}}}"
    left = _drawn(node.left, own)
    right = _drawn(node.right, own + isinstance(node.op, ast.Sub))
    if isinstance(node.op, ast.Mult):
        digits = right[:1].isdigit()
        return rf"{left} \cdot {right}" if digits else f"{left} {right}"
    return f"{left} {'+' if isinstance(node.op, ast.Add) else '-'} {right}"
