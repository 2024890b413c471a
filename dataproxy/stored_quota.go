package dataproxy

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

const (
	// reportEvery is how often what has arrived in a project is reported.
	reportEvery = time.Second
	// maxFollowed bounds the projects whose uploads are followed.
	maxFollowed = 10_000
)

// Limiter knows how much projects have stored; EngineService does.
type Limiter interface {
	AdmitUpload(ctx context.Context, r *enginev1.AdmitUploadRequest) (*enginev1.AdmitUploadResponse, error)
}

// storedQuota asks whether a project may store more, and reports what uploads have added to it. What has arrived is known as in
// uploadQuota: each request looks for the uploads that were requested before. What a process has not reported is lost with it, until
// the next measurement.
//
// It is safe for concurrent use.
type storedQuota struct {
	store   Store
	limiter Limiter
	clock   clock.Clock

	mu       sync.Mutex
	projects map[string]*followed // GUARDED_BY(mu)
}

// followed are the uploads of a project.
type followed struct {
	mu         sync.Mutex
	requested  arrivals         // GUARDED_BY(mu)
	unreported map[string]int64 // GUARDED_BY(mu): bytes, by who uploaded them
	reported   time.Time        // GUARDED_BY(mu)
}

func newStoredQuota(store Store, limiter Limiter, clk clock.Clock) *storedQuota {
	return &storedQuota{store: store, limiter: limiter, clock: clk, projects: map[string]*followed{}}
}

// enter returns an error when a project may store no more. Otherwise it follows an upload to a URI that is about to be signed. size is
// 0 if the client did not say it.
func (q *storedQuota) enter(ctx context.Context, project, uri string, size int64, expires time.Duration) error {
	f, by := q.of(project), askedBy(ctx)
	follow, err := q.admit(ctx, f, &enginev1.AdmitUploadRequest{Project: project, Caller: by, Uri: uri, Bytes: size})
	if err != nil || !follow {
		return err
	}
	there, err := q.store.Stat(ctx, uri) // the same content is uploaded again and again
	if err != nil && !errors.Is(err, blobstore.ErrNotExist) {
		return storeError(err, "", uri)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !slices.ContainsFunc(f.requested, func(p pending) bool { return p.uri == uri }) {
		f.requested.add(pending{uri: uri, by: by, counted: there.Size, until: q.clock.Now().Add(expires)})
	}
	return nil
}

// admitBytes returns an error when a project has no room for an object that the server writes. wrote counts it later.
func (q *storedQuota) admitBytes(ctx context.Context, project, uri string, size int64) error {
	_, err := q.admit(ctx, q.of(project), &enginev1.AdmitUploadRequest{Project: project, Caller: askedBy(ctx), Uri: uri, Bytes: size})
	return err
}

// admit returns an error when a project or its caller may store no more, and otherwise whether its uploads are to be followed.
func (q *storedQuota) admit(ctx context.Context, f *followed, request *enginev1.AdmitUploadRequest) (follow bool, err error) {
	if err := q.settle(ctx, f); err != nil {
		return false, err
	}
	for by, bytes := range f.takeUnreported(q.clock.Now()) {
		if by == "" {
			request.Arrived = bytes
			continue
		}
		request.ArrivedOf = append(request.ArrivedOf, &enginev1.ArrivedUploads{Caller: by, Bytes: bytes})
	}
	response, err := q.limiter.AdmitUpload(ctx, request)
	return response.GetFollowed(), err
}

// wrote counts bytes that the server has written itself.
func (q *storedQuota) wrote(ctx context.Context, project string, bytes int64) {
	f := q.of(project)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.count(askedBy(ctx), bytes)
}

// settle looks for uploads that were requested before, while others may do the same for other uploads.
func (q *storedQuota) settle(ctx context.Context, f *followed) error {
	f.mu.Lock()
	taken := f.requested.take()
	f.mu.Unlock()
	if len(taken) == 0 {
		return nil
	}
	more, left, err := taken.settle(ctx, q.store, q.clock.Now())
	f.mu.Lock()
	defer f.mu.Unlock()
	for by, bytes := range more {
		f.count(by, bytes)
	}
	f.requested = append(f.requested, left...)
	return err
}

// takeUnreported are the bytes to report now. They count as reported whatever the answer is: one that is lost is better than one
// that is counted twice, which would refuse what there is room for.
func (f *followed) takeUnreported(now time.Time) map[string]int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now.Sub(f.reported) < reportEvery {
		return nil
	}
	bytes := f.unreported
	f.unreported, f.reported = map[string]int64{}, now
	return bytes
}

// count adds bytes to those that are to be reported. GUARDED_BY(f.mu).
func (f *followed) count(by string, bytes int64) {
	if f.unreported[by] += bytes; f.unreported[by] == 0 {
		delete(f.unreported, by)
	}
}

func (q *storedQuota) of(project string) *followed {
	q.mu.Lock()
	defer q.mu.Unlock()
	f := q.projects[project]
	if f == nil {
		if len(q.projects) >= maxFollowed {
			clear(q.projects)
		}
		f = &followed{unreported: map[string]int64{}}
		q.projects[project] = f
	}
	return f
}
