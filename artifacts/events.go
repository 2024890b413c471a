package artifacts

import (
	"context"

	"github.com/flyte-binary/flyte-binary/artifacts/store"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/artifact"
)

// Event says that a version was created. Each version has one, written in the same transaction.
type Event struct {
	// Seq identifies the event. A higher number may be committed before a lower one, so it is no cursor.
	Seq int64
	// Artifact is the version, its value with the identity of the artifact.
	Artifact *artifact.Artifact
}

// Events is the queue of new versions for their consumer. An event stays until it is taken or
// grows old (Config.KeepEvents), so each is seen at least once; the reader must make acting on it twice harmless.
type Events struct{ store *store.Store }

// Events returns the queue.
func (s *Service) Events() Events { return Events{s.store} }

// Next reads the oldest events that are not taken, at most limit.
func (e Events) Next(ctx context.Context, limit int) ([]Event, error) {
	found, err := e.store.Events(ctx, limit)
	if err != nil {
		return nil, err
	}
	events := make([]Event, 0, len(found))
	for _, one := range found {
		message, err := toProto(&one.Version)
		if err != nil {
			return nil, err
		}
		events = append(events, Event{Seq: one.Seq, Artifact: message})
	}
	return events, nil
}

// Taken removes events that were acted upon.
func (e Events) Taken(ctx context.Context, seqs ...int64) error { return e.store.Taken(ctx, seqs) }
