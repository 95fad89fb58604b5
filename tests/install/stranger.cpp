// A program that uses dfsearch as an installed library: loads a config and
// finds its best mapping.

#include <cstdio>
#include <dfsearch/dfsearch.hpp>
#include <variant>

// A user's own base/units.hpp must not meet ours.
#if __has_include("base/units.hpp") || __has_include("dfsearch.hpp")
#error "only <dfsearch/...> may be in the include path of a user"
#endif

int main(int argc, char** argv) {
  if (argc != 2) {
    std::puts("usage: stranger CONFIG");
    return 2;
  }
  const dfsearch::Config config = dfsearch::load_config(argv[1], {});
  const dfsearch::SearchResult result = dfsearch::solve(config.problem, {.threads = 2});
  if (result.status != dfsearch::SearchStatus::Optimal) return 1;
  const auto again = dfsearch::evaluate(config.problem, *result.mapping);
  const auto* cost = std::get_if<dfsearch::Cost>(&again);
  if (cost == nullptr || cost->step_time != result.cost->step_time) return 1;
  // A config of any kind works as well.
  const dfsearch::AnyConfig any = dfsearch::load_any_config(argv[1], {});
  const dfsearch::Result found = dfsearch::solve(any, {.threads = 2});
  if (!found.objective || *found.objective != cost->objective) return 1;
  if (dfsearch::result_json(any, found).empty()) return 1;
  std::printf("%.17g s, proved\n", cost->step_time.in_base_units());
  return 0;
}
