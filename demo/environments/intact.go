package environments

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// BrokenError says what an environment lacks.
type BrokenError struct {
	Image   string
	Problem string
}

// Error implements error.
func (e *BrokenError) Error() string {
	return fmt.Sprintf("the environment of image %s is broken: %s. Run the client again to rebuild the image", e.Image, e.Problem)
}

// Entry is the program of the SDK that starts tasks, in the bin directory.
const Entry = "a0"

// usable checks what every task needs.
func (e *Environment) usable() error {
	for _, name := range []string{"python", Entry} {
		info, err := os.Stat(filepath.Join(e.Venv, "bin", name)) // through the link to the interpreter
		if err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 || info.Size() == 0 {
			return &BrokenError{Image: e.Image, Problem: "bin/" + name + " is missing, or is not a program"}
		}
	}
	return nil
}

func (e *Environment) manifest() string { return filepath.Join(filepath.Dir(e.Venv), manifestName) }

// writeManifest lists all files with their sizes, apart from what interpreters write later.
func (e *Environment) writeManifest() (failure error) {
	root := filepath.Dir(e.Venv)
	file, err := os.Create(e.manifest())
	if err != nil {
		return fmt.Errorf("list the files of an environment: %w", err)
	}
	defer func() { failure = errors.Join(failure, file.Close()) }()
	out := bufio.NewWriter(file)
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && entry.Name() == "__pycache__" {
			return filepath.SkipDir
		}
		if !entry.Type().IsRegular() || path == e.manifest() {
			return nil
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(out, "%d %q\n", info.Size(), name)
		return err
	})
	if err := errors.Join(err, out.Flush()); err != nil {
		return fmt.Errorf("list the files of an environment: %w", err)
	}
	return nil
}

// intact compares the files with the list.
func (e *Environment) intact() error {
	root := filepath.Dir(e.Venv)
	file, err := os.Open(e.manifest())
	if err != nil {
		return &BrokenError{Image: e.Image, Problem: "the list of its files cannot be read"}
	}
	defer func() { _ = file.Close() }()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		number, quoted, _ := strings.Cut(lines.Text(), " ")
		size, err := strconv.ParseInt(number, 10, 64)
		name, unquoted := strconv.Unquote(quoted)
		if err != nil || unquoted != nil {
			return &BrokenError{Image: e.Image, Problem: "the list of its files is damaged"}
		}
		if info, err := os.Lstat(filepath.Join(root, name)); err != nil || !info.Mode().IsRegular() || info.Size() != size {
			return &BrokenError{Image: e.Image, Problem: name + " is missing or has another size"}
		}
	}
	if lines.Err() != nil {
		return &BrokenError{Image: e.Image, Problem: "the list of its files cannot be read"}
	}
	return nil
}
