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

