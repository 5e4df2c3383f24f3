"""Stand-in for SGLang's package of kernels, which exists for CUDA only.

Every name in it, in whatever submodule, is a function that fails when it is called.
SGLang's CPU engine computes with plain PyTorch where the processor has no AMX, so
that nothing is called; but it imports many of the names.
"""
import importlib.abc
import importlib.machinery
import sys
import types

import torch


def _absent(name):
    def fail(*args, **kwargs):
        raise NotImplementedError(f"{name} is not part of the stand-in for SGLang's kernels")

    fail.__name__ = name.rpartition(".")[2]
    return fail


class _Module(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return _absent(f"{self.__name__}.{name}")


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        if name.startswith(__name__ + ".") and name != __name__ + ".scalar_type":
            return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        module = _Module(spec.name)
        module.__path__ = []
        return module

    def exec_module(self, module):
        pass


sys.meta_path.insert(0, _Finder())


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return _absent(f"{__name__}.{name}")


# The one operator that is called: it binds threads to cores.
_library = torch.library.Library("sgl_kernel", "DEF")
_library.define("init_cpu_threads_env(str cores) -> str")
_library.impl("init_cpu_threads_env", lambda cores: cores, "CompositeExplicitAutograd")
