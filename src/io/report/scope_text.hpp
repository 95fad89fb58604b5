#pragma once
// How sure an answer is, and of what: "proved" alone where nothing was fixed beforehand.

#include <string>
#include <string_view>

#include "engine/search_result.hpp"
#include "io/report/sheet.hpp"
#include "model/problem.hpp"
#include "model/scope.hpp"

namespace dfsearch {

/// "optimal, proved for the sharding that communicates least: gap 0".
std::string optimal_text(const Scope& scope);

/// "infeasible, proved: no plan fits", or proved for what the scope has.
std::string nothing_fits_text(const Scope& scope, std::string_view none);

/// The line `scope`; nothing where it is empty.
Sheet scope_line(const Scope& scope);

/// The same with what was found beyond it.
Sheet scope_line(const SearchResult& result, Objective objective);

}  // namespace dfsearch
