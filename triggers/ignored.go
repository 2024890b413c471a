package triggers

import (
	"context"
	"time"

	"google.golang.org/protobuf/proto"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/artifact"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/triggers/store"
)

// ignored are those of the newest versions of the artifact of a trigger for which it did not fire, and why. It is computed
// on request: nothing is stored about versions that fire nothing.
func (h *handler) ignored(ctx context.Context, d *decoded, newest int) ([]*insightv1.IgnoredVersion, error) {
	wanted := d.automation.GetArtifact()
	answer, err := h.artifacts.ListArtifacts(ctx, &artifact.ListArtifactsRequest{
		ProjectId: &common.ProjectIdentifier{Name: d.Project, Domain: d.Domain}, Name: proto.String(wanted.GetArtifactName()),
		Request: &common.ListRequest{Limit: uint32(newest)}, //nolint:gosec // a limit of a request
	})
	switch rpc.KindOf(err) {
	case rpc.KindPermissionDenied, rpc.KindNotFound:
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	watches, err := h.store.Watches(ctx, []store.Artifact{{Project: d.Project, Domain: d.Domain, Name: wanted.GetArtifactName()}})
	if err != nil {
		return nil, err
	}
	var slots []time.Time
	var causes []string
	for _, version := range answer.GetArtifacts() {
		slots = append(slots, version.GetCreatedAt().AsTime())
		causes = append(causes, causeOf(wanted.GetArtifactName(), version.GetArtifactId().GetVersion()))
	}
	fired, err := h.store.Fired(ctx, d.ID, slots, causes)
	if err != nil {
		return nil, err
	}
	var found []*insightv1.IgnoredVersion
	for i, version := range answer.GetArtifacts() {
		if fired[causes[i]] {
			continue
		}
		partitions := map[string]string{}
		for key, value := range version.GetSpec().GetPartitions().GetValue() {
			partitions[key] = value.GetStaticValue()
		}
		reason := mismatch(wanted, version.GetArtifactId().GetVersion(), partitions)
		if reason == "" {
			reason = d.unseen(watches)
		}
		found = append(found, &insightv1.IgnoredVersion{
			Artifact:  artifactVersion(d.Trigger, &store.Fire{Cause: causes[i]}),
			CreatedAt: version.GetCreatedAt(), Reason: reason,
		})
	}
	return found, nil
}

// unseen is why a version that matches did not fire a trigger.
func (d *decoded) unseen(watches []*store.Watch) string {
	for _, w := range watches {
		if w.ID == d.ID && w.Until == nil {
			return "it was created while the trigger did not wait for it: before it was deployed or switched on, or this moment"
		}
	}
	return "the trigger is switched off or deleted"
}
