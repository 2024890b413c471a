package pgembed

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/flyte-binary/flyte-binary/internal/work/supervise"
)

// User is the superuser and the owner of everything; Database is the database that DSN names.
const (
	User     = "flyte"
	Database = "flyte"
)

// passwordFile is alongside the data; only we and the server's account can read it.
const passwordFile = "flyte-password"

// initialize creates the database cluster unless it exists, and returns the password; empty if none is required.
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
	if s.config.Primary != "" {
		return "", s.copyPrimary(ctx, data)
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
	err := supervise.Run(ctx, s.config.Clock, s.config.patience(), supervise.Spec{
		Name: "initdb", Path: filepath.Join(s.binDir, "initdb"), Args: args, Env: environment(),
		Dir: s.config.DataDir, Output: tail, Credential: s.account.credential(),
	})
	if err != nil {
		return "", fmt.Errorf("initdb: %w: %s", err, tail)
	}
	return readPassword(password)
}

// copyPrimary copies a running server, and makes the copy follow it.
func (s *Server) copyPrimary(ctx context.Context, data string) error {
	tail := &logTail{log: s.config.Log}
	from := s.config.Primary + "&application_name=standby"
	err := supervise.Run(ctx, s.config.Clock, s.config.patience(), supervise.Spec{
		Name: "pg_basebackup", Path: filepath.Join(s.binDir, "pg_basebackup"),
		Args: []string{"-D", data, "-R", "-X", "stream", "-c", "fast", "--no-sync", "-d", from}, Env: environment(),
		Dir: s.config.DataDir, Output: tail, Credential: s.account.credential(),
	})
	if err != nil {
		return fmt.Errorf("pg_basebackup: %w: %s", err, tail)
	}
	return nil
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
	text, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read password: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// environment is the environment of the programs: no PG… variable of this process may change their behavior.
func environment() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "LANG=C", "LC_ALL=C", "TZ=UTC"}
}
