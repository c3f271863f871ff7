/* The original's shape of an allocation and its release: every object from the heap, a pthread mutex per allocator for
 * the list, a pthread mutex per device for the ledger. Order of steps, sizes and offsets as documented; what the driver
 * would do is a counter per thread, as on the other side. */
#include <gnu/libc-version.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { DEVICES = 2, CORES = 8, CHANNELS = 4, USAGES = 22, RING = 4096, BURST = 64 };
enum { ALLOC = 1, FREE = 2, DEVICE_MEMORY = 2, SUCCESS = 0, FAILURE = 1, INVALID = 2, RESOURCE = 4, CLOSED = 14 };

struct core;
struct allocator;

/* dmem_t: 192 bytes. */
struct node {
    struct core *pcore;
    uint64_t mem_handle;
    size_t size;
    uint64_t pa;
    void *va;
    size_t align_offset;
    size_t allocated_size;
    uint32_t mem_type;
    uint32_t usage;
    uint32_t channel;
    char spare_44[60];
    _Atomic uint64_t ref_count;
    char *hint;
    void *cpy_buf;
    struct node *next, *prev;
    struct allocator *allocator;
    char spare_b0[16];
};
_Static_assert(sizeof(struct node) == 192 && offsetof(struct node, ref_count) == 128, "dmem_t");

/* dmem_allocator_t: sentinels around the list. */
struct allocator {
    uint32_t type;
    struct core *pcore;
    pthread_mutex_t lock;
    _Alignas(64) struct node head;
    _Alignas(64) struct node tail;
} __attribute__((aligned(64)));

/* dma_mem_log_entry_t: 64 bytes. */
struct entry {
    uint32_t action, location, usage, channel;
    char *hint;
    uint32_t nc;
    size_t size;
    uint64_t pa;
    size_t align_offset;
    size_t total;
};
_Static_assert(sizeof(struct entry) == 64, "dma_mem_log_entry_t");

/* dma_mem_log_t. */
struct ledger {
    pthread_mutex_t lock;
    uint32_t device;
    size_t max_entries, entry_count, next_entry, dropped;
    size_t usage[CHANNELS];
    size_t usage_nc[CORES][USAGES + 1];
    struct entry *entries;
} __attribute__((aligned(64)));

struct core {
    uint32_t device, index;
} __attribute__((aligned(64)));

struct device {
    int is_used;
    unsigned char core_map[CORES];
    struct core cores[CORES];
    struct allocator allocators[CORES];
    char bounce[CORES][64];
    struct ledger ledger;
} __attribute__((aligned(64)));

static struct device devices[DEVICES];
static atomic_uint state;

/* What stands for the driver: addresses that only rise, each thread in a span of its own. */
static _Atomic uint64_t spans;
static __thread uint64_t next_address;

static inline uint64_t driver_alloc(size_t size)
{
    if (next_address == 0)
        next_address = (atomic_fetch_add(&spans, 1) + 1) << 52;
    uint64_t pa = next_address;
    next_address += (size + 4095) & ~(size_t)4095;
    return pa;
}

void nrt_c_object_setup(void)
{
    if (atomic_load(&state) == 1)
        return;
    for (unsigned d = 0; d < DEVICES; d++) {
        struct device *device = &devices[d];
        device->is_used = 1;
        pthread_mutex_init(&device->ledger.lock, NULL);
        device->ledger.device = d;
        device->ledger.max_entries = RING;
        device->ledger.entries = calloc(RING, sizeof(struct entry));
        if (device->ledger.entries)
            memset(device->ledger.entries, 1, RING * sizeof(struct entry)); /* pages touched in advance */
        for (unsigned c = 0; c < CORES; c++) {
            struct allocator *allocator = &device->allocators[c];
            device->core_map[c] = 1;
            device->cores[c] = (struct core){.device = d, .index = c};
            allocator->pcore = &device->cores[c];
            pthread_mutex_init(&allocator->lock, NULL);
            allocator->head.next = &allocator->tail;
            allocator->tail.prev = &allocator->head;
        }
    }
    atomic_store(&state, 1);
}

static inline struct device *resolve(const struct core *core)
{
    if (core->device >= DEVICES || core->index >= CORES)
        return NULL;
    struct device *device = &devices[core->device];
    return device->is_used && device->core_map[core->index] ? device : NULL;
}

static inline void ledger_add(struct ledger *log, struct node *node, uint32_t action)
{
    uint32_t nc = node->pcore->index;
    pthread_mutex_lock(&log->lock);
    if (node->mem_type == DEVICE_MEMORY) {
        size_t delta = action == ALLOC ? node->allocated_size : -node->allocated_size;
        log->usage[node->channel] += delta;
        log->usage_nc[nc][node->usage] += delta;
        log->usage_nc[nc][USAGES] += delta;
    }
    if (log->max_entries && log->entries) {
        struct entry *entry = &log->entries[log->next_entry];
        log->next_entry = (log->next_entry + 1) % log->max_entries;
        if (log->entry_count < log->max_entries)
            log->entry_count++;
        else
            log->dropped++;
        entry->action = action;
        entry->location = node->mem_type;
        entry->usage = node->usage;
        entry->channel = node->channel;
        entry->hint = node->hint;
        entry->nc = nc;
        entry->size = node->size;
        entry->pa = node->pa;
        entry->align_offset = node->align_offset;
        if (node->mem_type == DEVICE_MEMORY)
            entry->total = log->usage[node->channel];
    }
    pthread_mutex_unlock(&log->lock);
}

static inline int object_allocate(struct allocator *allocator, struct node **out, size_t size, uint32_t channel,
                                  uint32_t usage, const char *hint)
{
    if (atomic_load_explicit(&state, memory_order_relaxed) != 1)
        return CLOSED;
    struct device *device = resolve(allocator->pcore);
    if (!device || usage >= USAGES || channel >= CHANNELS || size == 0)
        return INVALID;
    struct node *node = calloc(1, sizeof *node);
    if (!node)
        return RESOURCE;
    node->pa = driver_alloc(size);
    node->mem_handle = node->pa >> 12;
    node->size = size;
    node->usage = usage;
    node->mem_type = DEVICE_MEMORY;
    node->channel = channel;
    node->pcore = allocator->pcore;
    atomic_store_explicit(&node->ref_count, 1, memory_order_relaxed);
    node->hint = hint ? strdup(hint) : NULL;
    node->allocated_size = size;
    node->cpy_buf = device->bounce[allocator->pcore->index];
    ledger_add(&device->ledger, node, ALLOC);
    pthread_mutex_lock(&allocator->lock);
    struct node *last = allocator->tail.prev;
    node->prev = last;
    node->next = &allocator->tail;
    last->next = node;
    allocator->tail.prev = node;
    node->allocator = allocator;
    pthread_mutex_unlock(&allocator->lock);
    *out = node;
    return SUCCESS;
}

static inline void object_free(struct node *node)
{
    if (!node || atomic_fetch_sub(&node->ref_count, 1) != 1)
        return;
    struct device *device = resolve(node->pcore);
    if (!device)
        abort();
    free(node->hint);
    node->hint = NULL;
    ledger_add(&device->ledger, node, FREE);
    struct allocator *allocator = node->allocator;
    if (allocator) {
        pthread_mutex_lock(&allocator->lock);
        node->prev->next = node->next;
        node->next->prev = node->prev;
        pthread_mutex_unlock(&allocator->lock);
    }
    free(node);
}

void *nrt_c_object_allocate(unsigned device, unsigned core, unsigned channel, unsigned usage, size_t size, const char *hint)
{
    struct node *node = NULL;
    return object_allocate(&devices[device].allocators[core], &node, size, channel, usage, hint) == SUCCESS ? node : NULL;
}

void nrt_c_object_free(void *node)
{
    object_free(node);
}

/* `n` times: allocate, release. */
void nrt_c_object_pairs(unsigned device, unsigned core, unsigned channel, unsigned usage, size_t size, const char *hint,
                        unsigned n)
{
    struct allocator *allocator = &devices[device].allocators[core];
    while (n--) {
        struct node *node = NULL;
        if (object_allocate(allocator, &node, size, channel, usage, hint) != SUCCESS)
            abort();
        __asm__ volatile("" ::"r"(node) : "memory");
        object_free(node);
    }
}

/* Allocates `n` (at most 64), then releases them in the same order. */
void nrt_c_object_burst(unsigned device, unsigned core, unsigned channel, unsigned usage, size_t size, const char *hint,
                        unsigned n)
{
    struct allocator *allocator = &devices[device].allocators[core];
    struct node *nodes[BURST];
    n = n < BURST ? n : BURST;
    for (unsigned i = 0; i < n; i++)
        if (object_allocate(allocator, &nodes[i], size, channel, usage, hint) != SUCCESS)
            abort();
    __asm__ volatile("" ::"r"(nodes) : "memory");
    for (unsigned i = 0; i < n; i++)
        object_free(nodes[i]);
}

/* The floor: 192 zeroed bytes from the C library and back. */
void nrt_c_calloc_pairs(unsigned n)
{
    while (n--) {
        void *node = calloc(1, sizeof(struct node));
        __asm__ volatile("" ::"r"(node) : "memory");
        free(node);
    }
}

void nrt_c_calloc_burst(unsigned n)
{
    void *nodes[BURST];
    n = n < BURST ? n : BURST;
    for (unsigned i = 0; i < n; i++)
        nodes[i] = calloc(1, sizeof(struct node));
    __asm__ volatile("" ::"r"(nodes) : "memory");
    for (unsigned i = 0; i < n; i++)
        free(nodes[i]);
}

/* Bytes the ledgers hold: 0 when everything was released. */
size_t nrt_c_object_bytes(void)
{
    size_t bytes = 0;
    for (unsigned d = 0; d < DEVICES; d++)
        for (unsigned c = 0; c < CHANNELS; c++)
            bytes += devices[d].ledger.usage[c];
    return bytes;
}

const char *nrt_c_library_version(void)
{
    return gnu_get_libc_version();
}
