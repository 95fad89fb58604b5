#pragma once
// Inputs of the checkpoint target: the content of a checkpoint without what guards it.

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "model/problem.hpp"

namespace dfsearch::fuzz {

/// The CBOR map of the content; null if it is none.
nlohmann::json map_of(std::string_view content);

/// A checkpoint of `problem` as a file, from its content, a map in CBOR: first line,
/// checksum, version and fingerprint are those that a reader asks for, so that it
/// looks at the content.  What is no map is guarded as it is.
std::string guarded(std::string_view content, const Problem& problem);

/// The content of a checkpoint, without version and fingerprint, which change from release to
/// release.
std::string content_of(const std::string& checkpoint);

}  // namespace dfsearch::fuzz
