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


