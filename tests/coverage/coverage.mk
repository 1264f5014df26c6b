# SPDX-License-Identifier: MIT
#
# make coverage: which lines and branches of the library the tests of the unit, inject
# and fuzz layers reach.  Fails below the aims; what stays out of reach and why stands
# in tests/coverage/unreached.tsv.  Included by the Makefile.

COVERAGE_LINE := 95
COVERAGE_BRANCH := 90

coverage_CC := $(CC) -m64
coverage_FLAGS := -O1 -g --coverage -fprofile-abs-path
coverage_LINK := --coverage
$(eval $(call BUILD_RULES,coverage))
$(foreach layer,unit inject fuzz,$(eval $(call LAYER_LINK,coverage,$(layer))))

COVERAGE_TESTS := $(unit_TESTS:%=build/coverage/tests/unit/%) $(inject_TESTS:%=build/coverage/tests/inject/%) \
	$(fuzz_TESTS:%=build/coverage/tests/fuzz/%)

.PHONY: coverage
coverage: $(COVERAGE_TESTS)
	@find build/coverage -name '*.gcda' -delete
	@SHARE=more INJECT_STRIDE=11 FUZZ_RUNS=3000 $(PYTHON) tests/run_layer.py coverage --jobs $(JOBS) $^ || \
		echo "tests failed: what they reach is measured all the same"
	@$(PYTHON) tests/coverage/coverage.py --line $(COVERAGE_LINE) --branch $(COVERAGE_BRANCH) build/coverage
