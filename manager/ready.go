package manager

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/flyte-binary/flyte-binary/internal/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/pgdb"
)

// checkTimeout bounds one round of checks; a probe gives up after a few seconds, too.
const checkTimeout = 3 * time.Second

// checks are what must hold for the process to do its work.
type checks []check

type check struct {
	name string
	run  func(context.Context) error
}

func readiness(pool *pgxpool.Pool, blobs *blobstore.Store, cluster *rest.Config) checks {
	return checks{
		{"database", func(ctx context.Context) error { return pgdb.CheckSchema(ctx, pool, Schemas()...) }},
		{"storage", blobs.Ping},
		{"kubernetes", func(ctx context.Context) error { return pingCluster(ctx, cluster) }},
	}
}

// check runs all of them and reports the first that fails.
func (c checks) check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	for _, one := range c {
		if err := one.run(ctx); err != nil {
			return fmt.Errorf("%s: %w", one.name, err)
		}
	}
	return nil
}

// ServeHTTP is /readyz: 200 or 503, with a line for each check.
func (c checks) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), checkTimeout)
	defer cancel()
	status, body := http.StatusOK, ""
	for _, one := range c {
		line := "ok"
		if err := one.run(ctx); err != nil {
			status, line = http.StatusServiceUnavailable, err.Error()
		}
		body += one.name + ": " + line + "\n"
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	fmt.Fprint(w, body)
}

func pingCluster(ctx context.Context, config *rest.Config) error {
	_, err := serverVersion(ctx, config)
	return err
}

// serverVersion asks the API server for its version, which every account may.
func serverVersion(ctx context.Context, config *rest.Config) (string, error) {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return "", fmt.Errorf("make client: %w", err)
	}
	body, err := client.RESTClient().Get().AbsPath("/version").Do(ctx).Raw()
	if err != nil {
		return "", fmt.Errorf("ask the API server for its version: %w", err)
	}
	var answer struct {
		GitVersion string `json:"gitVersion"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return "", fmt.Errorf("the API server's version: %w", err)
	}
	return answer.GitVersion, nil
}
