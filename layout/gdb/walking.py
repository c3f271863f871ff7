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


