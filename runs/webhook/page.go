package webhook

import (
	"fmt"
	"html"
	"io"
	"net/http"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
)

// page is what a person sees. Its texts are plain; write escapes them.
type page struct {
	Title, Text, Description string
	Form                     bool
	Boolean                  bool
	Kind                     string
}

const (
	head = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>%[1]s</title>
<style>body{font:16px/1.5 system-ui,sans-serif;max-width:36em;margin:3em auto;padding:0 1em}p{white-space:pre-wrap}button,input{font:inherit;padding:.4em 1em;margin-right:.5em}</style></head>
<body><h1>%[1]s</h1><p>%[2]s</p>`
	description = `<p>%s</p>`
	approval    = `<form method="post"><button name="value" value="true">Approve</button><button name="value" value="false">Deny</button></form>`
	question    = `<form method="post"><label>%s <input name="value" autofocus></label><button>Send</button></form>`
	tail        = "</body></html>\n"
)

// write writes the page as HTML. It does without html/template on purpose: a program that executes a template keeps every
// exported method of every type it knows, since templates call methods by name. That would make this program a third larger.
func (p page) write(w io.Writer) error {
	text := fmt.Sprintf(head, html.EscapeString(p.Title), html.EscapeString(p.Text))
	if p.Description != "" {
		text += fmt.Sprintf(description, html.EscapeString(p.Description))
	}
	switch {
	case p.Form && p.Boolean:
		text += approval
	case p.Form:
		text += fmt.Sprintf(question, html.EscapeString(p.Kind))
	}
	_, err := io.WriteString(w, text+tail)
	return err
}

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
	_ = p.write(a.w) // the client may have gone
}
