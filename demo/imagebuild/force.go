package imagebuild

import (
	"context"
	"fmt"
	"time"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
)

// Runs is the part of RunService that builds need.
type Runs interface {
	GetRunDetails(ctx context.Context, request *workflow.GetRunDetailsRequest) (*workflow.GetRunDetailsResponse, error)
}

// forcedSince returns when the run of this build began if its client wants a new environment, as flyte build --force does: the run
// overwrites the cache. Otherwise it returns the zero time. What the run itself made counts, so an attempt that is repeated does not
// build again.
func (b *Build) forcedSince(ctx context.Context) (time.Time, error) {
	id := &common.RunIdentifier{Project: b.Project, Domain: b.Domain, Name: b.Run}
	response, err := b.Runs.GetRunDetails(ctx, &workflow.GetRunDetailsRequest{RunId: id})
	if err != nil {
		return time.Time{}, fmt.Errorf("read the run of this build, %s/%s/%s: %w", b.Project, b.Domain, b.Run, err)
	}
	details := response.GetDetails()
	//nolint:staticcheck // clients still send the field that is deprecated
	if !details.GetRunSpec().GetOverwriteCache() && !details.GetRunSpec().GetCacheConfig().GetOverwriteCache() {
		return time.Time{}, nil
	}
	return details.GetAction().GetStatus().GetStartTime().AsTime(), nil
}
