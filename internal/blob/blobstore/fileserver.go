package blobstore

import (
	"crypto/md5" //nolint:gosec // the protocol's digest of transport, no secret
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"path"
	"strings"

	"github.com/rs/zerolog"
)

// Handler serves the signed URLs of directories below BlobsPath; nil when no root is a directory.
func (s *Store) Handler() http.Handler {
	if s.files == nil {
		return nil
	}
	return s.files
}

// ServeHTTP implements http.Handler: a request may do exactly what its URL is signed for.
func (s *fileServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	if method != http.MethodGet && method != http.MethodPut {
		w.Header().Set("Allow", "GET, HEAD, PUT")
		http.Error(w, "only GET, HEAD and PUT are served here", http.StatusMethodNotAllowed)
		return
	}
	p, valid := readPermission(r.URL, s.key)
	switch {
	case !valid:
		http.Error(w, "the signature is invalid", http.StatusForbidden)
		return
	case p.method != method:
		http.Error(w, "the URL is signed for "+p.method, http.StatusForbidden)
		return
	case s.clock.Now().Unix() >= p.expires:
		http.Error(w, "the URL has expired", http.StatusForbidden)
		return
	}
	f, key, ok := s.find(p.path)
	switch {
	case !ok:
		http.Error(w, "the path is outside the configured storage", http.StatusForbidden)
	case method == http.MethodPut:
		s.put(w, r, p, f, key)
	default:
		s.get(w, r, p, f, key)
	}
}

// ShownPolicy is the content security policy of objects that a browser shows: scripts run and links open, in an opaque
// origin without access to the console's.
const ShownPolicy = "sandbox allow-scripts allow-popups"

func (s *fileServer) find(path string) (*files, string, bool) {
	for _, served := range s.roots {
		if key, ok := strings.CutPrefix(path, served.prefix); ok && checkKey(key) == nil {
			return served.files, key, true
		}
	}
	return nil, "", false
}

func (s *fileServer) get(w http.ResponseWriter, r *http.Request, p permission, f *files, key string) {
	file, err := f.openFile(key)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		s.fail(w, r, err)
		return
	}
	// Files of tasks may be HTML with scripts, which must not run with the rights of the console.
	header := w.Header()
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer") // the address is a permission
	header.Set("Cache-Control", "private, no-cache")
	header.Set("Etag", fmt.Sprintf(`"%x-%x"`, info.ModTime().UnixNano(), info.Size()))
	if p.showAs == "" {
		header.Set("Content-Security-Policy", "sandbox; default-src 'none'")
		header.Set("Content-Type", "application/octet-stream")
		header.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": path.Base(key)}))
	} else {
		header.Set("Content-Security-Policy", ShownPolicy)
		header.Set("Content-Type", p.showAs)
	}
	http.ServeContent(w, r, key, info.ModTime(), file)
}

func (s *fileServer) put(w http.ResponseWriter, r *http.Request, p permission, f *files, key string) {
	announced := r.Header.Get("Content-MD5")
	if p.md5 != "" && announced != p.md5 {
		http.Error(w, "Content-MD5 must be the digest that the URL is signed for", http.StatusBadRequest)
		return
	}
	body := io.Reader(r.Body)
	if p.max > 0 {
		if r.ContentLength > p.max {
			http.Error(w, "the content is too large", http.StatusRequestEntityTooLarge)
			return
		}
		body = http.MaxBytesReader(w, r.Body, p.max)
	}
	file, err := f.createFile(r.Context(), key)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	defer file.abandon()
	digest := md5.New() //nolint:gosec // as above
	if _, err := io.Copy(io.MultiWriter(file, digest), body); err != nil {
		s.fail(w, r, err)
		return
	}
	sum := digest.Sum(nil)
	if announced != "" && announced != base64.StdEncoding.EncodeToString(sum) {
		http.Error(w, "the content does not have the digest of Content-MD5", http.StatusBadRequest)
		return
	}
	if err := file.finish(p.create, sum); err != nil {
		s.fail(w, r, err)
		return
	}
	w.Header().Set("ETag", `"`+hex.EncodeToString(sum)+`"`)
	w.WriteHeader(http.StatusOK)
}

func (s *fileServer) fail(w http.ResponseWriter, r *http.Request, err error) {
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		http.Error(w, "the content is too large", http.StatusRequestEntityTooLarge)
	case errors.Is(err, ErrExists):
		http.Error(w, "the object exists with other content; an upload replaces nothing", http.StatusPreconditionFailed)
	case errors.Is(err, ErrNotExist):
		http.Error(w, "there is no such object", http.StatusNotFound)
	case errors.Is(err, ErrForbiddenPath):
		http.Error(w, "the path is outside the configured storage", http.StatusForbidden)
	case errors.Is(err, io.ErrUnexpectedEOF), r.Context().Err() != nil:
		http.Error(w, "the content ended early", http.StatusBadRequest)
	default:
		zerolog.Ctx(r.Context()).Error().Err(err).Str("path", r.URL.Path).Msg("blob request failed")
		http.Error(w, "the object store failed; see the server log", http.StatusInternalServerError)
	}
}
