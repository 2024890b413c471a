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
// removes it when no container of any node of this machine uses it.
type Mounter struct {
	namespaces bool
	ledger     string
	register   Register

	mu      sync.Mutex
	created map[string]*point // GUARDED_BY(mu): by path
	others  map[string]*point // GUARDED_BY(mu): what other nodes have made, while the register is locked
}

// point is a path that was made for mounts.
type point struct {
	Link    string   `json:"link,omitempty"`    // for a symbolic link: where it leads
	Parents []string `json:"parents,omitempty"` // directories on the way that were made for mounts, outermost first
	refs    int
}

// NewMounter stores its records in the file ledger and shares mount paths with the nodes of the register. namespaces means that
// each container gets a mount namespace.
func NewMounter(ledger string, register Register, namespaces bool) (*Mounter, error) {
	m := &Mounter{namespaces: namespaces, ledger: ledger, register: register, created: map[string]*point{}}
	made, err := readLedger(ledger)
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	if err != nil {
		return nil, err
	}
	m.created = made
	return m, nil
}

// Namespaces reports whether each container gets a mount namespace.
func (m *Mounter) Namespaces() bool { return m.namespaces }

// Plan makes the mounts possible. Paths in protect must stay visible to the container. The plan must be released when
// the container has ended.
func (m *Mounter) Plan(mounts []Mount, protect ...string) (*Plan, error) {
	plan := &Plan{owner: m}
	mounts = slices.Clone(mounts)
	slices.SortFunc(mounts, func(a, b Mount) int { return strings.Compare(a.Target, b.Target) }) // outer ones first
	err := m.alone(func() error {
		for i := range mounts {
			if err := m.add(plan, mounts[:i], mounts[i], protect); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		plan.Release()
		return nil, err
	}
	return plan, nil
}

// Release drops the use of the paths. Those that cannot be removed stay in the ledger, and the next node removes them.
func (p *Plan) Release() {
	p.closed.Do(func() {
		_ = p.owner.alone(func() error {
			p.owner.release(p.used)
			return nil
		})
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
	return m.alone(func() error {
		for path, p := range m.created {
			if p.refs == 0 {
				m.remove(path, p)
			}
		}
		return nil
	})
}

// ErrRecords means that the records of mount paths cannot be read or written, which is not a fault of the container.
var ErrRecords = errors.New("the records of mount paths on this machine")

// alone changes mount paths while no other node of this machine does, and writes the ledger before the others continue.
func (m *Mounter) alone(change func() error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	unlock, err := m.register.lock()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrRecords, err)
	}
	defer unlock()
	if m.others, err = m.register.others(m.ledger); err != nil {
		return fmt.Errorf("%w: %w", ErrRecords, err)
	}
	failure := change()
	if err := m.save(); err != nil {
		return errors.Join(failure, fmt.Errorf("%w: %w", ErrRecords, err))
	}
	return failure
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
	for _, points := range []map[string]*point{m.created, m.others} {
		for _, other := range points {
			for _, dir := range other.Parents {
				if strings.HasPrefix(target, dir+"/") {
					all[dir] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// remove removes a path, unless another node uses it too: to remove a directory detaches what is mounted there in other
// namespaces. It removes only empty directories and files, and links that are still its own. Called with the register locked.
func (m *Mounter) remove(path string, p *point) {
	delete(m.created, path)
	if p.Link == "" && m.others[path] != nil {
		return
	}
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
	if err := m.register.add(m.ledger); err != nil {
		return err
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
