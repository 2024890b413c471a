package podvolume

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/flyte-binary/flyte-binary/demo/node/shim"
)

// Mount asks for Source, a file or directory of this machine, to be seen at Target.
type Mount struct {
	Source, Target string
	ReadOnly       bool
	// Scratch marks an empty directory: the process may get an existing one instead.
	Scratch bool
}

// Plan says how mounts are made visible to a container.
type Plan struct {
	// Binds are for a mount namespace.
	Binds []shim.Mount
	// Rewrites replace mount paths in command, arguments and environment.
	Rewrites []Rewrite
	// Unseen are mounts that cannot be made visible: the container must mention their path, or it fails.
	Unseen []Unseen

	used   []string
	owner  *Mounter
	closed sync.Once
}

// Unseen is a mount whose path cannot be created. A rewrite of it is in the plan; if that rewrites nothing, Why is the
// explanation.
type Unseen struct {
	Rewrite Rewrite
	Why     error
}

// Mounter creates mount paths. It records what it created outside the node's own directory, across restarts, and
// removes it when no container uses it.
type Mounter struct {
	namespaces bool
	ledger     string

	mu      sync.Mutex
	created map[string]*point // GUARDED_BY(mu): by path
}

// point is a path that was made for mounts.
type point struct {
	Link    string   `json:"link,omitempty"`    // for a symbolic link: where it leads
	Parents []string `json:"parents,omitempty"` // directories on the way that were made for mounts, outermost first
	refs    int
}

// NewMounter stores its records in the file ledger. namespaces means that each container gets a mount namespace.
func NewMounter(ledger string, namespaces bool) (*Mounter, error) {
	m := &Mounter{namespaces: namespaces, ledger: ledger, created: map[string]*point{}}
	raw, err := os.ReadFile(ledger)
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the ledger of mount paths: %w", err)
	}
	if err := json.Unmarshal(raw, &m.created); err != nil {
		return nil, fmt.Errorf("read the ledger of mount paths %s: %w", ledger, err)
	}
	return m, nil
}

// Namespaces reports whether each container gets a mount namespace.
func (m *Mounter) Namespaces() bool { return m.namespaces }

// Plan makes the mounts possible. Paths in protect must stay visible to the container. The plan must be released when
// the container has ended.
func (m *Mounter) Plan(mounts []Mount, protect ...string) (*Plan, error) {
	plan := &Plan{owner: m}
	m.mu.Lock()
	defer m.mu.Unlock()
	mounts = slices.Clone(mounts)
	slices.SortFunc(mounts, func(a, b Mount) int { return strings.Compare(a.Target, b.Target) }) // outer ones first
	for i := range mounts {
		if err := m.add(plan, mounts[:i], mounts[i], protect); err != nil {
			m.release(plan.used)
			return nil, err
		}
	}
	return plan, m.save()
}

// Release drops the use of the paths.
func (p *Plan) Release() {
	p.closed.Do(func() {
		p.owner.mu.Lock()
		defer p.owner.mu.Unlock()
		p.owner.release(p.used)
		_ = p.owner.save()
	})
}

// Hold keeps paths that a container of an earlier node uses.
func (m *Mounter) Hold(targets []string) *Plan {
	m.mu.Lock()
	defer m.mu.Unlock()
	plan := &Plan{owner: m}
	for _, target := range targets {
		m.use(plan, filepath.Clean(target))
	}
	return plan
}

// Sweep removes what an earlier node created and no container holds.
func (m *Mounter) Sweep() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for path, p := range m.created {
		if p.refs == 0 {
			m.remove(path, p)
		}
	}
	return m.save()
}

func (m *Mounter) use(plan *Plan, target string) {
	if p := m.created[target]; p != nil {
		p.refs++
		plan.used = append(plan.used, target)
	}
}

func (m *Mounter) release(paths []string) {
	for _, path := range paths {
		p := m.created[path]
		if p == nil {
			continue
		}
		if p.refs--; p.refs <= 0 {
			m.remove(path, p)
		}
	}
}

// parents returns the directories that were created for a path, now or earlier for others: the last user removes them.
// Called with the lock held.
func (m *Mounter) parents(target string, made []string) []string {
	all := map[string]bool{}
	for _, dir := range made {
		all[dir] = true
	}
	for _, other := range m.created {
		for _, dir := range other.Parents {
			if strings.HasPrefix(target, dir+"/") {
				all[dir] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// remove removes a path. It removes only empty directories and files, and links that are still its own.
func (m *Mounter) remove(path string, p *point) {
	delete(m.created, path)
	if p.Link != "" {
		if to, err := os.Readlink(path); err != nil || to != p.Link {
			return
		}
	} else if info, err := os.Lstat(path); err != nil || (!info.IsDir() && info.Size() > 0) {
		return
	}
	_ = os.Remove(path)
	for _, parent := range slices.Backward(p.Parents) {
		_ = os.Remove(parent)
	}
}

func (m *Mounter) save() error {
	if len(m.created) == 0 {
		if err := os.Remove(m.ledger); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("write the ledger of mount paths: %w", err)
		}
		return nil
	}
	raw, err := json.Marshal(m.created)
	if err != nil {
		return fmt.Errorf("write the ledger of mount paths: %w", err)
	}
	next := m.ledger + ".next"
	if err := os.WriteFile(next, raw, 0o600); err != nil {
		return fmt.Errorf("write the ledger of mount paths: %w", err)
	}
	return os.Rename(next, m.ledger)
}
