# The program, its configs, and the libraries as a package that
# find_package(dfsearch) finds; tests/install uses it like a stranger.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/dfsearch)
install(TARGETS dfsearch RUNTIME)
if(TARGET dfsearch_mpi)
  install(TARGETS dfsearch_mpi LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/dfsearch)
endif()
install(TARGETS dfsearch_base dfsearch_graph dfsearch_model dfsearch_technology dfsearch_milp
                dfsearch_engine dfsearch_design dfsearch_study dfsearch_io
        EXPORT dfsearchTargets)
install(EXPORT dfsearchTargets NAMESPACE dfsearch:: DESTINATION ${package_dir})
install(CODE "set(source_dir [[${PROJECT_SOURCE_DIR}/src]])
set(scratch_dir [[${PROJECT_BINARY_DIR}/installed_headers]])")
install(SCRIPT cmake/install_headers.cmake)
install(DIRECTORY configs DESTINATION ${CMAKE_INSTALL_DATADIR}/dfsearch)
# The program and the libraries hold the library of the charts.
foreach(file LICENSE NOTICE LICENSE-d3 README.md)
  install(FILES third_party/echarts/${file} DESTINATION ${CMAKE_INSTALL_DOCDIR}/echarts)
endforeach()
install(FILES LICENSE README.md DESTINATION ${CMAKE_INSTALL_DOCDIR} OPTIONAL)

configure_package_config_file(cmake/dfsearchConfig.cmake.in dfsearchConfig.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(dfsearchConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/dfsearchConfig.cmake
              ${PROJECT_BINARY_DIR}/dfsearchConfigVersion.cmake DESTINATION ${package_dir})
