// Package console is the web console: the TypeScript program in src, built into dist and embedded. It serves the files under
// /v2 and answers every page URL with the same document; the router of the program selects the page.
package console

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// dist contains a committed file besides the build output, so that the package compiles before the first build.
//
//go:embed all:dist
var dist embed.FS

// Base is the path prefix of the console. Clients print it in links.
const Base = "/v2/"

// policy lets pages load embedded files and connect to their own origin only. Scripts may set styles; inline scripts are
// not allowed. Reports are framed from the object store, which may be another origin, and have a policy of their own.
const policy = "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:%[1]s; " +
	"font-src 'self'; connect-src 'self'%[1]s; frame-src 'self'%[1]s; media-src 'self' blob:%[1]s; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// framePolicy is the policy of the page that shows reports. Tasks write them, so they are untrusted: the sandbox gives them an
// opaque origin, which cannot read the console's storage or documents, nor call the API with the user's credentials.
// Reports may load libraries, such as one for charts, from where they are published.
const framePolicy = "sandbox allow-scripts allow-popups; default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval' blob: https:; " +
	"style-src 'unsafe-inline' https:; img-src data: blob: https:; font-src data: https:; media-src data: blob: https:; " +
	"connect-src data: blob: https:; worker-src blob:; frame-src data: blob: https:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"

// frame is the page in which reports are shown.
const frame = "report-frame.html"

// Config configures the origins that the pages may reach.
type Config struct {
	// StoreOrigins are the origins of signed URLs, such as https://bucket.example.com. The console's own origin is always allowed.
	StoreOrigins []string
}

// expressible matches origins that a policy can name; IPv6 addresses are not among them. No other text gets into the policy.
var expressible = regexp.MustCompile(`^https?://[A-Za-z0-9.-]+(:[0-9]+)?$`)

// asset is a file of the console. Its content stays in the program's file until a browser loads it: most processes send few
// of them, and all of them together would take a quarter of the memory of an idle server.
type asset struct {
	open    func() (io.ReadCloser, error)
	size    int64
	kind    string
	forever bool                   // its name changes with its content
	tag     func() string          // digests once
	zipped  func() ([]byte, error) // compresses once; nil if that saves nothing
}

// Handler serves the console. It answers GET and HEAD below Base.
type Handler struct {
	assets map[string]*asset
	policy string
}

// New reads the embedded files. A binary that was built without the console serves a page that says so.
func New(config Config) (*Handler, error) {
	files, err := fs.Sub(dist, "dist")
	if err != nil {
		return nil, err
	}
	return newHandler(files, config)
}

func newHandler(files fs.FS, config Config) (*Handler, error) {
	origins := ""
	for _, origin := range config.StoreOrigins {
		if expressible.MatchString(origin) {
			origins += " " + origin
		}
	}
	h := &Handler{assets: map[string]*asset{}, policy: fmt.Sprintf(policy, origins)}
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasPrefix(path.Base(name), ".") {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		h.assets[name], err = newAsset(name, info.Size(), func() (io.ReadCloser, error) { return files.Open(name) })
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the console's files: %w", err)
	}
	if h.assets[document] == nil {
		h.assets[document], err = newAsset(document, int64(len(unbuilt)), func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(unbuilt)), nil })
	}
	return h, err
}

// document is the page for all page URLs.
const document = "index.html"

const unbuilt = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>flyte-binary</title></head>
<body><h1>flyte-binary</h1><p>This program was built without its console; <code>make build</code> builds both.</p>
<p>The command line shows everything: <code>flyte get run</code></p></body></html>
`

// kinds are the content types of the build output. The host's own table may differ.
var kinds = map[string]string{
	".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
	".svg": "image/svg+xml", ".png": "image/png", ".woff2": "font/woff2", ".wasm": "application/wasm", ".json": "application/json",
}

func newAsset(name string, size int64, open func() (io.ReadCloser, error)) (*asset, error) {
	a := &asset{open: open, size: size, kind: kinds[path.Ext(name)], forever: strings.HasPrefix(name, "assets/")}
	if a.kind == "" {
		return nil, fmt.Errorf("unknown content type of %s", name)
	}
	a.tag = sync.OnceValue(a.digest)
	a.zipped = sync.OnceValues(a.zip)
	return a, nil
}

// copyTo writes the whole file and returns its size.
func (a *asset) copyTo(w io.Writer) (int64, error) {
	file, err := a.open()
	if err != nil {
		return 0, err
	}
	defer file.Close()
	return io.Copy(w, file)
}

// digest names the content. Reading what is part of the program cannot fail.
func (a *asset) digest() string {
	digest := sha256.New()
	_, _ = a.copyTo(digest)
	return `"` + hex.EncodeToString(digest.Sum(nil)[:12]) + `"`
}

func (a *asset) zip() ([]byte, error) {
	var zipped bytes.Buffer
	w, err := gzip.NewWriterLevel(&zipped, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := a.copyTo(w); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	if int64(zipped.Len()) >= a.size*9/10 {
		return nil, nil
	}
	return bytes.Clone(zipped.Bytes()), nil
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, Base)
	a := h.assets[name]
	if a == nil {
		if strings.HasPrefix(name, "assets/") { // of another version; the document in its place would hide that
			http.NotFound(w, r)
			return
		}
		a = h.assets[document]
	}
	header := w.Header()
	header.Set("Content-Type", a.kind)
	header.Set("Content-Security-Policy", h.policy)
	if name == frame {
		header.Set("Content-Security-Policy", framePolicy)
	}
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Vary", "Accept-Encoding")
	header.Set("Cache-Control", "no-cache")
	if a.forever {
		header.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	tag, size := a.tag(), a.size
	var zipped []byte
	if acceptsGzip(r) {
		zipped, _ = a.zipped() // reading what is part of the program cannot fail; without it the file is sent as it is
	}
	if zipped != nil {
		tag, size = strings.TrimSuffix(tag, `"`)+`-gzip"`, int64(len(zipped))
		header.Set("Content-Encoding", "gzip")
	}
	header.Set("ETag", tag)
	if r.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	header.Set("Content-Length", strconv.FormatInt(size, 10))
	switch { // an error means that the browser has disconnected
	case r.Method == http.MethodHead:
	case zipped != nil:
		_, _ = w.Write(zipped)
	default:
		_, _ = a.copyTo(w)
	}
}

func acceptsGzip(r *http.Request) bool {
	for _, coding := range strings.Split(r.Header.Get("Accept-Encoding"), ",") {
		name, weight, _ := strings.Cut(strings.TrimSpace(coding), ";")
		if strings.EqualFold(name, "gzip") && strings.TrimSpace(weight) != "q=0" {
			return true
		}
	}
	return false
}
