#pragma once
// Common parts of the checkpoints of all kinds of searches: the frame of a file, its fingerprint,
// and the counters.

#include <cstddef>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "engine/tree/tree_search.hpp"
#include "io/checkpoint/bytes.hpp"
#include "io/checkpoint/problem_fingerprint.hpp"

namespace dfsearch {

inline constexpr std::size_t kLargestCheckpoint = std::size_t{1} << 40;

/// The map as bytes, with the version of the program and the fingerprint of the problem.
std::string framed(nlohmann::json map, const Fingerprint& problem);

/// Hands the map in the bytes to `read`.  Throws InputError, naming the file, if they are no
/// checkpoint, damaged, of another version of dfsearch or of another problem; BadBytes and
/// exceptions of the library that `read` throws for an invalid map become InputError as well.
void read_framed(std::string_view bytes, const std::string& name, const Fingerprint& problem,
                 const std::function<void(const nlohmann::json&)>& read);

/// Returns whether the file is a checkpoint of this problem; false if there is no file.  Throws
/// InputError if it is anything else, which a checkpoint must not replace.
bool check_replaceable(const std::filesystem::path& file, const Fingerprint& problem);

/// A number of the map as an integer; throws BadBytes for a real one, whose conversion may be
/// undefined.
template <class T>
T get_integer(const nlohmann::json& number) {
  if (!number.is_number_integer()) throw BadBytes();
  return number.get<T>();
}

nlohmann::json binary(const std::string& bytes);
std::string_view text_of(const nlohmann::json& binary);

nlohmann::json put_stats(const SearchStats& stats);
/// Throws BadBytes.
SearchStats get_stats(const nlohmann::json& map);

}  // namespace dfsearch
