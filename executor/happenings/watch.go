package happenings

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/flyte-binary/flyte-binary/internal/text/clip"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// Watcher follows the Events of one namespace, or of all.
type Watcher struct {
	// Events reaches the Events.
	Events typedcorev1.EventInterface
	// Observe takes each one that begins or happens again. It is called by one goroutine.
	Observe func(ctx context.Context, about corev1.ObjectReference, h Happening)
	Clock   clock.Clock
	Logger  zerolog.Logger
}

const (
	// retryForbidden is the pause after the API server refused, since rights change rarely.
	retryForbidden = 10 * time.Minute
	// retryPause is the pause after other errors.
	retryPause = 5 * time.Second
	// watchSeconds is how long one watch lasts.
	watchSeconds = 1800
)

// Run follows the Events until ctx ends. It begins with those that come: what happened before was recorded before, or concerns
// attempts that have ended.
func (w *Watcher) Run(ctx context.Context) {
	version, said := "", false
	for ctx.Err() == nil {
		next, err := w.follow(ctx, version)
		version = next
		pause := retryPause
		switch {
		case err == nil:
			said = false
			continue
		case ctx.Err() != nil:
			return
		case apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err):
			pause = retryForbidden
		}
		if !said {
			w.Logger.Warn().Err(err).Msg("cannot follow the Events of the cluster; actions do not show them meanwhile")
			said = true
		}
		if clock.Sleep(ctx, w.Clock, pause) != nil {
			return
		}
	}
}

// follow watches from a version on; empty means from now. It returns the version that it has seen.
func (w *Watcher) follow(ctx context.Context, version string) (string, error) {
	if version == "" {
		list, err := w.Events.List(ctx, metav1.ListOptions{Limit: 1})
		if err != nil {
			return "", fmt.Errorf("list Events: %w", err)
		}
		version = list.ResourceVersion
	}
	seconds := int64(watchSeconds)
	stream, err := w.Events.Watch(ctx, metav1.ListOptions{
		ResourceVersion: version, AllowWatchBookmarks: true, TimeoutSeconds: &seconds, FieldSelector: unusual(),
	})
	if err != nil {
		return "", fmt.Errorf("watch Events: %w", err)
	}
	defer stream.Stop()
	for change := range stream.ResultChan() {
		switch change.Type {
		case watch.Error:
			return "", fmt.Errorf("watch Events: %w", apierrors.FromObject(change.Object))
		case watch.Added, watch.Modified, watch.Bookmark:
		case watch.Deleted:
			continue
		}
		event, ok := change.Object.(*corev1.Event)
		if !ok {
			continue
		}
		version = event.ResourceVersion
		if change.Type != watch.Bookmark && worthTelling(event) {
			w.Observe(ctx, event.InvolvedObject, happeningOf(event))
		}
	}
	return version, nil
}

// usual are the Events of every pod that starts and ends as it should. The phases of an attempt say the same.
var usual = map[string]bool{
	"Scheduled": true, "Created": true, "Started": true, "Killing": true, "SuccessfulCreate": true, "SuccessfulDelete": true, "Completed": true,
	"SandboxChanged": true,
	// KubeRay creates a cluster.
	"CreatedHeadPod": true, "CreatedWorkerPod": true, "CreatedService": true, "CreatedServiceAccount": true, "CreatedRole": true,
	"CreatedRoleBinding": true, "CreatedIngress": true, "CreatedRoute": true,
}

// unusual selects the Events of other reasons, so that those of every start need not be sent and decoded.
func unusual() string {
	selectors := make([]fields.Selector, 0, len(usual))
	for _, reason := range slices.Sorted(maps.Keys(usual)) {
		selectors = append(selectors, fields.OneTermNotEqualSelector("reason", reason))
	}
	return fields.AndSelectors(selectors...).String()
}

// worthTelling leaves out what happens in every start.
func worthTelling(event *corev1.Event) bool {
	if event.Type == corev1.EventTypeWarning {
		return true // none has one of these reasons
	}
	// Every start with an image that was there already says so.
	return !usual[event.Reason] && (event.Reason != "Pulled" || !strings.Contains(event.Message, "already present"))
}

func happeningOf(event *corev1.Event) Happening {
	h := Happening{
		At: event.LastTimestamp.Time, Reason: clip.Head(event.Reason, 128), Message: clip.Head(event.Message, maxMessage),
		Source: event.Source.Component, Warning: event.Type == corev1.EventTypeWarning, Count: event.Count,
	}
	if h.Source == "" {
		h.Source = event.ReportingController
	}
	if event.Series != nil {
		h.At, h.Count = event.Series.LastObservedTime.Time, event.Series.Count
	}
	if h.At.IsZero() {
		h.At = event.EventTime.Time
	}
	if h.At.IsZero() {
		h.At = event.CreationTimestamp.Time
	}
	return h
}
