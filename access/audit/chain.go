package audit

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"github.com/flyte-binary/flyte-binary/access/store"
)

// Seal is the hash of an event after the hash before it. It covers every column, each with its length, so that no text can move from
// one to the next.
func Seal(before []byte, e store.AuditEvent) []byte {
	hash := sha256.New()
	write := func(text string) {
		var size [4]byte
		binary.BigEndian.PutUint32(size[:], uint32(len(text))) //nolint:gosec // texts are cut
		hash.Write(size[:])
		hash.Write([]byte(text))
	}
	write(string(before))
	for _, number := range []int64{e.Sequence, e.At.UnixMicro(), int64(len(e.Resources))} {
		hash.Write(binary.BigEndian.AppendUint64(nil, uint64(number))) //nolint:gosec // its bits
	}
	for _, text := range []string{
		e.Kind, e.Subject, e.Credential, e.Peer, e.Procedure, e.Permission, e.Project, e.Domain, e.Outcome, e.Error, e.RequestID,
	} {
		write(text)
	}
	for _, resource := range e.Resources {
		write(resource)
	}
	if e.UserAgent != "" { // events from before there was one keep their hash
		write(e.UserAgent)
	}
	return hash.Sum(nil)
}

// Verified is the result of a check of the chain.
type Verified struct {
	// Checked is how many events were read.
	Checked int64
	// BrokenAt is the number of the first event that does not fit; 0 if all do.
	BrokenAt int64
	// Problem is what does not fit, in words.
	Problem string
	// Last is the number of the newest event, and Hash its hash: kept elsewhere, they show later that the end was cut off.
	Last int64
	Hash []byte
}

// Walker reads the chain; store.Store is one.
type Walker interface {
	WalkAudit(ctx context.Context, began func(store.AuditChain), each func(store.AuditEvent) (more bool)) error
}

// Verify recomputes the chain over the events that are kept.
func Verify(ctx context.Context, chain Walker) (result Verified, err error) {
	var ends store.AuditChain
	var next int64
	var hash []byte
	broken := func(at int64, format string, args ...any) bool {
		result.BrokenAt, result.Problem = at, fmt.Sprintf(format, args...)
		return false
	}
	err = chain.WalkAudit(ctx, func(c store.AuditChain) { ends, next, hash = c, c.First, c.Before }, func(e store.AuditEvent) bool {
		result.Checked++
		switch {
		case e.Sequence < next:
			return broken(e.Sequence, "event %d is before the beginning of the chain, which is %d", e.Sequence, ends.First)
		case e.Sequence > next:
			return broken(next, "event %d is missing; the next one is %d", next, e.Sequence)
		}
		if hash = Seal(hash, e); !bytes.Equal(hash, e.Hash) {
			return broken(e.Sequence, "event %d was changed, or the one before it", e.Sequence)
		}
		next++
		return true
	})
	if err != nil {
		return Verified{}, err
	}
	result.Last, result.Hash = ends.Last, ends.Hash
	if result.BrokenAt == 0 && (next-1 != ends.Last || !bytes.Equal(hash, ends.Hash)) {
		broken(next, "event %d is missing: the chain ends at %d", next, ends.Last)
	}
	return result, nil
}
