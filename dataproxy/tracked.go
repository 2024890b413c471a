package dataproxy

import (
	"context"
	"strings"
	"time"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/dataproxy"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// trackedStorage locates the data of an action of a tracked run.
func (s *Service) trackedStorage(ctx context.Context, id *common.ActionIdentifier) (*enginev1.GetActionStorageResponse, error) {
	return s.deps.Engine.GetActionStorage(ctx, &enginev1.GetActionStorageRequest{
		ActionId: id, RunSource: workflow.RunSource_RUN_SOURCE_TRACKED,
	})
}

// trackedData reads the data that the client of a tracked run has uploaded. An upload may have failed without the client
// minding, so missing data are empty.
func (s *Service) trackedData(ctx context.Context, id *common.ActionIdentifier) (*dataproxy.GetActionDataResponse, error) {
	storage, err := s.trackedStorage(ctx, id)
	if err != nil {
		return nil, err
	}
	return s.readData(ctx, &workflow.GetActionDataURIsResponse{InputsUri: storage.GetInputUri(), OutputsUri: storage.GetOutputUri()})
}

// trackedReport is reportLink for a tracked run.
func (s *Service) trackedReport(
	ctx context.Context, id *common.ActionIdentifier, attempt uint32, expires time.Duration,
) (*dataproxy.CreateDownloadLinkResponse, error) {
	storage, err := s.trackedStorage(ctx, id)
	if err != nil {
		return nil, err
	}
	uri := blobpath.AttemptDir(storage.GetRunOutputBase(), id.GetName(), attempt) + "/" + blobpath.ReportFile
	response, err := s.link(ctx, uri, blobstore.GetOptions{Expires: expires, ShowAs: reportType})
	if rpc.IsNotFound(err) {
		return nil, rpc.NotFound("attempt %d of action %s has no report", attempt, id.GetName())
	}
	return response, err
}

// trackedPrefix begins the names that clients generate for tracked runs.
const trackedPrefix = "local-"

// eitherReport finds a report of a run of either kind, since the request does not say which. A run of the installation
// and a tracked run may have the same name; the name tells which of them is meant.
func (s *Service) eitherReport(
	ctx context.Context, id *common.ActionIdentifier, attempt uint32, expires time.Duration,
) (*dataproxy.CreateDownloadLinkResponse, error) {
	kinds := []func(context.Context, *common.ActionIdentifier, uint32, time.Duration) (*dataproxy.CreateDownloadLinkResponse, error){
		s.ownReport, s.trackedReport,
	}
	if strings.HasPrefix(id.GetRun().GetName(), trackedPrefix) {
		kinds[0], kinds[1] = kinds[1], kinds[0]
	}
	response, err := kinds[0](ctx, id, attempt, expires)
	if !rpc.IsNotFound(err) && rpc.KindOf(err) != rpc.KindUnimplemented {
		return response, err
	}
	if other, otherErr := kinds[1](ctx, id, attempt, expires); otherErr == nil {
		return other, nil
	}
	return nil, err
}

// replaceable reports whether an upload may replace what is there: the data of a tracked run that has not ended, whose
// client uploads a report again whenever it grows.
func (s *Service) replaceable(ctx context.Context, r *dataproxy.CreateUploadLocationRequest, path string) (bool, error) {
	run, ok := blobpath.TrackedUpload(path)
	if !ok || !ident.IsName(run) {
		return false, nil
	}
	id := ident.Run{Project: r.GetProject(), Domain: r.GetDomain(), Name: run}.Root()
	storage, err := s.trackedStorage(ctx, id.Proto())
	if rpc.IsNotFound(err) || rpc.KindOf(err) == rpc.KindUnimplemented {
		return false, nil // the inputs of a run come before the run
	}
	return err == nil && !storage.GetFinished(), err
}
