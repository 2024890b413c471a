package taskactions

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/failpoint"
)

// laterError is a failure for which the API server requested a pause.
type laterError struct {
	delay time.Duration
	err   error
}

func (e *laterError) Error() string { return e.err.Error() }
func (e *laterError) Unwrap() error { return e.err }

// errRetained says that an object has to stay until the executor is done with it.
var errRetained = errors.New("the executor still needs the TaskAction")

// errEarlier says that an earlier placement of the action is not gone yet.
var errEarlier = errors.New("an earlier placement of the action is still being ended")

// sync reconciles the object of one action with the desired state. It calls create if there is none and should be one.
func (s *session) sync(ctx context.Context, uid int64, create func(ctx context.Context, uid int64) error) error {
	ctx, cancel := context.WithTimeout(ctx, s.config.CallTimeout)
	defer cancel()
	live, known := s.desired.isLive(uid)
	objects := s.existing(uid)
	if live && slices.ContainsFunc(objects, func(o *metav1.PartialObjectMetadata) bool { return s.isFinished(uid, o) }) {
		live = false // The end is committed, and the stream is about to say so.
	}
	switch {
	case !known:
		return nil // the next snapshot decides
	case live && len(objects) == 0:
		return create(ctx, uid)
	case live && slices.ContainsFunc(objects, func(o *metav1.PartialObjectMetadata) bool { return s.isEarlier(uid, o) }):
		return s.replace(ctx, uid, objects)
	case live:
		s.extra.Delete(uid)
		s.lost.Delete(uid)
		s.desired.made(uid)
		return nil
	}
	s.lost.Delete(uid)
	if len(objects) == 0 {
		s.done.Delete(uid)
		if s.unseen.mayExist(uid, s.clock.Now()) {
			s.removals.AddAfter(uid, unseenFor) // then it has appeared, or is forgotten
		}
	}
	for _, object := range objects {
		if _, done := s.deleted.Load(object.UID); done || !object.DeletionTimestamp.IsZero() {
			continue
		}
		if err := s.remove(ctx, uid, object); err != nil {
			return err
		}
	}
	return nil
}

// remove deletes an object whose action is not live, once the executor is done with it.
func (s *session) remove(ctx context.Context, uid int64, object *metav1.PartialObjectMetadata) error {
	if !s.isFinished(uid, object) && s.retains(object) {
		return errRetained
	}
	value, found := s.extra.Load(uid)
	atFirst, _ := value.(bool)
	kind := driftFinished
	if found {
		var err error
		if kind, err = s.kindOf(ctx, object); err != nil {
			return err
		}
	}
	failpoint.Here("taskactions.before-delete")
	if err := s.cluster.remove(ctx, object); err != nil {
		return throttled(fmt.Errorf("delete TaskAction %s/%s: %w", object.Namespace, object.Name, err))
	}
	failpoint.Here("taskactions.after-delete")
	s.deleted.Store(object.UID, nil)
	s.metrics.deleted.Add(ctx, 1)
	s.extra.Delete(uid)
	if found {
		s.repaired(ctx, kind, atFirst && kind == driftFinished, uid, object)
	}
	return nil
}

// isFinished reports whether the executor is done with the object.
func (s *session) isFinished(uid int64, object *metav1.PartialObjectMetadata) bool {
	done, ok := s.done.Load(uid)
	return ok && done == object.UID
}

// kindOf distinguishes an object whose action ended from one whose action does not exist.
func (s *session) kindOf(ctx context.Context, object *metav1.PartialObjectMetadata) (string, error) {
	known, err := s.isKnown(ctx, labelledAction(object.Labels))
	switch {
	case err != nil:
		return "", fmt.Errorf("look for the action of %s/%s: %w", object.Namespace, object.Name, err)
	case known:
		return driftFinished, nil
	default:
		return driftUnknown, nil
	}
}

// isKnown reports whether the runs service has an action of this name.
func (s *session) isKnown(ctx context.Context, id ident.Action) (bool, error) {
	_, err := s.engine.GetActionStorage(ctx, &enginev1.GetActionStorageRequest{ActionId: id.Proto()})
	if err == nil {
		return true, nil
	}
	if kind := rpc.KindOf(err); kind == rpc.KindNotFound || kind == rpc.KindInvalidArgument {
		return false, nil
	}
	return false, err
}

func (s *session) create(ctx context.Context, uid int64) error {
	assignment, err := s.assignment(ctx, uid)
	if err != nil || assignment == nil {
		return err
	}
	if assignment.GetRef().GetPlacement() > 0 && (s.executor != nil && s.executor.HoldsPods(s.shard, uid) || len(s.holding(ctx, []int64{uid})) > 0) {
		return errEarlier
	}
	run := ident.RunOf(assignment.GetRef().GetId().GetRun())
	place, err := s.namespace.Place(run)
	if err != nil {
		return s.reject(ctx, assignment, "BadNamespace", err)
	}
	failpoint.Here("taskactions.before-create")
	object := FromAssignment(assignment, place.Namespace)
	if s.installation != "" {
		object.Labels[v1.LabelInstallation] = s.installation
	}
	s.unseen.sending(uid)
	created, err := s.cluster.create(ctx, object, place)
	s.unseen.returned(uid, s.clock.Now())
	failpoint.Here("taskactions.after-create")
	if code := refusal(err); code != "" {
		s.unseen.settle(uid)
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
			s.repaired(ctx, driftDeleted, false, uid, made)
		} else if wasMissing {
			s.repaired(ctx, driftMissing, true, uid, made) // admitted while no replica led
		}
	}
	return nil
}

// throttled keeps the pause that the API server requested.
func throttled(err error) error {
	if seconds, ok := apierrors.SuggestsClientDelay(err); ok && seconds > 0 {
		return &laterError{delay: time.Duration(seconds) * time.Second, err: err}
	}
	return err
}
