// Package cloudevents publishes every change of runs and actions as CloudEvents: over HTTP, to NATS and Kafka, and to the
// topics and queues of clouds. The runs service lists the events of its log that a sink has not been sent yet, in the
// transactions that append them. This service sends each sink its list: at least once, in order for each run, and from
// where it was after an outage.
package cloudevents
