package bridge

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/failpoint"
	"github.com/flyte-binary/flyte-binary/internal/ident"
	"github.com/flyte-binary/flyte-binary/internal/rpc"
)

// laterError is a failure for which the API server asked for a pause of its own.
type laterError struct {
	delay time.Duration
	err   error
}

func (e *laterError) Error() string { return e.err.Error() }
func (e *laterError) Unwrap() error { return e.err }

// sync brings the object of one action in line with what is wanted now.
func (s *session) sync(ctx context.Context, uid int64) error {
	ctx, cancel := context.WithTimeout(ctx, s.config.CallTimeout)
	defer cancel()
	live, known := s.desired.isLive(uid)
	objects := s.existing(uid)
	switch {
	case !known:
		return nil // the next snapshot will tell
	case live && len(objects) == 0:
		return s.create(ctx, uid)
	case live:
		s.extra.Delete(uid)
		s.lost.Delete(uid)
		s.desired.made(uid)
		return nil
	}
	s.lost.Delete(uid)
	for _, object := range objects {
		if !object.DeletionTimestamp.IsZero() {
			continue
		}
		if err := s.remove(ctx, uid, object); err != nil {
			return err
		}
	}
	return nil
}

// remove deletes an object that nobody wants, unless the executor is about to do so.
func (s *session) remove(ctx context.Context, uid int64, object *metav1.PartialObjectMetadata) error {
	_, found := s.extra.Load(uid)
	kind := mendedUnknown
	if _, spared := s.spared.LoadAndDelete(uid); spared {
		kind, found = mendedFinished, true // the executor should have deleted it
	} else {
		leave, known, err := s.leftToExecutor(ctx, object)
		if err != nil {
			return err
		}
		if leave {
			s.spared.Store(uid, nil)
			s.queue.AddAfter(uid, s.config.SealGrace)
			return nil
		}
		if known {
			kind = mendedFinished
		}
	}
	if err := s.cluster.remove(ctx, object); err != nil {
		return throttled(fmt.Errorf("delete TaskAction %s/%s: %w", object.Namespace, object.Name, err))
	}
	failpoint.Here("bridge.after-delete")
	s.metrics.deleted.Add(ctx, 1)
	s.extra.Delete(uid)
	if found {
		s.mended(ctx, kind, uid, object)
	}
	return nil
}

// leftToExecutor tells whether the executor reported how the action ended: then it still has its logs to store, and
// deletes the object when it has. Of an abort it does not know, and what is unknown belongs to nobody.
func (s *session) leftToExecutor(ctx context.Context, object *metav1.PartialObjectMetadata) (leave, known bool, err error) {
	id := labelledAction(object)
	found, err := s.storage(ctx, id)
	if kind := rpc.KindOf(err); err != nil && (kind == rpc.KindNotFound || kind == rpc.KindInvalidArgument) {
		return false, false, nil
	}
	if err != nil {
		return false, false, fmt.Errorf("ask how %s ended: %w", id, err)
	}
	switch found.GetPhase() {
	case common.ActionPhase_ACTION_PHASE_SUCCEEDED, common.ActionPhase_ACTION_PHASE_FAILED, common.ActionPhase_ACTION_PHASE_TIMED_OUT:
		return true, true, nil
	default:
		return false, true, nil
	}
}

func (s *session) storage(ctx context.Context, id ident.Action) (*enginev1.GetActionStorageResponse, error) {
	return s.engine.GetActionStorage(ctx, &enginev1.GetActionStorageRequest{ActionId: id.Proto()})
}

func (s *session) create(ctx context.Context, uid int64) error {
	assignment, err := s.assignment(ctx, uid)
	if err != nil || assignment == nil {
		return err
	}
	run := ident.RunOf(assignment.GetRef().GetId().GetRun())
	namespace, err := s.namespace.namespace(run)
	if err != nil {
		return s.reject(ctx, assignment, "BadNamespace", err)
	}
	failpoint.Here("bridge.before-create")
	object := v1.FromAssignment(assignment, namespace)
	if s.owner != "" {
		object.Labels[v1.LabelInstallation] = s.owner
	}
	created, err := s.cluster.create(ctx, object, s.namespace.labels(run))
	failpoint.Here("bridge.after-create")
	if code := refusal(err); code != "" {
		return s.reject(ctx, assignment, code, err)
	}
	if err != nil {
		return throttled(fmt.Errorf("create TaskAction of %s/%s: %w", run, assignment.GetRef().GetId().GetName(), err))
	}
	wasMissing := s.desired.made(uid)
	if created {
		s.metrics.created.Add(ctx, 1)
		made := &metav1.PartialObjectMetadata{ObjectMeta: object.ObjectMeta}
		if _, wasLost := s.lost.LoadAndDelete(uid); wasLost {
			s.mended(ctx, mendedDeleted, uid, made)
		} else if wasMissing {
			s.mended(ctx, mendedMissing, uid, made)
		}
	}
	return nil
}

// assignment is the whole assignment of a live action; nil when the state machine says that it is not live any more.
func (s *session) assignment(ctx context.Context, uid int64) (*enginev1.Assignment, error) {
	if a := s.desired.assignment(uid); a != nil {
		return a, nil
	}
	response, err := s.engine.GetAssignments(ctx, &enginev1.GetAssignmentsRequest{Uids: []int64{uid}})
	if err != nil {
		return nil, fmt.Errorf("get assignment: %w", err)
	}
	if len(response.GetAssignments()) == 0 {
		s.desired.release(uid)
		return nil, nil
	}
	return response.GetAssignments()[0], nil
}

// throttled heeds the API server's wish for a pause.
func throttled(err error) error {
	if seconds, ok := apierrors.SuggestsClientDelay(err); ok && seconds > 0 {
		return &laterError{delay: time.Duration(seconds) * time.Second, err: err}
	}
	return err
}
