# SPDX-License-Identifier: MIT
#
# For programs of this machine that are built with CMake: find_package(upmu) has the targets upmu::upmu and upmu::sim, the
# silicon model.  add_subdirectory() of upmu's tree has targets of the same names.
if(TARGET upmu::upmu)
  return()
endif()

# The real path comes first: a folder above can be a symbolic link, as /lib is one to usr/lib.
get_filename_component(_upmu_root "${CMAKE_CURRENT_LIST_DIR}" REALPATH)
get_filename_component(_upmu_root "${_upmu_root}/../../.." ABSOLUTE)

add_library(upmu::upmu STATIC IMPORTED)
set_target_properties(upmu::upmu PROPERTIES
  IMPORTED_LOCATION "${_upmu_root}/lib/libupmu.a"
  IMPORTED_LINK_INTERFACE_LANGUAGES C
  INTERFACE_COMPILE_DEFINITIONS "@OPTIONS@"
  INTERFACE_INCLUDE_DIRECTORIES "${_upmu_root}/include")

add_library(upmu::sim STATIC IMPORTED)
set_target_properties(upmu::sim PROPERTIES
  IMPORTED_LOCATION "${_upmu_root}/lib/libupmu_sim.a"
  IMPORTED_LINK_INTERFACE_LANGUAGES C
  INTERFACE_INCLUDE_DIRECTORIES "${_upmu_root}/include/upmu-sim"
  INTERFACE_LINK_LIBRARIES upmu::upmu)

unset(_upmu_root)
