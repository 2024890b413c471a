package manager

import (
	"html/template"
	"net/http"
)

// landing answers the links that clients print, /v2/domain/{domain}/project/{project}/{kind}/{name}, as long as there
// is no console: it says so, and which command shows what the link is about. The console takes these paths over.
func landing(w http.ResponseWriter, r *http.Request) {
	page := landingPage{Kind: r.PathValue("kind"), Name: r.PathValue("name"), Project: r.PathValue("project"), Domain: r.PathValue("domain")}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
	if err := landingTemplate().Execute(w, page); err != nil {
		return // the browser has gone
	}
}

// landingPage is what a link is about; Kind is empty for the root.
type landingPage struct{ Kind, Name, Project, Domain string }

func landingTemplate() *template.Template {
	return template.Must(template.New("landing").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>flyte-binary{{with .Name}} · {{.}}{{end}}</title>
<style>body{font:16px/1.5 system-ui,sans-serif;max-width:42rem;margin:4rem auto;padding:0 1rem;color:#1b1b1f;background:#fff}
code,pre{font:14px/1.6 ui-monospace,monospace;background:#f1f1f4;border-radius:4px}code{padding:.1em .3em}pre{padding:1rem;overflow-x:auto}
@media (prefers-color-scheme:dark){body{color:#e6e6ea;background:#141418}code,pre{background:#232329}}</style></head>
<body><h1>{{if .Name}}{{.Name}}{{else}}flyte-binary{{end}}</h1>
<p>This version has no web console. The command line shows {{if .Name}}this{{else}}everything{{end}}:</p>
<pre>{{if eq .Kind "runs"}}flyte get run -p {{.Project}} -d {{.Domain}} {{.Name}}
flyte get action -p {{.Project}} -d {{.Domain}} {{.Name}}
flyte get logs -p {{.Project}} -d {{.Domain}} {{.Name}}
flyte get io -p {{.Project}} -d {{.Domain}} {{.Name}}{{else if eq .Kind "tasks"}}flyte get task -p {{.Project}} -d {{.Domain}} {{.Name}}{{else}}flyte get run
flyte get task
flyte get project{{end}}</pre></body></html>
`))
}
