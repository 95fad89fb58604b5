# dfsearch_layer(<name> <source>...): one folder under src/ as the static
# library dfsearch_<name>, known as dfsearch::<name> here and when installed.
function(dfsearch_layer name)
  set(target dfsearch_${name})
  add_library(${target} STATIC ${ARGN})
  add_library(dfsearch::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>
                                              $<INSTALL_INTERFACE:include>)
  target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:dfsearch_flags>)
endfunction()
