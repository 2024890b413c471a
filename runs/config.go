package runs

import (
	"time"

	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/invalid"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/runs/admission"
	"github.com/flyte-binary/flyte-binary/runs/artifactlink"
	"github.com/flyte-binary/flyte-binary/runs/backlog"
	"github.com/flyte-binary/flyte-binary/runs/cachelink"
	"github.com/flyte-binary/flyte-binary/runs/cost"
	"github.com/flyte-binary/flyte-binary/runs/dispatch"
	"github.com/flyte-binary/flyte-binary/runs/images"
	"github.com/flyte-binary/flyte-binary/runs/placement"
	"github.com/flyte-binary/flyte-binary/runs/problems"
	"github.com/flyte-binary/flyte-binary/runs/queues"
	"github.com/flyte-binary/flyte-binary/runs/reclaim"
	"github.com/flyte-binary/flyte-binary/runs/retention"
	"github.com/flyte-binary/flyte-binary/runs/rollup"
	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/stored"
	"github.com/flyte-binary/flyte-binary/runs/timers"
	"github.com/flyte-binary/flyte-binary/runs/tracked"
	"github.com/flyte-binary/flyte-binary/runs/watch"
	"github.com/flyte-binary/flyte-binary/runs/webhook"
)

// Config configures the service.
type Config struct {
	// Domains are the domains that every project has. At least one.
	Domains []string `config:"domains"`
	// SeedProjects are the projects that are created at startup when they do not exist.
	SeedProjects []string `config:"seedProjects"`
	// Writer bounds the batched writes.
	Writer store.WriterConfig `config:"writer"`
	// Admission limits the live actions.
	Admission admission.Config `config:"admission"`
	// Backlog bounds what a project may have under way before CreateRun refuses more.
	Backlog backlog.Config `config:"backlog"`
	// Stored limits the bytes that projects have in the object store.
	Stored stored.Config `config:"stored"`
	// Queues are the queues besides the one named default, which always exists and has limits only when it is listed
	// too. In the environment and in overrides a queue is one line, as in "gpu maxActions=4 priority=10". queues.md
	// describes the fields.
	Queues []queues.Queue `config:"queues"`
	// Placement says which clusters run which actions.
	Placement placement.Config `config:"placement"`
	// Assignments configures the stream of assignments.
	Assignments dispatch.Config `config:"assignments"`
	// Timers tunes the loop that enforces timeouts and starts built-in actions.
	Timers timers.Config `config:"timers"`
	// Webhooks calls the webhooks of conditions and serves their callbacks.
	Webhooks webhook.Config `config:"webhooks"`
	// Cache says how tasks use the cache of outputs.
	Cache cachelink.Config `config:"cache"`
	// Artifacts says how the artifacts that tasks declare are registered.
	Artifacts artifactlink.Config `config:"artifacts"`
	// Problems says how failures are grouped over runs.
	Problems problems.Config `config:"problems"`
	// Rollups says how ended actions are counted.
	Rollups rollup.Config `config:"rollups"`
	// Cost says what the use of machines costs.
	Cost cost.Config `config:"cost"`
	// Watch tunes the streams.
	Watch watch.Config `config:"watch"`
	// Clusters says when work is taken back from a cluster that is away.
	Clusters reclaim.Config `config:"clusters"`
	// Retention deletes old runs.
	Retention retention.Config `config:"retention"`
	// Tracked stores runs that clients execute and report.
	Tracked tracked.Config `config:"tracked"`
	// Images answers ImageService.GetImage, and names the builder of images.
	Images images.Config `config:"images"`
	// MaxInlineInputs is the largest size of inputs sent inline with CreateRun, in bytes.
	MaxInlineInputs int64 `config:"maxInlineInputs"`
	// MaxInlineData is the largest size of inputs or outputs that RunService.GetActionData returns, in bytes.
	MaxInlineData int64 `config:"maxInlineData"`
	// InputsTimeout bounds writing inline inputs to the object store.
	InputsTimeout time.Duration `config:"inputsTimeout"`
}

// DefaultConfig suits a laptop.
func DefaultConfig() Config {
	return Config{
		Domains:         []string{"development", "staging", "production"},
		SeedProjects:    []string{"flytesnacks"},
		Writer:          store.DefaultWriterConfig(),
		Admission:       admission.DefaultConfig(),
		Backlog:         backlog.DefaultConfig(),
		Stored:          stored.DefaultConfig(),
		Placement:       placement.DefaultConfig(),
		Assignments:     dispatch.DefaultConfig(),
		Timers:          timers.DefaultConfig(),
		Webhooks:        webhook.DefaultConfig(),
		Cache:           cachelink.DefaultConfig(),
		Artifacts:       artifactlink.DefaultConfig(),
		Problems:        problems.DefaultConfig(),
		Rollups:         rollup.DefaultConfig(),
		Cost:            cost.DefaultConfig(),
		Watch:           watch.DefaultConfig(),
		Clusters:        reclaim.DefaultConfig(),
		Retention:       retention.DefaultConfig(),
		Tracked:         tracked.DefaultConfig(),
		Images:          images.DefaultConfig(),
		MaxInlineInputs: 64 << 20,
		MaxInlineData:   64 << 20,
		InputsTimeout:   30 * time.Second,
	}
}

// Validate lists the fields that are wrong.
func (c Config) Validate() error {
	var found invalid.Fields
	found.If(len(c.Domains) == 0, "domains: at least one is required")
	for i, domain := range c.Domains {
		found.If(!ident.IsPlace(domain), "domains[%d]: a domain %s; got %q", i, ident.PlaceRule, domain)
	}
	for i, project := range c.SeedProjects {
		found.If(!ident.IsPlace(project), "seedProjects[%d]: a project %s; got %q", i, ident.PlaceRule, project)
		found.If(project == blobpath.UploadsName, "seedProjects[%d]: %s is reserved for uploads in the object store", i, project)
	}
	found.If(c.MaxInlineInputs <= 0, "maxInlineInputs: must be positive, got %d", c.MaxInlineInputs)
	found.If(c.MaxInlineData <= 0, "maxInlineData: must be positive, got %d", c.MaxInlineData)
	found.Section("tracked", c.Tracked.Validate())
	found.Section("images", c.Images.Validate())
	found.If(c.InputsTimeout <= 0, "inputsTimeout: must be positive, got %s", c.InputsTimeout)
	found.Section("writer", c.Writer.Validate())
	found.Section("admission", c.Admission.Validate())
	found.Section("backlog", c.Backlog.Validate())
	found.Section("stored", c.Stored.Validate())
	found.Section("problems", c.Problems.Validate())
	found.Section("rollups", c.Rollups.Validate())
	found.Section("cost", c.Cost.Validate())
	found.Section("queues", queues.Validate(c.Queues))
	found.Section("placement", c.Placement.Validate())
	found.Section("assignments", c.Assignments.Validate())
	found.Section("timers", c.Timers.Validate())
	found.Section("clusters", c.Clusters.Validate())
	found.Section("retention", c.Retention.Validate())
	found.Section("webhooks", c.Webhooks.Validate())
	found.Section("cache", c.Cache.Validate())
	found.Section("artifacts", c.Artifacts.Validate())
	found.Section("watch", c.Watch.Validate())
	return found.Err()
}
