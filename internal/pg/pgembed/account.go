package pgembed

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// account is the user as which Postgres runs. Postgres refuses to run as root, so root uses another user for it.
type account struct {
	name     string
	uid, gid int
	switched bool // whether it differs from our own user
}

// chooseAccount is our own user, or for root the user postgres, else no one.
func chooseAccount() (account, error) {
	if os.Geteuid() != 0 {
		return account{uid: os.Geteuid(), gid: os.Getegid()}, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		found, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.Atoi(found.Uid)
		if err != nil {
			return account{}, fmt.Errorf("uid of %s: %w", name, err)
		}
		gid, err := strconv.Atoi(found.Gid)
		if err != nil {
			return account{}, fmt.Errorf("gid of %s: %w", name, err)
		}
		return account{name: name, uid: uid, gid: gid, switched: true}, nil
	}
	return account{}, errors.New("postgres refuses to run as root, and this machine has no user postgres or nobody to run it as")
}

// credential is for SysProcAttr; nil means our own user.
func (a account) credential() *syscall.Credential {
	if !a.switched {
		return nil
	}
	return &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)} //nolint:gosec // ids are never negative
}

// ownDir makes dir for the account alone.
func (a account) ownDir(dir string) error {
	// The parents must stay open for the account to get here.
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil { //nolint:gosec // see above
		return fmt.Errorf("create %s: %w", filepath.Dir(dir), err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !os.IsExist(err) {
		return fmt.Errorf("create %s: %w", dir, err)
	}
	if a.switched {
		if err := a.canEnter(filepath.Dir(dir)); err != nil {
			return err
		}
		if err := os.Chown(dir, a.uid, a.gid); err != nil {
			return fmt.Errorf("give %s to %s: %w", dir, a.name, err)
		}
	}
	if err := os.Chmod(dir, 0o700); err != nil { //nolint:gosec // a directory needs x
		return fmt.Errorf("close %s to others: %w", dir, err)
	}
	return nil
}

// ClosedError says that the user as which Postgres runs cannot enter a directory.
type ClosedError struct{ Dir, User string }

// Error implements error.
func (e *ClosedError) Error() string {
	return fmt.Sprintf("%s is closed to the user %s, as which Postgres runs because we are root", e.Dir, e.User)
}

// canEnter explains what initdb would report as a plain permission error.
func (a account) canEnter(dir string) error {
	for {
		info, err := os.Stat(dir)
		if err != nil {
			return fmt.Errorf("stat %s: %w", dir, err)
		}
		if stat, ok := info.Sys().(*syscall.Stat_t); ok {
			mode := info.Mode().Perm()
			enter := mode&0o001 != 0 ||
				(int(stat.Gid) == a.gid && mode&0o010 != 0) ||
				(int(stat.Uid) == a.uid && mode&0o100 != 0)
			if !enter {
				return &ClosedError{Dir: dir, User: a.name}
			}
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return nil
		}
		dir = parent
	}
}
