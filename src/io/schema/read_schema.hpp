#pragma once
// The reader that walks the rows of schemas (schema/schema.hpp).

#include "io/text/map_reader.hpp"
#include "schema/schema.hpp"

namespace dfsearch {

/// Reads the keys of a schema from a map into an object, whose members keep their values if their
/// keys are absent.  Keys of rows without a member count as known; the caller reads them and calls
/// finish().  Returns false and adds messages if anything is wrong.
bool read_keys(MapReader& reader, const Schema& schema, void* object);

/// Reads a single value of a row; `member` is the member of that row.
bool read_value(const YamlEntry& entry, const Field& field, void* member, InputMessages& messages);

template <class T>
bool read_object(MapReader reader, T& object) {
  const bool right = read_keys(reader, schema_of<T>(), &object);
  const std::size_t before = reader.messages().count();
  reader.finish();
  return right && reader.messages().count() == before;
}
template <class T>
bool read_object(const YamlEntry& section, T& object, InputMessages& messages) {
  return read_object(MapReader(section, messages), object);
}

}  // namespace dfsearch
