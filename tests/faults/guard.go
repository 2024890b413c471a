package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/flyte-binary/flyte-binary/tests/faults/check"
	"github.com/flyte-binary/flyte-binary/tests/faults/script"
)

// guard is a transport that searches every answer, its headers and trailers too, for what is a tenant's. It is between a caller of
// one tenant, or of none, and the server.
type guard struct {
	caller string
	own    script.Tenant // the caller's; may be empty
	marks  []marks
	next   http.RoundTripper

	mu    sync.Mutex
	shown []check.Shown // GUARDED_BY(mu): answers with something of a tenant that is not the caller's
	asked int           // GUARDED_BY(mu): calls
	saw   int           // GUARDED_BY(mu): answers with something of the caller's own
	plain bool          // GUARDED_BY(mu): false once an answer could not be searched
}

// marks are the forms of what tells a tenant.
type marks struct {
	tenant          script.Tenant
	names, contents [][]byte
}

func newGuard(caller string, own script.Tenant) *guard {
	g := &guard{caller: caller, own: own, plain: true}
	for _, tenant := range script.Tenants() {
		g.marks = append(g.marks, marks{tenant, formsOf(tenant.Mark), formsOf(tenant.Content)})
	}
	return g
}

// formsOf are a text and what it is in Base64, as tokens of pages and details of errors have it. There it depends on the position
// which characters of its neighbours share a digit with it.
func formsOf(text string) [][]byte {
	forms := [][]byte{[]byte(text)}
	for before := range 3 {
		encoded := base64.StdEncoding.EncodeToString(append(make([]byte, before), text...))
		forms = append(forms, []byte(encoded[(before*8+5)/6:(before+len(text))*8/6]))
	}
	return forms
}

// naming is the key of a context whose request names things of another tenant: an answer may repeat their names.
type naming struct{}

// RoundTrip implements http.RoundTripper.
func (g *guard) RoundTrip(request *http.Request) (*http.Response, error) {
	g.mu.Lock()
	g.asked++
	g.mu.Unlock()
	names := request.Context().Value(naming{}) == nil
	call := &search{guard: g, procedure: request.URL.Path, begun: time.Now(), names: names}
	response, err := g.next.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	if encoding := response.Header.Get("Content-Encoding") + response.Header.Get("Connect-Content-Encoding"); encoding != "" && encoding != "identity" {
		g.mu.Lock()
		g.plain = false
		g.mu.Unlock()
	}
	call.header(response.Header)
	response.Body = &searched{ReadCloser: response.Body, search: call, trailer: response}
	return response, nil
}

// show notes an answer that has something of another tenant, or that worked although it must not.
func (g *guard) show(shown check.Shown) {
	g.mu.Lock()
	defer g.mu.Unlock()
	shown.Caller, shown.At = g.caller, time.Now()
	g.shown = append(g.shown, shown)
}

// search is the search of one answer.
type search struct {
	guard     *guard
	procedure string
	begun     time.Time
	names     bool // also for names
	tail      []byte
	found     bool // something of the caller's own
}

// longest is at least as long as any of the forms.
const longest = 64

// piece searches the next piece of the answer, together with the end of those before.
func (s *search) piece(piece []byte) {
	before := len(s.tail)
	text := append(s.tail, piece...) //nolint:gocritic // the tail is replaced below
	for _, one := range s.guard.marks {
		own := one.tenant == s.guard.own
		has := ends(text, before, one.contents) || (own || s.names) && ends(text, before, one.names)
		switch {
		case !has || own && s.found:
		case own:
			s.found = true
			s.guard.mu.Lock()
			s.guard.saw++
			s.guard.mu.Unlock()
		default:
			s.guard.show(check.Shown{Procedure: s.procedure, Of: one.tenant.Project(), Begun: s.begun})
		}
	}
	s.tail = bytes.Clone(text[max(0, len(text)-longest):])
}

// ends reports whether one of the forms ends in a text after its first bytes.
func ends(text []byte, before int, forms [][]byte) bool {
	return slices.ContainsFunc(forms, func(form []byte) bool { return bytes.Contains(text[max(0, before-len(form)+1):], form) })
}

func (s *search) header(header http.Header) {
	for name, values := range header {
		for _, value := range values {
			s.tail = nil
			s.piece([]byte(name + ": " + value))
		}
	}
	s.tail = nil
}

// searched is the body of an answer that is searched while it is read.
type searched struct {
	io.ReadCloser
	search  *search
	trailer *http.Response
}

func (b *searched) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	b.search.piece(into[:n])
	if err != nil {
		b.search.header(b.trailer.Trailer)
	}
	return n, err
}

// withNames marks the requests of a context as ones that name things of another tenant.
func withNames(ctx context.Context) context.Context { return context.WithValue(ctx, naming{}, true) }
