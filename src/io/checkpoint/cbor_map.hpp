#pragma once
// CBOR (RFC 8949) -> tree of values.

#include <nlohmann/json.hpp>
#include <string_view>

namespace dfsearch {

/// What the bytes say.  Throws nlohmann::json::exception if they are no CBOR, and
/// BadBytes if lists and maps in it are nested deeper than in any checkpoint.
nlohmann::json parse_cbor(std::string_view bytes);

}  // namespace dfsearch
