package pgembed

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// User is the superuser and the owner of everything; Database is the database that DSN names.
const (
	User     = "flyte"
	Database = "flyte"
)

// passwordFile lies beside the data; only we and the server's account can read it.
const passwordFile = "flyte-password"

// initialise makes the cluster unless it is there, and returns the password; empty when none is asked for.
func (s *Server) initialise(ctx context.Context) (string, error) {
	data := filepath.Join(s.config.DataDir, "data")
	password := filepath.Join(s.config.DataDir, passwordFile)
	if _, err := os.Stat(filepath.Join(data, "PG_VERSION")); err == nil {
		return readPassword(password)
	}
	// What a broken initdb left behind would stop the next one.
	if err := os.RemoveAll(data); err != nil {
		return "", fmt.Errorf("clear %s: %w", data, err)
	}
	args := []string{"-D", data, "-U", User, "-E", "UTF8", "--locale=C"}
	if s.config.Ephemeral {
		// The socket's directory is closed to others; tests open many connections and need no secrets.
		args = append(args, "-A", "trust", "--no-sync")
	} else {
		if err := s.writePassword(password); err != nil {
			return "", err
		}
		args = append(args, "-A", "scram-sha-256", "--pwfile="+password)
	}
	tail := &logTail{log: s.config.Log}
	cmd := exec.CommandContext(ctx, filepath.Join(s.binDir, "initdb"), args...) //nolint:gosec // our own arguments
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.Env = s.config.DataDir, tail, tail, environment()
	if err := runPinned(func() error { detach(cmd, s.account); return cmd.Run() }); err != nil {
		return "", fmt.Errorf("initdb: %w: %s", err, tail)
	}
	return readPassword(password)
}

func (s *Server) writePassword(path string) error {
	if err := os.WriteFile(path, []byte(rand.Text()+"\n"), 0o600); err != nil {
		return fmt.Errorf("write password: %w", err)
	}
	if s.account.switched {
		if err := os.Chown(path, s.account.uid, s.account.gid); err != nil {
			return fmt.Errorf("give password to %s: %w", s.account.name, err)
		}
	}
	return nil
}

func readPassword(path string) (string, error) {
	text, err := os.ReadFile(path) //nolint:gosec // our own path
	if os.IsNotExist(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read password: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// environment is what the programs get: no PG… variable of ours may change what they do.
func environment() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "LANG=C", "LC_ALL=C", "TZ=UTC"}
}
