package dataproxy

import (
	"context"
	"errors"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/types/known/timestamppb"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1/insightv1connect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/dataproxy"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/blob/artifactref"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobaccess"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

const (
	// maxValues bounds the URIs that ListFiles looks at: each costs a request to the object store.
	maxValues = 100
	// maxListed bounds the files that ListFiles lists of one directory.
	maxListed = 200
	// listsAtOnce bounds the requests to the object store that one ListFiles makes at the same time.
	listsAtOnce = 8
)

// filesHandler serves FileService. A task chooses the URIs in its outputs, and the server reads with more rights than
// the caller. So a URI is only followed if the action's data name it and it is in the data of the action's own place.
type filesHandler struct{ svc *Service }

var _ insightv1connect.FileServiceHandler = (*filesHandler)(nil)

// ListFiles implements FileService: it returns the files that the inputs and outputs of an action point to. A file that
// cannot be downloaded is not an error; its entry says why.
func (h *filesHandler) ListFiles(ctx context.Context, r *insightv1.ListFilesRequest) (*insightv1.ListFilesResponse, error) {
	uris, err := h.named(ctx, r.GetActionId(), r.GetRunSource())
	if err != nil {
		return nil, err
	}
	if len(uris) == 0 {
		return &insightv1.ListFilesResponse{}, nil
	}
	where, err := h.place(ctx, r.GetActionId(), r.GetRunSource())
	if err != nil {
		return nil, err
	}
	response := &insightv1.ListFilesResponse{Values: make([]*insightv1.StoredValue, min(len(uris), maxValues))}
	group, listing := errgroup.WithContext(ctx)
	group.SetLimit(listsAtOnce)
	for i, uri := range uris[:len(response.GetValues())] {
		group.Go(func() (err error) {
			response.Values[i], err = h.list(listing, uri, where)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return response, nil
}

// CreateFileLink implements FileService: it signs a link to one file that the inputs or outputs of an action point to.
func (h *filesHandler) CreateFileLink(ctx context.Context, r *insightv1.CreateFileLinkRequest) (*insightv1.CreateFileLinkResponse, error) {
	expires, err := expiry("expires_in", r.GetExpiresIn(), h.svc.config.MaxDownloadExpiry)
	if err != nil {
		return nil, err
	}
	uri, err := h.find(ctx, r)
	if err != nil {
		return nil, err
	}
	if _, err := h.svc.deps.Store.Stat(ctx, uri); err != nil {
		return nil, storeError(err, "path", uri)
	}
	signed, err := h.svc.deps.Store.SignGet(ctx, uri, blobstore.GetOptions{Expires: expires})
	if err != nil {
		return nil, storeError(err, "path", uri)
	}
	return &insightv1.CreateFileLinkResponse{Url: signed.URL, ExpiresAt: timestamppb.New(signed.ExpiresAt)}, nil
}

// ReadFile implements FileService: it returns a part of one file that the inputs or outputs of an action point to.
func (h *filesHandler) ReadFile(ctx context.Context, r *insightv1.ReadFileRequest) (*insightv1.ReadFileResponse, error) {
	uri, err := h.find(ctx, r)
	if err != nil {
		return nil, err
	}
	data, info, err := h.svc.deps.Store.ReadRange(ctx, uri, r.GetOffset(), int64(r.GetLength()))
	if err != nil {
		return nil, storeError(err, "path", uri)
	}
	return &insightv1.ReadFileResponse{Data: data, Size: uint64(max(info.Size, 0))}, nil
}

// namesFile is a request about one file.
type namesFile interface {
	GetActionId() *common.ActionIdentifier
	GetRunSource() workflow.RunSource
	GetUri() string
	GetPath() string
}

// find is the URI of the file that a request names, if the caller may read it.
func (h *filesHandler) find(ctx context.Context, r namesFile) (string, error) {
	if r.GetPath() != "" {
		if err := checkRelative("path", r.GetPath()); err != nil {
			return "", err
		}
	}
	uris, err := h.named(ctx, r.GetActionId(), r.GetRunSource())
	if err != nil {
		return "", err
	}
	if !slices.Contains(uris, r.GetUri()) {
		return "", rpc.NotFound("the inputs and outputs of action %s do not point to %s", r.GetActionId().GetName(), r.GetUri())
	}
	where, err := h.place(ctx, r.GetActionId(), r.GetRunSource())
	if err != nil {
		return "", err
	}
	if why := h.outside(r.GetUri(), where); why != "" {
		return "", rpc.InvalidArgument("uri", "%s: %s", r.GetUri(), why)
	}
	uri := strings.TrimRight(r.GetUri(), "/")
	if r.GetPath() != "" {
		uri += "/" + r.GetPath()
	}
	return uri, nil
}

// named lists the URIs in the inputs and outputs of an action, each once.
func (h *filesHandler) named(ctx context.Context, id *common.ActionIdentifier, source workflow.RunSource) ([]string, error) {
	data, err := h.svc.GetActionData(ctx, &dataproxy.GetActionDataRequest{ActionId: id, RunSource: source})
	if err != nil {
		return nil, err
	}
	var uris []string
	seen := map[string]bool{}
	for _, literal := range slices.Concat(data.GetInputs().GetLiterals(), data.GetOutputs().GetLiterals()) {
		for _, uri := range artifactref.URIs(literal.GetValue()) {
			if !seen[uri] {
				seen[uri] = true
				uris = append(uris, uri)
			}
		}
	}
	return uris, nil
}

// filePlace is where files must be to be downloaded: in the data of a project and domain, or in the directories that a
// run has outside of them.
type filePlace struct {
	blobaccess.Place
	handed []string
}

func (h *filesHandler) place(ctx context.Context, id *common.ActionIdentifier, source workflow.RunSource) (filePlace, error) {
	run := id.GetRun()
	where := filePlace{Place: blobaccess.Place{Project: run.GetProject(), Domain: run.GetDomain()}}
	if source == workflow.RunSource_RUN_SOURCE_TRACKED {
		return where, nil // all data of tracked runs are among the uploads
	}
	storage, err := h.svc.deps.Engine.GetActionStorage(ctx, &enginev1.GetActionStorageRequest{ActionId: id})
	if err != nil {
		return where, err
	}
	where.handed = append(where.handed, blobaccess.Siblings(storage.GetRunOutputBase()))
	details, err := h.svc.deps.Runs.GetRunDetails(ctx, &workflow.GetRunDetailsRequest{RunId: run})
	if err != nil {
		return where, err
	}
	if raw := details.GetDetails().GetRunSpec().GetRawDataStorage().GetRawDataPrefix(); raw != "" {
		where.handed = append(where.handed, blobaccess.Siblings(blobpath.RunBase(raw, run.GetProject(), run.GetDomain(), run.GetName())))
	}
	return where, nil
}

// outside says in words why the server does not follow a URI; nothing if it does.
func (h *filesHandler) outside(uri string, where filePlace) string {
	if _, err := h.svc.deps.Store.Canonical(uri); err != nil {
		return "It is outside of the storage of this server."
	}
	if h.svc.access.Data("uri", uri, where.Place, where.handed...) != nil {
		return "It does not belong to project " + where.Project + " and domain " + where.Domain + "."
	}
	return ""
}

// errEnough ends the listing of a directory.
var errEnough = errors.New("enough files are listed")

func (h *filesHandler) list(ctx context.Context, uri string, where filePlace) (*insightv1.StoredValue, error) {
	value := &insightv1.StoredValue{Uri: uri, Missing: h.outside(uri, where)}
	if value.GetMissing() != "" {
		return value, nil
	}
	object := strings.TrimRight(uri, "/")
	info, err := h.svc.deps.Store.Stat(ctx, object)
	if err == nil {
		value.Files = []*insightv1.StoredFile{{Size: uint64(max(info.Size, 0))}}
		return value, nil
	}
	if !errors.Is(err, blobstore.ErrNotExist) {
		return nil, storeError(err, "", uri)
	}
	err = h.svc.deps.Store.List(ctx, object, func(found blobstore.Object) error {
		if len(value.GetFiles()) == maxListed {
			value.Partial = true
			return errEnough
		}
		value.Files = append(value.Files, &insightv1.StoredFile{Path: found.Name, Size: uint64(max(found.Size, 0))})
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return nil, storeError(err, "", uri)
	}
	if len(value.GetFiles()) == 0 {
		value.Missing = "It is no longer stored."
	}
	return value, nil
}
