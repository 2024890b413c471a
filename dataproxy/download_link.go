package dataproxy

import (
	"context"
	"errors"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/dataproxy"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/blob/codebundle"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// CreateDownloadLink implements DataProxyService: a URL by which the report of an attempt, or the code bundle of an
// action or a task, can be fetched. Anything that does not exist returns NotFound.
func (s *Service) CreateDownloadLink(ctx context.Context, r *dataproxy.CreateDownloadLinkRequest) (*dataproxy.CreateDownloadLinkResponse, error) {
	expires, err := expiry("expires_in", r.GetExpiresIn(), s.config.MaxDownloadExpiry)
	if err != nil {
		return nil, err
	}
	switch r.GetArtifactType() {
	case dataproxy.ArtifactType_ARTIFACT_TYPE_REPORT:
		return s.reportLink(ctx, r, expires)
	case dataproxy.ArtifactType_ARTIFACT_TYPE_CODE_BUNDLE:
		return s.bundleLink(ctx, r, expires)
	default:
		return nil, rpc.InvalidArgument("artifact_type", "must be a report or a code bundle")
	}
}

func (s *Service) reportLink(ctx context.Context, r *dataproxy.CreateDownloadLinkRequest, expires time.Duration) (*dataproxy.CreateDownloadLinkResponse, error) {
	source, ok := r.GetSource().(*dataproxy.CreateDownloadLinkRequest_ActionAttemptId)
	if !ok {
		return nil, rpc.InvalidArgument("source", "a report belongs to an action_attempt_id")
	}
	id, attempt := source.ActionAttemptId.GetActionId(), source.ActionAttemptId.GetAttempt()
	if err := checkAttempt("action_attempt_id", id, attempt); err != nil {
		return nil, err
	}
	return s.eitherReport(ctx, id, attempt, expires)
}

// ownReport finds a report of a run of the installation.
func (s *Service) ownReport(
	ctx context.Context, id *common.ActionIdentifier, attempt uint32, expires time.Duration,
) (*dataproxy.CreateDownloadLinkResponse, error) {
	storage, err := s.deps.Engine.GetActionStorage(ctx, &enginev1.GetActionStorageRequest{ActionId: id})
	if err != nil {
		return nil, err
	}
	if attempt > storage.GetAttempts() {
		return nil, rpc.NotFound("action %s has no attempt %d", id.GetName(), attempt)
	}
	response, err := s.link(ctx, blobpath.AttemptDir(storage.GetRunOutputBase(), id.GetName(), attempt)+"/"+blobpath.ReportFile, blobstore.GetOptions{Expires: expires, ShowAs: reportType})
	if !rpc.IsNotFound(err) {
		return response, err
	}
	// The outputs of an action that did not run, such as a cached one, are in the directory of another.
	uri, err := s.recordedReport(ctx, id, attempt)
	if err != nil {
		return nil, err
	}
	if uri == "" {
		return nil, rpc.NotFound("attempt %d of action %s has no report", attempt, id.GetName())
	}
	return s.link(ctx, uri, blobstore.GetOptions{Expires: expires, ShowAs: reportType})
}

// reportType is the content type of reports, whatever the store has recorded.
const reportType = "text/html; charset=utf-8"

func checkAttempt(field string, id *common.ActionIdentifier, attempt uint32) error {
	switch {
	case id.GetRun() == nil || id.GetName() == "":
		return rpc.InvalidArgument(field+".action_id", "the run and the name are required")
	case attempt == 0:
		return rpc.InvalidArgument(field+".attempt", "must be at least 1")
	}
	return nil
}

func (s *Service) recordedReport(ctx context.Context, id *common.ActionIdentifier, attempt uint32) (string, error) {
	response, err := s.deps.Runs.GetActionDetails(ctx, &workflow.GetActionDetailsRequest{ActionId: id})
	if err != nil {
		return "", err
	}
	for _, a := range response.GetDetails().GetAttempts() {
		if a.GetAttempt() == attempt {
			return a.GetOutputs().GetReportUri(), nil
		}
	}
	return "", nil
}

func (s *Service) bundleLink(ctx context.Context, r *dataproxy.CreateDownloadLinkRequest, expires time.Duration) (*dataproxy.CreateDownloadLinkResponse, error) {
	var spec *task.TaskSpec
	switch source := r.GetSource().(type) {
	case *dataproxy.CreateDownloadLinkRequest_ActionAttemptId:
		id := source.ActionAttemptId.GetActionId()
		if err := checkAttempt("action_attempt_id", id, source.ActionAttemptId.GetAttempt()); err != nil {
			return nil, err
		}
		response, err := s.deps.Runs.GetActionDetails(ctx, &workflow.GetActionDetailsRequest{ActionId: id})
		if err != nil {
			return nil, err
		}
		spec = response.GetDetails().GetTask()
	case *dataproxy.CreateDownloadLinkRequest_TaskId:
		var err error
		if spec, err = s.taskSpec(ctx, source.TaskId); err != nil {
			return nil, err
		}
	default:
		return nil, rpc.InvalidArgument("source", "a code bundle belongs to an action_attempt_id or a task_id")
	}
	uri := codebundle.URI(spec.GetTaskTemplate())
	// Whether the task may name it was decided when the task came. Only uploads are code.
	if !strings.HasPrefix(uri, s.deps.Store.Root()+"/"+blobpath.UploadsName+"/") {
		return nil, rpc.NotFound("there is no code bundle; the code may be in the image")
	}
	return s.link(ctx, uri, blobstore.GetOptions{Expires: expires})
}

// link signs the URL of an object that exists.
func (s *Service) link(ctx context.Context, uri string, o blobstore.GetOptions) (*dataproxy.CreateDownloadLinkResponse, error) {
	if _, err := s.deps.Store.Stat(ctx, uri); err != nil {
		if errors.Is(err, blobstore.ErrForbiddenPath) {
			return nil, rpc.NotFound("%s is not in the storage of this server", uri)
		}
		return nil, storeError(err, "", uri)
	}
	signed, err := s.deps.Store.SignGet(ctx, uri, o)
	if err != nil {
		return nil, storeError(err, "", uri)
	}
	return &dataproxy.CreateDownloadLinkResponse{PreSignedUrls: &dataproxy.PreSignedURLs{
		SignedUrl: []string{signed.URL}, ExpiresAt: timestamppb.New(signed.ExpiresAt),
	}}, nil
}
