package webhook

import (
	"html/template"

	"net/http"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
)

// page is what a person sees.
type page struct {
	Title, Text, Description string
	Form                     bool
	Boolean                  bool
	Kind                     string
}

var pages = template.Must(template.New("page").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{{.Title}}</title>
<style>body{font:16px/1.5 system-ui,sans-serif;max-width:36em;margin:3em auto;padding:0 1em}p{white-space:pre-wrap}button,input{font:inherit;padding:.4em 1em;margin-right:.5em}</style></head>
<body><h1>{{.Title}}</h1><p>{{.Text}}</p>{{if .Description}}<p>{{.Description}}</p>{{end}}
{{if .Form}}<form method="post">{{if .Boolean}}<button name="value" value="true">Approve</button><button name="value" value="false">Deny</button>
{{else}}<label>{{.Kind}} <input name="value" autofocus></label><button>Send</button>{{end}}</form>{{end}}</body></html>
`))

// form asks a person for the value.
func (a *answerer) form(condition *workflow.ConditionAction) {
	if !a.html {
		a.json(http.StatusOK, map[string]string{
			"condition": condition.GetName(), "prompt": condition.GetPrompt(), "description": condition.GetDescription(),
			"type": condition.GetType().GetSimple().String(), "answer": `POST {"value": ...} to this address`,
		})
		return
	}
	simple := condition.GetType().GetSimple()
	a.page(http.StatusOK, page{
		Title: condition.GetName(), Text: condition.GetPrompt(), Description: condition.GetDescription(),
		Form: true, Boolean: simple == core.SimpleType_BOOLEAN, Kind: kindWords(simple),
	})
}

func (a *answerer) page(status int, p page) {
	a.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	a.w.WriteHeader(status)
	_ = pages.Execute(a.w, p) // the client may have gone
}
