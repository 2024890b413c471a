package signin

import (
	"crypto/sha256"
	"encoding/base64"
	"html"
	"io"
	"net/http"
	"strings"
)

// style is that of every page. It is the only thing that the pages load, and they run no scripts.
const style = `:root{color-scheme:light dark;--text:#1b1f24;--dim:#59636e;--line:#d1d9e0;--back:#f6f8fa;--card:#fff;--accent:#6f2dbd;--bad:#b42318}
@media(prefers-color-scheme:dark){:root{--text:#e6edf3;--dim:#9198a1;--line:#3d444d;--back:#0d1117;--card:#151b23;--accent:#a371f7;--bad:#ff8479}}
*{box-sizing:border-box}body{margin:0;min-height:100vh;display:grid;place-items:center;background:var(--back);color:var(--text);font:15px/1.5 system-ui,sans-serif}
main{width:min(24rem,92vw);background:var(--card);border:1px solid var(--line);border-radius:12px;padding:2rem}
h1{font-size:1.25rem;margin:0 0 1rem}p{margin:.5rem 0 1rem;color:var(--dim)}label{display:block;font-weight:600;margin:.75rem 0 .25rem}
input{width:100%;padding:.5rem .75rem;border:1px solid var(--line);border-radius:6px;background:var(--back);color:var(--text);font:inherit}
button,a.button{display:block;width:100%;margin-top:1rem;padding:.55rem .75rem;border:1px solid var(--line);border-radius:6px;background:var(--back);color:var(--text);font:inherit;font-weight:600;text-align:center;text-decoration:none;cursor:pointer}
button.main,a.main{background:var(--accent);border-color:var(--accent);color:#fff}@media(prefers-color-scheme:dark){button.main,a.main{color:#0d1117}}
:focus-visible{outline:2px solid var(--accent);outline-offset:2px}p[role=alert]{color:var(--bad)}code{font-size:1.1rem;letter-spacing:.1em;color:var(--text)}
hr{border:0;border-top:1px solid var(--line);margin:1.5rem 0 .5rem}`

// styleHash allows the style in the policy of the pages.
var styleHash = func() string {
	sum := sha256.Sum256([]byte(style))
	return base64.StdEncoding.EncodeToString(sum[:])
}()

// page is a page for people.
type page struct {
	status int
	title  string
	// formTo are the origins to which forms lead by redirects, in addition to the server itself.
	formTo string
	body   strings.Builder
}

// text escapes what is not markup.
func text(s string) string { return html.EscapeString(s) }

// add appends markup.
func (p *page) add(markup ...string) {
	for _, one := range markup {
		p.body.WriteString(one)
	}
}

// alert adds what went wrong; nothing for the empty text.
func (p *page) alert(message string) {
	if message != "" {
		p.add(`<p role="alert">`, text(message), `</p>`)
	}
}

// hidden adds a hidden field, unless its value is empty.
func (p *page) hidden(name, value string) {
	if value != "" {
		p.add(`<input type="hidden" name="`, name, `" value="`, text(value), `">`)
	}
}

// write answers with the page.
func (p *page) write(w http.ResponseWriter) {
	header := w.Header()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Cache-Control", "no-store")
	header.Set("Referrer-Policy", "same-origin") // without one, browsers send no origin with forms
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("X-Frame-Options", "DENY")
	header.Set("Content-Security-Policy", "default-src 'none'; style-src 'sha256-"+styleHash+"'; form-action "+
		strings.TrimSpace("'self' "+p.formTo)+"; frame-ancestors 'none'; base-uri 'none'")
	w.WriteHeader(max(p.status, http.StatusOK))
	// A failed write means that the client has gone.
	_, _ = io.WriteString(w, `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">`+
		`<title>`+text(p.title)+` · Flyte</title><style>`+style+`</style></head><body><main><h1>`+text(p.title)+`</h1>`+p.body.String()+`</main></body></html>`)
}
