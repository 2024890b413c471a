package runs_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1/insightv1connect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/imagebuilder/imagebuilderconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/org/orgconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/project/projectconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/settings/settingsconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task/taskconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/runs"
	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/store/catalog"
)

// readFixture is the service over HTTP, as an anonymous client sees it, on a fresh database with the default project. Its
// loops do not run.
type readFixture struct {
	pool     *pgxpool.Pool
	clock    *clock.Fake
	blobs    *memoryBlobs
	runs     workflowconnect.RunServiceClient
	tasks    taskconnect.TaskServiceClient
	projects projectconnect.ProjectServiceClient
	domains  orgconnect.DomainServiceClient
	images   imagebuilderconnect.ImageServiceClient
	settings settingsconnect.SettingsServiceClient
	insight  insightv1connect.InsightServiceClient
	stars    insightv1connect.StarServiceClient
}

func newReadFixture(t *testing.T, change func(*runs.Config)) *readFixture {
	t.Helper()
	config := runs.DefaultConfig()
	if change != nil {
		change(&config)
	}
	r := &readFixture{
		pool:  pgtest.New(t, store.Migrations()),
		clock: clock.NewFake(time.Date(2026, time.July, 1, 0, 0, 0, 1000, time.UTC)),
		blobs: &memoryBlobs{objects: map[string][]byte{}},
	}
	service, err := runs.New(config, runs.Deps{Pool: r.pool, Blobs: r.blobs, Clock: r.clock, Logger: zerolog.Nop()})
	require.NoError(t, err)
	require.NoError(t, catalog.NewProjects(r.pool).Seed(t.Context(), config.SeedProjects, r.clock.Now()))
	mux := rpc.NewMux(rpc.Interceptors(rpc.Chain{}))
	service.Mount(mux)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)
	r.runs = workflowconnect.NewRunServiceClient(client, server.URL)
	r.tasks = taskconnect.NewTaskServiceClient(client, server.URL)
	r.projects = projectconnect.NewProjectServiceClient(client, server.URL)
	r.domains = orgconnect.NewDomainServiceClient(client, server.URL)
	r.images = imagebuilderconnect.NewImageServiceClient(client, server.URL)
	r.stars = insightv1connect.NewStarServiceClient(client, server.URL)
	r.insight = insightv1connect.NewInsightServiceClient(client, server.URL)
	r.settings = settingsconnect.NewSettingsServiceClient(client, server.URL)
	return r
}

// memoryBlobs is an object store in memory.
type memoryBlobs struct {
	mu      sync.Mutex
	objects map[string][]byte // GUARDED_BY(mu)
}

func (*memoryBlobs) Root() string { return "/data" }

func (*memoryBlobs) Canonical(uri string) (string, error) {
	if !strings.HasPrefix(uri, "/data/") {
		return "", blobstore.ErrForbiddenPath
	}
	return uri, nil
}

func (m *memoryBlobs) ReadAll(_ context.Context, uri string, limit int64) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	body, ok := m.objects[uri]
	if !ok {
		return nil, blobstore.ErrNotExist
	}
	if int64(len(body)) > limit {
		return nil, blobstore.ErrTooLarge
	}
	return body, nil
}

func (m *memoryBlobs) NewReader(_ context.Context, uri string) (io.ReadCloser, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	body, ok := m.objects[uri]
	if !ok {
		return nil, blobstore.ErrNotExist
	}
	return io.NopCloser(bytes.NewReader(body)), nil
}

func (m *memoryBlobs) Stat(_ context.Context, uri string) (blobstore.Info, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	body, ok := m.objects[uri]
	if !ok {
		return blobstore.Info{}, blobstore.ErrNotExist
	}
	return blobstore.Info{Size: int64(len(body))}, nil
}

func (m *memoryBlobs) WriteAll(_ context.Context, uri string, body []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.objects[uri] = body
	return nil
}

// refused asserts the code of an error and a part of its message.
func refused(t *testing.T, err error, code connect.Code, text string) {
	t.Helper()
	require.Equal(t, code, connect.CodeOf(err), "%v", err)
	require.ErrorContains(t, err, text)
}

// Measure answers one page.
func (m *memoryBlobs) Measure(_ context.Context, uri, _ string, _ int, visit func(blobstore.Page) error) error {
	m.mu.Lock()
	var page blobstore.Page
	for name, body := range m.objects {
		if strings.HasPrefix(name, strings.TrimRight(uri, "/")+"/") {
			page.Objects++
			page.Bytes += int64(len(body))
		}
	}
	m.mu.Unlock()
	return visit(page)
}

func (m *memoryBlobs) DeletePrefix(_ context.Context, uri string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for stored := range m.objects {
		if strings.HasPrefix(stored, uri) {
			delete(m.objects, stored)
		}
	}
	return nil
}
