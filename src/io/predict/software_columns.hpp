#pragma once
// The columns of a table of runs for the switches of their software: the rows of
// schema_of<stack::Software>.

#include <string_view>
#include <vector>

#include "io/predict/csv_table.hpp"
#include "model/stack/software.hpp"

namespace dfsearch {

std::vector<std::string_view> software_columns();

/// Sets each switch whose cell is not empty: words of a set are joined by `+`, flags are 0 or 1.
/// Reports cells that are wrong.
void read_software(const RowReader& row, stack::Software& software);

}  // namespace dfsearch
