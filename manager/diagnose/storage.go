package diagnose

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"syscall"

	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
)

// Storage explains an error of the object store.
func Storage(config blobstore.Config, err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	f := &Failure{Part: "storage", Tried: "use " + config.URL, Err: err}
	if config.S3.Endpoint != "" && strings.HasPrefix(config.URL, "s3:") {
		f.Tried += " at " + config.S3.Endpoint
	}
	f.Cause, f.Fix = storageCause(config, err)
	return f
}

func storageCause(config blobstore.Config, err error) (cause, fix string) {
	var answer interface {
		error
		ErrorCode() string
	}
	var path *fs.PathError
	switch {
	case errors.As(err, &answer):
		if cause, fix := bucketAnswer(config, answer.ErrorCode()); cause != "" {
			return cause, fix
		}
	case errors.As(err, &path):
		return directory(path)
	case strings.Contains(err.Error(), "failed to retrieve credentials"), strings.Contains(err.Error(), "failed to refresh cached credentials"),
		strings.Contains(err.Error(), "could not find default credentials"):
		return "no credentials were found", "give the process credentials: a service account with a role, environment variables, or storage.s3.accessKeyID and storage.s3.secretAccessKey"
	}
	const start = "check storage.url and storage.s3.endpoint, and that the object store runs and is reachable from here"
	if cause, fix, ok := network(err, start); ok {
		return cause, fix
	}
	return oneLine(err), "check storage.url and the credentials, and that this process may write there"
}

// bucketAnswer explains the error codes of S3 and of stores that speak like it, and those of Azure.
func bucketAnswer(config blobstore.Config, code string) (cause, fix string) {
	switch code {
	case "NoSuchBucket", "ContainerNotFound":
		return "there is no such bucket", "create the bucket, or correct storage.url"
	case "AccessDenied", "Forbidden", "AuthorizationFailure", "AuthorizationPermissionMismatch":
		return "access denied", "allow the account to read, write, list and delete objects below " + config.URL
	case "InvalidAccessKeyId", "SignatureDoesNotMatch", "AuthenticationFailed", "ExpiredToken", "InvalidToken":
		return "the store does not accept the credentials (" + code + ")", "correct storage.s3.accessKeyID and storage.s3.secretAccessKey, or the credentials of this process's environment"
	case "PermanentRedirect", "AuthorizationHeaderMalformed":
		return "the bucket is in another region", "set storage.s3.region to the region of the bucket"
	default:
		return "", ""
	}
}

// directory explains errors of a store that is a directory.
func directory(err *fs.PathError) (cause, fix string) {
	cause = err.Path + ": " + err.Err.Error()
	switch {
	case errors.Is(err, fs.ErrPermission):
		return cause, "let this account write there, or set storage.url to a directory that it owns"
	case errors.Is(err, syscall.EROFS):
		return cause, "mount the file system writable, or set storage.url to another directory"
	case errors.Is(err, syscall.ENOSPC):
		return cause, "free space on the disk of storage.url, or enable runs.retention"
	case errors.Is(err, syscall.ENOTDIR):
		return cause, "set storage.url to a directory: a part of its path is a file"
	default:
		return cause, "check storage.url, and that this process may write there"
	}
}
