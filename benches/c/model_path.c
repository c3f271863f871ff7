/* The original's shape of using a resident model: a chained table of 256 buckets keyed by id behind a pthread mutex per
 * core, the reference counted up under that mutex and down without it; an execution mutex per core around a run. */
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

enum { CORES = 2, DB_BUCKETS = 256, VARIABLE_BUCKETS = 1024, SUCCESS = 0, FAILURE = 1, INVALID = 2, INVALID_HANDLE = 3,
       CLOSED = 14 };

/* ht_node_t: 48 bytes. */
struct ht_node {
    uint64_t key;
    void *name;
    size_t buf_size;
    uint64_t bucket;
    uint32_t key_type;
    struct ht_node *next;
};
_Static_assert(sizeof(struct ht_node) == 48, "ht_node_t");

/* ht_t: header, then the buckets in the same block. */
struct ht {
    uint64_t size, size_mask, count;
    void (*free_node)(struct ht_node *);
    struct ht_node nodes[];
};

/* model_t: 7,744 bytes. */
struct model {
    char unk_0[6384];
    uint32_t id;
    char unk_18f4[100];
    _Atomic uint64_t ref_count;
    char unk_1960[1000];
    struct ht_node node;
    struct ht *variables;
    char tail[192];
};
_Static_assert(offsetof(struct model, ref_count) == 6488 && offsetof(struct model, node) == 7496 &&
                   sizeof(struct model) == 7744, "model_t");

struct core {
    pthread_mutex_t exec_lock __attribute__((aligned(64)));
    pthread_mutex_t db_lock __attribute__((aligned(64)));
    struct ht *db;
    _Atomic uint32_t running;
} __attribute__((aligned(64)));

static struct core cores[CORES];
static atomic_uint state;

static struct ht *ht_new(uint64_t size)
{
    struct ht *table = calloc(1, sizeof *table + size * sizeof(struct ht_node));
    if (!table)
        abort();
    table->size = size;
    table->size_mask = size - 1;
    return table;
}

/* 0 = found. */
static inline int ht_find(struct ht *table, uint64_t key, struct ht_node **out)
{
    struct ht_node *node = table->nodes[key & table->size_mask].next;
    while (node && node->key != key)
        node = node->next;
    *out = node;
    return node == NULL;
}

static void ht_insert(struct ht *table, uint64_t key, struct ht_node *node)
{
    struct ht_node *head = &table->nodes[key & table->size_mask];
    node->key = key;
    node->next = head->next;
    head->next = node;
    table->count++;
}

void nrt_c_model_setup(void)
{
    if (atomic_load(&state) == 1)
        return;
    for (unsigned c = 0; c < CORES; c++) {
        pthread_mutex_init(&cores[c].exec_lock, NULL);
        pthread_mutex_init(&cores[c].db_lock, NULL);
        cores[c].db = ht_new(DB_BUCKETS);
    }
    atomic_store(&state, 1);
}

/* Makes a model resident for the rest of the process. */
void nrt_c_model_load(unsigned core, uint32_t id)
{
    struct model *model = calloc(1, sizeof *model);
    if (!model)
        abort();
    model->id = id;
    model->variables = ht_new(VARIABLE_BUCKETS);
    pthread_mutex_lock(&cores[core].db_lock);
    ht_insert(cores[core].db, id, &model->node);
    pthread_mutex_unlock(&cores[core].db_lock);
}

static inline int acquire(struct core *core, uint32_t id, struct model **out)
{
    struct ht_node *node;
    pthread_mutex_lock(&core->db_lock);
    if (ht_find(core->db, id, &node)) {
        pthread_mutex_unlock(&core->db_lock);
        return FAILURE;
    }
    struct model *model = (struct model *)((char *)node - offsetof(struct model, node));
    atomic_fetch_add(&model->ref_count, 1);
    pthread_mutex_unlock(&core->db_lock);
    *out = model;
    return SUCCESS;
}

static inline void release(struct model *model)
{
    atomic_fetch_sub(&model->ref_count, 1);
}

static __attribute__((noinline)) int execute(uint32_t id)
{
    __asm__ volatile("" ::"r"(id) : "memory");
    return SUCCESS;
}

static inline int run(unsigned index, uint32_t id)
{
    if (atomic_load_explicit(&state, memory_order_relaxed) != 1)
        return CLOSED;
    struct core *core = &cores[index];
    struct model *model;
    pthread_mutex_lock(&core->exec_lock);
    if (acquire(core, id, &model)) {
        pthread_mutex_unlock(&core->exec_lock);
        return INVALID_HANDLE;
    }
    atomic_store_explicit(&core->running, id, memory_order_relaxed);
    int status = execute(id);
    atomic_store_explicit(&core->running, 0, memory_order_relaxed);
    release(model);
    pthread_mutex_unlock(&core->exec_lock);
    return status;
}

/* Takes the model, looks for a variable it does not have, gives it back. */
static inline int look_up(unsigned index, uint32_t id, uint32_t variable)
{
    if (atomic_load_explicit(&state, memory_order_relaxed) != 1)
        return CLOSED;
    struct model *model;
    struct ht_node *node;
    if (acquire(&cores[index], id, &model))
        return INVALID_HANDLE;
    int status = ht_find(model->variables, variable, &node) ? INVALID : SUCCESS;
    release(model);
    return status;
}

int nrt_c_model_run(unsigned core, uint32_t id)
{
    return run(core, id);
}

int nrt_c_model_look_up(unsigned core, uint32_t id, uint32_t variable)
{
    return look_up(core, id, variable);
}

void nrt_c_model_runs(unsigned core, uint32_t id, unsigned n)
{
    while (n--)
        if (run(core, id) != SUCCESS)
            abort();
}

void nrt_c_model_look_ups(unsigned core, uint32_t id, uint32_t variable, unsigned n)
{
    while (n--)
        if (look_up(core, id, variable) != INVALID)
            abort();
}

/* `n` times: takes the model, reads its id, gives it back. No state check: nothing but the table. */
void nrt_c_model_takes(unsigned core, uint32_t id, unsigned n)
{
    struct model *model;
    while (n--) {
        if (acquire(&cores[core], id, &model) || *(volatile uint32_t *)&model->id != id)
            abort();
        release(model);
    }
}

/* Unlinks the first node of its key; 0 = it was there. */
static int ht_remove(struct ht *table, uint64_t key)
{
    struct ht_node **link = &table->nodes[key & table->size_mask].next;
    while (*link && (*link)->key != key)
        link = &(*link)->next;
    if (!*link)
        return 1;
    *link = (*link)->next;
    table->count--;
    return 0;
}

/* `n` times: takes the model out under the lock, waits for its last reference as documented, by looking again and again, and
 * puts it back. */
void nrt_c_model_drains(unsigned index, uint32_t id, unsigned n)
{
    struct core *core = &cores[index];
    struct ht_node *node;
    while (n--) {
        pthread_mutex_lock(&core->db_lock);
        if (ht_find(core->db, id, &node) || ht_remove(core->db, id))
            abort();
        pthread_mutex_unlock(&core->db_lock);
        struct model *model = (struct model *)((char *)node - offsetof(struct model, node));
        while (atomic_load(&model->ref_count))
            ;
        pthread_mutex_lock(&core->db_lock);
        ht_insert(core->db, id, node);
        pthread_mutex_unlock(&core->db_lock);
    }
}

/* Takes the model and gives it back if it is there; 0 = it was not. */
int nrt_c_model_try_take(unsigned core, uint32_t id)
{
    struct model *model;
    if (acquire(&cores[core], id, &model))
        return 0;
    release(model);
    return 1;
}

/* References held on all models: 0 when everything was given back. */
uint64_t nrt_c_model_references(void)
{
    uint64_t references = 0;
    for (unsigned c = 0; c < CORES; c++)
        for (unsigned bucket = 0; cores[c].db && bucket < DB_BUCKETS; bucket++)
            for (struct ht_node *node = cores[c].db->nodes[bucket].next; node; node = node->next)
                references += ((struct model *)((char *)node - offsetof(struct model, node)))->ref_count;
    return references;
}
