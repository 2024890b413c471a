package environments

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Limit says which environments are kept.
type Limit struct {
	// Keep is how many there may be; those that were used last stay.
	Keep int
	// MinIdle is how long an environment is kept after its last use, even beyond Keep: the tasks that a client has created because
	// the environment exists may still be queued.
	MinIdle time.Duration
}

// Collect removes environments beyond the limit, and directories that nothing names: what killed builds have left, and
// environments that were replaced. It removes none of a tag that inUse reports or whose lock is held. It returns the tags
// whose environments it removed.
func (s *Store) Collect(limit Limit, inUse func(tag string) bool) ([]string, error) {
	records, err := os.ReadDir(filepath.Join(s.dir, "tags"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // no environment was ever made
	}
	if err != nil {
		return nil, fmt.Errorf("list environments: %w", err)
	}
	type dated struct {
		tag  string
		used time.Time
	}
	var all []dated
	for _, entry := range records {
		tag, isRecord := strings.CutSuffix(entry.Name(), ".json")
		info, err := entry.Info()
		if !isRecord || err != nil {
			continue
		}
		all = append(all, dated{tag, info.ModTime()})
	}
	slices.SortFunc(all, func(a, b dated) int { return cmp.Or(b.used.Compare(a.used), strings.Compare(a.tag, b.tag)) })
	var removed []string
	var errs []error
	for _, one := range all[min(max(limit.Keep, 0), len(all)):] {
		if s.clk.Now().Sub(one.used) < limit.MinIdle || inUse(one.tag) {
			continue
		}
		err := s.locked(one.tag, func() error {
			removed = append(removed, one.tag)
			return os.Remove(s.recordPath(one.tag))
		})
		errs = append(errs, err)
	}
	return removed, errors.Join(append(errs, s.sweep(inUse))...)
}

// sweep removes directories that no record names.
func (s *Store) sweep(inUse func(tag string) bool) error {
	made, err := os.ReadDir(filepath.Join(s.dir, "made"))
	if err != nil {
		return fmt.Errorf("list environments: %w", err)
	}
	locks, err := os.ReadDir(filepath.Join(s.dir, "locks"))
	if err != nil {
		return fmt.Errorf("list environments: %w", err)
	}
	tags := map[string]string{} // by prefix; the lock is made before the directory
	for _, entry := range locks {
		tags[entry.Name()[:min(prefixLength, len(entry.Name()))]] = entry.Name()
	}
	var errs []error
	for _, entry := range made {
		prefix, _, _ := strings.Cut(entry.Name(), "-")
		tag := tags[prefix]
		if tag == "" || inUse(tag) {
			continue
		}
		errs = append(errs, s.locked(tag, func() error {
			if current, err := s.read(tag); err != nil || current != nil && current.Dir == entry.Name() {
				return err
			}
			return os.RemoveAll(filepath.Join(s.dir, "made", entry.Name()))
		}))
	}
	return errors.Join(errs...)
}

// locked calls do with the lock of a tag, unless another process has it.
func (s *Store) locked(tag string, do func() error) error {
	unlock, err := s.tryLock(tag)
	if err != nil || unlock == nil {
		return err
	}
	defer unlock()
	return do()
}
