"""Map of addresses: channel, L2 slice, set key of the L2, DRAM bank and row.

An address map is a string as in the references: ``dramid@8;`` and 64 letters from bit 63 to bit 0, R for row, B for
bank, C for column, S for a byte of the burst, 0 for a bit without meaning. Channels take blocks of 2^8 bytes in
turn, and the quotient, put back in front of the 8 bits, is what the letters describe; with a power of two of channels
that is the address without its channel bits. The lowest bank bits choose the slice of a channel. ``ipoly`` and ``xor``
permute the slices by the bits above; ``random`` draws a slice for each block of a slice when a request for it is made
first, by the C library's generator; ``multiplicative`` takes it from the block's number. Source:
``docs/sources/accel-sim.md#address-map``.
"""

from typing import NamedTuple

import numpy as np

from rayplay.replay.jit.bits import HASH_FACTOR, bucket, called_from_python, compiled, inlined
from rayplay.replay.jit.rows import ring_size
from rayplay.replay.memory import hashes
from rayplay.replay.unit.schema import law

LETTERS = {"R": "row", "B": "bank", "C": "column", "S": "burst", "0": "unused"}
HASHES = ("linear", "xor", "ipoly")
LINEAR, XOR, IPOLY = range(3)
PARTITION_HASHES = ("consecutive", "xor", "ipoly", "random", "multiplicative")
RANDOM, MULTIPLICATIVE = PARTITION_HASHES.index("random"), PARTITION_HASHES.index("multiplicative")
WORDS, APART, WARM_UP = 31, 3, 310  # of glibc's generator: its state, between its taps, first numbers that are dropped


class Addresses(NamedTuple):
    """``bank``, ``row`` and ``key`` rows: shift right, mask, shift left; a field is the sum of its rows."""

    bank: np.ndarray  # int64[runs, 3], of the address within its channel
    row: np.ndarray  # int64[runs, 3]
    key: np.ndarray  # int64[runs, 3], of the address within its channel: without the slice's bits, in lines
    taps: np.ndarray  # int64[bits]: parity masks of the partition hash, of the upper part
    channels: int
    slices: int  # of a channel
    places: int  # slices of all channels, rounded up to a power of two of channels
    block_shift: int  # log2 of the bytes a channel takes in turn
    high_shift: int  # from the address within the channel to the upper part that is hashed
    hash: int
    bank_hash: int
    bank_taps: np.ndarray  # int64[bits]: of the bank hash, of the row
    banks: int
    grain_shift: int  # log2 of the sectors side by side that share slice, set, bank and row
    draw_shift: int  # log2 of the sectors of a block that has one slice
    drawn: np.ndarray  # int64[power of two, 2]: of random, a block + 1 (0: free) and its slice, by hash
    generator: np.ndarray  # int64[WORDS + 1]: the state, and the place of the next number


def parse_map(text: str) -> tuple[int, dict[str, list[int]]]:
    """Block shift and the bits of each field, lowest first; ``LawError`` for a text that is no address map."""
    head, semicolon, letters = text.partition(";")
    law(head.startswith("dramid@") and head[7:].isdigit() and bool(semicolon), "must begin with dramid@ and a number")
    law(len(head) < 10 and int(head[7:]) <= 48, f"must give a channel at most 2^48 bytes in turn, not 2^{head[7:50]}")
    law(int(head[7:]) >= 5, f"must give a channel at least a sector of 2^5 bytes in turn, not 2^{head[7:]}")
    letters = "".join(letter for letter in letters if letter not in ". |").upper()
    wrong = sorted(set(letters) - set(LETTERS))
    law(not wrong, f"must consist of the letters R, B, C, S and 0, not {', '.join(wrong)}")
    law(len(letters) == 64, f"must name 64 bits, not {len(letters)}")
    bits: dict[str, list[int]] = {letter: [] for letter in LETTERS}
    for bit, letter in enumerate(reversed(letters)):
        bits[letter].append(bit)
    law(bool(bits["B"]) and bool(bits["R"]), "must have bank and row bits")
    return int(head[7:]), bits


def runs(bits: list[int]) -> np.ndarray:
    """The rows (shift right, mask, shift left) that collect ``bits``, lowest first, side by side."""
    rows: list[list[int]] = []
    for place, bit in enumerate(bits):
        if rows and rows[-1][0] + rows[-1][1] == bit:
            rows[-1][1] += 1
        else:
            rows.append([bit, 1, place])
    return np.array([(first, (1 << length) - 1, place) for first, length, place in rows], np.int64)


def tap_masks(hash_name: str, places: int) -> np.ndarray:
    """Parity masks of the bits above the index by which ``ipoly`` permutes ``places``; empty for other hashes."""
    bits = places.bit_length() - 1
    return hashes.parity_masks(hash_name, places) >> bits if hash_name == "ipoly" else np.zeros(0, np.int64)


def make_addresses(text: str, channels: int, slices: int, partition_hash: str, banks: int, bank_hash: str) -> Addresses:
    """The map of a GPU; ``LawError`` when its parts do not fit together."""
    block_shift, bits = parse_map(text)
    law(1 << len(bits["B"]) == banks, f"must have {banks.bit_length() - 1} bank bits, not {len(bits['B'])}")
    slice_bits = bits["B"][: slices.bit_length() - 1]
    whole = channels & (channels - 1) == 0
    places = slices << (channels - 1).bit_length()
    law(partition_hash != "xor" or whole, "partition_hash xor needs a power of two of channels")
    law(partition_hash != "ipoly" or places in hashes.IPOLY, f"partition_hash ipoly needs 16, 32 or 64, not {places}")
    least = 6 + slices.bit_length()
    law(
        partition_hash != "random" or block_shift >= least,
        f"partition_hash random needs blocks of a slice of at least a line of 2^7 bytes: dramid@{least}",
    )
    law(bank_hash != "ipoly" or banks in hashes.IPOLY, f"bank_hash ipoly needs 16, 32 or 64 banks, not {banks}")
    grain = max(min(block_shift, 7, bits["B"][0], bits["R"][0]) - 5, 0)
    key = [bit for bit in range(7, 63) if bit not in slice_bits]
    return Addresses(
        runs(bits["B"]), runs(bits["R"]), runs(key), tap_masks(partition_hash, places), channels, slices, places,
        block_shift, block_shift + (slices.bit_length() - 1 if whole else 0),
        PARTITION_HASHES.index(partition_hash), HASHES.index(bank_hash), tap_masks(bank_hash, banks), banks, grain,
        max(block_shift - (slices.bit_length() - 1) - 5, 0), np.zeros((1, 2), np.int64), np.zeros(WORDS + 1, np.int64),
    )  # fmt: skip


def with_draws(state: Addresses, blocks: int) -> Addresses:
    """The map with room for the slices of ``blocks`` different blocks, none drawn; as it is where none are drawn."""
    if state.hash != RANDOM:
        return state
    return state._replace(drawn=np.zeros((2 * ring_size(blocks + 1), 2), np.int64), generator=seeded(1))


def seeded(seed: int) -> np.ndarray:
    """State of glibc's ``rand`` after ``srand(seed)``: r[i] = r[i - 31] + r[i - 3] modulo 2^32, halved."""
    words = [seed]
    while len(words) < WORDS:
        words.append(16807 * words[-1] % (2**31 - 1))
    state = np.array([*words, APART], np.int64)
    for _ in range(WARM_UP):
        called_from_python(next_random)(state)
    return state


@compiled
def next_random(state: np.ndarray) -> int:
    """The next number, of 31 bits."""
    place = state[WORDS]
    state[place] = (state[place] + state[(place + WORDS - APART) % WORDS]) & 0xFFFFFFFF
    state[WORDS] = (place + 1) % WORDS
    return int(state[place] >> 1)


@compiled
def drawn_slice(state: Addresses, sector: int) -> int:
    """The slice of a sector's block; the first call for a block draws it."""
    block, last = (sector >> state.draw_shift) + 1, state.drawn.shape[0] - 1
    row = bucket(block, state.drawn.shape[0])
    while state.drawn[row, 0] and state.drawn[row, 0] != block:
        row = (row + 1) & last
    if state.drawn[row, 0] == 0:
        state.drawn[row, 0] = block
        state.drawn[row, 1] = next_random(state.generator) % (state.channels * state.slices)
    return int(state.drawn[row, 1])


@inlined
def collect(rows: np.ndarray, address: int) -> int:
    """The bits of a field."""
    found = 0
    for index in range(rows.shape[0]):
        found |= ((address >> rows[index, 0]) & rows[index, 1]) << rows[index, 2]
    return found


@inlined
def within_channel(state: Addresses, sector: int) -> int:
    """The address of a sector number without what chose its channel."""
    below = (sector << 5) & ((1 << state.block_shift) - 1)
    return (sector >> (state.block_shift - 5)) // state.channels << state.block_shift | below


@inlined
def slice_of(state: Addresses, sector: int) -> int:
    """The L2 slice of a sector number; slice s belongs to channel s // slices."""
    if state.hash == RANDOM:
        return drawn_slice(state, sector)
    if state.hash == MULTIPLICATIVE:
        return ((((sector >> state.draw_shift) * HASH_FACTOR >> 32) & 0xFFFFFFFF) * state.channels * state.slices) >> 32
    channel = (sector >> (state.block_shift - 5)) % state.channels
    local = within_channel(state, sector)
    upper = local >> state.high_shift
    low_bank = collect(state.bank, local) & (state.slices - 1)
    if state.hash == XOR:
        return (channel ^ (upper & (state.channels - 1))) * state.slices + low_bank
    index = channel * state.slices + low_bank
    if state.hash == IPOLY:
        index = (index ^ hashes.parities(state.taps, upper)) % (state.channels * state.slices)
    return index


@inlined
def bank_of(state: Addresses, sector: int) -> int:
    """DRAM bank and row of a sector number: row * banks + bank."""
    local = within_channel(state, sector)
    bank, row = collect(state.bank, local), collect(state.row, local)
    if state.bank_hash == XOR:
        bank ^= row & (state.banks - 1)
    elif state.bank_hash == IPOLY:
        bank ^= hashes.parities(state.bank_taps, row)
    return row * state.banks + bank


@inlined
def set_key(state: Addresses, line: int) -> int:
    """The number of a line address among the lines of its slice: what the L2 chooses a set by."""
    return collect(state.key, within_channel(state, line << 2))
