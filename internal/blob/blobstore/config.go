package blobstore

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/invalid"
)

// Config configures the object store.
type Config struct {
	// URL is the root: file:///directory or a bare absolute path, s3://bucket/prefix, gs://bucket/prefix, or
	// abfs://container@account.dfs.core.windows.net/prefix. Required.
	URL string `config:"url"`
	// ExtraPrefixes are further roots of the same forms, which requests may use too.
	ExtraPrefixes []string `config:"extraPrefixes"`
	// PublicURL is the base of signed URLs of a directory: the address at which clients reach this server.
	// Defaults to the address that the server listens on.
	PublicURL string `config:"publicURL"`
	// SigningKey signs the URLs of a directory. All replicas need the same. Empty means a random one, so that URLs
	// end with the process.
	SigningKey string `config:"signingKey" sensitive:"true"`
	// MaxUploadBytes bounds one upload by a signed URL of a directory. Defaults to 5 GiB.
	MaxUploadBytes int64 `config:"maxUploadBytes"`
	// Sync syncs each write to a directory, so that it survives a power cut. Defaults to true.
	Sync bool `config:"sync"`
	// Timeout is how long one step of an operation may take: finding or opening an object, reading or writing a small
	// one, each read and write of a large one. What takes longer fails and is retried by those who need it. Defaults
	// to 1m.
	Timeout time.Duration `config:"timeout"`
	// S3 adds settings of s3:// to the machine's own AWS configuration.
	S3 S3Config `config:"s3"`
}

// S3Config configures the S3 client. Empty fields come from the standard AWS environment and files.
type S3Config struct {
	// Endpoint is the URL of a service other than AWS.
	Endpoint string `config:"endpoint"`
	// PublicEndpoint is the endpoint in signed URLs, if clients reach the service under another name.
	PublicEndpoint string `config:"publicEndpoint"`
	// Region defaults to us-east-1 when an endpoint is given.
	Region string `config:"region"`
	// PathStyle puts the bucket into the path, not into the host name. Defaults to true.
	PathStyle bool `config:"pathStyle"`
	// AccessKeyID is the name of a static credential.
	AccessKeyID string `config:"accessKeyID"`
	// SecretAccessKey is its secret.
	SecretAccessKey string `config:"secretAccessKey" sensitive:"true"`
}

// DefaultConfig has every default; the URL is left empty.
func DefaultConfig() Config {
	return Config{MaxUploadBytes: 5 << 30, Sync: true, Timeout: time.Minute, S3: S3Config{PathStyle: true}}
}

// Validate lists the fields that are wrong.
func (c Config) Validate() error {
	var found invalid.Fields
	found.If(c.URL == "", "url: required, such as file:///var/lib/flyte or s3://bucket/prefix")
	if _, err := parseRoot(c.URL); err != nil {
		found.Add("url: %w", err)
	}
	for i, prefix := range c.ExtraPrefixes {
		if _, err := parseRoot(prefix); err != nil {
			found.Add("extraPrefixes[%d]: %w", i, err)
		}
	}
	found.If(c.MaxUploadBytes < 0, "maxUploadBytes: must not be negative")
	found.If(c.Timeout <= 0, "timeout: must be positive, got %s", c.Timeout)
	found.If((c.S3.AccessKeyID == "") != (c.S3.SecretAccessKey == ""),
		"s3.secretAccessKey: set both it and s3.accessKeyID, or neither")
	for _, at := range []struct{ field, url string }{
		{"publicURL", c.PublicURL}, {"s3.endpoint", c.S3.Endpoint}, {"s3.publicEndpoint", c.S3.PublicEndpoint},
	} {
		if u, err := url.Parse(at.url); at.url != "" && (err != nil || u.Host == "" || !strings.HasPrefix(u.Scheme, "http")) {
			found.Add("%s: must be an http or https URL", at.field)
		}
	}
	return found.Err()
}

// Has reports whether a directory is one of the roots, or below one.
func (c Config) Has(directory string) bool {
	asked, err := parseRoot(directory)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(append([]string{c.URL}, c.ExtraPrefixes...), func(text string) bool {
		one, err := parseRoot(text)
		return err == nil && strings.HasPrefix(asked.uri()+"/", one.uri()+"/")
	})
}

// root is a parsed root URL.
type root struct {
	scheme string // file, s3, gs or abfs
	bucket string // bucket or container
	host   string // abfs: the account's host
	prefix string // key prefix without slashes at its ends; for file the absolute path
}

// uri is the root as URIs begin, without a slash at the end.
func (r root) uri() string {
	switch r.scheme {
	case "file":
		return r.prefix
	case "abfs":
		return strings.TrimSuffix("abfs://"+r.bucket+"@"+r.host+"/"+r.prefix, "/")
	default:
		return strings.TrimSuffix(r.scheme+"://"+r.bucket+"/"+r.prefix, "/")
	}
}

func parseRoot(text string) (root, error) {
	if strings.HasPrefix(text, "/") {
		text = "file://" + text
	}
	u, err := url.Parse(text)
	if err != nil {
		return root{}, fmt.Errorf("%q is not a URL", text)
	}
	if u.RawQuery != "" || u.Fragment != "" {
		return root{}, errors.New("must not have a query or a fragment")
	}
	prefix := strings.Trim(path.Clean("/"+u.Path), "/")
	switch u.Scheme {
	case "file":
		if u.Host != "" || prefix == "" {
			return root{}, errors.New("a directory must be given as an absolute path other than /")
		}
		return root{scheme: "file", prefix: "/" + prefix}, nil
	case "s3", "gs":
		if u.Host == "" {
			return root{}, errors.New("has no bucket")
		}
		return root{scheme: u.Scheme, bucket: u.Host, prefix: prefix}, nil
	case "abfs", "abfss":
		if u.User == nil || u.User.Username() == "" || u.Host == "" {
			return root{}, errors.New("must look like abfs://container@account.dfs.core.windows.net/prefix")
		}
		return root{scheme: "abfs", bucket: u.User.Username(), host: u.Host, prefix: prefix}, nil
	default:
		return root{}, fmt.Errorf("scheme %q is not one of file, s3, gs, abfs", u.Scheme)
	}
}
