# SPDX-License-Identifier: MIT
#
# What `make test-judges` records (tests/judges/test_judges.py). create_llvm_prof of autofdo 0.19 reads DWARF 4.

JUDGED := build/judges/judged build/judges/judged32

$(JUDGED): build/judges/judged%: tests/judges/judged.c
	@mkdir -p $(@D)
	$(QUIET)$(CLANG) -m$(or $*,64) -O1 -gdwarf-4 -fdebug-info-for-profiling -Wall -Wextra -Werror -fPIE -static-pie -nostdlib -o $@ $< -lgcc
