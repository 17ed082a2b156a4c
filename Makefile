# Thin: each target is one or two commands that can be typed by hand. `make` alone lists them.
# SPDX-License-Identifier: MIT
.DEFAULT_GOAL := help
.PHONY: help install packages environment programs build demo demo-long test test-long test-newcomer golden format lint docs reference bench clean
MAKEFLAGS += --no-print-directory

help:  ## list the targets
	@sed -nE 's/^([a-z-]+):.*## (.*)/make \1|\2/p' Makefile | awk -F'|' '{printf "%-20s %s\n", $$1, $$2}'

install:
	@tools/bootstrap
packages:
	@tools/bootstrap --packages
environment: packages
	@tools/bootstrap
programs: packages
	@tools/build release

build:  ## install what is missing, and build everything but the tests (release)
	@$(MAKE) -j2 environment programs  # pip, which uses one processor, beside the compiler

demo:  ## shortest paths on chips of 1 to 256 cores, from nothing to report/index.html in 3 minutes
	@tools/demo

demo-long:  ## the same with three seeds a point, and a road network of RUBATO_DATA
	@tools/demo --long

test: install  ## build and run every test: CTest (release, and a part under sanitizers) and pytest; under 15 minutes
	@tools/test

test-long: install  ## also the long tests: more seeds, larger inputs, everything under sanitizers
	@tools/test --long

test-newcomer:  ## `make demo` and `make test` in a fresh minimal Debian (needs root and debootstrap)
	@tools/newcomer

format: install  ## format the C++ and Python sources
	@tools/format

lint: build  ## formatting, headers that compile alone, lengths of files and classes, licences, Python style
	@tools/lint

docs: build  ## regenerate the pages made from programs (docs/parameters.md, docs/cached-options.md)
	@tools/docs

reference: install  ## the API reference of the public headers: build/reference/html/index.html
	@tools/reference

bench: build  ## the speed table of the simulator
	@bench/chip_speed

clean:  ## remove everything that was built or measured; keep .venv
	rm -rf build report runs
