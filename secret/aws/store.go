// Package aws stores secrets in AWS Secrets Manager, each as PREFIX/DOMAIN/PROJECT/NAME with a dash for a domain or
// project that it does not have. It builds on secret/entry.
package aws

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager/types"

	"github.com/flyte-binary/flyte-binary/internal/invalid"
	"github.com/flyte-binary/flyte-binary/secret/entry"
)

// Config is the section secrets.aws. Without keys, credentials are those of AWS's default chain.
type Config struct {
	// Region of Secrets Manager. Required for this backend.
	Region string `config:"region"`
	// Endpoint is the URL of another server that speaks the protocol; empty for AWS's own.
	Endpoint string `config:"endpoint"`
	// Prefix is what the names of all secrets begin with. Defaults to flyte.
	Prefix string `config:"prefix"`
	// AccessKeyID is the name of a static credential; empty for the standard AWS environment and files.
	AccessKeyID string `config:"accessKeyID"`
	// SecretAccessKey is the secret of AccessKeyID.
	SecretAccessKey string `config:"secretAccessKey" sensitive:"true"`
	// KMSKeyID is the key that encrypts new secrets; empty for the account's aws/secretsmanager.
	KMSKeyID string `config:"kmsKeyID"`
}

// DefaultConfig names no region.
func DefaultConfig() Config { return Config{Prefix: "flyte"} }

// Validate lists the fields that are wrong.
func (c Config) Validate() error {
	var found invalid.Fields
	found.If(c.Region == "", "region: required for the backend aws")
	found.If(c.Prefix == "" || strings.HasSuffix(c.Prefix, "/"),
		"prefix: must be a path without a slash at its end, got %q", c.Prefix)
	found.If((c.AccessKeyID == "") != (c.SecretAccessKey == ""), "accessKeyID: set it together with secretAccessKey")
	return found.Err()
}

const (
	// limit is the largest value that AWS stores.
	limit   = 64 << 10
	tagType = "flyte-secret-type"
	// pageSize is the largest page of AWS.
	pageSize = 100
)

// Store is the backend. It is safe for concurrent use.
type Store struct {
	config Config
	client *secretsmanager.Client
}

// New returns the backend. It reads AWS's configuration files and makes no call.
func New(ctx context.Context, config Config) (*Store, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	options := []func(*awsconfig.LoadOptions) error{awsconfig.WithRegion(config.Region)}
	if config.AccessKeyID != "" {
		options = append(options, awsconfig.WithCredentialsProvider(credentials.NewStaticCredentialsProvider(config.AccessKeyID, config.SecretAccessKey, "")))
	}
	loaded, err := awsconfig.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return nil, fmt.Errorf("read AWS's configuration: %w", err)
	}
	client := secretsmanager.NewFromConfig(loaded, func(o *secretsmanager.Options) {
		if config.Endpoint != "" {
			o.BaseEndpoint = aws.String(config.Endpoint)
		}
	})
	return &Store{config: config, client: client}, nil
}

func (s *Store) name(id entry.ID) *string { return aws.String(s.config.Prefix + "/" + id.Path()) }

// Create stores a new secret.
func (s *Store) Create(ctx context.Context, id entry.ID, content entry.Content) error {
	if content.Value.Len() > limit {
		return entry.TooLargeError{Limit: limit}
	}
	request := &secretsmanager.CreateSecretInput{
		Name: s.name(id), SecretBinary: content.Value.Reveal(),
		Tags: []types.Tag{{Key: aws.String(tagType), Value: aws.String(content.Type.String())}},
	}
	if s.config.KMSKeyID != "" {
		request.KmsKeyId = aws.String(s.config.KMSKeyID)
	}
	_, err := s.client.CreateSecret(ctx, request)
	if is[*types.ResourceExistsException](err) {
		return entry.ErrExists
	}
	return explain(err)
}

// Update replaces the value of a secret.
func (s *Store) Update(ctx context.Context, id entry.ID, content entry.Content) error {
	if content.Value.Len() > limit {
		return entry.TooLargeError{Limit: limit}
	}
	_, err := s.client.PutSecretValue(ctx, &secretsmanager.PutSecretValueInput{SecretId: s.name(id), SecretBinary: content.Value.Reveal()})
	return explain(err)
}

// Describe returns what is known of a secret.
func (s *Store) Describe(ctx context.Context, id entry.ID) (entry.Metadata, error) {
	answer, err := s.client.DescribeSecret(ctx, &secretsmanager.DescribeSecretInput{SecretId: s.name(id)})
	if err != nil {
		return entry.Metadata{}, explain(err)
	}
	if answer.DeletedDate != nil {
		return entry.Metadata{}, entry.ErrNotFound
	}
	return entry.Metadata{ID: id, Type: typeOf(answer.Tags), Created: aws.ToTime(answer.CreatedDate)}, nil
}

// Delete deletes a secret at once: nothing else uses a secret under this prefix.
func (s *Store) Delete(ctx context.Context, id entry.ID) error {
	// A forced deletion of what does not exist succeeds.
	if _, err := s.Describe(ctx, id); err != nil {
		return err
	}
	_, err := s.client.DeleteSecret(ctx, &secretsmanager.DeleteSecretInput{SecretId: s.name(id), ForceDeleteWithoutRecovery: aws.Bool(true)})
	return explain(err)
}

// List returns the secrets of a scope and below.
func (s *Store) List(ctx context.Context, scope entry.Scope, token string, most int) (entry.Page, error) {
	beginning := s.config.Prefix + "/"
	request := &secretsmanager.ListSecretsInput{
		Filters:    []types.Filter{{Key: types.FilterNameStringTypeName, Values: []string{beginning + scope.Prefix()}}},
		MaxResults: aws.Int32(int32(min(most, pageSize))), //nolint:gosec // at most pageSize
	}
	if token != "" {
		request.NextToken = aws.String(token)
	}
	answer, err := s.client.ListSecrets(ctx, request)
	if is[*types.InvalidNextTokenException](err) {
		return entry.Page{}, entry.ErrBadToken
	}
	if err != nil {
		return entry.Page{}, explain(err)
	}
	page := entry.Page{Next: aws.ToString(answer.NextToken)}
	for _, one := range answer.SecretList {
		id, ok := entry.ParsePath(strings.TrimPrefix(aws.ToString(one.Name), beginning))
		if ok && scope.Contains(id.Scope) && one.DeletedDate == nil {
			page.Entries = append(page.Entries, entry.Metadata{ID: id, Type: typeOf(one.Tags), Created: aws.ToTime(one.CreatedDate)})
		}
	}
	return page, nil
}

// Value returns a secret with its value. The call that returns the value does not return the tags.
func (s *Store) Value(ctx context.Context, id entry.ID) (entry.Content, error) {
	about, err := s.Describe(ctx, id)
	if err != nil {
		return entry.Content{}, err
	}
	answer, err := s.client.GetSecretValue(ctx, &secretsmanager.GetSecretValueInput{SecretId: s.name(id)})
	if err != nil {
		return entry.Content{}, explain(err)
	}
	value := answer.SecretBinary
	if answer.SecretString != nil { // written by other tools
		value = []byte(*answer.SecretString)
	}
	return entry.Content{Type: about.Type, Value: entry.NewValue(value)}, nil
}

func typeOf(tags []types.Tag) entry.Type {
	for _, tag := range tags {
		if aws.ToString(tag.Key) == tagType {
			return entry.ParseType(aws.ToString(tag.Value))
		}
	}
	return entry.Generic
}

func is[E error](err error) bool {
	var wanted E
	return errors.As(err, &wanted)
}

func explain(err error) error {
	switch {
	case err == nil:
		return nil
	case is[*types.ResourceNotFoundException](err):
		return entry.ErrNotFound
	}
	return &entry.UnavailableError{Words: "AWS Secrets Manager does not answer, or refuses", Err: err}
}
