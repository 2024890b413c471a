package webhook

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"sync"
	"time"
)

// Path is where callbacks are served; a token follows.
const Path = "/v1/conditions/callback/"

// purpose separates these signatures from other uses of the same key.
const purpose = "condition-callback\x00"

const tokenBytes = 16 // an id and a time

// Keys stores the key of an installation; worklists.Webhooks is one.
type Keys interface {
	SigningKey(ctx context.Context, name string, fresh []byte) ([]byte, error)
}

// Tokens signs and verifies tokens, each of which lets its bearer answer one condition until it expires.
type Tokens struct {
	keys       Keys
	configured []byte

	mu  sync.Mutex
	key []byte // GUARDED_BY(mu): nil until it is known
}

// NewTokens returns the tokens of a key. Without a configured key it uses the installation's own.
func NewTokens(configured string, keys Keys) *Tokens {
	return &Tokens{keys: keys, configured: []byte(configured)}
}

// Make signs the id of a condition.
func (t *Tokens) Make(ctx context.Context, id int64, until time.Time) (string, error) {
	claim := make([]byte, tokenBytes, tokenBytes+sha256.Size)
	binary.BigEndian.PutUint64(claim, uint64(id))               //nolint:gosec // ids are positive
	binary.BigEndian.PutUint64(claim[8:], uint64(until.Unix())) //nolint:gosec // after 1970
	signature, err := t.sign(ctx, claim)
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(append(claim, signature...)), nil
}

// Read verifies a token. ok is false when this installation did not sign it.
func (t *Tokens) Read(ctx context.Context, token string) (id int64, until time.Time, ok bool, err error) {
	body, decodeErr := base64.RawURLEncoding.DecodeString(token)
	if decodeErr != nil || len(body) != tokenBytes+sha256.Size {
		return 0, time.Time{}, false, nil //nolint:nilerr // not issued by this server
	}
	signature, err := t.sign(ctx, body[:tokenBytes])
	if err != nil || !hmac.Equal(signature, body[tokenBytes:]) {
		return 0, time.Time{}, false, err
	}
	id = int64(binary.BigEndian.Uint64(body))                                //nolint:gosec // we made it
	until = time.Unix(int64(binary.BigEndian.Uint64(body[8:tokenBytes])), 0) //nolint:gosec // seconds fit
	return id, until, true, nil
}

func (t *Tokens) sign(ctx context.Context, claim []byte) ([]byte, error) {
	key, err := t.signingKey(ctx)
	if err != nil {
		return nil, err
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(purpose))
	mac.Write(claim)
	return mac.Sum(nil), nil
}

func (t *Tokens) signingKey(ctx context.Context) ([]byte, error) {
	if len(t.configured) > 0 {
		return t.configured, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.key == nil {
		key, err := t.keys.SigningKey(ctx, "condition-callback", []byte(rand.Text()+rand.Text()))
		if err != nil {
			return nil, err
		}
		t.key = key
	}
	return t.key, nil
}
