#pragma once
// A static check of a family: keys, blocks, parameters, expressions and their names.

#include <optional>
#include <string_view>

#include "graph/workloads/blocks/block.hpp"
#include "io/huggingface/family_file.hpp"
#include "io/text/input_messages.hpp"

namespace dfsearch {

/// Reports all that is wrong with a family, whatever config it will read.
void check_family(const Family& family, InputMessages& messages);

/// The kind of blocks of a name, or nothing.
std::optional<BlockKind> block_named(std::string_view name);

}  // namespace dfsearch
