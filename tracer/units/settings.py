"""Settings of a unit: what the text of an instruction fixes, as bit fields that the plan packs and the unit takes."""

from types import ModuleType

from rayplay.tracer.native.jit import compiled

WIDTH_SHIFT = 8


class Settings(ModuleType):
    """Bit fields from the lowest bit on: ``name[bits]``, in order.

    numba takes the attributes of a module for constants: ``take(settings, TEXTURE.geometry)`` is a shift and a mask.
    """

    def __init__(self, name: str, fields: str) -> None:
        super().__init__(name)
        self.places: dict[str, tuple[int, int]] = {}
        shift = 0
        for field in fields.split():
            word, _, rest = field.partition("[")
            bits = int(rest.rstrip("]") or 1)
            self.places[word] = shift, bits
            setattr(self, word, shift | bits << WIDTH_SHIFT)
            shift += bits
        assert shift < 64

    def pack(self, **values: int) -> int:
        """The settings with these fields, all others 0."""
        total = 0
        for name, value in values.items():
            shift, bits = self.places[name]
            assert 0 <= value < 1 << bits
            total |= value << shift
        return total


@compiled
def take(settings: int, field: int) -> int:
    """A field of packed settings."""
    return settings >> (field & (1 << WIDTH_SHIFT) - 1) & ((1 << (field >> WIDTH_SHIFT)) - 1)


BOUNDS = Settings("BOUNDS", "size[8] instruction[40]")
"""Of the bounds unit: bytes of an access, and the number of the instruction."""
