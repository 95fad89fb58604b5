# dfsearch_unity(<target> <source>...): the sources of one folder as one translation unit, or of one
# UNITY_GROUP; a row of DFSEARCH_UNITS names folders that are compiled together, separated by |, and
# top is the folder of the target.  Half of a build reads headers, and this reads them once a unit.
# Developers build file by file (preset dev), which shows what a file does not include itself.
function(dfsearch_unity target)
  if(NOT DFSEARCH_UNITY)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  foreach(source IN LISTS ARGN)
    get_source_file_property(group ${source} UNITY_GROUP)
    if(NOT group)
      cmake_path(GET source PARENT_PATH group)
      if(group STREQUAL "")
        set(group top)
      endif()
    endif()
    foreach(unit IN LISTS DFSEARCH_UNITS)
      if(group MATCHES "^(${unit})$")
        string(REGEX MATCH "^[^|]*" group ${unit})
        break()
      endif()
    endforeach()
    string(MAKE_C_IDENTIFIER "${target}_${group}" group)
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group})
  endforeach()
endfunction()

# dfsearch_layer(<name> [<generated source>...]): all sources of a folder under src/ as the static
# library dfsearch_<name>, known as dfsearch::<name> here and when installed.
function(dfsearch_layer name)
  set(target dfsearch_${name})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} *.cpp)
  list(APPEND sources ${ARGN})
  list(REMOVE_DUPLICATES sources)
  add_library(${target} STATIC ${sources})
  add_library(dfsearch::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>
                                              $<INSTALL_INTERFACE:include>)
  target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:dfsearch_flags>)
  list(FILTER sources EXCLUDE REGEX "^[$]|^/") # generated
  dfsearch_unity(${target} ${sources})
endfunction()
