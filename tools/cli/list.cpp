#include "cli/list.hpp"

#include "cli/exit_status.hpp"
#include "cli/outputs.hpp"
#include "cli/standard_output.hpp"
#include "io/report/shelf_list.hpp"
#include "io/result/shelf_json.hpp"
#include "io/text/write_file.hpp"

namespace dfsearch {

int run_list(const CommandLine& line) {
  check_output(line.json);
  const bool as_json = line.json == "-";
  if (!line.json.empty() && !as_json) write_file(line.json, shelf_json(line.kinds));
  print(as_json ? shelf_json(line.kinds) : shelf_list(line.kinds));
  return kProved;
}

}  // namespace dfsearch
