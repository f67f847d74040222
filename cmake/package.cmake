# A Debian package of the program: `cpack -G DEB` in the build folder. The program carries
# its libraries (docs/adr/0014), so that it depends on glibc only.

include(GNUInstallDirs)
install(TARGETS moulin RUNTIME DESTINATION bin)
install(FILES "${CMAKE_SOURCE_DIR}/packaging/moulin.service" DESTINATION /lib/systemd/system)
install(FILES README.md CHANGELOG.md DESTINATION share/doc/moulin)
install(DIRECTORY docs/ DESTINATION share/doc/moulin/docs FILES_MATCHING PATTERN "*.md")

set(CPACK_PACKAGE_NAME moulin)
set(CPACK_PACKAGE_VERSION "${PROJECT_VERSION}")
set(CPACK_PACKAGE_CONTACT "The makers of Moulin <moulin@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "the GPUs of a machine for many people, by turns")
set(CPACK_PACKAGE_DESCRIPTION
  "Moulin shares the GPUs of a machine: parts of a GPU in a second, quotas, classes that
give way and resume, and an answer to why something waits. One program with its journal;
workloads outlive it.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "libc6 (>= 2.36)")
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA
  "${CMAKE_SOURCE_DIR}/packaging/postinst;${CMAKE_SOURCE_DIR}/packaging/prerm;${CMAKE_SOURCE_DIR}/packaging/postrm")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
include(CPack)
