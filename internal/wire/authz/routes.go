package authz

// routes is the table of authorization of the plain HTTP routes, by the pattern under which they are mounted. A mux
// with a chain refuses to mount a route that is not here.
var routes = map[string]Rule{
	"GET /healthz": {By: public, Action: "health.view"},
	"GET /readyz":  {By: public, Action: "health.view"},
	"GET /metrics": {By: people, Action: "metrics.view"},

	"GET /log-level": {By: people, Action: "loglevel.view"},
	"PUT /log-level": {By: people, Action: "loglevel.change"},

	// The address pins an object, a verb, a size and a time, and carries a signature of them.
	"/blobs/": {By: signed, Action: "data.transfer"},
	// The address carries a token for one condition.
	"/v1/conditions/callback/": {By: signed, Action: "action.signal"},

	// Where people and clients sign in. Its pages and endpoints check what they are sent.
	"/access/": {By: public, Action: "identity.authenticate"},

	// Where agents and other clients find out who issues tokens, and for what (RFC 8414, RFC 9728).
	"GET /.well-known/oauth-authorization-server/access/oauth2": {By: public, Action: "identity.authenticate"},
	"GET /.well-known/oauth-protected-resource/mcp":             {By: public, Action: "identity.authenticate"},
	"GET /.well-known/oauth-protected-resource/mcp/changes":     {By: public, Action: "identity.authenticate"},

	// The console's files hold no data; what its pages show comes from calls that are authorized.
	"GET /{$}": {By: public, Action: "console.view"},
	"GET /v2/": {By: public, Action: "console.view"},

	// Requests to apps, by path and by host. Which app decides whether anybody may.
	"/apps/": {By: programs, Action: "app.call"},

	// What agents ask for and do: each is a call of the API by the caller, and takes the permission of that.
	"/mcp":         {By: people, Action: "identity.view", Members: true},
	"/mcp/changes": {By: people, Action: "identity.view", Members: true},

	"GET /debug/pprof/":        {By: people, Action: "profile.view"},
	"GET /debug/pprof/profile": {By: people, Action: "profile.view"},
	"GET /debug/pprof/trace":   {By: people, Action: "profile.view"},
}

// RouteRuleOf is the rule of a plain route by its pattern, such as GET /metrics, and whether there is one.
func RouteRuleOf(pattern string) (Rule, bool) {
	rule, ok := routes[pattern]
	return rule, ok
}
