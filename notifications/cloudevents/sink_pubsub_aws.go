package cloudevents

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	snstypes "github.com/aws/aws-sdk-go-v2/service/sns/types"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"gocloud.dev/pubsub"
	"gocloud.dev/pubsub/awssnssqs"
	"gocloud.dev/pubsub/batcher"
)

// awsRequests is how many requests are sent at once. Few make full ones: each has up to ten messages.
const awsRequests = 8

// awsTopic is a topic of SNS or a queue of SQS.
type awsTopic struct {
	*pubsub.Topic
	fifo bool
}

func openAWS(ctx context.Context, u *url.URL) (topic, error) {
	opener := awssnssqs.URLOpener{TopicOptions: awssnssqs.TopicOptions{BatcherOptions: batcher.Options{MaxHandlers: awsRequests}}}
	opened, err := opener.OpenTopicURL(ctx, u)
	if err != nil {
		return nil, err
	}
	return &awsTopic{Topic: opened, fifo: strings.HasSuffix(u.Path, ".fifo")}, nil
}

// prepare makes the run the group of the message, and its id what drops repetitions. Both are refused by what is not FIFO.
func (t *awsTopic) prepare(one *message, as func(any) bool) error {
	var group, id *string
	if t.fifo {
		group, id = aws.String(bounded(one.key)), aws.String(bounded(one.dedup))
	}
	attributes := map[string]string{"content-type": contentType, "ce_id": one.id}
	var entry *snstypes.PublishBatchRequestEntry
	if as(&entry) {
		entry.MessageGroupId, entry.MessageDeduplicationId = group, id
		entry.MessageAttributes = map[string]snstypes.MessageAttributeValue{}
		for name, value := range attributes {
			entry.MessageAttributes[name] = snstypes.MessageAttributeValue{DataType: aws.String("String"), StringValue: aws.String(value)}
		}
		return nil
	}
	var queued *sqstypes.SendMessageBatchRequestEntry
	if !as(&queued) {
		return errors.New("neither a message of SNS nor of SQS")
	}
	queued.MessageGroupId, queued.MessageDeduplicationId = group, id
	queued.MessageAttributes = map[string]sqstypes.MessageAttributeValue{}
	for name, value := range attributes {
		queued.MessageAttributes[name] = sqstypes.MessageAttributeValue{DataType: aws.String("String"), StringValue: aws.String(value)}
	}
	return nil
}

func (t *awsTopic) failed(*message) {}

func (t *awsTopic) send(ctx context.Context, m *pubsub.Message) error { return t.Send(ctx, m) }

func (t *awsTopic) close() { shutDown(t.Topic) }
