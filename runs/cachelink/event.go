package cachelink

import (
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/runs/store/worklists"
)

// hitEvent is the event that an executor would have reported.
func (c *Cache) hitEvent(a *worklists.Cacheable, entry *found) []byte {
	now := timestamppb.New(c.deps.Clock.Now())
	event := &workflow.ActionEvent{
		Id:           a.Ident().Proto(),
		Attempt:      uint32(a.Attempt), //nolint:gosec // from 1
		Phase:        common.ActionPhase_ACTION_PHASE_SUCCEEDED,
		UpdatedTime:  now,
		ReportedTime: now,
		Outputs:      &task.OutputReferences{OutputUri: blobpath.OutputsPath(entry.uri)},
		CacheStatus:  core.CatalogCacheStatus_CACHE_HIT,
	}
	if entry.source != nil {
		event.CacheMetadata = &common.CacheMetadata{SourceActionAttempt: entry.source}
	}
	body, err := proto.Marshal(event)
	if err != nil { // text from elsewhere that is not UTF-8
		c.deps.Logger.Error().Err(err).Msg("the event of a cache hit cannot be encoded")
		return nil
	}
	return body
}
