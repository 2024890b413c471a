package artifacts

import (
	"cmp"
	"context"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/flyte-binary/flyte-binary/artifacts/store"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/app"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/pg/listquery"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

const (
	// maxNodes bounds a graph, stdDepth is how far it goes when the request does not say.
	maxNodes = 300
	stdDepth = 4
)

// lineage answers what made a version and what used it. It walks step by step in each direction; a step takes two
// statements here and one call each to the runs service and to the apps service, however many nodes it has.
type lineage struct {
	store *store.Store
	uses  Uses
	apps  AppUses
}

// subject is a node: a version, a run or an app.
type subject struct {
	store.VersionKey
	run ident.Run
	app appKey
}

// appKey names an app.
type appKey struct{ Project, Domain, Name string }

func (s subject) isRun() bool     { return s.run.Name != "" }
func (s subject) isApp() bool     { return s.app.Name != "" }
func (s subject) isVersion() bool { return !s.isRun() && !s.isApp() }

// GetLineage implements insightv1connect.ArtifactInsightServiceHandler. It leaves out what is not within the caller's
// scope.
func (l *lineage) GetLineage(ctx context.Context, r *insightv1.GetLineageRequest) (*insightv1.GetLineageResponse, error) {
	g := &graph{sees: func(project, domain string) bool { return listquery.Sees(ctx, project, domain) }, at: map[subject]int{}, seen: map[subject]bool{}, drawn: map[[3]int]bool{}, out: &insightv1.GetLineageResponse{}}
	first, err := l.first(ctx, r)
	if err != nil {
		return nil, err
	}
	g.node(first, 0)
	depth := int(cmp.Or(r.GetDepth(), stdDepth))
	// Levels are negative for what the first node comes from, and positive for what comes from it.
	for _, direction := range []int{-1, 1} {
		frontier := []subject{first}
		g.seen = map[subject]bool{first: true}
		for step := 1; len(frontier) > 0; step++ {
			// The step after the last one only shows whether there is more.
			g.closed = step > depth
			if frontier, err = l.step(ctx, g, frontier, step*direction); err != nil {
				return nil, err
			}
			if g.closed {
				break
			}
		}
	}
	return g.out, l.describe(ctx, g)
}

func (l *lineage) first(ctx context.Context, r *insightv1.GetLineageRequest) (subject, error) {
	if id := r.GetRunId(); id != nil && r.GetArtifactId() == nil {
		run := ident.RunOf(id)
		if run.Project == "" || run.Domain == "" || run.Name == "" {
			return subject{}, rpc.InvalidArgument("run_id", "a project, a domain and a name are required")
		}
		return subject{run: run}, nil
	}
	if r.GetArtifactId() == nil || r.GetRunId() != nil {
		return subject{}, rpc.InvalidArgument("artifact_id", "either an artifact or a run is required")
	}
	if err := checkName("artifact_id.name", r.GetArtifactId().GetName()); err != nil {
		return subject{}, err
	}
	key := keyOf(r.GetArtifactId())
	if key.Version == "" || key.Version == latest {
		found, err := l.store.Latest(ctx, key.Name)
		if err != nil {
			return subject{}, err
		}
		if found == nil {
			return subject{}, noArtifact(key.Name)
		}
		return subject{VersionKey: found.VersionKey}, nil
	}
	found, err := l.store.Get(ctx, key)
	if err == nil && found == nil {
		err = rpc.NotFound("artifact %s has no version %s in project %s and domain %s", key.Name.Name, key.Version, key.Project, key.Domain)
	}
	return subject{VersionKey: key}, err
}

// step goes one edge from each node of the frontier, upwards when the level is below 0, and returns the nodes that are new.
func (l *lineage) step(ctx context.Context, g *graph, frontier []subject, level int) ([]subject, error) {
	var versions []store.VersionKey
	var runs []ident.Run
	for _, s := range frontier {
		if s.isRun() {
			runs = append(runs, s.run)
		} else {
			versions = append(versions, s.VersionKey)
		}
	}
	g.fresh, g.level = nil, level
	walk := l.downwards
	if level < 0 {
		walk = l.upwards
	}
	err := walk(ctx, g, versions, runs)
	return g.fresh, err
}

// upwards: a version comes from the run that made it and from its parents, a run from the versions among its inputs.
func (l *lineage) upwards(ctx context.Context, g *graph, versions []store.VersionKey, runs []ident.Run) error {
	found, err := l.store.Origins(ctx, versions)
	if err != nil {
		return err
	}
	for _, origin := range found {
		to := subject{VersionKey: origin.VersionKey}
		if origin.SourceRun != "" {
			run := ident.Run{Project: origin.Project, Domain: origin.Domain, Name: origin.SourceRun}
			g.edge(subject{run: run}, to, insightv1.LineageEdge_KIND_PRODUCED)
		}
		for _, parent := range origin.Parents {
			g.edge(subject{VersionKey: parent}, to, insightv1.LineageEdge_KIND_PARENT)
		}
	}
	uses, err := l.used(ctx, g, nil, runs)
	for _, use := range uses {
		g.edge(use.from, use.to, insightv1.LineageEdge_KIND_USED, use.by...)
	}
	return err
}

// downwards: a version goes into the runs and apps that use it and into its children, a run into the versions that it made
// and into the apps that use its outputs.
func (l *lineage) downwards(ctx context.Context, g *graph, versions []store.VersionKey, runs []ident.Run) error {
	uses, err := l.used(ctx, g, versions, nil)
	if err != nil {
		return err
	}
	for _, use := range uses {
		g.edge(use.from, use.to, insightv1.LineageEdge_KIND_USED, use.by...)
	}
	links, err := l.store.Descendants(ctx, versions, maxNodes)
	if err != nil {
		return err
	}
	g.full(len(links))
	for _, link := range links {
		g.edge(subject{VersionKey: link.Parent}, subject{VersionKey: link.Child}, insightv1.LineageEdge_KIND_PARENT)
	}
	sources := make([]store.Run, 0, len(runs))
	for _, run := range runs {
		sources = append(sources, store.Run(run))
	}
	made, err := l.store.ProducedBy(ctx, sources, maxNodes)
	g.full(len(made))
	for _, version := range made {
		run := ident.Run{Project: version.Project, Domain: version.Domain, Name: version.SourceRun}
		g.edge(subject{run: run}, subject{VersionKey: version.VersionKey}, insightv1.LineageEdge_KIND_PRODUCED)
	}
	if err != nil {
		return err
	}
	return l.usedByApps(ctx, g, versions, runs)
}

func (l *lineage) usedByApps(ctx context.Context, g *graph, versions []store.VersionKey, runs []ident.Run) error {
	if len(versions) == 0 && len(runs) == 0 {
		return nil
	}
	response, err := l.apps.ListAppUses(ctx, &enginev1.ListAppUsesRequest{Artifacts: versionIDs(versions), Runs: runIDs(runs), Limit: maxNodes})
	if err != nil {
		return err
	}
	g.full(len(response.GetArtifacts()))
	for _, use := range response.GetArtifacts() {
		g.edge(subject{VersionKey: keyOfID(use.GetArtifact())}, ofApp(use.GetAppId()), insightv1.LineageEdge_KIND_USED)
	}
	g.full(len(response.GetRuns()))
	for _, use := range response.GetRuns() {
		g.edge(subject{run: ident.RunOf(use.GetRun())}, ofApp(use.GetAppId()), insightv1.LineageEdge_KIND_USED)
	}
	return nil
}

func versionIDs(versions []store.VersionKey) (ids []*core.ArtifactVersionId) {
	for _, version := range versions {
		ids = append(ids, versionID(version, ""))
	}
	return ids
}

func runIDs(runs []ident.Run) (ids []*common.RunIdentifier) {
	for _, run := range runs {
		ids = append(ids, run.Proto())
	}
	return ids
}

func ofApp(id *app.Identifier) subject {
	return subject{app: appKey{id.GetProject(), id.GetDomain(), id.GetName()}}
}

type use struct {
	from, to subject
	by       []*insightv1.LineageAction
}

// used reads which runs use the versions, and which versions the runs use, with the actions of the run that do.
func (l *lineage) used(ctx context.Context, g *graph, versions []store.VersionKey, runs []ident.Run) ([]use, error) {
	if len(versions) == 0 && len(runs) == 0 {
		return nil, nil
	}
	response, err := l.uses.ListArtifactUses(ctx, &enginev1.ListArtifactUsesRequest{Artifacts: versionIDs(versions), Runs: runIDs(runs), Limit: maxNodes})
	if err != nil {
		return nil, err
	}
	g.full(len(response.GetUses()))
	uses := make([]use, 0, len(response.GetUses()))
	for _, one := range response.GetUses() {
		found := use{from: subject{VersionKey: keyOfID(one.GetArtifact())}, to: subject{run: ident.RunOf(one.GetRun())}}
		for _, user := range one.GetUsers() {
			found.by = append(found.by, &insightv1.LineageAction{Name: user.GetAction(), Task: user.GetTask()})
		}
		uses = append(uses, found)
	}
	return uses, nil
}

func keyOfID(id *core.ArtifactVersionId) store.VersionKey {
	return store.VersionKey{
		Name: store.Name{Project: id.GetKey().GetProject(), Domain: id.GetKey().GetDomain(), Name: id.GetKey().GetName()}, Version: id.GetVersion(),
	}
}

// describe adds when the versions were created, and marks those that do not exist.
func (l *lineage) describe(ctx context.Context, g *graph) error {
	var keys []store.VersionKey
	for s := range g.at {
		if s.isVersion() {
			keys = append(keys, s.VersionKey)
		}
	}
	found, err := l.store.Find(ctx, keys)
	if err != nil {
		return err
	}
	there := map[store.VersionKey]*store.Version{}
	for i := range found {
		there[found[i].VersionKey] = &found[i]
	}
	for s, at := range g.at {
		node := g.out.GetNodes()[at]
		switch version := there[s.VersionKey]; {
		case !s.isVersion():
		case version == nil:
			node.Missing = true
		default:
			node.CreatedAt = timestamppb.New(version.CreatedAt)
			node.GetArtifact().Name.Org = version.Org
		}
	}
	return nil
}

// graph collects nodes and edges within the bounds.
type graph struct {
	sees  func(project, domain string) bool // within the scope of the call
	at    map[subject]int
	drawn map[[3]int]bool
	seen  map[subject]bool // in this direction
	out   *insightv1.GetLineageResponse

	level  int
	closed bool // no new nodes
	fresh  []subject
}

// node returns the position of a node; false when it is not to be shown.
func (g *graph) node(s subject, level int) (int, bool) {
	if at, known := g.at[s]; known {
		g.reach(s)
		return at, true
	}
	project, domain := cmp.Or(s.Project, s.run.Project, s.app.Project), cmp.Or(s.Domain, s.run.Domain, s.app.Domain)
	if !g.sees(project, domain) {
		return 0, false
	}
	if g.closed || len(g.out.GetNodes()) == maxNodes {
		g.out.Truncated = true
		return 0, false
	}
	node := &insightv1.LineageNode{Level: int32(level)} //nolint:gosec // at most 20
	switch {
	case s.isRun():
		node.Subject = &insightv1.LineageNode_Run{Run: s.run.Proto()}
	case s.isApp():
		node.Subject = &insightv1.LineageNode_App{App: &app.Identifier{Project: s.app.Project, Domain: s.app.Domain, Name: s.app.Name}}
	default:
		node.Subject = &insightv1.LineageNode_Artifact{Artifact: identifier(s.VersionKey, "")}
	}
	g.at[s] = len(g.out.GetNodes())
	g.out.Nodes = append(g.out.Nodes, node)
	g.reach(s)
	return g.at[s], true
}

// reach adds a node to the next step, once per direction: a run that made new versions from one of its own is in both
// directions. Apps are leaves.
func (g *graph) reach(s subject) {
	if !g.seen[s] && !s.isApp() {
		g.seen[s] = true
		g.fresh = append(g.fresh, s)
	}
}

// full notes that a list was cut off.
func (g *graph) full(length int) { g.out.Truncated = g.out.GetTruncated() || length == maxNodes }

func (g *graph) edge(from, to subject, kind insightv1.LineageEdge_Kind, actions ...*insightv1.LineageAction) {
	a, shown := g.node(from, g.level)
	if !shown {
		return
	}
	b, shown := g.node(to, g.level)
	if !shown || g.drawn[[3]int{a, b, int(kind)}] {
		return
	}
	g.drawn[[3]int{a, b, int(kind)}] = true
	g.out.Edges = append(g.out.Edges, &insightv1.LineageEdge{From: uint32(a), To: uint32(b), Kind: kind, Actions: actions}) //nolint:gosec // at most maxNodes
}
