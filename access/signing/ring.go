// Package signing has the keys by which the installation signs what it issues. Each purpose has keys of its own, which are made
// when they are first used and replaced after some time. All replicas use the same ones: they are in the database, and leave the
// processes of the API neither in messages nor in logs.
package signing

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/flyte-binary/flyte-binary/access/store"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// The bounds of how often keys are read.
const (
	// renew is the age from which what was read is read again. Keys of other replicas are found earlier: their ids are not known.
	renew = 10 * time.Minute
	// unknownPause is how long ids that are not known cause no read, after one that found nothing. Anybody can make them up.
	unknownPause = time.Second
)

// Store keeps keys; store.Store does.
type Store interface {
	SigningKeys(ctx context.Context, purpose string) ([]store.SigningKey, error)
	AddSigningKey(ctx context.Context, purpose string, key store.SigningKey, before, retires time.Time) ([]store.SigningKey, error)
}

// Config describes the keys of a purpose. All fields are required.
type Config struct {
	Purpose string
	// Make makes the private part of a new key.
	Make func() ([]byte, error)
	// Rotate is how long a key signs, Keep how long it verifies after that.
	Rotate, Keep time.Duration
}

// Key is a key by which the installation signs. It cannot print its private part.
type Key struct {
	ID string
	// CreatedAt is when it began to sign.
	CreatedAt time.Time
	retiresAt *time.Time
	private   []byte
}

// Private is the private part, as Config.Make has made it. The caller must not change it.
func (k Key) Private() []byte { return k.private }

// String is the id.
func (k Key) String() string { return k.ID }

// GoString is the id.
func (k Key) GoString() string { return k.ID }

// Ring is the keys of a purpose. It is safe for concurrent use.
type Ring struct {
	config Config
	store  Store
	clock  clock.Clock

	reading sync.Mutex // held while keys are read or made
	mu      sync.RWMutex
	keys    []Key     // GUARDED_BY(mu): the newest first
	readAt  time.Time // GUARDED_BY(mu): when they were read
}

// NewRing returns a ring; nothing is read before its first use.
func NewRing(config Config, from Store, clk clock.Clock) *Ring {
	return &Ring{config: config, store: from, clock: clk}
}

// Signer returns the key that signs now. It makes one if there is none or if the newest is due for replacement. While the
// database does not answer, a key that is known continues to sign.
func (r *Ring) Signer(ctx context.Context) (Key, error) {
	if newest, fresh := r.newest(); fresh {
		return newest, nil
	}
	r.reading.Lock()
	defer r.reading.Unlock()
	newest, fresh := r.newest()
	if fresh {
		return newest, nil
	}
	if err := r.make(ctx); err != nil {
		if newest.ID != "" {
			return newest, nil
		}
		return Key{}, err
	}
	newest, _ = r.newest()
	return newest, nil
}

// newest is the newest key that is known, and whether it is to be used without a look at the database.
func (r *Ring) newest() (newest Key, fresh bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if len(r.keys) == 0 {
		return Key{}, false
	}
	return r.keys[0], r.clock.Now().Sub(r.keys[0].CreatedAt) < r.config.Rotate
}

// make adds a key, unless another replica has one that is young enough.
func (r *Ring) make(ctx context.Context) error {
	private, err := r.config.Make()
	if err != nil {
		return fmt.Errorf("make a key for %s: %w", r.config.Purpose, err)
	}
	id := make([]byte, 4)
	_, _ = rand.Read(id) // never fails
	now := r.clock.Now()
	keys, err := r.store.AddSigningKey(ctx, r.config.Purpose, store.SigningKey{ID: hex.EncodeToString(id), Private: private, CreatedAt: now},
		now.Add(-r.config.Rotate), now.Add(r.config.Keep))
	if err != nil {
		return err
	}
	r.set(keys)
	return nil
}

// Verifier returns the key of an id, and whether there is one that has not retired.
func (r *Ring) Verifier(ctx context.Context, id string) (Key, bool, error) {
	key, known, due := r.find(id)
	if !due {
		return key, known, nil
	}
	if known { // one call reads, and the others do not wait for it
		if !r.reading.TryLock() {
			return key, known, nil
		}
	} else {
		r.reading.Lock()
	}
	defer r.reading.Unlock()
	if _, _, due = r.find(id); due {
		keys, err := r.store.SigningKeys(ctx, r.config.Purpose)
		if err != nil && !known {
			return Key{}, false, err
		}
		if err == nil {
			r.set(keys)
		}
	}
	key, known, _ = r.find(id)
	return key, known, nil
}

// find returns a key that is known, and whether it is time to read the keys.
func (r *Ring) find(id string) (key Key, known, due bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	now := r.clock.Now()
	age := now.Sub(r.readAt)
	for i := range r.keys {
		if r.keys[i].ID == id {
			return r.keys[i], r.keys[i].retiresAt == nil || now.Before(*r.keys[i].retiresAt), age >= renew
		}
	}
	return Key{}, false, age >= unknownPause
}

// All returns every key that verifies, the newest first.
func (r *Ring) All(ctx context.Context) ([]Key, error) {
	if _, err := r.Signer(ctx); err != nil {
		return nil, err
	}
	if _, _, err := r.Verifier(ctx, ""); err != nil {
		return nil, err
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.Clone(r.keys), nil
}

func (r *Ring) set(stored []store.SigningKey) {
	keys := make([]Key, 0, len(stored))
	for _, key := range stored {
		keys = append(keys, Key{ID: key.ID, CreatedAt: key.CreatedAt, retiresAt: key.RetiresAt, private: key.Private})
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keys, r.readAt = keys, r.clock.Now()
}
