#include "cli/commands.hpp"

#include "cli/outputs.hpp"
#include "io/report/shelf_list.hpp"
#include "io/result/shelf_json.hpp"

namespace dfsearch {

int run_list(const CommandLine& line) {
  check_output(line.json);
  write_json_or(line.json, line.json.empty() ? "" : shelf_json(line.kinds), shelf_list(line.kinds));
  return kProved;
}

}  // namespace dfsearch
