# SPDX-License-Identifier: MIT
#
# make install, make uninstall: the host tool with its manual pages and completion, the library and the silicon model for
# programs of this machine, with headers and files for pkg-config and CMake.  A kernel takes the tree instead (upmu.mk).
# make version: the version, if all files that state one agree.
#
#     make install PREFIX=/usr DESTDIR=/tmp/package     (both may have blanks)

PREFIX ?= /usr/local
BLANK := $(subst ,, )
# The build whose objects are installed: `installed` can be linked into position-independent programs.
INSTALL_BUILD ?= installed
# (looked up by these targets alone)
UPMU_VERSION = $(shell $(PYTHON) tools/sources.py --version)

build/installed/upmu: $(TOOL_SOURCES:%.c=build/installed/%.o) build/installed/libsim.a build/installed/libupmu.a
	$(QUIET)$(installed_CC) -pie -o $@ $^
# (with UPMU_OPTIONS the one that is built without them)
INSTALL_TOOL := $(if $(filter gcc-64,$(INSTALL_BUILD))$(UPMU_OPTIONS),build/upmu,build/$(INSTALL_BUILD)/upmu)

# Pages: of the tool, and of each row of its table of commands.
MAN_PAGES = upmu.1 $(shell sed -n 's/^    {"\([a-z]*\)",.*/upmu-\1.1/p' tools/cmd/cmd_main.c tools/cmd/cmd_completion.c)
build/man/upmu.1: $(INSTALL_TOOL) tools/man.py tools/sources.py CHANGELOG.md
	$(QUIET)rm -rf $(@D)
	$(QUIET)$(PYTHON) tools/man.py $(INSTALL_TOOL) $(@D)
.PHONY: man
man: build/man/upmu.1

# What the tool says itself of its words, for each shell, where that looks for it.
COMPLETIONS := bash:share/bash-completion/completions/upmu zsh:share/zsh/site-functions/_upmu fish:share/fish/vendor_completions.d/upmu.fish
build/completion/%: $(INSTALL_TOOL)
	@mkdir -p $(@D)
	$(QUIET)$(INSTALL_TOOL) completion $* > $@

# What programs include of the silicon model.
SIM_HEADERS := $(addprefix models/sim/,sim.h sim_amd_rules.h sim_uncore.h sim_uncore_rules.h)
# Each is WHERE:MODE:FILE.
INSTALL_FILES = bin/upmu:755:$(INSTALL_TOOL) \
	lib/libupmu.a:644:build/$(INSTALL_BUILD)/libupmu.a lib/libupmu_sim.a:644:build/$(INSTALL_BUILD)/libsim.a \
	$(foreach file,$(sort $(wildcard include/upmu/*.h include/upmu/private/*.h)),$(file):644:$(file)) \
	$(foreach file,$(SIM_HEADERS),include/upmu-sim/$(file):644:$(file)) \
	$(foreach page,$(MAN_PAGES),share/man/man1/$(page):644:build/man/$(page)) \
	$(foreach shell,$(COMPLETIONS),$(lastword $(subst :, ,$(shell))):644:build/completion/$(firstword $(subst :, ,$(shell)))) \
	$(foreach file,LICENSE CHANGELOG.md $(sort $(wildcard docs/*.md)),share/doc/upmu/$(notdir $(file)):644:$(file)) \
	$(foreach file,$(sort $(wildcard docs/screenshots/*.png)),share/doc/upmu/screenshots/$(notdir $(file)):644:$(file))
INSTALL_MADE := lib/pkgconfig/upmu.pc lib/pkgconfig/upmu-sim.pc lib/cmake/upmu/upmu-config.cmake lib/cmake/upmu/upmu-config-version.cmake
# Folders that are ours: they go if nothing else is in them.
INSTALL_FOLDERS := include/upmu-sim/models/sim include/upmu-sim/models include/upmu-sim include/upmu/private include/upmu share/doc/upmu/screenshots share/doc/upmu lib/cmake/upmu

# $(call PC,NAME,ABOUT,REQUIRES,CFLAGS,LIBRARY): the lines of NAME.pc.
PC = 'prefix=$(subst $(BLANK),\ ,$(PREFIX))' 'Name: $(1)' 'Description: $(2)' 'Version: $(UPMU_VERSION)' $(if $(3),'Requires: $(3)') 'Cflags: $(4)' \
	'Libs: -L$${prefix}/lib -l$(5)'

# What stands for @NAME@ in the files of tools/cmake; POINTER has the bytes of a pointer.
CMAKE_WORDS = VERSION:$(UPMU_VERSION) SERIES:$(basename $(UPMU_VERSION)) OPTIONS:$(subst $(BLANK),;,$(UPMU_DEFINES:-D%=%)) \
	POINTER:$(shell echo __SIZEOF_POINTER__ | $($(INSTALL_BUILD)_CC) -E -P -)

.PHONY: install uninstall
install uninstall: root = "$(DESTDIR)$(PREFIX)"
install: $(INSTALL_TOOL) build/$(INSTALL_BUILD)/libupmu.a build/$(INSTALL_BUILD)/libsim.a build/man/upmu.1 \
	$(foreach shell,$(COMPLETIONS),build/completion/$(firstword $(subst :, ,$(shell))))
	@for file in $(INSTALL_FILES); do \
		IFS=: read -r to mode from <<< "$$file" && mkdir -p "$$(dirname $(root)/"$$to")" && \
		install -m "$$mode" "$$from" $(root)/"$$to" || exit 1; \
	done
	@mkdir -p $(root)/lib/pkgconfig $(root)/lib/cmake/upmu
	@printf '%s\n' $(call PC,upmu,performance counters: names$(COMMA) encodings$(COMMA) counts,,$(strip -I$${prefix}/include \
		$(UPMU_DEFINES)),upmu) > $(root)/lib/pkgconfig/upmu.pc
	@printf '%s\n' $(call PC,upmu-sim,silicon models of CPUs for programs that use upmu,upmu = $(UPMU_VERSION),-I$${prefix}/include/upmu-sim,upmu_sim) \
		> $(root)/lib/pkgconfig/upmu-sim.pc
	@for file in upmu-config.cmake upmu-config-version.cmake; do \
		sed $(foreach word,$(CMAKE_WORDS),-e 's|@$(subst :,@|,$(word))|g') tools/cmake/$$file > $(root)/lib/cmake/upmu/$$file || exit 1; \
	done
	@echo "installed upmu $(UPMU_VERSION) in "$(root)

uninstall:
	@for file in $(foreach file,$(INSTALL_FILES),$(firstword $(subst :, ,$(file)))) $(INSTALL_MADE); do \
		rm -f $(root)/"$$file" || exit 1; \
	done
	@for folder in $(INSTALL_FOLDERS); do rmdir $(root)/"$$folder" 2>/dev/null || true; done

.PHONY: version
version:
	@$(PYTHON) tools/version.py
