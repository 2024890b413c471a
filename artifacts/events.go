package artifacts

import (
	"cmp"
	"context"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/flyte-binary/flyte-binary/artifacts/store"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// stdEvents is how many events a list has when the request has no limit.
const stdEvents = 100

// events serves ArtifactEventService: the queue of new versions for triggers. An event stays until it is removed or grows
// old (Config.KeepEvents), so each is seen at least once; the reader must make acting on it twice harmless.
type events struct{ store *store.Store }

// ListArtifactEvents implements enginev1connect.ArtifactEventServiceHandler. The oldest come first.
func (e *events) ListArtifactEvents(ctx context.Context, r *enginev1.ListArtifactEventsRequest) (*enginev1.ListArtifactEventsResponse, error) {
	found, err := e.store.Events(ctx, cmp.Or(int(r.GetLimit()), stdEvents))
	if err != nil {
		return nil, err
	}
	response := &enginev1.ListArtifactEventsResponse{}
	for i := range found {
		one := &found[i]
		partitions, err := partitionValues(one.Partitions)
		if err != nil {
			return nil, rpc.DataLoss(err, "the partitions of artifact %s version %s cannot be read", one.Name.Name, one.Version)
		}
		response.Events = append(response.Events, &enginev1.ArtifactEvent{
			Seq: one.Seq, Artifact: versionID(one.VersionKey, one.Org), CreatedAt: timestamppb.New(one.CreatedAt), Partitions: partitions,
		})
	}
	return response, nil
}

// partitionValues decodes the values of a version, without the time.
func partitionValues(body []byte) (map[string]string, error) {
	decoded := &core.Partitions{}
	if err := proto.Unmarshal(body, decoded); err != nil {
		return nil, err
	}
	values := map[string]string{}
	for key, value := range decoded.GetValue() {
		values[key] = value.GetStaticValue()
	}
	return values, nil
}

// RemoveArtifactEvents implements enginev1connect.ArtifactEventServiceHandler.
func (e *events) RemoveArtifactEvents(ctx context.Context, r *enginev1.RemoveArtifactEventsRequest) (*enginev1.RemoveArtifactEventsResponse, error) {
	return &enginev1.RemoveArtifactEventsResponse{}, e.store.RemoveEvents(ctx, r.GetSeqs())
}

// GetArtifactMark implements enginev1connect.ArtifactEventServiceHandler. The mark is the number of the newest event: a
// trigger that is made now waits for later ones.
func (e *events) GetArtifactMark(ctx context.Context, _ *enginev1.GetArtifactMarkRequest) (*enginev1.GetArtifactMarkResponse, error) {
	seq, err := e.store.LastEvent(ctx)
	return &enginev1.GetArtifactMarkResponse{Seq: seq}, err
}
