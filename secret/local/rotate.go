package local

import (
	"context"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// lookEvery is the pause between two looks at the age of the key.
const lookEvery = time.Hour

// Run rotates the key whenever it gets too old, until the context ends.
func (s *Store) Run(ctx context.Context) {
	if s.config.RotateKeyAfter == 0 {
		return
	}
	for {
		if s.due() {
			if err := s.Rotate(); err != nil {
				s.log.Error().Err(err).Msg("rotating the encryption key of secrets failed; retrying later")
			}
		}
		if clock.Sleep(ctx, s.clock, min(lookEvery, s.config.RotateKeyAfter)) != nil {
			return
		}
	}
}

func (s *Store) due() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.clock.Now().Sub(s.keys.Keys[0].Created) >= s.config.RotateKeyAfter
}

// Rotate makes a new key, encrypts every secret with it, and deletes the old keys. If it is interrupted, all keys are
// still in the key file, and the next Open or Rotate completes it. The new key is in the key file before any secret is
// sealed with it.
func (s *Store) Rotate() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	made, err := newKey(s.clock.Now())
	if err != nil {
		return err
	}
	next := keyring{Keys: append([]key{made}, s.keys.Keys...)}
	if err := next.write(s.config.KeyFile); err != nil {
		return err
	}
	s.keys = next
	return s.reseal()
}

// reseal encrypts everything with the first key and forgets the others.
func (s *Store) reseal() error {
	for _, about := range s.known {
		read, err := readFile(s.path(about.ID))
		if err != nil {
			return err
		}
		if read.Key == s.keys.Keys[0].ID {
			continue
		}
		value, err := read.open(s.keys)
		if err != nil {
			return err
		}
		if err := s.put(about, value); err != nil {
			return err
		}
	}
	only := keyring{Keys: s.keys.Keys[:1:1]}
	if err := only.write(s.config.KeyFile); err != nil {
		return err
	}
	s.keys = only
	s.log.Info().Int("secrets", len(s.known)).Msg("rotated the encryption key of secrets")
	return nil
}
