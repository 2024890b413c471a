package blobstore

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"gocloud.dev/blob/s3blob"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

func openS3(ctx context.Context, r root, config S3Config, clk clock.Clock) (backend, error) {
	client, err := s3Client(ctx, config, config.Endpoint)
	if err != nil {
		return nil, err
	}
	b, err := s3blob.OpenBucket(ctx, client, r.bucket, nil)
	if err != nil {
		return nil, err
	}
	signing, signer := b, client
	if config.PublicEndpoint != "" && config.PublicEndpoint != config.Endpoint {
		if signer, err = s3Client(ctx, config, config.PublicEndpoint); err != nil {
			return nil, err
		}
		if signing, err = s3blob.OpenBucket(ctx, signer, r.bucket, nil); err != nil {
			return nil, err
		}
	}
	return &bucket{
		bucket: b, signing: signing, prefix: r.prefix, clock: clk, demand: demandS3, present: presentS3, leadsTo: originS3(ctx, signer, r.bucket),
	}, nil
}

// originS3 asks the client itself, since the host depends on the region, on the bucket's name and on what the environment
// says. Made-up credentials do, so that nothing is asked over the network; a client that cannot sign has no origin.
func originS3(ctx context.Context, client *s3.Client, bucket string) string {
	signer := s3.NewPresignClient(client, func(o *s3.PresignOptions) {
		o.ClientOptions = append(o.ClientOptions, func(o *s3.Options) {
			o.Credentials = credentials.NewStaticCredentialsProvider("origin", "origin", "")
		})
	})
	signed, err := signer.PresignGetObject(ctx, &s3.GetObjectInput{Bucket: aws.String(bucket), Key: aws.String("x")})
	if err != nil {
		return ""
	}
	return originOf(signed.URL)
}

func presentS3(o GetOptions, file string, as func(any) bool) {
	var input *s3.GetObjectInput
	if as(&input) {
		input.ResponseContentType = aws.String(mediaType(o))
		input.ResponseContentDisposition = aws.String(disposition(o, file))
	}
}

func s3Client(ctx context.Context, config S3Config, endpoint string) (*s3.Client, error) {
	var load []func(*awsconfig.LoadOptions) error
	region := config.Region
	if region == "" && endpoint != "" {
		region = "us-east-1"
	}
	if region != "" {
		load = append(load, awsconfig.WithRegion(region))
	}
	if config.AccessKeyID != "" {
		load = append(load, awsconfig.WithCredentialsProvider(
			credentials.NewStaticCredentialsProvider(config.AccessKeyID, config.SecretAccessKey, "")))
	}
	loaded, err := awsconfig.LoadDefaultConfig(ctx, load...)
	if err != nil {
		return nil, fmt.Errorf("load AWS configuration: %w", err)
	}
	return s3.NewFromConfig(loaded, func(o *s3.Options) {
		o.UsePathStyle = config.PathStyle
		// Checksums beyond the signature are not understood by every service, and would be demanded of those who use
		// a signed URL.
		o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
		o.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
		if endpoint != "" {
			o.BaseEndpoint = aws.String(endpoint)
		}
	}), nil
}

func demandS3(o PutOptions, as func(any) bool) map[string]string {
	headers := map[string]string{}
	var input *s3.PutObjectInput
	if !as(&input) {
		return headers
	}
	if o.CreateOnly {
		input.IfNoneMatch = aws.String("*")
		headers["If-None-Match"] = "*"
	}
	if len(o.ContentMD5) == 0 {
		return headers
	}
	digest := encodeMD5(o.ContentMD5)
	input.ContentMD5 = aws.String(digest)
	headers["Content-MD5"] = digest
	if o.MD5Metadata {
		input.Metadata = map[string]string{metadataMD5: digest}
		headers["x-amz-meta-"+metadataMD5] = digest
	}
	return headers
}
