package dataproxy

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/flyte-binary/flyte-binary/dataproxy/bundle"
	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1/insightv1connect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/blob/codebundle"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// maxText bounds the text of a file in a response.
const maxText = 1 << 20

// codeHandler serves CodeService over the package bundle.
type codeHandler struct{ svc *Service }

var _ insightv1connect.CodeServiceHandler = (*codeHandler)(nil)

// GetCode implements CodeService: it returns the code of an action's task. Missing code is not an error; the response
// says why. A file that is not in the bundle returns NotFound.
func (h *codeHandler) GetCode(ctx context.Context, r *insightv1.GetCodeRequest) (*insightv1.GetCodeResponse, error) {
	id := r.GetActionId()
	if id.GetRun() == nil || id.GetName() == "" {
		return nil, rpc.InvalidArgument("action_id", "the run and the name are required")
	}
	found, err := h.svc.deps.Runs.GetActionDetails(ctx, &workflow.GetActionDetailsRequest{ActionId: id})
	if err != nil {
		return nil, err
	}
	details := found.GetDetails()
	template := details.GetTask().GetTaskTemplate()
	entry := entryOf(template)
	response := &insightv1.GetCodeResponse{Function: entry.Function}
	uri := codebundle.URI(template)
	if response.Missing = h.svc.whyNoCode(details, uri); response.GetMissing() != "" {
		return response, nil
	}
	contents, err := h.svc.readBundle(ctx, uri, bundle.Wanted{Path: r.GetPath(), Entry: entry})
	if missing := unreadableBundle(err, h.svc.config.Code); missing != "" {
		response.Missing = missing
		return response, nil
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, storeError(err, "", uri)
	}
	if r.GetPath() != "" && contents.Path == "" {
		return nil, rpc.NotFound("the code bundle has no file %s", r.GetPath())
	}
	response.Path, response.Text, response.Truncated = contents.Path, contents.Text, contents.Truncated
	response.Line, response.Partial = uint32(contents.Line), contents.Partial //nolint:gosec // lines of a file
	for _, file := range contents.Files {
		response.Files = append(response.Files, &insightv1.CodeFile{Path: file.Path, Size: uint64(max(file.Size, 0))})
	}
	if contents.Path == "" {
		response.Missing = notInBundle(entry, len(contents.Files))
	}
	return response, nil
}

func notInBundle(entry bundle.Entry, files int) string {
	switch {
	case files == 0:
		return "The code bundle has no files."
	case entry.Module == "":
		return "The task does not say in which of these files its function is."
	default:
		return fmt.Sprintf("The module %s is not in the code bundle; it is part of the image.", entry.Module)
	}
}

// whyNoCode says in words why there is no bundle that could be read; nothing when there is one.
func (s *Service) whyNoCode(details *workflow.ActionDetails, uri string) string {
	template := details.GetTask().GetTaskTemplate()
	switch {
	case details.GetCondition() != nil:
		return "A condition waits for a person and runs no code."
	case details.GetTrace() != nil:
		return "A trace runs inside its parent's process: its code is that of the parent."
	case template == nil:
		return "It is not recorded which task this action runs."
	case uri == "" && len(template.GetContainer().GetArgs()) > 0 && !hasFlag(template, "--resolver"):
		return "The task runs a command of its image, which no code was shipped for."
	case uri == "":
		return "No code was shipped with the task: it is in the image" + named(template.GetContainer().GetImage()) + "."
	case isPickle(template, uri):
		return "The task was shipped as a pickled object, as from a notebook, which has no source to show."
	case !strings.HasPrefix(uri, s.deps.Store.Root()+"/"+blobpath.UploadsName+"/"):
		// The place of the code is untrusted client input and must not give access to all data.
		return "The code bundle is outside of the uploads of this server: " + uri
	default:
		return ""
	}
}

func named(image string) string {
	if image == "" {
		return ""
	}
	return " " + image
}

// unreadableBundle says in words why a bundle that should be there cannot be shown; nothing for other errors.
func unreadableBundle(err error, limits CodeConfig) string {
	switch {
	case errors.Is(err, blobstore.ErrNotExist):
		return "The code bundle is no longer stored."
	case errors.Is(err, blobstore.ErrTooLarge):
		return fmt.Sprintf("The code bundle has more than %d MiB, the most that is opened to be shown.", limits.MaxBundleBytes>>20)
	case errors.Is(err, bundle.ErrUnreadable):
		return "The code bundle is damaged, or no archive: " + err.Error()
	case errors.Is(err, blobstore.ErrForbiddenPath):
		return "The code bundle is outside of the storage of this server."
	default:
		return ""
	}
}

// readBundle reads a bundle once a slot is free.
func (s *Service) readBundle(ctx context.Context, uri string, wanted bundle.Wanted) (*bundle.Contents, error) {
	select {
	case s.bundles <- struct{}{}:
		defer func() { <-s.bundles }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	info, err := s.deps.Store.Stat(ctx, uri)
	if err != nil {
		return nil, err
	}
	if info.Size > s.config.Code.MaxBundleBytes {
		return nil, blobstore.ErrTooLarge
	}
	archive, err := s.deps.Store.NewReader(ctx, uri)
	if err != nil {
		return nil, err
	}
	defer archive.Close()
	return bundle.Read(ctx, archive, wanted, bundle.Limits{
		Unpacked: s.config.Code.MaxUnpackedBytes, Files: s.config.Code.MaxFiles, Text: maxText,
	})
}

// entryOf is where the arguments of a task's container say that its function is: they end with how to load it.
func entryOf(template *core.TaskTemplate) bundle.Entry {
	args := codebundle.Args(template)
	loader := map[string]string{}
	for i := range args {
		if args[i] == "--resolver" && i+2 <= len(args) {
			for rest := args[i+2:]; len(rest) >= 2; rest = rest[2:] {
				loader[rest[0]] = rest[1]
			}
			break
		}
	}
	entry := bundle.Entry{Module: loader["mod"], Function: loader["instance"]}
	if script := loader["script_name"]; entry.Module == "" && script != "" {
		entry.File = path.Clean(script)
	}
	if entry.Function == "" && entry.File == "" {
		entry.Function = lastPart(template.GetId().GetName())
	}
	return entry
}

// lastPart is the function in the name of a task, which begins with that of its environment.
func lastPart(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

func hasFlag(template *core.TaskTemplate, flag string) bool {
	for _, arg := range codebundle.Args(template) {
		if arg == flag {
			return true
		}
	}
	return false
}

// isPickle reports whether the data is a pickled object and not an archive.
func isPickle(template *core.TaskTemplate, uri string) bool {
	return strings.HasSuffix(uri, ".pkl.gz") || hasFlag(template, "--pkl") && !hasFlag(template, "--tgz")
}
