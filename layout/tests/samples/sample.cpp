// Shapes that only C++ has.
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace outer {
struct base { int a; virtual ~base() {} };
struct second { char b; };
class derived : public base, private second {
public:
    int c;
    static int shared;
protected:
    char d;
    struct inner { short e; long f; } g;
};
int derived::shared = 1;
template <typename T> struct box { T value; box *next; T &alias; };
namespace { struct hidden { char x; int y; }; }
struct empty {};
struct with_empty : empty { int a; };
struct alignas(32) aligned { char c; };
enum class scoped : unsigned char { one, two = 200 };
struct mixed { scoped s; int derived::*member; void (derived::*method)(); hidden h; aligned a; };
} // namespace outer

struct forward;
struct holder { forward *f; struct declared; declared *d; };
struct holder::declared { int late; };

outer::derived object;
outer::box<int> small{1, nullptr, outer::derived::shared};
outer::box<std::string> *large;
outer::mixed mixed;
outer::with_empty with_empty;
holder held;
holder::declared declared_late;
std::map<std::string, std::vector<int>> map;
std::shared_ptr<outer::base> shared;

int main() { return static_cast<int>(map.size()) + (shared ? object.c : small.value); }
