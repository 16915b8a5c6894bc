"""Stands in for matplotlib where no registry has one for Pyodide: it can be imported, and draws
nothing. In a browser the real one comes from Pyodide's own distribution."""

import contextlib
import importlib.abc
import importlib.machinery
import sys
import types


class Methods(type):
    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *_, **__: None


class Nothing(metaclass=Methods):
    """Any class of matplotlib."""

    def __init__(self, *_, **__):
        raise RuntimeError("this stand-in for matplotlib draws nothing")

    def __class_getitem__(cls, item):
        return cls


class Anything(types.ModuleType):
    """Any module of matplotlib: whatever is asked of it is a class."""

    __path__ = ()

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        made = Methods(name, (Nothing,), {})
        setattr(self, name, made)
        return made


class Modules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        if name.startswith("matplotlib."):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return Anything(spec.name)

    def exec_module(self, module):
        """There is nothing in it."""


def rc_context(_):
    return Unchanged()


class Unchanged(contextlib.nullcontext, contextlib.ContextDecorator):
    """The look stays as it is."""


sys.meta_path.append(Modules())
sys.modules[__name__].__class__ = Anything
