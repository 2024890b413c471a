package environments

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"time"
)

// Record is what is known of an environment, besides its files.
type Record struct {
	// Image is the name of the image that the environment was made for first.
	Image string `json:"image"`
	// Env lists the image's environment variables in order. $NAME and ${NAME} in a value expand to an earlier variable of the
	// image, or else to one of this machine.
	Env []Variable `json:"env,omitempty"`
	// WorkDir is the image's working directory, relative to Files. It is empty if the image copies no files.
	WorkDir string `json:"workDir,omitempty"`
	// Project, Domain and Run name the run that made it; empty if that is not known.
	Project string `json:"project,omitempty"`
	Domain  string `json:"domain,omitempty"`
	Run     string `json:"run,omitempty"`
	// Description is the digest of the description and the files that it was made from; empty if an earlier version has made it.
	Description string `json:"description,omitempty"`
	// Warning is what users should know of it, such as packages that do not fit together; empty for nothing.
	Warning string `json:"warning,omitempty"`
	// Made is when it was made.
	Made time.Time `json:"made"`

	// Dir is the name of its directory below made.
	Dir string `json:"dir"`
}

// Variable is one environment variable.
type Variable struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Environment is an environment that was made.
type Environment struct {
	Record
	Tag string
	// Venv is the virtual environment, Files the directory with the copied files.
	Venv, Files string
}

// tagPattern matches tags that are digests of layers, at the end of an image's name.
var tagPattern = regexp.MustCompile(`:([0-9a-f]{32})$`)

// TagOf is the tag of an image if it is a digest of layers.
func TagOf(image string) (tag string, ok bool) {
	match := tagPattern.FindStringSubmatch(image)
	if match == nil {
		return "", false
	}
	return match[1], true
}

func (s *Store) recordPath(tag string) string { return filepath.Join(s.dir, "tags", tag+".json") }

// read returns the record of a tag; nil if there is none. One that cannot be decoded counts as none: it is replaced by the
// next build.
func (s *Store) read(tag string) (*Environment, error) {
	body, err := os.ReadFile(s.recordPath(tag))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // documented
	}
	if err != nil {
		return nil, fmt.Errorf("read the record of an environment: %w", err)
	}
	found := &Environment{Tag: tag}
	if json.Unmarshal(body, &found.Record) != nil || found.Dir != filepath.Base(found.Dir) || found.Dir == "." || found.Dir == ".." {
		return nil, nil //nolint:nilnil,nilerr // documented
	}
	root := filepath.Join(s.dir, "made", found.Dir)
	found.Venv, found.Files = filepath.Join(root, venvName), filepath.Join(root, filesName)
	return found, nil
}

// publish makes an environment that of its tag, at once.
func (s *Store) publish(tag string, record Record) error {
	body, err := json.MarshalIndent(record, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the record of an environment: %w", err)
	}
	next := s.recordPath(tag) + ".next"
	if err := os.WriteFile(next, append(body, '\n'), 0o644); err != nil { //nolint:gosec // tasks may run as other users
		return errors.Join(fmt.Errorf("write the record of an environment: %w", err), os.RemoveAll(next))
	}
	if err := os.Rename(next, s.recordPath(tag)); err != nil {
		return fmt.Errorf("write the record of an environment: %w", err)
	}
	return nil
}
