LIMIT = 1 << 20
DRAINING = 1 << 63


class Unreadable(Exception):
    """Memory that is not there, or does not hold what it should."""


def read(address, size):
    try:
        return bytes(gdb.selected_inferior().read_memory(address, size))
    except gdb.MemoryError as error:
        raise Unreadable("cannot read %d bytes at %#x" % (size, address)) from error


class Record:
    """A struct at an address; its fields are read when they are asked for."""

    def __init__(self, name, address):
        self.name, self.address = name, address

    def place(self, path):
        offset, size, count = STRUCTS[self.name][1][path]
        return self.address + offset, size, count

    def all(self, path):
        """The integers of an array, in order."""
        address, size, count = self.place(path)
        each = size // count
        code = {1: "B", 2: "H", 4: "I", 8: "Q"}[each]
        return list(struct.unpack("<%d%s" % (count, code), read(address, size)))

    def get(self, path):
        return self.all(path)[0]

    def text(self, path):
        address, size, _ = self.place(path)
        return read(address, size).split(b"\0")[0].decode("utf-8", "replace")

    def inside(self, path, name, index=0):
        """The struct embedded at `path`."""
        return Record(name, self.place(path)[0] + index * STRUCTS[name][0])


def string(address, limit=256):
    """NUL-terminated text; never reads beyond the page that ends it."""
    out = b""
    while address and len(out) < limit:
        step = min(limit - len(out), 4096 - (address + len(out)) % 4096)
        try:
            part = read(address + len(out), step)
        except Unreadable:
            break
        if b"\0" in part:
            return (out + part.split(b"\0")[0]).decode("utf-8", "replace")
        out += part
    return out.decode("utf-8", "replace")


def name_of(enumeration, value, cut=""):
    name = ENUMS.get(enumeration, {}).get(value)
    return "%d" % value if name is None else name[len(cut):] if name.startswith(cut) else name


def usage_name(value):
    return name_of("dma_mem_usage_type_t", value, "DMA_MEM_USAGE_TYPE_").lower()


def bytes_text(value):
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if value >= size:
            exact = value % size == 0
            return "%d %s" % (value // size, unit) if exact else "%.1f %s" % (value / size, unit)
    return "%d B" % value


