"""How the engine's functions become machine code: parts are linked as they are, and optimised once, in an entry point.

numba by itself makes machine code of every function, and optimises what it calls, and what that calls, in each of them
again. The engine is some hundred small functions, many levels deep, that are only ever called by each other, so that
this took most of the time to compile it.
"""

from collections.abc import Iterator
from typing import Any

from llvmlite.binding import Linkage
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder, Flags
from numba.core.compiler_machinery import LoweringPass, PassManager, register_pass
from numba.core.typed_passes import (
    AnnotateTypes,
    IRLegalization,
    NativeLowering,
    NoPythonBackend,
    NopythonTypeInference,
    PreLowerStripPhis,
)
from numba.core.untyped_passes import (
    DeadBranchPrune,
    FixupArgs,
    GenericRewrites,
    IRProcessing,
    ReconstructSSA,
    RewriteSemanticConstants,
    TranslateByteCode,
)


class PartLibrary(JITCodeLibrary):
    """A function's code without its callees' code, neither optimised nor made machine code."""

    def finalize(self) -> None:
        """Close the library; a linker of it links its callees as well."""
        self._raise_if_finalized()
        for library in self._linking_libraries:
            self._reload_init.update(library._reload_init)
        self._finalized = True

    def _get_module_for_linking(self) -> Any:
        """Its functions, kept by the linker even before it has seen a call of them."""
        self._ensure_finalized()
        if self._shared_module is None:
            self._shared_module = self._final_module.clone()
            for function in self._shared_module.functions:
                if not function.is_declaration and function.linkage == Linkage.external:
                    function.linkage = "weak_odr"
        return self._shared_module

    def get_pointer_to_function(self, name: str) -> int:
        """There is no machine code."""
        return 0

    @property
    def codegen(self) -> Any:
        """The code generator, without what needs machine code."""
        return WithoutMachineCode(self._codegen)


class WithoutMachineCode:
    """A code generator for parts."""

    def __init__(self, codegen: Any) -> None:
        self._codegen = codegen

    def __getattr__(self, name: str) -> Any:
        return getattr(self._codegen, name)

    def set_env(self, name: str, environment: Any) -> None:
        """Do nothing: the environment is for calls from Python, which a part never has."""


class WholeLibrary(JITCodeLibrary):
    """An entry point's code with all its parts."""

    def finalize(self) -> None:
        """Link every part once, optimise, and make machine code."""
        libraries = list(all_of(self._linking_libraries, set()))
        self._linking_libraries = sorted(libraries, key=lambda library: not isinstance(library, PartLibrary))
        super().finalize()

    def _optimize_final_module(self) -> None:
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage == Linkage.weak_odr:
                function.linkage = "internal"  # what became part of its callers is dropped
        passes, builder = self._codegen._module_pass_manager(loop_vectorize=False)  # its loops are short
        passes.run(self._final_module, builder)
        for load in sorted(self._reload_init, key=repr):
            load()


def all_of(libraries: list[Any], seen: set[int]) -> Iterator[Any]:
    """The libraries and their callees, each once; a library of numba's own may call a part."""
    for library in libraries:
        if id(library) not in seen:
            seen.add(id(library))
            yield library
            yield from all_of(getattr(library, "_linking_libraries", []), seen)


class MakeLibrary(LoweringPass):
    """Gives the function its library before it is lowered into it."""

    library: type[JITCodeLibrary]

    def __init__(self) -> None:
        LoweringPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        """Make the library."""
        state.library = self.library(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return False


@register_pass(mutates_CFG=False, analysis_only=True)
class MakePart(MakeLibrary):
    """For a function that is only ever part of an entry point."""

    _name, library = "make_part_library", PartLibrary


@register_pass(mutates_CFG=False, analysis_only=True)
class MakeWhole(MakeLibrary):
    """For an entry point."""

    _name, library = "make_whole_library", WholeLibrary


def pipeline(state: Any, make: type[MakeLibrary], passes: list[Any]) -> list[Any]:
    """The given passes of numba's, with ``make`` before the last ones."""
    manager = PassManager("engine")
    for each in passes:
        manager.add_pass(each, each.__name__)
    manager.add_pass_after(make, AnnotateTypes)
    manager.finalize()
    return [manager]


# The passes of numba that matter to a part: it has no closure, no context, no exception, and no arithmetic
# on whole arrays, and each pass goes through all functions.
PASSES_OF_PART = [
    TranslateByteCode, FixupArgs, IRProcessing, RewriteSemanticConstants, DeadBranchPrune, GenericRewrites,
    ReconstructSSA, NopythonTypeInference, PreLowerStripPhis, IRLegalization, AnnotateTypes, NativeLowering,
    NoPythonBackend,
]  # fmt: skip


class Settings(Flags):
    """numba's compiler options; equal when the same ones were set.

    numba looks up some hundred operators in each function, and compares all options, by name, in each look-up.
    """

    __slots__ = ()

    def __hash__(self) -> int:
        return len(self._values)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Flags) and self._values == other._values


class EngineCompiler(CompilerBase):
    """numba's compiler with options that are compared fast."""

    def __init__(self, typing: Any, target: Any, library: Any, arguments: Any, result: Any, flags: Flags, types: Any):
        super().__init__(typing, target, library, arguments, result, Settings(flags), types)


class PartCompiler(EngineCompiler):
    """Compiles parts."""

    def define_pipelines(self) -> list[Any]:
        """See ``pipeline``."""
        return pipeline(self.state, MakePart, PASSES_OF_PART)


class WholeCompiler(EngineCompiler):
    """Compiles entry points."""

    def define_pipelines(self) -> list[Any]:
        """See ``pipeline``."""
        usual = DefaultPassBuilder.define_nopython_pipeline(self.state)
        return pipeline(self.state, MakeWhole, [each for each, _ in usual.passes])
