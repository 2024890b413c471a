package local

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/secret/entry"
)

// Store is the backend. It is safe for concurrent use.
type Store struct {
	config Config
	clock  clock.Clock
	log    zerolog.Logger
	lock   *os.File

	mu    sync.Mutex
	keys  keyring                   // GUARDED_BY(mu)
	known map[string]entry.Metadata // GUARDED_BY(mu): by path
}

// Open opens the store, or creates it. It fails when another process has it open. Close releases it.
func Open(config Config, clk clock.Clock, log zerolog.Logger) (store *Store, failure error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(config.Directory, 0o700); err != nil {
		return nil, fmt.Errorf("directory: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(config.Directory, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("directory: %w", err)
	}
	defer func() {
		if failure != nil {
			_ = lock.Close()
		}
	}()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, fmt.Errorf("directory: another process uses %s: %w", config.Directory, err)
	}
	s := &Store{config: config, clock: clk, log: log, lock: lock, known: map[string]entry.Metadata{}}
	if err := s.load(); err != nil {
		return nil, err
	}
	return s, nil
}

// load reads the keys and what is known of every secret. It completes a rotation that was interrupted.
func (s *Store) load() error {
	var err error
	if s.keys, err = readKeys(s.config.KeyFile, s.clock.Now()); err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(s.config.Directory, "*"+suffix))
	if err != nil {
		return err
	}
	for _, path := range files {
		read, err := readFile(path)
		if err != nil {
			return fmt.Errorf("read the stored secrets: %w", err)
		}
		s.known[read.metadata().ID.Path()] = read.metadata()
	}
	if len(s.keys.Keys) > 1 {
		return s.reseal()
	}
	return nil
}

// Close releases the directory for other processes.
func (s *Store) Close() error { return s.lock.Close() }

func (s *Store) path(id entry.ID) string {
	return filepath.Join(s.config.Directory, id.Digest()+suffix)
}

// Create stores a new secret.
func (s *Store) Create(_ context.Context, id entry.ID, content entry.Content) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, found := s.known[id.Path()]; found {
		return entry.ErrExists
	}
	return s.put(entry.Metadata{ID: id, Type: content.Type, Created: s.clock.Now()}, content.Value)
}

// Update replaces the value of a secret.
func (s *Store) Update(_ context.Context, id entry.ID, content entry.Content) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	about, found := s.known[id.Path()]
	if !found {
		return entry.ErrNotFound
	}
	return s.put(about, content.Value)
}

// put seals a value with the newest key and stores it. What is known changes only once the file is complete.
func (s *Store) put(about entry.Metadata, value entry.Value) error {
	made, err := seal(s.keys, about, value)
	if err != nil {
		return err
	}
	if err := made.write(s.path(about.ID)); err != nil {
		return fmt.Errorf("store the secret: %w", err)
	}
	s.known[about.ID.Path()] = about
	return nil
}

// Describe returns what is known of a secret.
func (s *Store) Describe(_ context.Context, id entry.ID) (entry.Metadata, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	about, found := s.known[id.Path()]
	if !found {
		return entry.Metadata{}, entry.ErrNotFound
	}
	return about, nil
}

// Delete deletes a secret.
func (s *Store) Delete(_ context.Context, id entry.ID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, found := s.known[id.Path()]; !found {
		return entry.ErrNotFound
	}
	if err := os.Remove(s.path(id)); err != nil {
		return fmt.Errorf("delete the secret: %w", err)
	}
	delete(s.known, id.Path())
	return syncDir(s.config.Directory)
}

// List returns the secrets of a scope and below, by path. The token is the last path of the page before.
func (s *Store) List(_ context.Context, scope entry.Scope, token string, limit int) (entry.Page, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var paths []string
	for path := range s.known {
		if strings.HasPrefix(path, scope.Prefix()) && path > token {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	page := entry.Page{}
	for i, path := range paths {
		if i == limit {
			page.Next = paths[i-1]
			break
		}
		page.Entries = append(page.Entries, s.known[path])
	}
	return page, nil
}

// Value returns a secret with its value.
func (s *Store) Value(_ context.Context, id entry.ID) (entry.Content, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	about, found := s.known[id.Path()]
	if !found {
		return entry.Content{}, entry.ErrNotFound
	}
	read, err := readFile(s.path(id))
	if err != nil {
		return entry.Content{}, fmt.Errorf("read the secret: %w", err)
	}
	// Names of files are digests of ids, so a file that was copied over another one is noticed here.
	if read.metadata().ID != id {
		return entry.Content{}, fmt.Errorf("the file of %s has another secret", id)
	}
	value, err := read.open(s.keys)
	if err != nil {
		return entry.Content{}, err
	}
	return entry.Content{Type: about.Type, Value: value}, nil
}
