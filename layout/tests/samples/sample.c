/* Shapes that layouts are got wrong for. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <pthread.h>

struct point { int x, y; };
typedef struct { char tag; double value; } pair_t;
enum colour { RED, GREEN = 7, BLUE = -3 };
union word { uint64_t all; struct { uint32_t low, high; }; uint8_t bytes[8]; };
struct __attribute__((packed)) packed_one { char c; long l; short s; };
struct over { char c; _Alignas(64) char line[64]; int after; };
struct over_member { char c; struct over inside; };
struct bits { unsigned a : 3, b : 7; int c : 5; unsigned : 0; unsigned char d : 2; uint64_t e : 40, f : 24; bool g : 1; };
struct __attribute__((packed)) packed_bits { char c; unsigned a : 5, b : 20, d : 13; short e : 9; };
struct flexible { size_t count; struct point points[]; };
struct zero { int n; char none[0]; };
struct nested { struct { int a; struct { char b; union { float f; int i; }; } deep; }; struct point grid[2][3]; };
struct pointers { struct opaque *opaque; int (*call)(struct point *, int, ...); void *table[4]; char *(*calls[2])(void); };
struct self { struct self *next, **back; const volatile struct self *const frozen; };
struct odd { long double wide; _Complex float complex_one; __int128 huge; _Atomic int counter; wchar_t letter; };
struct locks { pthread_mutex_t mutex; pthread_cond_t condition; };
struct empty_holes { char a; long b; char c; int d; char e; };

struct all {
    struct point a; pair_t b; enum colour c; union word d; struct packed_one e; struct over f; struct over_member g;
    struct bits h; struct packed_bits i; struct flexible *j; struct zero k; struct nested l; struct pointers m;
    struct self n; struct odd o; struct locks p; struct empty_holes q;
} everything;
struct flexible *flexible;

int main(void) {
    struct local { int only_here; char and_this; } here = { 1, 2 };
    return here.only_here + (int)sizeof everything;
}
