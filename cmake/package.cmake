# `./dev package` ends here: an archive of all, and a Debian package of each component.
set(CPACK_GENERATOR TGZ DEB)
set(CPACK_PACKAGE_VENDOR "the dfsearch authors")
set(CPACK_PACKAGE_CONTACT "the dfsearch authors <dfsearch@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL program library)
if(TARGET dfsearch_python)
  list(APPEND CPACK_COMPONENTS_ALL python)
endif()
set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME dfsearch)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libdfsearch-dev)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_DEPENDS
    "libtbb-dev, libboost-dev, libyaml-cpp-dev, libfmt-dev, nlohmann-json3-dev, libprotobuf-dev")
set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-dfsearch)
set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS python3)
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION
    "Maps training, serving and other dataflow graphs onto machines of many chips,\n"
    "by branch and bound on closed-form models, with a proof that none is better.")
string(CONCAT CPACK_COMPONENT_PROGRAM_DESCRIPTION ${CPACK_COMPONENT_PROGRAM_DESCRIPTION})
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION "The library of dfsearch, with its headers.")
set(CPACK_COMPONENT_PYTHON_DESCRIPTION "dfsearch for Python.")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# Files that the policy of Debian requires of each package; other packages do not need them.
if(DFSEARCH_GZIP)
  file(WRITE ${PROJECT_BINARY_DIR}/changelog
       "dfsearch (${PROJECT_VERSION}) stable; urgency=medium\n\n  * CHANGELOG.md says what is new.\n\n"
       " -- ${CPACK_PACKAGE_CONTACT}  Thu, 01 Jan 1970 00:00:00 +0000\n")
  execute_process(COMMAND ${DFSEARCH_GZIP} -9 -n -c ${PROJECT_BINARY_DIR}/changelog
                  OUTPUT_FILE ${PROJECT_BINARY_DIR}/changelog.gz)
  foreach(component IN LISTS CPACK_COMPONENTS_ALL)
    string(TOUPPER ${component} name)
    set(folder share/doc/${CPACK_DEBIAN_${name}_PACKAGE_NAME})
    install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${folder} RENAME copyright
            COMPONENT ${component} EXCLUDE_FROM_ALL)
    install(FILES ${PROJECT_BINARY_DIR}/changelog.gz DESTINATION ${folder}
            COMPONENT ${component} EXCLUDE_FROM_ALL)
  endforeach()
endif()
include(CPack)
