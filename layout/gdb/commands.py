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
