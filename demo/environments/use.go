package environments

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Variables are the variables of the image, with the names in their values replaced: by earlier variables, or by those of
// the machine. Directories of programs that only the image has are left out of PATH, and directories outside of the copied
// files out of PYTHONPATH.
func (e *Environment) Variables(machine func(name string) string) []Variable {
	known := map[string]string{}
	var all []Variable
	for _, one := range e.Env {
		value := os.Expand(one.Value, func(name string) string {
			if earlier, found := known[name]; found {
				return earlier
			}
			return machine(name)
		})
		switch one.Name {
		case "PATH":
			value = keep(value, func(dir string) bool { return !strings.HasPrefix(dir, "/opt/venv/") })
		case "PYTHONPATH":
			value = strings.Join(e.below(filepath.SplitList(value)), string(os.PathListSeparator))
		}
		known[one.Name] = value
		if value != "" || one.Name != "PYTHONPATH" {
			all = append(all, Variable{one.Name, value})
		}
	}
	return all
}

func keep(list string, want func(dir string) bool) string {
	dirs := slices.DeleteFunc(filepath.SplitList(list), func(dir string) bool { return !want(dir) })
	return strings.Join(dirs, string(os.PathListSeparator))
}

// below translates directories of the image to those of its copied files.
func (e *Environment) below(dirs []string) []string {
	var found []string
	for _, dir := range dirs {
		place := filepath.Join(e.Files, dir)
		if info, err := os.Stat(place); err == nil && info.IsDir() {
			found = append(found, place)
		}
	}
	return found
}

// CopyInto copies the working directory of the image into that of a task. Its files are not linked: the code of a task is
// unpacked over them.
func (e *Environment) CopyInto(dir string) error {
	if e.WorkDir == "" {
		return nil
	}
	source := filepath.Join(e.Files, e.WorkDir)
	if _, err := os.Stat(source); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) > 0 {
		return err // a container that is started again continues with what it has
	}
	return os.CopyFS(dir, os.DirFS(source))
}
