# SPDX-License-Identifier: MIT
#
# The protocol between local calls, handlers and other CPUs, as models for spin (tests/model/README.md).
# Included by the Makefile.
#
#   make test-model             every model with the bounds for each test run, one variant in ten
#   make soak-model             the models with larger bounds (some minutes, up to 3 GB of memory), all variants

.PHONY: test-model soak-model
test-model:
	@MODEL_JOBS=$(JOBS) $(PYTHON) tests/run_layer.py model tests/model/test_model.py
soak-model:
	@MODEL_RUNS=soak $(PYTHON) tests/run_layer.py soak-model tests/model/test_model.py
