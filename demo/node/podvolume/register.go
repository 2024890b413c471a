package podvolume

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Register is the directory in which all nodes that run as one user on this machine agree on mount paths, which they share: its lock
// is held while paths are made and removed, and its entries name the ledger of every node that has made some. A node is never
// counted as a user of a path by a number, which a crash would leave wrong: its ledger says what it uses.
type Register struct{ dir string }

const (
	lockName    = "lock"
	entrySuffix = ".ledger"
)

// OpenRegister opens the register of this user, in a place that is the same whatever the environment says. It is gone after a
// boot, as the containers are.
func OpenRegister() (Register, error) {
	places := []string{"/tmp/flyte-binary-mounts-" + strconv.Itoa(os.Geteuid())}
	if os.Geteuid() == 0 {
		places = []string{"/run/flyte-binary-mounts", places[0]}
	}
	var failures []error
	for _, dir := range places {
		r, err := RegisterIn(dir)
		if err == nil {
			return r, nil
		}
		failures = append(failures, err)
	}
	return Register{}, errors.Join(failures...)
}

// RegisterIn opens the register in a directory, which must belong to this user alone. It is created if it is missing.
func RegisterIn(dir string) (Register, error) {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return Register{}, fmt.Errorf("create the register of mount paths: %w", err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return Register{}, fmt.Errorf("open the register of mount paths: %w", err)
	}
	owner, known := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || !known || int(owner.Uid) != os.Geteuid() || info.Mode().Perm()&0o022 != 0 {
		return Register{}, fmt.Errorf("the register of mount paths %s is not a directory of user %d alone: remove it", dir, os.Geteuid())
	}
	return Register{dir}, nil
}

// lock waits for the register. The kernel releases it when the process ends, however it ends.
func (r Register) lock() (unlock func(), err error) {
	file, err := os.OpenFile(filepath.Join(r.dir, lockName), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the lock of mount paths: %w", err)
	}
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX)
		if err == nil {
			return func() { _ = file.Close() }, nil
		}
		if !errors.Is(err, syscall.EINTR) {
			return nil, errors.Join(fmt.Errorf("lock the mount paths: %w", err), file.Close())
		}
	}
}

// entry is the file that names a ledger.
func (r Register) entry(ledger string) string {
	sum := sha256.Sum256([]byte(ledger))
	return filepath.Join(r.dir, hex.EncodeToString(sum[:8])+entrySuffix)
}

// add makes a ledger known to the other nodes. Called with the lock held, before the ledger is written.
func (r Register) add(ledger string) error {
	entry := r.entry(ledger)
	if named, err := os.ReadFile(entry); err == nil && string(named) == ledger {
		return nil
	}
	if err := os.WriteFile(entry, []byte(ledger), 0o600); err != nil {
		return fmt.Errorf("enter the ledger of mount paths into the register: %w", err)
	}
	return nil
}

// others are the paths of all ledgers but one. An entry whose ledger is gone is removed: its node uses nothing, or its data
// directory was deleted. Called with the lock held.
func (r Register) others(own string) (map[string]*point, error) {
	entries, err := os.ReadDir(r.dir)
	if err != nil {
		return nil, fmt.Errorf("read the register of mount paths: %w", err)
	}
	all := map[string]*point{}
	for _, entry := range entries {
		path := filepath.Join(r.dir, entry.Name())
		if !strings.HasSuffix(entry.Name(), entrySuffix) || path == r.entry(own) {
			continue
		}
		ledger, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("read the register of mount paths: %w", err)
		}
		points, err := readLedger(string(ledger))
		if errors.Is(err, fs.ErrNotExist) {
			_ = os.Remove(path)
			continue
		}
		if err != nil {
			return nil, err
		}
		for target, p := range points {
			if known := all[target]; known != nil {
				p.Parents = append(p.Parents, known.Parents...)
			}
			all[target] = p
		}
	}
	return all, nil
}

// readLedger reads the paths that a node has made.
func readLedger(ledger string) (map[string]*point, error) {
	raw, err := os.ReadFile(ledger)
	if err != nil {
		return nil, fmt.Errorf("read the ledger of mount paths: %w", err)
	}
	points := map[string]*point{}
	if err := json.Unmarshal(raw, &points); err != nil {
		return nil, fmt.Errorf("read the ledger of mount paths %s: %w", ledger, err)
	}
	return points, nil
}
