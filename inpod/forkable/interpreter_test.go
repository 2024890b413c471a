package forkable_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/inpod/forkable"
)

func TestInterpreter(t *testing.T) {
	dir := t.TempDir()
	for name, test := range map[string]struct {
		text string
		want []string
	}{
		"plain":         {"#!/env/bin/python\nimport x\n", []string{"/env/bin/python"}},
		"version":       {"#! /usr/bin/python3.12\n", []string{"/usr/bin/python3.12"}},
		"argument":      {"#!/env/bin/python -sE\n", []string{"/env/bin/python", "-sE"}},
		"one argument":  {"#!/env/bin/python -s -E\n", []string{"/env/bin/python", "-s -E"}},
		"a shell":       {"#!/bin/sh\n'''exec' /long/python \"$0\"\n", nil},
		"env":           {"#!/usr/bin/env python3\n", nil},
		"no first line": {"import x\n", nil},
		"empty":         {"", nil},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, "a0")
			require.NoError(t, os.WriteFile(path, []byte(test.text), 0o700))
			got, err := forkable.Interpreter(path)
			require.Equal(t, test.want == nil, err != nil, err)
			require.Equal(t, test.want, got)
		})
	}
	require.NoError(t, os.Symlink(filepath.Join(dir, "a0"), filepath.Join(dir, "link")))
	_, err := forkable.Interpreter(filepath.Join(dir, "link"))
	require.ErrorContains(t, err, "not a regular file")
}
