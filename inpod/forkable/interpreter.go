package forkable

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Interpreter is the command line that the kernel runs for a script, without the script. A script that is not started by a
// Python interpreter directly is an error.
func Interpreter(script string) ([]string, error) {
	info, err := os.Lstat(script)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", script)
	}
	file, err := os.Open(script)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	line, err := bufio.NewReaderSize(file, 256).ReadSlice('\n') // the kernel reads no more either
	if err != nil {
		return nil, fmt.Errorf("the first line of %s: %w", script, err)
	}
	words, found := strings.CutPrefix(strings.TrimSuffix(string(line), "\n"), "#!")
	if !found {
		return nil, fmt.Errorf("%s does not begin with the path of an interpreter", script)
	}
	path, argument, _ := strings.Cut(strings.TrimSpace(words), " ")
	if !filepath.IsAbs(path) || !strings.HasPrefix(filepath.Base(path), "python") {
		return nil, fmt.Errorf("%s is not run by a Python interpreter but by %q", script, path)
	}
	if argument = strings.TrimSpace(argument); argument != "" {
		return []string{path, argument}, nil
	}
	return []string{path}, nil
}
