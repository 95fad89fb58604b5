// The command-line tool: arguments in, exit status out.  Its texts come from io/, its answers from
// engine/.

#include <exception>
#include <new>
#include <string>
#include <variant>

#include "base/error.hpp"
#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/outputs.hpp"
#include "cli/signals.hpp"
#include "io/text/input_messages.hpp"

int main(int argc, char** argv) {
  using namespace dfsearch;
  occupy_standard_descriptors();
  make_writes_fail();
  try {
    const auto parsed = parse_command_line(argc, argv);
    if (const auto* answer = std::get_if<HelpText>(&parsed)) {
      print(answer->text);
      return kProved;
    }
    return run(std::get<CommandLine>(parsed));
  } catch (const InputError& error) {
    for (const std::string& message : error.messages()) print_error(escaped(message) + "\n");
    return kInputError;
  } catch (const std::bad_alloc&) {
    print_error("internal error: out of memory\n");
    return kInternalError;
  } catch (const std::exception& error) {
    print_error(escaped(error.what()) + "\n");
    return kInternalError;
  }
}
