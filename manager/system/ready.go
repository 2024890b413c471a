package system

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/manager/diagnose"
)

// CheckTimeout bounds one round of checks. Probes time out after a few seconds, too.
const CheckTimeout = 3 * time.Second

// Checks are the conditions of readiness.
type Checks []Check

// Check is one condition. Run returns why it does not hold, in words for an operator.
type Check struct {
	Name string
	Run  func(context.Context) error
	Soft bool // a failure degrades the process, which can still serve
}

// result is what a check found.
type result struct {
	Check
	Err  error
	took time.Duration
}

// Run runs all of them at once, within CheckTimeout. Those that the process cannot serve without come first.
func (c Checks) Run(ctx context.Context, clk clock.Clock) []result {
	ctx, cancel := context.WithTimeout(ctx, CheckTimeout)
	defer cancel()
	found := make([]result, len(c))
	var group sync.WaitGroup
	for i, one := range c {
		group.Go(func() {
			began := clk.Now()
			err := one.Run(ctx)
			found[i] = result{one, err, clk.Now().Sub(began)}
		})
	}
	group.Wait()
	slices.SortStableFunc(found, func(a, b result) int { return order(a.Soft) - order(b.Soft) })
	return found
}

func order(soft bool) int {
	if soft {
		return 1
	}
	return 0
}

// Ready returns nil unless the process cannot serve.
func (c Checks) Ready(ctx context.Context) error {
	required := slices.DeleteFunc(slices.Clone(c), func(one Check) bool { return one.Soft })
	for _, one := range required.Run(ctx, clock.System{}) {
		if one.Err != nil {
			return fmt.Errorf("%s: %w", one.Name, one.Err)
		}
	}
	return nil
}

// ServeHTTP is /readyz: 200 or 503, with a line for each check. What degrades the process does not make it unready:
// another process would be no better, and most calls work.
func (c Checks) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	status, body := http.StatusOK, ""
	for _, one := range c.Run(r.Context(), clock.System{}) {
		line := "ok"
		switch {
		case one.Err != nil && one.Soft:
			line = "degraded: " + one.Err.Error()
		case one.Err != nil:
			status, line = http.StatusServiceUnavailable, one.Err.Error()
		}
		body += one.Name + ": " + line + "\n"
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	fmt.Fprint(w, body)
}

// PingCluster checks that the API server answers. Its error says what to do.
func PingCluster(ctx context.Context, config *rest.Config) error {
	_, err := ServerVersion(ctx, config)
	return diagnose.Cluster(config.Host, "get the version", err)
}

// ServesTaskActions checks that the API server has the definition of TaskActions that someone else installs. Discovery needs no
// permission of its own.
func ServesTaskActions(ctx context.Context, config *rest.Config) error {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return fmt.Errorf("create client: %w", err)
	}
	var served metav1.APIResourceList
	path := "/apis/" + v1.GroupVersion.String()
	err = client.RESTClient().Get().AbsPath(path).Do(ctx).Into(&served)
	if err != nil && !apierrors.IsNotFound(err) {
		return nil // the check of the API server says what is wrong with it
	}
	name := v1.Resource.Resource
	if slices.ContainsFunc(served.APIResources, func(one metav1.APIResource) bool { return one.Name == name }) {
		return nil
	}
	return diagnose.NoDefinition(config.Host, v1.Resource.GroupResource().String())
}

// ServerVersion reads the version of the API server, which every account may do.
func ServerVersion(ctx context.Context, config *rest.Config) (string, error) {
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
