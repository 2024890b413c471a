package blobstore

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// BlobsPath is where signed URLs of a directory are served.
const BlobsPath = "/blobs/"

// permission is the content of a signed URL of a directory, all of which the signature covers.
type permission struct {
	method  string // GET or PUT
	path    string // absolute path of the file
	expires int64  // Unix seconds
	md5     string // base64; empty means any content
	max     int64  // bytes; 0 for GET
	showAs  string // media type; empty for PUT, and for what is a file to keep
	create  bool   // a PUT that replaces no other content
}

// Names of the query parameters.
const (
	paramMethod  = "method"
	paramExpires = "expires"
	paramMD5     = "md5"
	paramMax     = "max"
	paramShowAs  = "show"
	paramCreate  = "create"
	paramSig     = "signature"
)

// sign is the HMAC over all fields. Each is preceded by its length, so that no two permissions have the same text.
func (p permission) sign(key []byte) string {
	mac := hmac.New(sha256.New, key)
	fields := []string{p.method, p.path, strconv.FormatInt(p.expires, 10), p.md5, strconv.FormatInt(p.max, 10), p.showAs}
	if p.create {
		fields = append(fields, paramCreate)
	}
	for _, field := range fields {
		mac.Write([]byte(strconv.Itoa(len(field)) + ":" + field))
	}
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// url puts the permission into a URL below base.
func (p permission) url(base string, key []byte) string {
	query := url.Values{
		paramMethod:  {p.method},
		paramExpires: {strconv.FormatInt(p.expires, 10)},
		paramSig:     {p.sign(key)},
	}
	if p.md5 != "" {
		query.Set(paramMD5, p.md5)
	}
	if p.max != 0 {
		query.Set(paramMax, strconv.FormatInt(p.max, 10))
	}
	if p.showAs != "" {
		query.Set(paramShowAs, p.showAs)
	}
	if p.create {
		query.Set(paramCreate, "only")
	}
	location := url.URL{Path: strings.TrimSuffix(BlobsPath, "/") + p.path, RawQuery: query.Encode()}
	return strings.TrimSuffix(base, "/") + location.String()
}

// readPermission takes it out of a URL again and reports whether the signature is right.
func readPermission(u *url.URL, key []byte) (permission, bool) {
	query := u.Query()
	p := permission{
		method: query.Get(paramMethod),
		path:   "/" + strings.TrimPrefix(u.Path, BlobsPath),
		md5:    query.Get(paramMD5),
		showAs: query.Get(paramShowAs),
		create: query.Has(paramCreate),
	}
	var err error
	if p.expires, err = strconv.ParseInt(query.Get(paramExpires), 10, 64); err != nil {
		return p, false
	}
	if text := query.Get(paramMax); text != "" {
		if p.max, err = strconv.ParseInt(text, 10, 64); err != nil {
			return p, false
		}
	}
	return p, hmac.Equal([]byte(query.Get(paramSig)), []byte(p.sign(key)))
}

// fileServer signs and serves the files of all directories.
type fileServer struct {
	base  string
	key   []byte
	max   int64
	clock clock.Clock
	roots []servedRoot
}

type servedRoot struct {
	prefix string // absolute path with a slash at the end
	files  *files
}

func newFileServer(config Config, clk clock.Clock) *fileServer {
	key := []byte(config.SigningKey)
	if len(key) == 0 {
		key = []byte(rand.Text())
	}
	return &fileServer{base: config.PublicURL, key: key, max: config.MaxUploadBytes, clock: clk}
}

func (s *fileServer) signPut(path string, o PutOptions) Signed {
	limit := o.MaxBytes
	if limit <= 0 || (s.max > 0 && limit > s.max) {
		limit = s.max
	}
	p := permission{method: "PUT", path: path, max: limit, create: o.CreateOnly}
	headers := map[string]string{}
	if len(o.ContentMD5) > 0 {
		p.md5 = base64.StdEncoding.EncodeToString(o.ContentMD5)
		headers["Content-MD5"] = p.md5
	}
	return s.signed(p, o.Expires, headers)
}

func (s *fileServer) signGet(path string, o GetOptions) Signed {
	return s.signed(permission{method: "GET", path: path, showAs: o.ShowAs}, o.Expires, map[string]string{})
}

func (s *fileServer) signed(p permission, expires time.Duration, headers map[string]string) Signed {
	at := s.clock.Now().Add(expires).Truncate(time.Second)
	p.expires = at.Unix()
	return Signed{URL: p.url(s.base, s.key), Headers: headers, ExpiresAt: at}
}
