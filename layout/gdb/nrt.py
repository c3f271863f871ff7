"""The memory of a Neuron runtime in gdb: a live process or a core file of it.

    (gdb) source nrt.py
    (gdb) nrt tree                  the context tree: devices, cores, who holds what
    (gdb) nrt allocator [DEV CORE]  the device memory in each allocator's list
    (gdb) nrt models [DEV CORE]     the model database of each core
    (gdb) nrt ledger [DEV]          counters and events of each device
    (gdb) nrt dmem ADDRESS          one piece of device memory
    (gdb) nrt check                 lists against counters

The tree is found by the symbol tdrv_ctx, tdrv_ctx_0, or `nrt at ADDRESS`. No debug information is needed: the offsets
stand below. `cargo layout emit gdb --elf FILE` writes this file with those of another version. With debug information,
`print` and `info locals` show dmem_t, dmem_allocator_t, dmem_list_t, ht_t, model_t and dma_mem_log_t by their content.

Nothing is written and no function of the process is called. Every walk is bounded; what cannot be read is said so.
"""

import struct

import gdb

# BEGIN OFFSETS
# of the documented table
STRUCTS = {
    "tdrv_ctx_t": (18884656, {
        "num_mla": (0, 4, 1), "mla": (8, 18880256, 32), "num_ptpb": (18880264, 4, 1), "target": (18884528, 4, 1),
    }),
    "mla_t": (590008, {
        "is_used": (0, 1, 1), "_tpbs": (80, 314560, 8), "tpb_map": (314640, 8, 1), "host_device_id": (314652, 4, 1),
        "bdf": (576688, 80, 80), "dmem_logger": (576768, 1600, 1),
    }),
    "tpb_map_t": (8, {
        "map": (0, 8, 8),
    }),
    "tpb_t": (39320, {
        "tpb_allocator": (17024, 8, 1), "model_db": (20032, 8, 1), "h_running_model": (20040, 4, 1),
        "scratchpad": (22200, 16440, 1),
    }),
    "tdrv_scratchpad_t": (16440, {
        "page_size": (40, 8, 1), "num_pages": (48, 4, 1), "is_contiguous": (52, 1, 1),
    }),
    "dmem_t": (192, {
        "size": (16, 8, 1), "_pa": (24, 8, 1), "_va": (32, 8, 1), "align_offset": (40, 8, 1),
        "allocated_size": (48, 8, 1), "mem_type": (56, 4, 1), "mem_usage_type": (60, 4, 1),
        "tdram_channel": (64, 4, 1), "ref_count": (128, 8, 1), "hint": (136, 8, 1), "next": (152, 8, 1),
        "prev": (160, 8, 1),
    }),
    "dmem_allocator_t": (512, {
        "dummy_head": (64, 192, 1), "dummy_tail": (256, 192, 1),
    }),
    "dmem_list_t": (16, {
        "head": (0, 8, 1),
    }),
    "dmem_ref_node_t": (16, {
        "next": (8, 8, 1),
    }),
    "dma_mem_log_t": (1600, {
        "mla_idx": (40, 4, 1), "max_entries": (48, 8, 1), "memory_usage_nc": (112, 1472, 184),
        "entries": (1584, 8, 1),
    }),
    "dma_mem_log_entry_t": (64, {
        "action": (0, 4, 1), "mem_usage": (8, 4, 1), "hint": (16, 8, 1), "nc_idx": (24, 4, 1), "size": (32, 8, 1),
        "pa": (40, 8, 1),
    }),
    "ht_t": (32, {
        "size": (0, 8, 1), "count": (16, 8, 1), "nodes": (32, 0, 0),
    }),
    "ht_node_t": (48, {
        "key": (0, 8, 1), "next": (40, 8, 1),
    }),
    "model_t": (7744, {
        "name": (0, 256, 256), "h_model": (6384, 4, 1), "dmem_allocator": (6464, 8, 1), "ref_count": (6488, 8, 1),
        "static_mr_set": (6664, 8, 1), "ht_node": (7496, 48, 1),
    }),
    "H_MODEL": (4, {
        "id": (0, 4, 1),
    }),
}
ENUMS = {
    "al_hal_tpb_arch_type_t": {
        0: "AL_HAL_TPB_ARCH_TYPE_INVALID", 1: "AL_HAL_TPB_ARCH_TYPE_INVALID_1", 2: "AL_HAL_TPB_ARCH_TYPE_SUNDA",
        3: "AL_HAL_TPB_ARCH_TYPE_CAYMAN", 4: "AL_HAL_TPB_ARCH_TYPE_MARIANA", 5: "AL_HAL_TPB_ARCH_TYPE_NUM",
    },
    "dma_mem_location_t": {
        0: "DMA_MEM_LOC_INVALID", 1: "HOST_DRAM", 2: "TONGA_DRAM",
    },
    "dma_mem_usage_type_t": {
        0: "DMA_MEM_USAGE_TYPE_GENERIC", 1: "DMA_MEM_USAGE_TYPE_INSTR_PE", 2: "DMA_MEM_USAGE_TYPE_INSTR_ACT",
        3: "DMA_MEM_USAGE_TYPE_INSTR_POOL", 4: "DMA_MEM_USAGE_TYPE_IO", 5: "DMA_MEM_USAGE_TYPE_DRAM_SPILL",
        6: "DMA_MEM_USAGE_TYPE_WEIGHT", 7: "DMA_MEM_USAGE_TYPE_NOTIFICATION", 8: "DMA_MEM_USAGE_TYPE_ACT_TABLE",
        9: "DMA_MEM_USAGE_TYPE_INSTR_DVE", 10: "DMA_MEM_USAGE_TYPE_INSTR_SP", 11: "DMA_MEM_USAGE_TYPE_SCRATCHPAD",
        12: "DMA_MEM_USAGE_TYPE_TENSOR", 13: "DMA_MEM_USAGE_TYPE_UCODE_LIB", 14: "DMA_MEM_USAGE_TYPE_POOL_STDIO",
        15: "DMA_MEM_USAGE_TYPE_CC", 16: "DMA_MEM_USAGE_TYPE_SCRATCHPAD_NOT_SHARED", 17: "DMA_MEM_USAGE_TYPE_XT_CC",
        18: "DMA_MEM_USAGE_TYPE_DMA_RING", 19: "DMA_MEM_USAGE_TYPE_DMA_RING_SPILL",
        20: "DMA_MEM_USAGE_TYPE_DMA_RING_IO", 21: "DMA_MEM_USAGE_TYPE_DMA_RING_COLLECTIVES",
        22: "DMA_MEM_USAGE_TYPE_MAX",
    },
}
# END OFFSETS

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


CHOSEN = [None]


def tree():
    """The context tree."""
    if CHOSEN[0]:
        return Record("tdrv_ctx_t", CHOSEN[0])
    for symbol in ("tdrv_ctx_0", "tdrv_ctx"):
        try:
            told = gdb.execute("info address " + symbol, to_string=True)
        except gdb.error:
            continue
        words = [word.rstrip(".,") for word in told.split() if word.startswith("0x")]
        if words:
            address = struct.unpack("<Q", read(int(words[-1], 16), 8))[0]
            if address == 0:
                raise Unreadable("%s is null: no tree is installed yet, or the runtime was closed" % symbol)
            return Record("tdrv_ctx_t", address)
    raise Unreadable("no symbol tdrv_ctx or tdrv_ctx_0; name the tree with `nrt at ADDRESS`")


def devices(wanted=None):
    """(index, record) of the devices in use."""
    root = tree()
    _, _, count = root.place("mla")
    for index in range(count):
        device = root.inside("mla", "mla_t", index)
        if (wanted is None or wanted == index) and device.get("is_used"):
            yield index, device


def cores(arguments):
    """(device index, core index, record) of the owned cores, all or the one named."""
    device_wanted, core_wanted = (arguments + [None, None])[:2]
    for index, device in devices(device_wanted):
        for core, owned in enumerate(device.inside("tpb_map", "tpb_map_t").all("map")):
            if owned and (core_wanted is None or core_wanted == core):
                yield index, core, device.inside("_tpbs", "tpb_t", core)


def allocator_nodes(allocator):
    """The nodes in an allocator's list; a broken chain ends it with an exception."""
    head, _, _ = allocator.place("dummy_head")
    tail, _, _ = allocator.place("dummy_tail")
    node, before, steps = Record("dmem_t", head).get("next"), head, 0
    while node != tail:
        steps += 1
        if node == 0 or steps > LIMIT:
            raise Unreadable("the list of allocator %#x does not reach its tail" % allocator.address)
        record = Record("dmem_t", node)
        if record.get("prev") != before:
            raise Unreadable("node %#x does not point back to %#x" % (node, before))
        yield record
        before, node = node, record.get("next")


def table_nodes(address):
    """The nodes of a hash table."""
    table = Record("ht_t", address)
    size, step = table.get("size"), STRUCTS["ht_node_t"][0]
    if size == 0 or size & (size - 1) or size > LIMIT:
        raise Unreadable("the table at %#x has %d buckets" % (address, size))
    first = table.place("nodes")[0] if "nodes" in STRUCTS["ht_t"][1] else address + STRUCTS["ht_t"][0]
    for bucket in range(size):
        node, steps = Record("ht_node_t", first + bucket * step).get("next"), 0
        while node:
            steps += 1
            if steps > LIMIT:
                raise Unreadable("bucket %d of the table at %#x has no end" % (bucket, address))
            record = Record("ht_node_t", node)
            yield record
            node = record.get("next")


def models(core):
    database = core.get("model_db")
    offset = STRUCTS["model_t"][1]["ht_node"][0]
    if database:
        for node in table_nodes(database):
            yield Record("model_t", node.address - offset)


def dmem_line(node):
    location = name_of("dma_mem_location_t", node.get("mem_type"))
    where = "HBM %d" % node.get("tdram_channel") if location == "TONGA_DRAM" else "host"
    shift = node.get("align_offset")
    charged, references = node.get("allocated_size"), node.get("ref_count")
    line = "%#x: %s of %s in %s, pa %#x%s" % (
        node.address, bytes_text(node.get("size")), usage_name(node.get("mem_usage_type")), where, node.get("_pa"),
        " + %d" % shift if shift else "")
    hint = string(node.get("hint"))
    line += ", \"%s\"" % hint if hint else ""
    line += ", %s charged" % bytes_text(charged) if charged != node.get("size") else ""
    line += ", %d references" % references if references != 1 else ""
    return line + (", mapped at %#x" % node.get("_va") if node.get("_va") else "")


def sums(allocator):
    """(nodes, bytes charged, bytes charged by usage in device memory)."""
    count, total, by_usage = 0, 0, {}
    for node in allocator_nodes(allocator):
        count, total = count + 1, total + node.get("allocated_size")
        if name_of("dma_mem_location_t", node.get("mem_type")) == "TONGA_DRAM":
            usage = node.get("mem_usage_type")
            by_usage[usage] = by_usage.get(usage, 0) + node.get("allocated_size")
    return count, total, by_usage


def allocators(core):
    """(title, record) of the GLOBAL allocator of a core and the MODEL ones of its models."""
    if core.get("tpb_allocator"):
        yield "GLOBAL", Record("dmem_allocator_t", core.get("tpb_allocator"))
    for model in models(core):
        if model.get("dmem_allocator"):
            title = "MODEL of %s (%d)" % (model.text("name"), model.get("h_model"))
            yield title, Record("dmem_allocator_t", model.get("dmem_allocator"))


def model_line(model):
    references = model.get("ref_count")
    state = "draining, %d users" % (references & ~DRAINING) if references & DRAINING else "%d users" % references
    line = "model %d \"%s\": %s" % (model.get("h_model"), model.text("name"), state)
    if model.get("static_mr_set"):
        line += ", %d variables" % Record("ht_t", model.get("static_mr_set")).get("count")
    if model.get("dmem_allocator"):
        count, total, _ = sums(Record("dmem_allocator_t", model.get("dmem_allocator")))
        line += ", %d pieces, %s" % (count, bytes_text(total))
    return line


def ledger_total(ledger, core):
    """The counters of one core by usage; the last is the total."""
    counters = ledger.all("memory_usage_nc")
    columns = len(counters) // 8
    return counters[core * columns:(core + 1) * columns]


def show_tree(arguments):
    root = tree()
    target = name_of("al_hal_tpb_arch_type_t", root.get("target"), "AL_HAL_TPB_ARCH_TYPE_")
    print("tdrv_ctx_t %#x: %s, %d devices, %d cores registered" % (root.address, target, root.get("num_mla"), root.get("num_ptpb")))
    for index, device in devices(*arguments[:1]):
        ledger = device.inside("dmem_logger", "dma_mem_log_t")
        print("  ND%d  %s, host device %d" % (index, device.text("bdf"), device.get("host_device_id")))
        for _, core, record in cores([index]):
            running = record.get("h_running_model")
            held = ledger_total(ledger, core)[-1]
            print("    NC%d  %s on device%s" % (core, bytes_text(held), ", runs model %d" % running if running else ""))
            pad = record.inside("scratchpad", "tdrv_scratchpad_t")
            if pad.get("num_pages"):
                pages = pad.get("num_pages")
                kind = ", contiguous" if pad.get("is_contiguous") else ""
                print("      scratchpad: %d pages of %s%s" % (pages, bytes_text(pad.get("page_size")), kind))
            if record.get("tpb_allocator"):
                count, total, _ = sums(Record("dmem_allocator_t", record.get("tpb_allocator")))
                print("      GLOBAL allocator: %d pieces, %s" % (count, bytes_text(total)))
            for model in models(record):
                print("      " + model_line(model))


def show_allocator(arguments):
    for index, core, record in cores(arguments):
        for title, allocator in allocators(record):
            count, total, _ = sums(allocator)
            print("ND%d:NC%d %s allocator %#x: %d pieces, %s" % (index, core, title, allocator.address, count, bytes_text(total)))
            for node in allocator_nodes(allocator):
                print("  " + dmem_line(node))


def show_models(arguments):
    for index, core, record in cores(arguments):
        database = record.get("model_db")
        if database:
            table = Record("ht_t", database)
            print("ND%d:NC%d database %#x: %d models in %d buckets" % (index, core, database, table.get("count"), table.get("size")))
            for model in models(record):
                print("  " + model_line(model))


def show_ledger(arguments):
    for index, device in devices(*arguments[:1]):
        ledger = device.inside("dmem_logger", "dma_mem_log_t")
        print("ND%d ledger %#x" % (index, ledger.address))
        for _, core, _ in cores([index]):
            row = ledger_total(ledger, core)
            used = ["%s %s" % (usage_name(usage), bytes_text(value)) for usage, value in enumerate(row[:-1]) if value]
            print("  NC%d  %s%s" % (core, bytes_text(row[-1]), ": " + ", ".join(used) if used else ""))
        capacity, step = ledger.get("max_entries"), STRUCTS["dma_mem_log_entry_t"][0]
        if not ledger.get("entries") or not 0 < capacity <= LIMIT:
            continue
        ring = [Record("dma_mem_log_entry_t", ledger.get("entries") + slot * step) for slot in range(capacity)]
        live = [entry for entry in ring if entry.get("action") in (1, 2)]
        print("  %d events in a ring of %d" % (len(live), capacity))
        for entry in live[-int(arguments[1]) if len(arguments) > 1 else -16:]:
            action = {1: "+", 2: "-"}[entry.get("action")]
            hint = string(entry.get("hint"), 32)
            print("  %s NC%d %s of %s at %#x%s" % (
                action, entry.get("nc_idx"), bytes_text(entry.get("size")), usage_name(entry.get("mem_usage")), entry.get("pa"),
                " \"%s\"" % hint if hint else ""))


def show_check(arguments):
    faults = 0
    for index, core, record in cores(arguments):
        ledger = Record("mla_t", record.address - core * STRUCTS["tpb_t"][0] - STRUCTS["mla_t"][1]["_tpbs"][0])
        row = ledger_total(ledger.inside("dmem_logger", "dma_mem_log_t"), core)
        held = {}
        for _, allocator in allocators(record):
            for usage, value in sums(allocator)[2].items():
                held[usage] = held.get(usage, 0) + value
        for usage, value in enumerate(row[:-1]):
            if value != held.get(usage, 0):
                faults += 1
                print("ND%d:NC%d %s: lists hold %d bytes, the ledger says %d" % (index, core, usage_name(usage), held.get(usage, 0), value))
        if sum(row[:-1]) != row[-1]:
            faults += 1
            print("ND%d:NC%d: the total is %d, its parts are %d" % (index, core, row[-1], sum(row[:-1])))
    print("lists and ledger agree" if faults == 0 else "%d differences" % faults)


def show_dmem(arguments):
    print(dmem_line(Record("dmem_t", arguments[0])))


def choose(arguments):
    CHOSEN[0] = arguments[0] if arguments else None


TASKS = {"tree": show_tree, "allocator": show_allocator, "models": show_models, "ledger": show_ledger,
         "check": show_check, "dmem": show_dmem, "at": choose}


class Nrt(gdb.Command):
    __doc__ = __doc__

    def __init__(self):
        super().__init__("nrt", gdb.COMMAND_DATA)

    def complete(self, text, word):
        return [task for task in TASKS if task.startswith(word or "")]

    def invoke(self, argument, from_tty):
        words = gdb.string_to_argv(argument)
        task = TASKS.get(words[0]) if words else None
        if task is None:
            raise gdb.GdbError("usage: nrt " + "|".join(TASKS) + "; see `help nrt`")
        try:
            task([int(gdb.parse_and_eval(word)) for word in words[1:]])
        except Unreadable as error:
            raise gdb.GdbError(str(error)) from error
        except (IndexError, ValueError) as error:
            raise gdb.GdbError("nrt %s: %s" % (words[0], error)) from error


class Printer:
    """Shows one struct by its content, where debug information says that it is one."""

    def __init__(self, kind, address):
        self.kind, self.address = kind, address

    def to_string(self):
        record = Record(self.kind, self.address)
        try:
            if self.kind == "dmem_t":
                return dmem_line(record)
            if self.kind == "model_t":
                return model_line(record)
            if self.kind == "dmem_allocator_t":
                count, total, _ = sums(record)
                return "allocator with %d pieces, %s" % (count, bytes_text(total))
            if self.kind == "ht_t":
                return "table with %d entries in %d buckets" % (record.get("count"), record.get("size"))
            if self.kind == "dmem_list_t":
                node, count = record.get("head"), 0
                while node and count < LIMIT:
                    node, count = Record("dmem_ref_node_t", node).get("next"), count + 1
                return "list of %d pieces to release" % count
            totals = [ledger_total(record, core)[-1] for core in range(8)]
            return "ledger of device %d, %s held" % (record.get("mla_idx"), bytes_text(sum(totals)))
        except Unreadable as error:
            return "%s at %#x: %s" % (self.kind, self.address, error)


def printer(value):
    name = (value.type.strip_typedefs().tag or value.type.name or "").split("::")[-1]
    if name in ("dmem_t", "dmem_allocator_t", "dmem_list_t", "ht_t", "model_t", "dma_mem_log_t") and value.address is not None:
        return Printer(name, int(value.address))
    return None


Nrt()
gdb.pretty_printers.append(printer)
