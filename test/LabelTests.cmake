# Labels of tests by layer, from the table layers.txt beside this file. Included when the tests of programs are
# configured, and by ctest for those that it finds.

# attn_find_layers(TEST RESULT): the labels of the test of this name, whose file is under test/ or the root, if it has one.
function(attn_find_layers name result)
  get_filename_component(test_folder "${CMAKE_CURRENT_FUNCTION_LIST_DIR}" ABSOLUTE)
  set(text "")
  foreach(file "${test_folder}/../${name}" "${test_folder}/${name}")
    if(EXISTS "${file}" AND NOT IS_DIRECTORY "${file}")
      file(READ "${file}" text)
    endif()
  endforeach()
  set(labels)
  file(STRINGS "${test_folder}/layers.txt" rows REGEX "^[a-z]")
  foreach(row IN LISTS rows)
    string(REGEX MATCH "^([^ ]+) +([^ ]+) +([^ ]+) " fields "${row}")
    set(label "${CMAKE_MATCH_1}")
    set(said "${CMAKE_MATCH_3}")
    if("${name}" MATCHES "${CMAKE_MATCH_2}" OR (NOT "${said}" STREQUAL "-" AND "${text}" MATCHES "${said}"))
      list(APPEND labels "${label}")
    endif()
  endforeach()
  set(${result} "${labels}" PARENT_SCOPE)
endfunction()

# attn_label_tests(): of the current folder, beside the labels that its tests have.
function(attn_label_tests)
  get_property(names DIRECTORY PROPERTY TESTS)
  foreach(name IN LISTS names)
    attn_find_layers("${name}" layers)
    set_property(TEST "${name}" APPEND PROPERTY LABELS ${layers})
  endforeach()
endfunction()
