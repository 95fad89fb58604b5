# Installs the headers of src/ as <dfsearch/...>.  Run by install(SCRIPT), after
# install(CODE) has set `source_dir` and `scratch_dir`.
#
# Here a file includes "base/units.hpp" from src/.  A user may have a folder base/ too, so
# the installed headers include <dfsearch/base/units.hpp> and only the folder above
# dfsearch/ is in the user's include path.
#
# Headers that show a library which the package does not hand on (JSON, protobuf) stay here,
# and so do those that include them.
file(GLOB_RECURSE headers RELATIVE ${source_dir} ${source_dir}/*.hpp)
string(RANDOM LENGTH 12 run)  # two installations may run at once
string(APPEND scratch_dir /${run})
set(internal "<nlohmann/|<google/protobuf|\\.pb\\.h")
set(found TRUE)
while(found)
  set(found FALSE)
  foreach(header IN LISTS headers)
    file(READ ${source_dir}/${header} text)
    if(text MATCHES "#include [^\n]*(${internal})")
      list(REMOVE_ITEM headers ${header})
      string(REPLACE "." "\\." name ${header})
      string(APPEND internal "|\"${name}\"")
      set(found TRUE)
    endif()
  endforeach()
endwhile()
foreach(header IN LISTS headers)
  file(READ ${source_dir}/${header} text)
  string(REGEX REPLACE "(#include )\"([^\"\n]+)\"" "\\1<dfsearch/\\2>" text "${text}")
  file(WRITE ${scratch_dir}/${header} "${text}")
endforeach()
file(INSTALL ${scratch_dir}/ DESTINATION ${CMAKE_INSTALL_PREFIX}/include/dfsearch)
file(REMOVE_RECURSE ${scratch_dir})
