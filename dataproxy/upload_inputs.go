package dataproxy

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/dataproxy"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/settings"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/trigger"
	"github.com/flyte-binary/flyte-binary/internal/blob/artifactref"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobaccess"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/values/cachekey"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// UploadInputs implements DataProxyService. The path of inputs is a hash of all their content, so that two requests
// cannot overwrite each other's inputs. The hash for the cache is the one that the SDK computes: it leaves out inputs
// that the task ignores, and the context.
func (s *Service) UploadInputs(ctx context.Context, r *dataproxy.UploadInputsRequest) (*dataproxy.UploadInputsResponse, error) {
	project, domain, err := s.inputsScope(ctx, r)
	if err != nil {
		return nil, err
	}
	if own := r.GetBaseDir(); own != "" {
		if err := s.access.Base("base_dir", own, blobaccess.Place{Project: project, Domain: domain}); err != nil {
			return nil, err
		}
	}
	ignored, err := s.ignoredInputs(ctx, r)
	if err != nil {
		return nil, err
	}
	inputs := r.GetInputs()
	if inputs == nil {
		inputs = &task.Inputs{}
	}
	body, err := proto.MarshalOptions{Deterministic: true}.Marshal(inputs)
	if err != nil {
		return nil, rpc.InvalidArgument("inputs", "cannot be encoded")
	}
	if int64(len(body)) > s.config.MaxInlineBytes {
		return nil, rpc.InvalidArgument("inputs", "must have at most %[2]d bytes, got %[1]d", len(body), s.config.MaxInlineBytes)
	}
	base, err := s.baseDir(ctx, r.GetBaseDir(), project, domain)
	if err != nil {
		return nil, err
	}
	// Clients that change some inputs of a trigger open this URI as a file.
	uri := blobpath.InputsPath(blobpath.OffloadedInputs(s.deps.Store.Root(), base, project, domain) +
		blobpath.InputsName(digestOf(body), len(artifactref.Uses(inputs.GetLiterals())) > 0))
	if err := s.stored.admitBytes(ctx, project, uri, int64(len(body))); err != nil {
		return nil, err
	}
	if err := s.uploads.enter(ctx, project, uri, int64(len(body)), 0); err != nil {
		return nil, err
	}
	if err := s.deps.Store.WriteAll(ctx, uri, body); err != nil {
		return nil, storeError(err, "base_dir", uri)
	}
	s.stored.wrote(ctx, project, int64(len(body)))
	return &dataproxy.UploadInputsResponse{
		OffloadedInputData: &common.OffloadedInputData{Uri: uri, InputsHash: cachekey.OffloadedHash(inputs, ignored)},
	}, nil
}

func digestOf(body []byte) string {
	digest := sha256.Sum256(body)
	return hex.EncodeToString(digest[:])
}

// baseDir is the base of the client's own run, else that of its project's settings; empty where neither says.
func (s *Service) baseDir(ctx context.Context, own, projectName, domain string) (string, error) {
	if own != "" || s.deps.Settings == nil {
		return own, nil
	}
	response, err := s.deps.Settings.GetSettings(ctx, &settings.GetSettingsRequest{
		Key: &settings.SettingsKey{Domain: domain, Project: projectName},
	})
	if err != nil {
		return "", err
	}
	if base := response.GetSettingsRecord().GetSettings().GetRun().GetRunBaseDir(); base.GetState() == settings.SettingState_SETTING_STATE_VALUE {
		return base.GetStringValue(), nil
	}
	return "", nil
}

func (s *Service) inputsScope(ctx context.Context, r *dataproxy.UploadInputsRequest) (project, domain string, err error) {
	switch id := r.GetId().(type) {
	case *dataproxy.UploadInputsRequest_RunId:
		project, domain = id.RunId.GetProject(), id.RunId.GetDomain()
		return project, domain, s.checkScope(ctx, "run_id.project", project, "run_id.domain", domain)
	case *dataproxy.UploadInputsRequest_ProjectId:
		project, domain = id.ProjectId.GetName(), id.ProjectId.GetDomain()
		return project, domain, s.checkScope(ctx, "project_id.name", project, "project_id.domain", domain)
	default:
		return "", "", rpc.InvalidArgument("id", "one of run_id and project_id is required")
	}
}

// ignoredInputs are the names of the inputs that the task's cache key leaves out.
func (s *Service) ignoredInputs(ctx context.Context, r *dataproxy.UploadInputsRequest) ([]string, error) {
	var spec *task.TaskSpec
	var err error
	switch t := r.GetTask().(type) {
	case *dataproxy.UploadInputsRequest_TaskSpec:
		spec = t.TaskSpec
	case *dataproxy.UploadInputsRequest_TaskId:
		spec, err = s.taskSpec(ctx, t.TaskId)
	case *dataproxy.UploadInputsRequest_TriggerName:
		spec, err = s.triggerSpec(ctx, t.TriggerName)
	default:
		return nil, rpc.InvalidArgument("task", "one of task_id, task_spec and trigger_name is required")
	}
	return spec.GetTaskTemplate().GetMetadata().GetCacheIgnoreInputVars(), err
}

func (s *Service) taskSpec(ctx context.Context, id *task.TaskIdentifier) (*task.TaskSpec, error) {
	if id == nil {
		return nil, rpc.InvalidArgument("task_id", "is required")
	}
	response, err := s.deps.Tasks.GetTaskDetails(ctx, &task.GetTaskDetailsRequest{TaskId: id})
	if err != nil {
		return nil, err
	}
	return response.GetDetails().GetSpec(), nil
}

func (s *Service) triggerSpec(ctx context.Context, name *common.TriggerName) (*task.TaskSpec, error) {
	details, err := s.trigger(ctx, "trigger_name", name)
	if err != nil {
		return nil, err
	}
	return s.taskSpec(ctx, &task.TaskIdentifier{
		Org: name.GetOrg(), Project: name.GetProject(), Domain: name.GetDomain(), Name: name.GetTaskName(),
		Version: details.GetSpec().GetTaskVersion(),
	})
}

func (s *Service) trigger(ctx context.Context, field string, name *common.TriggerName) (*trigger.TriggerDetails, error) {
	if s.deps.Triggers == nil {
		return nil, rpc.Unimplemented("this server does not run triggers")
	}
	if name == nil {
		return nil, rpc.InvalidArgument(field, "is required")
	}
	response, err := s.deps.Triggers.GetTriggerDetails(ctx, &trigger.GetTriggerDetailsRequest{Name: name})
	if err != nil {
		return nil, err
	}
	return response.GetTrigger(), nil
}
