package manager

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
)

// checkTimeout bounds one round of checks. Probes time out after a few seconds, too.
const checkTimeout = 3 * time.Second

// checks are the conditions of readiness.
type checks []check

type check struct {
	name string
	run  func(context.Context) error
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

// serverVersion reads the version of the API server, which every account may do.
func serverVersion(ctx context.Context, config *rest.Config) (string, error) {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return "", fmt.Errorf("create client: %w", err)
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
