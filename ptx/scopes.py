"""Names of a function while it is read: nested scopes, shadowing, and the unique names that replace it.

PTX lets a ``{ }`` inside a body declare registers, variables and labels that hide outer ones (every call sequence of
nvcc declares ``param0``). The structure that the parser builds has one flat set of names per function, so the second
``param0`` becomes ``param0#2``.
"""

from ptx.ir import Register, Symbol

SPECIAL = frozenset((
    "%tid", "%ntid", "%ctaid", "%nctaid", "%laneid", "%warpid", "%nwarpid", "%smid", "%nsmid", "%gridid", "%clusterid",
    "%nclusterid", "%cluster_ctaid", "%cluster_nctaid", "%cluster_ctarank", "%cluster_nctarank",
    "%is_explicit_cluster", "%lanemask_eq", "%lanemask_le", "%lanemask_lt", "%lanemask_ge", "%lanemask_gt", "%clock",
    "%clock_hi", "%clock64", "%globaltimer", "%globaltimer_lo", "%globaltimer_hi", "%dynamic_smem_size",
    "%total_smem_size", "%aggr_smem_size", "%current_graph_exec", "%reserved_smem_offset_begin",
    "%reserved_smem_offset_end", "%reserved_smem_offset_cap", *(f"%envreg{i}" for i in range(32)),
    *(f"%pm{i}" for i in range(8)), *(f"%pm{i}_64" for i in range(8)), *(f"%reserved_smem_offset_{i}" for i in (0, 1)),
))  # fmt: skip


class Scopes:
    """What each written name means at the point being read."""

    def __init__(self) -> None:
        self.meaning: dict[str, Register | Symbol] = {}
        self.uses: dict[str, int] = {}  # how many declarations of a name the function has had
        self._declared: list[set[str]] = [set()]
        self._hidden: list[list[tuple[str, Register | Symbol | None]]] = [[]]

    def open(self) -> None:
        """A ``{``: from here on declarations hide outer ones."""
        self._declared.append(set())
        self._hidden.append([])

    def close(self) -> None:
        """A ``}``: outer meanings are back."""
        self._declared.pop()
        for name, before in reversed(self._hidden.pop()):
            if before is None:
                del self.meaning[name]
            else:
                self.meaning[name] = before

    @property
    def depth(self) -> int:
        """How many scopes are open inside the body."""
        return len(self._declared) - 1

    def is_declared_here(self, name: str) -> bool:
        """Whether the innermost scope declares the name already."""
        return name in self._declared[-1]

    def unique(self, name: str) -> str:
        """A name nothing else of the function has."""
        count = self.uses[name] = self.uses.get(name, 0) + 1
        return name if count == 1 else f"{name}#{count}"

    def declare_register(self, name: str) -> str:
        """Declare a register in the innermost scope; returns its unique name."""
        unique = self.unique(name)
        self._declared[-1].add(name)
        self._set(name, Register(unique))
        return unique

    def declare_variable(self, name: str) -> str:
        """Declare a variable in the innermost scope; returns its unique name."""
        unique = self.unique(name)
        self._declared[-1].add(name)
        self._set(name, Symbol(unique))
        return unique

    def lookup(self, name: str) -> Register | Symbol:
        """What a name in an operand means: a register, or else the address of a variable, function or label."""
        found = self.meaning.get(name)
        if found is not None:
            return found
        base, dot, component = name.partition(".")
        outer = self.meaning.get(base) if dot else None
        if isinstance(outer, Register):
            made: Register | Symbol = Register(outer.name, component)
        elif name[0] == "%" or name == "_":
            made = Register(base, component)
        else:
            made = Symbol(name)
        self._set(name, made)
        return made

    def _set(self, name: str, meaning: Register | Symbol) -> None:
        self._hidden[-1].append((name, self.meaning.get(name)))
        self.meaning[name] = meaning
