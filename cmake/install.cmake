# The program, its configs, and the libraries as a package that
# find_package(dfsearch) finds; tests/install uses it like a stranger.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
find_program(DFSEARCH_GZIP gzip)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/dfsearch)
install(TARGETS dfsearch RUNTIME)
# So deep that no package calls ldconfig for them.
if(TARGET dfsearch_mpi)
  install(TARGETS dfsearch_mpi LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/dfsearch/modules)
endif()
install(TARGETS dfsearch_base dfsearch_schema dfsearch_graph dfsearch_model dfsearch_technology dfsearch_milp
                dfsearch_engine dfsearch_design dfsearch_study dfsearch_io
        EXPORT dfsearchTargets COMPONENT library)
install(EXPORT dfsearchTargets NAMESPACE dfsearch:: DESTINATION ${package_dir} COMPONENT library)
install(CODE "set(source_dir [[${PROJECT_SOURCE_DIR}/src]])
set(scratch_dir [[${PROJECT_BINARY_DIR}/installed_headers]])" COMPONENT library)
install(SCRIPT cmake/install_headers.cmake COMPONENT library)
install(DIRECTORY configs DESTINATION ${CMAKE_INSTALL_DATADIR}/dfsearch)
# The program writes its manual page, the completion of bash and the schema of configs itself.
set(written ${PROJECT_BINARY_DIR}/written)
set(written_files manual=man/man1/dfsearch.1 bash=bash-completion/completions/dfsearch
                  schema=dfsearch/configs/dfsearch.schema.json)
foreach(pair ${written_files})
  string(REGEX MATCH "(.*)=(.*)" pair ${pair})
  cmake_path(GET CMAKE_MATCH_2 PARENT_PATH folder)
  if(CMAKE_MATCH_1 STREQUAL schema)
    set(command dfsearch schema)
  else()
    set(command dfsearch completion ${CMAKE_MATCH_1})
  endif()
  set(file ${written}/${CMAKE_MATCH_2})
  if(CMAKE_MATCH_1 STREQUAL manual AND DFSEARCH_GZIP)
    string(APPEND file .gz)
    list(APPEND command | ${DFSEARCH_GZIP} -9 -n)
  endif()
  file(MAKE_DIRECTORY ${written}/${folder})
  add_custom_command(OUTPUT ${file} COMMAND ${command} > ${file} DEPENDS dfsearch VERBATIM)
  list(APPEND all_written ${file})
  install(FILES ${file} DESTINATION ${CMAKE_INSTALL_DATADIR}/${folder})
endforeach()
add_custom_target(dfsearch_written ALL DEPENDS ${all_written})
# The program and the libraries hold the library of the charts.
foreach(file LICENSE NOTICE LICENSE-d3 README.md)
  install(FILES third_party/echarts/${file} DESTINATION ${CMAKE_INSTALL_DOCDIR}/echarts)
endforeach()
# The pages, and what they link to where the links say it is.
install(FILES LICENSE README.md CONTRIBUTING.md CHANGELOG.md CITATION.cff DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES bench/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR}/bench)
install(FILES bench/results/milp.json DESTINATION ${CMAKE_INSTALL_DOCDIR}/bench/results)
install(FILES tests/golden/README.md tests/golden/published.json
        DESTINATION ${CMAKE_INSTALL_DOCDIR}/tests/golden)
install(CODE "
  set(link [[${CMAKE_INSTALL_DOCDIR}/configs]])
  cmake_path(ABSOLUTE_PATH link BASE_DIRECTORY \"\${CMAKE_INSTALL_PREFIX}\")
  set(target [[${CMAKE_INSTALL_DATADIR}/dfsearch/configs]])
  cmake_path(ABSOLUTE_PATH target BASE_DIRECTORY \"\${CMAKE_INSTALL_PREFIX}\")
  cmake_path(GET link PARENT_PATH folder)
  cmake_path(RELATIVE_PATH target BASE_DIRECTORY \"\${folder}\")
  file(CREATE_LINK \"\${target}\" \"\$ENV{DESTDIR}\${link}\" SYMBOLIC)")

configure_package_config_file(cmake/dfsearchConfig.cmake.in dfsearchConfig.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(dfsearchConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/dfsearchConfig.cmake
              ${PROJECT_BINARY_DIR}/dfsearchConfigVersion.cmake DESTINATION ${package_dir}
        COMPONENT library)
